"""Marks records that need no eye, and says if they are unlike those before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..formats.records import ExtractedRecord
    from ..prediction.guarantee import Guarantee


class ReviewMarks:
    """Gives each record, or each of its fields, a verdict, and counts them.

    guarantee (Optional[Guarantee]): What is promised; None: nothing is marked.
    n, n_accepted, n_low (int): Records or fields, those of them that are accepted, and
        those that are as improbable as the last quarter when the threshold was chosen.
    """

    def __init__(self, guarantee: Guarantee | None) -> None:
        self._guarantee = guarantee
        self.n = self.n_accepted = self.n_low = 0

    def mark(self, records: Iterable[ExtractedRecord]) -> Iterator[ExtractedRecord]:
        """Yields each record, with verdicts; one without text has none."""
        if self._guarantee is None:
            yield from records
            return
        for record in records:
            if not record.text.strip():
                yield record
                continue
            probabilities = [x.confidence for x in record.best.fields]
            if self._guarantee.is_of_records:
                probabilities = [record.best.confidence]
                verdicts: list[str] = [*map(self._guarantee.of_record, probabilities)]
                record = replace(record, verdict=verdicts[0])
            else:
                labels = [x.label for x in record.best.fields]
                verdicts = [*self._guarantee.of_spans([*zip(labels, probabilities)])]
                record = replace(record, verdicts=verdicts)
            self.n += len(verdicts)
            self.n_accepted += verdicts.count("accept")
            if (usual := self._guarantee.usual) is not None:
                self.n_low += sum(map(usual.is_low, probabilities))
            yield record

    def summary(self) -> str:
        """Returns a text for people; empty if nothing was marked."""
        guarantee = self._guarantee
        if guarantee is None or not self.n:
            return ""
        what = "records" if guarantee.is_of_records else "fields"
        text = f"{self.n_accepted:,} of {self.n:,} {what} need no eye"
        usual = guarantee.usual
        if usual is not None and guarantee.departs(self.n, self.n_low):
            now, then = self.n_low / self.n, usual.n_below / usual.n
            text += (
                f"\nWarning: {100 * now:.1f} % of the {what} are less probable than "
                f"{usual.limit:.2g}, not {100 * then:.1f} % as when the threshold was "
                "chosen. These texts are others than those, and what was promised may "
                "not hold: annotate some of them, and run `python -m spacy hosemi "
                "guarantee` with these."
            )
        return text
