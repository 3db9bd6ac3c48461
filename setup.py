"""Compile every .pyx of the package; the metadata is in setup.cfg.

HOSEMI_DEBUG=1 makes the checked build: indices, integer overflow and division are
checked. (An overflow found without the GIL ends in a segmentation fault, Cython 3.3;
where wrapping is meant, as in a hash, say @cython.overflowcheck(False).)
HOSEMI_SANITIZE=1 makes the sanitized build: GCC has memory and undefined behaviour
checked. Each flavour has its own generated C, objects and libraries, since changing an
environment variable would not make any of them out of date.
"""

import os
import shutil
import sys
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CHECKED = os.environ.get("HOSEMI_DEBUG", "0") == "1"
SANITIZED = os.environ.get("HOSEMI_SANITIZE", "0") == "1"
FLAVOUR = "debug" if CHECKED else "sanitize" if SANITIZED else "release"
BUILD = f"build/{FLAVOUR}"
PACKAGE = "spacy_hosemi"
# Cython writes it: what each module would hold otherwise, memoryviews above all.
SHARED = os.path.join(PACKAGE, "core", "cython_shared.c")
HEADERS = "spacy_hosemi/core/simd"
SOURCES = [*sorted(glob(f"{PACKAGE}/**/*.pyx", recursive=True)), SHARED]
WINDOWS = sys.platform == "win32"
# Of Cython: those that are forked do not import this file again.
FORKS = sys.platform == "linux" and sys.version_info < (3, 14)
PROCESSES = os.cpu_count() or 0 if FORKS else 0
SANITIZE = ["-fsanitize=address,undefined"]
# Nothing of -ffast-math: the engine relies on -inf and reads floating-point exception
# flags. No -march=native: a wheel runs on other machines too.
OPTIMISE = {
    "debug": ["-O1", "-g0", "-UNDEBUG"],
    # Not with -fwrapv, which comes from Python: no overflow would be an error.
    "sanitize": [*SANITIZE, "-O1", "-g", "-fno-omit-frame-pointer", "-fno-wrapv"],
    "release": ["-O3", "-g0", "-ffp-contract=off"],
}

NO_COMPILER = (
    "spacy_hosemi is compiled from its source here, which needs a C compiler, and {!r} "
    "is not there: install one (Debian: apt install gcc; macOS: xcode-select "
    "--install), or take a wheel (pip install --only-binary :all: spacy_hosemi)."
)


def delete_stale(folder):
    """Delete compiled libraries whose source is gone, which Python would import."""
    sources = {os.path.splitext(os.path.relpath(path, PACKAGE))[0] for path in SOURCES}
    for ending in (".so", ".pyd"):
        for path in glob(f"{folder}/**/*{ending}", recursive=True):
            module = os.path.relpath(path, folder).split(".", 1)[0]
            if module not in sources:
                os.remove(path)


class BuildExt(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or True  # an editable install drops `options`
        if FLAVOUR != "release" and self.inplace:  # it would pass for that there
            sys.exit(f"the {FLAVOUR} build is not made in place: see `make help`")
        delete_stale(PACKAGE if self.inplace else os.path.join(self.build_lib, PACKAGE))

    def build_extensions(self):
        # Of Microsoft's compiler, setuptools itself says where to get it.
        compiler = getattr(self.compiler, "compiler_so", None)
        if compiler and shutil.which(compiler[0]) is None:
            sys.exit(NO_COMPILER.format(compiler[0]))
        # Only now: metadata and an sdist need no C.
        compiled = {extension.name: extension for extension in to_c(self.extensions)}
        for extension in self.extensions:
            extension.sources = compiled[extension.name].sources
            extension.depends = compiled[extension.name].depends
        super().build_extensions()


def to_c(extensions):
    """Translate them with Cython, those that changed."""
    return cythonize(
        extensions,
        build_dir=f"{BUILD}/c",
        quiet=True,
        nthreads=PROCESSES,
        shared_utility_qualified_name=module_name(SHARED),
        emit_linenums=FLAVOUR == "sanitize",
        compiler_directives={
            "language_level": 3,
            "binding": True,
            "embedsignature": True,
            "boundscheck": CHECKED,
            "wraparound": CHECKED,
            "initializedcheck": CHECKED,
            "overflowcheck": CHECKED,
            "cdivision": not CHECKED,
            "show_performance_hints": not CHECKED,
        },
    )


def module_name(path):
    return os.path.splitext(path)[0].replace(os.sep, ".")


def extension(path):
    libraries = [] if WINDOWS else ["m"]
    return Extension(
        module_name(path),
        [path],
        include_dirs=[HEADERS],
        depends=glob(f"{HEADERS}/*.h"),
        libraries=libraries,
        extra_compile_args=["/O2"] if WINDOWS else OPTIMISE[FLAVOUR],
        extra_link_args=SANITIZE if FLAVOUR == "sanitize" else [],
    )


setup(
    ext_modules=[extension(path) for path in SOURCES],
    cmdclass={"build_ext": BuildExt},
    options={"build": {"build_base": BUILD}},
)
