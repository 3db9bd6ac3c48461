"""Annotated texts as files have them, and faults of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class LabeledSpan(NamedTuple):
    """A stretch of a text with a label.

    start, end (int): Offsets as the file gives them until `checks.check` has read
        them; from then on characters of the text, end exclusive.
    label (str): Its label.
    value (Optional[str]): What the file says that the text is there, if it does.
    line (int): Line in the file; 0: that of the text.
    """

    start: int
    end: int
    label: str
    value: str | None = None
    line: int = 0


@dataclass(frozen=True)
class AnnotatedText:
    """One text and its spans.

    text (str): The text; where only tokens are given, these joined by single spaces.
    spans (Tuple[LabeledSpan, ...]): In characters, or in tokens where `in_tokens`.
    path, line (str, int): Where it begins.
    tokens (Optional[Tuple[str, ...]]): Given tokens, if there is no text.
    in_tokens (bool): Whether the offsets of the spans count tokens.
    has_offsets (bool): Whether the file has offsets at all, which may be wrong.
    meta (Mapping[str, Any]): What else the file says of this text, by key.
    name (str): How messages name it where many texts are on one line.
    wrong (Tuple[LabeledSpan, ...]): Spans that are known to be wrong.
    is_partial (bool): Whether nothing is known of the text beside its spans; else it
        has no others.
    """

    text: str
    spans: tuple[LabeledSpan, ...]
    path: str
    line: int
    tokens: tuple[str, ...] | None = None
    in_tokens: bool = False
    has_offsets: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    wrong: tuple[LabeledSpan, ...] = ()
    is_partial: bool = False

    @property
    def judged(self) -> tuple[LabeledSpan, ...]:
        """The spans, and those that are wrong."""
        return self.spans + self.wrong

    def fault(self, message: str, line: int = 0) -> Fault:
        """Returns a fault of this text; `line` 0: where it begins."""
        message = f"{self.name}: {message}" if self.name else message
        return Fault(self.path, line or self.line, message)


@dataclass(frozen=True)
class Fault:
    """Something in a file that cannot be read; its text is left out.

    path, line (str, Optional[int]): Where; without a line the whole file is meant.
    message (str): What was found, and what was expected.
    """

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True)
class Skipped:
    """A record that the annotators themselves set aside.

    reason (str): What is counted, such as "rejected".
    """

    reason: str


Found = AnnotatedText | Fault | Skipped


@dataclass
class Annotations:
    """What files hold.

    texts (List[AnnotatedText]): Texts without a fault, their spans in characters.
    faults (List[Fault]): All that is wrong.
    formats (Counter[str]): How many files have each format.
    skipped (Counter[str]): What the annotators, or a reader, have set aside, by reason.
    n_texts, n_spans (int): How many there were, those with faults included.
    n_trimmed, n_unseen (int): Spans that had white space, or invisible characters, at
        their ends, which are no longer there.
    n_shorter (int): Spans that overlapped a longer one, and are left out.
    """

    texts: list[AnnotatedText] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    n_texts: int = 0
    n_spans: int = 0
    n_trimmed: int = 0
    n_unseen: int = 0
    n_shorter: int = 0


def from_tokens(
    tokens: tuple[str, ...], spans: tuple[LabeledSpan, ...], path: str, line: int
) -> AnnotatedText:
    """Returns a text of given tokens; its spans count tokens."""
    return AnnotatedText(
        " ".join(tokens), spans, path, line, tokens=tokens, in_tokens=True
    )


def has_half(text: str) -> bool:
    """Returns whether a text has half of a surrogate pair: spaCy refuses it."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def same(first: str, second: str) -> bool:
    """Returns whether two texts are equal but for white space."""
    return first == second or "".join(first.split()) == "".join(second.split())


def shown(value: Any, limit: int = 60) -> str:
    """Returns a value for a message, on one line and not longer than a limit."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: 2 * limit])
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f'"{text}"' if isinstance(value, str) else text
