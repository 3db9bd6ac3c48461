"""Decoders for labels in a tree, and the choice of the decoder for a model state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
from spacy.tokens import Doc

from ..core import viterbi_many
from ..core.parallel.coroutines import Steps, finish
from ..errors import Errors
from ..labels.inventory import Segment
from ..labels.partial import PartialLabels
from ..model.active_features import read_docs
from ..model.state import ModelState
from ..model.weights.doc_scorer import DocScorer
from ..prediction.answers import spans_above
from ..prediction.batch import Batch
from ..prediction.decoder import Decoder, DecodingOptions, confident, untrained
from ..prediction.existing_entities import read_existing
from ..prediction.flat_decoder import FlatDecoder
from ..prediction.posterior import Posterior
from ..prediction.predictions import Predictions
from ..training.rows import join_rows
from .candidates import PartialNodes, Place, top_candidates
from .coarse_to_fine import ScoredLevel, SpanPath, descend, paths
from .flatten import FlatTree, flatten
from .hierarchy import Hierarchy
from .level_decodings import LEVEL_DECODINGS
from .posterior import LevelPosterior, whole_probabilities
from .projection import TreeProjection


def make_decoder(
    state: ModelState, options: DecodingOptions, before: Decoder | None = None
) -> Decoder:
    """Returns the decoder for the labels of a state; parts of the decoder of the
    previous state (before) that do not depend on weights are used again."""
    scorer = DocScorer(state.weights, whole=state)
    if state.levels is None:
        return FlatDecoder(state, options, scorer)
    settings: Hierarchy = options.hierarchy
    if state.encoder is None and len(state.schema.labels) <= settings.exact_up_to:
        tree = cast(FlatTree | None, getattr(before, "tree", None))
        if before is None or before.state is not state or tree is None:
            tree = flatten(state, tree)
        if tree is not None:
            return _leaf_decoder(state, options, tree)
    return LevelDecoder(state, options, scorer)


def segment_decoder(decoder: Decoder, name: str) -> FlatDecoder:
    """Returns what decodes all labels at once, and prunes none. Raises ValueError
    HS317, with the component's name, if a tree has a tok2vec or too many weights."""
    flat = decoder.of_leaves if isinstance(decoder, LevelDecoder) else decoder
    if not isinstance(flat, FlatDecoder):
        raise ValueError(Errors.HS317.format(name=name))
    return flat


def _leaf_decoder(
    state: ModelState, options: DecodingOptions, tree: FlatTree
) -> FlatDecoder:
    """Returns a decoder of the leaves of a tree as labels without one."""
    scorer = DocScorer(tree.weights, is_single=False)
    return FlatDecoder(state, options, scorer, tree)


class LevelDecoder(Decoder):
    """Decodes trees of any size level by level, see `descend`."""

    def __init__(
        self, state: ModelState, options: DecodingOptions, scorer: DocScorer
    ) -> None:
        self.state, self.options = state, options
        self._settings: Hierarchy = options.hierarchy
        self._projection = cast(TreeProjection, state.schema.projection)
        self._tree = self._projection.tree
        self._top = FlatDecoder(state, options, scorer)

    @cached_property
    def of_leaves(self) -> FlatDecoder | None:
        """Returns what decodes all leaves at once; None with a tok2vec, or if their
        weights would be too many."""
        if self._top.scorer.has_encoder:
            return None
        tree = flatten(self.state)
        return None if tree is None else _leaf_decoder(self.state, self.options, tree)

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[Predictions]:
        if not self.state.weights.is_trained:
            return untrained(docs, corrections)
        batch = yield from self._top.batch_steps(docs, corrections)
        solved, corrections_of = self._solve(batch)
        best = self._best(solved, corrections_of)
        options, predictions, posteriors = self.options, [], []
        for d in range(len(docs)):
            of_instances = []
            for k in batch.rows(d):
                existing = batch.existing[k]
                free = [x for x in best[k] if not existing or existing.is_free(x[0])]
                spans, of_spans = [span for span, _ in free], [path for _, path in free]
                of_instances.append((batch.instance(k), spans, of_spans))
            prediction = confident(of_instances, options, batch.user_corrections)
            posteriors.append(LevelPosterior(batch, d, solved))
            if (p := options.spans_threshold) is not None:
                prediction.listed = spans_above(posteriors[d], p, batch.docs[d])
            predictions.append(prediction)
        if options.has_whole or batch.user_corrections:
            wholes = whole_probabilities(posteriors, [x.spans for x in predictions])
            for prediction, whole in zip(predictions, wholes):
                prediction.whole = whole
        return Predictions.of(predictions)

    def posterior(self, doc: Doc) -> LevelPosterior:
        batch = finish(self._top.batch_steps([doc]))
        Posterior(batch, 0).check()
        solved, _ = self._solve(batch)
        return LevelPosterior(batch, 0, solved)

    def _solve(self, batch: Batch) -> tuple[ScoredLevel, list[PartialLabels]]:
        """Returns the last level, and corrections by instance, with document labels."""
        entities, corrections = [], []
        for d, doc in enumerate(batch.docs):
            existing = read_existing(doc, self.options.name)
            for k in batch.rows(d):
                instance = batch.instance(k)
                here = instance.start, instance.end
                corrections.append(batch.user_corrections.part(*here))
                part = existing and existing.part(*here)
                entities.append(part and part.beside(corrections[-1]))
        weights, automaton = self.state.weights, self.state.schema.automaton
        scored = automaton, [*batch.potentials], batch.constraints
        best = [path for path, _ in viterbi_many(*scored)]
        threshold, scale = self._settings.threshold, 1.0 / self.options.temperature
        candidates = top_candidates(*scored, best, threshold)
        tokens = [*batch.tokens]
        rows = read_docs(weights, tokens) if tokens else join_rows([])
        spans = self._required(entities, corrections, best)
        wrong = [self._projection.excluded(x.excluded) for x in corrections]
        solved = descend(
            self.state.levels,
            candidates,
            weights.pattern * scale,
            rows,
            PartialNodes(spans, None, wrong),
            threshold,
            scale,
        )
        if self.state.schema.outside == "none" or not tokens:
            return solved, corrections
        is_open = [np.ones(len(doc), bool) for doc in tokens]
        for of_instance, places in zip(is_open, spans):
            for i, j, _ in places:
                of_instance[i:j] = False
        return replace(solved, is_open=np.concatenate(is_open)), corrections

    def _required(
        self,
        entities: Sequence[PartialLabels | None],
        corrections: Sequence[PartialLabels],
        best: Sequence[Sequence[Segment]],
    ) -> list[list[Place]]:
        """Returns existing and kept spans that the best segmentation at the top has."""
        index, node_of = self._top.inventory.index, self._tree.node_of
        required = []
        for existing, corrected, segments in zip(entities, corrections, best):
            spans = [*(existing.required if existing else ()), *corrected.required]
            places: list[Place] = []
            for start, end, label in spans:
                if (node := node_of(label)) is not None:
                    ((*_, top),) = self._projection.spans_at_top([(start, end, label)])
                    if (start, end, index[top]) in segments:
                        places.append((start, end, node))
            required.append(places)
        return required

    def _best(
        self, solved: ScoredLevel, corrections: Sequence[PartialLabels]
    ) -> list[list[SpanPath]]:
        """Returns the best spans by instance; names of a user have probability 1."""
        decode = LEVEL_DECODINGS[self.options.decoding]
        best = paths(solved, decode(solved, self.options.expected_f1), self._tree)
        for of_instance, corrected in zip(best, corrections):
            required = {(i, j): name for i, j, name in corrected.required}
            for k, (span, path) in enumerate(of_instance):
                if n_sure := self._tree.n_sure(span[2], required.get(span[:2])):
                    sure = [(name, 1.0) for name, _ in path[:n_sure]]
                    of_instance[k] = span, sure + path[n_sure:]
        return best
