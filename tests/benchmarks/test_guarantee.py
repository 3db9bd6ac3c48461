"""Promises hold where the truth is known, and do not where the model is another one."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def benchmark(script):
    return script("guarantee")


@pytest.fixture(scope="module")
def known(benchmark):
    return benchmark.known_model(600, 40)


def test_the_model_is_known(known):
    """Segmentations are drawn with the probabilities that it says."""
    error = np.sqrt((known.confidence * (1 - known.confidence)).sum() / 40)
    expected, found = (1 - known.confidence).sum(), known.drawn.mean(axis=1).sum()
    assert abs(found - expected) < 4 * error
    assert (known.doubled >= known.confidence - 1e-9).mean() > 0.8


@pytest.mark.parametrize("error", [0.05, 0.1])
def test_promises(benchmark, known, error):
    """At delta = .2 more than 27 % of 200 draws have a probability below 1 %."""
    above, doubled, accepted = benchmark.exceeded(known, 200, 400, error, 0.2)
    assert above <= 0.27 < 0.6 < doubled
    assert accepted > 0.1
