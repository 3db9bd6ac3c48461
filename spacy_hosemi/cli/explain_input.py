"""What `hosemi explain` explains: texts, and a span of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from .streams import FaultLog, fail, is_file, is_folder, open_input

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..formats.lines import Line
    from ..labels.inventory import Span

# The longest line of a file.
MAX_CHARS = 1_000_000
# Errors that another text need not have: no segmentation of it is possible, or nothing
# may be a span there.
_OF_TEXT = "[HS060]", "[HS095]"


class NoSpan(ValueError):
    """A text does not have the span to explain."""


class SpanQuery(NamedTuple):
    """The span to explain: its characters, or else its text."""

    label: str
    place: tuple[int, int]
    text: str | None = None


def read_query(span: str | None, label: str | None) -> SpanQuery | None:
    """Returns what --span and --label say; None without --span. Exits if that can be no
    span of any text."""
    if span is None:
        return None
    if not span:
        fail("--span is ''", "Expected a part of the text.")
    if label is not None:
        return SpanQuery(label, (0, 0), span)
    match = re.fullmatch(r"(\d+):(\d+):(.+)", span)
    if match is None:
        expected = "Expected START:END:LABEL, in characters; or a text, with --label."
        fail(f"--span is {span!r}", expected)
    start, end = int(match[1]), int(match[2])
    if start >= end:
        expected = "Expected START below END, in characters, the end exclusive."
        fail(f"--span is {span!r}", expected)
    return SpanQuery(match[3], (start, end))


def read_texts(source: str, encoding: str | None, log: FaultLog) -> list[Line]:
    """Returns a text, as line 0; or the lines of a file or "-", without empty ones.
    Those that cannot be read go to the log. Exits if there is no such file."""
    from ..formats.lines import UTF8, Line, read_lines
    from ..formats.sources import check_encoding
    from ..formats.texts import Fault

    encoding = encoding or UTF8
    check_encoding(encoding)
    if source != "-" and not is_file(source):
        _check_text(source)
        return [Line("", 0, source)]
    lines = []
    with open_input(source) as file:
        for line in read_lines(file, source, MAX_CHARS, encoding=encoding):
            if isinstance(line, Fault):
                log.add(line)
            elif line.text.strip():
                lines.append(line)
    return lines


def _check_text(text: str) -> None:
    """Exits if a text looks like a file that is not there."""
    expected = "Expected a text, or a file of lines."
    if text and is_folder(text):
        fail(f"{text!r} is a folder", expected)
    if re.fullmatch(r"\S+\.txt", text):
        fail(f"There is no file {text!r}", expected)


@contextmanager
def leaving_out(line: Line, log: FaultLog) -> Iterator[None]:
    """Logs a line that cannot be explained, so that the others can. Exits if there is
    only a text."""
    from ..formats.texts import Fault

    try:
        yield
    except ValueError as e:
        if not isinstance(e, NoSpan) and not str(e).startswith(_OF_TEXT):
            raise
        if not line.line:
            fail(str(e))
        log.add(Fault(line.path, line.line, str(e)))


def find_span(doc: Doc, query: SpanQuery) -> Span:
    """Returns a span in tokens; of a text the first occurrence in whole tokens. Raises
    NoSpan if the document does not have it."""
    n = len(doc.text)
    if query.place[1] > n:
        raise NoSpan(f"There is no character {query.place[1]:,}; the text has {n:,}.")
    places = [query.place] if query.text is None else _occurrences(doc, query.text)
    begins = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i + 1 for token in doc}
    for start, end in places:
        if start in begins and end in ends:
            return begins[start], ends[end], query.label
    start, end = places[0]
    near = doc.char_span(start, end, alignment_mode="expand")
    hint = f"; near is {near.start_char}:{near.end_char}" if near else ""
    raise NoSpan(
        f"The characters {start} to {end} are not whole tokens. Expected a span that "
        f"begins and ends with tokens{hint}."
    )


def _occurrences(doc: Doc, text: str) -> list[tuple[int, int]]:
    """Returns where a document has a text, in characters; they may overlap."""
    starts = [x.start() for x in re.finditer(f"(?={re.escape(text)})", doc.text)]
    if not starts:
        raise NoSpan(f"There is no {text!r} in the text. Expected a part of it.")
    return [(start, start + len(text)) for start in starts]
