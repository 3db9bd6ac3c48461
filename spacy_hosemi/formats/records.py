"""What was extracted from lines of text, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class ExtractedField(NamedTuple):
    """A stretch of a text that is a field.

    start, end (int): Characters of the text, end exclusive.
    label (str): Its label.
    value (str): The text there.
    confidence (Optional[float]): The probability of exactly this field; None: unknown.
    """

    start: int
    end: int
    label: str
    value: str
    confidence: float | None


class WordToken(NamedTuple):
    """A token of a text.

    start, end (int): Its characters.
    has_space (bool): Whether a space follows, which is no token of its own.
    """

    start: int
    end: int
    has_space: bool


@dataclass(frozen=True)
class Segmentation:
    """The fields of a text, one way.

    fields (List[ExtractedField]): From left to right; no two overlap.
    confidence (Optional[float]): The probability of exactly these fields and no others;
        None: unknown.
    """

    fields: list[ExtractedField]
    confidence: float | None


@dataclass(frozen=True)
class ExtractedRecord:
    """What was extracted from one line.

    line (int): Its number, from 1.
    text (str): The text.
    best (Segmentation): What was predicted.
    alternatives (List[Segmentation]): The most probable other ones.
    tokens (List[WordToken]): Of the text, for tools that want them.
    """

    line: int
    text: str
    best: Segmentation
    alternatives: list[Segmentation] = field(default_factory=list)
    tokens: list[WordToken] = field(default_factory=list)
