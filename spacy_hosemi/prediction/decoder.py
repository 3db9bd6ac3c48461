"""From scored documents to what the component says of them, with labels or a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc

from ..core import Marginals, PatternAutomaton
from ..core.algorithms.mbr import mbr_steps
from ..core.algorithms.viterbi import viterbi_steps
from ..core.parallel.coroutines import Steps
from ..features.instances import shift
from ..hierarchy.answers import LeafMarginals
from ..hierarchy.flatten import Path
from ..labels.inventory import LabelInventory, Segment, Span
from ..labels.partial import Fixed
from ..labels.whitespace import read_segments
from .answers import Distribution, OfSegments, spans_above
from .limits import impossible
from .permitted_tags import best_permitted
from .posterior import confidence_steps, span_probabilities
from .problem import JointMarginals, Problem
from .thresholds import Thresholds, least_of


# Not frozen, as `Instance`.
@dataclass(slots=True)
class Prediction:
    """Spans of one document; probabilities where they were needed.

    listed (Optional[List[Tuple[Span, float]]]): What the span group has, if that is not
        the spans.
    paths (Optional[List[List[Tuple[str, Optional[float]]]]]): With labels in a tree, of
        each span the names from the top, and how probable each is, where that was
        needed.
    """

    spans: list[Span]
    scores: list[float] | None
    listed: list[tuple[Span, float]] | None = None
    paths: Sequence[Sequence[tuple[str, float | None]]] | None = None


class Wanted(NamedTuple):
    """What is asked for, see `HighOrderSemiCRF`.

    has_scores (bool): Whether probabilities of spans are, too.
    """

    decoding: str
    expected_f1: float | None
    spans_threshold: float | None
    min_confidence: Thresholds
    temperature: float
    has_scores: bool

    def needs_scores(self, fixed: Fixed) -> bool:
        """Whether probabilities of spans are computed at once: what is later would not
        know what is fixed."""
        return bool(fixed or self.has_scores or self.min_confidence)


class Predictor(Protocol):
    """What is said of documents, given the problems of each: its instances with all
    scores, of the labels that it has or of the top of a tree."""

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """Spans of each document.

        fixed (Fixed): What a user has fixed, if it is one document.
        RAISES (ValueError): HS060 no segmentation is possible.
        """
        ...

    def distributions(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Sequence[Distribution]:
        """Of each instance of a document."""
        ...

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals | LeafMarginals:
        """Of a document."""
        ...

    def paths(
        self,
        doc: Doc,
        problems: Sequence[Problem],
        spans: Sequence[Sequence[Span]],
    ) -> list[list[Path]]:
        """How probable spans of each instance of a document are: the names from the top
        of the labels, and the probability of each."""
        ...


# Tuples, since one is made for each call, and of all classes they are made fastest.


class _OfLabels(NamedTuple):
    """Without a tree: what is said is that of the problems themselves."""

    wanted: Wanted
    automaton: PatternAutomaton
    inventory: LabelInventory
    cfg: Mapping[str, Any]

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """See `Predictor`."""
        wanted, found = self.wanted, (yield from self.solve(problems))
        spans = [
            [span for of_instance in of_doc for span in of_instance] for of_doc in found
        ]
        listed = [self.listed(of_doc) for of_doc in problems]
        if not wanted.needs_scores(fixed):
            return [Prediction(x, None, more) for x, more in zip(spans, listed)]
        flat = [*chain(*problems)], [*chain(*found)]
        args = self.automaton, self.inventory
        of_instances = iter((yield from confidence_steps(*flat, *args)))
        scores = [[*chain(*islice(of_instances, len(of_doc)))] for of_doc in problems]
        return [self._confident(*of_doc) for of_doc in zip(spans, scores, listed)]

    def distributions(self, doc: Doc, problems: Sequence[Problem]) -> list[OfSegments]:
        """See `Predictor`."""
        args = self.automaton, self.inventory
        return [OfSegments(problem, *args) for problem in problems]

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals:
        """See `Predictor`."""
        found = [problem.marginals(self.automaton) for problem in problems]
        return found[0] if self.cfg["scope"] == "doc" else JointMarginals(found)

    def paths(
        self, doc: Doc, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> list[list[Path]]:
        """See `Predictor`."""
        args = self.automaton, self.inventory
        probs = span_probabilities(problems, spans, *args)
        return [
            [[(label, p)] for (*_, label), p in zip(*of_instance)]
            for of_instance in zip(spans, probs)
        ]

    def solve(
        self, problems: Sequence[Sequence[Problem]]
    ) -> Steps[list[list[list[Span]]]]:
        """RETURNS (List[List[List[Tuple[int, int, str]]]]): Of each instance of each
        document, in tokens of the document."""
        flat = [problem for of_doc in problems for problem in of_doc]
        inventory, wanted = self.inventory, self.wanted
        args = self.automaton, inventory, wanted.decoding, wanted.expected_f1
        solved = []
        for problem, spans in zip(flat, (yield from best_spans(flat, *args))):
            if spans is None:
                raise impossible(problem, inventory, self.cfg)
            solved.append(spans)
        of_instances = iter(solved)
        return [list(islice(of_instances, len(of_doc))) for of_doc in problems]

    def listed(self, problems: Sequence[Problem]) -> list[tuple[Span, float]] | None:
        """RETURNS (Optional[List[Tuple[Span, float]]]): See `Prediction`."""
        if self.wanted.spans_threshold is None:
            return None
        args = self.automaton, self.inventory
        some = [OfSegments(x, *args) for x in problems if len(x.instance.tokens)]
        return spans_above(some, self.wanted.spans_threshold)

    def _confident(
        self,
        spans: Sequence[Span],
        scores: Sequence[float],
        listed: list[tuple[Span, float]] | None,
    ) -> Prediction:
        least = (least_of(self.wanted.min_confidence, label) for *_, label in spans)
        kept = [i for i, pair in enumerate(zip(scores, least)) if pair[0] >= pair[1]]
        return Prediction([spans[i] for i in kept], [scores[i] for i in kept], listed)


def best_spans(
    problems: Sequence[Problem],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
    decoding: str,
    expected_f1: float | None,
) -> Steps[list[list[Span] | None]]:
    """The spans of instances, without the preset ones.

    problems (Sequence[Problem]): Instances, of one document or several.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    decoding (str), expected_f1 (Optional[float]): See `HighOrderSemiCRF`.
    RETURNS (List[Optional[List[Tuple[int, int, str]]]]): In tokens of the document of
        each; None if no segmentation is possible.
    """
    given = [x.potentials for x in problems], [x.constraints for x in problems]
    if decoding == "mbr":
        found = yield from mbr_steps(automaton, *given, expected_f1)
    elif any(x.fixed.forbid for x in problems) and inventory.on_tokens:
        found = [best_permitted(x, automaton, inventory) for x in problems]
    else:
        scored = yield from viterbi_steps(automaton, *given)
        found = [segments for segments, _ in scored]
    return [_read(*pair, inventory) for pair in zip(problems, found)]


def _read(
    problem: Problem, segments: Sequence[Segment], inventory: LabelInventory
) -> list[Span] | None:
    tokens = problem.instance.tokens
    if not segments:
        return None if len(tokens) else []
    spans = read_segments(segments, inventory, tokens)
    if problem.preset:
        spans = [span for span in spans if problem.preset.is_free(span)]
    return shift(spans, problem.instance.start)
