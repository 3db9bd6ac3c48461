"""Every allocation that fails ends in MemoryError, or is survived; nothing is broken.

The operations run in a process of its own, whose allocator is replaced by one whose
n-th allocation fails: for n = 0, 1, 2, .. until an operation needs no more of them.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import spacy

import spacy_hosemi
from spacy_hosemi import core

from .core.problems import FUNCTIONS, as_core, call
from .helpers import fit_anew, make_trained
from .strategies import random_problem

ROOT = Path(__file__).parents[1]
# NumPy takes on trust that small ones do not fail, such as buffers of 64 KB.
SMALL = 80 * 1024

ALLOCATOR = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

static long left = -1; /* until the one that fails; below 0: none does */

void fail_at(long n) { __atomic_store_n(&left, n, __ATOMIC_SEQ_CST); }
long allocations_left(void) { return __atomic_load_n(&left, __ATOMIC_SEQ_CST); }

/* dladdr takes long: what it says of the last callers. */
static __thread void *callers[4096];
static __thread char are_ours[4096];

static int is_ours(void *caller) {
    size_t k = (size_t)caller / 4 % 4096;
    Dl_info at;
    if (callers[k] != caller) {
        callers[k] = caller;
        are_ours[k] = dladdr(caller, &at) && at.dli_fname &&
                      strstr(at.dli_fname, "spacy_hosemi/");
    }
    return are_ours[k];
}

/* Large ones, and all that this package asks for itself. */
static int counts(size_t size, void *caller) {
    return size >= SMALL || is_ours(caller);
}

static int fails(size_t size, void *caller) {
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) < 0 || !counts(size, caller)) return 0;
    if (__atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) != 0) return 0;
    errno = ENOMEM;
    return 1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    return fails(size, CALLER) ? NULL : __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    return fails(n * size, CALLER) ? NULL : __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
    return fails(size, CALLER) ? NULL : __libc_realloc(old, size);
}
"""

OPERATIONS = (*FUNCTIONS, "call", "pipe", "extract", "fit")


@pytest.fixture(scope="module")
def allocator(tmp_path_factory):
    """RETURNS (Path): The library with the allocator."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, and glibc")
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the sanitizer has an allocator of its own")
    folder = tmp_path_factory.mktemp("allocator")
    source, library = folder / "allocator.c", folder / "allocator.so"
    source.write_text(ALLOCATOR.replace("SMALL", str(SMALL)))
    command = [compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(library)]
    made = subprocess.run([*command, "-ldl"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"the allocator cannot be compiled: {made.stderr[:200]}")
    return library


def test_out_of_memory(allocator):
    script = "from tests.test_out_of_memory import try_all; try_all()"
    found = subprocess.run(
        [sys.executable, "-c", script, str(allocator), *OPERATIONS],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(allocator)},
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stderr) == (0, "")
    lines = [line.split() for line in found.stdout.splitlines()]
    assert [name for name, _, _ in lines] == [*OPERATIONS]
    assert all(int(n_failed) > 0 for _, n_failed, _ in lines)


def test_a_document_too_large_goes_to_the_error_handler(monkeypatch):
    """Memory that does not suffice for one document does not end the stream."""
    nlp = make_trained()
    pipe, texts = nlp.get_pipe("hosemi"), ["In Paris .", "Ada " * 50, "In London ."]
    predict, seen = type(pipe).predict, []

    def predict_few(self, docs):
        docs = [*docs]
        if max(map(len, docs)) > 40:
            raise MemoryError
        return predict(self, docs)

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("spacy_hosemi.component.predict._decoder_with", fail)
    monkeypatch.setattr(type(pipe), "predict", predict_few)
    nlp.set_error_handler(lambda name, _, docs, e: seen.append((name, len(docs[0]), e)))
    assert [doc.text for doc in nlp.pipe(texts)] == [texts[0], texts[2]]
    ((name, n_tokens, error),) = seen
    assert (name, n_tokens, type(error)) == ("hosemi", 50, MemoryError)


# --- in the process with the allocator --------------------------------------------


def try_all():
    """Write each operation, how often one of its allocations failed, and how often it
    went on nevertheless."""
    library, *names = sys.argv[1:]
    allocator = ctypes.CDLL(library)
    allocator.fail_at.argtypes = [ctypes.c_long]
    allocator.allocations_left.restype = ctypes.c_long
    operations = make_operations()
    for name in names:
        print(name, *try_one(operations[name], allocator), flush=True)


def try_one(operation, allocator):
    """RETURNS (Tuple[int, int]): See `try_all`."""
    expected, n, n_survived = operation(), 0, 0
    while True:
        allocator.fail_at(n)
        try:
            found = operation()
        except MemoryError:
            found = None
        is_over = allocator.allocations_left() >= 0
        allocator.fail_at(-1)
        if found is not None:
            assert found == expected
        if is_over:
            assert operation() == expected
            return n, n_survived
        n_survived += found is not None
        n += 1


def make_operations():
    """RETURNS (Dict[str, Callable]): By name; they return what can be compared."""
    rng = np.random.default_rng(0)
    given = (-np.inf, None)
    while given[0] == -np.inf:
        problem = random_problem(
            rng, kinds=("medium",), n_tokens=5, n_labels=3, constrained=False
        )
        automaton, potentials, _ = as_core(problem)
        roles = {
            role: np.tile(getattr(potentials, role), (1000, 1))
            for role in ("inside", "start", "end")
        }
        potentials = replace(potentials, **roles)
        given = core.log_partition(automaton, potentials), potentials

    def of_core(name):
        found = call(name, automaton, potentials)
        return found.tokens.tobytes() if hasattr(found, "tokens") else repr(found)

    found = {name: lambda name=name: of_core(name) for name in FUNCTIONS}
    nlp = make_trained(decoding="mbr", confidence=True)
    texts = ["Ada Lovelace met Charles in London . " * 500, "In Paris . " * 20]

    def entities(docs):
        return [[(x.start, x.end, x.label_) for x in doc.ents] for doc in docs]

    found["call"] = lambda: entities([nlp(texts[0])])
    found["pipe"] = lambda: entities(nlp.pipe(texts))
    plain = spacy.blank("en")
    spacy_hosemi.use_field_tokenizer(plain)
    plain.add_pipe("hosemi", source=nlp)
    found["extract"] = lambda: extracted(plain, texts)
    found["fit"] = lambda: fit_shortly().get_weights().tobytes()
    return found


def fit_shortly():
    return fit_anew(fit={"tolerance": 0.5}).get_pipe("hosemi")


def extracted(nlp, texts):
    """What `extract` finds; it notes errors where others raise them."""
    table = spacy_hosemi.extract(nlp, texts)
    if any(table["error"].to_pylist()):
        raise MemoryError
    return table.to_pylist()
