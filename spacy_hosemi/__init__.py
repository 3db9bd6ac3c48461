"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from .estimator import SpanExtractor as SpanExtractor


def __getattr__(name: str) -> Any:
    """SpanExtractor alone needs scikit-learn: it is imported when it is asked for."""
    if name == "SpanExtractor":
        from .estimator import SpanExtractor

        return SpanExtractor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
