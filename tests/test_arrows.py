"""Imports run one way through the package, and some things are done in one place."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

NAME = "spacy_hosemi"
PACKAGE = Path(find_spec(NAME).origin).parent

# A module may import those that stand above it. "features.*" is a package whose modules
# may import each other. The last ones are leaves: nobody imports them.
ORDER = [
    "errors",
    "progress",
    "core.kernels",
    "core.yardstick",
    "core.jobs",
    "core.steps",
    "core.circuit",
    "core.schedule",
    "core.grammar",
    "core.automaton",
    "core.potentials",
    "core.cells",
    "core.columns",
    "core.starts",
    "core.chart",
    "core.tables",
    "core.counts",
    "core.logspace",
    "core.listing",
    "core.linear",
    "core.expectations",
    "core.inference",
    "core.lanes",
    "core.nonnegative",
    "core.completions",
    "core.bounds",
    "core.prefixes",
    "core.histories",
    "core.firing",
    "core.firing_segments",
    "core.firing_tokens",
    "core.best",
    "core.viterbi",
    "core.kbest",
    "core.sampling",
    "core.entropy",
    "core.mbr",
    "core.batches",
    "core.rows",
    "core.lattice",
    "core.children",
    "core.scores",
    "core.cover",
    "core.trie",
    "core.units",
    "core.bags",
    "core",
    "labels",
    "units",
    "threads",
    "problems",
    "segmentation",
    "gains",
    "features.*",
    "transitions",
    "selection",
    "lengths",
    "optimizers",
    "packing",
    "families",
    "storage",
    "rows",
    "scores",
    "weights",
    "neural",
    "model",
    "growth",
    "objectives",
    "fit",
    "averaging",
    "pool",
    "tree",
    "candidates",
    "levels",
    "mining",
    "thresholds",
    "leaves",
    "flat",
    "hierarchy",
    "tree_mbr",
    "stagewise",
    "refinement",
    "corpus",
    "labelling",
    "changes",
    "collective",
    "confidence",
    "preset",
    "answers",
    "tree_answers",
    "fixed",
    "decoding",
    "predictions",
    "entities",
    "checks",
    "sources",
    "scoring",
    "settings",
    "loading",
    "pipe",
    NAME,
    "explain.*",
    "cli.*",
    "spark",
]

# Who may not import what, whatever the order says.
BANNED = [
    ("errors", "*", "errors imports nothing"),
    ("core", "spacy", "core knows arrays, no spaCy"),
    ("core", "thinc", "core knows arrays, no thinc"),
    ("features", "labels", "features may not see labels"),
    ("features", "weights", "features may not see weights"),
    ("objectives", "weights", "objectives may not see weights"),
]


def writes_ents(node):
    return node.attr in ("set_ents", "from_array") or (
        node.attr == "ents" and not isinstance(node.ctx, ast.Load)
    )


def reads_gold(node):
    return node.attr == "reference" or node.attr.startswith("get_aligned")


# Attributes that only one module may use.
RESERVED = [
    (writes_ents, "pipe", "only pipe writes doc.ents"),
    (reads_gold, "segmentation", "only segmentation reads gold"),
]


def place(module):
    """The index of a module in ORDER, or None."""
    for name in (module, module.split(".")[0] + ".*"):
        if name in ORDER:
            return ORDER.index(name)
    return None


def is_within(module, name):
    return name == "*" or module == name or module.startswith(name + ".")


def parse(source, suffix):
    """The nodes of a module; of a Cython file its imports only."""
    if suffix in (".py", ".pyi"):
        return list(ast.walk(ast.parse(source)))
    blank = re.sub(r'"""[\s\S]*?"""', lambda m: "\n" * m[0].count("\n"), source)
    found = []
    for match in re.finditer(
        r"^[ \t]*((?:from\s+\S+\s+)?c?import\b(?:[^\n(]*\([^)]*\)|[^\n]*))", blank, re.M
    ):
        statement = re.sub(r"\bcimport\b", "import", match[1], count=1)
        nodes = ast.parse(statement).body
        for node in nodes:
            node.lineno = blank.count("\n", 0, match.start(1)) + 1
        found += nodes
    return found


def imported(node, package):
    """What a statement imports: ours without the package's name, others in full."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        parents = package.split(".")
        base = parents[: len(parents) + 1 - node.level] if node.level else []
        base = ".".join([*base, *filter(None, [node.module])])
        names = []
        for alias in node.names:
            # `from .core import viterbi` may name a module or what a module defines.
            full = f"{base}.{alias.name}"
            is_module = place(full.removeprefix(NAME + ".")) is not None
            names.append(full if is_within(base, NAME) and is_module else base)
    return [name.removeprefix(NAME + ".") for name in names]


def violations(module, source, suffix=".py", is_package=False):
    """The lines of a module that break a rule, as (line, what is wrong)."""
    package = module if is_package else module.rpartition(".")[0]
    package = NAME if package in ("", NAME) else f"{NAME}.{package}"
    found = set()
    for node in parse(source, suffix):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in imported(node, package):
                to = place(name)
                if to is not None and name != module and to >= place(module):
                    if not (to == place(module) and ORDER[to].endswith(".*")):
                        found.add((node.lineno, f"{module} stands above {name}"))
                for importer, banned, why in BANNED:
                    if is_within(module, importer) and is_within(name, banned):
                        found.add((node.lineno, f"imports {name}: {why}"))
        if isinstance(node, ast.Attribute):
            for is_use, owner, why in RESERVED:
                if is_use(node) and module != owner:
                    found.add((node.lineno, f"uses .{node.attr}: {why}"))
    return sorted(found)


def modules():
    """(path, module, is_package) of every source file."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi", ".pyx", ".pxd"):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            parts = parts[:-1] if is_package else parts
            yield path, ".".join(parts) or NAME, is_package


def test_each_module_has_a_place():
    found = [module for _, module, _ in modules()]
    assert {"errors", "core", NAME} <= set(found)
    unknown = [module for module in found if place(module) is None]
    assert not unknown, f"ORDER does not name {unknown}"


def test_rules():
    broken = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {what}"
        for path, module, is_package in modules()
        if place(module) is not None
        for line, what in violations(
            module, path.read_text("utf8"), path.suffix, is_package
        )
    ]
    assert not broken, "\n".join(["", *broken])


@pytest.mark.parametrize(
    "module, suffix, source, lines",
    [
        ("fit", ".py", "from .weights import Weights\nfrom .core import viterbi", []),
        ("model", ".py", "import os\nfrom .fit import run", [2]),
        ("model", ".py", "from . import core, fit", [1]),
        ("model", ".py", "import spacy_hosemi.fit as fit", [1]),
        ("model", ".py", "from spacy_hosemi import fit", [1]),
        ("model", ".py", "import spacy_hosemi", [1]),
        ("model", ".py", "def f():\n    from .pipe import HighOrderSemiCRF", [2]),
        ("cli", ".py", "from . import spark", [1]),
        ("cli", ".py", "from . import explain, pipe\nimport spacy_hosemi", []),
        ("pipe", ".py", "from .explain.html import render", [1]),
        ("labels", ".py", "from .core.automaton import PatternAutomaton", []),
        ("errors", ".py", "import os", [1]),
        ("features.gazetteer", ".py", "from .keys import f\nfrom ..core import g", []),
        ("features.gazetteer", ".py", "from ..labels import Labels", [1]),
        ("objectives", ".py", "from .weights import Weights", [1]),
        ("core.potentials", ".pyi", "from .inference import Marginals", [1]),
        ("core.viterbi", ".pyx", "from libc.math cimport exp\ncimport spacy", [2]),
        ("core.chart", ".pyx", '"""\nimport spacy\n"""\nfrom thinc import api', [4]),
        ("core.chart", ".pxd", "from .tables cimport (\n  Tables,\n  row\n)", [1]),
        ("core.tables", ".pxd", "  from .chart cimport (\n  Chart,\n)", []),
        ("pipe", ".py", "doc.ents = []\ndoc.set_ents([])", []),
        ("model", ".py", "n = len(doc.ents)\ndoc.ents = []\ndoc.set_ents([])", [2, 3]),
        ("model", ".py", "doc.ents += (span,)", [1]),
        ("model", ".py", "doc.from_array([ENT_IOB], iob)", [1]),
        ("fit", ".py", "eg.predicted\neg.reference.ents", [2]),
        ("pipe", ".py", "eg.get_aligned_ner()", [1]),
        ("segmentation", ".py", "eg.reference.ents\neg.get_aligned_ner()", []),
    ],
)
def test_these_rules_can_fail(module, suffix, source, lines):
    assert [line for line, _ in violations(module, source, suffix)] == lines


def test_a_package_imports_its_own_modules():
    source = "from .automaton import PatternAutomaton\nfrom ..labels import Labels"
    assert [line for line, _ in violations("core", source, ".py", True)] == [2]
    assert violations(NAME, "from .pipe import X\nfrom .cli import Y", ".py", True) == [
        (2, f"{NAME} stands above cli.Y")
    ]
