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
    """A text does not have the span that is asked for."""


class Asked(NamedTuple):
    """A span that is asked for.

    label (str)
    place (Tuple[int, int]): In characters; (0, 0) if there is a text.
    text (Optional[str]): What it says.
    """

    label: str
    place: tuple[int, int]
    text: str | None = None


def read_asked(span: str | None, label: str | None) -> Asked | None:
    """RETURNS (Optional[Asked]): What --span and --label say; None: no span. Exit if
    that can be no span of any text."""
    if span is None:
        return None
    if not span:
        fail("--span is ''", "Expected a part of the text.")
    if label is not None:
        return Asked(label, (0, 0), span)
    match = re.fullmatch(r"(\d+):(\d+):(.+)", span)
    if match is None:
        expected = "Expected START:END:LABEL, in characters; or a text, with --label."
        fail(f"--span is {span!r}", expected)
    start, end = int(match[1]), int(match[2])
    if start >= end:
        expected = "Expected START below END, in characters, the end exclusive."
        fail(f"--span is {span!r}", expected)
    return Asked(match[3], (start, end))


def read_texts(given: str, encoding: str | None, log: FaultLog) -> list[Line]:
    """RETURNS (List[Line]): A text, as line 0; or the lines of a file, without empty
    ones. Those that cannot be read go to the log. Exit if there is no such file.

    given (str): A text, a file, or "-".
    """
    from ..formats.lines import UTF8, Line, read_lines
    from ..formats.sources import check_encoding
    from ..formats.texts import Fault

    encoding = encoding or UTF8
    check_encoding(encoding)
    if given != "-" and not is_file(given):
        _check_text(given)
        return [Line("", 0, given)]
    found = []
    with open_input(given) as file:
        for line in read_lines(file, given, MAX_CHARS, encoding=encoding):
            if isinstance(line, Fault):
                log.add(line)
            elif line.text.strip():
                found.append(line)
    return found


def _check_text(given: str) -> None:
    """Exit if a text looks like a file that is not there."""
    expected = "Expected a text, or a file of lines."
    if given and is_folder(given):
        fail(f"{given!r} is a folder", expected)
    if re.fullmatch(r"\S+\.txt", given):
        fail(f"There is no file {given!r}", expected)


@contextmanager
def leaving_out(line: Line, log: FaultLog) -> Iterator[None]:
    """Log a line that cannot be explained, so that the others can. Exit if it is the
    only text that is given."""
    from ..formats.texts import Fault

    try:
        yield
    except ValueError as e:
        if not is_of_text(e):
            raise
        if not line.line:
            fail(str(e))
        log.add(Fault(line.path, line.line, str(e)))


def is_of_text(error: ValueError) -> bool:
    """RETURNS (bool): Whether an error need not come with another text, too."""
    return isinstance(error, NoSpan) or str(error).startswith(_OF_TEXT)


def find_span(doc: Doc, asked: Asked) -> Span:
    """RETURNS (Tuple[int, int, str]): A span in tokens; of a text the first occurrence
    in whole tokens.

    RAISES (NoSpan): The document does not have it.
    """
    n = len(doc.text)
    if asked.place[1] > n:
        raise NoSpan(f"There is no character {asked.place[1]:,}; the text has {n:,}.")
    places = [asked.place] if asked.text is None else _occurrences(doc, asked.text)
    begins = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i + 1 for token in doc}
    for start, end in places:
        if start in begins and end in ends:
            return begins[start], ends[end], asked.label
    start, end = places[0]
    near = doc.char_span(start, end, alignment_mode="expand")
    hint = f"; near is {near.start_char}:{near.end_char}" if near else ""
    raise NoSpan(
        f"The characters {start} to {end} are not whole tokens. Expected a span that "
        f"begins and ends with tokens{hint}."
    )


def _occurrences(doc: Doc, text: str) -> list[tuple[int, int]]:
    """Where a document has a text, in characters; they may overlap."""
    found = [x.start() for x in re.finditer(f"(?={re.escape(text)})", doc.text)]
    if not found:
        raise NoSpan(f"There is no {text!r} in the text. Expected a part of it.")
    return [(start, start + len(text)) for start in found]
