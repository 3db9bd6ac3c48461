"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

__version__ = "0.1.0"
