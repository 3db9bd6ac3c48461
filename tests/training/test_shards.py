"""Sums of documents by shards: the same bits wherever they are computed."""

import pickle

import numpy as np
import pytest

from spacy_hosemi.model.weights.state import of_rows
from spacy_hosemi.training import encoded_docs

from ..helpers import (
    TRAIN,
    initialize,
    lbfgs,
    make_batch,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
)
from .test_threads import CONFIGS


@pytest.fixture(autouse=True)
def many_shards(monkeypatch):
    monkeypatch.setattr(encoded_docs, "_DOCS", 2)
    monkeypatch.setattr(encoded_docs, "_CHUNK", 20)
    monkeypatch.setattr(encoded_docs, "_SHARD", 2)


def make(config):
    nlp = make_nlp(**config)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    return make_batch(pipe, 5 * make_examples(nlp, TRAIN))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_shards_by_themselves(config):
    batch = make(config)
    docs = batch.docs
    assert docs.n_shards > 2

    def by_themselves(state):
        for k in range(docs.n_shards):
            own = pickle.loads(pickle.dumps(docs.shard(k)))
            assert own.n_shards == 1
            yield own.sum(of_rows(state, docs.rows_of_shard(k)))

    value, gradient = batch.value_and_gradient()
    batch.sums = by_themselves
    other, found = batch.value_and_gradient()
    assert other == value and found.tobytes() == gradient.tobytes()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_shards_change_nothing_but_rounding(monkeypatch, config):
    value, gradient = make(config).value_and_gradient()
    monkeypatch.setattr(encoded_docs, "_SHARD", 10**6)
    whole = make(config)
    assert whole.docs.n_shards == 1
    other, found = whole.value_and_gradient()
    assert other == value
    np.testing.assert_allclose(found, gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_same_bits_for_any_number_of_threads(config):
    def weights(threads):
        fit = lbfgs(threads=threads, tolerance=0.01)
        return make_trained(3 * TRAIN, fit=fit, **config).get_pipe("hosemi").weights

    one, other = weights(1), weights(3)
    assert other.matrix.tobytes() == one.matrix.tobytes()
    assert other.pattern.tobytes() == one.pattern.tobytes()


def test_there_are_not_too_many(monkeypatch):
    monkeypatch.setattr(encoded_docs, "_MOST_SHARDS", 3)
    blocks = encoded_docs.blocks_of([20] * 14, 3)
    assert blocks.shards == [(0, 3), (3, 6), (6, 7)]
    own = blocks.of_shard(1)
    assert own.borders == [0, 2, 4, 6] and own.shards == [(0, 3)]


def test_no_document():
    nlp = make_nlp()
    initialize(nlp)
    batch = make_batch(nlp.get_pipe("hosemi"), [])
    value, gradient = batch.value_and_gradient()
    assert value == 0.0 and not gradient.any()
