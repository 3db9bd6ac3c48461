"""Answers beyond the best segmentation: the most probable segmentations, and all
probable spans.

They depend on the posterior alone, not on `decoding` or `min_confidence`; answers in
`prediction.ranked` begin with what is predicted. An untrained model has no posterior:
its only answer, with probability 1, is that there is no span.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import merge
from itertools import chain, islice, starmap
from operator import itemgetter
from typing import Any

from spacy.tokens import Doc

from ..errors import Warnings
from ..labels.inventory import Span
from ..values import integer, read
from .posterior import Option, Posterior, max_listed


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


def most_probable(posterior: Posterior | None, k: int) -> list[Alternative]:
    """Returns the k most probable segmentations of a document, best first; fewer if no
    more are possible. Raises ValueError: HS043 k; HS060 no segmentation is possible."""
    k = read("k", integer(1), k)
    best: list[Option] = [(0.0, ())]
    options = [] if posterior is None else posterior.options(k)
    best = reduce(lambda left, right: _best_pairs(left, right, k), options, best)
    alternatives = []
    for log_prob, parts in best:
        of_instances: list[tuple[Span, ...]] = []
        while parts:  # those of the instances before, and spans of the last one
            parts, last = parts
            of_instances.append(last)
        spans = [*chain(*reversed(of_instances))]
        log_prob = min(log_prob, 0.0)  # up to rounding
        alternatives.append(Alternative(spans, math.exp(log_prob), log_prob))
    return alternatives


def _best_pairs(
    left: Sequence[Option], right: Sequence[Option], k: int
) -> list[Option]:
    """Returns the k best of all pairs; both sides are sorted, best first."""

    def pairs(log_prob: float, parts: Any) -> Iterator[Option]:
        return ((log_prob + other, (parts, spans)) for other, spans in right)

    merged = merge(*starmap(pairs, left), key=itemgetter(0), reverse=True)
    return [*islice(merged, k)]


def spans_above(posterior: Posterior, p: float, doc: Doc) -> list[tuple[Span, float]]:
    """Returns the spans of a document with at least probability p, above 0, sorted;
    they may overlap. If there are more than `max_listed`, warns by HSW11 and returns
    the most probable ones."""
    spans = posterior.spans_above(p)
    limit = max_listed(posterior.n_tokens)
    if len(spans) > limit:
        message = Warnings.HSW11.format(threshold=p, text=doc[:8].text, limit=limit)
        warnings.warn(message, stacklevel=2)
        spans = sorted(spans, key=lambda pair: (-pair[1], pair[0]))[:limit]
    return sorted(spans)
