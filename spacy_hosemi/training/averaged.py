"""Training document by document, and the uniform average of all weights on the way.

The averaged perceptron (Collins 2002, "Discriminative training methods for hidden
Markov models"), if the objective is `objectives.perceptron`; with any other one, plain
stochastic gradient descent. A step costs time for active features only, and a document
that is predicted right needs none.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ..arrays import Floats
from ..core import Potentials
from ..errors import Errors, Warnings
from ..model.active_features import Rows
from ..model.kernels.gather import touched_rows
from ..model.kernels.sparse_steps import Freedom, step_entries, step_rows
from ..model.weights.penalty_groups import by_penalty_group
from ..model.weights.potentials import add_gradients, role_gradients
from ..model.weights.vector import empty_gradient, with_learnt, write_dense_gradient
from ..model.weights.weights import Weights
from ..values import FLAG, Setting, by_name, integer, number, read_all
from .lbfgs import Fit, size_of
from .not_finite import check_finite, naming_features
from .objectives import is_zero
from .progress import bar_of
from .training_set import TrainingSet

# Weights, their gradient, `moved`, the freedom and the rate of each.
_Arrays = tuple[Floats, Floats, Floats, NDArray[np.uint8], Floats]

_NO_PAIRS = np.zeros(0, np.int32)


# The block [initialize.components.hosemi.fit] of this fit.
SETTINGS = (
    Setting(
        "n_passes",
        integer(1),
        10,
        "At most this many passes over the corpus; a pass without a step is the last.",
    ),
    Setting(
        "rate",
        by_name(number(above=0.0)),
        1.0,
        "Weights change by this times the gradient of a document; or by group: a role "
        "such as inside, or transition, pattern, length.",
    ),
    Setting("seed", integer(0), 0, "Seed of the order of the documents."),
    Setting(
        "nonnegative",
        FLAG,
        False,
        "No weight of a label pattern of three or more labels, nor of its features, is "
        "ever below 0: decoding is faster.",
    ),
    Setting("progress", FLAG, True, "Show a progress bar on stderr."),
)


def make_averaged(
    n_passes: int = 10,
    rate: float | dict[str, float] = 1.0,
    seed: int = 0,
    nonnegative: bool = False,
    progress: bool = True,
) -> Fit:
    """Registered as "spacy_hosemi.averaged.v1" in `misc`: returns the fit `descend`,
    see SETTINGS. Rare features, and features that others duplicate, do better with a
    lower rate. Raises ValueError: HS043 a number out of range; HS054 unknown group."""
    settings = read_all(SETTINGS, locals(), prefix="fit.")
    rates = by_penalty_group("rate", settings["rate"], default=1.0)
    return partial(descend, **{**settings, "rate": rates})


def descend(
    batch: TrainingSet,
    *,
    n_passes: int,
    rate: Mapping[str, float],
    seed: int,
    nonnegative: bool,
    progress: bool,
) -> None:
    """Takes steps from the present weights and leaves the average of all iterates, one
    for each document in each pass; passes after one without a step count as if made.
    Ctrl-C leaves the average so far, with the warning HSW60. Raises ValueError HS118
    for labels in a tree, HS398 for a tok2vec."""
    if not batch.is_last:
        expected = "the fit spacy_hosemi.lbfgs.v1"
        found = "it is spacy_hosemi.averaged.v1"
        raise ValueError(Errors.HS118.format(expected=expected, found=found))
    if batch.weights.state.of_vectors is not None:
        raise ValueError(Errors.HS398)
    freedom = batch.freedom(nonnegative)
    steps = UniformAverage(batch.weights, freedom, batch.weights.vector_values(rate))
    rng = np.random.default_rng(seed)
    rows = [*batch.rows]
    began = time.process_time()
    total = n_passes * len(batch)
    n_begun, n_steps, loss = 0, 0, 0.0
    try:
        with bar_of(total, "Averaging", "doc", progress) as bar:
            for n_begun in range(1, n_passes + 1):
                n_steps, loss = 0, 0.0
                for k in rng.permutation(len(batch)).tolist():
                    with naming_features(batch, steps.n_iterates):
                        value, gradient = batch.loss(k, rows[k])
                    loss += value
                    if is_zero(gradient):
                        steps.stay()
                    else:
                        steps.take(rows[k], gradient)
                        n_steps += 1
                    bar.update()
                check_finite(batch, loss, n_begun * len(batch))
                bar.set_postfix(loss=f"{loss:.1f}", steps=n_steps, refresh=False)
                if n_steps == 0:  # nor would there be a step in any pass to come
                    steps.stay((n_passes - n_begun) * len(batch))
                    break
    except KeyboardInterrupt:
        if not steps.n_iterates:
            raise
        n = steps.n_iterates
        values = {"n": n, "unit": f"steps of {total}", "loss": loss, "advice": ""}
        warnings.warn(Warnings.HSW60.format(**values), stacklevel=3)
    batch.weights.set_vector(steps.average(), copy=False)
    batch.weights.round()  # a saved model predicts the same
    if progress:
        seconds = time.process_time() - began
        tqdm.write(
            f"Averaging stopped after {n_begun} passes, {seconds:.1f} CPU s; in the "
            f"last one loss {loss:.2f}, steps at {n_steps} documents of {len(batch)}\n"
            f"{size_of(batch.weights)}",
            file=sys.stderr,
        )


class UniformAverage:
    """Makes gradient steps, by these times the derivative of each weight, and averages
    all iterates, `n_iterates` with those that changed nothing: see
    `model.kernels.sparse_steps`; `freedom` says how each weight may change."""

    def __init__(
        self, weights: Weights, freedom: NDArray[np.uint8], rate: Floats
    ) -> None:
        vector = weights.vector()
        vector[(freedom == Freedom.NONNEGATIVE) & (vector < 0.0)] = 0.0
        weights.set_vector(vector, copy=False)
        gradient, self._d_matrix = empty_gradient(weights.state)
        moved = np.zeros(len(vector))
        self._weights = weights
        self._arrays: _Arrays = vector, gradient, moved, freedom, rate
        # Patterns and lengths stand at the end, and count as rows of one weight.
        at = slice(self._d_matrix.size, None)
        last = vector[at], gradient[at], moved[at], freedom[at], rate[at]
        self._last: _Arrays = last
        self._rows_of_last = np.arange(len(vector[at]), dtype=np.int32)
        self.n_iterates = 0

    def stay(self, n: int = 1) -> None:
        """Counts n iterates that equal the last one."""
        self.n_iterates += n

    def take(self, rows: Rows, gradient: Potentials) -> None:
        """Takes a step by the features of a document and its derivatives."""
        state, n = self._weights.state, self.n_iterates
        add_gradients(state, rows, [gradient], self._d_matrix)
        vector = self._arrays[1]
        write_dense_gradient(state, vector, gradient.pattern, gradient.length)
        first = _NO_PAIRS if state.pairs is None else state.pairs.first
        n_labels = len(state.tail)
        d_scores = role_gradients([gradient], rows.tokens)
        touched = [
            touched_rows(part.first, part.row, d_scores[role])
            for role, part in rows.tokens.items()
        ]
        for of_role in (*touched, rows.segments.row):
            if len(of_role):
                step_rows(of_role, first, n_labels, *self._arrays, n)
        if gradient.entries is not None:
            step_entries(rows.places.row, first, gradient.entries, *self._arrays, n)
        step_rows(self._rows_of_last, _NO_PAIRS, 1, *self._last, n)
        self._weights.replace(with_learnt(state, self._last[0]))
        self.n_iterates += 1

    def average(self) -> Floats:
        """Returns the average of all iterates, [N]; of none, the weights."""
        vector, _, moved, freedom, _ = self._arrays
        average: Floats = vector - moved / max(self.n_iterates, 1)
        # what is 0 but for rounding
        np.maximum(average, 0.0, out=average, where=freedom == Freedom.NONNEGATIVE)
        return average
