"""What batch training holds in memory, and that results do not depend on it."""

import tracemalloc

import numpy as np
import pytest

from spacy_hosemi.training import batch, feature_selection
from spacy_hosemi.training.feature_selection import FeatureCounts

from ..helpers import TRAIN, initialize, make_batch, make_examples, make_nlp, randomize


def make_pair(n, **config):
    nlp = make_nlp(**config)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    return make_batch(pipe, n * make_examples(nlp, TRAIN))


@pytest.mark.parametrize("n_tokens", [1, 7, 20, 10**6])
@pytest.mark.parametrize(
    "config", [{}, {"observed_order": 2, "features": {"transition": ["ORTH"]}}]
)
def test_documents_together_or_one_by_one(monkeypatch, n_tokens, config):
    value, gradient = make_pair(3, **config).value_and_gradient()
    monkeypatch.setattr(batch, "_CHUNK", n_tokens)
    other, found = make_pair(3, **config).value_and_gradient()
    assert other == value and found.tobytes() == gradient.tobytes()


def test_chunks():
    def sizes(n_tokens, *of_docs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch, "_CHUNK", n_tokens)
            return batch._chunks_of(of_docs)

    assert sizes(5, 3, 3, 2, 9, 1) == [(0, 1), (1, 3), (3, 4), (4, 5)]
    assert sizes(5, 0, 0, 9) == [(0, 2), (2, 3)]
    assert sizes(5) == [(0, 0)]


def peak_of(function):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_scores_of_few_documents_are_in_memory(monkeypatch):
    monkeypatch.setattr(batch, "_CHUNK", 100)
    few, many = make_pair(20), make_pair(400)
    few.value_and_gradient(), many.value_and_gradient()
    first, second = (peak_of(x.value_and_gradient) for x in (few, many))
    assert second < 1.2 * first + 20_000
    monkeypatch.setattr(batch, "_CHUNK", 10**6)  # the test would see it
    assert peak_of(make_pair(400).value_and_gradient) > 2 * first


@pytest.mark.parametrize("n_new", [0, 3, 50, 10**6])
def test_counts_are_summed_by_feature(monkeypatch, n_new):
    monkeypatch.setattr(feature_selection, "_N_NEW", n_new)
    rng = np.random.default_rng(0)
    counted, expected = FeatureCounts(), {}
    for _ in range(40):
        keys = np.unique(rng.integers(1, 60, 12).astype(np.uint64))
        counts = rng.integers(1, 9, len(keys))
        counted.add(keys, counts)
        for key, count in zip(keys.tolist(), counts.tolist()):
            n_tokens, n_docs = expected.get(key, (0, 0))
            expected[key] = n_tokens + count, n_docs + 1
    found = [x.tolist() for x in counted.all()]
    assert found[0] == sorted(expected)
    assert [*zip(*found[1:])] == [expected[key] for key in found[0]]
    assert [x.tolist() for x in counted.all()] == found


def test_counts_of_no_document():
    assert [len(x) for x in FeatureCounts().all()] == [0, 0, 0]


def test_counts_of_documents_that_repeat_take_no_more_memory(monkeypatch):
    monkeypatch.setattr(feature_selection, "_N_NEW", 1000)
    keys, counts = np.arange(1, 101, dtype=np.uint64), np.ones(100, np.int64)

    def count(n):
        counted = FeatureCounts()
        for _ in range(n):
            counted.add(keys, counts)
        assert counted.all()[2].tolist() == [n] * 100

    assert peak_of(lambda: count(2000)) < 1.2 * peak_of(lambda: count(20))
