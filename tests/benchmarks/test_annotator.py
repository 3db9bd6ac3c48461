"""What an annotator is said to do."""

import pytest

from spacy_hosemi.component.judging import DocumentResult


@pytest.fixture(scope="module")
def annotator(script):
    return script("annotator")


@pytest.mark.parametrize(
    "found, gold, n",
    [
        ([], [], 0),
        ([(0, 3, "A"), (4, 6, "B")], [(0, 3, "A"), (4, 6, "B")], 0),
        ([(0, 3, "A")], [], 1),  # deleted
        ([], [(0, 3, "A"), (4, 6, "B")], 2),  # added
        ([(0, 3, "A")], [(0, 3, "B")], 1),  # another label
        ([(0, 3, "A")], [(2, 6, "A")], 1),  # other borders
        ([(0, 6, "A")], [(0, 3, "A"), (3, 6, "A")], 2),  # made shorter, one added
        ([(0, 3, "A"), (3, 6, "A")], [(0, 6, "A")], 2),  # made longer, one deleted
        ([(0, 3, "A"), (8, 9, "A")], [(1, 3, "A"), (5, 6, "A")], 3),
    ],
)
def test_touches(annotator, found, gold, n):
    answer = DocumentResult("x" * 10, frozenset(found), frozenset(gold), True)
    assert annotator.n_touches(answer) == n


def test_costs_and_area(annotator):
    numbers = (10, 100, 50, 40.0), (20, 180, 60, 60.0), (40, 300, 70, 80.0)
    rounds = [annotator.Round(*x) for x in numbers]
    assert annotator.cost_until(rounds, "n_docs", 70.0) == 20
    assert annotator.cost_until(rounds, "n_touched", 50.0) == 5
    assert annotator.cost_until(rounds, "n_words", 40.0) == 0
    assert annotator.cost_until(rounds, "n_words", 90.0) == 200
    assert annotator.area(rounds, 20) == pytest.approx(50)
    assert annotator.area(rounds, 40) == pytest.approx((11 * 50 + 20 * 70.5) / 31)
