"""Batch training: SciPy's L-BFGS-B on the whole corpus."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from .core import PatternAutomaton, Potentials
from .core.rows import Freedom
from .errors import Errors
from .families import family_values
from .objectives import Objective, is_smooth
from .progress import watched
from .rows import Rows, join_rows
from .segmentation import Gold
from .weights import Weights, role_gradient

Floats = NDArray[np.float64]
Fit = Callable[[Any], None]  # of a `Trainable`; of averages, a Batch

# Steps from which the curvature is known: 2 vectors each, the larger part of memory.
_HISTORY = 6

_PIECE = 100_000


class Trained(Protocol):
    """Weights as one vector."""

    def vector(self) -> Floats: ...

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None: ...

    def vector_values(self, values: Mapping[str, float]) -> Floats: ...

    def round(self) -> None: ...

    def pruned_size(self) -> dict[str, float]: ...


class Trainable(Protocol):
    """What can be minimised: a `Batch`, or one level of a label tree."""

    @property
    def weights(self) -> Trained: ...

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]: ...

    def value_and_gradient(self) -> tuple[float, Floats]: ...


class Batch:
    """A corpus with its features read: value and gradient for any weights.

    weights (Weights): Where the vector of weights is written to.
    automaton (PatternAutomaton): Of the component.
    objective (Callable): Loss of one document.
    docs (Sequence[Doc]): Documents.
    golds (Sequence[Gold]): What is known of each.
    has_levels (bool): Whether the same fit trains levels of a tree below, after it.
    """

    def __init__(
        self,
        weights: Weights,
        automaton: PatternAutomaton,
        objective: Objective,
        docs: Sequence[Doc],
        golds: Sequence[Gold],
        has_levels: bool = False,
    ) -> None:
        self.weights = weights
        self.has_levels = has_levels
        self._automaton = automaton
        self.objective = objective
        self._golds = golds
        self._sizes = [len(doc) for doc in docs]
        self._borders = [0, *np.cumsum(self._sizes).tolist()]
        shown = watched(docs, "Reading features")
        by_doc = [weights.rows(doc, is_train=True) for doc in shown]
        self._segments = [rows.segments for rows in by_doc]
        self._rows = {
            role: join_rows([rows.tokens[role] for rows in by_doc])
            for role in weights.extractor.features.scored_roles
        }
        self._places = [rows.places for rows in by_doc]

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._sizes)

    def rows(self, k: int) -> Rows:
        """RETURNS (Rows): The known features of one document: views."""
        at = slice(self._borders[k], self._borders[k + 1] + 1)
        tokens = {
            role: part._replace(first=part.first[at])
            for role, part in self._rows.items()
        }
        return Rows(tokens, self._segments[k], self._places[k])

    def loss(self, k: int, rows: Rows) -> tuple[float, Potentials]:
        """RETURNS (Tuple[float, Potentials]): Loss of one document, with these rows, at
        the present weights; its derivatives by the potentials."""
        potentials = self.weights.potentials(rows, self._sizes[k])
        return self.objective(self._automaton, potentials, self._golds[k])

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """How each weight may change.

        nonnegative (bool): Those of label patterns of three or more names must be 0 or
            more, see `Weights.of_long_patterns`.
        RETURNS (uint8 [N]): FREE or NONNEGATIVE; in the order of Weights.vector().
        """
        is_long = self.weights.of_long_patterns(self._automaton)
        return np.where(
            is_long & nonnegative, Freedom.NONNEGATIVE, Freedom.FREE
        ).astype(np.uint8)

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Summed loss at the present weights.

        RETURNS (Tuple[float, float64 [N]]): In nats; in the order of Weights.vector().
            Documents are summed in their order, so the result is always the same.
        """
        shape = sum(self._sizes), len(self.weights.tail)
        scores = {role: np.zeros(shape) for role in self._rows}
        for role, rows in self._rows.items():
            self.weights.add_scores(rows, scores[role])
        pattern = np.zeros(len(self.weights.pattern))
        length = np.zeros(self.weights.length.shape)
        total = 0.0
        at = 0
        vector, d_matrix = self.weights.empty_gradient()
        for size, gold, segments, places in zip(
            self._sizes, self._golds, self._segments, self._places
        ):
            piece = {role: s[at : at + size] for role, s in scores.items()}
            potentials = self.weights.with_scores(piece, segments, places)
            loss, gradient = self.objective(self._automaton, potentials, gold)
            total += loss
            for role in piece:  # the scores have been read: their place is free
                piece[role][:] = role_gradient(gradient, role)
            pattern += gradient.pattern
            length += gradient.length
            self.weights.add_cell_gradient(segments, gradient.cells, d_matrix)
            self.weights.add_entry_gradient(places, gradient.entries, d_matrix)
            at += size
        for role, rows in self._rows.items():
            self.weights.add_gradient(rows, scores[role], d_matrix)
        self.weights.write_dense_gradient(vector, pattern, length)
        return total, vector


def check_batch(batch: Batch, name: str) -> None:
    """RAISES (ValueError): HS118 a fit that cannot train the levels of a tree."""
    if batch.has_levels:
        raise ValueError(
            Errors.HS118.format(
                expected="the fit spacy_hosemi.lbfgs.v1", found=f"it is {name}"
            )
        )


def make_lbfgs(
    l2: float | dict[str, float] = 0.1,
    l1: float = 0.0,
    max_iter: int = 200,
    tolerance: float = 1e-4,
    progress: bool = True,
    nonnegative: bool = False,
) -> Fit:
    """Registered as "spacy_hosemi.lbfgs.v1" in `misc`.

    l2 (Union[float, Dict[str, float]]): Weight of half the squared norm (1 / sigma^2),
        for all weights or by family (a role such as inside, or pattern, or length).
    l1 (float): Weight of the sum of absolute values.
    max_iter (int): At most so many iterations.
    tolerance (float): Stop when an iteration lowers the objective by less than this
        share of it.
    progress (bool): Show a progress bar on stderr.
    nonnegative (bool): No weight of a label pattern of three or more names, nor of its
        features, is below 0: decoding is faster.
    RETURNS (Callable[[Batch], None]): Finds the best weights and leaves them in place;
        raises HS121 (ValueError) if the objective is not smooth.
    RAISES (ValueError): HS043 a number out of range; HS054 unknown family.
    """
    penalty = family_values("l2", l2)
    for name, number in (
        ("l2", min(penalty.values())),
        ("l1", l1),
        ("tolerance", tolerance),
    ):
        if not number >= 0.0:
            raise ValueError(
                Errors.HS043.format(name=name, found=number, expected=">= 0")
            )
    if max_iter < 1:
        raise ValueError(
            Errors.HS043.format(name="max_iter", found=max_iter, expected=">= 1")
        )

    def fit(batch: Trainable) -> None:
        if isinstance(batch, Batch) and not is_smooth(batch.objective):
            raise ValueError(Errors.HS121)
        minimize(batch, penalty, l1, max_iter, tolerance, progress, nonnegative)

    return fit


def add_penalty(penalty: Floats, w: Floats, gradient: Floats) -> float:
    """Half the weighted squares of weights; its gradient is added, piece by piece:
    whole vectors of temporary values would be the peak of memory."""
    value = 0.0
    for at in range(0, len(w), _PIECE):
        piece = slice(at, at + _PIECE)
        slope = penalty[piece] * w[piece]
        gradient[piece] += slope
        value += 0.5 * float(slope @ w[piece])
    return value


def minimize(
    batch: Trainable,
    l2: Mapping[str, float],
    l1: float,
    max_iter: int,
    tolerance: float,
    progress: bool,
    nonnegative: bool = False,
) -> None:
    """Minimise the loss with both penalties, from the present weights.

        sum of losses + sum_k l2[k] / 2 * w[k]^2 + l1 * sum_k |w[k]|

    With l1, w is the difference of two vectors that are bounded below by 0, so that
    the objective is smooth. Where w must be 0 or more, the second one is 0.
    """
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    weights = batch.weights
    penalty = weights.vector_values(l2)
    start = weights.vector()
    n = len(start)
    bounds = None
    if l1 or nonnegative:
        is_bounded = batch.freedom(nonnegative) == Freedom.NONNEGATIVE
        bounds = Bounds(np.where(is_bounded, 0.0, -np.inf), np.full(n, np.inf))
    began = time.process_time()
    # The vectors are added up in less time than threads need to meet, and while these
    # wait for each other they take all cores: a fit took 2 to 3 times as long.
    one_thread = threadpool_limits(limits=1, user_api="blas")
    with (
        one_thread,
        tqdm(
            total=max_iter, desc="L-BFGS", unit="iteration", disable=not progress
        ) as bar,
    ):

        def value_and_gradient(x: Floats) -> tuple[float, Floats]:
            w = x[:n] - x[n:] if l1 else x
            weights.set_vector(w, copy=False)
            value, gradient = batch.value_and_gradient()
            value += add_penalty(penalty, w, gradient)
            if not np.isfinite(value):
                raise ValueError(Errors.HS057.format(found=value, steps=bar.n))
            bar.set_postfix(loss=f"{value:.1f}", refresh=False)
            if l1:
                return value + l1 * x.sum(), np.concatenate([gradient, -gradient]) + l1
            return value, gradient

        if l1:
            start = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
            most = np.concatenate([np.full(n, np.inf), np.where(is_bounded, 0, np.inf)])
            bounds = Bounds(np.zeros(2 * n), most)
        result = scipy_minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=lambda _: bar.update(),
            options={
                "maxiter": max_iter,
                "maxfun": 2 * max_iter,
                "ftol": tolerance,
                "gtol": 0.0,
                "maxcor": _HISTORY,
            },
        )
    best = result.x[:n] - result.x[n:] if l1 else result.x
    weights.set_vector(best, copy=False)
    weights.round()  # a saved model predicts the same
    if progress:
        seconds = time.process_time() - began
        tqdm.write(
            f"L-BFGS stopped after {result.nit} iterations, {seconds:.1f} CPU s, loss "
            f"{result.fun:.2f}, {n} weights: {result.message}\n{size_of(weights)}",
            file=sys.stderr,
        )


def size_of(weights: Trained) -> str:
    """How large the model is, without features that have no weight but 0."""
    size = weights.pruned_size()
    return (
        f"{size['features']:,} features, {size['weights']:,} weights, "
        f"{size['patterns']:,} label patterns, {size['mb']:.2f} MB"
    )
