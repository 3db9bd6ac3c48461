"""What is read from a Doc. May not see labels or weights."""

from .extract import (
    ROLES,
    TOKEN_ROLES,
    Extractor,
    FeatureSet,
    Reading,
    Segments,
    make_features,
)
from .gazetteers import Gazetteer, Gazetteers, make_gazetteer

__all__ = [
    "ROLES",
    "TOKEN_ROLES",
    "Extractor",
    "FeatureSet",
    "Gazetteer",
    "Gazetteers",
    "Reading",
    "Segments",
    "make_features",
    "make_gazetteer",
]
