"""Warnings at prediction: what a user would else learn from bad predictions only.

Each is said once for a training, and costs nothing from then on.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

from spacy.tokens import Doc

from ..errors import Warnings
from ..labels.label_schema import LabelSchema
from ..model.weights.state import WeightState
from ..prediction.existing_entities import preset_entities
from .facts import TrainingFacts

# Entities that other components have set are counted in this many documents.
LAST = 100

# Nothing is said before this many documents: a few may be exceptions.
FIRST = 10

# The share of tokens that is worth a warning, and how much larger than in the training
# documents it must be: a few entities from a list of the user's own are no surprise.
SHARE, TIMES = 0.1, 2.0


class Advice:
    """What has been said of one component, and what was counted for it."""

    def __init__(self) -> None:
        self._is_untrained_said = False
        self._n_docs = self._n_tokens = self._n_taken = 0
        self._labels: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        """Whether no more documents are counted."""
        return self._n_docs >= LAST

    def untrained(
        self, weights: WeightState, name: str, facts: TrainingFacts | None
    ) -> None:
        """Say that a component was never trained.

        weights (WeightState), name (str): Of the component.
        facts (Optional[TrainingFacts]): Of its initialization. Without annotated spans,
            as spaCy initializes for an optimizer, there was nothing to learn, and
            nothing is said.
        WARNS (UserWarning): HSW27.
        """
        if weights.is_trained or facts is None or not facts.n_spans:
            return
        if self._is_untrained_said:
            return
        self._is_untrained_said = True
        message = Warnings.HSW27.format(name=name, found=facts.n_documents)
        warnings.warn(message, stacklevel=4)

    def existing_entities(
        self,
        docs: Sequence[Doc],
        name: str,
        schema: LabelSchema,
        facts: TrainingFacts | None,
    ) -> None:
        """Count entities that a component would not change.

        docs (Sequence[Doc]): Before the component writes its own entities.
        name (str), schema (LabelSchema): Of the component.
        facts (Optional[TrainingFacts]): Of its training; None: nothing is said.
        WARNS (UserWarning): HSW28 they take many tokens, and did not in training.
        """
        if facts is None or self.is_over:
            return
        for doc in docs:
            ents = preset_entities(doc, name)
            self._n_docs += 1
            self._n_tokens += len(doc)
            self._n_taken += sum(map(len, ents))
            self._labels.update(ent.label_ for ent in ents)
        share = self._n_taken / max(1, self._n_tokens)
        if self._n_docs < FIRST or share < max(SHARE, TIMES * facts.preset_share):
            return
        found = ", ".join(label for label, _ in self._labels.most_common(5))
        known = schema.projection.names()
        unknown = [n for label, n in self._labels.items() if label not in known]
        message = Warnings.HSW28.format(
            name=name,
            n_ents=self._labels.total(),
            labels=found,
            n_unknown=sum(unknown),
            n_docs=self._n_docs,
            n_taken=self._n_taken,
            n_tokens=self._n_tokens,
            share=share,
            trained=facts.preset_share,
        )
        self._n_docs = LAST
        warnings.warn(message, stacklevel=4)
