"""Tags within the text: AnyStyle's XML, training data of GROBID, and their kin.

An element `sequence` (AnyStyle) or `bibl` (GROBID, TEI) is a text, the elements within
it are its spans; of nested ones the outer are read, or the inner ones; all others are
counted. Where each word has an element (parserator), neighbours of one name are one
span, or not, as the user says. An attribute `level`, `unit` or `type` belongs to the
label: `<title level="j">` is `title:j`. Runs of white space are one blank; not so where
a text has `xml:space="preserve"`, as `hosemi parse` writes it: there each element is a
span, an attribute `label` is its label, and `<?char 1b?>` is U+001B, which XML does not
have. After a fault reading goes on with the next text that begins a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from ...errors import Errors
from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found, LabeledSpan, Skipped
from .base import FormatReader, ReaderSettings

TEXTS = ("sequence", "bibl")
ATTRIBUTES = ("level", "unit", "type")
# Elements that mark neither a text nor a field: breaks, and how characters look.
PLAIN = frozenset("lb pb cb br hi i b em strong sup sub u space".split())
WITHIN = "element(s) within others; --inner reads these, not those around them"
AROUND, EMPTY = "element(s) around others", "empty element(s)"
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
    is_exact: bool = False  # whether white space stays
    # For each open element its label, "" if it marks no span; its line; how many
    # characters, pieces and closed elements there were.
    stack: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    spans: list[LabeledSpan] = field(default_factory=list)
    n_closed: int = 0  # elements that mark a text, read or not
    n_empty: int = 0

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

    def __init__(self, source: SourceText, settings: ReaderSettings) -> None:
        self.path = source.path
        self.names = (settings.text_key,) if settings.text_key else TEXTS
        self.is_inner = settings.inner
        begins = "|".join(map(re.escape, self.names))
        self.begins = re.compile(rf"\s*<(?:[\w.-]+:)?(?:{begins})[\s>]")
        self.found: list[Found] = []
        self.n_again = 0  # lines to be read once more
        self.current: Open | None = None
        self.is_refused = self.is_ours = False
        # Whether there is an element around all texts: not so after a fault.
        self.has_root = not self.begins.match(source.text)
        self.parser, self.skipped = expat.ParserCreate(), 0  # lines before its first

    def parse(self, text: str) -> list[Found]:
        """Returns the texts, and the faults."""
        # A declared encoding has been read already: its line breaks stay.
        head = re.match(r"\s*<\?xml.*?\?>", text)
        if head:
            text = "\n" * head[0].count("\n") + text[head.end() :]
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
        self.parser.Parse("" if self.has_root else "<_>", False)
        for k in range(at, len(lines)):
            self.parser.Parse(lines[k], False)
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
        after = current.line if current else line
        self.n_again += line - after
        if self.n_again > 10 * len(lines):  # bounds the time of texts without an end
            after = line
        places = range(max(after, at + 1), 0 if self.is_refused else len(lines))
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
        current = self.current
        line = self.skipped + self.parser.CurrentLineNumber
        if current is None:
            if name in self.names:
                is_exact = attributes.pop("xml:space", "") == "preserve"
                self.current = Open(name, line, attributes, is_exact=is_exact)
                self.is_ours = self.is_ours or is_exact
            return
        if name == current.name == "sequence":
            raise ValueError("<sequence> within <sequence>")
        is_plain = name in PLAIN and not current.is_exact
        is_within = any(label for label, *_ in current.stack)
        if is_plain:
            current.add(" " if name in ("lb", "pb", "cb", "br") else "")
        elif current.name == "sequence" and not current.is_exact and not is_within:
            current.add(" ")  # its fields are words, and stand apart
        kind = next((attributes[x] for x in ATTRIBUTES if attributes.get(x)), "")
        label = f"{name}:{kind}" if kind else name
        label = current.is_exact and attributes.get("label") or label
        counts = current.n_chars, len(current.pieces), current.n_closed
        current.stack.append(("" if is_plain else label, line, *counts))

    def end(self, name: str) -> None:
        current = self.current
        if current is None:
            return
        if not current.stack:
            self.found += self.finished(current)
            self.current = None
            return
        label, line, start, first, n_before = current.stack.pop()
        text = "".join(current.pieces[first:])
        if label and text.strip():
            is_outer = not any(label for label, *_ in current.stack)
            if current.n_closed == n_before if self.is_inner else is_outer:
                begin = start + len(text) - len(text.lstrip())
                place = begin, start + len(text.rstrip())
                current.spans.append(LabeledSpan(*place, label, None, line))
            current.n_closed += 1
        elif label:
            current.n_empty += 1

    def text(self, data: str) -> None:
        if self.current is not None:
            self.current.add(data)

    def finished(self, current: Open) -> list[Found]:
        text = "".join(current.pieces)
        text = text if current.is_exact else text.rstrip()
        n_left = current.n_closed - len(current.spans)
        skipped = [Skipped(AROUND if self.is_inner else WITHIN)] * n_left
        skipped += [Skipped(EMPTY)] * current.n_empty
        args = (text, tuple(current.spans), self.path, current.line)
        return [AnnotatedText(*args, has_offsets=False, meta=current.meta), *skipped]


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    handler = Handler(source, settings)
    items = handler.parse(source.text)
    if not items:
        expected = " or ".join(f"<{name}>" for name in handler.names)
        message = f"has no element {expected}; name the element of a text by --text-key"
        yield Fault(source.path, None, message)
    texts = [item for item in items if isinstance(item, AnnotatedText)]
    n_all = sum(len(text.spans) for text in texts)
    n_words = sum(" " not in x.text[s:e] for x in texts for s, e, *_ in x.spans)
    n_beside = n_all - sum(len(joined(text)) for text in texts)
    are_words = n_words > 0.95 * n_all and n_beside > 0.05 * n_all
    if are_words and settings.join is None and not handler.is_ours:
        found = {"path": source.path, "found": n_beside, "total": n_all}
        raise ValueError(Errors.HS377.format(**found))
    for item in items:
        if isinstance(item, AnnotatedText) and settings.join:
            item = replace(item, spans=tuple(joined(item)))
        yield item


def joined(text: AnnotatedText) -> list[LabeledSpan]:
    """Returns the spans of a text, neighbours of one label as one."""
    spans: list[LabeledSpan] = []
    for span in text.spans:
        last = spans[-1] if spans else span
        between = text.text[last.end : span.start]
        if spans and last.label == span.label and not between.strip():
            spans[-1] = last._replace(end=span.end)
        else:
            spans.append(span)
    return spans


READER = FormatReader("xml", _recognizes, _read)
