"""Warnings at prediction: what a user would else learn from bad predictions only.

Each is given once for a training, and costs nothing from then on.
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
from .training_summary import TrainingSummary

# Entities that other components have set are counted in this many documents.
LAST = 100

# No warning before this many documents: a few may be exceptions.
FIRST = 10

# The share of tokens that is worth a warning, and how much larger than in the training
# documents it must be: a few entities from a list of the user's own are no surprise.
SHARE, TIMES = 0.1, 2.0


class PredictionWarnings:
    """Gives the warnings of a component. For them it counts the first LAST documents
    that are predicted, and the rest of their batch; their tokens, and how many of the
    tokens were in entities before."""

    def __init__(self) -> None:
        self._has_warned = False
        self.n_docs = self.n_tokens = self.n_taken = 0
        self._labels: Counter[str] = Counter()

    def untrained(
        self, weights: WeightState, name: str, summary: TrainingSummary | None
    ) -> None:
        """Warns (HSW27) that a component was never trained; not if its initialization
        had no annotated spans, as that which spaCy makes for an optimizer."""
        is_known = weights.is_trained or self._has_warned
        if is_known or summary is None or not summary.n_spans:
            return
        self._has_warned = True
        message = Warnings.HSW27.format(name=name, found=summary.n_documents)
        warnings.warn(message, stacklevel=4)

    def existing_entities(
        self,
        docs: Sequence[Doc],
        name: str,
        schema: LabelSchema,
        summary: TrainingSummary,
    ) -> None:
        """Counts entities that a component would not change, before it writes its own;
        warns (HSW28) if they take many tokens, and did not in training."""
        for doc in docs:
            ents = preset_entities(doc, name)
            self.n_taken += sum(map(len, ents))
            self._labels.update(ent.label_ for ent in ents)
        share = self.n_taken / max(1, self.n_tokens)
        if self.n_docs < FIRST or share < max(SHARE, TIMES * summary.preset_share):
            return
        names = schema.projection.names()
        message = Warnings.HSW28.format(
            name=name,
            n_ents=self._labels.total(),
            labels=", ".join(label for label, _ in self._labels.most_common(5)),
            n_unknown=sum(n for y, n in self._labels.items() if y not in names),
            n_docs=self.n_docs,
            n_taken=self.n_taken,
            n_tokens=self.n_tokens,
            share=share,
            trained=summary.preset_share,
        )
        self.n_docs = LAST
        warnings.warn(message, stacklevel=3)
