"""python -m spacy hosemi parse: from lines of text to records with confidences."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

from .common import (
    hosemi_cli,
    labels_of,
    load_component,
    read_texts,
    readers_of,
    version_of,
)
from .options import (
    MANY,
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
from .streams import (
    FAULTY,
    MAX_CHARS,
    check_outputs,
    fail,
    log_faults,
    open_output,
    say,
    write_text,
)

if TYPE_CHECKING:
    from ..component.pipe import HighOrderSemiCRF
    from ..formats.records import ExtractedRecord
    from ..formats.writers import RecordFormat


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
    rest: Annotated[
        str | None,
        option(
            "--rest FILE",
            "Write lines without any field to this file, as JSON lines, which `parse` "
            "and `convert` read.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        option(
            "--report FILE",
            "Write a summary as JSON: how many texts, fields, faults and seconds, what "
            "is accepted, and whether texts are unlike those before.",
        ),
    ] = None,
    fail_on_drift: Annotated[
        bool,
        option(
            "--fail-on-drift",
            "Exit with 1 if texts are unlike those that `hosemi guarantee` has seen.",
        ),
    ] = False,
    column: Column = None,
    text_key: TextKey = None,
    encoding: Encoding = None,
    k: Annotated[
        int,
        option(
            "-k N",
            "Also write the N - 1 most probable other segmentations.",
            min=1,
            max=1000,
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
        int, option("--max-chars N", "Longer lines are bad lines.", min=1, max=MANY)
    ] = MAX_CHARS,
    safe_cells: Annotated[
        bool,
        option(
            "--safe-cells/--no-safe-cells",
            "csv, table: write ' in front of cells that spreadsheets would run as "
            "formulas (=, +, -, @); convert takes it off again.",
        ),
    ] = True,
    overwrite: Overwrite = False,
    component: Component = None,
    code_path: CodePath = None,
) -> None:
    """
    Extract the fields of each line of text, with their confidences.

    There is a record for each line, in order; lines of several files are numbered
    through. Lines that cannot be read are left out and named, and the rest goes on;
    lines without any field are counted. Memory does not grow with the number of lines.
    Where `hosemi guarantee` has chosen a threshold, each record, or each field, is
    marked: accept or review; or drift, where texts are unlike those that have chosen
    it.

    Exit code: 0 all lines were read, 1 some were bad, or --fail-on-drift has found that
    texts are unlike those before, 2 nothing could be done.

    \b
    Examples:
      python -m spacy hosemi parse model/model-last references.txt > fields.csv
      python -m spacy hosemi parse m references.txt --format table -o table.csv
      python -m spacy hosemi parse m texts.jsonl --text-key body -F jsonl -k 3 -o out
      python -m spacy hosemi parse m table.csv --column citation -F bib -o refs.bib
    """
    from ..component.extraction import ReviewMarks, extract_records
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
        outputs: dict[str, str | Path | None] = {"--output": output, "--rest": rest}
        outputs |= {"--errors": errors, "--report": report}
        check_outputs({"FILE": path}, outputs, overwrite)
    nlp, pipe = load_component(model, component)
    nlp.max_length = max(nlp.max_length, max_chars)
    fields, labels = _export_fields(chosen, pipe), labels_of(nlp, pipe)
    guarantee = guarantee_in_force(pipe)
    if fail_on_drift and (guarantee is None or guarantee.usual is None):
        title = f"--fail-on-drift needs what is usual, and {model!r} has no guarantee"
        fail(title, "Choose one by `python -m spacy hosemi guarantee`.")
    promises = guarantee is not None
    options = WriterOptions(version_of(nlp), fields, labels, promises, safe_cells)
    began = time.monotonic()
    others = nullcontext() if rest is None else open_output(rest, overwrite)
    with log_faults(errors, overwrite) as log, others as rest_file:
        marks = ReviewMarks(guarantee, fields, partial(_write_rest, rest_file))
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
    if n := marks.counts["without_fields"]:
        what = "field of a reference, and no entry" if fields else "field"
        where = "--rest FILE writes them" if rest is None else f"they are in {rest}"
        say(f"{n:,} of {marks.counts['texts']:,} lines have no {what}: {where}")
    if summary := marks.summary():
        say(summary)
    if report is not None:
        seconds = round(time.monotonic() - began, 3)
        about = {"model": options.model, "files": files, "seconds": seconds}
        text = json.dumps({**about, "faults": log.n, **marks.report()}, indent=2)
        write_text(text + "\n", report, overwrite)
    if log.n or (fail_on_drift and marks.has_drifted):
        raise SystemExit(FAULTY)


def _write_rest(file: IO[str] | None, record: ExtractedRecord) -> None:
    from ..formats.writers.json_records import as_object, to_json

    if file is not None:
        file.write(to_json(as_object(record)) + "\n")


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
