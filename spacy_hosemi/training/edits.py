"""What changes the labels or patterns of a component, and with them its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..labels.gold import Gold
from ..labels.label_schema import Labelling
from ..model import tok2vec as neural
from ..model.span_scorer import weights_of
from ..model.weights.shim import Weights
from .feature_selection import select_features
from .gains import pattern_gains


def allocate(
    weights: Weights,
    labelling: Labelling,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    n_forbidden: int,
) -> None:
    """Zero weights for the features of a training corpus, and for all patterns.

    weights (Weights), labelling (Labelling): Of the component, with its patterns.
    docs (Sequence[Doc]), golds (Sequence[Gold]): What there is to learn from.
    n_forbidden (int): So many patterns, which come first, are forbidden.
    """
    cfg, on_tokens = labelling.cfg, labelling.inventory.on_tokens
    if on_tokens:
        weights.put_features_on_tokens()
    labelling.tree.clear()
    pattern = np.zeros(len(cfg["patterns"]))
    pattern[:n_forbidden] = -np.inf
    learn_length = cfg["explicit_length"] > 1 and not on_tokens
    smoothing = cfg.get("length_smoothing", 0) if learn_length else 0
    length, tail = labelling.possible_lengths()
    read = weights.extractor
    limits = cfg["observed_min_count"], cfg.get("observed_max")
    with read.features.functions.once():
        selection = select_features(read, docs, golds, labelling.automaton, *limits)
    weights.allocate(
        selection,
        pattern=pattern,
        length=length,
        tail=tail,
        learn_length=learn_length,
        length_smoothing=smoothing,
        n_observed=len(cfg["observed"]),
    )


def add_label(
    label: str, labelling: Labelling, models: Iterable[Model[list[Doc], Any]]
) -> None:
    """A label more, as unlikely as the least likely one.

    label (str): Its name.
    labelling (Labelling), models (Iterable[Model]): Of the component, initialized.
    RAISES (ValueError): HS040 reserved name; HS118 labels in a tree.
    """
    is_forbidden = labelling.add(label)
    for model in models:
        weights_of(model).add_labels(is_forbidden, *labelling.possible_lengths())
        neural.add_labels(model, len(labelling.inventory.names))


def add_patterns(
    weights: Weights, labelling: Labelling, docs: Sequence[Doc], golds: Sequence[Gold]
) -> None:
    """Patterns that would add most to the model as it is; their weights are 0.

    weights (Weights), labelling (Labelling): Of the component, trained without them.
    docs (Sequence[Doc]), golds (Sequence[Gold]): What there is to learn from.
    """
    candidates = [p for p in labelling.mine(golds, None)[0] if len(p) > 2]
    documents = (
        (weights.potentials(weights.rows(doc, is_train=True), len(doc)), gold)
        for doc, gold in zip(docs, golds)
    )
    gains = pattern_gains(labelling.automaton, candidates, documents)
    cfg = labelling.cfg
    best = np.argsort(-gains, kind="stable")[: cfg["pattern_max"]]
    chosen = [candidates[m] for m in sorted(best.tolist())]
    weights.set_pattern(np.concatenate([weights.pattern, np.zeros(len(chosen))]))
    labelling.set_patterns([*cfg["patterns"], *chosen], cfg["observed"])


def prune(weights: Weights, labelling: Labelling, below: Mapping[str, float]) -> None:
    """Forget weights near 0, features and label patterns that have none left.

    weights (Weights), labelling (Labelling): Of the component.
    below (Dict[str, float]): Of each family the largest absolute value of a weight that
        is forgotten.
    RAISES (ValueError): HS118 labels in a tree.
    """
    labelling.tree.check_prunable()
    cfg = labelling.cfg
    matrix = weights.matrix
    of_features = weights.by_weight(weights.row_values(below)).reshape(matrix.shape)
    weights.keep(np.abs(matrix) > of_features)
    kept = np.abs(weights.pattern) > below["pattern"]
    kept |= np.isneginf(weights.pattern)
    patterns = [p for p, keeps in zip(cfg["patterns"], kept) if keeps]
    weights.set_pattern(weights.pattern[kept])
    observed = [cfg.get("observed", [])[c] for c in weights.keep_observed()]
    labelling.set_patterns(patterns, observed)
