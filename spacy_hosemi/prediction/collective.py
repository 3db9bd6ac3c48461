"""Equal words of a document should agree: a second pass after the first.

For each token i whose word occurs again in the document, and each label y, with mean[]
the mean over the other occurrences of the word in the first pass:

    inside[i, y] += weight * mean[P(token is covered by y)]
    start[i, y]  += weight * mean[P(a segment of y starts at it)]
    end[i, y]    += weight * mean[P(a segment of y ends at it)]

These scores give the predictions and all other answers. Both passes are exact. This is
one step of mean field for a model with edges between equal words, where all edges of a
token share one weight (skip chains: Sutton and McCallum 2004); Krishnan and Manning
(2006) train a second model instead. A word within a longer name supports the same word
alone, too: scores are only added, never subtracted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats, Places
from ..core import Potentials
from ..features import TOKEN_ROLES
from .batch import Batch


def agree(batch: Batch, d: int, weight: float) -> list[Potentials]:
    """Returns the scores of the instances of a document in the second pass, where the
    other occurrences of a word have some weight; unchanged if no word occurs twice."""
    rows = batch.rows(d)
    potentials = [batch.potentials[k] for k in rows]
    groups = equal_words(batch.docs[d])
    if not groups:
        return potentials
    gradients = [batch.marginals(k).gradient for k in rows]
    borders = np.cumsum([0, *(x.n_tokens for x in potentials)])
    more = {}
    for role in TOKEN_ROLES:
        of_tokens = np.concatenate([getattr(x, role) for x in gradients])
        more[role] = weight * mean_of_others(of_tokens, groups)
    return [
        replace(x, **{y: getattr(x, y) + more[y][i:j] for y in TOKEN_ROLES})
        for x, i, j in zip(potentials, borders, borders[1:])
    ]


def equal_words(doc: Doc) -> list[Places]:
    """Returns groups of two tokens or more, int [K] each, with the same word in lower
    case, which is no stop word and has a letter."""
    lower = doc.to_array("LOWER")
    order = np.argsort(lower, kind="stable")
    borders = np.flatnonzero(np.diff(lower[order])) + 1
    groups = np.split(order, borders)
    pairs = [(group, doc[int(group[0])]) for group in groups if len(group) > 1]
    return [g for g, x in pairs if not x.is_stop and any(map(str.isalpha, x.text))]


def mean_of_others(values: Floats, groups: Iterable[Places]) -> Floats:
    """Returns for each of n tokens the mean of the values, float64 [n, L], at the other
    tokens of its group; 0 for tokens in no group. Groups have two tokens or more and do
    not overlap."""
    means = np.zeros_like(values)
    for group in groups:
        of_group = values[group]
        means[group] = (of_group.sum(axis=0) - of_group) / (len(group) - 1)
    return means
