"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

from .component.pipe import HighOrderSemiCRF
from .features import from_word2features
from .text.tokenizer import FieldTokenizer, use_field_tokenizer

__all__ = [
    "FieldTokenizer",
    "HighOrderSemiCRF",
    "from_word2features",
    "use_field_tokenizer",
]
__version__ = "0.1.0"
