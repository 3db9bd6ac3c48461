"""What changes the labels or patterns of a component, and with them its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..labels.gold import Gold
from ..labels.inventory import possible_lengths
from ..labels.label_schema import LabelSchema
from ..labels.patterns import with_label
from ..labels.projection import IdentityProjection
from ..model import tok2vec as neural
from ..model.span_scorer import weights_of
from ..model.weights import edits
from ..model.weights.vector import by_weight, row_values
from ..model.weights.weights import Weights
from .feature_selection import select_features


def allocate(
    weights: Weights,
    schema: LabelSchema,
    cfg: Mapping[str, Any],
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    n_forbidden: int,
) -> None:
    """Zero weights for the features of a training corpus, and for all patterns.

    weights (Weights), schema (LabelSchema), cfg (Mapping): Of the component.
    docs (Sequence[Doc]), golds (Sequence[Gold]): What there is to learn from.
    n_forbidden (int): How many patterns, which come first, are forbidden.
    """
    on_tokens, read = schema.inventory.on_tokens, weights.state.extractor
    if on_tokens:
        read = read.reading(read.features.on_tokens())
    pattern = np.zeros(len(schema.patterns))
    pattern[:n_forbidden] = -np.inf
    learn_length = cfg["explicit_length"] > 1 and not on_tokens
    length, tail = _lengths(schema, cfg)
    limits = cfg["observed_min_count"], cfg.get("observed_max")
    with read.features.functions.once():
        selection = select_features(read, docs, golds, schema.automaton, *limits)
    state = edits.allocate(
        read,
        selection,
        pattern,
        length,
        tail,
        learn_length=learn_length,
        n_observed=len(schema.observed),
    )
    weights.replace(state)


def _lengths(schema: LabelSchema, cfg: Mapping[str, Any]) -> tuple[Any, Any]:
    limits = cfg["explicit_length"], cfg["max_length"]
    return possible_lengths(schema.inventory, *limits)


def add_label(
    label: str,
    schema: LabelSchema,
    cfg: Mapping[str, Any],
    models: Iterable[Model[list[Doc], Any]],
) -> LabelSchema:
    """Add a label to trained models, as unlikely as the least likely one.

    label (str): Its name.
    schema (LabelSchema), cfg (Mapping): Of the component, initialized.
    models (Iterable[Model]): Of the component.
    RETURNS (LabelSchema): With the label.
    RAISES (ValueError): HS040 reserved name; HS118 labels in a tree.
    """
    if not isinstance(schema.projection, IdentityProjection):
        expected = "all labels when it is initialized, where they may be listed"
        found = f"{label!r} is a new one"
        raise ValueError(Errors.HS118.format(expected=expected, found=found))
    schema, is_forbidden = with_label(schema, label, cfg)
    for model in models:
        weights, lengths = weights_of(model), _lengths(schema, cfg)
        weights.replace(edits.add_labels(weights.state, is_forbidden, *lengths))
        neural.add_labels(model, len(schema.inventory.names))
    return schema


def prune(
    weights: Weights,
    schema: LabelSchema,
    cfg: Mapping[str, Any],
    below: Mapping[str, float],
) -> LabelSchema:
    """Forget weights near 0, features and label patterns that have none left.

    weights (Weights), schema (LabelSchema), cfg (Mapping): Of the component.
    below (Dict[str, float]): Of each group the largest absolute value of a weight that
        is forgotten.
    RETURNS (LabelSchema): With the patterns that are left.
    """
    state = weights.state
    matrix, pattern = state.matrix, state.pattern
    limit = by_weight(state, row_values(state, below)).reshape(matrix.shape)
    state = edits.keep(state, np.abs(matrix) > limit)
    is_left = (np.abs(pattern) > below["pattern"]) | np.isneginf(pattern)
    patterns = [p for p, stays in zip(schema.patterns, is_left) if stays]
    state, left = edits.keep_observed(replace(state, pattern=pattern[is_left]))
    observed = [schema.observed[c] for c in left]
    weights.replace(state)
    return schema.with_patterns(patterns, observed, cfg.get("label_rules", []))
