"""Scores kept in prediction equal those that are summed anew."""

from contextlib import nullcontext

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given
from thinc.api import Adam

from spacy_hosemi.features import TOKEN_ROLES as ROLES
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.span_scorer import weights_of
from spacy_hosemi.model.weights import doc_scorer
from spacy_hosemi.model.weights.doc_scorer import TokenScores
from spacy_hosemi.model.weights.potentials import score_rows
from spacy_hosemi.training import feature_selection as selection

from ..helpers import (
    TRAIN,
    change_weights,
    initialize,
    initialized,
    make_doc,
    make_examples,
    make_nlp,
    randomize,
)

FEATURES = {
    "preset": "none",
    "inside": ["BIAS", "LOWER", "POSITION", "NORM", "NUMBER", "LOWER{-2:2}"],
    "start": ["LOWER[-2:2]", "SHAPE[-1:1]", "LOWER[-1] & LOWER", "NUMBER[-1]"]
    + ["LOWER{-2:2}", "SHAPE{-2:2}", "LOWER{1:5}"],
    "end": ["SHAPE & LOWER[1] & NORM[-1]", "LOWER[3]", "POSITION{-1:1}"],
    "min_count": 1,
}
LISTS = {"letters": {"@misc": "hosemi_tests_letters.v1"}}
WORDS = sorted({word for line in TRAIN for word in line.split()})
words_n = st.lists(st.sampled_from([*WORDS, "new", "1999", " "]), max_size=9)


@spacy.registry.misc("hosemi_tests_letters.v1")
def make_letters():
    return lambda doc: [[*t.text[:3], ("size", len(t) / 8)] for t in doc]


@pytest.fixture(scope="module", params=["all", "pairs", "tags", "functions"])
def pipe(request):
    tags = {"encoding": "BIO"} if request.param == "tags" else {}
    functions = {"functions": LISTS} if request.param == "functions" else {}
    has_pairs = request.param == "pairs"
    with pytest.MonkeyPatch.context() as patch:
        if has_pairs:
            patch.setattr(selection, "MAX_WEIGHTS", 10)
        expected = pytest.warns(UserWarning, match="HSW03")
        with expected if has_pairs else nullcontext():
            pipe = random_pipe(features={**FEATURES, **functions}, **tags)
    assert (pipe.weights.pairs is None) == (not has_pairs)
    return pipe


def random_pipe(**config):
    pipe, _ = initialized(**{"features": FEATURES, **config})
    randomize(pipe)
    return pipe


def summed(pipe, doc):
    weights = pipe.weights
    return score_rows(weights, read_docs(weights, [doc]))[0]


def assert_same(left, right):
    for role in ROLES:
        found, expected = getattr(left, role), getattr(right, role)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def is_right(pipe, doc) -> bool:
    """Whether the prediction reads the weights that are there now."""
    (found,) = pipe.model.predict([doc])
    return np.allclose(found.start, summed(pipe, doc).start, atol=1e-6)


@given(st.lists(words_n, max_size=3))
def test_kept_scores_equal_fresh_ones(pipe, docs):
    for words in (*docs, *docs):
        doc = make_doc(pipe, *words)
        (found,) = pipe.model.predict([doc])
        assert_same(found, summed(pipe, doc))
        assert found.pattern.tolist() == pipe.weights.pattern.tolist()


@given(st.lists(words_n, max_size=4))
def test_documents_together(pipe, docs):
    docs = [make_doc(pipe, *words) for words in docs]
    together = pipe.model.predict(docs)
    for doc, found in zip(docs, together, strict=True):
        (alone,) = pipe.model.predict([doc])
        for role in ROLES:
            assert getattr(found, role).tobytes() == getattr(alone, role).tobytes()


def test_switched_off(pipe):
    doc = make_doc(pipe, "Ada", "met", "Mary")
    (on,) = pipe.model.predict([doc])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doc_scorer, "CACHES_WORDS", False)
        (off,) = pipe.model.predict([doc])
    assert_same(on, off)
    assert off.start.tolist() == summed(pipe, doc).start.tolist()


@pytest.mark.parametrize("n_bytes", [0, 1000, 10_000])
def test_little_memory(pipe, n_bytes):
    weights = pipe.weights
    if weights.extractor.features.functions:
        pytest.skip("what functions list is not kept")
    parts = weights.extractor, weights.table, weights.matrix, weights.pairs
    scores = TokenScores(*parts, len(weights.tail), n_bytes)
    rng = np.random.default_rng(0)
    for k in range(30):
        words = [*rng.choice(WORDS, size=k % 7).tolist(), f"new{k}"]
        doc = make_doc(pipe, *words)
        task, of_roles = scores.task(weights.extractor.read([doc]), is_partial=False)
        task.do()
        found = dict(zip(ROLES, of_roles, strict=True))
        expected = summed(pipe, doc)
        for role in ROLES:
            np.testing.assert_allclose(found[role], getattr(expected, role), atol=1e-12)


def test_weights_that_change(pipe):
    doc = make_doc(pipe, "Ada", "met", "Mary", "in", "London")
    start = pipe.get_weights()
    assert is_right(pipe, doc)
    pipe.set_weights(start + 1.0)
    assert is_right(pipe, doc)
    change_weights(pipe, matrix=pipe.weights.matrix + 1.0)
    assert is_right(pipe, doc)
    other = weights_of(pipe.model).to_bytes()
    pipe.set_weights(start)
    assert is_right(pipe, doc)
    weights_of(pipe.model).from_bytes(other)
    assert is_right(pipe, doc)
    pipe.set_weights(start)


def test_training_and_averages():
    nlp = make_nlp(features=FEATURES)
    initialize(nlp)
    pipe, optimizer = nlp.get_pipe("hosemi"), Adam(0.01, use_averages=True)
    doc = make_doc(pipe, "Ada", "met", "Mary", "in", "London")
    for eg in make_examples(nlp) * 2:
        nlp.update([eg], sgd=optimizer)
        assert is_right(pipe, doc)
        with nlp.use_params(optimizer.averages):
            assert is_right(pipe, doc)
            (average,) = pipe.model.predict([doc])
        assert is_right(pipe, doc)
    (last,) = pipe.model.predict([doc])
    assert not np.allclose(last.start, average.start, atol=1e-3)


def test_new_labels_and_features():
    nlp = make_nlp(features=FEATURES)
    pipe = nlp.get_pipe("hosemi")
    for marked in (TRAIN, [*TRAIN, "[A a] b [B c]", "a [C c] b"]):
        initialize(nlp, marked)
        doc = make_doc(pipe, "a", "b", "Ada")
        randomize(pipe)
        assert is_right(pipe, doc)


def test_memory_zone():
    pipe, expected = random_pipe(), None
    nlp = spacy.blank("en", vocab=pipe.vocab)
    for _ in range(3):
        with nlp.memory_zone():
            doc = nlp.make_doc("Zanzibar has unheard-of words in London")
            (found,) = pipe.model.predict([doc])
            assert_same(found, summed(pipe, doc))
            expected = expected or found
            assert_same(found, expected)
