"""A fit by several threads: the same bits."""

import pytest

from spacy_hosemi.core.parallel.team import ALONE, team_of
from spacy_hosemi.training import blocks

from ..helpers import TRAIN, fit_anew, initialized, lbfgs, make_batch, randomize

CONFIGS = {
    "default": {},
    "chain": {"encoding": "BIO", "max_order": 1},
    "pairs": {"features": {"all_labels": False, "min_count": 1}},
    "transitions": {"observed_order": 2, "features": {"transition": ["ORTH"]}},
    "lengths": {"explicit_length": 3, "features": {"within": ["LOWER"]}},
    "within": {"features": {"within": ["LOWER"], "whole": ["TOKENS"]}},
    "rules": {"label_rules": ["LOC at most once"]},
}


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_DOCS", 2)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_weights_are_the_same_bits(config):
    def weights(threads):
        fit = lbfgs(threads=threads, tolerance=0.01)
        return fit_anew(3 * TRAIN, fit=fit, **config).get_pipe("hosemi").weights

    one, other = weights(1), weights(3)
    assert other.matrix.tobytes() == one.matrix.tobytes()
    assert other.pattern.tobytes() == one.pattern.tobytes()


def test_bits_of_one_evaluation(monkeypatch):
    pipe, examples = initialized()
    randomize(pipe)
    value, gradient = make_batch(pipe, 5 * examples).value_and_gradient()
    for n_tokens in (20, 10**6):  # in chunks, too
        monkeypatch.setattr(blocks, "_CHUNK", n_tokens)
        batch = make_batch(pipe, 5 * examples)
        for n_threads in (2, 5):
            with team_of(n_threads) as batch.team:
                other, found = batch.value_and_gradient()
            assert other == value and found.tobytes() == gradient.tobytes()


def test_no_document():
    batch = make_batch(initialized()[0], [])
    value, gradient = batch.value_and_gradient()
    assert value == 0.0 and not gradient.any()


def test_a_team_of_one_has_no_threads():
    with team_of(1) as team:
        assert team is ALONE
