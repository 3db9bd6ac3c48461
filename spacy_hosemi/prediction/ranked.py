"""The segmentation that is predicted, then the most probable others, as `doc.ents`
would have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..labels.inventory import Span
from ..labels.partial import NOTHING, PartialLabels
from ..values import integer, read
from .answers import most_probable
from .decoder import Decoder
from .existing_entities import read_existing


class RankedSegmentation(NamedTuple):
    """A segmentation of a document, as `doc.ents` would have it.

    spans (List[Tuple[int, int, str]]): Tokens and label, from left to right, existing
        entities included.
    confidences (List[Optional[float]]): The probability of each span; None for an
        existing entity, which the component did not find.
    probability (float): Of the whole segmentation.
    """

    spans: list[Span]
    confidences: list[float | None]
    probability: float


def ranked(
    decoder: Decoder, doc: Doc, later: Sequence[Span], k: int
) -> list[RankedSegmentation]:
    """Returns the predicted segmentation of a document, then the most probable other
    ones: k together, or fewer if no more are possible. `doc` is as it is predicted,
    `later` has the entities that came afterwards. Raises ValueError HS043 for k, HS060
    if no segmentation is possible."""
    k = read("k", integer(1), k)
    existing = read_existing(doc, decoder.options.name) or NOTHING
    shown = [*existing.required, *later]
    (predicted,) = decoder.predict([doc])
    spans, scores, whole = predicted.spans, predicted.scores, predicted.whole
    if not decoder.state.weights.is_trained:
        return [_ranked(spans, dict.fromkeys(spans, 1.0), 1.0, shown)]
    posterior = predicted.posterior or decoder.posterior(doc)
    whole = posterior.whole(spans) if whole is None else whole
    if scores is None:
        paths = posterior.paths(spans)
        scores = [path[-1][1] or 0.0 if path else 0.0 for path in paths]
    segmentations = [_ranked(spans, dict(zip(spans, scores)), whole, shown)]
    if k == 1:
        return segmentations
    alternatives: dict[tuple[Span, ...], float] = {}
    for alternative in most_probable(posterior, k):
        free = tuple(span for span in alternative.spans if existing.is_free(span))
        alternatives[free] = alternatives.get(free, 0.0) + alternative.probability
    alternatives.pop(tuple(spans), None)
    listed = sorted({*chain(*alternatives)})
    confidences = dict(zip(listed, posterior.confidences(listed)))
    pairs = alternatives.items()
    segmentations += [_ranked(other, confidences, p, shown) for other, p in pairs]
    return segmentations[:k]


def _ranked(
    spans: Sequence[Span],
    confidences: dict[Span, float],
    probability: float,
    existing: Sequence[Span],
) -> RankedSegmentation:
    """Returns a segmentation with the existing entities that no span overlaps."""
    chosen = PartialLabels(tuple(sorted(spans)))
    beside = [span for span in existing if chosen.permits(span)]
    shown = sorted({*spans, *beside})
    return RankedSegmentation(shown, [confidences.get(x) for x in shown], probability)


def make_rows(
    doc: Doc, segmentations: Sequence[RankedSegmentation]
) -> list[dict[str, Any]]:
    """Returns the spans of segmentations as rows of a table, see
    `HighOrderSemiCRF.to_rows`."""
    return [
        {
            "rank": rank,
            "probability": segmentation.probability,
            "start": start,
            "end": end,
            "start_char": doc[start].idx,
            "end_char": doc[end - 1].idx + len(doc[end - 1]),
            "label": label,
            "text": doc[start:end].text,
            "confidence": confidence,
        }
        for rank, segmentation in enumerate(segmentations, start=1)
        for (start, end, label), confidence in zip(*segmentation[:2])
    ]
