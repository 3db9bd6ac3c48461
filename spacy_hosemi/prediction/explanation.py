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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from spacy.tokens import Doc

from ..core import viterbi
from ..core.parallel.coroutines import finish
from ..labels.inventory import Span
from .batch import Batch
from .best_with_and_without import (
    ScoredSegments,
    below,
    best_with,
    best_without,
)
from .blocking_constraints import CROSSES, blocking_constraints
from .contributions import Contribution, contributions
from .corrections import no_span
from .counterfactuals import Change, counterfactuals
from .flat_decoder import FlatDecoder
from .posterior import Posterior, confidence_steps
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


# Is called with explanations and `total`, their number; yields the same explanations.
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
    words = posterior.batch.words.get(0)
    for span in spans:
        here = words.to_words(span) if words else span
        if words and (here is None or words.to_tokens(here) != span):
            reason = "which begins or ends within a word that a line break divides"
            raise no_span("span", span, reason, doc)
    crossing = {
        span: Explanation(
            *span, doc[span[0] : span[1]].text, span in answer, limits=[CROSSES]
        )
        for span in spans
    }
    explanations = {}
    explained = _explained(decoder, doc, posterior, crossing)
    for span, explanation in progress(explained, total=len(crossing)):
        if with_changes:
            args = decoder, doc, posterior, span, explanation.instead
            explanation = replace(explanation, changes=counterfactuals(*args))
        explanations[span] = explanation
    return [explanations[span] for span in spans]


def _explained(
    decoder: FlatDecoder,
    doc: Doc,
    posterior: Posterior,
    crossing: Mapping[Span, Explanation],
) -> Iterator[tuple[Span, Explanation]]:
    """Yields each span with its explanation, instance by instance; those of `crossing`
    are true of spans that no instance has."""
    batch = posterior.batch
    scorings = _scorings(decoder, doc, batch)
    of_rows: dict[int, list[tuple[Span, Span]]] = {}
    for span, place in zip(crossing, posterior.locate(crossing)):
        if place is None:
            yield span, crossing[span]
        else:
            of_rows.setdefault(place[0], []).append((span, place[1]))
    for k, pairs in sorted(of_rows.items()):
        spans, here = [span for span, _ in pairs], [local for _, local in pairs]
        unexplained = [crossing[span] for span in spans]
        args = decoder, batch, k, scorings[k], here, unexplained
        yield from zip(spans, _of_instance(*args))


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


def _of_instance(
    decoder: FlatDecoder,
    batch: Batch,
    k: int,
    scoring: Scoring,
    spans: Sequence[Span],
    unexplained: Sequence[Explanation],
) -> Iterator[Explanation]:
    """Yields the explanations of spans of one instance, which are in its tokens."""
    args = decoder.automaton, batch.potentials[k], batch.constraints[k]
    best = viterbi(*args)
    if not best[0]:
        raise decoder.impossible(batch, k)
    of_best = {*batch.spans(k, best[0])}
    families = [below(span, decoder.inventory) for span in spans]
    spans_below = [*chain(*families)]
    probs = iter(finish(confidence_steps(batch, [k], [spans_below]))[0])
    for explanation, span, family in zip(unexplained, spans, families):
        p = min(math.fsum(islice(probs, len(family))), 1.0)
        if any(x in of_best for x in family):
            first, second = best, best_without(batch, k, span)
        else:
            first, second = best_with(batch, k, span), best
        if first[0] and second[0]:
            compared = _compared(scoring, batch, k, first, second)
            yield replace(explanation, probability=p, limits=[], **compared)
        else:
            search = best_without if first[0] else best_with
            limits = blocking_constraints(decoder, batch, k, span, search)
            yield replace(explanation, probability=p, limits=limits)


def _compared(
    scoring: Scoring,
    batch: Batch,
    k: int,
    first: ScoredSegments,
    second: ScoredSegments,
) -> dict[str, Any]:
    """Returns what an `Explanation` says of two segmentations of an instance."""
    paths, difference = (first[0], second[0]), first[1] - second[1]
    instance = batch.instance(k)
    spans, instead = ({*instance.to_document(batch.spans(k, x))} for x in paths)
    parts = contributions(scoring, *paths, difference)
    return {
        "difference": difference,
        "spans": sorted(spans - instead),
        "instead": sorted(instead - spans),
        "contributions": [part.moved(instance) for part in parts],
    }
