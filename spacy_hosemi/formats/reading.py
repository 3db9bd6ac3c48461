"""Reads annotated texts from files of any format, and collects all their faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors
from .checks import OVERLAPS, add_checked
from .documents import make_doc
from .json_records import records, sample
from .offsets import ENDS, UNITS, Offsets, cutting_words, diagnose
from .readers import READERS, FormatReader, ReaderSettings, columns
from .sources import SourceText, find_files, read_source
from .texts import AnnotatedText, Annotations, Fault, Found, Skipped, shown

AUTO = "auto"


def read_annotations(
    path: str | Path,
    format: str = AUTO,
    settings: ReaderSettings | None = None,
    *,
    ends: str | None = None,
    unit: str | None = None,
    shift: int | None = None,
    overlaps: str = "fault",
) -> Annotations:
    """Returns what can be read from a file, a folder, or standard input ("-"), and all
    faults. `format` is the name of a reader, or "auto": by content. `ends`, `unit` and
    `shift` say how offsets count, as `Offsets`; if none of them is given, the offsets
    of a file that fit much better otherwise are a fault. `overlaps` is "fault", or
    "longest": of spans that overlap the longest are read. Raises ValueError if nothing
    can be read so: HS160 to HS165, HS305, HS325, HS372, HS374 to HS377; of several
    files, one that cannot is a fault."""
    settings = settings or ReaderSettings()
    is_asked = (ends, unit, shift) != (None, None, None)
    offsets = Offsets(ends or "exclusive", unit or "characters", shift or 0)
    check_choice("ends", offsets.ends, ENDS)
    check_choice("offsets", offsets.unit, UNITS)
    check_choice("overlaps", overlaps, OVERLAPS)
    check_choice("format", format, (AUTO, *READERS))
    annotations = Annotations()
    files = find_files(str(path))
    for file in files:
        source = read_source(file, settings.encoding)
        if isinstance(source, Fault):
            annotations.faults.append(source)
        elif source.text.strip() in ("", "[]", "{}") and not file.endswith(".ann"):
            message = "is empty; expected annotated texts"
            annotations.faults.append(Fault(source.path, None, message))
        else:
            try:
                reader = _reader_of(source, format, settings)
                annotations.formats[reader.name] += 1
                source = _beside(source, reader, settings)
                items = [*reader.read(source, settings)]
            except ValueError as e:
                if len(files) == 1:
                    raise
                message = str(e).partition(" ")[2]
                annotations.faults.append(Fault(source.path, None, message))
                continue
            texts = _collect(annotations, items, source)
            _add_texts(annotations, texts, offsets if is_asked else None, overlaps)
    annotations.faults.sort(key=lambda fault: (fault.path, fault.line or 0))
    return annotations


def read_docs(path: str | Path, nlp: Language, format: str = AUTO) -> list[Doc]:
    """Returns the documents of a file or folder, as the tokenizer of `nlp` cuts them;
    `format` names a reader. Raises ValueError: HS160 to HS165, HS163 for faults."""
    annotations = read_annotations(path, format)
    if annotations.faults:
        n, first = len(annotations.faults), annotations.faults[0]
        raise ValueError(Errors.HS163.format(path=path, found=n, first=first))
    return [make_doc(text, nlp)[0] for text in annotations.texts]


def _reader_of(
    source: SourceText, format: str, settings: ReaderSettings
) -> FormatReader:
    """Returns the reader of a file. Raises ValueError: HS165 if none knows it; HS305 if
    columns are named and it is of another format; HS325 if an option is of another."""
    reader = columns.READER
    if settings.columns is None:
        reader = recognize(source) if format == AUTO else READERS[format]
    elif format != reader.name and not (format == AUTO and reader.recognizes(source)):
        names = [other.name for other in READERS.values() if other.recognizes(source)]
        if not names and sample(source):
            names = ["JSON"]
        if format != AUTO or names:
            looks = f"looks like {' or '.join(names)}"
            what = looks if format == AUTO else f"is to be read as {format}"
            raise ValueError(Errors.HS305.format(path=source.path, found=what))
    wants_xml = {"--inner": settings.inner, "--join": settings.join is not None}
    for option, is_given in ({"--binary": settings.is_binary} | wants_xml).items():
        expected = "xml" if option in wants_xml else "prodigy"
        if is_given and reader.name != expected:
            args = {"path": source.path, "found": reader.name, "option": option}
            raise ValueError(Errors.HS325.format(**args, expected=expected))
    return reader


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises ValueError: HS164 if a setting is none of its choices."""
    if value not in choices:
        expected = ", ".join(choices)
        raise ValueError(Errors.HS164.format(name=name, found=value, expected=expected))


def recognize(source: SourceText) -> FormatReader:
    """Returns the one reader that knows a file by its content. Raises ValueError: HS165
    if none knows it, or several do."""
    readers = [reader for reader in READERS.values() if reader.recognizes(source)]
    if len(readers) == 1:
        return readers[0]
    if not readers and source.path.lower().endswith((".csv", ".tsv")):
        return READERS["csv"]  # which says what is missing
    if readers:
        what = f"may be {' or '.join(reader.name for reader in readers)}"
    else:
        what = f"has an unknown format; it begins with {shown(source.text[:60])}"
        first = next(records(source), None) if source.text[:1] in "{[" else None
        if isinstance(first, Fault):
            what += f", and line {first.line} {first.message}"
    expected = ", ".join(READERS)
    raise ValueError(Errors.HS165.format(path=source.path, found=what, names=expected))


def _beside(
    source: SourceText, reader: FormatReader, settings: ReaderSettings
) -> SourceText:
    """Returns the annotations of brat beside a file of their text; else the file."""
    path = Path(source.path)
    if reader.name != "brat" or path.suffix != ".txt":
        return source
    beside = read_source(str(path.with_suffix(".ann")), settings.encoding)
    return beside if isinstance(beside, SourceText) else source


def _collect(
    annotations: Annotations, items: Iterable[Found], source: SourceText
) -> list[AnnotatedText]:
    """Returns the texts of a file; adds its faults, and what is set aside."""
    texts: list[AnnotatedText] = []
    n_before = len(annotations.faults)
    for item in items:
        if isinstance(item, Fault):
            annotations.faults.append(item)
        elif isinstance(item, Skipped):
            annotations.skipped[item.reason] += 1
        else:
            texts.append(item)
    annotations.n_texts += len(texts)
    annotations.n_spans += sum(len(text.judged) for text in texts)
    if not texts and len(annotations.faults) == n_before and not annotations.skipped:
        fault = Fault(source.path, None, "has no text; expected some")
        annotations.faults.append(fault)
    return texts


def _add_texts(
    annotations: Annotations,
    texts: list[AnnotatedText],
    wanted: Offsets | None,
    overlaps: str,
) -> None:
    """Adds the good texts of a file; `wanted` says how offsets count, if anything."""
    offsets = wanted or Offsets()
    diagnosis = None if wanted else diagnose(texts, offsets)
    if diagnosis is not None:
        better, fault = diagnosis
        annotations.faults.append(fault)  # stands for all texts that differ
        texts = [
            text
            for text in texts
            if not text.has_offsets
            or all(offsets.mend(text, x) == better.mend(text, x) for x in text.judged)
        ]
    faults = {} if wanted else cutting_words(texts)
    annotations.faults += faults.values()
    for i, text in enumerate(texts):
        if i not in faults:
            add_checked(annotations, text, offsets, overlaps)
