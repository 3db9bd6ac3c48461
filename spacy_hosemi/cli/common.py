"""What several commands do: loading and saving pipelines, printing tables."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus
from tqdm import tqdm
from wasabi import table

from ..component.judging import DocumentResult, judge_pipeline
from ..component.pipe import HighOrderSemiCRF
from ..formats.inputs import TextReader, read_column, read_json_lines
from ..formats.lines import UTF8, Line, read_lines
from ..formats.records import ExtractedRecord
from ..formats.sources import check_encoding
from ..formats.texts import Fault
from ..formats.tokenizers import blank_pipeline
from ..formats.writers import WRITERS, WriterOptions
from ..inspection.corpus import CorpusPart, read_part
from ..inspection.pipelines import (
    components_of,
    pipeline_of_config,
    pipeline_of_kind,
    setters_of,
)
from ..saving import load, save
from .options import SPACY
from .streams import (
    ESCAPED,
    FaultLog,
    clean,
    colour,
    fail,
    failing,
    is_file,
    is_terminal,
    open_input,
    open_output,
    reason,
    say,
    with_progress,
)

# Files of texts that are no plain lines; of a table what stands between its columns.
_TABLES = {".csv": None, ".tsv": "\t"}
_OBJECTS = (".jsonl", ".ndjson")

# After this many seconds a command says how long it will take.
PATIENCE = 10.0


def write_chosen(
    docs: Sequence[Doc],
    records: Iterable[ExtractedRecord],
    form: str,
    output: Path | str,
    overwrite: bool,
    options: WriterOptions,
) -> None:
    """Writes documents with their user data to a .spacy file; or as records, which are
    made only then, in the format of a tool, see `check_task_format`."""
    is_spacy = form == SPACY
    with open_output(output, overwrite, binary=is_spacy) as file:
        if is_spacy:
            file.write(DocBin(docs=docs, store_user_data=True).to_bytes())
        else:
            WRITERS[form].write(records, file, options)
    what = f"{len(docs):,} documents" if is_spacy else "the tasks"
    say(f"Wrote {what} to {output}")


def save_pipeline(nlp: Language, output: Path) -> None:
    """Saves a pipeline, see `save`; exits with a message if that is not possible."""
    try:
        save(nlp, output)
    except OSError as e:
        fail(f"Cannot save the pipeline to {str(output)!r}", reason(e))
    say(f"Saved the pipeline to {output}")


def open_training(
    train: str, config: Path | None, encoding: str | None, group: str | None = None
) -> tuple[CorpusPart, Language, HighOrderSemiCRF, str]:
    """Returns documents to train on, an untrained pipeline, its component, and the kind
    of its config, "" if one was given; says faults. `group`: a key to keep."""
    from ..inspection.report import kind_of  # which other commands need not wait for

    blank, nlp, kind = blank_pipeline(config), None, ""
    if config is not None:
        nlp = pipeline_of_config(config)
    part = read_part(train, blank, encoding=encoding, group=group)
    for fault in part.faults:
        say(str(fault))
    if nlp is None:
        fit = kind_of(part)[-1]
        kind = fit.kind if fit else "fields"
        nlp = pipeline_of_kind(kind)
    return part, nlp, next(iter(components_of(nlp).values())), kind


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Exits with a message if a .spacy file cannot be read."""
    try:
        yield
    except Exception as e:  # msgpack and zlib have errors of their own
        fail(f"Cannot read {str(path)!r}", f"Expected a .spacy file; {e!r}"[:200])


def load_pipeline(model: str) -> Language:
    """Returns a saved pipeline; exits with a message if it cannot be loaded."""
    try:
        return load(model)
    except Exception as e:  # a damaged file may raise anything
        says_why = isinstance(e, (ImportError, OSError, ValueError))
        message = str(e) if says_why else f"{type(e).__name__}: {e}"
        # E893 of spaCy lists all registered functions: leave them out.
        reason, names, _ = message.partition("Available names:")
        text = reason.rstrip(". \n") + "."
        text += " Import the file that has it: --code FILE." if names else ""
        paths = [Path(model) / name for name in ("model-best", "model-last")]
        if nearby := [str(path) for path in paths if path.is_dir()]:
            text += f" Did you mean {' or '.join(nearby)}?"
        fail(f"Cannot load the pipeline {model!r}", text)


def read_answers(
    model: str | Language,
    data: Path,
    has_confidence: bool = False,
    group: str | None = None,
) -> list[DocumentResult]:
    """Returns what a pipeline finds in the documents of a file; exits with a message if
    it cannot be loaded, fails, or they cannot be read."""
    nlp = load_pipeline(model) if isinstance(model, str) else model
    name = model if isinstance(model, str) else nlp.meta["name"]
    for pipe in components_of(nlp).values():
        _check_trained(name, pipe)
    with reading(data):
        examples = [*Corpus(data)(nlp)]
    progress = partial(with_progress, total=len(examples))
    with failing(f"Cannot predict with {name!r}"):
        results = judge_pipeline(nlp, examples, progress, has_confidence, group)
    if isinstance(model, str):
        _say_what_gold_is(model, nlp, results)
    return results


def _say_what_gold_is(
    model: str, nlp: Language, answers: Sequence[DocumentResult]
) -> None:
    """Says if a pipeline was trained on documents, or does not know their labels."""
    pipes = components_of(nlp).values()
    digests = [pipe.training_texts for pipe in pipes if pipe.training_texts is not None]
    if n := sum(any(texts.has(x.text) for texts in digests) for x in answers):
        say(
            f"Note: training or calibration of {model} has seen {n:,} of these "
            f"{len(answers):,} documents, be it as dev: expect less on new ones"
        )
    labels = {label for pipe in pipes for label in labels_of(nlp, pipe)}
    labels_of_gold = {label for answer in answers for *_, label in answer.gold}
    if answers and not labels_of_gold:
        say(f"Note: the {len(answers):,} documents have no gold: all spans are wrong")
    if pipes and (unknown := sorted(labels_of_gold - labels)):
        say(f"Note: {model} does not know these labels of gold: {', '.join(unknown)}")


def load_component(
    model: str, name: str | None, output: Path | None = None
) -> tuple[Language, HighOrderSemiCRF]:
    """Returns a saved pipeline and its trained component, see `component_of`; exits if
    the output is in its folder, or that in the output: they would overwrite parts."""
    nlp = load_pipeline(model)
    folders = {x.resolve() for x in (output, nlp.path) if output and x}
    if any(x.is_relative_to(y) for x, y in permutations(folders, 2)):
        title = f"One of {str(output)!r} and {model!r} is in the other"
        fail(title, "Expected folders apart; or, with --overwrite, the same one.")
    return nlp, component_of(nlp, model, name)


def component_of(nlp: Language, model: str, name: str | None) -> HighOrderSemiCRF:
    """Returns the trained component of a pipeline, or exits with a message."""
    pipes = components_of(nlp)
    components = ", ".join(nlp.component_names) or "none"
    if not pipes:
        title = f"No hosemi component in {model!r}"
        fail(title, f"Expected one; its components are: {components}.")
    if name is not None and name not in pipes:
        remedy = f"Its hosemi components are: {', '.join(pipes)}; all: {components}."
        fail(f"No hosemi component {name!r} in {model!r}", remedy)
    if name is None and len(pipes) > 1:
        title = f"{len(pipes)} hosemi components in {model!r}"
        fail(title, f"Choose one by --component: {', '.join(pipes)}.")
    pipe = pipes[name or next(iter(pipes))]
    _check_trained(model, pipe)
    return pipe


def _check_trained(model: str, pipe: HighOrderSemiCRF) -> None:
    if not pipe.weights.is_trained:
        title = f"The component {pipe.name!r} in {model!r} is not trained"
        fail(title, "Its weights are 0. Expected a pipeline that `spacy train` wrote.")


def version_of(nlp: Language) -> str:
    """Returns the name and version of a pipeline."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}"


def labels_of(nlp: Language, pipe: HighOrderSemiCRF | None) -> list[str]:
    """Returns labels of a component and its tree, and of others that set entities."""
    labels = [] if pipe is None else [*pipe.labels, *pipe.schema.projection.names()]
    for name in setters_of(nlp):
        labels += nlp.pipe_labels.get(name, ())
    return [*dict.fromkeys(labels)]


def print_json(report: dict[str, Any]) -> None:
    """Prints a report; dataclasses in it become objects, infinity and NaN null."""
    print(srsly.json_dumps(_plain(report), indent=2))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, str):
        return value.encode("utf8", ESCAPED).decode("utf8")
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has neither infinity nor NaN
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [*map(_plain, value)] if isinstance(value, list) else value


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], aligns: str
) -> None:
    """Prints a table with a title, or "nothing" if it has no rows; numbers of thousands
    get commas, and control characters are escaped."""
    typer.secho(f"\n{f' {clean(title)} ':=^80}", bold=True, color=colour())
    if rows:
        columns: Any = list(aligns)
        cells = [
            [clean(f"{x:,}" if isinstance(x, int) else str(x)) for x in row]
            for row in rows
        ]
        print(table(cells, header, divider=True, aligns=columns, max_col=60))
    else:
        print("\nnothing")


def readers_of(
    files: Sequence[str],
    column: str | None,
    text_key: str | None,
    encoding: str | None,
    max_chars: int,
    has_marks: bool = True,
) -> list[tuple[str, TextReader]]:
    """Returns for each file the function that reads its texts; exits if there is no
    such file, or it is not clear which. has_marks: see `read_column`."""
    if column is not None and text_key is not None:
        fail("--column and --text-key are given", "Expected at most one of them.")
    check_encoding(encoding or "utf-8")

    def reader_of(path: str) -> TextReader:
        suffix = Path(path).suffix.lower()
        if path != "-" and not is_file(path):
            is_folder, missing = Path(path).is_dir(), f"There is no file {path!r}"
            expected = "Expected lines of text, or - for a pipe, after the model."
            fail(f"{path!r} is a folder" if is_folder else missing, expected)
        if column is not None:
            how: dict[str, Any] = {"max_chars": max_chars, "has_marks": has_marks}
            how["delimiter"] = _TABLES.get(suffix)
            return partial(read_column, column=column, **how)
        if text_key is not None or suffix in _OBJECTS:
            return partial(read_json_lines, key=text_key or "text")
        if suffix in _TABLES:
            expected = "Say which column has the texts: --column NAME."
            fail(f"{path!r} is a table", expected)
        if suffix == ".json":
            expected = "Expected lines of text, .jsonl or .csv."
            fail(f"{path!r} is no file of lines", expected)
        return iter

    return [(path, reader_of(path)) for path in files]


def read_texts(
    readers: Sequence[tuple[str, TextReader]],
    max_chars: int,
    encoding: str | None,
    log: FaultLog,
) -> Iterator[Line]:
    """Yields the texts of all files, numbered through; bad ones go to the log."""
    # Pipes have no size.
    sizes = [Path(x).stat().st_size for x, _ in readers if Path(x).is_file()]
    total = sum(sizes) if len(sizes) == len(readers) else None
    n_before = n_lines = 0  # of the files before, and of the one that is read
    n_bytes, began, is_silent = 0, time.monotonic(), not is_terminal()

    def counted(lines: Iterable[Line | Fault]) -> Iterator[Line | Fault]:
        nonlocal n_lines
        for line in lines:
            n_lines = line.line or n_lines
            yield line

    def on_read(n: int) -> None:
        """Says once how long it will take, where no bar does."""
        nonlocal n_bytes, is_silent
        bar.update(n)
        n_bytes += n
        seconds = time.monotonic() - began
        if is_silent and total and seconds > PATIENCE:
            is_silent = False
            rest = seconds * (total / n_bytes - 1)
            done = f"{n_lines:,} lines were read in {seconds:.0f} seconds"
            say(f"{done}; the rest takes about {rest:.0f}")

    # disable=None: a bar on a terminal only.
    look: dict[str, Any] = {"unit": "B", "unit_scale": True, "leave": False}
    with tqdm(total=total, disable=None, **look) as bar:
        for path, read in readers:
            with open_input(path) as file:
                args = path, max_chars, on_read, encoding or UTF8
                for line in read(counted(read_lines(file, *args))):
                    if isinstance(line, Line):
                        yield line._replace(number=n_before + line.line)
                        continue
                    log.add(line)
                    if line.line is None:  # of the file as a whole
                        break
            n_before, n_lines = n_before + n_lines, 0
