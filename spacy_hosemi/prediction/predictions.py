"""The predictions of a batch: arrays, with a row for each document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..labels.inventory import Span
from .batch import Batch
from .posterior import Path, Posterior


# Not frozen: one is made for each document.
@dataclass(slots=True)
class Prediction:
    """Has the spans that are predicted in one document."""

    spans: list[Span]  # in its tokens, from left to right
    scores: list[float] | None  # their probabilities, if they were needed
    # The content of the span group, if that is not the spans.
    listed: list[tuple[Span, float]] | None = None
    # With labels in a tree, for each span the names from the top; with probabilities if
    # they were needed.
    paths: Sequence[Path] | None = None
    posterior: Posterior | None = None  # gives the probabilities that were not needed
    whole: float | None = None  # of exactly these spans, if it was needed


@dataclass(eq=False)
class Predictions(Sequence[Prediction]):
    """Has the K spans of D documents of one vocabulary; for what is not said here see
    `Prediction`."""

    labels: Sequence[str]  # of all spans
    n_spans: Ints  # [D]
    spans: Ints  # [K, 3]: start and end, in tokens of the document, index in `labels`
    confidence: Floats | None  # [K]
    whole: Sequence[float | None]
    batch: Batch | None = None  # has the posteriors; None: all is known
    places: Sequence[int] | None = None  # in the batch [D]; None: the same as here
    listed: Sequence[Any] | None = None
    paths: Sequence[Any] | None = None

    @classmethod
    def of(cls, rows: Sequence[Prediction]) -> Predictions:
        """Returns the predictions of all documents. Either all rows have scores, or
        none; either all have a posterior, of one batch, or none."""
        labels = [*dict.fromkeys(label for row in rows for *_, label in row.spans)]
        index = {label: y for y, label in enumerate(labels)}
        spans = [(i, j, index[label]) for row in rows for i, j, label in row.spans]
        has_scores = bool(rows) and rows[0].scores is not None
        scores = [p for row in rows for p in row.scores or ()]
        posteriors = [row.posterior for row in rows if row.posterior is not None]
        listed, paths = [row.listed for row in rows], [row.paths for row in rows]
        return cls(
            labels,
            np.array([len(row.spans) for row in rows], np.int32),
            np.array(spans, np.int32).reshape(-1, 3),
            np.array(scores) if has_scores else None,
            [row.whole for row in rows],
            posteriors[0].batch if posteriors else None,
            [posterior.place for posterior in posteriors] if posteriors else None,
            listed if any(x is not None for x in listed) else None,
            paths if any(x is not None for x in paths) else None,
        )

    def __len__(self) -> int:
        return len(self.n_spans)

    def __iter__(self) -> Iterator[Prediction]:
        # Not by `__getitem__`, which has to find the place of the first span.
        last = 0
        for k, n in enumerate(self.n_spans.tolist()):
            yield self._row(k, last, last := last + n)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [*self][k]
        k = range(len(self))[k]
        first = int(self.n_spans[:k].sum())
        return self._row(k, first, first + int(self.n_spans[k]))

    def spans_of(self, k: int) -> list[Span]:
        """Returns the spans of one document."""
        first = int(self.n_spans[:k].sum())
        return self._spans(first, first + int(self.n_spans[k]))

    def posterior(self, k: int) -> Posterior | None:
        """Returns the posterior of a document; None: all is known."""
        if self.batch is None:
            return None
        return Posterior(self.batch, k if self.places is None else self.places[k])

    def _spans(self, first: int, last: int) -> list[Span]:
        labels = self.labels
        return [(i, j, labels[y]) for i, j, y in self.spans[first:last].tolist()]

    def _row(self, k: int, first: int, last: int) -> Prediction:
        scores = None
        if self.confidence is not None:
            scores = self.confidence[first:last].tolist()
        return Prediction(
            self._spans(first, last),
            scores,
            None if self.listed is None else self.listed[k],
            None if self.paths is None else self.paths[k],
            self.posterior(k),
            self.whole[k],
        )
