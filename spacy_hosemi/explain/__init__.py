"""What a trained component learnt and why it predicts what it does, as plain data."""

from .weights import (
    Family,
    FeatureWeight,
    PatternWeight,
    WeightRow,
    count_features,
    count_forbidden,
    find_features,
    strongest_features,
    strongest_patterns,
    weight_families,
)

__all__ = [
    "Family",
    "FeatureWeight",
    "PatternWeight",
    "WeightRow",
    "count_features",
    "count_forbidden",
    "find_features",
    "strongest_features",
    "strongest_patterns",
    "weight_families",
]
