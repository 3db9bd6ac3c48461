"""The weights of a component as one vector, and the loss, for other optimizers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.training import Example

from ..arrays import Floats
from ..core import Potentials
from ..errors import Errors
from ..model.weights.penalty_groups import by_penalty_group
from ..values import Kind, Unfit, by_name, read
from .examples import check_examples, read_gold_corpus

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def _read_vector(value: Any) -> Floats:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise Unfit from None


def _read_least(value: Any) -> float:
    """Returns a number from 0 to infinity."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not value >= 0.0:
        raise Unfit
    return float(value)


_VECTOR = Kind("an array of numbers, as get_weights gives it", _read_vector)
_LEAST = Kind("a number at least 0", _read_least)


def get_loss(
    pipe: HighOrderSemiCRF, examples: Iterable[Example], scores: Sequence[Potentials]
) -> tuple[float, list[Potentials]]:
    """RETURNS (Tuple[float, List[Potentials]]): The summed loss of a batch, and its
    derivatives by the scores of each document; by sentence in that scope."""
    corpus = read_gold_corpus(pipe, check_examples(examples, "get_loss"))
    return pipe.trainer.losses(corpus.golds, scores, pipe.objective)


def value_and_gradient(
    pipe: HighOrderSemiCRF, examples: Iterable[Example]
) -> tuple[float, Floats]:
    """Compute loss and gradient at the present weights, for other optimizers.

    RETURNS (Tuple[float, float64 [N]]): Without regularisation; the gradient in
        the order of `get_weights`.
    RAISES (ValueError): HS053 the model has a tok2vec; HS056 impossible gold.
    """
    check_sparse(pipe, "value_and_gradient")
    corpus = read_gold_corpus(pipe, check_examples(examples, "value_and_gradient"))
    return pipe.trainer.batch(corpus, pipe.objective).value_and_gradient()


def get_weights(pipe: HighOrderSemiCRF) -> Floats:
    """RETURNS (float64 [N]): All weights of features, label patterns and lengths
    that are learnt, as one vector."""
    return pipe.trainer.weights.vector()


def set_weights(pipe: HighOrderSemiCRF, weights: Floats) -> None:
    """Replace all weights; weights (float64 [N]): in the order of `get_weights`.

    RAISES (ValueError): HS043 no numbers; HS055 wrong length.
    """
    with pipe.published.change():
        pipe.trainer.weights.set_vector(read("weights", _VECTOR, weights))


def prune(pipe: HighOrderSemiCRF, below: float | Mapping[str, float] = 0.0) -> None:
    """Forget weights near 0, features and label patterns that have none left;
    nothing before initialization.

    What has weight 0 changes no prediction: a fit with l1 ends in this. Training
    can go on, with the weights that are left. Those of lengths all stay.

    below (Union[float, Dict[str, float]]): The largest absolute value of a weight
        that is forgotten; or by group (a role such as inside, or transition, or
        pattern), 0 for those that are not named.
    RAISES (ValueError): HS043 below 0; HS054 unknown group; HS118 labels in a
        tree.
    """
    values = by_penalty_group("below", read("below", by_name(_LEAST), below))
    with pipe.published.change():
        if pipe.trainer.is_initialized:
            pipe.trainer.prune(values, pipe.settings.cfg)


def check_sparse(pipe: HighOrderSemiCRF, method: str) -> None:
    """Raises HS053 if the model has more than weights of features."""
    if pipe.model.layers:
        raise ValueError(Errors.HS053.format(what=method, name=pipe.name))
