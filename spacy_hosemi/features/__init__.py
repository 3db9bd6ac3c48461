"""What is read from a Doc. May not see labels or weights."""

from .extract import ROLES, Extractor, FeatureSet, make_features

__all__ = ["ROLES", "Extractor", "FeatureSet", "make_features"]
