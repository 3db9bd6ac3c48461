"""Imports run one way through the package, and some things are done in one place."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

NAME = "spacy_hosemi"
PACKAGE = Path(find_spec(NAME).origin).parent

# A folder may import those before it. "" is the package itself; nobody imports the last
# two. Places in one set stand beside each other and do not import each other.
ORDER = {
    "": [
        "errors",
        "values",
        "arrays",
        "msgpack",
        "core",
        "text",
        "formats",
        "features",
        "labels",
        "model",
        {"training", "prediction"},
        "hierarchy",
        "configs",
        "component",
        {"estimator", "arrow", "saving"},
        "workers",
        "spark",
        "__init__",
        "inspection",
        "tuning",
        "explain",
        "cli",
    ],
    "core": [
        "arguments",
        {"simd", "parallel"},
        "automaton",
        "potentials",
        "chart",
        "sweeps",
        "algorithms",
        "__init__",
    ],
    "formats": [
        {"texts", "align", "records"},
        "sources",
        "lines",
        "json_records",
        {"inputs", "references"},
        "writers",
        "readers",
        "offsets",
        "checks",
        {"documents", "splits", "tokenizers"},
        "reading",
        "__init__",
    ],
}

# Who may not import what, whatever the order says.
BANNED = [
    ("errors", "*", "errors imports nothing"),
    ("core", "spacy", "core knows arrays, no spaCy"),
    ("core", "thinc", "core knows arrays, no thinc"),
]


def writes_ents(node):
    return node.attr in ("set_ents", "from_array") or (
        node.attr == "ents" and not isinstance(node.ctx, ast.Load)
    )


def reads_gold(node):
    return node.attr == "reference" or node.attr.startswith("get_aligned")


# Attributes that only these modules may use.
WRITERS = (
    "component.annotations",
    "prediction.existing_entities",
    "formats.documents",  # which makes the documents of annotated texts
)
RESERVED = [
    (writes_ents, WRITERS, "only annotations writes doc.ents; of copies: the other"),
    (reads_gold, ("labels.alignment",), "only labels.alignment reads gold"),
]


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
        for node in ast.parse(statement).body:
            node.lineno = blank.count("\n", 0, match.start(1)) + 1
            found.append(node)
    return found


def imported(node, module):
    """What a statement imports: ours without the package's name, others in full."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        parents = [NAME, *module.split(".")]
        base = parents[: len(parents) - node.level] if node.level else []
        base = ".".join([*base, *filter(None, [node.module])])
        # `from .core import viterbi` may name a module or what a module defines.
        names = [f"{base}.{alias.name}" for alias in node.names]
        names = [name if is_module(name) else base for name in names]
    return [re.sub(rf"^{NAME}(\.|$)", "", name) or "__init__" for name in names]


def is_module(name):
    path = PACKAGE.parent.joinpath(*name.split("."))
    endings = (".py", ".pyx", ".pxd", "/__init__.py")
    return any(Path(f"{path}{ending}").exists() for ending in endings)


def place(module, folder):
    """Where in the order of a folder a module stands: its index, and its name there."""
    name = module.removeprefix(folder + ".") if folder else module
    name = "__init__" if name == folder else name.split(".")[0]
    for index, names in enumerate(ORDER[folder]):
        if name == names or name in names and isinstance(names, set):
            return index, name
    raise LookupError(f"tests/test_arrows.py: ORDER does not name {module}")


def points_back(module, name):
    """Whether one of our modules may not import another one."""
    for folder in ORDER:
        if is_within(module, folder or "*") and is_within(name, folder or "*"):
            here, there = place(module, folder), place(name, folder)
            if there[0] > here[0] or (there[0] == here[0] and there[1] != here[1]):
                return True
    return False


def violations(module, source, suffix=".py"):
    """The lines of a module that break a rule, as (line, what is wrong)."""
    found = set()
    for node in parse(source, suffix):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in imported(node, module):
                is_ours = name == "__init__" or is_module(f"{NAME}.{name}")
                if is_ours and points_back(module, name):
                    found.add((node.lineno, f"{module} may not import {name}"))
                for importer, banned, why in BANNED:
                    if is_within(module, importer) and is_within(name, banned):
                        found.add((node.lineno, f"imports {name}: {why}"))
        if isinstance(node, ast.Attribute):
            for is_use, owners, why in RESERVED:
                if is_use(node) and module not in owners:
                    found.add((node.lineno, f"uses .{node.attr}: {why}"))
    return sorted(found)


def modules():
    """(path, module) of every source file; a package is module.__init__."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".pyi", ".pyx", ".pxd"):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            yield path, ".".join(parts)


def test_rules():
    broken = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {what}"
        for path, module in modules()
        for line, what in violations(module, path.read_text("utf8"), path.suffix)
    ]
    assert not broken, "\n".join(["", *broken])


def at_load(source, suffix):
    """The import statements that run when a module is loaded: neither those within
    functions nor those for type checkers."""
    if suffix != ".py":
        return parse(source, suffix)
    waiting, found = list(ast.parse(source).body), []
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        elif not isinstance(node, (ast.FunctionDef, ast.If)):
            waiting += [
                x for x in ast.iter_child_nodes(node) if isinstance(x, ast.stmt)
            ]
    return found


def cycle(graph):
    """A cycle of imports, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as e:
        return e.args[1]
    return None


def test_no_cycles():
    graph = {}
    for path, module in modules():
        if path.suffix != ".pyi" and not module.endswith("__init__"):
            nodes = at_load(path.read_text("utf8"), path.suffix)
            names = {name for node in nodes for name in imported(node, module)}
            graph.setdefault(module, set()).update(names - {module})
    assert cycle(graph) is None
    assert cycle({"a": {"b"}, "b": {"a"}})


@pytest.mark.parametrize(
    "module, suffix, source, lines",
    [
        ("training.trainer", ".py", "from ..model import x\nfrom ..core import f", []),
        ("model.tok2vec", ".py", "import os\nfrom ..training.lbfgs import run", [2]),
        ("model.tok2vec", ".py", "from .. import core, training", [1]),
        ("model.tok2vec", ".py", "import spacy_hosemi.training.lbfgs as fit", [1]),
        ("model.tok2vec", ".py", "from spacy_hosemi import HighOrderSemiCRF", [1]),
        ("model.tok2vec", ".py", "def f():\n    from ..cli import x", [2]),
        ("training.trainer", ".py", "from ..prediction import x", [1]),
        ("prediction.decoder", ".py", "from ..training.trainer import Trainer", [1]),
        ("cli.prune", ".py", "from .. import explain\nimport spacy_hosemi", []),
        ("component.pipe", ".py", "from ..explain.page import render", [1]),
        ("errors", ".py", "import os", [1]),
        ("features.templates", ".py", "from .keys import f\nfrom ..core import g", []),
        ("features.templates", ".py", "from ..labels import Labels", [1]),
        (
            "core.__init__",
            ".py",
            "from .automaton import X\nfrom ..labels import Y",
            [2],
        ),
        ("core.potentials", ".pyi", "from .chart.chart import Chart", [1]),
        ("core.parallel.tasks", ".pyx", "from ..simd cimport simd", [1]),
        ("core.sweeps.x", ".pyx", "from libc.math cimport exp\ncimport spacy", [2]),
        ("core.chart.x", ".pyx", '"""\nimport spacy\n"""\nfrom thinc import api', [4]),
        ("core.chart.x", ".pxd", "from ..sweeps.lanes cimport (\n  A,\n  b\n)", [1]),
        ("core.sweeps.x", ".pxd", "  from ..chart.chart cimport (\n  Chart,\n)", []),
        ("component.annotations", ".py", "doc.ents = []\ndoc.set_ents([])", []),
        (
            "model.x",
            ".py",
            "n = len(doc.ents)\ndoc.ents = []\ndoc.set_ents([])",
            [2, 3],
        ),
        ("model.x", ".py", "doc.ents += (span,)", [1]),
        ("model.x", ".py", "doc.from_array([ENT_IOB], iob)", [1]),
        ("training.x", ".py", "eg.predicted\neg.reference.ents", [2]),
        ("component.pipe", ".py", "eg.get_aligned_ner()", [1]),
        ("labels.alignment", ".py", "eg.reference.ents\neg.get_aligned_ner()", []),
    ],
)
def test_these_rules_can_fail(module, suffix, source, lines):
    assert [line for line, _ in violations(module, source, suffix)] == lines
