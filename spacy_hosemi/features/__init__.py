"""From a Doc to feature keys. Knows no labels and no weights."""

from .attributes import Extensions
from .crfsuite import from_word2features
from .extractor import Extractor, Reading
from .feature_set import ROLES, TOKEN_ROLES, TRANSITION_ROLES, FeatureSet, make_features
from .functions import Functions, Listed
from .gazetteers.gazetteers import Gazetteer, Gazetteers, make_gazetteer
from .segment_features import Segments
from .tables import Table, Tables, make_table
from .templates import Template
from .word_cache import WordCache

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
    "WordCache",
    "Listed",
    "Reading",
    "Segments",
    "Table",
    "Tables",
    "Template",
    "from_word2features",
    "make_features",
    "make_gazetteer",
    "make_table",
]
