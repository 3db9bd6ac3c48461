"""Tags within the text: AnyStyle's XML, training data of GROBID, and their kin.

An element `sequence` (AnyStyle) or `bibl` (GROBID, TEI) is a text, the elements within
it are its spans; of nested ones the outermost counts. An attribute `level`, `unit` or
`type` belongs to the label: `<title level="j">` is `title:j`. Runs of white space are
one blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found, LabeledSpan
from .base import FormatReader, ReaderSettings

TEXTS = ("sequence", "bibl")
ATTRIBUTES = ("level", "unit", "type")
# Elements that mark neither a text nor a field: breaks, and how characters look.
PLAIN = frozenset("lb pb cb br hi i b em strong sup sub u space".split())
TAGS = re.compile(r"<(?:\w+:)?(?:sequence|bibl)\b")


def _recognizes(source: SourceText) -> bool:
    start = source.text.lstrip()[:1]
    return start == "<" and bool(TAGS.search(source.text))


@dataclass
class Open:
    """The text that is being read."""

    name: str
    line: int
    meta: dict[str, str]
    pieces: list[str] = field(default_factory=list)
    n_chars: int = 0
    spans: list[LabeledSpan] = field(default_factory=list)
    label: str = ""
    start: int = 0  # where the span begins, in characters
    first: int = 0  # and in pieces
    start_line: int = 0
    depth: int = 1  # how many of its elements are open, itself included
    within: int = 0  # how many elements are open within a span, the span included

    def add(self, text: str) -> None:
        """Appends characters; white space becomes one blank, none at the begin."""
        blank = not self.pieces or self.pieces[-1].endswith(" ")
        text = re.sub(r"\s+", " ", text)
        text = text[1:] if blank and text.startswith(" ") else text
        if text:
            self.pieces.append(text)
            self.n_chars += len(text)


class Handler:
    """Takes what expat reads, and makes texts of the elements with some names."""

    def __init__(self, source: SourceText, names: tuple[str, ...]) -> None:
        self.path = source.path
        self.names = names
        self.found: list[Found] = []
        self.current: Open | None = None
        self.document: dict[str, str] = {}
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.refuse_entity

    def parse(self, text: str) -> list[Found]:
        """Returns the texts, and the first fault: none can be read after it."""
        try:
            self.parser.Parse(
                re.sub(r"^\s*<\?xml.*?\?>", _same_lines, text, count=1), True
            )
        except (expat.ExpatError, ValueError) as e:
            line = getattr(e, "lineno", self.parser.CurrentLineNumber)
            reason = str(e).partition(": line")[0]
            message = f"is not XML that can be read: {reason}; nothing after it is read"
            self.found.append(Fault(self.path, line, message))
        return self.found

    def refuse_entity(self, *_: object) -> None:
        raise ValueError("it declares entities; expected none")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        current, line = self.current, self.parser.CurrentLineNumber
        if current is None:
            if name in self.names:
                self.current = Open(name, line, attributes)
            return
        current.depth += 1
        if name in PLAIN:
            current.add(" " if name in ("lb", "pb", "cb", "br") else "")
        if current.within:
            current.within += 1
        elif name not in PLAIN:
            if current.name == "sequence":  # its fields are words, and stand apart
                current.add(" ")
            current.within = 1
            current.label = label_of(name, attributes)
            current.start, current.first = current.n_chars, len(current.pieces)
            current.start_line = line

    def end(self, name: str) -> None:
        current = self.current
        if current is None:
            return
        current.depth -= 1
        if current.within:
            current.within -= 1
            if not current.within:
                self.close_span(current)
        if not current.depth:
            self.found.append(self.finished(current))
            self.current = None

    def close_span(self, current: Open) -> None:
        text = "".join(current.pieces[current.first :])
        if text.strip():
            line = current.start_line
            start = current.start + len(text) - len(text.lstrip())
            end = current.start + len(text.rstrip())
            current.spans.append(LabeledSpan(start, end, current.label, None, line))

    def text(self, data: str) -> None:
        if self.current is not None:
            self.current.add(data)

    def finished(self, current: Open) -> Found:
        text = "".join(current.pieces).rstrip()
        if not text:
            message = f"<{current.name}> has no text; expected some"
            return Fault(self.path, current.line, message)
        return AnnotatedText(
            text,
            tuple(current.spans),
            self.path,
            current.line,
            has_offsets=False,
            meta=current.meta,
        )


def label_of(name: str, attributes: dict[str, str]) -> str:
    """Returns the label of an element: its name, and what kind of it."""
    kind = next((attributes[key] for key in ATTRIBUTES if attributes.get(key)), "")
    return f"{name}:{kind}" if kind else name


def _same_lines(match: re.Match[str]) -> str:
    """Returns the line breaks alone: a declared encoding has been read already."""
    return "\n" * match[0].count("\n")


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    names = (settings.text_key,) if settings.text_key else TEXTS
    items = Handler(source, names).parse(source.text)
    if not items:
        expected = " or ".join(f"<{name}>" for name in names)
        message = f"has no element {expected}; name the element of a text by --text-key"
        items = [Fault(source.path, None, message)]
    yield from items


READER = FormatReader("xml", _recognizes, _read)
