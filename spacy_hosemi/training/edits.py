"""What changes the labels or patterns of a component, and with them its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..labels.gold import Gold, label_sequences
from ..labels.inventory import possible_lengths
from ..labels.label_schema import LabelSchema
from ..labels.patterns import mine_patterns, with_label
from ..labels.projection import IdentityProjection
from ..model import tok2vec as neural
from ..model.span_scorer import weights_of
from ..model.weights.shim import Weights
from .feature_selection import select_features
from .gains import pattern_gains


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
    on_tokens = schema.inventory.on_tokens
    if on_tokens:
        weights.put_features_on_tokens()
    pattern = np.zeros(len(schema.patterns))
    pattern[:n_forbidden] = -np.inf
    learn_length = cfg["explicit_length"] > 1 and not on_tokens
    smoothing = cfg.get("length_smoothing", 0) if learn_length else 0
    length, tail = _lengths(schema, cfg)
    read = weights.extractor
    limits = cfg["observed_min_count"], cfg.get("observed_max")
    with read.features.functions.once():
        selection = select_features(read, docs, golds, schema.automaton, *limits)
    weights.allocate(
        selection,
        pattern=pattern,
        length=length,
        tail=tail,
        learn_length=learn_length,
        length_smoothing=smoothing,
        n_observed=len(schema.observed),
    )


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
        weights_of(model).add_labels(is_forbidden, *_lengths(schema, cfg))
        neural.add_labels(model, len(schema.inventory.names))
    return schema


def add_patterns(
    weights: Weights,
    schema: LabelSchema,
    cfg: Mapping[str, Any],
    docs: Sequence[Doc],
    golds: Sequence[Gold],
) -> LabelSchema:
    """Add the patterns that would add most to the model as it is; their weights are 0.

    weights (Weights), schema (LabelSchema), cfg (Mapping): Of the component, trained
        without them.
    docs (Sequence[Doc]), golds (Sequence[Gold]): What there is to learn from.
    RETURNS (LabelSchema): With these patterns.
    """
    mined, _ = mine_patterns(
        schema.inventory,
        label_sequences(golds),
        max_order=cfg["max_order"],
        min_count=cfg["pattern_min_count"],
    )
    candidates = [p for p in mined if len(p) > 2]
    documents = (
        (weights.potentials(weights.rows(doc, is_train=True), len(doc)), gold)
        for doc, gold in zip(docs, golds)
    )
    gains = pattern_gains(schema.automaton, candidates, documents)
    best = np.argsort(-gains, kind="stable")[: cfg["pattern_max"]]
    chosen = [candidates[m] for m in sorted(best.tolist())]
    weights.set_pattern(np.concatenate([weights.pattern, np.zeros(len(chosen))]))
    more = [*schema.patterns, *chosen]
    return schema.with_patterns(more, schema.observed, cfg.get("label_rules", []))


def prune(
    weights: Weights,
    schema: LabelSchema,
    cfg: Mapping[str, Any],
    below: Mapping[str, float],
) -> LabelSchema:
    """Forget weights near 0, features and label patterns that have none left.

    weights (Weights), schema (LabelSchema), cfg (Mapping): Of the component.
    below (Dict[str, float]): Of each family the largest absolute value of a weight that
        is forgotten.
    RETURNS (LabelSchema): With the patterns that are left.
    """
    matrix = weights.matrix
    of_features = weights.by_weight(weights.row_values(below)).reshape(matrix.shape)
    weights.keep(np.abs(matrix) > of_features)
    kept = np.abs(weights.pattern) > below["pattern"]
    kept |= np.isneginf(weights.pattern)
    patterns = [p for p, keeps in zip(schema.patterns, kept) if keeps]
    weights.set_pattern(weights.pattern[kept])
    observed = [schema.observed[c] for c in weights.keep_observed()]
    return schema.with_patterns(patterns, observed, cfg.get("label_rules", []))
