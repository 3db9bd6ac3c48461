"""python -m spacy hosemi convert: annotations of any tool to spaCy's binary format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import hosemi_cli, print_json
from .options import CodePath, Encoding, Overwrite
from .streams import (
    DONE,
    FAULTY,
    check_different,
    check_file,
    clean,
    fail,
    log_faults,
    open_output,
    say,
    say_waiting,
    with_progress,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..formats import AnnotatedText, Annotations


@hosemi_cli.command("convert", no_args_is_help=True)
def convert_cli(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A file, a folder, or - (stdin).")
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT.spacy", help="The file to write.")
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="jsonl, doccano, prodigy, label-studio, spacy, brat, columns, csv or "
            "xml; auto: recognized by the content.",
        ),
    ] = "auto",
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Config whose tokenizer cuts the texts. Default: the field tokenizer.",
        ),
    ] = None,
    lang: Annotated[
        str,
        typer.Option("--lang", metavar="CODE", help="Language, without --config."),
    ] = "en",
    text_key: Annotated[
        str | None,
        typer.Option(
            "--text-key",
            metavar="NAME",
            help="The key, column or XML element that has a text. Default: text, or "
            "what is usual for the format.",
        ),
    ] = None,
    fields: Annotated[
        str,
        typer.Option(
            "--fields",
            metavar="A,B",
            help="csv: the columns that are fields. Default: all others.",
        ),
    ] = "",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="token=N,tag=N",
            help="columns: which column has the tokens, which the tags, from 1; -1 is "
            "the last. Default: as the file looks.",
        ),
    ] = None,
    encoding: Encoding = None,
    ends: Annotated[
        str | None,
        typer.Option(
            "--ends",
            metavar="KIND",
            help="inclusive: the end of a span is its last character. Default: "
            "exclusive.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--offsets",
            metavar="UNIT",
            help="What offsets count: characters, utf-16 or utf-8. Default: "
            "characters.",
        ),
    ] = None,
    shift: Annotated[
        int | None,
        typer.Option(
            "--shift",
            metavar="N",
            help="Add this to each offset; -1: the first character has number 1.",
        ),
    ] = None,
    overlaps: Annotated[
        str,
        typer.Option(
            "--overlaps",
            metavar="KIND",
            help="Of spans that overlap: fault, or longest: only that is read.",
        ),
    ] = "fault",
    binary: Annotated[
        bool,
        typer.Option(
            "--binary",
            help="prodigy: tasks answer for their spans alone, as those of ner.teach. "
            "Accepted spans are right, rejected ones wrong; nothing is known of the "
            "rest.",
        ),
    ] = False,
    dev: Annotated[
        float | None,
        typer.Option(
            "--dev", metavar="SHARE", help="Share of the texts in a file of its own."
        ),
    ] = None,
    dev_out: Annotated[
        Path | None,
        typer.Option(
            "--dev-out", metavar="FILE", help="That file. Default: OUT-dev.spacy."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="KEY",
            help="Texts with the same value of KEY come into the same file of --dev, "
            "and keep it in doc.user_data, for the --group of other commands.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Chooses other texts for --dev.")
    ] = 0,
    faults: Annotated[
        Path | None,
        typer.Option("--faults", metavar="FILE", help="Write all faults there: JSONL."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON.")
    ] = False,
    code_path: CodePath = None,
) -> None:
    """
    Convert annotated texts to a .spacy file, which `spacy train` reads.

    No span is lost: tokens are cut where spans begin and end. Texts with a fault are
    left out, and all faults are listed on standard error. Exit code: 0 all is
    converted, 1 there are faults or no text is left and nothing is written, 2 could not
    run: no file, format or option is what was expected.

    \b
    Examples:
      python -m spacy hosemi convert train.jsonl train.spacy
      python -m spacy hosemi convert export.json train.spacy --dev 0.1 --group doc_id
      python -m spacy hosemi convert table.csv train.spacy --text-key reference
      python -m spacy hosemi convert teach.jsonl teach.spacy --binary
    """
    from ..formats import ReaderSettings, read_annotations
    from ..formats.readers.columns import read_columns
    from ..formats.tokenizers import blank_pipeline

    outputs = _outputs(output, dev, dev_out, overwrite)
    names = dict(zip(("OUT.spacy", "--dev-out"), outputs))
    check_different({"IN": source, **names, "--faults": faults})
    if faults is not None:
        check_file(faults, overwrite)
    nlp = blank_pipeline(config, lang)
    if source == "-":
        say_waiting()
    names_of_fields = tuple(x.strip() for x in fields.split(",") if x.strip())
    places = read_columns(columns) if columns is not None else None
    settings = ReaderSettings(
        text_key, names_of_fields, group, encoding, places, binary
    )
    counting: dict[str, Any] = {"ends": ends, "unit": unit, "shift": shift}
    found = read_annotations(source, format, settings, overlaps=overlaps, **counting)
    report = Report(found)
    _write(found.texts, outputs, nlp, report, (dev, group, seed), overwrite)
    with log_faults(faults, overwrite) as log:
        for fault in found.faults:
            log.add(fault)
    report.say_notes()
    print_json(report.as_dict()) if as_json else print(clean(report.line()))
    raise SystemExit(FAULTY if log.n or not report.files else DONE)


def _outputs(
    output: Path, dev: float | None, dev_out: Path | None, overwrite: bool
) -> list[Path]:
    """The files to write; exit if one of them may not be."""
    if dev_out is not None and dev is None:
        fail("--dev-out needs --dev", "Give the share of the texts for that file.")
    beside = output.with_name(f"{output.stem}-dev{output.suffix}")
    found = [output] if dev is None else [output, dev_out or beside]
    for path in found:
        if path.suffix != ".spacy":
            fail(f"{str(path)!r} is no .spacy file", "Expected one: train.spacy.")
        check_file(path, overwrite)
    return found


@dataclass
class Report:
    """What was read and written.

    found (Annotations): What was read.
    files (List[Dict]): Each file that was written.
    labels (Counter[str]): Spans that were written, by label.
    n_cut (int): Spans with a border inside a token, which was cut there.
    n_wrong (int): Spans that are known to be wrong, in a group of their own.
    n_ungrouped (int): Texts without the key of --group.
    """

    found: Annotations
    files: list[dict[str, Any]] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    n_cut: int = 0
    n_wrong: int = 0
    n_ungrouped: int = 0

    def say_notes(self) -> None:
        """What happened to spans and records that are no faults."""
        from ..formats.documents import INCORRECT_SPANS

        found = self.found
        if found.n_trimmed:
            n = _count(found.n_trimmed, "span")
            say(f"white space at the ends of {n} was left out")
        if found.n_unseen:
            n = _count(found.n_unseen, "span")
            say(f"invisible characters at the ends of {n} were left out")
        if found.n_shorter:
            n = _count(found.n_shorter, "span")
            say(f"left out: {n} that overlapped a longer one")
        if n_others := _count_others(found.texts):
            n = _count(n_others, "text")
            say(f"{n} given more than once, with other spans: by several annotators?")
        if self.n_cut:
            say(f"tokens were cut at the borders of {_count(self.n_cut, 'span')}")
        if self.n_ungrouped:
            n = _count(self.n_ungrouped, "text")
            say(f"{n} without the key of --group: each is a group")
        if n_partial := sum(text.is_partial for text in found.texts):
            n = _count(n_partial, "text")
            say(f"nothing is known beside the spans of {n}: tokens there are missing")
        if self.n_wrong:
            key = f'incorrect_spans_key = "{INCORRECT_SPANS}"'
            n = _count(self.n_wrong, "span")
            say(f"{n} known to be wrong: train with {key}")
        for reason, times in sorted(found.skipped.items()):
            say(f"left out: {times:,} {reason}")
        if not self.files:
            say("No text is left: nothing was written")

    def as_dict(self) -> dict[str, Any]:
        """Returns the summary as JSON has it."""
        found = self.found
        return {
            "formats": dict(found.formats),
            "texts_read": found.n_texts,
            "spans_read": found.n_spans,
            "faults": len(found.faults),
            "skipped": dict(found.skipped),
            "spans_trimmed": found.n_trimmed,
            "spans_with_invisible_ends": found.n_unseen,
            "spans_overlapping": found.n_shorter,
            "spans_inside_tokens": self.n_cut,
            "spans_wrong": self.n_wrong,
            "labels": dict(sorted(self.labels.items())),
            "files": self.files,
        }

    def line(self) -> str:
        """Returns the summary on one line."""
        files = [
            f"{x['path']}: {_count(x['texts'], 'text')}, "
            f"{_count(x['tokens'], 'token')}, {_count(x['spans'], 'span')}"
            for x in self.files
        ]
        found = self.found
        read = f"of {_count(found.n_texts, 'text')}, {_count(found.n_spans, 'span')}"
        faults = _count(len(found.faults), "fault") if found.faults else "no faults"
        return f"{'; '.join(files) or 'nothing written'} ({read}; {faults})"


def _count(n: int, name: str) -> str:
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def _count_others(texts: list[AnnotatedText]) -> int:
    """How many texts are given with different spans."""
    spans: dict[str, set[Any]] = {}
    for text in texts:
        found = tuple(span[:3] for span in text.spans)
        spans.setdefault(text.text, set()).add(found)
    return sum(len(found) > 1 for found in spans.values())


def _write(
    texts: list[AnnotatedText],
    outputs: list[Path],
    nlp: Language,
    report: Report,
    division: tuple[float | None, str | None, int],
    overwrite: bool,
) -> None:
    from ..formats.splits import check_group, count_without, split

    dev, group, seed = division
    if not texts:
        return
    parts = [texts] if dev is None else list(split(texts, dev, group, seed))
    if group is not None:
        check_group(texts, group)
        report.n_ungrouped = count_without(texts, group)
    made = [_as_bytes(part, nlp, report, group) for part in parts]
    with ExitStack() as stack:  # both files or none
        opened = [
            stack.enter_context(open_output(path, overwrite, binary=True))
            for path in outputs
        ]
        for file, (content, _) in zip(opened, made):
            file.write(content)
    report.files += [
        {"path": str(path), **counts} for path, (_, counts) in zip(outputs, made)
    ]


def _as_bytes(
    texts: list[AnnotatedText], nlp: Language, report: Report, group: str | None
) -> tuple[bytes, dict[str, int]]:
    """The content of a .spacy file, and what is in it."""
    from ..formats import make_doc, write_docs

    counts = {"texts": len(texts), "tokens": 0, "spans": 0}

    def docs() -> Iterator[Doc]:
        for text in with_progress(texts, len(texts), " texts"):
            made = make_doc(text, nlp, group)
            report.n_cut += made.n_cut
            report.n_wrong += len(text.wrong)
            report.labels.update(ent.label_ for ent in made.doc.ents)
            counts["tokens"] += len(made.doc)
            counts["spans"] += len(made.doc.ents)
            yield made.doc

    return write_docs(docs(), has_user_data=group is not None), counts
