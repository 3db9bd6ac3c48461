"""python -m spacy hosemi parse: from lines of text to records with confidences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .common import hosemi_cli, labels_of, load_component, version_of
from .options import CodePath, Component, Model, Overwrite, argument, option
from .streams import (
    FAULTY,
    FaultLog,
    check_outputs,
    fail,
    is_file,
    log_faults,
    open_input,
    open_output,
    say,
)

if TYPE_CHECKING:
    from ..component.pipe import HighOrderSemiCRF
    from ..formats.inputs import TextReader
    from ..formats.lines import Line
    from ..formats.records import ExtractedRecord
    from ..formats.texts import Fault
    from ..formats.writers import RecordFormat
    from ..prediction.guarantee import Guarantee

_TABLES = {".csv": None, ".tsv": "\t"}
_OBJECTS = (".jsonl", ".ndjson")


@hosemi_cli.command("parse", no_args_is_help=True)
def parse_cli(
    model: Model,
    files: Annotated[
        list[str],
        argument(
            "FILES",
            "Lines of text, named pipes, too; .jsonl: JSON lines; .csv, .tsv: a "
            "table; -: standard input.",
        ),
    ],
    form: Annotated[str, option("--format -F NAME", "{formats}.")] = "csv",
    output: Annotated[
        str,
        option(
            "--output -o FILE",
            "Where to write, as a whole or not at all.",
            show_default="standard output",
        ),
    ] = "-",
    errors: Annotated[
        Path | None,
        option(
            "--errors FILE",
            "Write all bad lines to this file, as JSON lines with path, line and "
            "message.",
            show_default="standard error, twenty of them",
        ),
    ] = None,
    column: Annotated[
        str | None,
        option("--column NAME", "FILES are tables; texts are in this column."),
    ] = None,
    text_key: Annotated[
        str | None,
        option(
            "--text-key KEY",
            "FILES are JSON lines; texts are under this key.",
            show_default='"text" in .jsonl',
        ),
    ] = None,
    encoding: Annotated[
        str, option("--encoding NAME", "Of FILES, such as latin-1.")
    ] = "utf-8",
    k: Annotated[
        int,
        option(
            "-k N", "Also write the N - 1 most probable other segmentations.", min=1
        ),
    ] = 1,
    threads: Annotated[
        int | None,
        option(
            "--threads N",
            "Threads of the component.",
            min=1,
            max=1024,
            show_default="as in its settings",
        ),
    ] = None,
    max_chars: Annotated[
        int, option("--max-chars N", "Longer lines are bad lines.", min=1)
    ] = 1_000_000,
    overwrite: Overwrite = False,
    component: Component = None,
    code_path: CodePath = None,
) -> None:
    """
    Extract the fields of each line of text, with their confidences.

    There is a record for each line, in order; lines of several files are numbered
    through. Lines that cannot be read are left out and named, and the rest goes on.
    Memory does not grow with the number of lines. Where `hosemi guarantee` has chosen a
    threshold, each record, or each field, is marked: accept or review.

    Exit code: 0 all lines were read, 1 some were bad, 2 nothing could be done.

    \b
    Examples:
      python -m spacy hosemi parse model/model-last references.txt > fields.csv
      python -m spacy hosemi parse m references.txt --format table -o table.csv
      python -m spacy hosemi parse m texts.jsonl --text-key body -F jsonl -k 3 -o out
      python -m spacy hosemi parse m table.csv --column citation -F bib -o refs.bib
    """
    from ..component.extraction import extract_records
    from ..component.fingerprint import guarantee_in_force
    from ..formats.sources import check_encoding
    from ..formats.writers import WRITERS, WriterOptions

    chosen = WRITERS.get(form)
    if chosen is None:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(WRITERS)}.")
    if k > 1 and not chosen.has_alternatives:
        names = ", ".join(x.name for x in WRITERS.values() if x.has_alternatives)
        fail(f"{form!r} has no place for alternatives", f"-k needs one of: {names}.")
    check_encoding(encoding)
    readers = [(path, _reader_of(path, column, text_key, max_chars)) for path in files]
    for path in files:
        outputs = {"--output": output, "--errors": errors}
        check_outputs({"FILE": path}, outputs, overwrite)
    nlp, pipe = load_component(model, component)
    nlp.max_length = max(nlp.max_length, max_chars)
    fields, labels = _export_fields(chosen, pipe), labels_of(nlp, pipe)
    guarantee = guarantee_in_force(pipe)
    options = WriterOptions(version_of(nlp), fields, labels, guarantee is not None)
    marks = ReviewMarks(guarantee)
    with log_faults(errors, overwrite) as log:
        lines = _read_all(readers, max_chars, encoding, log)
        first = [*islice(lines, 1)]
        if log.n and not first:
            say("No line could be read: nothing is written")
            raise SystemExit(FAULTY)
        args = nlp, pipe, chain(first, lines), log.add
        records = extract_records(
            *args, k=k, has_tokens=chosen.has_tokens, threads=threads
        )
        if chosen.is_for_tools:  # there is nothing to annotate in a blank line
            records = (record for record in records if record.text.strip())
        with open_output(output, overwrite) as file:
            chosen.write(marks.mark(records), file, options)
    if summary := marks.summary():
        say(summary)
    if log.n:
        raise SystemExit(FAULTY)


class ReviewMarks:
    """Marks records, or their fields, that need no eye, where a guarantee promises
    something, and says if they are unlike those before. Counts those that got a
    verdict, those of them that are accepted, and those that are as improbable as the
    last quarter when the threshold was chosen."""

    def __init__(self, guarantee: Guarantee | None) -> None:
        self._guarantee = guarantee
        self.n = self.n_accepted = self.n_low = 0

    def mark(self, records: Iterable[ExtractedRecord]) -> Iterator[ExtractedRecord]:
        """Yields each record, with verdicts; one without text has none."""
        if self._guarantee is None:
            yield from records
            return
        for record in records:
            if not record.text.strip():
                yield record
                continue
            probabilities = [x.confidence for x in record.best.fields]
            if self._guarantee.is_of_records:
                probabilities = [record.best.confidence]
                verdicts: list[str] = [*map(self._guarantee.of_record, probabilities)]
                record = replace(record, verdict=verdicts[0])
            else:
                labels = [x.label for x in record.best.fields]
                verdicts = [*self._guarantee.of_spans([*zip(labels, probabilities)])]
                record = replace(record, verdicts=verdicts)
            self.n += len(verdicts)
            self.n_accepted += verdicts.count("accept")
            if (usual := self._guarantee.usual) is not None:
                self.n_low += sum(map(usual.is_low, probabilities))
            yield record

    def summary(self) -> str:
        """Returns a text for people; empty if nothing was marked."""
        guarantee = self._guarantee
        if guarantee is None or not self.n:
            return ""
        what = "records" if guarantee.is_of_records else "fields"
        text = f"{self.n_accepted:,} of {self.n:,} {what} need no eye"
        usual = guarantee.usual
        if usual is not None and guarantee.departs(self.n, self.n_low):
            now, then = self.n_low / self.n, usual.n_below / usual.n
            text += (
                f"\nWarning: {100 * now:.1f} % of the {what} are less probable than "
                f"{usual.limit:.2g}, not {100 * then:.1f} % as when the threshold was "
                "chosen. These texts are others than those, and what was promised may "
                "not hold: annotate some of them, and run `python -m spacy hosemi "
                "guarantee` with these."
            )
        return text


def _reader_of(
    path: str, column: str | None, text_key: str | None, max_chars: int
) -> TextReader:
    """Returns what reads the texts of a file; exits if that is not clear, or if it is
    not there."""
    from ..formats.inputs import read_column, read_json_lines, read_plain

    suffix = Path(path).suffix.lower()
    if path != "-" and not is_file(path):
        fail(f"There is no file {path!r}", "Expected lines of text, or - for a pipe.")
    if column is not None and text_key is not None:
        fail("--column and --text-key are given", "Expected at most one of them.")
    if column is not None:
        delimiter = _TABLES.get(suffix)
        return partial(
            read_column, column=column, delimiter=delimiter, max_chars=max_chars
        )
    if text_key is not None or suffix in _OBJECTS:
        return partial(read_json_lines, key=text_key or "text")
    if suffix in _TABLES:
        fail(f"{path!r} is a table", "Say which column has the texts: --column NAME.")
    if suffix == ".json":
        fail(f"{path!r} is no file of lines", "Expected lines of text, .jsonl or .csv.")
    return read_plain


def _export_fields(form: RecordFormat, pipe: HighOrderSemiCRF) -> Mapping[str, str]:
    """Returns for each label the field of a reference; exits if references cannot be
    written."""
    from ..formats.references.fields import COMMON_LABELS
    from ..formats.writers.references import check_libraries

    if not form.is_of_references:
        return {}
    try:
        check_libraries()
    except ImportError as e:
        fail(str(e))
    fields = COMMON_LABELS if pipe.export_fields is None else dict(pipe.export_fields)
    if not any(label in fields for label in pipe.labels):
        fail(
            f"No label of {pipe.name!r} is a field of references",
            f"Its labels are {', '.join(pipe.labels)}; name their fields by the "
            "setting export_fields.",
        )
    return fields


def _read_all(
    readers: Sequence[tuple[str, TextReader]],
    max_chars: int,
    encoding: str,
    log: FaultLog,
) -> Iterator[Line]:
    """Yields the lines of all files, numbered through; those that are bad go to the
    log. With a bar on a terminal."""
    from tqdm import tqdm

    from ..formats.lines import Line, read_lines

    # Pipes have no size.
    sizes = [Path(x).stat().st_size for x, _ in readers if Path(x).is_file()]
    total = sum(sizes) if len(sizes) == len(readers) else None
    n_before = n_lines = 0  # of the files before, and of the one that is read

    def counted(lines: Iterable[Line | Fault]) -> Iterator[Line | Fault]:
        nonlocal n_lines
        for line in lines:
            n_lines = line.line or n_lines
            yield line

    # disable=None: shown on a terminal only.
    look: dict[str, Any] = {"unit": "B", "unit_scale": True, "leave": False}
    with tqdm(total=total, disable=None, **look) as bar:
        for path, read in readers:
            with open_input(path) as file:
                args = path, max_chars, bar.update, encoding
                for line in read(counted(read_lines(file, *args))):
                    if isinstance(line, Line):
                        yield line._replace(number=n_before + line.line)
                        continue
                    log.add(line)
                    if line.line is None:  # of the file as a whole
                        break
            n_before, n_lines = n_before + n_lines, 0
