"""The posterior over the leaves of a label tree, level by level.

It is that of the last level: over all segmentations that the candidates of this level
can make. With a threshold of 0 these are all segmentations; otherwise those that need a
pruned candidate have probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.algorithms.marginals import check_segment
from ..errors import Errors
from ..features.instances import Instance
from ..labels.inventory import Segment, Span
from ..prediction.posterior import Option, Path, by_instance
from .coarse_to_fine import Solved
from .tree import LabelTree

# Two sums of the same numbers may differ by this share.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LeafPosterior:
    """See `InstancePosterior`.

    instance (Instance): What is segmented.
    solved (Solved): The last level, of several instances.
    index (int): The place of this one among them.
    tree (LabelTree): The labels.
    """

    instance: Instance
    solved: Solved
    index: int
    tree: LabelTree

    @cached_property
    def segments(self) -> dict[Segment, float]:
        """RETURNS (Dict[Tuple[int, int, int], float]): The probability of each
        candidate: start and end in tokens of the document, node (-1: outside)."""
        found = self.solved.candidates
        here = slice(found.first[self.index], found.first[self.index + 1])
        columns = (found.start, found.end, found.node, self.solved.found[0])
        rows = zip(*(column[here].tolist() for column in columns))
        low = self.instance.start
        return {(i + low, j + low, v): min(p, 1.0) for i, j, v, p in rows}

    @property
    def log_z(self) -> float:
        """RETURNS (float): Log of the summed scores of all segmentations."""
        return float(self.solved.log_z[self.index])

    def most_probable(self, k: int) -> list[Option]:
        """See `InstancePosterior`."""
        found, names = self.solved.candidates, self.tree.names
        first, segments = int(found.first[self.index]), [*self.segments]
        answers = []
        args = found.score, found.node + 1, k
        for path, score in self.solved.lattice.kbest(self.index, *args):
            here = (segments[x - first] for x in path)
            spans = tuple((i, j, names[v]) for i, j, v in here if v >= 0)
            answers.append((score - self.log_z, spans))
        return answers

    def entropy(self) -> float:
        """See `InstancePosterior`."""
        return float(self.solved.entropies[self.index])

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """See `InstancePosterior`; of spans with leaves."""
        return [
            ((i, j, self.tree.names[v]), prob)
            for (i, j, v), prob in self.segments.items()
            if v >= 0 and prob >= p * (1.0 - _ROUNDING)
        ]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """See `InstancePosterior`; an inner node has the summed probability of the
        leaves below it."""
        nodes = ((i, j, self.tree.node_of(name)) for i, j, name in spans)
        return [0.0 if v is None else self._at_node(i, j, v) for i, j, v in nodes]

    def path(self, span: Span) -> Path:
        """RETURNS (Path): Of a span with a leaf."""
        start, end, label = span
        ways = self.tree.path(self.tree.leaf[label])
        return [(name, self._at_node(start, end, node)) for name, node in ways]

    def _at_node(self, start: int, end: int, node: int) -> float:
        at = self.tree.at_level(int(self.tree.level[node]))
        same = (
            prob
            for (i, j, v), prob in self.segments.items()
            if (i, j) == (start, end) and v >= 0 and at[v] == node
        )
        return min(math.fsum(same), 1.0)


@dataclass(frozen=True)
class LevelPosterior:
    """See `Posterior`.

    parts (Sequence[LeafPosterior]): Of the instances of a document.
    labels (Sequence[str]): All leaves.
    n_tokens (int): n.
    """

    parts: Sequence[LeafPosterior]
    labels: Sequence[str]
    n_tokens: int

    def n_bytes(self) -> int:
        """See `Posterior`."""
        return sum(part.solved.n_bytes() for part in self.parts[:1])

    def check(self) -> None:
        """Does nothing: the top was checked when this was made."""

    def instances(self) -> Sequence[LeafPosterior]:
        """See `Posterior`."""
        return self.parts

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        """See `Posterior`."""
        labels = frozenset(self.labels)

        def of_instances(some: Sequence[Sequence[Span]]) -> list[list[Path]]:
            return [[*map(part.path, x)] for part, x in zip(self.parts, some)]

        return by_instance(spans, self.parts, labels, of_instances)

    def marginals(self) -> LeafMarginals:
        """See `Posterior`."""
        return LeafMarginals(self.parts, self.labels, self.n_tokens)


class LeafMarginals:
    """Probabilities of all segments with leaves for labels, of one document.

    parts (Sequence[LeafPosterior]): Of the instances, from left to right.
    labels (Sequence[str]): L - 1 leaves; label 0 is outside.
    n_tokens (int): n.

    log_z (float): Of the last level.
    tokens (float64 [n, L]): Probability of each label at each token.
    """

    def __init__(
        self, parts: Sequence[LeafPosterior], labels: Sequence[str], n_tokens: int
    ) -> None:
        self.log_z = math.fsum(part.log_z for part in parts)
        self.tokens = np.zeros((n_tokens, len(labels) + 1))
        self._segments: dict[Segment, float] = {}
        index = {label: y for y, label in enumerate(labels, start=1)}
        for part in parts:
            for (start, end, v), prob in part.segments.items():
                y = 0 if v < 0 else index[part.tree.names[v]]
                self._segments[start, end, y] = prob
                self.tokens[start:end, y] += prob

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment.

        start, end (int): Tokens, half-open.
        label (int): Its index.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS024 offsets; HS021 label.
        """
        check_segment(start, end, label, *self.tokens.shape)
        return self._segments.get((start, end, label), 0.0)

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability.

        p (float): Least probability, above 0.
        RETURNS (List[Tuple[int, int, int, float]]): start, end, label index,
            probability; sorted.
        RAISES (ValueError): HS022 if p is not above 0 and at most 1.
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(Errors.HS022.format(found=p))
        least = p * (1.0 - _ROUNDING)
        return sorted((*x, q) for x, q in self._segments.items() if q >= least)
