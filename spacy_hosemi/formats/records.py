"""What was extracted from lines of text, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

# A verdict: accepted, if the texts were not unlike those of the promise.
DRIFT = "drift"


class ExtractedField(NamedTuple):
    """A part of a text that is a field; offsets are in characters, end exclusive."""

    start: int
    end: int
    label: str
    value: str  # the text there
    confidence: float | None  # the probability of exactly this field; None: unknown


class Fields(NamedTuple):
    """The fields of several texts as columns."""

    n_fields: list[int]  # of each text
    probabilities: list[float | None]  # of exactly these fields of each text
    # Of all fields, one text after the other, what `ExtractedField` has, in its order.
    columns: tuple[list[Any], ...]

    def by_text(self) -> Iterator[tuple[list[ExtractedField], float | None]]:
        """Yields the fields of each text, and the probability of exactly these."""
        fields = map(ExtractedField._make, zip(*self.columns))
        for n_fields, probability in zip(self.n_fields, self.probabilities):
            yield [*islice(fields, n_fields)], probability


# Start and end of a token of a text, in characters, and whether a space follows, which
# is no token of its own.
WordToken = tuple[int, int, bool]


@dataclass(frozen=True)
class Segmentation:
    """One way to divide a text into fields."""

    fields: list[ExtractedField]  # from left to right; no two overlap
    confidence: float | None  # the probability of exactly these; None: unknown


@dataclass(frozen=True)
class ExtractedRecord:
    """Holds what was extracted from one line."""

    line: int  # its number, from 1; 0: it has none
    text: str
    best: Segmentation  # what was predicted
    # The most probable other ones.
    alternatives: list[Segmentation] = field(default_factory=list)
    # Of the text, for tools that want them.
    tokens: list[WordToken] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # tokens given in place of the text
    # "accept" or "review": whether the record needs no eye; "drift": it would not if
    # its texts were like those of the promise; None: nothing is promised of records.
    verdict: str | None = None
    # Of each field of `best`, if something is promised of fields.
    verdicts: list[str] = field(default_factory=list)
    # Whether it has other numbers of fields, or another length, than single records.
    is_unusual: bool = False
    # What else annotation tools show beside the text.
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def advice(self) -> str | None:
        """Returns what a person has to do, where a record has one place for that: its
        verdict, or "review" with the labels of the fields to look at, such as "review:
        date"."""
        if not self.verdicts:
            return self.verdict
        pairs = zip(self.best.fields, self.verdicts)
        labels = dict.fromkeys(x.label for x, verdict in pairs if verdict == "review")
        if labels:
            return f"review: {', '.join(labels)}"
        return DRIFT if DRIFT in self.verdicts else "accept"

    def without_accept(self) -> ExtractedRecord:
        """Returns the record with "drift" where it was accepted."""
        verdict = DRIFT if self.verdict == "accept" else self.verdict
        verdicts = [DRIFT if x == "accept" else x for x in self.verdicts]
        return replace(self, verdict=verdict, verdicts=verdicts)
