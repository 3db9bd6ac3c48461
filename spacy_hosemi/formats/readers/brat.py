"""Standoff annotations of brat: FILE.ann beside FILE.txt.

A line `T1<tab>author 0 12<tab>Frege, G.` is a span; relations, events, attributes and
notes are no spans, and are passed over. A span over a line break is in pieces,
`author 0 5;6 12`, one for each line: it is read as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..sources import STDIN, SourceText, read_source
from ..texts import AnnotatedText, Fault, Found, LabeledSpan, shown
from .base import FormatReader, ReaderSettings

BOUND = re.compile(r"T\d+\S*\t")
OTHER = re.compile(r"[REAMN]\d+\S*\t|\*\t|#")
SPAN = re.compile(r"(\S+) (\d+ \d+(?:;\d+ \d+)*)$")


def _recognizes(source: SourceText) -> bool:
    lines = source.text.split("\n")[:50]
    if Path(source.path).suffix == ".ann":
        return True
    known = [BOUND.match(x) or OTHER.match(x) or not x.strip() for x in lines]
    return all(known) and any(BOUND.match(x) and "\t" in x for x in lines)


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    path = Path(source.path).with_suffix(".txt")
    if source.path in ("<stdin>", STDIN) or not path.is_file():
        message = f"there is no {path.name} beside it; expected the text of the "
        yield Fault(source.path, None, message + "annotations")
        return
    text = read_source(str(path), settings.encoding)
    if isinstance(text, Fault):
        yield text
        return
    spans: list[LabeledSpan] = []
    n_faults = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip() or OTHER.match(line):
            continue
        try:
            spans.append(_span(line, number, text.text))
        except ValueError as e:
            n_faults += 1
            yield Fault(source.path, number, str(e))
    if not n_faults:
        meta = {"doc_id": Path(source.path).stem}
        yield AnnotatedText(text.text, tuple(spans), source.path, 1, meta=meta)


def _span(line: str, number: int, text: str) -> LabeledSpan:
    """Raises ValueError if the line is no continuous span."""
    expected = "expected ID, tab, label, start, end, tab, text"
    columns = line.split("\t")
    if not BOUND.match(line) or len(columns) < 2:
        raise ValueError(f"is no annotation of brat: {shown(line)}; {expected}")
    match = SPAN.match(columns[1])
    if not match:
        raise ValueError(f"{columns[0]} has {shown(columns[1])}; {expected}")
    first, *inner, last = map(int, re.findall(r"\d+", match[2]))
    if any(text[s:e].strip() for s, e in zip(inner[::2], inner[1::2])):
        raise ValueError(
            f"{columns[0]} is in pieces ({columns[1]}); expected one stretch of text: "
            "make it one span, or one span for each piece"
        )
    value = columns[2] if len(columns) > 2 else None
    return LabeledSpan(first, last, match[1], value, number)


READER = FormatReader("brat", _recognizes, _read)
