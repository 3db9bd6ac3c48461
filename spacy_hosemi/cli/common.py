"""What all commands share: the command line, loading, saving, tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from spacy.cli._util import app

from .streams import (
    ESCAPED,
    CommandGroup,
    as_file,
    clean,
    colour,
    fail,
    open_output,
    reason,
    refuse_existing,
    say,
    with_progress,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..component.judging import DocumentResult
    from ..component.pipe import HighOrderSemiCRF
    from ..formats.records import ExtractedRecord
    from ..formats.writers import WriterOptions
    from ..inspection.corpus import Part
    from ..inspection.kinds import Fit
    from ..inspection.pipelines import Pipelines

hosemi_cli = typer.Typer(
    name="hosemi",
    cls=CommandGroup,
    help="Convert annotations, write a config, turn lines of text into records; look "
    "into hosemi components and their lists; make them smaller; choose what to "
    "annotate next; say why a span is predicted; show what pipelines get wrong, "
    "compare them; say how far confidences can be trusted, and which answers need no "
    "eye.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(hosemi_cli)

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Folder or package name of a trained pipeline."
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
Overwrite = Annotated[
    bool, typer.Option("--overwrite", "-f", help="Write there even if it exists.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of texts, such as latin-1. Default: utf-8.",
    ),
]
# The format of files that `spacy train` reads.
SPACY = "spacy"
TaskFormat = Annotated[
    str,
    typer.Option(
        "--format",
        "-F",
        metavar="NAME",
        help="Of the file that is written: spacy; or label-studio, prodigy, doccano: "
        "tasks for that tool.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def import_code(path: Path | None) -> None:
    """Import a file of the user; exit with a message if that is not possible."""
    from spacy.util import import_file

    if path is None:
        return
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", "Expected a Python file as --code.")
    try:
        import_file("python_code", path)
    except Exception as e:  # of the user's code
        fail(f"Cannot import {str(path)!r}", f"{type(e).__name__}: {e}")


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


def check_corpus(path: Path, name: str) -> Path:
    """RETURNS (Path): A .spacy file to read; exit with a message if there is none."""
    path = as_file(path, ".spacy")
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", f"Expected a .spacy file as {name}.")
    if path.suffix != ".spacy":
        fail(
            f"{str(path)!r} is no .spacy file",
            f"Expected one as {name}; `python -m spacy hosemi convert` makes them.",
        )
    return path


def check_task_format(form: str, output: Path | str | None, name: str) -> None:
    """Exit with a message if documents cannot be written for a tool.

    form (str): SPACY, or the format of a tool for annotation.
    output (Optional[str]), name (str): Where to, and the option that says it.
    """
    from ..formats.writers import WRITERS

    names = [SPACY, *(x for x, one in WRITERS.items() if one.is_for_tools)]
    if form not in names:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(names)}.")
    if form != SPACY and output is None:
        fail("--format is given", f"Expected it with {name}.")


def write_records(
    records: Iterable[ExtractedRecord],
    form: str,
    output: Path | str,
    overwrite: bool,
    options: WriterOptions,
) -> None:
    """Write records in the format of a tool, see `check_task_format`."""
    from ..formats.writers import WRITERS

    with open_output(output, overwrite) as file:
        WRITERS[form].write(records, file, options)


def check_output(path: Path, overwrite: bool) -> None:
    """Exit with a message if nothing may be written to a folder."""
    if path.is_file():
        fail(f"{str(path)!r} is a file", "Expected a folder to write to.")
    elif path.exists() and not overwrite:
        refuse_existing(path)


def save_pipeline(nlp: Language, output: Path) -> None:
    """See `save`."""
    from ..saving import save

    try:
        save(nlp, output)
    except OSError as e:
        fail(f"Cannot save the pipeline to {str(output)!r}", reason(e))
    say(f"Saved the pipeline to {output}")


class Training(NamedTuple):
    """Documents to train on, and what a config makes of them.

    part (Part): The documents.
    pipelines (Pipelines): Made of the config; `fit` says which kind was chosen if none
        was given.
    nlp (Language), pipe (HighOrderSemiCRF): The untrained pipeline, and its component.
    """

    part: Part
    pipelines: Pipelines
    fit: Fit | None
    nlp: Language
    pipe: HighOrderSemiCRF


def open_training(
    train: str, config: Path | None, encoding: str | None, group: str | None = None
) -> Training:
    """Documents to train on, and a pipeline that fits them; faults are said. group: A
    key of texts that documents keep in `user_data`."""
    from ..inspection.corpus import read_part
    from ..inspection.pipelines import Pipelines, components_of
    from ..inspection.report import kind_of

    pipelines = Pipelines(config)
    part = read_part(train, pipelines.first, encoding=encoding, group=group)
    for fault in part.faults:
        say(str(fault))
    fit = kind_of(part)[-1] if config is None else None
    nlp = pipelines.choose(fit)
    pipe = next(iter(components_of(nlp).values()))
    return Training(part, pipelines, fit, nlp, pipe)


def save_docs(docs: Sequence[Doc], output: str | Path, overwrite: bool) -> None:
    """Write documents, with their user data, to a .spacy file."""
    from spacy.tokens import DocBin

    with open_output(output, overwrite, binary=True) as file:
        file.write(DocBin(docs=docs, store_user_data=True).to_bytes())
    say(f"Wrote {len(docs):,} documents to {output}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Exit with a message if a .spacy file cannot be read."""
    try:
        yield
    except Exception as e:  # msgpack and zlib have errors of their own
        fail(f"Cannot read {str(path)!r}", f"Expected a .spacy file; {e!r}"[:200])


def load_pipeline(model: str) -> Language:
    """A saved pipeline; exit with a message if it cannot be loaded."""
    from spacy.util import load_model

    try:
        return load_model(model)
    except Exception as e:  # a damaged file may raise anything
        is_known = isinstance(e, (ImportError, OSError, ValueError))
        said = str(e) if is_known else f"{type(e).__name__}: {e}"
        # E893 of spaCy lists all registered functions: leave them out.
        reason, names, _ = said.partition("Available names:")
        hint = " Import the file that has it: --code FILE." if names else ""
        reason = reason.rstrip(". \n")
        fail(f"Cannot load the pipeline {model!r}", f"{reason}.{hint}{_nearby(model)}")


def read_answers(
    model: str | Language,
    data: Path,
    has_confidence: bool = False,
    group: str | None = None,
) -> list[DocumentResult]:
    """What a pipeline finds in the documents of a file; exit with a message if it
    cannot be loaded, fails, or they cannot be read."""
    from spacy.training import Corpus

    from ..component.judging import judge_pipeline
    from ..inspection.pipelines import components_of

    nlp = load_pipeline(model) if isinstance(model, str) else model
    name = model if isinstance(model, str) else nlp.meta["name"]
    for pipe in components_of(nlp).values():
        _check_trained(name, pipe)
    with reading(data):
        examples = [*Corpus(data)(nlp)]
    progress = partial(with_progress, total=len(examples))
    try:
        found = judge_pipeline(nlp, examples, progress, has_confidence, group)
    except ValueError as e:
        fail(f"Cannot predict with {name!r}", str(e))
    if isinstance(model, str):
        _say_what_gold_is(model, nlp, found)
    return found


def _say_what_gold_is(
    model: str, nlp: Language, answers: Sequence[DocumentResult]
) -> None:
    """Say if a pipeline was trained on documents, or does not know their labels."""
    from ..inspection.pipelines import components_of

    pipes = components_of(nlp).values()
    seen = [pipe.seen_texts for pipe in pipes if pipe.seen_texts is not None]
    if n := sum(any(one.has(x.text) for one in seen) for x in answers):
        say(
            f"Note: training or calibration of {model} has seen {n:,} of these "
            f"{len(answers):,} documents, be it as dev: expect less on new ones"
        )
    known = {label for pipe in pipes for label in labels_of(nlp, pipe)}
    labels = {label for one in answers for *_, label in one.gold}
    if pipes and (unknown := sorted(labels - known)):
        say(f"Note: {model} does not know these labels of gold: {', '.join(unknown)}")


def load_component(model: str, name: str | None) -> tuple[Language, HighOrderSemiCRF]:
    """A saved pipeline and its trained component; exit with a message if there is
    none."""
    from ..inspection.pipelines import components_of

    nlp = load_pipeline(model)
    found = components_of(nlp)
    components = ", ".join(nlp.component_names) or "none"
    if not found:
        fail(
            f"No hosemi component in {model!r}",
            f"Expected one; its components are: {components}.",
        )
    if name is not None and name not in found:
        fail(
            f"No hosemi component {name!r} in {model!r}",
            f"Its hosemi components are: {', '.join(found)}; all: {components}.",
        )
    if name is None and len(found) > 1:
        fail(
            f"{len(found)} hosemi components in {model!r}",
            f"Choose one by --component: {', '.join(found)}.",
        )
    pipe = found[name or next(iter(found))]
    _check_trained(model, pipe)
    return nlp, pipe


def _check_trained(model: str, pipe: HighOrderSemiCRF) -> None:
    if not pipe.weights.is_trained:
        fail(
            f"The component {pipe.name!r} in {model!r} is not trained",
            "All its weights are 0. Expected a pipeline that `spacy train` wrote.",
        )


def version_of(nlp: Language) -> str:
    """RETURNS (str): The name and version of a pipeline."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}"


def labels_of(nlp: Language, pipe: HighOrderSemiCRF) -> list[str]:
    """The labels of a component, the names above them in a tree, and the labels of
    other components that set entities."""
    others = [
        label
        for name in nlp.pipe_names
        if "doc.ents" in nlp.get_pipe_meta(name).assigns
        for label in nlp.pipe_labels.get(name, ())
    ]
    return [*dict.fromkeys([*pipe.labels, *pipe.schema.projection.names(), *others])]


def _nearby(model: str) -> str:
    """A hint for those who name the folder around a pipeline."""
    paths = [Path(model) / name for name in ("model-best", "model-last")]
    found = " or ".join(str(path) for path in paths if path.is_dir())
    return f" Did you mean {found}?" if found else ""


def print_json(report: dict[str, Any]) -> None:
    """Print a report; dataclasses in it become objects, infinity and NaN null."""
    import srsly

    print(srsly.json_dumps(_plain(report), indent=2))


def _plain(found: Any) -> Any:
    if is_dataclass(found) and not isinstance(found, type):
        return _plain(asdict(found))
    if isinstance(found, str):
        return found.encode("utf8", ESCAPED).decode("utf8")
    if isinstance(found, float) and not math.isfinite(found):
        return None  # JSON has neither infinity nor NaN
    if isinstance(found, dict):
        return {key: _plain(value) for key, value in found.items()}
    return [*map(_plain, found)] if isinstance(found, list) else found


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], aligns: str
) -> None:
    """A table with a title, or "nothing" if it has no rows. Control characters are
    escaped."""
    from wasabi import table

    typer.secho(f"\n{f' {clean(title)} ':=^80}", bold=True, color=colour())
    if rows:
        columns: Any = list(aligns)
        cells = [[clean(str(cell)) for cell in row] for row in rows]
        print(table(cells, header, divider=True, aligns=columns, max_col=60))
    else:
        print("\nnothing")
