"""Annotated texts as files have them, and faults of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class LabeledSpan(NamedTuple):
    """A part of a text with a label."""

    # Offsets are as the file gives them until `add_checked` reads them; from then on
    # they are characters of the text, the end exclusive.
    start: int
    end: int
    label: str
    value: str | None = None  # what the file says that the text is there, if it does
    line: int = 0  # in the file; 0: that of the text


@dataclass(frozen=True)
class AnnotatedText:
    """One text with its spans, from a line of a file."""

    text: str  # where only tokens are given, these joined by single spaces
    spans: tuple[LabeledSpan, ...]
    path: str
    line: int
    tokens: tuple[str, ...] | None = None  # given ones, if there is no text
    in_tokens: bool = False  # whether the offsets of the spans count tokens
    has_offsets: bool = True  # whether the file has offsets at all, which may be wrong
    meta: Mapping[str, Any] = field(default_factory=dict)  # what else the file says
    name: str = ""  # how messages name it where many texts are on one line
    wrong: tuple[LabeledSpan, ...] = ()  # spans that are known to be wrong
    n_ambiguous: int = 0  # spans of values that have other places in the text, too
    is_partial: bool = False  # whether there may be other spans, of which nobody knows

    @property
    def judged(self) -> tuple[LabeledSpan, ...]:
        """Returns the spans, and those that are wrong."""
        return self.spans + self.wrong

    def fault(self, message: str, line: int = 0) -> Fault:
        """Returns a fault of this text; `line` 0: where it begins."""
        message = f"{self.name}: {message}" if self.name else message
        return Fault(self.path, line or self.line, message)


@dataclass(frozen=True)
class Fault:
    """Says what is wrong in a file, so that a text is left out; without a line the
    whole file is meant. The message says what was found and expected."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True)
class Skipped:
    """A record that annotators set aside, for a reason to be counted, as "rejected"."""

    reason: str


Found = AnnotatedText | Fault | Skipped


@dataclass
class Annotations:
    """Collects what files hold: texts without a fault, spans in characters, all faults;
    counts files by format, and records that annotators, or a reader, set aside."""

    texts: list[AnnotatedText] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    n_texts: int = 0  # those with faults included
    n_spans: int = 0
    n_trimmed: int = 0  # spans that had white space at their ends, which is gone
    n_unseen: int = 0  # or invisible characters
    n_shorter: int = 0  # spans that overlapped a longer one, and are left out


def from_tokens(
    tokens: tuple[str, ...], spans: tuple[LabeledSpan, ...], path: str, line: int
) -> AnnotatedText:
    """Returns a text of given tokens; its spans count tokens."""
    text = " ".join(tokens), spans, path, line
    return AnnotatedText(*text, tokens=tokens, in_tokens=True)


def has_half(text: str) -> bool:
    """Returns whether a text has half of a surrogate pair: spaCy refuses it."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def same(first: str, second: str) -> bool:
    """Returns whether two texts are equal but for white space."""
    return first == second or "".join(first.split()) == "".join(second.split())


def clean(text: str, keep: str = "") -> str:
    """Escapes control characters but those to keep: texts of users may have any."""
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


def shown(value: Any, limit: int = 60) -> str:
    """Returns a value for a message, on one line and not longer than a limit."""
    text = clean((value if isinstance(value, str) else repr(value))[: 2 * limit])
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f'"{text}"' if isinstance(value, str) else text
