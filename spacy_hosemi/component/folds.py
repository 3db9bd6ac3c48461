"""Parts of the training documents, each judged by weights of the others."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..features.instances import instances
from ..training.batch import Batch, Floats, Trainable
from ..training.lbfgs import FitReport
from .dev_scores import Annotated, Judged


@dataclass
class Fold:
    """A batch to be trained on, others to be judged by, the weights on the path.

    places (List[int]): Where those others stand among those of all folds.
    vectors (List[float64 [N]]): Weights of each minimization: one, and with labels in a
        tree one for each level.
    """

    batch: Batch
    judged: Judged
    places: list[int]
    vectors: list[Floats]


class WarmFit:
    """The minimizations of one training, from the weights that they found before.

    fit (Callable): One minimization.
    vectors (List[float64 [N]]): These weights, which are replaced. Minimizations that
        have none yet start from the present ones.
    """

    def __init__(
        self, fit: Callable[[Trainable], FitReport], vectors: list[Floats]
    ) -> None:
        self._fit, self._vectors, self._k = fit, vectors, 0

    def __call__(self, batch: Trainable) -> FitReport:
        """RAISES (KeyboardInterrupt): Ctrl-C was hit; the weights are kept."""
        own = slice(self._k, self._k + 1)
        for vector in self._vectors[own]:
            batch.weights.set_vector(vector)
        report = self._fit(batch)
        self._vectors[own] = [batch.weights.vector()]
        self._k += 1
        if report.reason == "interrupted":
            raise KeyboardInterrupt
        return report


def make_folds(
    batch: Batch, docs: Sequence[Annotated], scope: str, n_folds: int, seed: int
) -> list[Fold]:
    """Cut the training documents; the features are those of all of them.

    batch (Batch): Their instances.
    docs (Sequence[Annotated]): The documents, in the same order.
    scope (str): Of the component.
    n_folds (int), seed (int): See `fold_numbers`.
    RETURNS (List[Fold]): Those that have documents to be trained on, and others.
    """
    numbers = fold_numbers([one.doc for one in docs], n_folds, seed)
    sizes = [len(instances(one.doc, scope)) for one in docs]
    first = [0, *np.cumsum(sizes).tolist()]
    found = []
    for fold in range(max(numbers, default=-1) + 1):
        own = [k for k, number in enumerate(numbers) if number == fold]
        others = [k for k, number in enumerate(numbers) if number != fold]
        if own and others:
            part = batch.part([i for k in others for i in range(*first[k : k + 2])])
            rows = [batch.rows(i) for k in own for i in range(*first[k : k + 2])]
            judged = Judged([docs[k] for k in own], rows)
            found.append(Fold(part, judged, own, [batch.weights.vector()]))
    return found


def fold_numbers(docs: Sequence[Doc], n_folds: int, seed: int) -> list[int]:
    """See `folds_of`; documents with the same words share a fold."""
    return folds_of([words_of(doc) for doc in docs], n_folds, seed)


def folds_of(keys: Sequence[Hashable], n_folds: int, seed: int) -> list[int]:
    """A fold for each document; documents with the same key share one. The same for the
    same keys in the same order.

    keys (Sequence[Hashable]): Of the documents.
    n_folds (int), seed (int): How many, and which documents they have.
    RETURNS (List[int]): Numbers below n_folds.
    """
    distinct = [*dict.fromkeys(keys)]
    random.Random(seed).shuffle(distinct)
    place = {key: k % n_folds for k, key in enumerate(distinct)}
    return [place[key] for key in keys]


def words_of(doc: Doc) -> bytes:
    """RETURNS (bytes): The same for documents with the same words."""
    return doc.to_array("ORTH").tobytes()
