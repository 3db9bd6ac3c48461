"""Why a span was predicted, or why it was not.

The most probable segmentation that has the span is compared with the most probable one
that does not have it:

    difference = log P(best with the span) / P(best without it)

One of the two is the most probable segmentation of all, which is what decoding
"viterbi" answers. Other spans are free in both of them, whatever was answered: with
"mbr", which answers spans that need not be probable together, the best segmentation
with a span may have others beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import cast

from spacy.tokens import Doc

from ..core.parallel.coroutines import finish
from ..features.clean_docs import CleanDoc
from ..features.instances import shift
from ..labels.inventory import Span
from ..labels.whitespace import read_segments
from .changes import Change, changes
from .contributions import Contribution, contributions
from .corrections import no_span
from .decoder import FlatDecoder
from .obstacles import CROSSES, obstacles
from .path_pair import Scoring
from .posterior import confidence_steps, split
from .problem import Problem
from .rivals import Scored, best_of_all, best_with, best_without, has_span
from .scorer import WeightScorer


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
    contributions (List[Contribution]): What the difference is the sum of, without
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
    probability: float
    difference: float | None
    spans: list[Span]
    instead: list[Span]
    contributions: list[Contribution]
    limits: list[str]
    changes: list[Change]


def explain(
    decoder: FlatDecoder,
    doc: Doc,
    spans: Sequence[Span],
    answer: Set[Span],
    with_changes: bool = False,
) -> list[Explanation]:
    """Why some spans are predicted, or why they are not.

    decoder (FlatDecoder): Of the document.
    doc (Doc): n tokens, as they are predicted.
    spans (Sequence[Tuple[int, int, str]]): Any; their labels are known.
    answer (Set[Tuple[int, int, str]]): What was predicted.
    with_changes (bool): Whether to look for changes, which takes a prediction for each.
    RETURNS (List[Explanation]): Of each span.
    RAISES (ValueError): HS060 no segmentation is possible.
    """
    found = {}
    problems, scorings = _scorings(decoder, doc)
    for problem, scoring, some in zip(problems, scorings, split(spans, problems)):
        if some:
            found.update(_of_instance(decoder, problem, scoring, some))
    nowhere = _Found(0.0, limits=[CROSSES])
    if with_changes:
        for span, one in found.items():
            one.changes = changes(decoder, doc, span, one.instead)
    return [
        Explanation(
            *span,
            doc[span[0] : span[1]].text,
            span in answer,
            **vars(found.get(span, nowhere)),
        )
        for span in spans
    ]


def explain_words(
    decoder: FlatDecoder,
    doc: Doc,
    clean: CleanDoc,
    spans: Sequence[Span],
    answer: Set[Span],
    with_changes: bool = False,
) -> list[Explanation]:
    """`explain` of a document that is read by its words in a clean form.

    clean (CleanDoc): Its words.
    RAISES (ValueError): HS095 a span begins or ends within a word.
    """
    words = []
    for span in spans:
        word = clean.to_words(span)
        if word is None or clean.to_tokens(word) != span:
            reason = "which begins or ends within a word that a line break divides"
            raise no_span("span", span, reason, doc)
        words.append(word)
    found, move = (
        explain(decoder, clean.doc, words, set(), with_changes),
        clean.to_tokens,
    )
    return [
        Explanation(
            *span,
            doc[span[0] : span[1]].text,
            span in answer,
            one.probability,
            one.difference,
            [*map(move, one.spans)],
            [*map(move, one.instead)],
            [part.moved(move) for part in one.contributions],
            one.limits,
            one.changes,
        )
        for span, one in zip(spans, found)
    ]


@dataclass
class _Found:
    """What is found of a span, see `Explanation`; in tokens of the document."""

    probability: float
    difference: float | None = None
    spans: list[Span] = field(default_factory=list)
    instead: list[Span] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def _scorings(
    decoder: FlatDecoder, doc: Doc
) -> tuple[Sequence[Problem], list[Scoring]]:
    """The instances of a document, and what their scores are made of."""
    options = decoder.options
    problems = finish(decoder.problem_steps([doc])).flat
    scorer = cast(WeightScorer, decoder.scorer)
    encoder = scorer.of_encoder([x.instance.tokens for x in problems])
    alone: Sequence[Problem] | None = None
    if options.collective:
        args = decoder.state, options._replace(collective=0.0), scorer, decoder
        alone = finish(FlatDecoder(*args).problem_steps([doc])).flat
    scorings = [
        Scoring(
            problem.instance.tokens,
            decoder.automaton,
            scorer.state,
            problem.potentials,
            options.temperature,
            None if encoder is None else encoder[k],
            None if alone is None else alone[k].potentials,
        )
        for k, problem in enumerate(problems)
    ]
    return problems, scorings


def _of_instance(
    decoder: FlatDecoder, problem: Problem, scoring: Scoring, spans: Sequence[Span]
) -> dict[Span, _Found]:
    """What is found of some spans of one instance."""
    low, labels = problem.instance.start, (decoder.automaton, decoder.inventory)
    best = best_of_all(problem, decoder.automaton)
    if not best.segments:
        raise decoder.impossible(problem)
    found = {}
    for span, p in zip(spans, _probabilities(decoder, problem, spans)):
        (local,) = shift([span], -low)
        if has_span(best.segments, local, problem, decoder.inventory):
            first, second = best, best_without(problem, local, *labels)
        else:
            first, second = best_with(problem, local, *labels), best
        if first.segments and second.segments:
            found[span] = _compared(decoder, problem, scoring, first, second, p)
        else:
            search = best_without if first.segments else best_with
            limits = obstacles(decoder, problem, local, search)
            found[span] = _Found(p, limits=limits)
    return found


def _probabilities(
    decoder: FlatDecoder, problem: Problem, spans: Sequence[Span]
) -> list[float]:
    """P(span) of each."""
    below = [
        [(i, j, label) for label in decoder.inventory.labels_below(name)]
        for i, j, name in spans
    ]
    args = [problem], [[*chain(*below)]], decoder.automaton, decoder.inventory
    probs = iter(finish(confidence_steps(*args))[0])
    return [min(math.fsum(islice(probs, len(some))), 1.0) for some in below]


def _compared(
    decoder: FlatDecoder,
    problem: Problem,
    scoring: Scoring,
    first: Scored,
    second: Scored,
    probability: float,
) -> _Found:
    low, tokens = problem.instance.start, problem.instance.tokens
    spans, instead = (
        {*shift(read_segments(x.segments, decoder.inventory, tokens), low)}
        for x in (first, second)
    )
    difference = first.score - second.score
    parts = contributions(scoring, first.segments, second.segments, difference)
    return _Found(
        probability,
        difference,
        sorted(spans - instead),
        sorted(instead - spans),
        [part.moved(lambda x: (x[0] + low, x[1] + low, x[2])) for part in parts],
    )
