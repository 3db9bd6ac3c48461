"""python -m spacy hosemi parse: from lines of text to records with confidences."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from spacy.language import Language

from ..component.extraction import ReviewMarks, extract_records
from ..component.fingerprint import fingerprint, guarantee_in_force
from ..component.pipe import HighOrderSemiCRF
from ..component.saved_files import digest_of_file
from ..formats.records import ExtractedRecord
from ..formats.references.fields import COMMON_LABELS
from ..formats.texts import Fault
from ..formats.writers import WRITERS, RecordFormat, WriterOptions, in_words
from ..formats.writers.json_records import as_object, to_json
from ..formats.writers.references import check_libraries
from ..inspection.pipelines import components_of, setters_of
from ..saving import locked
from . import hosemi_cli
from . import options as shared
from .common import (
    component_of,
    labels_of,
    load_pipeline,
    read_texts,
    readers_of,
    version_of,
)
from .options import argument, option
from .streams import (
    ESCAPED,
    FAULTY,
    MAX_CHARS,
    check_outputs,
    fail,
    log_faults,
    naming,
    open_output,
    say,
    write_text,
)


@hosemi_cli.command("parse", no_args_is_help=True)
def parse_cli(
    model: shared.Model,
    files: list[str] = argument(
        "FILES",
        "Lines of text, named pipes, too; .jsonl: JSON lines with texts or tokens; "
        ".csv, .tsv: a table; -: standard input.",
    ),
    form: str = option("--format -F NAME", f"{in_words()}.", "csv"),
    output: str = option(
        "--output -o FILE",
        "Where to write, as a whole or not at all.",
        "-",
        show_default="standard output",
    ),
    errors: Path | None = option(
        "--errors FILE",
        "Write all bad lines to this file, as JSON lines with path, line and message.",
        show_default="standard error, twenty of them",
    ),
    rest: str | None = option(
        "--rest FILE",
        "Write lines without any field to this file, as JSON lines, which `parse` and "
        "`convert` read.",
    ),
    report: str | None = option(
        "--report FILE",
        "Write a summary as JSON: how many texts, fields, faults and seconds, what is "
        "accepted, and whether texts are unlike those before.",
    ),
    fail_on_drift: bool = option(
        "--fail-on-drift",
        "Exit with 1 if texts are unlike those that `hosemi guarantee` has seen.",
        False,
    ),
    column: shared.Column = None,
    text_key: shared.TextKey = None,
    encoding: shared.Encoding = None,
    k: int = option(
        "-k N 1..1000", "Also write the N - 1 most probable other segmentations.", 1
    ),
    threads: int | None = option(
        "--threads N 1..1024",
        "Threads of the component.",
        show_default="as in its settings",
    ),
    max_chars: int = option(
        "--max-chars N 1..", "Longer lines are bad lines.", MAX_CHARS
    ),
    safe_cells: bool = option(
        "--safe-cells/--no-safe-cells",
        "csv, table: write ' in front of cells that spreadsheets would run as "
        "formulas (=, +, -, @); convert and --column take it off again, but with "
        "--no-safe-cells.",
        True,
    ),
    resume: bool = option(
        "--resume",
        "After an interruption what is done stays in FILE.part, and the same command "
        "goes on from there.",
        False,
    ),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    code_path: shared.CodePath = None,
) -> None:
    """
    Extract the fields of each line of text, with their confidences.

    There is a record for each line, in order; lines of several files are numbered
    through. Lines that cannot be read are left out and named, and the rest goes on;
    lines without any field are counted. Memory does not grow with the number of lines.
    Where `hosemi guarantee` has chosen a threshold, each record, or each field, is
    marked: accept or review; or drift, where texts are unlike those that have chosen
    it. A pipeline without hosemi will do, too: what its components (ner, rules, a large
    language model) put into `doc.ents` is written without confidences.

    Exit code: 0 all lines were read, 1 some were bad, or --fail-on-drift has found that
    texts are unlike those before, 2 nothing could be done.

    \b
    Examples:
      python -m spacy hosemi parse model/model-last references.txt > fields.csv
      python -m spacy hosemi parse m references.txt --format table -o table.csv
      python -m spacy hosemi parse m texts.jsonl --text-key body -F jsonl -k 3 -o out
      python -m spacy hosemi parse m table.csv --column citation -F bib -o refs.bib
    """
    paths = [output] if rest is None else [output, rest]
    chosen = _choose_format(form, k, paths if resume else [])
    readers = readers_of(files, column, text_key, encoding, max_chars, safe_cells)
    outputs = {"--output": output, "--rest": rest, "--errors": errors}
    _check_files(files, {**outputs, "--report": report}, resume, overwrite)
    nlp = load_pipeline(model)
    pipe = component_of(nlp, model, component) if components_of(nlp) else None
    needing = {"-k": k > 1, "--threads": threads, "--component": component}
    needing["--fail-on-drift"] = fail_on_drift
    if pipe is None:
        _check_setters(nlp, model, form, [x for x, value in needing.items() if value])
    nlp.max_length = max(nlp.max_length, max_chars)
    labels = labels_of(nlp, pipe)
    fields = _export_fields(chosen, model, pipe, labels)
    guarantee = pipe and guarantee_in_force(pipe)
    if fail_on_drift and (guarantee is None or guarantee.usual is None):
        had_one = pipe is not None and pipe.settings.guarantee is not None
        why = " that holds: it was given for other weights, lists or settings"
        title = f"--fail-on-drift needs what is usual, and {model!r} has no guarantee"
        fail(title + why * had_one, "Choose one by `python -m spacy hosemi guarantee`.")
    promises = guarantee is not None
    options = WriterOptions(version_of(nlp), fields, labels, promises, safe_cells)
    state: dict[str, Any] = {"line": 0, "faults": []}
    if resume:
        values = form, rest, column, text_key, encoding, k, max_chars, safe_cells
        of_model = guarantee, replace(options, is_safe=True)
        state["begun"] = _digests(nlp, pipe, of_model, files, values)
    began = time.monotonic()
    with log_faults(errors, overwrite) as log, ExitStack() as stack:
        if resume:
            out, *others = stack.enter_context(_open_parts(paths, state))
        else:
            opening = (open_output(path, overwrite) for path in paths[::-1])
            *others, out = map(stack.enter_context, opening)
        options = replace(options, continues=state["line"] > 0)
        on_empty, facts = partial(_write_rest, others), pipe and pipe.facts
        marks = ReviewMarks(guarantee, fields, on_empty, facts)
        marks.counts |= state.get("counts", {})
        state["counts"] = marks.counts
        for fault in state["faults"]:
            log.add(Fault(**fault))
        lines = read_texts(readers, max_chars, encoding, log)
        lines = (line for line in lines if line.number > state["line"])
        first = [*islice(lines, 1)]
        if log.n and not first and not state["line"]:
            say("No line could be read")

        def on_bad(fault: Fault) -> None:
            if vars(fault) not in state["faults"]:
                log.add(fault)
                state["faults"] += [vars(fault)] if resume else []

        args = nlp, pipe, chain(first, lines), on_bad
        records = extract_records(
            *args, k=k, has_tokens=chosen.has_tokens, threads=threads
        )
        if chosen.is_for_tools:  # there is nothing to annotate in a blank line
            records = (record for record in records if record.text.strip())
        on_written = [partial(_note, [out, *others], state)] if resume else []
        chosen.write(marks.mark(records, *on_written), out, options)
    if n := marks.counts["without_fields"]:
        what = "field of a reference, and no entry" if fields else "field"
        where = "--rest FILE writes them" if rest is None else f"they are in {rest}"
        failed = f", beside {log.n:,} that failed," if log.n else ""
        say(f"{n:,} of {marks.counts['texts']:,} lines{failed} have no {what}: {where}")
    if summary := marks.summary():
        say(summary)
    if report is not None:
        seconds = round(time.monotonic() - began, 3)
        job = {"model": options.model, "files": files, "seconds": seconds}
        text = json.dumps({**job, "faults": log.n, **marks.report()}, indent=2)
        write_text(text + "\n", report, overwrite)
    if log.n or (fail_on_drift and marks.has_drifted):
        raise SystemExit(FAULTY)


def _choose_format(form: str, k: int, resumed: Sequence[str]) -> RecordFormat:
    """Returns a format; exits if there is none, or it has no place for -k, or these
    paths, of --resume, cannot be gone on with."""
    chosen = WRITERS.get(form)
    if chosen is None:
        fail(f"There is no format {form!r}", f"Expected one of: {', '.join(WRITERS)}.")
    if k > 1 and not chosen.has_alternatives:
        names = ", ".join(x.name for x in WRITERS.values() if x.has_alternatives)
        fail(f"{form!r} has no place for alternatives", f"-k needs one of: {names}.")
    is_stream = any(x == "-" or Path(x).exists() > Path(x).is_file() for x in resumed)
    if resumed and (chosen.is_one_document or is_stream):
        names = ", ".join(x.name for x in WRITERS.values() if not x.is_one_document)
        title = f"--resume cannot go on with {form!r} in {' and '.join(resumed)}"
        fail(title, f"Expected --output FILE, and one of: {names}.")
    return chosen


def _check_files(
    files: Sequence[str], outputs: Mapping[str, Any], resume: bool, overwrite: bool
) -> None:
    """Exits if an output, or with --resume a part of it, is an input or another one."""
    parts, rest = {}, outputs["--rest"]
    if resume:
        part = f"{Path(outputs['--output']).resolve()}.part"
        parts = {"FILE.part": part, "FILE.part.json": f"{part}.json"}
        parts |= {"the .part of --rest": f"{Path(rest).resolve()}.part"} if rest else {}
    for path in files:
        check_outputs({"FILE": path, **parts}, outputs, overwrite)


def _digests(
    nlp: Language, pipe: Any, of_model: Any, files: Sequence[str], values: Any
) -> dict[str, str]:
    """Returns digests of what must not differ when --resume goes on, by its name."""
    of_pipe = fingerprint(pipe) if pipe else sha256(nlp.to_bytes()).hexdigest()
    options = (
        "--format --rest --column --text-key --encoding -k --max-chars --safe-cells"
    )
    begun = {f"with another {x}": value for x, value in zip(options.split(), values)}
    begun["by another model"] = pipe and pipe.name, of_pipe, of_model
    digests = [digest_of_file(path) for path in files if Path(path).is_file()]
    begun["of other files"] = files, digests
    texts = {
        name: repr(value).encode("utf8", "replace") for name, value in begun.items()
    }
    return {name: sha256(text).hexdigest() for name, text in texts.items()}


def _write_rest(files: Sequence[IO[str]], record: ExtractedRecord) -> None:
    for file in files:
        file.write(to_json(as_object(record)) + "\n")


@contextmanager
def _open_parts(paths: Sequence[str], state: dict[str, Any]) -> Iterator[list[IO[str]]]:
    """Opens FILE.part for each, which in the end becomes FILE, behind what `_note` has
    noted, and gives the state what that was. Exits if it was for something else."""
    targets = [Path(path).resolve() for path in paths]
    parts = [target.with_name(f"{target.name}.part") for target in targets]
    notes, first = Path(f"{parts[0]}.json"), targets[0]
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
    with locked(first.parent, first), ExitStack() as stack:
        if notes.exists():
            noted: dict[str, Any] = {}
            with suppress(OSError, ValueError):
                noted = json.loads(notes.read_text("utf8"))
            sizes = zip(parts, noted.get("sizes", [0]))
            are_whole = all(x.exists() and x.stat().st_size >= n for x, n in sizes)
            before = noted.get("begun", {})
            differ = [
                x for x, value in state["begun"].items() if before.get(x) != value
            ]
            if differ or not are_whole:
                why = f"was begun {' and '.join(differ)}" if differ else "was cut"
                title = f"{str(parts[0])!r} {why}"
                fail(title, f"Remove {notes.name} to begin anew.")
            state |= noted
            [*map(os.truncate, parts, state["sizes"])]
            say(f"Going on after line {state['line']:,}")
        how: Any = {"encoding": "utf8", "errors": ESCAPED, "newline": ""}
        how["mode"] = "a" if state["line"] else "w"
        try:
            stack.enter_context(naming(parts[0]))
            yield [stack.enter_context(part.open(**how)) for part in parts]
            stack.close()
            [*map(Path.replace, parts, targets)]
            notes.unlink(missing_ok=True)
        finally:
            if notes.exists():
                say(f"{state['line']:,} lines are kept: this command goes on with them")
            else:
                for part in parts:
                    part.unlink(missing_ok=True)


def _note(files: Sequence[IO[str]], state: dict[str, Any], line: int) -> None:
    """Notes in FILE.part.json that all is written up to a line."""
    for file in files:
        file.flush()
    state |= {"line": line, "sizes": [os.fstat(x.fileno()).st_size for x in files]}
    with open_output(f"{files[0].name}.json", overwrite=True) as notes:
        json.dump(state, notes)


def _check_setters(nlp: Language, model: str, form: str, needing: list[str]) -> None:
    """Exits if a pipeline without hosemi sets no entities, or lacks what is needed."""
    components = f"Its components are: {', '.join(nlp.component_names) or 'none'}."
    if not setters_of(nlp):
        expected = "Expected one that does: hosemi, ner, span_ruler with annotate_ents."
        fail(f"No component of {model!r} sets doc.ents", f"{components} {expected}")
    if needing:
        title = f"{' and '.join(needing)}: no hosemi component in {model!r}"
        fail(title, f"{components} Leave that out.")
    if form == "table" and not labels_of(nlp, None):
        title = f"No component of {model!r} says which labels it has"
        fail(title, f"{components} A table needs them; take --format csv or jsonl.")


def _export_fields(
    form: RecordFormat, model: str, pipe: HighOrderSemiCRF | None, labels: Sequence[str]
) -> Mapping[str, str]:
    """Returns the field of references of each label; exits if none can be written."""
    if not form.is_of_references:
        return {}
    try:
        check_libraries()
    except ImportError as e:
        fail(str(e))
    named = pipe and pipe.export_fields
    fields = COMMON_LABELS if named is None else dict(named)
    if labels and not any(label in fields for label in labels):
        title = (
            f"No label of {(pipe.name if pipe else model)!r} is a field of references"
        )
        remedy = "name their fields by the setting export_fields of a hosemi component"
        fail(title, f"Its labels are {', '.join(labels)}; {remedy}.")
    return fields
