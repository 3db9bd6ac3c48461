"""Why a span was predicted, or why it was not.

The most probable segmentation that has the span is compared with the most probable one
that does not have it:

    difference = log P(best with the span) / P(best without it)

One of the two is the most probable segmentation of all, which is what decoding
"viterbi" predicts. Other spans are free in both: with "mbr", whose spans need not be
probable together, the best segmentation with a span may have others beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from spacy.tokens import Doc

from ..core import viterbi
from ..core.parallel.coroutines import finish
from ..labels.inventory import Span
from .batch import Batch
from .best_with_and_without import ScoredSegments, below, best_with, best_without
from .blocking_constraints import CROSSES, blocking_constraints
from .contributions import Contribution, contributions
from .corrections import no_span
from .counterfactuals import Change, counterfactuals
from .flat_decoder import FlatDecoder
from .score_difference import Scoring


@dataclass(frozen=True)
class Explanation:
    """Why a span is predicted, or why it is not.

    start, end (int), label (str), text (str): The span, in tokens.
    is_answer (bool): Whether it was predicted.
    probability (float): Of exactly this span, in whatever segmentation.
    difference (Optional[float]): log P(best with the span) / P(best without it); below
        0: there is a better segmentation without it; None: one of both is impossible.
    spans, instead (List[Tuple[int, int, str]]): What only the best segmentation with
        the span has, itself included; what only the best one without it has.
    contributions (List[Contribution]): The parts whose sum is the difference, without
        zeros, the largest ones first.
    limits (List[str]): If there is no difference, what forbids the span, or all
        segmentations without it: each would do alone.
    changes (List[Change]): If they were asked for, the single changes after which the
        answer is another one, the smallest first.
    """

    start: int
    end: int
    label: str
    text: str
    is_answer: bool
    probability: float = 0.0
    difference: float | None = None
    spans: list[Span] = field(default_factory=list)
    instead: list[Span] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


# Is called with pairs of a span and its explanation, and `total`, their number; yields
# the same pairs.
Progress = Callable[..., Iterable[Any]]


def unseen(explanations: Iterable[Any], total: int) -> Iterable[Any]:
    """Shows no progress."""
    return explanations


def explain(
    decoder: FlatDecoder,
    doc: Doc,
    spans: Sequence[Span],
    answer: Set[Span],
    with_changes: bool = False,
    progress: Progress = unseen,
) -> list[Explanation]:
    """Returns why spans are predicted, or why they are not. `doc` is as it is
    predicted, `answer` has the predicted spans; changes take a prediction each; for
    `progress` see `Progress`. Raises ValueError if no segmentation is possible (HS060),
    or a span begins or ends within a word of clean text (HS095)."""
    posterior = decoder.posterior(doc)
    batch, unique = posterior.batch, [*dict.fromkeys(spans)]
    words = batch.words.get(0)
    for span in unique:
        here = words.to_words(span) if words else span
        if words and (here is None or words.to_tokens(here) != span):
            reason = "which begins or ends within a word that a line break divides"
            raise no_span("span", span, reason, doc)
    places = posterior.locate(unique)
    best: dict[int, ScoredSegments] = {}
    for k in {place[0] for place in places if place is not None}:
        best[k] = viterbi(*batch.scored(k))
        if not best[k][0]:
            raise decoder.impossible(batch, k)
    families = [below(span, decoder.inventory) for span in unique]
    probs = iter(posterior.confidences([*chain(*families)]))
    scorings = _scorings(decoder, doc, batch)

    def explained() -> Iterator[tuple[Span, Explanation]]:
        for span, place, family in zip(unique, places, families):
            p = min(math.fsum(islice(probs, len(family))), 1.0)
            text, is_answer = doc[span[0] : span[1]].text, span in answer
            explanation = Explanation(*span, text, is_answer, p, limits=[CROSSES])
            if place is not None:
                k, local = place
                because = _compared(batch, k, local, best[k], scorings[k])
                explanation = replace(explanation, **because)
            if with_changes:
                changes = counterfactuals(doc, posterior, span, explanation.instead)
                explanation = replace(explanation, changes=changes)
            yield span, explanation

    explanations = dict(progress(explained(), total=len(unique)))
    return [explanations[span] for span in spans]


def _scorings(decoder: FlatDecoder, doc: Doc, batch: Batch) -> list[Scoring]:
    """Returns what the scores of each instance are made of."""
    options, scorer = decoder.options, decoder.scorer
    encoder = scorer.of_encoder([*batch.tokens])
    alone: Batch | None = None
    if options.collective:
        args = decoder.state, options._replace(collective=0.0), scorer, decoder.tree
        alone = finish(FlatDecoder(*args).batch_steps([doc]))
    return [
        Scoring(
            batch.tokens[k],
            decoder.automaton,
            scorer.state,
            batch.potentials[k],
            options.temperature,
            None if encoder is None else encoder[k],
            None if alone is None else alone.potentials[k],
        )
        for k in batch.rows(0)
    ]


def _compared(
    batch: Batch, k: int, span: Span, best: ScoredSegments, scoring: Scoring
) -> dict[str, Any]:
    """Returns what an `Explanation` says of a span of an instance, in its tokens, whose
    best segmentation is given."""
    of_best = batch.spans(k, best[0])
    if any(x in of_best for x in below(span, batch.source.inventory)):
        first, second = best, best_without(batch, k, span)
    else:
        first, second = best_with(batch, k, span), best
    if not (first[0] and second[0]):
        search = best_without if first[0] else best_with
        return {"limits": blocking_constraints(batch, k, span, search)}
    paths, difference = (first[0], second[0]), first[1] - second[1]
    instance = batch.instance(k)
    spans, instead = ({*instance.to_document(batch.spans(k, x))} for x in paths)
    parts = contributions(scoring, *paths, difference)
    return {
        "difference": difference,
        "spans": sorted(spans - instead),
        "instead": sorted(instead - spans),
        "contributions": [part.moved(instance) for part in parts],
        "limits": [],
    }
