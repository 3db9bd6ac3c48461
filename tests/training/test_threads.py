"""A fit by several threads: the same bits."""

import pytest

from spacy_hosemi.core.parallel.team import ALONE, team_of
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
    monkeypatch.setattr(encoded_docs, "_DOCS", 2)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_weights_are_the_same_bits(config):
    def weights(threads):
        nlp = make_trained(
            3 * TRAIN, fit=lbfgs(threads=threads, tolerance=0.01), **config
        )
        return nlp.get_pipe("hosemi").weights

    one = weights(1)
    for threads in (2, 5):
        other = weights(threads)
        assert other.matrix.tobytes() == one.matrix.tobytes()
        assert other.pattern.tobytes() == one.pattern.tobytes()


def test_bits_of_one_evaluation(monkeypatch):
    nlp = make_nlp()
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    made = make_batch(pipe, 5 * make_examples(nlp, TRAIN))
    value, gradient = made.value_and_gradient()
    for n_tokens in (20, 10**6):  # in chunks, too
        monkeypatch.setattr(encoded_docs, "_CHUNK", n_tokens)
        made = make_batch(pipe, 5 * make_examples(nlp, TRAIN))
        with team_of(3) as made.team:
            other, found = made.value_and_gradient()
        assert other == value and found.tobytes() == gradient.tobytes()


def test_no_document():
    nlp = make_nlp()
    initialize(nlp)
    batch = make_batch(nlp.get_pipe("hosemi"), [])
    value, gradient = batch.value_and_gradient()
    assert value == 0.0 and not gradient.any()


def test_a_team_of_one_has_no_threads():
    with team_of(1) as team:
        assert team is ALONE
