"""Annotated texts and records in files: readers of many formats, checks, documents,
splits; writers of records.

Knows neither models nor components.
"""

from .documents import make_doc, read_docs, write_docs
from .offsets import Offsets
from .readers import ReaderSettings
from .reading import read_annotations
from .splits import split
from .texts import AnnotatedText, Annotations, Fault, LabeledSpan

__all__ = [
    "AnnotatedText",
    "Annotations",
    "Fault",
    "LabeledSpan",
    "Offsets",
    "ReaderSettings",
    "make_doc",
    "read_annotations",
    "read_docs",
    "split",
    "write_docs",
]
