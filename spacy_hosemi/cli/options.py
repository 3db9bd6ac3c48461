"""Arguments and options that several commands have, with their checks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.util import import_file

from ..formats.writers import tool_names
from .streams import as_file, fail, refuse_existing

# The format of files that `spacy train` reads.
SPACY = "spacy"
# The end of numbers whose size does not matter.
_MANY = 1_000_000_000


def argument(name: str, help: str, default: Any = ..., **more: Any) -> Any:
    """Declares an argument by its name in the help; needed if it has no default."""
    return typer.Argument(default, metavar=name, help=help, **more)


def option(
    usage: str, help: str | None = None, default: Any = None, **more: Any
) -> Any:
    """Declares an option as its help shows it: "--top -n N" has two names and an N,
    "--json" is a flag, "-k N 1..9", or "-k N 1..", a number with limits, not NaN."""
    words = usage.split()
    if ".." in words[-1]:
        least, most = words.pop().split("..")
        limits = {"min": int(least), "max": int(most or _MANY)}
        more = {"callback": _refuse_nan, **limits, **more}
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(word for word in words if not word.startswith("-"))
    return typer.Option(default, *names, metavar=metavar or None, help=help, **more)


def _refuse_nan(value: Any) -> Any:
    if value != value:  # some versions of typer find that it is within all limits
        raise typer.BadParameter("nan is no number.")
    return value


def _read_corpus(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Returns the .spacy file to read, a copy of standard input for "-"; or exits."""
    if path is None:
        return None
    path = as_file(path, ".spacy")
    name = param.metavar if param.param_type_name == "argument" else param.opts[0]
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", f"Expected a .spacy file as {name}.")
    if path.suffix != ".spacy":
        text = f"Expected one as {name}; `python -m spacy hosemi convert` makes them."
        fail(f"{str(path)!r} is no .spacy file", text)
    return path


# Declare an argument, or an option, that is a .spacy file, or - for standard input.
corpus_argument = partial(argument, callback=_read_corpus)
corpus_option = partial(option, callback=_read_corpus)


def check_output_folder(context: typer.Context, path: Path | None) -> Path | None:
    """Exits with a message if no pipeline may be written to a folder."""
    if path is not None and path.is_file():
        fail(f"{str(path)!r} is a file", "Expected a folder to write to.")
    if path is not None and path.exists() and not context.params["overwrite"]:
        refuse_existing(path)
    return path


# Declares the option of a folder to save a pipeline in; goes with `Overwrite`.
folder_option = partial(option, "--output -o DIR", callback=check_output_folder)


def check_task_format(form: str, output: Path | str | None, name: str) -> None:
    """Exits with a message if `form` is neither SPACY nor the format of a tool for
    annotation, or if there is no `output`, which the option `name` sets."""
    names = [SPACY, *tool_names()]
    if form not in names:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(names)}.")
    if form != SPACY and output is None:
        fail("--format is given", f"Expected it with {name}.")


def import_code(path: Path | None) -> None:
    """Imports a file of the user; exits with a message if that is not possible."""
    if path is None:
        return
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", "Expected a Python file as --code.")
    try:
        import_file("python_code", path)
    except Exception as e:  # of the user's code
        fail(f"Cannot import {str(path)!r}", f"{type(e).__name__}: {e}")


# What several commands have is a type, whose default stands in the command.
_option = partial(option, default=...)
Model = Annotated[
    str, argument("MODEL", "Folder or package name of a trained pipeline.")
]
TrainingCorpus = Annotated[
    str,
    argument(
        "TRAIN",
        "Documents with gold: a .spacy file, a folder of them, or what convert reads.",
    ),
]
Component = Annotated[
    str | None,
    _option(
        "--component NAME", "Name in the pipeline, if it has several hosemi components."
    ),
]
Config = Annotated[
    Path | None,
    _option(
        "--config FILE",
        "Config to train with. Default: what init writes for such texts.",
    ),
]
Overwrite = Annotated[
    bool, _option("--overwrite -f", "Write there even if it exists.", is_eager=True)
]
Encoding = Annotated[
    str | None,
    _option("--encoding NAME", "Encoding of texts, as latin-1. Default: utf-8."),
]
Column = Annotated[
    str | None, _option("--column NAME", "The texts are in this column of a table.")
]
TextKey = Annotated[
    str | None,
    _option(
        "--text-key KEY",
        "The texts are under this key of JSON lines.",
        show_default='"text", or "tokens", in .jsonl',
    ),
]
TaskFormat = Annotated[
    str,
    _option(
        "--format -F NAME",
        "Format of the output: spacy; or for a tool, xml for a text editor: "
        f"{', '.join(tool_names())}.",
    ),
]
AsJson = Annotated[bool, _option("--json", "Print JSON instead of tables.")]
CodePath = Annotated[
    Path | None,
    _option(
        "--code -c FILE",
        "Python file to import first: functions that the config names.",
        callback=import_code,
    ),
]
