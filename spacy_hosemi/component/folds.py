"""Parts of the training documents, each judged by weights of the others."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats
from ..features.instances import divide
from ..training.training_set import TrainingSet
from .judging import GoldDoc, HeldOut


@dataclass
class Fold:
    """A batch to be trained on, documents to be judged by with their places among those
    of all folds, and the weights of each minimization (in a tree, of each level)."""

    batch: TrainingSet
    held_out: HeldOut
    places: list[int]
    vectors: list[Floats]


def make_folds(
    batch: TrainingSet, docs: Sequence[GoldDoc], scope: str, n_folds: int, seed: int
) -> list[Fold]:
    """Cuts the training documents, whose instances the batch has in the same order.
    Returns the folds that have documents to be trained on, and others; the features are
    those of all documents."""
    numbers = folds_of([words_of(gold.doc) for gold in docs], n_folds, seed)
    sizes = [len(divide(gold.doc, scope)) for gold in docs]
    first = [0, *np.cumsum(sizes).tolist()]
    folds = []
    for fold in range(max(numbers, default=-1) + 1):
        places = [k for k, number in enumerate(numbers) if number == fold]
        rest = [k for k, number in enumerate(numbers) if number != fold]
        if places and rest:
            part = batch.part([i for k in rest for i in range(*first[k : k + 2])])
            rows = [x for k in places for x in batch.rows[first[k] : first[k + 1]]]
            held_out = HeldOut([docs[k] for k in places], rows)
            folds.append(Fold(part, held_out, places, [batch.weights.vector()]))
    return folds


def folds_of(keys: Sequence[Hashable], n_folds: int, seed: int) -> list[int]:
    """Returns a number below n_folds for each document; documents with the same key
    share one. The same keys in the same order have the same numbers."""
    distinct = [*dict.fromkeys(keys)]
    random.Random(seed).shuffle(distinct)
    place = {key: k % n_folds for k, key in enumerate(distinct)}
    return [place[key] for key in keys]


def words_of(doc: Doc) -> bytes:
    """Returns the same for documents with the same words."""
    return doc.to_array("ORTH").tobytes()
