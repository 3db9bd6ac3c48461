"""What benchmarks/papers/orders.py computes itself."""

import math

import pytest

TRAIN = [["a", "b"], ["a", "a"]]


@pytest.fixture(scope="module")
def orders(script):
    return script("orders")


def test_history_by_hand(orders):
    """Six events of three kinds; after "a" there are three, all different."""
    history = orders.History(TRAIN, 1)
    alone = (3 + 3 / 4) / (6 + 3)
    assert history.probability((), "a") == pytest.approx(alone)
    assert history.probability(("a",), "a") == pytest.approx((1 + 3 * alone) / (3 + 3))
    assert history.probability(("?",), "a") == pytest.approx(alone)


@pytest.mark.parametrize("order", range(4))
def test_history_is_a_distribution(orders, order):
    history = orders.History(TRAIN, order)
    for known in ((), ("a",), ("^", "a"), ("b", "a"))[: order + 1]:
        found = [history.probability(known, label) for label in ("a", "b", "$", "?")]
        assert sum(found) == pytest.approx(1)


def test_bits_are_those_of_all_events(orders):
    history = orders.History(TRAIN, 0)
    expected = [history.probability((), label) for label in ("b", "$")]
    bits = -sum(map(math.log2, expected)) / 2
    assert history.bits([["b"]]) == pytest.approx(bits)


def test_longer_history_tells_more(orders):
    cycle = [list("aabb" * 10)]
    bits = [orders.History(cycle, order).bits(cycle) for order in range(3)]
    assert bits[0] > bits[1] > bits[2] + 0.5


def test_docs_know_attributes_of_words(script):
    docs = script("fitting").make_docs([{"tokens": ["New", "York"]}], lambda _: [])
    assert [token.lower_ for token in docs[0]] == ["new", "york"]
