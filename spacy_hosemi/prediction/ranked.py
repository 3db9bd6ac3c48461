"""The segmentation that is predicted, then the other most probable ones: answers that
agree with `doc.ents`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..labels.inventory import Span
from ..labels.partial import NOTHING, PartialLabels
from ..values import Whole, read
from .answers import Posteriors, most_probable
from .decoder import Decoder
from .existing_entities import read_existing
from .posterior import split


class Answer(NamedTuple):
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


def ranked(decoder: Decoder, doc: Doc, later: Sequence[Span], k: int) -> list[Answer]:
    """The predicted segmentation, and the most probable other ones.

    decoder (Decoder): Of a component.
    doc (Doc): n tokens, as they are predicted.
    later (Sequence[Tuple[int, int, str]]): Entities that came after the prediction.
    k (int): How many together; fewer if no more are possible.
    RETURNS (List[Answer]): The predicted one first.
    RAISES (ValueError): HS043 k; HS060 no segmentation is possible.
    """
    k = read("k", Whole(1), k)
    existing = read_existing(doc, decoder.options.name) or NOTHING
    shown = [*existing.required, *later]
    (predicted,) = decoder.predict([doc])
    spans, scores, whole = predicted.spans, predicted.scores, predicted.whole
    if not decoder.state.weights.is_trained:
        return [_answer(spans, dict.fromkeys(spans, 1.0), 1.0, shown)]
    posterior = predicted.posterior or decoder.posterior(doc)
    whole = posterior.whole(spans) if whole is None else whole
    if scores is None:
        paths = posterior.paths(spans)
        scores = [path[-1][1] or 0.0 if path else 0.0 for path in paths]
    found = [_answer(spans, dict(zip(spans, scores)), whole, shown)]
    if k == 1:
        return found
    instances = posterior.instances()
    others: dict[tuple[Span, ...], float] = {}
    for one in most_probable(instances, k):
        free = tuple(span for span in one.spans if existing.is_free(span))
        others[free] = others.get(free, 0.0) + one.probability
    others.pop(tuple(spans), None)
    confidences = _confidences(instances, {span for some in others for span in some})
    found += [_answer(some, confidences, p, shown) for some, p in others.items()]
    return found[:k]


def _answer(
    spans: Sequence[Span],
    confidences: dict[Span, float],
    probability: float,
    existing: Sequence[Span],
) -> Answer:
    """With the existing entities that no span overlaps."""
    chosen = PartialLabels(tuple(sorted(spans)))
    others = [span for span in existing if chosen.permits(span)]
    shown = sorted({*spans, *others})
    return Answer(shown, [confidences.get(x) for x in shown], probability)


def _confidences(instances: Posteriors, spans: set[Span]) -> dict[Span, float]:
    """The probability of each span."""
    found: dict[Span, float] = {}
    for one, some in zip(instances, split(sorted(spans), instances)):
        found.update(zip(some, one.confidences(some)))
    return found


def make_rows(doc: Doc, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """The spans of segmentations, as rows of a table.

    doc (Doc): The document.
    answers (Sequence[Answer]): See `ranked`.
    RETURNS (List[Dict[str, Any]]): See `HighOrderSemiCRF.to_rows`.
    """
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
            "confidence": confidence,
        }
        for rank, one in enumerate(answers, start=1)
        for (start, end, label), confidence in zip(one.spans, one.confidences)
    ]
