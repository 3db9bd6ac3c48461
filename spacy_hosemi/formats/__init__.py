"""Annotated texts and records in files: readers of many formats, checks, documents,
splits; writers of records.

Knows neither models nor components.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .documents import make_doc as make_doc
    from .documents import write_docs as write_docs
    from .offsets import Offsets as Offsets
    from .readers import ReaderSettings as ReaderSettings
    from .reading import read_annotations as read_annotations
    from .reading import read_docs as read_docs
    from .splits import split as split
    from .texts import AnnotatedText as AnnotatedText
    from .texts import Annotations as Annotations
    from .texts import Fault as Fault
    from .texts import LabeledSpan as LabeledSpan

# Imported when they are asked for: a component needs none of the readers and writers,
# which take a fifth of the time to import it.
_MODULES = {
    "AnnotatedText": "texts",
    "Annotations": "texts",
    "Fault": "texts",
    "LabeledSpan": "texts",
    "Offsets": "offsets",
    "ReaderSettings": "readers",
    "make_doc": "documents",
    "read_annotations": "reading",
    "read_docs": "reading",
    "split": "splits",
    "write_docs": "documents",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
