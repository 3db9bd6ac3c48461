"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

from .component.pipe import HighOrderSemiCRF
from .features import from_word2features

__all__ = ["HighOrderSemiCRF", "from_word2features"]
__version__ = "0.1.0"
