"""Problems: instances with scores and constraints, which decoders solve."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..core import Constraints, Marginals, PatternAutomaton, Potentials, marginals
from ..features.instances import Instance
from ..labels.partial import NOTHING, PartialLabels


# Not frozen, as `Instance`.
@dataclass(slots=True)
class Problem:
    """All that decides how an instance is segmented.

    log_z (Optional[float]): Once it is known.
    log_prob (Optional[float]): Of the segmentation that is predicted, if a sweep has
        found it.
    """

    instance: Instance
    potentials: Potentials
    constraints: Constraints | None
    existing: PartialLabels | None = None
    corrections: PartialLabels = NOTHING
    log_z: float | None = field(default=None, init=False)
    log_prob: float | None = field(default=None, init=False)

    def marginals(self, automaton: PatternAutomaton) -> Marginals:
        """RETURNS (Marginals): Of this instance."""
        return marginals(automaton, self.potentials, self.constraints)

    def at_temperature(self, temperature: float) -> Problem:
        """With all scores divided by it; what is forbidden stays forbidden."""
        if temperature == 1.0:
            return self
        return replace(self, potentials=self.potentials.times(1.0 / temperature))

    def with_more(self, scores: Mapping[str, NDArray[np.float64]]) -> Problem:
        """With scores added, of all tokens of the document, by role."""
        instance, potentials = self.instance, self.potentials
        added = {
            role: getattr(potentials, role) + more[instance.start : instance.end]
            for role, more in scores.items()
        }
        return replace(self, potentials=replace(potentials, **added))


class JointMarginals:
    """The marginals of consecutive instances, which do not depend on each other.

    parts (Sequence[Marginals]): One or more, from left to right.

    log_z (float), gradient (Potentials), tokens (float64 [n, L]): As of Marginals.
    """

    def __init__(self, parts: Sequence[Marginals]) -> None:
        self._parts = parts
        sizes = [len(part.tokens) for part in parts]
        self._starts = [0, *np.cumsum(sizes).tolist()]
        self.log_z = float(sum(part.log_z for part in parts))
        self.tokens = np.concatenate([part.tokens for part in parts])
        gradients = [part.gradient for part in parts]
        self.gradient = Potentials(
            inside=np.concatenate([g.inside for g in gradients]),
            start=np.concatenate([g.start for g in gradients]),
            end=np.concatenate([g.end for g in gradients]),
            length=np.sum([g.length for g in gradients], axis=0),
            tail=np.sum([g.tail for g in gradients], axis=0),
            cells=self._joined((g.cells for g in gradients), ("start", "end")),
            pattern=np.sum([g.pattern for g in gradients], axis=0),
            entries=self._joined_entries([g.entries for g in gradients]),
        )

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment; 0 if it crosses instances.

        RAISES (ValueError): As `Marginals.segment`.
        """
        part = max(bisect_right(self._starts[:-1], start) - 1, 0)
        low, high = self._starts[part : part + 2]
        if high < end <= self._starts[-1]:
            return 0.0
        return self._parts[part].segment(start - low, end - low, label)

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability, as of Marginals."""
        return [
            (i + low, j + low, label, prob)
            for low, part in zip(self._starts, self._parts)
            for i, j, label, prob in part.segments_above(p)
        ]

    def _joined_entries(
        self, arrays: Sequence[NDArray[np.void] | None]
    ) -> NDArray[np.void] | None:
        given = [array for array in arrays if array is not None]
        return self._joined(given, ("position",)) if given else None

    def _joined(
        self, arrays: Iterable[NDArray[np.void]], offsets: Sequence[str]
    ) -> NDArray[np.void]:
        """Records of all parts; these fields become offsets in the document."""
        joined = []
        for low, array in zip(self._starts, arrays):
            moved = array.copy()
            for name in offsets:
                moved[name] += low
            joined.append(moved)
        return np.concatenate(joined)
