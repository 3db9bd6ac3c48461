"""benchmarks/scores.py against counts."""

from collections import Counter

import hypothesis.strategies as st
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
    from scores import exactness_of, scores_of
    from settings import counts_of, differences
    from settings import exactness_of as exactness_of_counts

    examples = [Example(make_doc(found), make_doc(gold)) for found, gold in pairs]
    counts = counts_of(examples)
    expected = exactness_of(scores_of(examples))
    assert exactness_of_counts(counts) == pytest.approx(expected)
    assert not differences(counts, counts).any()


def test_differences_are_on_the_same_draws():
    import numpy as np
    from settings import differences, interval

    one = np.array([[2, 2, 2, 1]] * 50)
    other = np.array([[2, 2, 2, 1]] * 40 + [[1, 2, 2, 1]] * 10)
    draws = differences(one, other)
    assert draws.shape == (1000, 2) and (draws >= 0).all()
    assert draws.mean(axis=0) == pytest.approx([10.0, 20.0], abs=0.5)
    assert interval(draws[:, 1]).startswith("+")
