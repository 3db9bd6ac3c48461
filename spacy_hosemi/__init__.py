"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

from .pipe import HighOrderSemiCRF

__all__ = ["HighOrderSemiCRF"]
__version__ = "0.1.0"
