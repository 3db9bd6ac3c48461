"""Scorers: from instances to potentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spacy.tokens import Doc

from ..core import Potentials
from ..core.parallel.coroutines import Steps


class Scorer(Protocol):
    """From instances to potentials.

    has_encoder (bool): Whether a tok2vec reads the documents, too.
    """

    has_encoder: bool = False

    def steps(self, docs: Sequence[Doc]) -> Steps[Sequence[Potentials]]:
        """RETURNS (Sequence[Potentials]): Of instances of the same vocabulary."""
        ...
