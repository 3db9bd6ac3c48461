"""Decoders: from documents to predictions, as a function of model state and options.

A decoder never changes, and nothing that it reads does: any number of threads may use
it while others train a new state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

from spacy.attrs import ENT_IOB  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..core import Potentials
from ..core.algorithms.mbr import mbr_steps
from ..core.algorithms.viterbi import viterbi_steps
from ..core.parallel.coroutines import Steps, finish
from ..features.instances import batches, instances, shift
from ..labels.inventory import Segment, Span
from ..labels.partial import NOTHING, Fixed, Preset
from ..labels.projection import Projection
from ..labels.whitespace import trim_whitespace
from ..model.state import ModelState
from .answers import spans_above
from .collective import agree
from .existing_entities import read_preset
from .limits import impossible, make_problem
from .permitted_tags import best_permitted
from .posterior import FlatPosterior, Path, Posterior, confidence_steps
from .problem import Problem
from .thresholds import Thresholds, least_of

Score = Callable[[list[Doc]], Steps[list[Potentials]]]


class DecodingOptions(NamedTuple):
    """Settings of a component that decide what it predicts, see `HighOrderSemiCRF`.

    name (str): Of the component: entities that it wrote itself are no preset ones.
    has_scores (bool): Whether probabilities of spans are computed at once.
    hierarchy (Any): Settings of a label tree.
    """

    name: str
    scope: str
    max_length: int | None
    decoding: str
    expected_f1: float | None
    collective: float
    spans_threshold: float | None
    min_confidence: Thresholds
    temperature: float
    has_scores: bool
    hierarchy: Any = None

    def needs_scores(self, corrections: Fixed) -> bool:
        """Whether probabilities of spans are computed at once. With corrections they
        are: a later computation would not know these."""
        return bool(self.has_scores or self.min_confidence or corrections)


# Not frozen: one is made for each document.
@dataclass(slots=True)
class Prediction:
    """Spans of one document.

    scores (Optional[List[float]]): Their probabilities, if they were needed.
    listed (Optional[List[Tuple[Span, float]]]): What the span group has, if that is not
        the spans.
    paths (Optional[Sequence[Path]]): With labels in a tree, for each span the names
        from the top; with probabilities if they were needed.
    posterior (Optional[Posterior]): Where there are no scores: what gives them.
    """

    spans: list[Span]
    scores: list[float] | None
    listed: list[tuple[Span, float]] | None = None
    paths: Sequence[Path] | None = None
    posterior: Posterior | None = None


class Decoder(Protocol):
    """From documents to predictions.

    state (ModelState), options (DecodingOptions): What decides the predictions. Whoever
        keeps a decoder compares them with the present ones.
    """

    state: ModelState
    options: DecodingOptions

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Spans of each document; none for an untrained model.

        RAISES (ValueError): HS060 no segmentation is possible; HS067 sentence starts
            are not set.
        """
        found = (finish(self.steps(batch)) for batch in batches(docs))
        return [prediction for of_batch in found for prediction in of_batch]

    def steps(
        self, docs: Sequence[Doc], corrections: Fixed = NOTHING
    ) -> Steps[list[Prediction]]:
        """`predict` for documents of one vocabulary; jobs without the GIL are given
        away.

        corrections (Fixed): What a user has corrected in the only document.
        """
        ...

    def posterior(self, doc: Doc) -> Posterior:
        """What decoding this document leaves; the model is trained."""
        ...


class FlatDecoder(Decoder):
    """See `Decoder`; for labels with nothing below them.

    state (ModelState), options (DecodingOptions): See `Decoder`.
    score (Callable): Gives the potentials of instances.
    automaton (PatternAutomaton), inventory (LabelInventory), projection (Projection):
        Of the labels that segments have; by default those of the state.
    """

    def __init__(
        self,
        state: ModelState,
        options: DecodingOptions,
        score: Score,
        labels: Any = None,
    ) -> None:
        labels = labels or state.schema
        self.state, self.options = state, options
        self.automaton, self.inventory = labels.automaton, labels.inventory
        self.projection: Projection = labels.projection
        self._score = score

    def steps(
        self, docs: Sequence[Doc], corrections: Fixed = NOTHING
    ) -> Steps[list[Prediction]]:
        """See `Decoder`."""
        if not self.state.weights.is_trained:
            return [untrained(corrections) for _ in docs]
        problems = yield from self.problem_steps(docs, corrections)
        found = yield from self.best_steps(problems)
        spans = [
            [span for of_instance in of_doc for span in of_instance] for of_doc in found
        ]
        listed = [self.listed(of_doc) for of_doc in problems]
        if not self.options.needs_scores(corrections):
            return [
                Prediction(some, None, more, posterior=FlatPosterior(self, of_doc))
                for some, more, of_doc in zip(spans, listed, problems)
            ]
        flat = [*chain(*problems)], [*chain(*found)]
        args = self.automaton, self.inventory
        of_instances = iter((yield from confidence_steps(*flat, *args)))
        scores = [[*chain(*islice(of_instances, len(of_doc)))] for of_doc in problems]
        return [self._confident(*of_doc) for of_doc in zip(spans, scores, listed)]

    def posterior(self, doc: Doc) -> FlatPosterior:
        """See `Decoder`."""
        (problems,) = finish(self.problem_steps([doc]))
        return FlatPosterior(self, problems)

    def problem_steps(
        self, docs: Sequence[Doc], corrections: Fixed = NOTHING
    ) -> Steps[list[list[Problem]]]:
        """RETURNS (List[List[Problem]]): The instances of each document, with scores
        and all that limits their segmentations."""
        options = self.options
        parts = [instances(doc, options.scope) for doc in docs]
        flat = [instance.tokens for of_doc in parts for instance in of_doc]
        potentials = iter((yield from self._score(flat)))
        presets = [self.preset(doc, corrections) for doc in docs]
        corrections = self.projection.project(corrections)
        matches = self.state.weights.extractor.gazetteers.entities
        problems = [
            [
                make_problem(
                    instance,
                    next(potentials),
                    preset,
                    corrections,
                    matches(instance.tokens),
                    self.automaton,
                    self.inventory,
                )
                for instance in of_doc
            ]
            for of_doc, preset in zip(parts, presets)
        ]
        if options.collective:
            args = self.automaton, options.collective
            problems = [agree(*pair, *args) for pair in zip(docs, problems)]
        if options.temperature != 1.0:
            problems = [
                [problem.at_temperature(options.temperature) for problem in of_doc]
                for of_doc in problems
            ]
        return problems

    def preset(self, doc: Doc, corrections: Fixed) -> Preset | None:
        """RETURNS (Optional[Preset]): What is preset in a document beside corrections,
        with the labels that segments have."""
        if not doc.has_annotation(ENT_IOB):
            return None
        preset = read_preset(doc, self.options.name)
        if preset and corrections:
            preset = preset.beside(corrections)
        return preset and self.projection.project(preset)

    def best_steps(
        self, problems: Sequence[Sequence[Problem]]
    ) -> Steps[list[list[list[Span]]]]:
        """RETURNS (List[List[List[Tuple[int, int, str]]]]): The best spans of each
        instance of each document, without the preset ones, in tokens of the document.

        RAISES (ValueError): HS060 no segmentation is possible.
        """
        flat = [problem for of_doc in problems for problem in of_doc]
        given = [x.potentials for x in flat], [x.constraints for x in flat]
        automaton, inventory, options = self.automaton, self.inventory, self.options
        if options.decoding == "mbr":
            found = yield from mbr_steps(automaton, *given, options.expected_f1)
        elif inventory.on_tokens and any(x.fixed.forbid for x in flat):
            found = [best_permitted(x, automaton, inventory) for x in flat]
        else:
            found = yield from viterbi_steps(automaton, *given)
            found = [segments for segments, _ in found]
        of_instances = map(self._spans, flat, found)
        return [list(islice(of_instances, len(of_doc))) for of_doc in problems]

    def _spans(self, problem: Problem, segments: Sequence[Segment]) -> list[Span]:
        instance = problem.instance
        if not segments and len(instance.tokens):
            raise self.impossible(problem)
        spans = self.inventory.decode(segments)
        if self.inventory.on_tokens:  # tags may run on over whitespace
            spans = trim_whitespace(spans, instance.tokens)
        if problem.preset:
            spans = [span for span in spans if problem.preset.is_free(span)]
        return shift(spans, instance.start) if instance.start else spans

    def listed(self, problems: Sequence[Problem]) -> list[tuple[Span, float]] | None:
        """RETURNS (Optional[List[Tuple[Span, float]]]): See `Prediction`."""
        threshold = self.options.spans_threshold
        if threshold is None:
            return None
        return spans_above(FlatPosterior(self, problems).instances(), threshold)

    def impossible(self, problem: Problem) -> ValueError:
        """RETURNS (ValueError): HS060."""
        max_length, rules = self.options.max_length, self.state.schema.rules
        return impossible(problem, self.inventory, rules, max_length)

    def _confident(
        self,
        spans: Sequence[Span],
        scores: Sequence[float],
        listed: list[tuple[Span, float]] | None,
    ) -> Prediction:
        least = (least_of(self.options.min_confidence, label) for *_, label in spans)
        kept = [i for i, pair in enumerate(zip(scores, least)) if pair[0] >= pair[1]]
        return Prediction([spans[i] for i in kept], [scores[i] for i in kept], listed)


def untrained(corrections: Fixed) -> Prediction:
    """RETURNS (Prediction): Of an untrained model: the spans that a user gave."""
    return Prediction(list(corrections.keep), [1.0] * len(corrections.keep))
