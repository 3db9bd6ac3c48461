"""Problems: instances with scores and constraints, which decoders solve."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import Constraints, Marginals, PatternAutomaton, Potentials, marginals
from ..core.algorithms.segment_probabilities import (
    PathsFound,
    best_decision_steps,
    best_path_steps,
)
from ..core.parallel.coroutines import Steps
from ..core.potentials import ManyPotentials
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


class LazyProblems(Sequence[Problem]):
    """Documents that nothing limits, as problems that are made when they are asked for:
    once they are predicted, only confidences need them.

    docs (Sequence[Doc]): Documents.
    scores (ManyPotentials): Of each.
    """

    def __init__(self, docs: Sequence[Doc], scores: ManyPotentials) -> None:
        self.scores = scores
        self._docs: Sequence[Any] = docs
        self._is_detached = False
        self._made: dict[int, Problem] = {}

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[d] for d in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        if k not in self._made:
            problem = Problem(Instance(self._docs[k], 0), self.scores[k], None)
            self._made.setdefault(k, problem)
        return self._made[k]

    def best_steps(
        self, automaton: PatternAutomaton, options: Any, has_probabilities: bool
    ) -> Steps[PathsFound | None]:
        """What is best in all documents, as arrays.

        automaton (PatternAutomaton), options (DecodingOptions): Of the decoder.
        has_probabilities (bool): Whether these are asked for.
        RETURNS (Optional[PathsFound]): See `best_path_steps`.
        """
        args, f1 = (automaton, self.scores), options.expected_f1
        how: Any = {"has_probabilities": has_probabilities}
        if options.decoding == "mbr":
            return (yield from best_decision_steps(*args, f1, **how))
        return (yield from best_path_steps(*args, **how))

    @property
    def n_bytes(self) -> int:
        """RETURNS (int): The memory of all scores."""
        # Start and end have the shape of inside.
        return 3 * self.scores.inside.nbytes + self.scores.cells.nbytes

    def detach(self) -> None:
        """Let go of the documents: of their tokens nothing but their number is kept."""
        if self._is_detached:
            return
        self._is_detached = True
        self._docs = [range(j - i) for i, j in pairwise(self.scores.borders)]
        for k, problem in self._made.copy().items():
            problem.instance = Instance(self._docs[k], 0)


@dataclass(slots=True)
class LazyProblem(Sequence[Problem]):
    """One of `LazyProblems`, alone."""

    problems: LazyProblems
    place: int

    def __len__(self) -> int:
        return 1

    def __getitem__(self, k: Any) -> Any:
        return [self.problems[self.place]][k]

    @property
    def n_bytes(self) -> int:
        """RETURNS (int): The memory of its scores."""
        scores = self.problems.scores
        n_tokens = scores.borders[self.place + 1] - scores.borders[self.place]
        # Start and end have the shape of inside.
        of_tokens = 3 * n_tokens * scores.inside.itemsize * scores.inside.shape[1]
        return of_tokens + scores.cells_of(self.place).nbytes


class Problems(NamedTuple):
    """The instances of some documents, ready to be decoded.

    flat (Sequence[Problem]): One document after the other.
    borders (Sequence[int]): Those of document d are the ones from borders[d] to
        borders[d + 1].
    """

    flat: Sequence[Problem]
    borders: Sequence[int]

    def part(self, i: int, j: int) -> Sequence[Problem]:
        """RETURNS (Sequence[Problem]): Those from i to j, of one document."""
        flat = self.flat
        return LazyProblem(flat, i) if isinstance(flat, LazyProblems) else flat[i:j]

    def by_doc(self, found: Sequence[Any]) -> list[Sequence[Any]]:
        """RETURNS (List[Sequence]): What was found of the instances, by document."""
        return [found[i:j] for i, j in pairwise(self.borders)]


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
