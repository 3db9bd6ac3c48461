"""What was extracted from lines of text, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple


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


class Fields(NamedTuple):
    """The fields of several texts, by what is known of each.

    n_fields (List[int]), probabilities (List[Optional[float]]): Of each text, how many
        fields it has, and the probability of exactly these.
    columns (Tuple[List[Any], ...]): Of all fields, one text after the other, what
        `ExtractedField` has, in its order.
    """

    n_fields: list[int]
    probabilities: list[float | None]
    columns: tuple[list[Any], ...]

    def by_text(self) -> Iterator[tuple[list[ExtractedField], float | None]]:
        """Yields the fields of each text, and the probability of exactly these."""
        fields = map(ExtractedField._make, zip(*self.columns))
        for n_fields, probability in zip(self.n_fields, self.probabilities):
            yield [*islice(fields, n_fields)], probability


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

    line (int): Its number, from 1; 0: it has none.
    text (str): The text.
    best (Segmentation): What was predicted.
    alternatives (List[Segmentation]): The most probable other ones.
    tokens (List[WordToken]): Of the text, for tools that want them.
    verdict (Optional[str]): "accept" or "review": whether the record needs no eye;
        None: nothing is promised of records.
    verdicts (List[str]): Of each field of `best`, if something is promised of fields.
    notes (Mapping[str, Any]): What else annotation tools show beside the text.
    """

    line: int
    text: str
    best: Segmentation
    alternatives: list[Segmentation] = field(default_factory=list)
    tokens: list[WordToken] = field(default_factory=list)
    verdict: str | None = None
    verdicts: list[str] = field(default_factory=list)
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def advice(self) -> str | None:
        """What a person has to do, where a record has one place for that: its verdict,
        or "review" with the labels of the fields to look at, such as "review: date"."""
        if not self.verdicts:
            return self.verdict
        pairs = zip(self.best.fields, self.verdicts)
        labels = dict.fromkeys(x.label for x, verdict in pairs if verdict == "review")
        return f"review: {', '.join(labels)}" if labels else "accept"
