"""Features that are met first in `update`: as if `initialize` had seen the document."""

import gc
import pickle
import tracemalloc

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from thinc.api import Adam

from spacy_hosemi.model.weights.online import SparseAdagrad
from spacy_hosemi.model.weights.storage import from_bytes, to_bytes
from spacy_hosemi.training import growth
from spacy_hosemi.training.growth import SeenDocs
from spacy_hosemi.training.kernels.rare_counts import count_rare, empty_table

from ..helpers import (
    SMALL,
    TRAIN,
    initialize,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    references,
    triples,
)
from .test_serialize import THROUGH

GOLD = [triples(doc.ents) for doc in references()]
LABELS = ["LOC", "PER"]


def make_empty(**config):
    """A pipeline with labels, initialized without examples."""
    nlp = make_nlp(**config)
    for label in LABELS:
        nlp.get_pipe("hosemi").add_label(label)
    nlp.initialize()
    return nlp


def saved(nlp):
    return nlp.get_pipe("hosemi").to_bytes(exclude=["vocab"])


def features(nlp):
    weights = nlp.get_pipe("hosemi").weights
    return dict(zip(weights.names, weights.counts.tolist(), strict=True))


def weights_by_name(nlp):
    weights = nlp.get_pipe("hosemi").weights
    return dict(zip(weights.names, weights.matrix.tolist(), strict=True))


def train(nlp, n_epochs=15):
    optimizer = Adam(0.001)
    examples = make_examples(nlp)
    for _ in range(n_epochs):
        for eg in examples:
            nlp.update([eg], sgd=optimizer)


# --- which features ---------------------------------------------------------------


words = st.lists(st.sampled_from("abcdeÄ"), max_size=6)
batches_of_words = st.lists(st.lists(words, max_size=3), max_size=5)


@given(batches_of_words, st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=12)
def test_features_are_those_of_one_initialization(batches, min_count, n_epochs):
    nlp = make_nlp(features={**SMALL, "whole": ["LOWER*"], "min_count": min_count})
    pipe = nlp.get_pipe("hosemi")
    pipe.add_label("A")
    texts = [text for batch in batches for text in batch]
    distinct = [list(text) for text in dict.fromkeys(map(tuple, texts))]

    def examples(texts):
        docs = [make_doc(nlp, *text) for text in texts]
        known = [make_doc(nlp, *text, ents=["O"] * len(text)) for text in texts]
        return [spacy.training.Example(*pair) for pair in zip(docs, known)]

    pipe.initialize(lambda: examples(distinct[:1]) or examples([[]]))
    for _ in range(n_epochs):
        for batch in batches:
            pipe.update(examples(batch), sgd=None)
    found, table = features(nlp), pipe.weights.table
    assert table.find(table.keys).tolist() == list(range(len(found)))
    assert pipe.weights.matrix.shape == (len(found), 2)
    pipe.initialize(lambda: examples(distinct) or examples([[]]))
    if min_count == 1 or len(distinct) < 2:
        assert found == features(nlp)
    else:  # what is rare in the first document is not counted with the others
        assert found.keys() <= features(nlp).keys()


def test_rare_features_are_counted_until_they_are_frequent():
    seen = SeenDocs()
    keys = np.array([7, 9], np.uint64)
    first = seen.frequent(keys, np.array([2, 1]), np.array([1, 1]), 3)
    assert first[0].tolist() == [False, False]
    second = seen.frequent(keys, np.array([2, 1]), np.array([1, 1]), 3)
    assert second[0].tolist() == [True, False]
    assert second[1].tolist() == [2, 2]
    third = seen.frequent(keys[1:], np.array([1]), np.array([1]), 3)
    assert third[0].tolist() == [True]
    assert third[1].tolist() == [3]


def test_features_must_come_more_often_in_a_long_stream(monkeypatch):
    monkeypatch.setattr(growth, "PERIOD", 2)
    nlp, found = spacy.blank("en"), []
    seen, ones = SeenDocs([make_doc(nlp, *"abc")]), np.array([1])
    for k in range(12):
        seen.new([make_doc(nlp, "a", str(k))])
        key = np.array([k + 1], np.uint64)
        needed = 1
        while not seen.frequent(key, 2 * ones, ones, 2)[0][0]:
            needed += 1
        found.append(needed)  # documents with two tokens each
    assert found == [1, 2, 2, 3, 3] + 7 * [4]
    # in as many documents, however often in one
    assert not seen.frequent(np.array([99], np.uint64), 100 * ones, ones, 2)[0][0]


def make_stream(n_batches, n_keys, size=8):
    rng = np.random.default_rng(0)
    of_keys = rng.integers(1, 2**63, n_keys).astype(np.uint64)
    for _ in range(n_batches):
        keys = of_keys[np.unique(rng.integers(0, n_keys, size))]
        yield keys, rng.integers(1, 4, len(keys)), rng.integers(1, 3, len(keys))


@pytest.mark.parametrize("n_sets, n_keys", [(1, 8), (2**16, 90)])
def test_rare_counts_are_those_of_a_dict(n_sets, n_keys):
    table, expected = empty_table(n_sets), {}
    for keys, in_tokens, in_docs in make_stream(500, n_keys):
        is_frequent, n_docs = count_rare(table, keys, in_tokens, in_docs, 12, 4)
        for k, key in enumerate(keys.tolist()):
            before = expected.pop(key, (0, 0))
            now = before[0] + in_tokens[k], before[1] + in_docs[k]
            assert is_frequent[k] == (now[0] >= 12 and now[1] >= 4)
            assert n_docs[k] == now[1]
            if not is_frequent[k]:
                expected[key] = now
        assert np.count_nonzero(table) == len(expected)


def test_rare_counts_are_forgotten_in_the_end():
    table, one = empty_table(4), np.array([1])

    def count(key):  # the same set for keys that differ by 4, say
        key = np.array([key * 2**40 + key], np.uint64)
        return count_rare(table, key, one, one, 10**4, 10**4)[1][0]

    for n, key in enumerate(range(8, 3000), 1):
        assert count(key) == 1
        assert count(7) == n  # comes again and again
        if n > 12:  # fewer than eight others of its set since
            assert count(key - 12) == 2
    assert count(500) == 1
    assert table.nbytes == 4 * 64


def test_rare_counts_have_an_end():
    table, key = empty_table(1), np.array([5], np.uint64)
    many = np.array([2**40])
    for _ in range(2):
        is_frequent, n_docs = count_rare(table, key, many, many, 2**50, 2**50)
        assert not is_frequent[0]
    assert n_docs[0] == 2**40 + 65_535
    assert count_rare(table, key, many, many, 65_535, 65_535)[0][0]


def stream_of_new_words(nlp, n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        new = ["".join(rng.choice([*"abcdefghijklmnopqrstuvwxyz"], 6)) for _ in "123"]
        words = ["She", "met", *new, "."]
        doc = make_doc(nlp, *words, ents=["O", "O", "B-PER", "I-PER", "O", "O"])
        yield spacy.training.Example(make_doc(nlp, *words), doc)


def bytes_left(nlp, n_before, n, sgd=None):
    """What documents of a stream leave, each: their words, and what is learnt."""
    for eg in stream_of_new_words(nlp, n_before, 0):
        nlp.update([eg], sgd=sgd)
    tracemalloc.start()
    try:
        for eg in stream_of_new_words(nlp, n, 1):
            nlp.update([eg], sgd=sgd)
        del eg
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / n
    finally:
        tracemalloc.stop()


def test_memory_of_a_stream_of_new_words(monkeypatch):
    """The first three letters of these words come again after a while."""
    monkeypatch.setattr(growth, "PERIOD", 50)
    of_words = bytes_left(spacy.blank("en"), 150, 100)
    left = {}
    for times in (1, 4):
        monkeypatch.setattr(growth, "MOST_TIMES", times)
        nlp = make_nlp(features={**SMALL, "start": ["PREFIX3[-1:1]", "LOWER[-3:3]"]})
        optimizer = initialize(nlp)
        left[times] = bytes_left(nlp, 150, 100, optimizer) - of_words
    assert left[4] < 1_000
    assert left[1] > 2 * left[4]


def test_a_document_is_new_once():
    nlp, seen = spacy.blank("en"), SeenDocs()
    docs = [make_doc(nlp, *text) for text in ("ab", "ba", "ab", "")]
    assert seen.new(docs) == [docs[0], docs[1], docs[3]]
    assert seen.new(docs) == []


def test_documents_of_initialize_bring_nothing():
    nlp = make_nlp(features={**SMALL, "min_count": 2})
    optimizer = initialize(nlp)
    before = features(nlp)
    for _ in range(2):
        nlp.update(make_examples(nlp), sgd=optimizer)
    assert features(nlp) == before
    nlp.update(make_examples(nlp, ["Zoe met Zoe."]), sgd=optimizer)
    assert "inside:LOWER=zoe" in features(nlp)
    assert "inside:LOWER=nobody" not in features(nlp)


def test_sentences_of_new_documents():
    nlp = make_nlp(scope="sents")
    nlp.add_pipe("sentencizer", first=True)
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    nlp.get_pipe("hosemi").add_label("PER")
    nlp.initialize()
    examples = make_examples(nlp, ["She wrote. [PER Ada] wrote."])
    nlp.update(examples, sgd=Adam(0.001), annotates=["sentencizer"])
    assert features(nlp)["inside:LOWER=wrote"] == 2  # sentences
    assert features(nlp)["start:SHAPE[-1]=^"] >= 2


def test_limit(monkeypatch):
    nlp = make_empty()
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 100)
    before = features(nlp).keys()
    with pytest.warns(UserWarning, match="HSW08.* 100; no more"):
        nlp.update(make_examples(nlp), sgd=Adam(0.001))
    nlp.update(make_examples(nlp, ["Zoe met Zoe."]), sgd=Adam(0.001))
    assert features(nlp).keys() == before


def test_features_that_were_dropped_come_back(tmp_path):
    make_trained(fit={"l1": 0.5, "l2": 0.0}).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    before, all_features = features(nlp), features(make_trained())
    assert before.keys() < all_features.keys()
    nlp.update(make_examples(nlp), sgd=nlp.resume_training())
    assert features(nlp).keys() == all_features.keys()


def test_a_loaded_model_grows(tmp_path):
    make_trained().to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    before = features(nlp)
    examples = make_examples(nlp, ["[PER Zoe] wrote."])
    nlp.update(examples, sgd=nlp.resume_training())
    assert set(features(nlp)) - set(before) == {
        f"{role}:LOWER=zoe" for role in ("inside", "end")
    }


# --- training ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown():
    nlp = make_empty()
    train(nlp)
    return nlp


def predict(nlp):
    return [triples(nlp(eg.predicted.copy()).ents) for eg in make_examples(nlp)]


def test_a_model_initialized_without_examples_learns(grown):
    assert predict(grown) == GOLD


@pytest.mark.parametrize("through", THROUGH)
def test_copies(through, grown, tmp_path):
    other = through(grown, tmp_path)
    assert saved(other) == saved(grown)
    assert predict(other) == GOLD
    train(other, n_epochs=1)
    assert features(other) == features(grown)


@pytest.mark.parametrize("marked", [["Nobody wrote ."], TRAIN[:1]])
def test_labels_and_features_are_met_together(marked):
    """None are known before training, or those of a part of the examples."""
    nlp = make_nlp()
    initialize(nlp, marked)
    train(nlp)
    assert predict(nlp) == GOLD


def test_same_seed_same_bytes_when_grown(grown):
    other = make_empty()
    train(other)
    assert saved(other) == saved(grown)


@pytest.mark.parametrize("config", [{}, {"encoding": "BIO"}, {"explicit_length": 2}])
def test_steps_are_those_of_a_model_that_had_the_features(config):
    """Without l2, which is shared by the documents that are known so far."""
    config = {"max_order": 1, "model": {"l2": 0.0}, **config}
    found = []
    for marked in (TRAIN, TRAIN[:1]):
        nlp = make_nlp(**config)
        initialize(nlp, marked, labels=LABELS)
        optimizer = Adam(0.001, use_averages=True)
        for eg in make_examples(nlp) * 3:
            # several batches to a step, so that there are gradients when it grows
            nlp.get_pipe("hosemi").update([eg], sgd=None)
            if eg.reference.text.startswith(("She", "Nobody")):
                nlp.get_pipe("hosemi").finish_update(optimizer)
        of_model = [weights_by_name(nlp)]
        with nlp.use_params(optimizer.averages):
            of_model.append(weights_by_name(nlp))
        found.append(of_model)
    for all_at_once, one_by_one in zip(*found):
        assert all_at_once.keys() == one_by_one.keys()
        for name, expected in all_at_once.items():
            np.testing.assert_allclose(one_by_one[name], expected, atol=1e-12)


def test_no_transitions_are_added():
    nlp = make_nlp(features={**SMALL, "transition": ["LOWER"]}, observed_order=1)
    optimizer = initialize(nlp, TRAIN[:1])
    before, size = features(nlp), nlp.get_pipe("hosemi").weights.matrix.size
    for _ in range(15):
        nlp.update(make_examples(nlp), sgd=optimizer)
    added = features(nlp).keys() - before.keys()
    assert not any(name.startswith("transition:") for name in added)
    weights = nlp.get_pipe("hosemi").weights
    assert weights.matrix.size == size + 3 * len(added)
    assert predict(nlp) == predict(pickle.loads(pickle.dumps(nlp))) == GOLD
    assert from_bytes(to_bytes(weights), weights.extractor).grows


@given(st.lists(st.integers(0, 5), max_size=6), st.data())
def test_rows_that_come_later_are_rows_of_zeros(sizes, data):
    """Against a matrix that had all rows from the beginning."""
    n_rows = 1 + sum(sizes)
    start = np.zeros((n_rows, 2))
    start[0] = 1.0
    grown, full = (
        SparseAdagrad(x.copy(), np.zeros_like(x)) for x in (start[:1], start)
    )
    n = 1
    for size in sizes:
        n += size
        weights = grown.grow(size)
        assert weights is grown.weights
        assert weights.flags.c_contiguous
        rows = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
        for step in (grown, full):
            step.gradient[rows] += np.arange(1, 2 * len(rows) + 1).reshape(-1, 2)
            step.touched.append(np.array(rows, np.int32))
            step.step(np.full(len(step.weights), 0.1), 0.5)
    assert grown.weights.tolist() == full.weights[:n].tolist()
    assert grown.averages().tolist() == full.averages()[:n].tolist()


# --- not initialized --------------------------------------------------------------


def test_update_needs_initialize():
    nlp = make_nlp()
    with pytest.raises(ValueError, match="HS102.*'hosemi'.*nlp.initialize"):
        nlp.update(make_examples(nlp), sgd=Adam(0.001))
