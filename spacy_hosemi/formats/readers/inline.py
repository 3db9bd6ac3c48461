"""Tags within the text: AnyStyle's XML, training data of GROBID, and their kin.

An element `sequence` (AnyStyle) or `bibl` (GROBID, TEI) is a text, the elements within
it are its spans; of nested ones the outermost counts. An attribute `level`, `unit` or
`type` belongs to the label: `<title level="j">` is `title:j`. Runs of white space are
one blank; not so where a text has `xml:space="preserve"`, as `hosemi parse` writes it:
there each element is a span, an attribute `label` is its label, and `<?char 1b?>` is
U+001B, which XML does not have. After a fault reading goes on with the next text that
begins a line.
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
_HINT = "expected a closing tag for each tag, &amp; for &, &lt; for <; it is left out"
_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]


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
    is_exact: bool = False  # whether white space stays
    depth: int = 1  # how many of its elements are open, itself included
    within: int = 0  # how many elements are open within a span, the span included

    def add(self, text: str) -> None:
        """Appends characters; white space becomes one blank, none at the begin, unless
        it stays."""
        if not self.is_exact:
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
        begins = "|".join(map(re.escape, names))
        self.begins = re.compile(rf"\s*<(?:[\w.-]+:)?(?:{begins})[\s>]")
        self.found: list[Found] = []
        self.current: Open | None = None
        self.is_refused = False
        # Whether there is an element around all texts: not so after a fault.
        self.has_root = not self.begins.match(source.text)
        self.parser, self.skipped = expat.ParserCreate(), 0  # lines before its first

    @property
    def line(self) -> int:
        return self.skipped + self.parser.CurrentLineNumber

    def parse(self, text: str) -> list[Found]:
        """Returns the texts, and the faults."""
        text = re.sub(r"^\s*<\?xml.*?\?>", _same_lines, text, count=1)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines, at = [f"{line}\n" for line in text.split("\n")], 0
        while at < len(lines):
            try:
                self.parse_from(lines, at)
                break
            except (expat.ExpatError, ValueError) as e:
                at = self.after_fault(e, lines, at)
        return self.found

    def parse_from(self, lines: list[str], at: int) -> None:
        """Parses all lines from one on; raises an error at the first fault."""
        self.parser, self.skipped = expat.ParserCreate(), at
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.refuse_entity
        self.parser.ProcessingInstructionHandler = self.character
        self.has_root = self.has_root and not at
        for part in ("" if self.has_root else "<_>", *lines[at:]):
            self.parser.Parse(part, False)
        self.parser.Parse("" if self.has_root else "</_>", True)

    def after_fault(self, error: Exception, lines: list[str], at: int) -> int:
        """Adds what is wrong, and returns the place of the line to go on with."""
        line = self.skipped + getattr(error, "lineno", self.parser.CurrentLineNumber)
        current, self.current = self.current, None
        # The end of an element that was opened before a fault is none.
        is_end = getattr(error, "code", 0) == _MISMATCH and not self.has_root
        if current is not None or not is_end:
            reason = str(error).partition(": line")[0]
            hint = "" if self.is_refused else f"; {_HINT}"
            message = f"is not XML that can be read: {reason}{hint}"
            self.found.append(Fault(self.path, line, message))
        after = max(current.line if current else line, at + 1)
        places = range(after, 0 if self.is_refused else len(lines))
        return next((k for k in places if self.begins.match(lines[k])), len(lines))

    def refuse_entity(self, *_: object) -> None:
        self.is_refused = True
        raise ValueError("it declares entities; expected none")

    def character(self, target: str, data: str) -> None:
        """Reads a character that XML does not have."""
        if target == "char" and self.current is not None and self.current.is_exact:
            self.current.add(chr(int(data[:6], 16)))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        current, line = self.current, self.line
        if current is None:
            if name in self.names:
                is_exact = attributes.pop("xml:space", "") == "preserve"
                self.current = Open(name, line, attributes, is_exact=is_exact)
            return
        if name == current.name == "sequence":
            raise ValueError("<sequence> within <sequence>")
        current.depth += 1
        is_plain = name in PLAIN and not current.is_exact
        if is_plain:
            current.add(" " if name in ("lb", "pb", "cb", "br") else "")
        if current.within:
            current.within += 1
        elif not is_plain:
            if current.name == "sequence" and not current.is_exact:
                current.add(" ")  # its fields are words, and stand apart
            current.within = 1
            given = attributes.get("label") if current.is_exact else None
            current.label = given or label_of(name, attributes)
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
        text = "".join(current.pieces)
        text = text if current.is_exact else text.rstrip()
        if not text.strip():
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
