"""Decoders: from documents to predictions, as a function of model state and options.

A decoder never changes, and nothing that it reads does: any number of threads may use
it while others train a new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc

from ..core import Constraints, Potentials
from ..core.algorithms.mbr import mbr_steps
from ..core.algorithms.segment_probabilities import PathAnswer
from ..core.algorithms.viterbi import viterbi_steps
from ..core.parallel.coroutines import Steps, finish
from ..core.potentials import ManyPotentials
from ..features.doc_batch import as_batch
from ..features.instances import Instance, check_doc, instances, shift
from ..labels.inventory import Segment, Span
from ..labels.partial import NOTHING, PartialLabels
from ..labels.projection import Projection
from ..labels.whitespace import read_segments
from ..model.state import ModelState
from .answers import spans_above
from .collective import agree
from .existing_entities import read_existing
from .limits import impossible, make_problem
from .path_confidence import joint_probability, path_confidence_steps
from .permitted_tags import best_permitted
from .posterior import FlatPosterior, Path, Posterior, StoredPosterior
from .problem import LazyProblems, Problem, Problems
from .scorer import Scorer
from .thresholds import Thresholds, least_of

# Documents, or tokens, that are worked on together: enough that the cost of a call does
# not count, and few enough that their scores stay in the cache of the processor.
BATCH, BATCH_TOKENS = 128, 2000


class DecodingOptions(NamedTuple):
    """Settings of a component that decide what it predicts, see `HighOrderSemiCRF`.

    name (str): Of the component; entities that it wrote itself are predicted again.
    has_scores (bool): Whether span probabilities are computed with the prediction.
    has_whole (bool): Whether that of the whole segmentation is.
    hierarchy (Any): Settings of a label tree.
    number (int): Of the state and of the options that probabilities depend on, as
        records have it.
    clean_text (bool): Whether documents are read by their words in a clean form.
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
    has_whole: bool = False
    hierarchy: Any = None
    number: int = 0
    clean_text: bool = False


# Not frozen: one is made for each document.
@dataclass(slots=True)
class Prediction:
    """Spans of one document.

    scores (Optional[List[float]]): Their probabilities, if they were needed.
    listed (Optional[List[Tuple[Span, float]]]): What the span group has, if that is not
        the spans.
    paths (Optional[Sequence[Path]]): With labels in a tree, for each span the names
        from the top; with probabilities if they were needed.
    posterior (Optional[StoredPosterior]): What gives the probabilities that were not
        needed.
    whole (Optional[float]): The probability of the segmentation with exactly these
        spans, if it was needed.
    """

    spans: list[Span]
    scores: list[float] | None
    listed: list[tuple[Span, float]] | None = None
    paths: Sequence[Path] | None = None
    posterior: StoredPosterior | None = None
    whole: float | None = None


class Decoder(Protocol):
    """From documents to predictions.

    state (ModelState), options (DecodingOptions): What decides the predictions. A
        component compares them with the present ones before it uses a decoder again.
    """

    state: ModelState
    options: DecodingOptions

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Spans of each document; none for an untrained model.

        RAISES (ValueError): HS060 no segmentation is possible; HS067 sentence starts
            are not set.
        """
        found: list[Prediction] = []
        for batch in batches(docs):
            found += finish(self.steps(batch))
        return found

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[list[Prediction]]:
        """`predict` for documents of one vocabulary; jobs without the GIL are given
        away.

        corrections (Optional[PartialLabels]): What a user has corrected in the only
            document.
        """
        ...

    def posterior(self, doc: Doc) -> Posterior:
        """What decoding this document leaves; the model is trained."""
        ...


def batches(docs: Iterable[Doc], size: int = BATCH) -> Iterator[list[Doc]]:
    """Documents that are worked on together.

    docs (Iterable[Doc]): A stream, which is read as far as needed.
    size (int): The most documents of a batch.
    YIELDS (List[Doc]): Documents of at most BATCH_TOKENS tokens together, or one.
    RAISES (TypeError): HS230 one is no document.
    """
    batch: list[Doc] = []
    n_tokens = 0
    for doc in docs:
        check_doc(doc)
        if batch and (
            len(batch) >= size
            or n_tokens + len(doc) > BATCH_TOKENS
            or doc.vocab is not batch[0].vocab
        ):
            yield batch
            batch, n_tokens = [], 0
        batch.append(doc)
        n_tokens += len(doc)
    if batch:
        yield batch


class FlatDecoder(Decoder):
    """See `Decoder`; for labels with nothing below them.

    state (ModelState), options (DecodingOptions): See `Decoder`.
    scorer (Scorer): Gives the potentials of instances.
    labels (Any): Has the automaton, inventory and projection of the labels that
        segments have; by default the schema of the state.
    """

    def __init__(
        self,
        state: ModelState,
        options: DecodingOptions,
        scorer: Scorer,
        labels: Any = None,
    ) -> None:
        labels = labels or state.schema
        self.state, self.options = state, options
        self.automaton, self.inventory = labels.automaton, labels.inventory
        self.projection: Projection = labels.projection
        self.scorer = scorer
        gazetteers = state.weights.extractor.gazetteers
        self._matches = gazetteers.entities if gazetteers.has_hard else None
        # Whether nothing but the document itself may limit or change its problem.
        self._is_plain = not (
            self._matches or options.collective or self.inventory.on_tokens
        )
        self._is_plain = self._is_plain and options.temperature == 1.0

    def steps(
        self,
        docs: Sequence[Doc],
        corrections: PartialLabels | None = None,
        problems: Problems | None = None,
    ) -> Steps[list[Prediction]]:
        """See `Decoder`; problems: from `problem_steps`, if they are known."""
        if not self.state.weights.is_trained:
            return [untrained(corrections) for _ in docs]
        if problems is None:
            problems = yield from self.problem_steps(docs, corrections)
        options, scores = self.options, None
        if options.has_scores or options.min_confidence or corrections:
            segments, answers = yield from self._segment_steps(problems.flat)
            found = self._spans(problems.flat, segments)
            args = problems.flat, found, segments, answers
            labels = self.automaton, self.inventory
            scores = yield from path_confidence_steps(*args, *labels)
        else:
            found = yield from self.best_steps(problems.flat)
        predictions = []
        for i, j in pairwise(problems.borders):
            own = problems.part(i, j)
            spans = found[i] if j == i + 1 else [*chain(*found[i:j])]
            listed = None if options.spans_threshold is None else self.listed(own)
            of_spans = None if scores is None else [*chain(*scores[i:j])]
            whole = joint_probability(own) if options.has_whole else None
            if of_spans is not None and options.min_confidence:
                n_spans = len(spans)
                spans, of_spans = self._confident(spans, of_spans)
                whole = whole if len(spans) == n_spans else None
            posterior = FlatPosterior(self, own)
            prediction = Prediction(spans, of_spans, listed, None, posterior, whole)
            predictions.append(complete(prediction, options, corrections))
        return predictions

    def posterior(self, doc: Doc) -> FlatPosterior:
        """See `Decoder`."""
        return FlatPosterior(self, finish(self.problem_steps([doc])).flat)

    def problem_steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[Problems]:
        """RETURNS (Problems): The instances, with scores and all that limits their
        segmentations."""
        options, docs = self.options, as_batch(docs)
        if options.scope == "doc":
            scores = yield from self.scorer.steps(docs)
            borders: Sequence[int] = range(len(docs) + 1)
            is_free = not (corrections or any(docs.has_ents) or any(docs.has_limits))
            if is_free and self._is_plain and isinstance(scores, ManyPotentials):
                return Problems(LazyProblems(docs, scores), borders)
            parts = [Instance(doc, 0) for doc in docs]
        else:
            of_docs = [instances(doc, options.scope) for doc in docs]
            parts = [*chain(*of_docs)]
            borders = [0, *accumulate(map(len, of_docs))]
            scores = yield from self.scorer.steps([x.tokens for x in parts])
        projected = self.projection.project(corrections) if corrections else NOTHING
        flat = []
        for d, doc in enumerate(docs):
            existing = self._existing(doc, corrections) if docs.has_ents[d] else None
            is_limited = bool(
                existing or corrections or self._matches or docs.has_limits[d]
            )
            for k in range(borders[d], borders[d + 1]):
                if is_limited:
                    pair = parts[k], scores[k]
                    flat.append(self._limited(*pair, existing, projected))
                else:
                    flat.append(Problem(parts[k], scores[k], None))
        problems = Problems(flat, borders)
        if options.collective:
            pairs = zip(docs, problems.by_doc(flat))
            args = self.automaton, options.collective
            flat = [x for pair in pairs for x in agree(*pair, *args)]
        if options.temperature != 1.0:
            flat = [problem.at_temperature(options.temperature) for problem in flat]
        return Problems(flat, borders)

    def _existing(
        self, doc: Doc, corrections: PartialLabels | None
    ) -> PartialLabels | None:
        """RETURNS (Optional[PartialLabels]): Existing entities beside corrections, with
        labels of segments."""
        existing = read_existing(doc, self.options.name)
        if existing and corrections:
            existing = existing.beside(corrections)
        return existing and self.projection.project(existing)

    def _limited(
        self,
        instance: Instance,
        potentials: Potentials,
        existing: PartialLabels | None,
        corrections: PartialLabels,
    ) -> Problem:
        matches = self.hard_matches(instance.tokens)
        args = instance, potentials, existing, corrections, matches
        return make_problem(*args, self.automaton, self.inventory)

    def hard_matches(self, tokens: Doc) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): See `Gazetteers.entities`."""
        return self._matches(tokens) if self._matches else []

    def best_steps(self, problems: Sequence[Problem]) -> Steps[list[list[Span]]]:
        """RETURNS (List[List[Tuple[int, int, str]]]): The best spans of each instance,
        without existing ones, in tokens of its document.

        RAISES (ValueError): HS060 no segmentation is possible.
        """
        if isinstance(problems, LazyProblems):
            found = yield from problems.best_steps(self.automaton, self.options, False)
            if found is not None:
                rows, names = iter(found[1].tolist()), self.inventory.names
                by_doc = [islice(rows, n) for n in found[0].tolist()]
                return [[(i, j, names[y]) for i, j, y in some] for some in by_doc]
        segments, _ = yield from self._segment_steps(problems)
        return self._spans(problems, segments)

    def _segment_steps(
        self, problems: Sequence[Problem]
    ) -> Steps[tuple[list[list[Segment]], list[PathAnswer | None]]]:
        """RETURNS (Tuple[List[List[Segment]], List[Optional[PathAnswer]]]): The best
        segmentation of each instance; and what was found with it."""
        given: tuple[Sequence[Potentials], list[Constraints | None]]
        if isinstance(problems, LazyProblems):
            given = problems.scores, [None] * len(problems)
        else:
            given = [x.potentials for x in problems], [x.constraints for x in problems]
        automaton, inventory, options = self.automaton, self.inventory, self.options
        if options.decoding == "mbr":
            args = automaton, *given, options.expected_f1
            return (yield from mbr_steps(*args))
        if inventory.on_tokens and any([x.corrections.excluded for x in problems]):
            found = [best_permitted(x, automaton, inventory) for x in problems]
        else:
            scored = yield from viterbi_steps(automaton, *given)
            found = [segments for segments, _ in scored]
        return found, [None] * len(problems)

    def _spans(
        self, problems: Sequence[Problem], found: Sequence[Sequence[Segment]]
    ) -> list[list[Span]]:
        """RETURNS (List[List[Tuple[int, int, str]]]): See `best_steps`."""
        inventory = self.inventory
        best, names = [], inventory.names
        if isinstance(problems, LazyProblems) and all(found):
            return [[(i, j, names[y]) for i, j, y in some if y] for some in found]
        for problem, segments in zip(problems, found):
            instance = problem.instance
            if not segments and len(instance.tokens):
                raise self.impossible(problem)
            if inventory.on_tokens:
                spans = read_segments(segments, inventory, instance.tokens)
            else:
                spans = [(i, j, names[y]) for i, j, y in segments if y]
            if problem.existing:
                spans = [span for span in spans if problem.existing.is_free(span)]
            best.append(shift(spans, instance.start) if instance.start else spans)
        return best

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
    ) -> tuple[list[Span], list[float]]:
        least = (least_of(self.options.min_confidence, label) for *_, label in spans)
        kept = [i for i, pair in enumerate(zip(scores, least)) if pair[0] >= pair[1]]
        return [spans[i] for i in kept], [scores[i] for i in kept]


def untrained(corrections: PartialLabels | None) -> Prediction:
    """RETURNS (Prediction): Of an untrained model: the spans that a user gave."""
    spans = [*corrections.required] if corrections else []
    return Prediction(spans, [1.0] * len(spans), whole=1.0)


def complete(
    prediction: Prediction,
    options: DecodingOptions,
    corrections: PartialLabels | None,
) -> Prediction:
    """RETURNS (Prediction): With the probability of the whole segmentation, and so
    without what is left to compute it, if that is needed now: nobody else knows
    corrections later."""
    left = prediction.posterior
    if left is not None and (options.has_whole or corrections):
        if prediction.whole is None:
            prediction.whole = left.whole(prediction.spans)
        if prediction.scores is not None:
            prediction.posterior = None
    return prediction
