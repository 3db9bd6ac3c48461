"""Weights of lengths as sums: against loops, in training, and beside free ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_hosemi.model.weights.lengths import (
    differences,
    gradient_of_sums,
    sums,
)

from .helpers import make_examples, make_trained

SIZES = st.tuples(st.integers(0, 3), st.integers(1, 5))


def tables(shape):
    return arrays(np.float64, shape, elements=st.integers(-9, 9))


def summed_by_loops(steps, smoothing):
    if smoothing == 0:
        return steps
    return [
        [sum(row[: d + 1]) for d in range(len(row))]
        for row in summed_by_loops(steps, smoothing - 1)
    ]


@given(SIZES.flatmap(tables), st.integers(0, 3))
def test_sums(steps, smoothing):
    found = sums(steps, smoothing)
    assert found.tolist() == summed_by_loops(steps.tolist(), smoothing)
    assert differences(found, smoothing).tolist() == steps.tolist()


@given(st.data(), SIZES, st.integers(0, 3))
def test_gradient_is_the_transpose(data, shape, smoothing):
    steps, d_length = data.draw(tables(shape)), data.draw(tables(shape))
    by_steps = gradient_of_sums(d_length, smoothing)
    assert (steps * by_steps).sum() == (sums(steps, smoothing) * d_length).sum()


def test_forbidden_lengths_leave_the_shorter_ones_alone():
    length = np.array([[3.0, 5.0, -np.inf, -np.inf], [-np.inf] * 4])
    found = differences(length, 1)
    assert found[0, :2].tolist() == [3.0, 2.0]
    assert np.isfinite(found).all()


# --- in training ------------------------------------------------------------------


def fitted(length, **config):
    """The component, trained with this penalty on lengths, and its loss."""
    l2 = {"inside": 0.3, "start": 0.3, "end": 0.3, "pattern": 0.3, "length": length}
    fit = {"l2": l2, "tolerance": 0.0, "max_iter": 2000}
    nlp = make_trained(fit=fit, **config)
    pipe = nlp.get_pipe("hosemi")
    return pipe, pipe.value_and_gradient(make_examples(nlp))[0]


@pytest.mark.parametrize("smoothing", [1, 2])
def test_without_a_penalty_it_makes_no_difference(smoothing):
    free, loss = fitted(0.0, explicit_length=2)
    smooth, same = fitted(0.0, explicit_length=2, length_smoothing=smoothing)
    assert same == pytest.approx(loss, abs=1e-3)
    length = free.weights.length
    np.testing.assert_allclose(smooth.weights.length, length, atol=1e-2)
    assert np.abs(length).max() > 0.5


def test_more_of_it_less_between_neighbours():
    steps = []
    for penalty in (0.01, 0.3, 10.0):
        pipe, _ = fitted(penalty, explicit_length=5, length_smoothing=1)
        steps.append(np.square(np.diff(pipe.weights.length, axis=1)).sum())
    assert steps[0] > steps[1] > steps[2] > 0.0
