"""What a trained component learnt and why it predicts what it does, as plain data."""

from ..prediction.contributions import Contribution
from ..prediction.counterfactuals import Change
from ..prediction.explanation import Explanation
from .page import Page
from .pruning import SHARES, Pruned, choose, find_threshold, try_pruning
from .weights import (
    Family,
    FeatureWeight,
    PatternWeight,
    TransitionWeight,
    WeightRow,
    count_features,
    count_forbidden,
    find_features,
    strongest_features,
    strongest_patterns,
    strongest_transitions,
    weight_families,
)

__all__ = [
    "SHARES",
    "Change",
    "Contribution",
    "Explanation",
    "Family",
    "FeatureWeight",
    "Page",
    "PatternWeight",
    "Pruned",
    "TransitionWeight",
    "WeightRow",
    "choose",
    "count_features",
    "count_forbidden",
    "find_features",
    "find_threshold",
    "strongest_features",
    "strongest_patterns",
    "strongest_transitions",
    "try_pruning",
    "weight_families",
]
