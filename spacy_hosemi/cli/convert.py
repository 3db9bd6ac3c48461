"""python -m spacy hosemi convert: annotations of any tool to spaCy's binary format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import hosemi_cli, print_json
from .options import CodePath, Encoding, Overwrite
from .streams import (
    DONE,
    FAULTY,
    check_outputs,
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
    from ..formats.splits import split
    from ..formats.tokenizers import blank_pipeline

    if dev_out is not None and dev is None:
        fail("--dev-out needs --dev", "Give the share of the texts for that file.")
    outputs = {"OUT.spacy": output}
    if dev is not None:
        beside = output.with_name(f"{output.stem}-dev{output.suffix}")
        outputs["--dev-out"] = dev_out or beside
    for path in outputs.values():
        if path.suffix != ".spacy":
            fail(f"{str(path)!r} is no .spacy file", "Expected one: train.spacy.")
    check_outputs({"IN": source}, {**outputs, "--faults": faults}, overwrite)
    nlp = blank_pipeline(config, lang)
    if source == "-":
        say_waiting()
    names_of_fields = tuple(x.strip() for x in fields.split(",") if x.strip())
    places = read_columns(columns) if columns is not None else None
    settings = ReaderSettings(
        text_key, names_of_fields, group, encoding, places, binary
    )
    counting: dict[str, Any] = {"ends": ends, "unit": unit, "shift": shift}
    annotations = read_annotations(
        source, format, settings, overlaps=overlaps, **counting
    )
    conversion = Conversion(annotations, group)
    if texts := annotations.texts:
        parts = [texts] if dev is None else split(texts, dev, group, seed)
        conversion.write(dict(zip(outputs.values(), parts)), nlp, overwrite)
    with log_faults(faults, overwrite) as log:
        for fault in annotations.faults:
            log.add(fault)
    conversion.say_notes()
    print_json(conversion.as_dict()) if as_json else print(clean(conversion.line()))
    raise SystemExit(FAULTY if log.n or not conversion.files else DONE)


class Conversion:
    """Writes what was read to .spacy files, and counts it.

    annotations (Annotations): What was read.
    group (Optional[str]): The key of `meta` that documents keep.
    files (List[Dict]): The path of each file that was written, and the numbers of its
        texts, tokens and spans.
    labels (Counter[str]): Spans that were written, by label.
    n_cut (int): Spans with a border inside a token, which was cut there.
    """

    def __init__(self, annotations: Annotations, group: str | None) -> None:
        self.annotations, self.group = annotations, group
        self.files: list[dict[str, Any]] = []
        self.labels: Counter[str] = Counter()
        self.n_cut = 0

    def write(
        self, parts: Mapping[Path, list[AnnotatedText]], nlp: Language, overwrite: bool
    ) -> None:
        """Writes the texts of each file, all files or none."""
        from ..formats.splits import check_group

        if self.group is not None:
            check_group(self.annotations.texts, self.group)
        contents = [self._as_bytes(path, texts, nlp) for path, texts in parts.items()]
        with ExitStack() as stack:
            files = [
                stack.enter_context(open_output(path, overwrite, binary=True))
                for path in parts
            ]
            for file, content in zip(files, contents):
                file.write(content)

    def _as_bytes(self, path: Path, texts: list[AnnotatedText], nlp: Language) -> bytes:
        """Returns the content of a .spacy file, after it was counted."""
        from ..formats import make_doc, write_docs

        counts: dict[str, Any] = {
            "path": str(path),
            "texts": len(texts),
            "tokens": 0,
            "spans": 0,
        }
        self.files.append(counts)

        def docs() -> Iterator[Doc]:
            for text in with_progress(texts, len(texts), " texts"):
                annotated = make_doc(text, nlp, self.group)
                doc = annotated.doc
                self.n_cut += annotated.n_cut
                self.labels.update(ent.label_ for ent in doc.ents)
                counts["tokens"] += len(doc)
                counts["spans"] += len(doc.ents)
                yield doc

        return write_docs(docs(), has_user_data=self.group is not None)

    @property
    def n_wrong(self) -> int:
        """Spans that are known to be wrong, in a group of their own."""
        return sum(len(text.wrong) for text in self.annotations.texts)

    def say_notes(self) -> None:
        """Says what happened to spans and records that are no faults."""
        from ..formats.documents import INCORRECT_SPANS
        from ..formats.splits import count_without
        from ..inspection.findings import count

        read, group = self.annotations, self.group
        n_others = _count_contradicting(read.texts)
        n_partial = sum(text.is_partial for text in read.texts)
        n_ungrouped = 0 if group is None else count_without(read.texts, group)
        key = f'incorrect_spans_key = "{INCORRECT_SPANS}"'
        notes = {
            "white space at the ends of {} was left out": (read.n_trimmed, "span"),
            "invisible characters at the ends of {} were left out": (
                read.n_unseen,
                "span",
            ),
            "left out: {} that overlapped a longer one": (read.n_shorter, "span"),
            "{} given more than once, with other spans: by several annotators?": (
                n_others,
                "text",
            ),
            "tokens were cut at the borders of {}": (self.n_cut, "span"),
            "{} without the key of --group: each is a group": (n_ungrouped, "text"),
            "nothing is known beside the spans of {}: tokens there are missing": (
                n_partial,
                "text",
            ),
            f"{{}} known to be wrong: train with {key}": (self.n_wrong, "span"),
        }
        for note, (n, name) in notes.items():
            if n:
                say(note.format(count(n, name)))
        for reason, times in sorted(read.skipped.items()):
            say(f"left out: {times:,} {reason}")
        if not self.files:
            say("No text is left: nothing was written")

    def as_dict(self) -> dict[str, Any]:
        """Returns the summary as JSON has it."""
        read = self.annotations
        return {
            "formats": dict(read.formats),
            "texts_read": read.n_texts,
            "spans_read": read.n_spans,
            "faults": len(read.faults),
            "skipped": dict(read.skipped),
            "spans_trimmed": read.n_trimmed,
            "spans_with_invisible_ends": read.n_unseen,
            "spans_overlapping": read.n_shorter,
            "spans_inside_tokens": self.n_cut,
            "spans_wrong": self.n_wrong,
            "labels": dict(sorted(self.labels.items())),
            "files": self.files,
        }

    def line(self) -> str:
        """Returns the summary on one line."""
        from ..inspection.findings import count

        files = [
            f"{x['path']}: {count(x['texts'], 'text')}, "
            f"{count(x['tokens'], 'token')}, {count(x['spans'], 'span')}"
            for x in self.files
        ]
        read = self.annotations
        totals = f"of {count(read.n_texts, 'text')}, {count(read.n_spans, 'span')}"
        faults = count(len(read.faults), "fault") if read.faults else "no faults"
        return f"{'; '.join(files) or 'nothing written'} ({totals}; {faults})"


def _count_contradicting(texts: list[AnnotatedText]) -> int:
    """Returns how many texts are given with different spans."""
    spans: dict[str, set[Any]] = {}
    for text in texts:
        spans.setdefault(text.text, set()).add(tuple(span[:3] for span in text.spans))
    return sum(len(versions) > 1 for versions in spans.values())
