"""What is read from a Doc. May not see labels or weights."""

from .attributes import Extensions
from .extract import (
    ROLES,
    TOKEN_ROLES,
    Extractor,
    FeatureSet,
    Reading,
    Values,
    make_features,
)
from .gazetteers import Gazetteer, Gazetteers, make_gazetteer
from .kept import Kept
from .tables import Table, Tables, make_table
from .units import Segments

__all__ = [
    "ROLES",
    "TOKEN_ROLES",
    "Extensions",
    "Extractor",
    "FeatureSet",
    "Gazetteer",
    "Gazetteers",
    "Kept",
    "Reading",
    "Segments",
    "Table",
    "Tables",
    "Values",
    "make_features",
    "make_gazetteer",
    "make_table",
]
