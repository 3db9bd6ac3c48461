"""benchmarks/scores.py against counts."""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc, Span
from spacy.training import Example

VOCAB = spacy.blank("en").vocab
SPANS = st.sets(st.tuples(st.integers(0, 4), st.sampled_from("AB")))


pytestmark = pytest.mark.usefixtures("on_path")


def make_doc(spans, words=("a",) * 5):
    """Touching spans of one token each, one label a token."""
    doc = Doc(VOCAB, words=list(words))
    by_token = dict(sorted(spans))
    doc.set_ents([Span(doc, i, i + 1, label) for i, label in by_token.items()])
    return doc


@given(st.lists(st.tuples(SPANS, SPANS), max_size=5))
def test_sets_are_counted(pairs):
    from scores import exactness

    f1, records = exactness(*zip(*pairs)) if pairs else exactness([], [])
    if not pairs:
        assert f1 == 0 and records != records
        return
    right = Counter(found == gold for found, gold in pairs)
    assert records == pytest.approx(100 * right[True] / len(pairs))
    n_both = sum(len(found & gold) for found, gold in pairs)
    n_all = sum(len(found) + len(gold) for found, gold in pairs)
    assert f1 == pytest.approx(200 * n_both / n_all if n_all else 0)


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=5))
def test_documents_and_sets_agree(pairs):
    from scores import exactness, exactness_of, scores_of

    docs = [(make_doc(found), make_doc(gold)) for found, gold in pairs]
    own = ({(x.start, x.label_) for x in found.ents} for found, _ in docs)
    right = ({(x.start, x.label_) for x in gold.ents} for _, gold in docs)
    scores = scores_of([Example(*pair) for pair in docs])
    assert exactness_of(scores) == pytest.approx(exactness(own, right))


def test_records_without_a_complete_document():
    from scores import exactness_of, scores_of

    gold = Doc(VOCAB, words=["a"])
    found = exactness_of(scores_of([Example(Doc(VOCAB, words=["a"]), gold)]))
    assert found.f1 == 0 and found.records != found.records


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=5))
def test_counts_by_document_and_scores_agree(pairs):
    from scores import count, counted, differences, exactness_of, scores_of

    examples = [Example(make_doc(found), make_doc(gold)) for found, gold in pairs]
    counts = count(examples)
    expected = exactness_of(scores_of(examples))
    assert counted(counts.sum(axis=0)) == pytest.approx(expected)
    assert not differences(counts, counts).any()


def test_right_borders_count_without_labels():
    from scores import count, counted

    example = Example(make_doc({(0, "A"), (2, "B")}), make_doc({(0, "B"), (2, "B")}))
    assert count([example]).tolist() == [[1, 2, 2, 2, 1, 0]]
    assert counted(np.array([1, 3, 2, 2, 4, 1])) == (40, 25)


def test_differences_are_on_the_same_draws():
    from scores import differences, interval

    right, wrong = [2, 2, 2, 2, 1, 1], [1, 2, 2, 2, 1, 0]
    one, other = np.array([right] * 50), np.array([right] * 40 + [wrong] * 10)
    draws = differences(one, other)
    assert draws.shape == (2, 1000) and (draws >= 0).all()
    assert draws.mean(axis=1) == pytest.approx([10.0, 20.0], abs=0.5)
    assert interval(draws[0]).startswith("+")
    assert interval(differences(one[:9], other[40:49])[0]) == "+50.00 to +50.00"
