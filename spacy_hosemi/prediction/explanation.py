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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, cast

from spacy.tokens import Doc

from ..core.parallel.coroutines import finish
from ..features.clean_docs import CleanDoc
from ..features.instances import shift
from ..labels.inventory import LabelInventory, Span
from ..labels.whitespace import read_segments
from .changes import Change, changes
from .contributions import Contribution, contributions
from .corrections import no_span
from .decoder import FlatDecoder
from .obstacles import CROSSES, obstacles
from .path_pair import Scoring
from .posterior import confidence_steps, split
from .problem import Problem
from .rivals import Scored, below, best_of_all, best_with, best_without
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
    probability: float = 0.0
    difference: float | None = None
    spans: list[Span] = field(default_factory=list)
    instead: list[Span] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def moved(self, move: Callable[[Any], Any]) -> Explanation:
        """RETURNS (Explanation): Elsewhere; move: from (start, end, any) to that."""
        start, end, _ = move((self.start, self.end, None))
        return replace(
            self,
            start=start,
            end=end,
            spans=[*map(move, self.spans)],
            instead=[*map(move, self.instead)],
            contributions=[part.moved(move) for part in self.contributions],
        )


# Called with things as they are made, and how many there will be; yields the same.
Progress = Callable[..., Iterable[Any]]


def unseen(found: Iterable[Any], total: int) -> Iterable[Any]:
    """Progress that nobody sees."""
    return found


def explain(
    decoder: FlatDecoder,
    doc: Doc,
    spans: Sequence[Span],
    answer: Set[Span],
    with_changes: bool = False,
    progress: Progress = unseen,
) -> list[Explanation]:
    """Why some spans are predicted, or why they are not.

    decoder (FlatDecoder): Of the document.
    doc (Doc): n tokens, as they are predicted.
    spans (Sequence[Tuple[int, int, str]]): Any; their labels are known.
    answer (Set[Tuple[int, int, str]]): What was predicted.
    with_changes (bool): Whether to look for changes, which takes a prediction for each.
    progress (Callable): Called with what is found, and `total`, the number of spans;
        yields the same.
    RETURNS (List[Explanation]): Of each span.
    RAISES (ValueError): HS060 no segmentation is possible.
    """
    found = {
        span: Explanation(
            *span, doc[span[0] : span[1]].text, span in answer, limits=[CROSSES]
        )
        for span in spans
    }
    for span, one in progress(_explained(decoder, doc, found), total=len(found)):
        more = changes(decoder, doc, span, one.instead) if with_changes else []
        found[span] = replace(one, changes=more)
    return [found[span] for span in spans]


def _explained(
    decoder: FlatDecoder, doc: Doc, given: Mapping[Span, Explanation]
) -> Iterator[tuple[Span, Explanation]]:
    """YIELDS (Tuple[Tuple[int, int, str], Explanation]): Each span. given: What is
    known of those that no instance has."""
    problems, scorings = _scorings(decoder, doc)
    parts = split([*given], problems)
    inside = {*chain(*parts)}
    yield from ((span, one) for span, one in given.items() if span not in inside)
    for problem, scoring, spans in zip(problems, scorings, parts):
        if spans:
            known = [given[span] for span in spans]
            yield from zip(spans, _of_instance(decoder, problem, scoring, known))


def explain_words(
    decoder: FlatDecoder,
    doc: Doc,
    clean: CleanDoc,
    spans: Sequence[Span],
    answer: Set[Span],
    with_changes: bool = False,
    progress: Progress = unseen,
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
    found = explain(decoder, clean.doc, words, set(), with_changes, progress)
    moved = [one.moved(clean.to_tokens) for one in found]
    return [
        replace(one, text=doc[one.start : one.end].text, is_answer=span in answer)
        for span, one in zip(spans, moved)
    ]


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
    decoder: FlatDecoder,
    problem: Problem,
    scoring: Scoring,
    known: Sequence[Explanation],
) -> Iterator[Explanation]:
    """YIELDS (Explanation): Of spans of one instance, of which nothing is known yet."""
    low, tokens = problem.instance.start, problem.instance.tokens
    automaton, inventory = decoder.automaton, decoder.inventory
    best = best_of_all(problem, automaton)
    if not best.segments:
        raise decoder.impossible(problem)
    of_best = {*read_segments(best.segments, inventory, tokens)}
    spans = [(x.start - low, x.end - low, x.label) for x in known]
    for one, span, p in zip(known, spans, _probabilities(decoder, problem, spans)):
        args = problem, span, automaton, inventory
        if any(x in of_best for x in below(span, inventory)):
            first, second = best, best_without(*args)
        else:
            first, second = best_with(*args), best
        if first.segments and second.segments:
            compared = _compared(scoring, inventory, low, first, second)
            yield replace(one, probability=p, limits=[], **compared)
        else:
            search = best_without if first.segments else best_with
            limits = obstacles(decoder, problem, span, search)
            yield replace(one, probability=p, limits=limits)


def _probabilities(
    decoder: FlatDecoder, problem: Problem, spans: Sequence[Span]
) -> list[float]:
    """P(span) of each; in tokens of the instance."""
    labels = decoder.automaton, decoder.inventory
    low, families = problem.instance.start, [below(x, decoder.inventory) for x in spans]
    asked = shift(chain(*families), low)
    probs = iter(finish(confidence_steps([problem], [asked], *labels))[0])
    return [min(math.fsum(islice(probs, len(some))), 1.0) for some in families]


def _compared(
    scoring: Scoring, inventory: LabelInventory, low: int, first: Scored, second: Scored
) -> dict[str, Any]:
    """What an `Explanation` says of two segmentations of an instance, which begins at
    the token `low`."""
    tokens, difference = scoring.tokens, first.score - second.score
    spans, instead = (
        {*shift(read_segments(x.segments, inventory, tokens), low)}
        for x in (first, second)
    )
    parts = contributions(scoring, first.segments, second.segments, difference)
    return {
        "difference": difference,
        "spans": sorted(spans - instead),
        "instead": sorted(instead - spans),
        "contributions": [
            part.moved(lambda x: (x[0] + low, x[1] + low, x[2])) for part in parts
        ],
    }
