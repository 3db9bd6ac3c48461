"""The active features of the segments of many documents, in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.active_features import NO_ROWS, SegmentRows
from ..model.weights.state import WeightState

_FIELDS = "start", "end", "row", "strength"


class SegmentStore:
    """Joins the features of D documents; positions are those in each document."""

    def __init__(self, parts: Iterable[SegmentRows]) -> None:
        of_docs = [*parts]
        sizes = [len(x.row) for x in of_docs]
        self._first = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self.rows = SegmentRows(
            *(
                np.concatenate([getattr(x, name) for x in (NO_ROWS, *of_docs)])
                for name in _FIELDS
            )
        )

    def of(self, begin: int, end: int) -> SegmentRows:
        """Returns those of the documents `begin` to `end` - 1, as views."""
        at = slice(self._first[begin], self._first[end])
        return SegmentRows(*(getattr(self.rows, name)[at] for name in _FIELDS))

    def part(self, chosen: Sequence[int]) -> SegmentStore:
        """Returns some of the documents."""
        return SegmentStore(self.of(k, k + 1) for k in chosen)

    def needs(self, state: WeightState) -> NDArray[np.int64]:
        """Returns how many cells the segments of each document have, how many tokens
        these have after their first ones, and how many cells have more than one token,
        int64 [D, 3]."""
        rows, pairs = self.rows, state.pairs
        size = np.full(len(rows.row), len(state.tail), np.int64)
        if pairs is not None:
            size = pairs.sizes_of(rows.row).astype(np.int64)
        more = (rows.end - rows.start).astype(np.int64) - 1
        counts = np.stack([size, size * more, size * (more > 0)], axis=-1)
        sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(counts, axis=0)])
        needs: NDArray[np.int64] = np.diff(sums[self._first], axis=0)
        return needs
