"""Answers beyond the best segmentation: alternatives, uncertainty, rows of a table.

All follow from posteriors: `decoding` and `min_confidence` do not matter here, see
`prediction.ranked` for answers that begin with what is predicted.
Instances of a document do not depend on each other, so that probabilities multiply and
entropies add. Of an untrained model there are no posteriors: then the only answer, with
probability 1, is that there is no span.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc

from ..errors import Warnings
from ..labels.inventory import Span
from ..values import Whole, read
from .posterior import InstancePosterior, Option, max_listed

if TYPE_CHECKING:
    from .decoder import Decoder

Posteriors = Sequence[InstancePosterior]


@dataclass(frozen=True)
class Alternative:
    """One of the segmentations of a document.

    spans (List[Tuple[int, int, str]]): Tokens and label, from left to right.
    probability (float): In [0, 1]; 0 if it is below the smallest positive float.
    log_probability (float): In nats, at most 0.
    """

    spans: list[Span]
    probability: float
    log_probability: float


def posteriors(decoder: Decoder, doc: Doc) -> Posteriors:
    """RETURNS (Sequence[InstancePosterior]): One for each instance of a document."""
    if not decoder.state.weights.is_trained:
        return []
    return decoder.posterior(doc).instances()


def most_probable(posteriors: Posteriors, k: int) -> list[Alternative]:
    """The k most probable segmentations of a document.

    posteriors (Sequence[InstancePosterior]): Of its instances.
    k (int): How many; fewer if no more are possible.
    RETURNS (List[Alternative]): Best first.
    RAISES (ValueError): HS043 k; HS060 no segmentation is possible.
    """
    k = read("k", Whole(1), k)
    best: list[Option] = [(0.0, ())]
    options = (one.most_probable(k) for one in posteriors)
    best = reduce(lambda left, right: _best_pairs(left, right, k), options, best)
    return [_alternative(log_prob, parts) for log_prob, parts in best]


def _best_pairs(
    left: Sequence[Option], right: Sequence[Option], k: int
) -> list[Option]:
    """The k best of all pairs; both sides are sorted, best first. The pair (i, j) is a
    candidate once (i, j - 1) was taken, or (i - 1, 0) if j is 0: at most 2 k are."""
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
    """parts: (), or (parts of the instances before, spans of the last one)."""
    of_instances: list[tuple[Span, ...]] = []
    while parts:
        parts, last = parts
        of_instances.append(last)
    log_prob = min(log_prob, 0.0)  # up to rounding
    spans = [span for some in reversed(of_instances) for span in some]
    return Alternative(spans, math.exp(log_prob), log_prob)


def total_entropy(posteriors: Posteriors) -> float:
    """RETURNS (float): The entropy of a document in nats.

    RAISES (ValueError): HS060 no segmentation is possible.
    """
    return math.fsum(one.entropy() for one in posteriors)


def spans_above(posteriors: Posteriors, p: float) -> list[tuple[Span, float]]:
    """All spans of a document with at least a given probability.

    posteriors (Sequence[InstancePosterior]): Of its instances; not with tags on tokens.
    p (float): Least probability, above 0.
    RETURNS (List[Tuple[Tuple[int, int, str], float]]): Sorted; they may overlap. Where
        there are more than `max_listed`, HSW11 and the most probable ones.
    """
    found = [pair for one in posteriors for pair in one.spans_above(p)]
    limit = max_listed(sum(len(one.instance.tokens) for one in posteriors))
    if len(found) > limit:
        text = posteriors[0].instance.tokens[:8].text
        message = Warnings.HSW11.format(threshold=p, text=text, limit=limit)
        warnings.warn(message, stacklevel=2)
        found = sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]
    return sorted(found)
