"""The trainer of a component whose labels may be in a tree.

The component's own weights are those of the names at the top; the levels below are
trained one after the other (after Deschacht and Moens 2006): see `level_batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import repeat
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc

from ..core import Potentials, viterbi
from ..errors import Errors
from ..labels.label_schema import LabelSchema
from ..labels.partial import PartialLabels
from ..model.active_features import Rows
from ..model.state import ModelState
from ..model.weights.pairs import WeightPairs
from ..model.weights.potentials import score_rows
from ..training.corpus import Corpus
from ..training.objectives import Objective
from ..training.rows import choose_rows
from ..training.trainer import Scorer, Trainer
from ..training.training_set import Levels
from .candidates import PartialNodes, Place, top_candidates
from .hierarchy import Hierarchy
from .level_batch import LevelBatch, train_levels
from .level_state import LevelState, empty_levels
from .level_weights import LevelWeights, level_weights_of
from .mining import mine_levels, mine_nodes
from .projection import TreeProjection, has_levels


class TreeTrainer(Trainer):
    """Trains the top of a tree as a `Trainer` does, and then the levels below it."""

    def __init__(self, model: Scorer, schema: LabelSchema, settings: Hierarchy) -> None:
        super().__init__(model, schema)
        self._settings = settings
        # The model must have this shim before it is loaded.
        self._levels: LevelWeights = level_weights_of(model)
        self._cfg: Mapping[str, Any] = {}

    @property
    def _projection(self) -> TreeProjection:
        return cast(TreeProjection, self.schema.projection)

    @property
    def has_levels(self) -> bool:
        """Says whether there is a level below the top."""
        return has_levels(self.schema.projection)

    def is_current(self, state: ModelState) -> bool:
        levels = self._levels.state if self.has_levels else None
        return super().is_current(state) and state.levels is levels

    def publish(self) -> ModelState:
        levels = self._levels.publish() if self.has_levels else None
        return replace(super().publish(), levels=levels)

    def kept(self) -> Callable[[], None]:
        give_top_back, cfg = super().kept(), self._cfg
        levels, mined = self._levels.publish(), self._levels.mined

        def give_back() -> None:
            give_top_back()
            self._cfg = cfg
            if self._levels.state is not levels:
                self._levels.replace(levels)
                self._levels.mined = mined

        return give_back

    def initialize(
        self,
        corpus: Corpus,
        docs: Sequence[Doc],
        cfg: Mapping[str, Any],
        objective: Objective,
        fit: Callable[[Any], None] | None,
    ) -> None:
        """Does what `Trainer` does, then trains the levels below the top."""
        self._levels.replace(empty_levels([], []))
        self._cfg = cfg
        super().initialize(corpus, docs, cfg, objective, fit)
        if not self.has_levels:
            return
        rows = self.read(corpus.docs, is_train=True)
        self._levels.replace(self._mined(corpus, rows))
        self._connect()
        self._levels.mined.update(self._keys(corpus))
        if fit is not None:
            self._fit_levels(fit, corpus, rows, _informative(corpus))

    def _mined(self, corpus: Corpus, rows: Rows) -> LevelState:
        """Returns the weights of the levels below the top, which are 0."""
        cfg = self._cfg
        patterns = mine_levels(
            self._projection.tree,
            [
                (len(doc), self._projection.places(annotation.required))
                for doc, annotation, gold in zip(*corpus)
                if gold.segments is not None
            ],
            cfg["outside"],
            max_order=cfg["max_order"],
            min_count=cfg["pattern_min_count"],
            max_patterns=cfg["pattern_max"],
        )
        return empty_levels(self._pairs(corpus, rows), patterns)

    def _levels_of(self, corpus: Corpus, rows: Rows) -> Levels | None:
        """Returns what fits the levels to parts of a corpus with these features."""
        if not self.has_levels:
            return None
        mined = cache(lambda: self._mined(corpus, rows))
        informative = {*_informative(corpus)}

        @contextmanager
        def fitted(fit: Callable[[Any], Any], chosen: Sequence[int]) -> Iterator[None]:
            self._levels.replace(mined())
            self._connect()
            try:
                indices = [k for k in chosen if k in informative]
                self._fit_levels(fit, corpus, rows, indices)
                yield
            finally:
                self._levels.replace(empty_levels([], []))

        return fitted

    def update(
        self,
        corpus: Corpus,
        docs: Iterable[Doc],
        objective: Objective,
        scope: str,
        drop: float,
    ) -> tuple[float, list[Potentials]]:
        """Does what `Trainer` does; the loss is summed over all levels."""
        loss, potentials = super().update(corpus, docs, objective, scope, drop)
        if not self.has_levels:
            return loss, potentials
        self._grow(corpus)
        chosen = _informative(corpus)
        part = _part(corpus, chosen)
        rows = self.read(part.docs, is_train=True)
        touched = np.unique(np.concatenate(rows.active))

        losses: list[float] = []

        def visit(batch: LevelBatch) -> None:
            losses.append(batch.accumulate(touched, len(chosen)))

        self._train_levels(visit, part, rows, lambda k: potentials[chosen[k]])
        return loss + sum(losses), potentials

    def prune(self, below: Mapping[str, float], cfg: Mapping[str, Any]) -> None:
        """Does what `Trainer` does. Raises ValueError HS118 if the levels below the top
        have weights for the features of the top."""
        if self.has_levels and self._levels.state.pairs:
            expected, found = "all features of the top", "this is prune"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        super().prune(below, cfg)

    def connect(self) -> None:
        """Raises ValueError HS064 if what was loaded is of another tree."""
        super().connect()
        if self.has_levels and self.is_initialized:
            self._check_levels()
        self._connect()

    def _check_levels(self) -> None:
        tree, pairs = self._projection.tree, self._levels.state.pairs
        n_rows, n_nodes = len(self.weights.state.names), len(tree.names)
        try:
            for x in pairs:
                x.check(n_rows, n_nodes)
            levels = [np.unique(tree.level[x.columns]).tolist() for x in pairs]
            is_right = [x in ([], [k]) for k, x in enumerate(levels, start=2)]
            if len(pairs) != tree.n_levels - 1 or not all(is_right):
                raise ValueError(f"nodes of the levels {levels}")
        except ValueError as e:
            raise ValueError(Errors.HS064.format(found=f"label tree, {e}")) from None

    def _connect(self) -> None:
        if self.has_levels and self._levels.state.pairs:
            self._levels.connect(self._projection.tree, self.schema.automaton)

    def _grow(self, corpus: Corpus) -> None:
        """Gives each feature weights for the nodes of the tree that it occurs with in
        new documents; they are 0 at first. Nothing happens if features do not grow."""
        if not self.weights.state.grows:
            return
        mined, keys = self._levels.mined, self._keys(corpus)
        new = [k for k, key in enumerate(keys) if key not in mined]
        if new:
            part = _part(corpus, new)
            rows = self.read(part.docs, is_train=True)
            self._levels.add_pairs(self._pairs(part, rows))
        mined.update(keys)

    def _fit_levels(
        self,
        fit: Callable[[Any], Any],
        corpus: Corpus,
        rows: Rows,
        chosen: Sequence[int],
    ) -> None:
        """Fits the levels to some instances of a corpus with these features."""
        state, rows = self.weights.state, choose_rows(rows, chosen)
        args = fit, _part(corpus, chosen), rows
        self._train_levels(*args, lambda k: score_rows(state, rows[k : k + 1])[0])

    def _train_levels(
        self,
        visit: Callable[[Any], None],
        corpus: Corpus,
        rows: Rows,
        score: Callable[[int], Potentials],
    ) -> None:
        """Visits all levels below the top; score(k) are potentials of instance k."""
        automaton, annotations = self.schema.automaton, corpus.annotations
        threshold = self._settings.threshold
        # Never pruned: the gold, or the best segmentation that agrees with it.
        gold = [
            viterbi(automaton, score(k), gold.constraints)[0]
            if gold.segments is None
            else gold.segments
            for k, gold in enumerate(corpus.golds)
        ]
        wrong = [self._projection.excluded(x.excluded) for x in annotations]
        unknown = [x.unknown() for x in annotations]
        nodes = PartialNodes(self._places(annotations), unknown, wrong)
        potentials = map(score, range(len(rows)))
        top = top_candidates(automaton, potentials, repeat(None), gold, threshold)
        args = top, self.weights.state.pattern, rows, nodes, self._settings
        train_levels(visit, self._levels, self.weights, *args)

    def _pairs(self, corpus: Corpus, rows: Rows) -> list[WeightPairs]:
        """Returns by level the pairs of a feature and a node that occur in the gold."""
        n_weights = sum(len(x.columns) for x in self._levels.state.pairs)
        args = self._projection.tree, len(self.weights.state.table), n_weights
        return mine_nodes(rows, self._places(corpus.annotations), *args)

    def _places(self, annotations: Iterable[PartialLabels]) -> list[list[Place]]:
        return [self._projection.places(x.required) for x in annotations]

    def _keys(self, corpus: Corpus) -> list[int]:
        """Returns hashes of words, spans, and the number of features, by document."""
        n_rows = len(self.weights.state.table)
        return [
            hash((n_rows, doc.to_array("ORTH").tobytes(), *annotation.required))
            for doc, annotation in zip(corpus.docs, corpus.annotations)
        ]


def make_trainer(
    model: Scorer, schema: LabelSchema, settings: Hierarchy | None
) -> Trainer:
    """Returns a trainer for labels in a tree, or without one."""
    if settings is None:
        return Trainer(model, schema)
    return TreeTrainer(model, schema, settings)


def _informative(corpus: Corpus) -> list[int]:
    """Returns the instances that have tokens and annotation."""
    return [
        k
        for k, (doc, annotation, gold) in enumerate(zip(*corpus))
        if (gold.n_known or annotation.excluded) and len(doc)
    ]


def _part(corpus: Corpus, chosen: Sequence[int]) -> Corpus:
    return Corpus._make([column[k] for k in chosen] for column in corpus)
