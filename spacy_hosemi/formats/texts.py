"""Annotated texts as files have them, and faults of files."""

from __future__ import annotations

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

    def fault(self, message: str, line: int = 0) -> Fault:
        """RETURNS (Fault): What is wrong with it. line: 0: where it begins."""
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


def from_tokens(
    tokens: tuple[str, ...], spans: tuple[LabeledSpan, ...], path: str, line: int
) -> AnnotatedText:
    """RETURNS (AnnotatedText): A text of given tokens; its spans count tokens."""
    return AnnotatedText(
        " ".join(tokens), spans, path, line, tokens=tokens, in_tokens=True
    )


def has_half(text: str) -> bool:
    """RETURNS (bool): Whether a text has half of a surrogate pair: spaCy refuses it."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def same(left: str, right: str) -> bool:
    """RETURNS (bool): Whether two texts are equal but for white space."""
    return left == right or "".join(left.split()) == "".join(right.split())


def shown(value: Any, limit: int = 60) -> str:
    """RETURNS (str): A value for a message, on one line and not longer than a limit."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: 2 * limit])
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f'"{text}"' if isinstance(value, str) else text
