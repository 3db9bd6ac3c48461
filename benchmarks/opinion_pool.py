"""Logarithmic opinion pool: list features in a model of their own.

Features of lists can starve all others in training (Smith and Osborne 2006, "Using
gazetteers in discriminative information extraction"). Here two models are trained, one
without them and one with nothing else, and their distributions are multiplied:

    P(s | x)  ~  P_others(s | x)^(1 - weight) * P_lists(s | x)^weight

Both are log-linear in the same potentials, so the pool is again one vector of weights.
Patterns and lengths belong to both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from spacy import registry

from spacy_hosemi.model.kernels.sparse_steps import Freedom
from spacy_hosemi.model.weights.state import WeightState
from spacy_hosemi.model.weights.vector import by_weight
from spacy_hosemi.training.batch import Batch, check_batch
from spacy_hosemi.training.lbfgs import Fit

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@registry.misc("benchmarks.opinion_pool.v1")
def make_opinion_pool(fit: Fit, weight: float = 0.2) -> Fit:
    """A fit for `HighOrderSemiCRF.initialize`.

    fit (Callable[[Batch], None]): Trains each of the two models, such as the one of
        `make_lbfgs`.
    weight (float): Of the model of the lists, between 0 and 1.
    RETURNS (Callable[[Batch], None]): Trains both and leaves their pool in place.
    RAISES (ValueError): When called, if no feature reads a list.
    """

    def pool(batch: Batch) -> None:
        check_batch(batch, "the opinion pool")
        weights = batch.weights
        of_lists = features_of_lists(weights.state)
        if not of_lists.any():
            raise ValueError("no feature reads a list: name lists in model.gazetteers")
        pooled = np.zeros(len(weights.vector()))
        for share, of_rows in ((1.0 - weight, ~of_lists), (weight, of_lists)):
            is_learnt = np.ones(len(pooled), bool)
            of_matrix = by_weight(weights.state, of_rows)
            is_learnt[: len(of_matrix)] = of_matrix
            weights.set_vector(np.zeros(len(pooled)))
            fit(_Part(batch, is_learnt))
            pooled += share * weights.vector()
        weights.set_vector(pooled, copy=False)
        weights.round()

    return pool


def features_of_lists(weights: WeightState) -> Mask:
    """RETURNS (bool [R]): Which features read a list."""
    lists = weights.extractor.gazetteers.settings
    prefixes = {
        f"{role}:{template}"
        for role, templates in weights.extractor.features.roles.items()
        for template in templates
        if any(atom.attribute.partition(":")[0] in lists for atom in template.atoms)
    }
    return np.array(
        [name.partition("=")[0] in prefixes for name in weights.names], bool
    )


class _Part(Batch):
    """A batch in which only some weights have a gradient: others stay as they are.

    batch (Batch): The corpus.
    is_learnt (bool [N]): Which weights.
    """

    def __init__(self, batch: Batch, is_learnt: Mask) -> None:
        vars(self).update(vars(batch))
        self._is_learnt = is_learnt

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """RETURNS (uint8 [N]): FIXED for weights that are not learnt."""
        found = super().freedom(nonnegative)
        found[~self._is_learnt] = Freedom.FIXED
        return found

    def value_and_gradient(self) -> tuple[float, Floats]:
        """RETURNS (Tuple[float, float64 [N]]): 0 for weights that are not learnt."""
        value, gradient = super().value_and_gradient()
        gradient[~self._is_learnt] = 0.0
        return value, gradient
