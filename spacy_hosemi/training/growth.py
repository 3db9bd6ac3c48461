"""Adds features of new documents in updates after `initialize`.

A feature gets weights as soon as it has reached the minimum count, over all new
documents; `rare_counts` says how long it is counted. A document that comes again, for
example in the next epoch, is not counted again.

The first new documents are like a training corpus. In a long stream any two words have
the same first letters sometime, so that there a feature must occur more often.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Bools, Counts, Keys
from ..errors import Warnings
from ..features import TRANSITION_ROLES
from ..model.weights.edits import count_docs
from ..model.weights.weights import Weights
from . import feature_selection as selection
from .feature_selection import count_features, name_features
from .kernels.rare_counts import count_rare, empty_table

# After k * PERIOD new documents a feature must occur in 1 + k documents, and in 1 + k
# times the tokens that were enough at first; k grows up to MOST_TIMES - 1. With
# MOST_TIMES from the first document on, AnyStyle loses .5 of F1, Cora nothing.
PERIOD, MOST_TIMES = 1_000, 4
_MOST = 65_535  # as high as `count_rare` counts

_TRANSITIONS = tuple(f"{role}:" for role in TRANSITION_ROLES)


class SeenDocs:
    """Knows the documents of training so far, at first those of `initialize`, and
    counts of features without weights. After loading it does not know all: the model
    may have been trained on a document, so features with weights are not counted."""

    def __init__(self, docs: Iterable[Doc] = (), knows_all: bool = True) -> None:
        self.knows_all = knows_all
        self._docs: set[bytes] = set()
        self.new(docs)
        self._n_before = len(self._docs)
        self._rare: NDArray[np.uint64] | None = None

    def new(self, docs: Iterable[Doc]) -> list[Doc]:
        """Notes documents; returns those whose words no earlier document has."""
        new = []
        for doc in docs:
            words = doc.to_array("ORTH").tobytes()
            digest = blake2b(words, digest_size=8).digest()
            if digest not in self._docs:
                self._docs.add(digest)
                new.append(doc)
        return new

    def clear(self) -> None:
        """Forgets all documents and counts."""
        self._docs.clear()
        self._rare = None

    def frequent(
        self, keys: Keys, in_tokens: Counts, in_docs: Counts, min_count: int
    ) -> tuple[Bools, Counts]:
        """Counts features without weights. Returns whether each has reached the minimum
        count, bool [K], and the number of documents with it so far, int64 [K]."""
        if self._rare is None:
            self._rare = empty_table()
        n_new = len(self._docs) - self._n_before
        times = min(1 + n_new // PERIOD, MOST_TIMES)
        least = min(times * min_count, _MOST), times
        args = self._rare, keys, in_tokens, in_docs, *least
        counted: tuple[Bools, Counts] = count_rare(*args)
        return counted


def grow(weights: Weights, seen: SeenDocs, docs: Sequence[Doc]) -> None:
    """Adds weights of 0 for frequent features of new instances, but for those of
    transitions. Warns by HSW08 if there would be too many weights."""
    state = weights.state
    keys, in_tokens, in_docs = count_features(state.extractor, docs)
    row = state.table.find(keys)
    has_weights = row >= 0
    if seen.knows_all:
        counted = row[has_weights], in_docs[has_weights]
        state = count_docs(state, *counted, len(docs))
        weights.state = state
    rest = keys[~has_weights], in_tokens[~has_weights], in_docs[~has_weights]
    min_count = state.extractor.features.min_count
    is_frequent, n_docs = seen.frequent(*rest, min_count)
    chosen = rest[0][is_frequent]
    names = name_features(state.extractor, docs, chosen)
    if not names:
        return
    is_kept = np.array([not x.startswith(_TRANSITIONS) for x in names], bool)
    n_weights = state.matrix.size + is_kept.sum() * len(state.tail)
    if n_weights > selection.MAX_WEIGHTS:
        weights.state = replace(state, grows=False)
        seen.clear()
        limit = selection.MAX_WEIGHTS
        message = Warnings.HSW08.format(found=n_weights, limit=limit)
        warnings.warn(message, stacklevel=4)
        return
    names = [name for name, keeps in zip(names, is_kept) if keeps]
    weights.add_features(chosen[is_kept], names, n_docs[is_frequent][is_kept])
