"""Trains the labels and weights of a component, in batch or online."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from spacy.tokens import Doc
from thinc.api import Model, set_dropout_rate

from ..core import Potentials
from ..features.instances import instances
from ..labels.gold import Gold, label_sequences
from ..labels.label_schema import LabelSchema
from ..labels.patterns import learn_patterns
from ..model.span_scorer import weights_of
from ..model.state import ModelState
from ..model.tok2vec import kept_output, set_output
from ..model.weights.penalty_groups import PENALTY_GROUPS
from ..model.weights.weights import Weights
from . import edits
from .batch import Batch, Levels
from .corpus import Corpus
from .data_checks import warn_rules
from .growth import SeenDocs, grow
from .objectives import Objective, divergence

Scorer = Model[list[Doc], list[Potentials]]

# A tok2vec infers the shapes of its layers from this many documents.
N_SAMPLES = 10


class Trainer:
    """The labels and weights of one component, as training changes them.

    Each method leaves labels and weights that fit each other. Predictions read what
    `publish` gave.

    model (Model): The span scorer.
    schema (LabelSchema): Labels and label patterns.

    weights (Weights): Those of the labels that segments have.
    seen (SeenDocs): Documents since `initialize`.
    """

    def __init__(self, model: Scorer, schema: LabelSchema) -> None:
        self.model = model
        self.schema = schema
        self.weights: Weights = weights_of(model)
        self.seen = SeenDocs()

    @property
    def is_initialized(self) -> bool:
        """Whether there are weights for labels."""
        return bool(len(self.weights.state.tail))

    # states for predictions

    def is_current(self, state: ModelState) -> bool:
        """Whether a state has the present labels and weights."""
        return state.weights is self.weights.state and state.schema is self.schema

    def publish(self) -> ModelState:
        """RETURNS (ModelState): The present labels and weights, whose arrays are
        read-only from now on."""
        return ModelState(self.schema, self.weights.publish())

    def kept(self) -> Callable[[], None]:
        """RETURNS (Callable): Gives back the present labels and weights, and the
        documents that they know. Not the parameters of a tok2vec, which would have to
        be copied, but the layer behind it."""
        state, seen, output = self.publish(), self.seen, kept_output(self.model)

        def give_back() -> None:
            output()
            self.schema, self.seen = state.schema, seen
            if self.weights.state is not state.weights:
                self.weights.replace(state.weights)

        return give_back

    # initialization

    def initialize(
        self,
        corpus: Corpus,
        docs: Sequence[Doc],
        cfg: Mapping[str, Any],
        objective: Objective,
        fit: Callable[[Any], None] | None,
    ) -> None:
        """Label patterns and weights of a training corpus.

        corpus (Corpus): Instances.
        docs (Sequence[Doc]): The whole documents.
        cfg (Mapping[str, Any]), objective (Objective): Of the component.
        fit (Optional[Callable]): Batch training, such as spacy_hosemi.lbfgs.v1. None:
            all weights are 0.
        RAISES (ValueError): HS112 observed_patterns.
        """
        self.seen = SeenDocs(docs)
        golds = corpus.golds
        schema, n_forbidden = learn_patterns(self.schema, label_sequences(golds), cfg)
        self.schema = schema
        warn_rules(schema.automaton, golds)
        edits.allocate(self.weights, schema, cfg, corpus.docs, golds, n_forbidden)
        set_output(self.model, len(schema.inventory.names))
        self.model.initialize(X=list(docs[:N_SAMPLES]))
        if fit is not None:
            fit(self.batch(corpus, objective))
            self.prune(dict.fromkeys(PENALTY_GROUPS, 0.0), cfg)

    def batch(self, corpus: Corpus, objective: Objective) -> Batch:
        """RETURNS (Batch): A corpus with its features read."""
        args = self.schema.automaton, objective, corpus.docs, corpus.golds
        return Batch(self.weights, *args, self._levels_of(corpus))

    def _levels_of(self, corpus: Corpus) -> Levels | None:
        """What fits the levels of a tree below: there are none."""
        return None

    # online training

    def update(
        self,
        corpus: Corpus,
        docs: Iterable[Doc],
        objective: Objective,
        scope: str,
        drop: float,
    ) -> float:
        """Add features of new documents, and the gradient for the next step.

        corpus (Corpus), docs (Iterable[Doc]): See `initialize`.
        scope (str): Of the component.
        drop (float): Dropout in the tok2vec.
        RETURNS (float): The summed loss, in nats.
        """
        loss, _ = self.accumulate(corpus, docs, objective, scope, drop)
        return loss

    def accumulate(
        self,
        corpus: Corpus,
        docs: Iterable[Doc],
        objective: Objective,
        scope: str,
        drop: float,
    ) -> tuple[float, list[Potentials]]:
        """As `update`. RETURNS: And the potentials of each instance."""
        new = self.seen.new(docs) if self.weights.state.grows else []
        if new:
            parts = [x.tokens for doc in new for x in instances(doc, scope)]
            grow(self.weights, self.seen, parts)
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(corpus.docs)
        loss, gradients = self.losses(corpus.golds, scores, objective)
        backprop(gradients)
        return loss, scores

    def losses(
        self,
        golds: Sequence[Gold],
        scores: Sequence[Potentials],
        objective: Objective,
    ) -> tuple[float, list[Potentials]]:
        """RETURNS (Tuple[float, List[Potentials]]): The summed loss of instances and
        its derivatives by the potentials of each."""
        automaton, total, gradients = self.schema.automaton, 0.0, []
        for pair in zip(scores, golds):
            loss, gradient = objective(automaton, *pair)
            total += loss
            gradients.append(gradient)
        return total, gradients

    def rehearse(self, docs: Sequence[Doc], before: Scorer) -> float:
        """Add the gradient of a step back to what a model predicted before, see
        `divergence`.

        docs (Sequence[Doc]): Instances.
        before (Model): A copy of the span scorer.
        RETURNS (float): The summed divergence, in nats.
        """
        scores, backprop = self.model.begin_update(list(docs))
        pairs = zip(scores, before.predict(list(docs)))
        found = [divergence(self.schema.automaton, *pair) for pair in pairs]
        backprop([gradient for _, gradient in found])
        return float(sum(loss for loss, _ in found))

    # other labels and features

    def add_label(
        self, label: str, cfg: Mapping[str, Any], rehearsed: Scorer | None
    ) -> None:
        """Add a label to trained weights, as unlikely as the least likely one.

        label (str): Its name.
        cfg (Mapping[str, Any]): Settings of the component.
        rehearsed (Optional[Model]): A copy of the span scorer that gets it, too.
        RAISES (ValueError): HS040 reserved name; HS118 labels in a tree.
        """
        models = [model for model in (self.model, rehearsed) if model is not None]
        self.schema = edits.add_label(label, self.schema, cfg, models)

    def prune(self, below: Mapping[str, float], cfg: Mapping[str, Any]) -> None:
        """Remove weights near 0, and features and label patterns that have none left.

        below (Dict[str, float]): By group, the largest absolute value that goes.
        cfg (Mapping[str, Any]): Settings of the component.
        RAISES (ValueError): HS118 labels in a tree.
        """
        self.schema = edits.prune(self.weights, self.schema, cfg, below)

    def connect(self) -> None:
        """Take what follows from labels and weights that were loaded."""
        self.seen = SeenDocs(knows_all=False)
