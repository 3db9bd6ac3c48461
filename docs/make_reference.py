"""Writes docs/config-reference.md and docs/commands.md from what the program says.

    python docs/make_reference.py            # write both pages
    python docs/make_reference.py --check    # exit 1 and show the difference, if any

Defaults come from the signatures of the registered functions, values and meanings from
their tables of settings or, where there is none, from their docstrings.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import typer
from spacy.language import Language

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.component.factory import BLOCKS
from spacy_hosemi.features.gazetteers.fuzzy import Fuzzy

HERE = Path(__file__).parent
COMMAND = "python docs/make_reference.py"

# Where a function is named in a config, and what the section about it is called.
SECTIONS = {
    "FieldTokenizer.v1": ("nlp.tokenizer", "The tokenizer"),
    "SpanScorer.v1": ("components.hosemi.model", "The span scorer"),
    "WordVectors.v1": ("components.hosemi.model.tok2vec", "Word vectors"),
    "OnnxEncoder.v1": (
        "components.hosemi.model.tok2vec",
        "Vectors by an encoder in ONNX",
    ),
    "features.v1": ("components.hosemi.model.features", "Features"),
    "gazetteer.v1": ("components.hosemi.model.gazetteers.NAME", "A gazetteer"),
    "table.v1": ("components.hosemi.model.tables.NAME", "A table of words"),
    "hierarchy.v1": ("components.hosemi.hierarchy", "Labels in a tree"),
    "log_likelihood.v1": ("components.hosemi.objective", "Objective: log-likelihood"),
    "perceptron.v1": ("components.hosemi.objective", "Objective: perceptron"),
    "scorer.v1": ("components.hosemi.scorer", "The scorer"),
    "lbfgs.v1": ("initialize.components.hosemi.fit", "Fit: L-BFGS"),
    "averaged.v1": ("initialize.components.hosemi.fit", "Fit: averaged weights"),
    "read_gazetteers.v1": (
        "initialize.components.hosemi.gazetteers",
        "Read all gazetteers from one folder",
    ),
    "read_gazetteer.v1": (
        "initialize.components.hosemi.gazetteers.NAME",
        "Read one gazetteer",
    ),
    "training_spans.v1": (
        "initialize.components.hosemi.gazetteers.NAME",
        "Make a gazetteer of the training spans",
    ),
    "read_table.v1": ("initialize.components.hosemi.tables.NAME", "Read a table"),
    "read_package_list.v1": (
        "initialize.components.hosemi.gazetteers.NAME",
        "Read a list of a package",
    ),
    "read_lookups.v1": (
        "initialize.components.hosemi.tables.NAME",
        "Read a table of spacy-lookups-data",
    ),
    "read_label_tree.v1": (
        "initialize.components.hosemi.hierarchy",
        "Read a label tree",
    ),
    "dev_corpus.v1": ("initialize.components.hosemi.dev", "Read documents of dev"),
}
GROUPS = ("tokenizers", "architectures", "misc", "scorers", "readers")

INITIALIZE = {
    "labels": "The labels, as a list of names; null: those of the training data.",
    "fit": "How all weights are found at once: [L-BFGS](#fit-l-bfgs) or "
    "[averaged weights](#fit-averaged-weights); null: spaCy's loop finds them, "
    "update by update.",
    "gazetteers": "The entries of each gazetteer: a block with a "
    "[reader](#read-one-gazetteer) for each, or [one reader]"
    "(#read-all-gazetteers-from-one-folder) for all.",
    "tables": "The rows of each table of words: a block with a "
    "[reader](#read-a-table) for each.",
    "hierarchy": "The [reader](#read-a-label-tree) of a label tree that is not in the "
    "names of the labels.",
    "dev": "The [reader](#read-documents-of-dev) of documents by which "
    '`fit.l2 = "auto"` chooses, and whose scores are in the log of the fit; null: '
    "folds of the training documents.",
}


def config_reference() -> Iterator[str]:
    """The lines of docs/config-reference.md."""
    yield "# Config reference"
    yield ""
    yield f"<!-- Made by `{COMMAND}`; do not edit. -->"
    yield ""
    yield "Every setting with its default. [Choosing a config](choosing-a-config.md)"
    yield "shows how to change one. A value that a setting cannot have is refused at"
    yield "once, with the name of the setting and what was expected."
    yield ""
    yield "## The component"
    yield ""
    yield '`[components.hosemi]` with `factory = "hosemi"`. Blocks are described below.'
    yield ""
    defaults = Language.get_factory_meta("hosemi").default_config
    known = {one.name: one for one in BLOCKS["components.hosemi"]}
    yield from header()
    for name, default in defaults.items():
        if name in known and name not in BLOCK_KEYS:
            yield row(name, default, known[name])
    for name, what in BLOCK_KEYS.items():
        yield f"| `{name}` | {what} |"
    yield ""
    yield "## Initialization"
    yield ""
    yield "`[initialize.components.hosemi]`"
    yield ""
    yield "Arguments of `initialize`, none of which is saved with the model: paths to"
    yield "files stand here and nowhere else."
    yield ""
    yield from header()
    for name, what in INITIALIZE.items():
        yield f"| `{name}` | null | {what} |"
    yield ""
    functions = dict(registered())
    assert set(functions) == set(SECTIONS), set(functions) ^ set(SECTIONS)
    for name, (block, title) in SECTIONS.items():
        yield from function_section(name, block, title, functions[name])
        if name == "gazetteer.v1":
            yield from fuzzy_section()


BLOCK_KEYS = {
    "model": "a block | [The span scorer](#the-span-scorer), which holds the weights.",
    "objective": "a block | What training minimizes: "
    "[log-likelihood](#objective-log-likelihood) or "
    "[perceptron](#objective-perceptron).",
    "hierarchy": "null | [Labels in a tree](#labels-in-a-tree); null: labels without "
    "one.",
    "scorer": "a block | [The scorer](#the-scorer) that `nlp.evaluate` calls.",
}


# Blocks and tables within the block of a function.
BLOCKS_WITHIN = {
    "features": "[Features](#features): what is read.",
    "gazetteers": "A block for [each gazetteer](#a-gazetteer), by name.",
    "tables": "A block for [each table](#a-table-of-words), by name.",
    "fuzzy": "[Fuzzy matches](#fuzzy-matches-of-a-gazetteer); null: exact ones alone.",
    "functions": "[Functions of your own](features.md#functions-of-your-own), by name.",
    "function_roles": "The roles of each function: of inside, start, end and within; "
    "by default inside.",
    "segment_functions": "[Functions of segments](features.md#of-whole-segments), by "
    "the name that templates read.",
    "tok2vec": "[Word vectors](#word-vectors), another frozen encoder, or one that is "
    "trained online: [scores from them](vectors.md) are added.",
}


def registered() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Names and functions that a config can refer to."""
    for point in distribution("spacy_hosemi").entry_points:
        if point.group.removeprefix("spacy_") in GROUPS:
            yield point.name.removeprefix("spacy_hosemi."), point.load()


def function_section(
    name: str, block: str, title: str, function: Callable[..., Any]
) -> Iterator[str]:
    group = next(
        point.group.removeprefix("spacy_")
        for point in distribution("spacy_hosemi").entry_points
        if point.name == f"spacy_hosemi.{name}"
    )
    yield f"## {title}"
    yield ""
    yield f'`[{block}]` with `@{group} = "spacy_hosemi.{name}"`'
    yield ""
    parameters = inspect.signature(function).parameters
    if not parameters:
        yield "It has no settings."
    else:
        known = settings_of(function)
        yield from header()
        for key, parameter in parameters.items():
            yield row(key, parameter.default, known[key])
    yield ""


def fuzzy_section() -> Iterator[str]:
    yield "## Fuzzy matches of a gazetteer"
    yield ""
    yield "The value of `fuzzy`: a block without a function, or null."
    yield ""
    yield from header()
    known = dict(documented(Fuzzy))
    for field in fields(Fuzzy):
        yield row(field.name, field.default, known[field.name])
    yield ""


def settings_of(function: Callable[..., Any]) -> dict[str, Any]:
    """By key: a Setting, or what the docstring says."""
    found: dict[str, Any] = {**dict(documented(function)), **BLOCKS_WITHIN}
    module = sys.modules[function.__module__]
    settings = getattr(module, "SETTINGS", ())
    if settings and any(settings is block for block in BLOCKS.values()):
        keys = set(inspect.signature(function).parameters)
        if keys & {one.name for one in settings}:
            found |= {one.name: one for one in settings}
    return found


def documented(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """The parameters of a docstring with what it says of them."""
    text = inspect.getdoc(function) or ""
    entry = re.compile(
        r"^(\w+(?:, \w+)*)(?: \([^:\n]*\))?:\s(.*?)(?=^\S|\Z)", re.M | re.S
    )
    for match in entry.finditer(text):
        for name in match[1].split(", "):
            yield name, " ".join(match[2].split())


def header() -> tuple[str, str]:
    return "| key | default | meaning |", "| --- | --- | --- |"


def row(key: str, default: Any, what: Any) -> str:
    if isinstance(what, str):
        meaning = what
    else:
        expected = re.sub(r" to 1\d{9,}", " upwards", what.kind.expected)
        meaning = f"{what.meaning} Expected: {expected}."
    cells = meaning.replace("|", "\\|").replace("`", "")
    return f"| `{key}` | {shown(default)} | {quoted(cells)} |"


def shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if default is None:
        return "null"
    if isinstance(default, float) and default.is_integer() and abs(default) < 1e6:
        default = float(default)
    return f"`{json.dumps(default)}`"


NAMES = (
    r'"[^"\s]*[*_\[][^"]*"',  # in quotes, with a sign that Markdown would read
    r"\b[\w.]+\[[\w\"]+\](?!\()",  # doc.spans[key]
    r"\b\w+\._\.\w+",  # span._.confidence
    r"\b(?:\w+\.)*[a-z]\w*_\w+(?:\.\w+)*(?![\w\]]*\()",
)


def quoted(text: str) -> str:
    """Mark names in a sentence as code; Markdown would read some as emphasis."""
    parts = re.split(r"(`[^`]*`|\]\([^)]*\))", text)
    parts[::2] = [re.sub("|".join(NAMES), r"`\g<0>`", part) for part in parts[::2]]
    return "".join(parts)


STREAMS = """\
Standard output has the answer and nothing else; errors, notes and bars go to standard
error, without colours and bars where that is no terminal. A command exits with 0 if it
is done, with 1 if the data have faults, with 2 if it could not run. What it writes is
there as a whole or not at all."""


def commands() -> Iterator[str]:
    """The lines of docs/commands.md."""
    yield "# Commands"
    yield ""
    yield f"<!-- Made by `{COMMAND}`; do not edit. -->"
    yield ""
    yield "`python -m spacy hosemi COMMAND --help` prints the same."
    yield ""
    yield STREAMS
    yield ""
    group = typer.main.get_command(hosemi_cli)
    for path, command in walk(group, "python -m spacy hosemi"):
        yield from command_section(path, command)


def walk(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from walk(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def command_section(path: str, command: Any) -> Iterator[str]:
    shown = [x for x in command.params if not x.hidden]
    options = [x for x in shown if x.param_type_name == "option"]
    arguments = [x for x in shown if x.param_type_name == "argument"]
    usage = [path, *(f"{x.metavar}" for x in arguments), "[OPTIONS]"]
    yield f"## {path.removeprefix('python -m spacy ')}"
    yield ""
    yield f"`{' '.join(usage)}`"
    yield ""
    yield from paragraphs(inspect.cleandoc(command.help))
    yield "| argument or option | default | meaning |"
    yield "| --- | --- | --- |"
    for one in (*arguments, *options):
        yield option_row(one)
    yield ""


def option_row(one: Any) -> str:
    names = " ".join([one.metavar or one.name])
    if one.param_type_name == "option":
        names = ", ".join([*one.opts, *one.secondary_opts])
        if not one.is_flag:
            names += f" {one.metavar or one.type.name.upper()}"
    if one.required:
        default = "required"
    elif isinstance(one.show_default, str):
        default = one.show_default
    elif one.default in (None, ""):
        default = ""
    else:
        default = f"`{json.dumps(one.default)}`"
    meaning = quoted((one.help or "").replace("|", "\\|"))
    names = names.replace("|", "\\|")
    return f"| `{names}` | {default} | {meaning} |"


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs after \\b, the examples, as they are."""
    text, _, examples = text.partition("\b\n")
    for paragraph in text.strip().split("\n\n"):
        yield quoted(" ".join(paragraph.split()))
        yield ""
    if examples:
        yield "Examples:"
        yield ""
        lines = examples.strip().splitlines()
        yield from (f"    {line.strip()}" for line in lines if "xamples:" not in line)
        yield ""


PAGES = {"config-reference.md": config_reference, "commands.md": commands}


def page(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    code = 0
    for name, make in PAGES.items():
        path, made = HERE / name, page(make())
        before = path.read_text("utf8") if path.exists() else ""
        if is_check and before != made:
            lines = (before.splitlines(), made.splitlines())
            diff = difflib.unified_diff(*lines, f"docs/{name}", "made", lineterm="")
            print(*diff, sep="\n")
            code = 1
        elif not is_check:
            path.write_text(made, "utf8")
    if code:
        print(f"The reference pages are not as made; repair them: {COMMAND}")
    return code


if __name__ == "__main__":
    sys.exit(main())
