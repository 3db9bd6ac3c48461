"""Arguments and options that several commands have, with their checks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .streams import as_file, fail, refuse_existing

# The format of files that `spacy train` reads.
SPACY = "spacy"


def _read_corpus(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Returns the .spacy file to read, for "-" one with what standard input has; exits
    with a message if there is none."""
    if path is None:
        return None
    path = as_file(path, ".spacy")
    name = param.metavar if param.param_type_name == "argument" else param.opts[0]
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", f"Expected a .spacy file as {name}.")
    if path.suffix != ".spacy":
        fail(
            f"{str(path)!r} is no .spacy file",
            f"Expected one as {name}; `python -m spacy hosemi convert` makes them.",
        )
    return path


# Declare an argument, or an option, that is a .spacy file, or - for standard input.
corpus_argument = partial(typer.Argument, callback=_read_corpus)
corpus_option = partial(typer.Option, metavar="FILE", callback=_read_corpus)


def check_output_folder(context: typer.Context, path: Path | None) -> Path | None:
    """Exits with a message if no pipeline may be written to a folder."""
    if path is not None and path.is_file():
        fail(f"{str(path)!r} is a file", "Expected a folder to write to.")
    if path is not None and path.exists() and not context.params["overwrite"]:
        refuse_existing(path)
    return path


# Declares the option of a folder to save a pipeline in; goes with `Overwrite`.
folder_option = partial(
    typer.Option, "--output", "-o", metavar="DIR", callback=check_output_folder
)


def check_task_format(form: str, output: Path | str | None, name: str) -> None:
    """Exits with a message if `form` is neither SPACY nor the format of a tool for
    annotation, or if there is no `output`, which the option `name` sets."""
    from ..formats.writers import tool_names

    names = [SPACY, *tool_names()]
    if form not in names:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(names)}.")
    if form != SPACY and output is None:
        fail("--format is given", f"Expected it with {name}.")


def import_code(path: Path | None) -> None:
    """Imports a file of the user; exits with a message if that is not possible."""
    from spacy.util import import_file

    if path is None:
        return
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", "Expected a Python file as --code.")
    try:
        import_file("python_code", path)
    except Exception as e:  # of the user's code
        fail(f"Cannot import {str(path)!r}", f"{type(e).__name__}: {e}")


Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Folder or package name of a trained pipeline."
    ),
]
TrainingCorpus = Annotated[
    str,
    typer.Argument(
        metavar="TRAIN",
        help="Documents with gold: a .spacy file, a folder of them, or what convert "
        "reads.",
    ),
]
Component = Annotated[
    str | None,
    typer.Option(
        "--component",
        metavar="NAME",
        help="Name in the pipeline, if it has several hosemi components.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Config to train with. Default: what init writes for such texts.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        "-f",
        help="Write there even if it exists.",
        is_eager=True,  # before the checks of outputs, which look at it
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of texts, such as latin-1. Default: utf-8.",
    ),
]
TaskFormat = Annotated[
    str,
    typer.Option(
        "--format",
        "-F",
        metavar="NAME",
        help="Of the file that is written: spacy; or {tools}: tasks for that tool.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CodePath = Annotated[
    Path | None,
    typer.Option(
        "--code",
        "-c",
        metavar="FILE",
        help="Python file to import first: functions that the config names.",
        callback=import_code,  # before the command begins
    ),
]
