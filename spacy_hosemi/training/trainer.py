"""Trains the labels and weights of a component, in batch or online."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model, set_dropout_rate

from ..core import Potentials
from ..errors import Errors
from ..features.instances import divide
from ..labels.gold import Gold, label_sequences
from ..labels.inventory import possible_lengths
from ..labels.label_schema import LabelSchema
from ..labels.patterns import learn_patterns, with_label
from ..model import tok2vec
from ..model.active_features import Rows
from ..model.span_scorer import weights_of
from ..model.state import ModelState
from ..model.tok2vec import Vectors
from ..model.weights import edits
from ..model.weights.penalty_groups import PENALTY_GROUPS
from ..model.weights.vector import by_weight, row_values, without_least
from ..model.weights.weights import Weights
from .corpus import Corpus
from .data_checks import warn_functions, warn_rules
from .feature_selection import select_features
from .growth import SeenDocs, grow
from .objectives import Objective, divergence
from .progress import watched
from .rows import read_rows
from .training_set import Levels, TrainingSet

Scorer = Model[list[Doc], list[Potentials]]

# A tok2vec infers the shapes of its layers from this many documents.
N_SAMPLES = 10


class Trainer:
    """The labels and weights of one component, as training changes them.

    Each method leaves labels and weights that fit each other. Predictions read what
    `publish` returned. In all methods `cfg` are the settings of the component.
    """

    def __init__(self, model: Scorer, schema: LabelSchema) -> None:
        self.model, self.schema = model, schema
        self.weights: Weights = weights_of(model)  # of the labels that segments have
        self.seen = SeenDocs()  # since `initialize`

    @property
    def is_initialized(self) -> bool:
        """Whether there are weights for labels."""
        return bool(len(self.weights.state.tail))

    def is_current(self, state: ModelState) -> bool:
        """Whether a state has the present labels and weights."""
        is_same = state.weights is self.weights.state and state.schema is self.schema
        encoder = state.encoder  # `nlp.replace_listeners` puts another one there
        is_there = encoder is None or encoder == tok2vec.encoder_of(self.model)
        return is_same and is_there

    def publish(self) -> ModelState:
        """Returns the present labels and weights, whose arrays are read-only then."""
        encoder = tok2vec.encoder_of(self.model) if self.model.layers else None
        return ModelState(self.schema, self.weights.publish(), encoder)

    def kept(self) -> Callable[[], None]:
        """Returns what restores the present labels and weights, and the documents that
        they know. Not the parameters of a tok2vec, which would have to be copied."""
        state, seen = self.publish(), self.seen

        def restore() -> None:
            if state.encoder is not None:
                tok2vec.use_encoder(self.model, state.encoder)
            self.schema, self.seen = state.schema, seen
            if self.weights.state is not state.weights:
                self.weights.replace(state.weights)

        return restore

    def initialize(
        self,
        corpus: Corpus,
        docs: Sequence[Doc],
        cfg: Mapping[str, Any],
        objective: Objective,
        fit: Callable[[Any], None] | None,
    ) -> None:
        """Finds label patterns and weights. `docs` are the whole documents; without a
        `fit` all weights are 0. Raises ValueError HS112: observed_patterns."""
        self.seen = SeenDocs(docs)
        sequences = label_sequences(corpus.golds)
        self.schema, n_forbidden = learn_patterns(self.schema, sequences, cfg)
        warn_rules(self.schema.automaton, corpus.golds)
        self._make_weights(cfg, corpus, n_forbidden)
        tok2vec.set_output(self.model, len(self.schema.inventory.names))
        self.model.initialize(X=list(docs[:N_SAMPLES]))
        if fit is not None:
            warn_functions(self.weights.state, corpus.docs)
            fit(batch := self.batch(corpus, objective))
            self.prune(dict.fromkeys(PENALTY_GROUPS, 0.0), cfg)
            # Features without weights stay: they are known, so `adapt` holds them.
            self.weights.replace(without_least(self.weights.state, batch.share))

    def _make_weights(
        self, cfg: Mapping[str, Any], corpus: Corpus, n_forbidden: int
    ) -> None:
        """Makes zero weights for the features of a corpus, and for all patterns, of
        which the first `n_forbidden` are forbidden."""
        schema, extractor = self.schema, self.weights.state.extractor
        on_tokens = schema.inventory.on_tokens
        if on_tokens:
            extractor = extractor.reading(extractor.features.on_tokens())
        pattern = np.zeros(len(schema.patterns))
        pattern[:n_forbidden] = -np.inf
        limits = cfg["observed_min_count"], cfg.get("observed_max")
        with extractor.features.functions.once():
            selection = select_features(
                extractor, corpus.docs, corpus.golds, schema.automaton, *limits
            )
        state = edits.allocate(
            extractor,
            selection,
            pattern,
            *_lengths(schema, cfg),
            learn_length=cfg["explicit_length"] > 1 and not on_tokens,
            n_observed=len(schema.observed),
        )
        self.weights.replace(state)

    def batch(self, corpus: Corpus, objective: Objective) -> TrainingSet:
        """Returns a corpus with its features read, and its vectors, if a tok2vec makes
        some: they have weights from then on, see `finish_vectors`."""
        if self.model.layers:
            n_labels = len(self.weights.state.tail)
            of_vectors = tok2vec.no_weights(self._vectors_of(corpus.docs), n_labels)
            self.weights.replace(replace(self.weights.state, of_vectors=of_vectors))
        rows = self.read(corpus.docs, is_train=True)
        args = self.schema.automaton, objective, rows, corpus.golds
        return TrainingSet(self.weights, *args, self._levels_of(corpus, rows))

    def read(self, docs: Sequence[Doc], is_train: bool = False) -> Rows:
        """Returns the known features of instances, and in a fit their vectors."""
        state = self.weights.state
        has_vectors = state.of_vectors is not None
        vectors = self._vectors_of(docs) if has_vectors else None
        return replace(read_rows(state, docs, is_train), vectors=vectors)

    def _vectors_of(self, docs: Sequence[Doc]) -> Vectors:
        """Returns the vectors of all tokens of instances."""
        bar = partial(watched, what="Encoding", unit=" batches")
        return tok2vec.vectors_of(tok2vec.encoder_of(self.model), docs, bar)

    def finish_vectors(self) -> None:
        """Makes the weights of vectors that a fit has found the output layer's."""
        if (of_vectors := self.weights.state.of_vectors) is not None:
            tok2vec.write_output(self.model, of_vectors)
            self.weights.replace(replace(self.weights.state, of_vectors=None))

    def _levels_of(self, corpus: Corpus, rows: Rows) -> Levels | None:
        """Returns what fits the levels of a tree below to a corpus: there are none."""
        return None

    def update(
        self,
        corpus: Corpus,
        docs: Iterable[Doc],
        objective: Objective,
        scope: str,
        drop: float,
    ) -> tuple[float, list[Potentials]]:
        """Adds features of new documents, and the gradient for the next step. Returns
        the summed loss in nats, and the potentials of each instance."""
        new = self.seen.new(docs) if self.weights.state.grows else []
        if new:
            parts = [x.tokens for doc in new for x in divide(doc, scope)]
            grow(self.weights, self.seen, parts)
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update(corpus.docs)
        loss, gradients = self.losses(corpus.golds, potentials, objective)
        backprop(gradients)
        return loss, potentials

    def losses(
        self,
        golds: Sequence[Gold],
        potentials: Sequence[Potentials],
        objective: Objective,
    ) -> tuple[float, list[Potentials]]:
        """Returns the summed loss of instances, and derivatives by potentials."""
        automaton, total, gradients = self.schema.automaton, 0.0, []
        for pair in zip(potentials, golds):
            loss, gradient = objective(automaton, *pair)
            total += loss
            gradients.append(gradient)
        return total, gradients

    def rehearse(self, docs: Sequence[Doc], before: Scorer) -> float:
        """Adds the gradient of a step back to what a copy of the model, `before`,
        predicts for instances, see `divergence`; returns the sum of that in nats."""
        potentials, backprop = self.model.begin_update(list(docs))
        pairs = zip(potentials, before.predict(list(docs)))
        results = [divergence(self.schema.automaton, *pair) for pair in pairs]
        backprop([gradient for _, gradient in results])
        return float(sum(loss for loss, _ in results))

    def add_label(
        self, label: str, cfg: Mapping[str, Any], rehearsed: Scorer | None
    ) -> None:
        """Adds a label to trained weights, as unlikely as the least likely one; also to
        a copy of the model, if there is one. Raises ValueError HS040 if the name is
        reserved, HS118 if the labels are in a tree."""
        if not self.schema.projection.takes_labels:
            expected = "all labels when it is initialized, where they may be listed"
            found = f"{label!r} is a new one"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        schema, is_forbidden = with_label(self.schema, label, cfg)
        for model in (self.model, rehearsed):
            if model is not None:
                weights, lengths = weights_of(model), _lengths(schema, cfg)
                weights.replace(edits.add_labels(weights.state, is_forbidden, *lengths))
                tok2vec.add_labels(model, len(schema.inventory.names))
        self.schema = schema

    def prune(self, below: Mapping[str, float], cfg: Mapping[str, Any]) -> None:
        """Removes weights that are at most `below` of their penalty group, and features
        and label patterns without any. Raises ValueError HS118 for labels in a tree."""
        state = self.weights.state
        matrix, pattern = state.matrix, state.pattern
        limit = by_weight(state, row_values(state, below)).reshape(matrix.shape)
        state = edits.keep(state, np.abs(matrix) > limit)
        stays = (np.abs(pattern) > below["pattern"]) | np.isneginf(pattern)
        patterns = [p for p, is_kept in zip(self.schema.patterns, stays) if is_kept]
        state, columns = edits.keep_observed(replace(state, pattern=pattern[stays]))
        observed = [self.schema.observed[c] for c in columns]
        self.weights.replace(state)
        rules = cfg.get("label_rules", [])
        self.schema = self.schema.with_patterns(patterns, observed, rules)

    def connect(self) -> None:
        """Takes what follows from labels and weights that were loaded."""
        self.seen = SeenDocs(knows_all=False)


def _lengths(schema: LabelSchema, cfg: Mapping[str, Any]) -> tuple[Any, Any]:
    limits = cfg["explicit_length"], cfg["max_length"]
    return possible_lengths(schema.inventory, *limits)
