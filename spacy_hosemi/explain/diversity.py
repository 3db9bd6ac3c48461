"""Documents that are worth much, and not like each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from spacy.attrs import LOWER, SHAPE  # type: ignore[import-not-found]
from spacy.tokens import Doc

# Documents closer than this are the same but for rounding.
_SAME = 1e-9


def word_vectors(docs: Sequence[Doc]) -> csr_array:
    """Returns a row of length 1 for each of D documents that have tokens, float64 [D,
    W]: its words in lower case and the shapes of its words, each of them once, weighted
    by log(1 + D / number of documents that have it)."""
    words = [np.unique(doc.to_array([LOWER, SHAPE])) for doc in docs]
    sizes = [len(of_doc) for of_doc in words]
    keys, columns, n_docs = np.unique(
        np.concatenate(words), return_inverse=True, return_counts=True
    )
    rows = np.repeat(np.arange(len(docs)), sizes)
    weights = np.log1p(len(docs) / n_docs)[columns]
    lengths = np.sqrt(np.bincount(rows, weights**2))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shape = len(docs), len(keys)
    return csr_array((weights / lengths[rows], columns, starts), shape=shape)


def choose_spread(worth: NDArray[np.float64], vectors: csr_array, n: int) -> list[int]:
    """Chooses at most n documents, one after the other that with the highest worth x (1
    - its cosine with the most similar one that is chosen already). Returns their places
    in this order; equal ones come by worth, then in their order. Takes n products of
    the vectors and a row.

    worth (float64 [D]): Of each document, not negative.
    vectors (float64 [D, W]): Rows of length 1 and without negative numbers.
    """
    order = np.argsort(-worth, kind="stable")
    worth, vectors = worth[order], vectors[order]
    distance = np.ones(len(order))  # from the most similar one, 0 to 1
    is_free = np.ones(len(order), bool)
    places = []
    for _ in range(min(n, len(order))):
        k = int(np.argmax(np.where(is_free, worth * distance, -1.0)))
        places.append(int(order[k]))
        is_free[k] = False
        np.minimum(distance, 1.0 - vectors @ vectors[[k]].toarray()[0], out=distance)
        distance[distance < _SAME] = 0.0
    return places
