"""Choosing documents that are uncertain and not like each other."""

import math
import random
from collections import Counter

import numpy as np
import pytest
import spacy
from hypothesis import given, strategies

from spacy_hosemi.explain.uncertainty import (
    Uncertain,
    choose,
    choose_spread,
    word_vectors,
)

NLP = spacy.blank("en")


def docs_of(texts):
    return [NLP.make_doc(text) for text in texts]


def uncertain(texts, values):
    docs = docs_of(texts)
    return [Uncertain(k, x, len(x), y) for k, (x, y) in enumerate(zip(docs, values))]


def cosines(docs):
    """By the definition, over sets of words and shapes."""
    words = [{x for t in doc for x in (t.lower_, t.shape_)} for doc in docs]
    n_docs = Counter(word for own in words for word in own)
    weight = {word: math.log(1 + len(docs) / n) for word, n in n_docs.items()}
    length = [math.sqrt(math.fsum(weight[x] ** 2 for x in own)) for own in words]
    return [
        [
            math.fsum(weight[x] ** 2 for x in one & other) / (a * b)
            for other, b in zip(words, length)
        ]
        for one, a in zip(words, length)
    ]


def gain(worth, similar, chosen, k):
    """Of a document beside those that are chosen, compared with all of them."""
    return worth[k] * (1 - max((similar[k][x] for x in chosen), default=0.0))


def random_texts(seed, n):
    rng = random.Random(seed)
    words = [f"{rng.choice('abcdefgh')}{k}" for k in range(12)] + ["Rome", "rome", ","]
    return [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(n)]


@given(strategies.integers(0, 10**6), strategies.integers(1, 15))
def test_as_by_brute_force(seed, n):
    docs = docs_of(random_texts(seed, 12))
    worth = np.random.default_rng(seed).uniform(0.5, 1.0, len(docs))
    found = choose_spread(worth, word_vectors(docs), n)
    assert len({*found}) == len(found) == min(n, 12)
    similar = cosines(docs)
    for i, k in enumerate(found):
        left = {*range(12)} - {*found[:i]}
        best = max(gain(worth, similar, found[:i], other) for other in left)
        assert gain(worth, similar, found[:i], k) == pytest.approx(best, abs=2e-9)


def test_vectors():
    docs = docs_of(["Rome , Rome", "rome ,", "rome ,", ",", " "])
    found = word_vectors(docs)
    assert np.allclose((found @ found.T).toarray(), cosines(docs), atol=1e-15)
    assert found.shape == (5, 5)  # rome, Xxxx, xxxx, the comma, the space


def test_the_same_document_twice_comes_after_all_others():
    texts = ["Ada met Mary", "Ada met Mary", "Ada left", "Ada met Mary", "Rome"]
    found = uncertain(texts, [5.0, 6.0, 0.1, 7.0, 0.2])
    assert [x.index for x in choose(found, 3, is_total=True)] == [3, 4, 2]
    assert [x.index for x in choose(found, 9, is_total=True)] == [3, 4, 2, 1, 0]
    assert [x.index for x in choose(found, 3, True, False)] == [3, 1, 0]


def test_documents_that_are_all_alike():
    found = uncertain(["Ada met Mary"] * 4, [1.0, 3.0, 3.0, 0.0])
    assert [x.index for x in choose(found, 4)] == [1, 2, 0, 3]


@pytest.mark.parametrize("is_diverse", [True, False])
@pytest.mark.parametrize("is_total", [True, False])
def test_documents_without_tokens_and_without_uncertainty(is_total, is_diverse):
    assert choose([], 3, is_total, is_diverse) == []
    found = uncertain(["", "Rome", "Ada", " ", ""], [9.0, 0.0, -1e-16, 0.0, 9.0])
    assert choose(found[:1], 3, is_total, is_diverse) == []
    chosen = choose(found, 10, is_total, is_diverse)
    assert [x.index for x in chosen] == [1, 2, 3]


def test_long_documents():
    found = uncertain(["Rome " * 9, "Ada met Mary", "Paris"], [3.0, 2.0, 1.0])
    assert [x.index for x in choose(found, 3, is_total=True)] == [0, 1, 2]
    assert [x.index for x in choose(found, 3)] == [2, 1, 0]
