"""The trainer of a component whose labels may be in a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spacy.tokens import Doc

from ..labels.label_schema import LabelSchema
from ..model.state import ModelState
from ..training.corpus import Corpus
from ..training.objectives import Objective
from ..training.trainer import Scorer, Trainer
from .hierarchy import Hierarchy
from .projection import has_levels
from .trainer import LevelTrainer
from .weights import LevelWeights, empty_levels, level_weights_of


class TreeTrainer(Trainer):
    """Trains the top of a tree as a `Trainer` does, and then the levels below it.

    model (Model), schema (LabelSchema): See `Trainer`.
    settings (Hierarchy): Of the component.
    """

    def __init__(self, model: Scorer, schema: LabelSchema, settings: Hierarchy) -> None:
        super().__init__(model, schema)
        self._settings = settings
        # before the model is loaded it must have this shim
        self._levels: LevelWeights = level_weights_of(model)

    @property
    def _below(self) -> LevelTrainer | None:
        """RETURNS (Optional[LevelTrainer]): None: the tree has one level."""
        projection = self.schema.projection
        if not has_levels(projection):
            return None
        return LevelTrainer(self._settings, projection, self._levels)

    @property
    def has_levels(self) -> bool:  # type: ignore[override]
        """Whether there is a level below the top."""
        return has_levels(self.schema.projection)

    def is_current(self, state: ModelState) -> bool:
        """See `Trainer`."""
        levels = self._levels.state if self.has_levels else None
        return super().is_current(state) and state.levels is levels

    def publish(self) -> ModelState:
        """See `Trainer`."""
        levels = self._levels.publish() if self.has_levels else None
        return ModelState(self.schema, self.weights.publish(), levels)

    def initialize(
        self,
        corpus: Corpus,
        docs: Sequence[Doc],
        cfg: Mapping[str, Any],
        objective: Objective,
        fit: Callable[[Any], None] | None,
    ) -> None:
        """See `Trainer`; the levels below the top are trained after it."""
        self._levels.replace(empty_levels([], []))
        super().initialize(corpus, docs, cfg, objective, fit)
        if below := self._below:
            below.allocate(
                self.weights,
                *corpus,
                cfg["outside"],
                max_order=cfg["max_order"],
                min_count=cfg["pattern_min_count"],
                max_patterns=cfg["pattern_max"],
            )
            self._connect()
            if fit is not None:
                below.fit(fit, self.weights, self.schema.automaton, *corpus)

    def update(
        self,
        corpus: Corpus,
        docs: Iterable[Doc],
        objective: Objective,
        scope: str,
        drop: float,
    ) -> float:
        """See `Trainer`."""
        loss, scores = self.accumulate(corpus, docs, objective, scope, drop)
        if below := self._below:
            below.grow(self.weights, corpus.docs, corpus.annotations)
            automaton = self.schema.automaton
            loss += below.accumulate(self.weights, automaton, *corpus, scores)
        return loss

    def prune(self, below: Mapping[str, float], cfg: Mapping[str, Any]) -> None:
        """See `Trainer`."""
        if levels := self._below:
            levels.check_prunable()
        super().prune(below, cfg)

    def connect(self) -> None:
        """See `Trainer`."""
        super().connect()
        self._connect()

    def _connect(self) -> None:
        projection = self.schema.projection
        if has_levels(projection) and self._levels.state.pairs:
            self._levels.connect(projection.tree, self.schema.automaton)


def make_trainer(
    model: Scorer, schema: LabelSchema, settings: Hierarchy | None
) -> Trainer:
    """RETURNS (Trainer): For labels in a tree, or without one."""
    if settings is None:
        return Trainer(model, schema)
    return TreeTrainer(model, schema, settings)
