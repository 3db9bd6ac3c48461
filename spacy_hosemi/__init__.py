"""Span extraction for spaCy by an exact high-order semi-Markov CRF."""

from importlib import import_module
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
__version__ = "0.3.0"

if TYPE_CHECKING:
    from .arrow import extract as extract
    from .estimator import SpanExtractor as SpanExtractor
    from .saving import load as load
    from .saving import save as save
    from .workers import TableExtractor as TableExtractor

# What few need, or what needs a library that need not be installed, is imported when it
# is asked for, from these modules.
_MODULES = {
    "SpanExtractor": "estimator",
    "TableExtractor": "workers",
    "extract": "arrow",
    "load": "saving",
    "save": "saving",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
