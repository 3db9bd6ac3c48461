"""Moves trained weights to a few new documents, without the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..labels.gold import label_sequences
from ..labels.label_schema import LabelSchema
from ..labels.patterns import learn_patterns
from ..model.weights import edits
from ..model.weights.vector import by_weight, is_learnt, rounded
from .corpus import Corpus
from .feature_selection import count_features
from .growth import SeenDocs, grow
from .lbfgs import Lbfgs
from .trainer import Trainer


class Adaptation:
    """The weights of a trainer while they learn new documents.

    Each weight is held near that of the old documents, the more of these have its
    feature; see `fit`. Weights of new features and labels are near 0, which l2 alone
    holds. A pattern of old labels without a weight yet is held as all patterns are: old
    documents say that it is rare. Until `finish` the trainer has only the features that
    the new documents have: what no document reads does not change. The labels of all
    arguments but `old` end with the new ones.
    """

    def __init__(
        self, trainer: Trainer, corpus: Corpus, cfg: Mapping[str, Any], old: LabelSchema
    ) -> None:
        self.trainer, schema, weights = trainer, trainer.schema, trainer.weights
        counts, n_docs = weights.state.counts.copy(), weights.state.n_docs
        mined, n_forbidden = learn_patterns(schema, label_sequences(corpus.golds), cfg)
        patterns = dict.fromkeys((*schema.patterns, *mined.patterns[n_forbidden:]))
        trainer.schema = schema.with_patterns(patterns, schema.observed, schema.rules)
        grow(weights, SeenDocs(), corpus.docs)
        whole = weights.state
        pattern = np.pad(whole.pattern, (0, len(patterns) - len(whole.pattern)))
        self._whole = whole = replace(whole, pattern=pattern)
        rows = whole.table.find(count_features(whole.extractor, corpus.docs)[0])
        is_read = np.zeros(len(whole.table), bool)
        is_read[rows[rows >= 0]] = True
        self._is_read = by_weight(whole, is_read).reshape(whole.matrix.shape)
        part = edits.keep(whole, self._is_read)
        weights.replace(part)
        names, n_old = schema.inventory.names, len(old.inventory.names)
        _, column, slot = part.slots(np.arange(len(part.table), dtype=np.int32))
        is_new = np.zeros(part.matrix.size, bool)
        is_new[slot] = (column >= n_old) & (column < len(names))
        of_patterns = [not {*names[n_old:]}.isdisjoint(x) for x in patterns]
        of_lengths = np.repeat(np.arange(len(names)) >= n_old, part.length.shape[1])
        of_rest = np.append(of_patterns, of_lengths).astype(bool)[is_learnt(part)]
        is_new = np.append(is_new, of_rest)
        counts = np.pad(counts, (0, len(is_read) - len(counts)))[is_read]
        known = np.append(by_weight(part, counts), np.full(len(of_rest), n_docs))
        # The weights of the old documents, in the order of `Weights.vector`, and the
        # number of old documents that each is known from.
        self.counts = np.where(is_new, 0, known)
        self.centre = np.where(is_new, 0.0, weights.vector())
        weights.set_vector(self.centre)

    def fit(self, fit: Lbfgs, strength: float) -> Lbfgs:
        """Returns a fit that holds the weights.

        sum of losses + sum_k (l2 + strength * counts[k]) / 2 * (w[k] - centre[k])^2
        """
        return fit.around(self.centre, strength * self.counts)

    def finish(self) -> None:
        """Gives the trainer all features again, with the weights that it has now."""
        part, matrix = self.trainer.weights.state, self._whole.matrix.copy()
        matrix[self._is_read] = part.matrix.ravel()
        whole = replace(self._whole, of_features=matrix, is_trained=True)
        whole = replace(whole, pattern=part.pattern, length=part.length)
        self.trainer.weights.replace(rounded(whole))
