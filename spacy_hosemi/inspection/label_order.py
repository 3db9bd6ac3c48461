"""Measures how much the labels before tell of the next one.

Each document is its sequence of labels, with O where tokens stand between two spans.
For each order k the entropy of the label of a span, given the k labels before it, O
among them, is measured on documents that were not counted: a history that was seen once
tells nothing there. Probabilities are interpolated with those of shorter histories
(Witten and Bell 1991). That a span comes, and no gap or end, the text is taken to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import log2, sqrt

import numpy as np
from spacy.tokens import Doc

from .corpus import CorpusPart, in_spans

MAX_ORDER = 3
N_FOLDS = 5
OUTSIDE, BEGIN = "O", "<s>"
# Sequences that are looked at; more change nothing.
MAX_DOCUMENTS = 5_000
# Longer histories pay if they lower the entropy by this share of that of order 0, and
# by more than twice its standard error.
LEAST_GAIN = 0.02


@dataclass(frozen=True)
class LabelOrder:
    """How predictable labels are by those before them."""

    # Bits for each label with order 0 to 3, on documents that were not counted.
    entropy: list[float]
    # The standard error of the gain of each order over the one before; 0 for order 0.
    error: list[float]
    order: int  # the largest that pays

    @property
    def told(self) -> float:
        """Returns the share of the entropy of order 0 that labels before take away."""
        best = self.entropy[self.order]
        return 1 - best / self.entropy[0] if self.entropy[0] > 0 else 0.0


def label_sequence(doc: Doc) -> list[str]:
    """Returns the labels of spans, and O for words between them."""
    labels, at, is_inside = [], 0, in_spans(doc)
    is_outside = [not (x or token.is_space) for x, token in zip(is_inside, doc)]
    for ent in doc.ents:
        if any(is_outside[at : ent.start]):
            labels.append(OUTSIDE)
        labels.append(ent.label_)
        at = ent.end
    return labels


def measure_order(part: CorpusPart) -> LabelOrder | None:
    """Returns how predictable labels are; None if there is no span in a fold."""
    pairs = [(key, doc) for key, doc in zip(part.keys, part.docs) if len(doc.ents)]
    pairs = pairs[:: max(1, len(pairs) // MAX_DOCUMENTS)]
    groups = {key: k for k, key in enumerate(dict.fromkeys(key for key, _ in pairs))}
    if len(groups) < N_FOLDS:
        return None
    sequences = [label_sequence(doc) for _, doc in pairs]
    folds = [groups[key] % N_FOLDS for key, _ in pairs]
    bits = cross_entropy(sequences, folds)
    return choose_order(bits, np.array([len(_steps(x)) for x in sequences]))


def choose_order(bits: np.ndarray, sizes: np.ndarray) -> LabelOrder:
    """Returns the largest order that pays, by the bits of each sequence with each
    order, float64 [n, K], and its spans, int [n]."""
    n, total = len(bits), sizes.sum()
    entropy = bits.sum(axis=0) / total
    errors, best = [0.0], 0
    for k in range(1, bits.shape[1]):
        gain = bits[:, k - 1] - bits[:, k]
        rest = gain - sizes * gain.sum() / total  # of a ratio of sums
        errors.append(float(sqrt((rest**2).sum() * n / max(n - 1, 1)) / total))
        over = entropy[best] - entropy[k]
        if over > max(LEAST_GAIN * entropy[0], 2 * errors[k]):
            best = k
    return LabelOrder([float(x) for x in entropy], errors, best)


def cross_entropy(
    sequences: Sequence[Sequence[str]], folds: Sequence[int]
) -> np.ndarray:
    """Returns the bits that each sequence takes with each order, float64 [n, MAX_ORDER
    + 1], counted on the folds that it is not in."""
    bits = np.zeros((len(sequences), MAX_ORDER + 1))
    n_labels = len({y for labels in sequences for y in labels} - {OUTSIDE})
    for fold in {*folds}:
        # How often each label follows each history of up to MAX_ORDER labels.
        counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        rest = (x for x, number in zip(sequences, folds) if number != fold)
        for history, label in chain(*map(_steps, rest)):
            for k in range(MAX_ORDER + 1):
                counts[history[MAX_ORDER - k :]][label] += 1
        for k, (labels, number) in enumerate(zip(sequences, folds)):
            for history, label in _steps(labels) if number == fold else ():
                p = 1 / n_labels
                for order in range(MAX_ORDER + 1):
                    if seen := counts.get(history[MAX_ORDER - order :]):
                        p = (seen[label] + len(seen) * p) / (seen.total() + len(seen))
                    bits[k, order] -= log2(p)
    return bits


def _steps(labels: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """Returns the label of each span, with the labels before it."""
    padded = (*[BEGIN] * MAX_ORDER, *labels)
    return [
        (padded[i : i + MAX_ORDER], label)
        for i, label in enumerate(labels)
        if label != OUTSIDE
    ]
