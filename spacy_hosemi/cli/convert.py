"""python -m spacy hosemi convert: annotations of any tool to spaCy's binary format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..formats import (
    AnnotatedText,
    Annotations,
    ReaderSettings,
    make_doc,
    read_annotations,
    write_docs,
)
from ..formats.documents import INCORRECT_SPANS
from ..formats.readers.columns import read_columns
from ..formats.splits import check_group, split
from ..formats.tokenizers import blank_pipeline
from ..inspection.findings import count
from . import hosemi_cli
from . import options as shared
from .common import print_json
from .options import argument, option
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


@hosemi_cli.command("convert", no_args_is_help=True)
def convert_cli(
    source: str = argument("IN", "A file, a folder, or - (stdin)."),
    output: Path = argument("OUT.spacy", "The file to write."),
    format: str = option(
        "--format NAME",
        "jsonl, doccano, prodigy, label-studio, spacy, brat, columns, csv or xml; "
        "auto: recognized by the content.",
        "auto",
    ),
    config: Path | None = option(
        "--config FILE",
        "Config whose tokenizer cuts the texts. Default: the field tokenizer.",
    ),
    lang: str = option("--lang CODE", "Language, without --config.", "en"),
    text_key: str | None = option(
        "--text-key NAME",
        "The key, column or XML element that has a text. Default: text, or what is "
        "usual for the format.",
    ),
    fields: str = option(
        "--fields A,B", "csv: the columns that are fields. Default: all others.", ""
    ),
    columns: str | None = option(
        "--columns token=N,tag=N",
        "columns: which column has the tokens, which the tags, from 1; -1 is the "
        "last. Default: as the file looks.",
    ),
    encoding: shared.Encoding = None,
    ends: str | None = option(
        "--ends KIND",
        "inclusive: the end of a span is its last character. Default: exclusive.",
    ),
    unit: str | None = option(
        "--offsets UNIT",
        "What offsets count: characters, utf-16, utf-8, crlf (a line end of Windows "
        "is one) or graphemes. Default: characters.",
    ),
    shift: int | None = option(
        "--shift N -1000000000..",
        "Add this to each offset; -1: the first character has number 1.",
    ),
    overlaps: str = option(
        "--overlaps KIND",
        "What overlapping spans are: fault, or longest, which alone is read.",
        "fault",
    ),
    binary: bool = option(
        "--binary",
        "prodigy: tasks answer for their spans alone, as those of ner.teach. Accepted "
        "spans are right, rejected ones wrong; nothing is known of the rest.",
        False,
    ),
    inner: bool = option(
        "--inner", "xml: of elements within others read the inner ones.", False
    ),
    join: bool | None = option(
        "--join/--no-join", "xml: neighbouring words of one name are one span."
    ),
    safe_cells: bool = option(
        "--safe-cells/--no-safe-cells",
        "Tables of parse: take ' off again in front of cells like formulas.",
        True,
    ),
    dev: float | None = option(
        "--dev SHARE 0..1", "Share of the texts in a file of its own."
    ),
    dev_out: Path | None = option(
        "--dev-out FILE", "File of --dev. Default: OUT-dev.spacy."
    ),
    group: str | None = option(
        "--group KEY",
        "Texts with the same value of KEY come into the same file of --dev, and keep "
        "it in doc.user_data, for the --group of other commands.",
    ),
    seed: int = option("--seed N 0..4294967295", "Chooses other texts for --dev.", 0),
    faults: Path | None = option("--faults FILE", "Write all faults there: JSONL."),
    overwrite: shared.Overwrite = False,
    as_json: bool = option("--json", "Print the summary as JSON.", False),
    code_path: shared.CodePath = None,
) -> None:
    """
    Convert annotated texts to a .spacy file, which `spacy train` reads.

    No span is lost in silence: tokens are cut where spans begin and end, and what is
    left out is counted. Texts with a fault are left out, and all faults are listed on
    standard error. Exit code: 0 all is converted, 1 there are faults or no text is left
    and nothing is written, 2 could not run: no file, format, tag or option is what was
    expected.

    \b
    Examples:
      python -m spacy hosemi convert train.jsonl train.spacy
      python -m spacy hosemi convert export.json train.spacy --dev 0.1 --group doc_id
      python -m spacy hosemi convert table.csv train.spacy --text-key reference
      python -m spacy hosemi convert teach.jsonl teach.spacy --binary
    """
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
        *(text_key, names_of_fields, group, encoding, places, binary, inner, join),
        has_marks=safe_cells,
    )
    counting: dict[str, Any] = {"ends": ends, "unit": unit, "shift": shift}
    annotations = read_annotations(
        source, format, settings, overlaps=overlaps, **counting
    )
    parts: dict[Path, list[AnnotatedText]] = {}
    if texts := annotations.texts:
        several = [texts] if dev is None else split(texts, dev, group, seed)
        parts = dict(zip(outputs.values(), several))
    summary = _summary(annotations) | _write(parts, nlp, group, overwrite)
    with log_faults(faults, overwrite) as log:
        for fault in annotations.faults:
            log.add(fault)
    _say_notes(summary, annotations, group)
    print_json(summary) if as_json else print(clean(_line(summary)))
    raise SystemExit(FAULTY if log.n or not parts else DONE)


def _summary(annotations: Annotations) -> dict[str, Any]:
    """Returns what was read, for --json and the summary; `_write` adds the rest."""
    return {
        "formats": dict(annotations.formats),
        "texts_read": annotations.n_texts,
        "spans_read": annotations.n_spans,
        "faults": len(annotations.faults),
        "skipped": dict(annotations.skipped),
        "spans_trimmed": annotations.n_trimmed,
        "spans_with_invisible_ends": annotations.n_unseen,
        "spans_overlapping": annotations.n_shorter,
        "spans_inside_tokens": 0,
        "spans_ambiguous": sum(text.n_ambiguous for text in annotations.texts),
        "spans_wrong": sum(len(text.wrong) for text in annotations.texts),
    }


def _write(
    parts: Mapping[Path, list[AnnotatedText]],
    nlp: Language,
    group: str | None,
    overwrite: bool,
) -> dict[str, Any]:
    """Writes the texts of each file, all files or none; returns how many spans had a
    border inside a token, the spans of each label, and what each file has."""
    counts: Counter[str] = Counter()
    labels: Counter[str] = Counter()

    def docs_of(texts: list[AnnotatedText]) -> Iterator[Doc]:
        for text in with_progress(texts, len(texts), " texts"):
            doc, n_cut = make_doc(text, nlp, group)
            spans = [ent.label_ for ent in doc.ents]
            n_tokens = sum(not token.is_space for token in doc)  # as `check` counts
            counts.update(cut=n_cut, tokens=n_tokens, spans=len(spans))
            labels.update(spans)
            yield doc

    if group is not None and parts:
        check_group([text for texts in parts.values() for text in texts], group)
    files, contents = [], []
    for path, texts in parts.items():
        before = counts.copy()
        contents.append(write_docs(docs_of(texts), has_user_data=group is not None))
        of_file = {key: counts[key] - before[key] for key in ("tokens", "spans")}
        files.append({"path": str(path), "texts": len(texts), **of_file})
    with ExitStack() as stack:
        open_files = [
            stack.enter_context(open_output(path, overwrite, binary=True))
            for path in parts
        ]
        for file, content in zip(open_files, contents):
            file.write(content)
    of_labels = {"labels": dict(sorted(labels.items()))}
    return {"spans_inside_tokens": counts["cut"], **of_labels, "files": files}


def _say_notes(
    summary: Mapping[str, Any], annotations: Annotations, group: str | None
) -> None:
    """Says what happened to spans and records that are no faults."""
    texts = annotations.texts
    key = f'incorrect_spans_key = "{INCORRECT_SPANS}"'
    n_ungrouped = sum(group not in text.meta for text in texts) if group else 0
    n_partial = sum(text.is_partial for text in texts)
    n_cut = summary["spans_inside_tokens"]
    unseen = "invisible characters at the ends of {} were left out"
    several = "{} given more than once, with other spans: by several annotators?"
    versions = {(x.text, *(span[:3] for span in x.spans)) for x in texts}
    n_versions = Counter(text for text, *_ in versions)
    unknown = "nothing is known beside the spans of {}: tokens there are missing"
    notes = (
        ("white space at the ends of {} was left out", annotations.n_trimmed, "span"),
        (unseen, annotations.n_unseen, "span"),
        ("left out: {} that overlapped a longer one", annotations.n_shorter, "span"),
        (several, sum(n > 1 for n in n_versions.values()), "text"),
        ("tokens were cut at the borders of {}", n_cut, "span"),
        ("{} without the key of --group: each is a group", n_ungrouped, "text"),
        (unknown, n_partial, "text"),
        (f"{{}} known to be wrong: train with {key}", summary["spans_wrong"], "span"),
    )
    for note, n, name in notes:
        if n:
            say(note.format(count(n, name)))
    if n := summary["spans_ambiguous"]:
        first = next(f"{x.path}:{x.line}" for x in texts if x.n_ambiguous)
        what = "stood more than once in a text; the first free place was taken"
        say(f"{count(n, 'value')} {what} (first: {first}); parse -F xml shows where")
    for reason, times in sorted(annotations.skipped.items()):
        say(f"left out: {times:,} {reason}")
    if not texts:
        say("No text is left: nothing was written")


def _line(summary: Mapping[str, Any]) -> str:
    """Returns the summary on one line."""
    files = [
        f"{x['path']}: {count(x['texts'], 'text')}, "
        f"{count(x['tokens'], 'token')}, {count(x['spans'], 'span')}"
        for x in summary["files"]
    ]
    n_texts, n_spans = summary["texts_read"], summary["spans_read"]
    totals = f"of {count(n_texts, 'text')}, {count(n_spans, 'span')}"
    faults = count(summary["faults"], "fault") if summary["faults"] else "no faults"
    labels = [f"{x} {n:,}" for x, n in Counter(summary["labels"]).most_common()]
    of_labels = f"; {', '.join(labels)}" if labels else ""  # "<jurnal>" is seen there
    return f"{'; '.join(files) or 'nothing written'} ({totals}; {faults}){of_labels}"
