"""Decoders for labels in a tree, and the choice of the decoder for a model state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..core import viterbi_many
from ..core.parallel.coroutines import Steps, finish
from ..errors import Errors
from ..labels.inventory import Segment, Span
from ..labels.partial import NOTHING, PartialLabels
from ..model.active_features import read_docs
from ..model.span_scorer import NeuralScorer
from ..model.state import ModelState
from ..model.weights.potentials import DocScorer
from ..prediction.answers import spans_above
from ..prediction.clean_decoder import CleanDecoder
from ..prediction.decoder import (
    Decoder,
    DecodingOptions,
    FlatDecoder,
    Prediction,
    complete,
    untrained,
)
from ..prediction.existing_entities import read_existing
from ..prediction.posterior import FlatPosterior, Path, by_instance, confidence_steps
from ..prediction.problem import Problem, Problems
from ..prediction.scorer import Scorer
from ..prediction.thresholds import Thresholds, least_of
from .answers import LeafPosterior, mbr_spans
from .candidates import PartialNodes, Place, top_candidates
from .coarse_to_fine import Readings, ScoredLevel, SpanPath, descend, paths
from .flatten import FlatTree, flatten
from .hierarchy import Hierarchy
from .posterior import LevelPosterior, whole_probabilities
from .projection import TreeProjection


def make_decoder(
    state: ModelState,
    options: DecodingOptions,
    model: Model[list[Doc], Any],
    before: Decoder | None = None,
) -> Decoder:
    """The decoder for the labels of a state.

    state (ModelState), options (DecodingOptions): All that predictions depend on.
    model (Model): The span scorer of the component.
    before (Optional[Decoder]): The decoder of the previous state; parts that do not
        depend on weights are used again.
    """
    if not options.clean_text or model.layers:
        return _make_decoder(state, options, model, before)
    inner = before.decoder if isinstance(before, CleanDecoder) else None
    return CleanDecoder(_make_decoder(state, options, model, inner))


def segment_decoder(decoder: Decoder, name: str) -> FlatDecoder:
    """What decodes all labels of documents, or of their clean words, at once.

    decoder (Decoder): From `make_decoder`. One that decodes level by level prunes, what
        it is given here does not.
    name (str): Of its component.
    RAISES (ValueError): HS317 labels in a tree have a tok2vec or too many weights.
    """
    if isinstance(decoder, CleanDecoder):
        decoder = decoder.decoder
    if isinstance(decoder, FlattenedDecoder | LevelDecoder):
        decoder = decoder.of_leaves  # type: ignore[assignment]
    if not isinstance(decoder, FlatDecoder):
        raise ValueError(Errors.HS317.format(name=name))
    return decoder


def _leaf_decoder(
    state: ModelState, options: DecodingOptions, flat: FlatTree
) -> FlatDecoder:
    """RETURNS (FlatDecoder): It decodes the leaves of a tree as labels without one."""
    return FlatDecoder(state, options, DocScorer(flat.weights, is_single=False), flat)


def _make_decoder(
    state: ModelState,
    options: DecodingOptions,
    model: Model[list[Doc], Any],
    before: Decoder | None,
) -> Decoder:
    """For documents as they are."""
    weights, settings = state.weights, options.hierarchy
    scorer: Scorer = DocScorer(weights)
    if model.layers:
        scorer = NeuralScorer(model, weights)
    if state.levels is None:
        return FlatDecoder(state, options, scorer)
    if not model.layers and len(state.schema.labels) <= settings.exact_up_to:
        known = before.flat if isinstance(before, FlattenedDecoder) else None
        is_same = before is not None and before.state is state
        flat = known if is_same and known else flatten(state, known)
        if flat is not None:
            return FlattenedDecoder(state, options, flat)
    return LevelDecoder(state, options, scorer)


class FlattenedDecoder(Decoder):
    """For trees with few labels: decodes the leaves as labels without a tree.

    of_leaves (FlatDecoder): Decodes them.
    """

    def __init__(
        self, state: ModelState, options: DecodingOptions, flat: FlatTree
    ) -> None:
        self.state, self.options, self.flat = state, options, flat
        self.of_leaves = _leaf_decoder(state, options, flat)

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[list[Prediction]]:
        if not self.state.weights.is_trained:
            return [untrained(corrections) for _ in docs]
        decoder, flat, options = self.of_leaves, self.flat, self.options
        problems = yield from decoder.problem_steps(docs, corrections)
        found = yield from decoder.best_steps(problems.flat)
        ways = None
        if options.has_scores or options.min_confidence or corrections:
            ways = yield from path_steps(problems.flat, found, decoder, flat)
        predictions = []
        for i, j in pairwise(problems.borders):
            own, spans = problems.part(i, j), [*chain(*found[i:j])]
            listed = decoder.listed(own)
            if ways is None:
                names = [flat.unknown[label] for *_, label in spans]
                prediction = Prediction(spans, None, listed, names)
            else:
                pairs, least = zip(spans, chain(*ways[i:j])), options.min_confidence
                prediction = _confident(pairs, least, corrections, listed)
            prediction.posterior = FlattenedPosterior(decoder, own, flat)
            predictions.append(complete(prediction, options, corrections))
        return predictions

    def posterior(self, doc: Doc) -> FlattenedPosterior:
        left = self.of_leaves.posterior(doc)
        return FlattenedPosterior(left.decoder, left.problems, self.flat)


# Not frozen: one is made for each document.
@dataclass(slots=True)
class FlattenedPosterior(FlatPosterior):
    """The posterior of leaves, and of the names above them."""

    flat: FlatTree

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:

        def of_instances(some: Sequence[Sequence[Span]]) -> list[list[Path]]:
            return finish(path_steps(self.problems, some, self.decoder, self.flat))

        labels = self.decoder.inventory.labels
        return by_instance(spans, self.problems, labels, of_instances)


def path_steps(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[Span]],
    decoder: FlatDecoder,
    flat: FlatTree,
) -> Steps[list[list[Path]]]:
    """The probabilities of all names above the spans of some instances. If a user gave
    a span a name, this name and those above it have probability 1."""
    families = [[flat.family(x) for x in of_instance] for of_instance in spans]
    asked = [[*chain(*of_instance)] for of_instance in families]
    args = problems, asked, decoder.automaton, decoder.inventory
    probs = iter(chain(*(yield from confidence_steps(*args))))
    found: list[list[Path]] = []
    for problem, some, of_instance in zip(problems, spans, families):
        low = problem.instance.start
        kept = {(i + low, j + low): name for i, j, name in problem.corrections.required}
        found.append(
            [
                flat.path(label, [*islice(probs, len(family))], kept.get((start, end)))
                for (start, end, label), family in zip(some, of_instance)
            ]
        )
    return found


class LevelDecoder(Decoder):
    """For trees of any size: decodes level by level, see `descend`."""

    def __init__(
        self, state: ModelState, options: DecodingOptions, scorer: Scorer
    ) -> None:
        self.state, self.options = state, options
        self._settings: Hierarchy = options.hierarchy
        self._projection = cast(TreeProjection, state.schema.projection)
        self._tree = self._projection.tree
        self._top = FlatDecoder(state, options, scorer)

    @cached_property
    def of_leaves(self) -> FlatDecoder | None:
        """Decodes all leaves at once, for what can be said of these alone; None if
        they have a tok2vec or too many weights for that."""
        if not isinstance(self._top.scorer, DocScorer):
            return None
        flat = flatten(self.state)
        return None if flat is None else _leaf_decoder(self.state, self.options, flat)

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[list[Prediction]]:
        if not self.state.weights.is_trained:
            return [untrained(corrections) for _ in docs]
        problems = yield from self._top.problem_steps(docs, corrections)
        solved, corrected = self._solve(docs, problems, corrections or NOTHING)
        found = self._best(solved, corrected)
        posteriors = self._posteriors(problems, solved)
        least, threshold = self.options.min_confidence, self.options.spans_threshold
        predictions = []
        for i, j in pairwise(problems.borders):
            pairs: list[tuple[Span, Path]] = []
            for problem, some in zip(problems.flat[i:j], found[i:j]):
                existing, low = problem.existing, problem.instance.start
                for (start, end, label), path in some:
                    if not existing or existing.is_free((start, end, label)):
                        pairs.append(((start + low, end + low, label), path))
            own = posteriors[i:j]
            listed = None if threshold is None else spans_above(own, threshold)
            predictions.append(_confident(pairs, least, corrections, listed))
        if self.options.has_whole or corrections:
            wholes = whole_probabilities(
                problems.by_doc(posteriors), [x.spans for x in predictions]
            )
            for prediction, p in zip(predictions, wholes):
                prediction.whole = p
        return predictions

    def posterior(self, doc: Doc) -> LevelPosterior:
        top = self._top.posterior(doc)
        top.check()
        some = [x for x in top.problems if len(x.instance.tokens)]
        problems = Problems(some, (0, len(some)))
        solved, _ = self._solve([doc], problems, NOTHING)
        own = self._posteriors(problems, solved)
        return LevelPosterior(own, self.state.schema.labels, len(doc))

    def _solve(
        self,
        docs: Sequence[Doc],
        problems: Problems,
        corrections: PartialLabels,
    ) -> tuple[ScoredLevel, list[PartialLabels]]:
        """The last level, and the corrections of each instance."""
        flat, entities, corrected = problems.flat, [], []
        for doc, of_doc in zip(docs, problems.by_doc(flat)):
            existing = read_existing(doc, self.options.name)
            for problem in of_doc:
                start, end = problem.instance.start, problem.instance.end
                corrected.append(corrections.part(start, end))
                part = existing and existing.part(start, end)
                entities.append(part and part.beside(corrected[-1]))
        weights, automaton = self.state.weights, self.state.schema.automaton
        potentials = [x.potentials for x in flat]
        limits = [x.constraints for x in flat]
        best = [path for path, _ in viterbi_many(automaton, potentials, limits)]
        threshold, scale = self._settings.threshold, 1.0 / self.options.temperature
        candidates = top_candidates(automaton, potentials, limits, best, threshold)
        tokens = [x.instance.tokens for x in flat]
        readings = Readings([read_docs(weights, tokens)] if tokens else [])
        spans = self._required(entities, corrected, best)
        wrong = [self._projection.excluded(x.excluded) for x in corrected]
        solved = descend(
            self.state.levels,
            candidates,
            weights.pattern * scale,
            readings,
            PartialNodes(spans, None, wrong),
            threshold,
            scale,
        )
        if self.state.schema.outside == "none" or not tokens:
            return solved, corrected
        is_open = [np.ones(len(doc), bool) for doc in tokens]
        for of_instance, some in zip(is_open, spans):
            for i, j, _ in some:
                of_instance[i:j] = False
        return replace(solved, is_open=np.concatenate(is_open)), corrected

    def _required(
        self,
        entities: Sequence[PartialLabels | None],
        corrected: Sequence[PartialLabels],
        best: Sequence[Sequence[Segment]],
    ) -> list[list[Place]]:
        """Existing and kept spans that the best segmentation at the top has."""
        index, node_of = self._top.inventory.index, self._tree.node_of
        found = []
        for existing, known, segments in zip(entities, corrected, best):
            spans = [*(existing.required if existing else ()), *known.required]
            nodes = [(i, j, y, node_of(y)) for i, j, y in spans]
            there = [(i, j, y, node) for i, j, y, node in nodes if node is not None]
            at_top = self._projection.spans_at_top((i, j, y) for i, j, y, _ in there)
            found.append(
                [
                    (i, j, node)
                    for (i, j, _, node), (*_, y) in zip(there, at_top)
                    if (i, j, index[y]) in segments
                ]
            )
        return found

    def _best(
        self, solved: ScoredLevel, corrected: Sequence[PartialLabels]
    ) -> list[list[SpanPath]]:
        """The best spans of each instance; names given by a user have probability 1."""
        is_mbr = self.options.decoding == "mbr"
        f1 = self.options.expected_f1
        spans = mbr_spans(solved, f1) if is_mbr else solved.best_spans
        found = paths(solved, spans, self._tree)
        for of_instance, known in zip(found, corrected):
            kept = {(i, j): name for i, j, name in known.required}
            for k, (span, path) in enumerate(of_instance):
                if n_sure := self._tree.n_sure(span[2], kept.get(span[:2])):
                    sure = [(name, 1.0) for name, _ in path[:n_sure]]
                    of_instance[k] = span, sure + path[n_sure:]
        return found

    def _posteriors(
        self, problems: Problems, solved: ScoredLevel
    ) -> list[LeafPosterior]:
        """The posterior of each instance."""
        return [
            LeafPosterior(problem.instance, solved, d, self._tree, problem.existing)
            for d, problem in enumerate(problems.flat)
        ]


def _confident(
    pairs: Iterable[tuple[Span, Path]],
    least: Thresholds,
    corrections: PartialLabels | None,
    listed: list[tuple[Span, float]] | None,
) -> Prediction:
    """Spans, each with the deepest name of its path that is probable enough."""
    spans: list[Span] = []
    scores: list[float] = []
    ways: list[Path] = []
    for (start, end, _), path in pairs:
        if name := surest((start, end), path, least, corrections or NOTHING):
            spans.append((start, end, name[0]))
            scores.append(name[1])
            ways.append(path)
    return Prediction(spans, scores, listed, ways)


def surest(
    place: tuple[int, int],
    path: Path,
    least: Thresholds,
    corrections: PartialLabels = NOTHING,
) -> tuple[str, float] | None:
    """The deepest name of a span that is probable enough.

    place (Tuple[int, int]): Start and end of the span, in tokens of the document.
    path (Path): Names from the top, with probabilities.
    least (Union[float, Dict[str, float]]): See `min_confidence`.
    corrections (PartialLabels): Names that it excludes at these tokens are skipped.
    RETURNS (Optional[Tuple[str, float]]): The name and its probability; None if no name
        is probable enough.
    """
    for name, probability in reversed(path):
        assert probability is not None
        is_sure = probability >= least_of(least, name)
        if is_sure and not corrections.excludes((*place, name)):
            return name, probability
    return None
