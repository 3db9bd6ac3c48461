"""Successive halving against what it must do by definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hosemi.component.judging import error_of_scores
from spacy_hosemi.component.penalty_search import Trial
from spacy_hosemi.tuning.halving import FEW, RATIO, Halving, Judgement, sizes


def judgement(changes, f1, n=10):
    """100 n spans are gold and found; no annotation is complete."""
    counts = np.full((n, 4), 100)
    counts[:, 0], counts[:, 3] = np.round(100 * f1), 0
    return Judgement(changes, Trial(1.0, "viterbi", None, counts), 0.0)


def contest(values, n_documents, variants=lambda _: [], seed=0):
    """The contest of candidates whose F1 is known, and the calls of its judge."""
    calls = []

    def judge(changes, n):
        calls.append((changes.get("k", 0), n))
        f1 = values[changes.get("k", 0)]
        if f1 is None:
            return Judgement(changes, None, 0.0, "no")
        return judgement(changes, f1)

    candidates = [{}, *({"k": k} for k in range(1, len(values)))]
    found = Halving(candidates, n_documents, variants, seed)
    return found, found.steps(judge), calls


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=30),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_rounds(values, n_rounds, seed):
    """Each round has the best third of the one before, and the config as it is."""
    n_documents = [10 * RATIO**k for k in range(n_rounds)]
    found, steps, calls = contest([x / 100 for x in values], n_documents, seed=seed)
    for _ in steps:
        pass
    assert found.best.score == max(values) / 100
    assert [n for _, n in calls] == sorted(n for _, n in calls)
    for before, after in zip(found.rounds, found.rounds[1:]):
        n = math.ceil(len(before.candidates) / RATIO)
        best = [one.changes for one in before.ranked[:n]]
        assert after.candidates[0] == {} and len(before.candidates) > FEW + 1
        assert after.candidates[1:] == [x for x in best if x != {}]
        assert after.n_documents == RATIO * before.n_documents
    last = found.rounds[-1]
    assert last.is_complete
    assert len(found.rounds) == n_rounds or len(last.candidates) <= FEW + 1


def test_the_order_is_that_of_the_seed():
    values = [0.5] * 20

    def order(seed):
        found, *_ = contest(values, [10], seed=seed)
        return found.current.candidates

    assert order(1) == order(1) != order(2)
    assert order(1)[0] == order(2)[0] == {}


def test_variants_of_the_best_one_take_part_in_round_2():
    values = [0.1, 0.2, 0.9, 0.3, 0.4, 0.5, 0.95]
    given = []

    def variants(changes):
        given.append(changes)
        return [{"k": 6}, {"k": 1}]  # the second one has been judged

    candidates = {"k": 6}
    found = Halving([{}, *({"k": k} for k in range(1, 6))], [10, 30, 90], variants)
    for _ in found.steps(lambda c, n: judgement(c, values[c.get("k", 0)])):
        pass
    assert given == [{"k": 2}]
    assert found.rounds[1].candidates == [{}, {"k": 2}, {"k": 5}, candidates]
    assert found.best.changes == candidates


@pytest.mark.parametrize(
    "n, number, best", [(0, None, None), (1, 1, {}), (6, 1, {"k": 3}), (7, 1, {"k": 3})]
)
def test_the_best_one_when_it_is_stopped(n, number, best):
    """Of round 2 only if the best one of round 1 is judged in it."""
    values = [0.1, 0.2, 0.5, 0.9, 0.3, 0.4]

    def judge(changes, n_documents):
        if sum(len(one.judged) for one in found.rounds) == n:
            raise KeyboardInterrupt
        return judgement(changes, values[changes.get("k", 0)])

    candidates = [{}, *({"k": k} for k in range(1, 6))]
    found = Halving(candidates, [10, 30], lambda _: [])
    with pytest.raises(KeyboardInterrupt):
        for _ in found.steps(judge):
            pass
    assert (found.decisive and found.decisive.number) == number
    assert (found.best and found.best.changes) == best


def test_a_candidate_that_cannot_be_trained():
    found, steps, _ = contest([0.5, None, 0.4, None, None, None], [10, 30])
    for _ in steps:
        pass
    assert found.best.changes == {}
    assert {"k": 1} not in found.rounds[1].candidates
    failed = next(one for one in found.rounds[0].judged if one.trial is None)
    assert all(map(math.isnan, failed.gain(found.best))) and failed.shown == ("-", "-")


def test_a_gain_within_its_error_is_none():
    """Ten spans more in a document and eight fewer in another; one more in each."""
    one, two = judgement({}, 0.5), judgement({"k": 1}, 0.5)
    two.trial.counts[:2, 0] = 60, 42
    found = Halving([{}, {"k": 1}], [10], lambda _: [])
    for _ in found.steps(lambda changes, n: two if changes else one):
        pass
    assert found.current.ranked[0] is two and found.best is one
    two.trial.counts[:, 0] = 51
    assert found.best is two


def test_the_gain_is_paired():
    one, two = judgement({}, 0.5), judgement({}, 0.7)
    assert two.gain(one)[0] == pytest.approx(0.2)
    assert two.gain(one)[1] == error_of_scores(two.trial.counts, one.trial.counts)


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(0, 1)), min_size=1, max_size=300
    ),
    st.integers(1, 500),
    st.integers(1, 50),
)
def test_sizes(docs, least_tokens, least_docs):
    n_tokens, n_spans = zip(*docs)
    found = sizes(n_tokens, n_spans, least_tokens, least_docs)
    assert found[-1] == len(docs) and found == sorted(found) and len(found) > 1
    assert len({*found}) == len(found) or found == [len(docs)] * 2
    first = found[0]

    def is_enough(n):
        return sum(n_spans[:n]) >= least_docs and sum(n_tokens[:n]) >= least_tokens

    assert first == len(docs) or is_enough(first)
    assert first == len(docs) or not is_enough(first - 1)
    for a, b in zip(found[:-2], found[1:-1]):
        assert b == RATIO * a
    if found[0] < len(docs):
        assert found[-2] * 3 <= found[-1] * 2 and found[-1] < RATIO * found[-2] * 1.5
