"""python -m spacy hosemi parse: from lines of text to records with confidences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .common import (
    hosemi_cli,
    labels_of,
    load_component,
    read_texts,
    readers_of,
    version_of,
)
from .options import (
    CodePath,
    Column,
    Component,
    Encoding,
    Model,
    Overwrite,
    TextKey,
    argument,
    option,
)
from .streams import FAULTY, check_outputs, fail, log_faults, open_output, say

if TYPE_CHECKING:
    from ..component.pipe import HighOrderSemiCRF
    from ..formats.records import ExtractedRecord
    from ..formats.writers import RecordFormat
    from ..prediction.guarantee import Guarantee


@hosemi_cli.command("parse", no_args_is_help=True)
def parse_cli(
    model: Model,
    files: Annotated[
        list[str],
        argument(
            "FILES",
            "Lines of text, named pipes, too; .jsonl: JSON lines with texts or tokens; "
            ".csv, .tsv: a table; -: standard input.",
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
    column: Column = None,
    text_key: TextKey = None,
    encoding: Encoding = None,
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
    from ..formats.writers import WRITERS, WriterOptions

    chosen = WRITERS.get(form)
    if chosen is None:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(WRITERS)}.")
    if k > 1 and not chosen.has_alternatives:
        names = ", ".join(x.name for x in WRITERS.values() if x.has_alternatives)
        fail(f"{form!r} has no place for alternatives", f"-k needs one of: {names}.")
    readers = readers_of(files, column, text_key, encoding, max_chars)
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
        lines = read_texts(readers, max_chars, encoding, log)
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
