"""What is read from a Doc. May not see labels or weights."""

from .attributes import Extensions
from .extract import (
    ROLES,
    TOKEN_ROLES,
    TRANSITION_ROLES,
    Extractor,
    FeatureSet,
    Reading,
    Values,
    make_features,
)
from .functions import Functions, Listed
from .gazetteers import Gazetteer, Gazetteers, make_gazetteer
from .kept import Kept
from .tables import Table, Tables, make_table
from .templates import Template
from .units import Segments
from .word2features import from_word2features

__all__ = [
    "ROLES",
    "TOKEN_ROLES",
    "TRANSITION_ROLES",
    "Extensions",
    "Extractor",
    "FeatureSet",
    "Functions",
    "Gazetteer",
    "Gazetteers",
    "Kept",
    "Listed",
    "Reading",
    "Segments",
    "Table",
    "Tables",
    "Template",
    "Values",
    "from_word2features",
    "make_features",
    "make_gazetteer",
    "make_table",
]
