"""Scorers: from instances to potentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spacy.tokens import Doc

from ..core import Potentials
from ..core.parallel.coroutines import Steps
from ..model.weights.state import WeightState


class Scorer(Protocol):
    """From instances to potentials.

    has_encoder (bool): Whether a tok2vec reads the documents, too.
    """

    has_encoder: bool

    def steps(self, docs: Sequence[Doc]) -> Steps[Sequence[Potentials]]:
        """RETURNS (Sequence[Potentials]): Of instances of the same vocabulary."""
        ...


class WeightScorer(Scorer, Protocol):
    """From instances to potentials, by weights of features."""

    @property
    def state(self) -> WeightState:
        """The weights of features, lengths and label patterns."""
        ...

    def using(self, state: WeightState) -> WeightScorer:
        """RETURNS (WeightScorer): The same with other weights, or other lists."""
        ...

    def of_encoder(self, docs: Sequence[Doc]) -> Sequence[Potentials] | None:
        """RETURNS (Optional[Sequence[Potentials]]): What a tok2vec adds to the scores
        of all instances of documents; None: there is no tok2vec."""
        ...
