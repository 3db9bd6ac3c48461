"""The distribution over the leaves of a label tree, as answers of the component.

It is that of the last level: over all segmentations of what is left there. With a
threshold of 0 nothing is missing; else what is less probable than it has probability 0.
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
from .coarse_to_fine import Solved
from .tree import LabelTree

Option = tuple[float, tuple[Span, ...]]

# Two sums of the same numbers may differ so much.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OfLeaves:
    """See `answers.Distribution`, whose methods these are.

    instance (Instance): What is segmented.
    solved (Solved): Of the last level, for several instances.
    index (int): Which of them.
    tree (LabelTree): The labels.
    """

    instance: Instance
    solved: Solved
    index: int
    tree: LabelTree

    @cached_property
    def segments(self) -> dict[Segment, float]:
        """RETURNS (Dict[Tuple[int, int, int], float]): Start, end, node (-1: outside)
        of what is left, in tokens of the document; its probability."""
        found = self.solved.candidates
        here = slice(found.first[self.index], found.first[self.index + 1])
        columns = (found.start, found.end, found.node, self.solved.found[0])
        rows = zip(*(column[here].tolist() for column in columns))
        low = self.instance.start
        return {(i + low, j + low, v): min(p, 1.0) for i, j, v, p in rows}

    @property
    def log_z(self) -> float:
        """RETURNS (float): Of what is left."""
        return float(self.solved.log_z[self.index])

    def most_probable(self, k: int) -> list[Option]:
        """The k most probable segmentations."""
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
        """In nats."""
        return float(self.solved.entropies[self.index])

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """All spans with at least this probability of their leaf."""
        return [
            ((i, j, self.tree.names[v]), prob)
            for (i, j, v), prob in self.segments.items()
            if v >= 0 and prob >= p * (1.0 - _ROUNDING)
        ]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """Of each span; with the name of an inner node that of all leaves below it."""
        return [self._confidence(*span) for span in spans]

    def path(self, span: Span) -> list[tuple[str, float]]:
        """Names from the top to the leaf of a span, and the confidence in each."""
        start, end, label = span
        ways = self.tree.path(self.tree.leaf[label])
        return [(name, self._at_node(start, end, node)) for name, node in ways]

    def _confidence(self, start: int, end: int, label: str) -> float:
        node = self.tree.node_of(label)
        return 0.0 if node is None else self._at_node(start, end, node)

    def _at_node(self, start: int, end: int, node: int) -> float:
        at = self.tree.at_level(int(self.tree.level[node]))
        same = (
            prob
            for (i, j, v), prob in self.segments.items()
            if (i, j) == (start, end) and v >= 0 and at[v] == node
        )
        return min(math.fsum(same), 1.0)


class LeafMarginals:
    """Probabilities of all segments with leaves for labels, of one document.

    instances (Sequence[OfLeaves]): From left to right.
    labels (Sequence[str]): L - 1 leaves; label 0 is outside.
    n_tokens (int): n.

    log_z (float): Of what is left on the last level.
    tokens (float64 [n, L]): Probability of each label at each token.
    """

    def __init__(
        self, instances: Sequence[OfLeaves], labels: Sequence[str], n_tokens: int
    ) -> None:
        self.log_z = math.fsum(of_instance.log_z for of_instance in instances)
        self.tokens = np.zeros((n_tokens, len(labels) + 1))
        self._segments: dict[Segment, float] = {}
        index = {label: y for y, label in enumerate(labels, start=1)}
        for of_instance in instances:
            for (start, end, v), prob in of_instance.segments.items():
                y = 0 if v < 0 else index[of_instance.tree.names[v]]
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
