"""More than the best answer: alternatives, how uncertain they are, rows of them.

Instances of a document do not depend on each other, so that probabilities multiply and
entropies add. Everything is asked of the distribution: `decoding` and `min_confidence`
have no say. Without instances, as of an untrained model, there is one answer: no span,
which is certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np
from spacy.tokens import Doc

from ..core import PatternAutomaton, entropy, kbest, log_partition
from ..errors import Errors
from ..features.instances import Instance, shift
from ..labels.inventory import LabelInventory, Span
from ..labels.whitespace import read_segments
from .posterior import span_probabilities
from .problem import Problem

Option = tuple[float, Any]  # log probability, and of what


@dataclass(frozen=True)
class Alternative:
    """One of the segmentations of a document.

    spans (List[Tuple[int, int, str]]): Tokens and label, from left to right.
    probability (float): In [0, 1]; 0 if it is too small for a number above.
    log_probability (float): In nats, up to 0.
    """

    spans: list[Span]
    probability: float
    log_probability: float


class Distribution(Protocol):
    """Over the segmentations of one instance; spans are in tokens of its document."""

    @property
    def instance(self) -> Instance: ...

    def most_probable(self, k: int) -> list[Option]:
        """RETURNS (List[Tuple[float, Tuple[Span, ...]]]): Log probability and spans of
        the k most probable ones, best first, no spans twice."""
        ...

    def entropy(self) -> float:
        """RETURNS (float): In nats."""
        ...

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """RETURNS (List[Tuple[Span, float]]): All spans with at least this probability,
        above 0, in any order."""
        ...

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """RETURNS (List[float]): Of each span, in [0, 1]."""
        ...


@dataclass(frozen=True)
class OfSegments:
    """The distribution of the component's own labels.

    problem (Problem): The instance; some segmentation is possible.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    """

    problem: Problem
    automaton: PatternAutomaton
    inventory: LabelInventory

    @property
    def instance(self) -> Instance:
        """RETURNS (Instance): What is segmented."""
        return self.problem.instance

    def most_probable(self, k: int) -> list[Option]:
        """See `Distribution`; as one, where different tags mean the same spans."""
        problem, args = self.problem, (self.automaton, self.problem.potentials)
        log_z = log_partition(*args, problem.constraints)
        merged: dict[tuple[Span, ...], float] = {}
        for segments, score in kbest(*args, k, problem.constraints):
            found = read_segments(segments, self.inventory, problem.instance.tokens)
            spans = tuple(shift(found, problem.instance.start))
            before = merged.get(spans, -math.inf)
            merged[spans] = float(np.logaddexp(before, score - log_z))
        pairs = ((log_prob, spans) for spans, log_prob in merged.items())
        return sorted(pairs, key=lambda pair: -pair[0])

    def entropy(self) -> float:
        """See `Distribution`; with tags on tokens that over sequences of tags."""
        problem = self.problem
        return entropy(self.automaton, problem.potentials, problem.constraints)

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """See `Distribution`; of segments only."""
        low, names = self.instance.start, self.inventory.names
        found = self.problem.marginals(self.automaton).segments_above(p)
        return [
            ((i + low, j + low, names[y]), min(prob, 1.0))
            for i, j, y, prob in found
            if y
        ]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """See `Distribution`."""
        args = [self.problem], [spans], self.automaton, self.inventory
        return span_probabilities(*args)[0]


def most_probable(instances: Iterable[Distribution], k: int) -> list[Alternative]:
    """The k most probable segmentations of a document.

    instances (Iterable[Distribution]): Its instances.
    k (int): How many; fewer if no more are possible.
    RETURNS (List[Alternative]): Best first.
    RAISES (ValueError): HS043 k.
    """
    if k < 1:
        raise ValueError(Errors.HS043.format(name="k", found=k, expected=">= 1"))
    best: list[Option] = [(0.0, ())]
    options = (instance.most_probable(k) for instance in instances)
    best = reduce(lambda left, right: _best_pairs(left, right, k), options, best)
    return [_alternative(log_prob, parts) for log_prob, parts in best]


def _best_pairs(
    left: Sequence[Option], right: Sequence[Option], k: int
) -> list[Option]:
    """The k best of all pairs, both sides best first; (i, j) comes after (i, j - 1), or
    after (i - 1, 0), so that few of them are looked at."""
    candidates = [(-left[0][0] - right[0][0], 0, 0)]
    found: list[Option] = []
    while candidates and len(found) < k:
        minus, i, j = heappop(candidates)
        found.append((-minus, (left[i][1], right[j][1])))
        after = [(i, j + 1)] + ([(i + 1, 0)] if j == 0 else [])
        for a, b in after:
            if a < len(left) and b < len(right):
                heappush(candidates, (-left[a][0] - right[b][0], a, b))
    return found


def _alternative(log_prob: float, parts: Any) -> Alternative:
    """parts: () or (those before, spans of the last instance)."""
    instances: list[tuple[Span, ...]] = []
    while parts:
        parts, last = parts
        instances.append(last)
    log_prob = min(log_prob, 0.0)  # up to rounding
    spans = [span for of_instance in reversed(instances) for span in of_instance]
    return Alternative(spans, math.exp(log_prob), log_prob)


def total_entropy(instances: Iterable[Distribution]) -> float:
    """Of all instances together, in nats."""
    return math.fsum(instance.entropy() for instance in instances)


def spans_above(
    instances: Iterable[Distribution], p: float
) -> list[tuple[Span, float]]:
    """All spans of a document with at least a given probability.

    instances (Iterable[Distribution]): Its instances, whose spans are segments.
    p (float): Least probability, above 0.
    RETURNS (List[Tuple[Tuple[int, int, str], float]]): Sorted; they may overlap.
    """
    return sorted(pair for instance in instances for pair in instance.spans_above(p))


def make_rows(
    doc: Doc, instances: Sequence[Distribution], k: int
) -> list[dict[str, Any]]:
    """The spans of the k most probable segmentations, as rows of a table.

    doc (Doc): The document.
    instances (Sequence[Distribution]), k (int): See `most_probable`.
    RETURNS (List[Dict[str, Any]]): See `HighOrderSemiCRF.to_rows`.
    """
    found = most_probable(instances, k)
    spans = {span for one in found for span in one.spans}
    confidences = dict(_confidences(instances, sorted(spans)))
    return [
        {
            "rank": rank,
            "probability": one.probability,
            "start": start,
            "end": end,
            "start_char": doc[start].idx,
            "end_char": doc[end - 1].idx + len(doc[end - 1]),
            "label": label,
            "text": doc[start:end].text,
            "confidence": confidences[start, end, label],
        }
        for rank, one in enumerate(found, start=1)
        for start, end, label in one.spans
    ]


def _confidences(
    instances: Iterable[Distribution], spans: Sequence[Span]
) -> Iterable[tuple[Span, float]]:
    """Each span with its probability."""
    for of_instance in instances:
        start, end = of_instance.instance.start, of_instance.instance.end
        within = [x for x in spans if start <= x[0] and x[1] <= end]
        yield from zip(within, of_instance.confidences(within))
