"""Updates of trained weights: they go on from the fit, and ruin nothing."""

import copy

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hosemi.model.weights.online import OnlineSteps, first_squares

from ..helpers import TRAIN, make_examples, make_nlp, make_trained

KINDS = {
    "plain": {},
    "patterns": {"max_order": 2, "pattern_min_count": 1},
    "tags": {"encoding": "BIO"},
    "lengths": {"explicit_length": 3},
}


def read(corpus, nlp, name):
    docs = DocBin().from_disk(corpus / f"{name}.spacy").get_docs(nlp.vocab)
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def update(nlp, examples, size, passes=1):
    optimizer = nlp.resume_training()
    for _ in range(passes):
        for k in range(0, len(examples), size):
            nlp.update(examples[k : k + size], sgd=optimizer)


@pytest.fixture(scope="module")
def fitted(corpus):
    tokenizer = {"@tokenizers": "spacy_hosemi.FieldTokenizer.v1"}
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})
    pipe = nlp.add_pipe("hosemi", config={"max_order": 2})
    pipe.fit(read(corpus, nlp, "train"), nlp=nlp, progress=False)
    return nlp


@pytest.mark.parametrize("size", [1, 8, 40])
@pytest.mark.parametrize("way", ["fitted", "loaded", "pruned"])
def test_known_documents_change_nothing(fitted, corpus, way, size, tmp_path):
    """Before, one document took F1 from 90 to 60."""
    nlp = copy.deepcopy(fitted)
    if way == "loaded":
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
    elif way == "pruned":
        nlp.get_pipe("hosemi").prune(0.01)
    before = nlp.evaluate(read(corpus, nlp, "dev"))["ents_f"]
    update(nlp, read(corpus, nlp, "train")[:size], size, 3)
    assert nlp.evaluate(read(corpus, nlp, "dev"))["ents_f"] > before - 0.01 > 0.4


# --- what AdaGrad begins with ---------------------------------------------------------


def squares_by_name(state):
    """{(feature, label): square}, {label pattern: square}, of lengths [L, D]."""
    of_matrix, of_dense = first_squares(state)
    assert of_matrix.shape == state.matrix.shape
    by_name = {}
    for row, name in enumerate(state.names):
        rows = np.array([row], np.int32)
        _, columns, slots = state.slots(rows)
        for column, slot in zip(columns.tolist(), slots.tolist()):
            by_name[name, column] = of_matrix.ravel()[slot]
    split = len(state.pattern)
    return by_name, of_dense[:split], of_dense[split:].reshape(state.length.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_a_fit_begin_at_a_quarter_of_their_documents(kind):
    state = make_trained(**KINDS[kind]).get_pipe("hosemi").weights
    by_name, of_patterns, of_lengths = squares_by_name(state)
    counts = dict(zip(state.names, state.counts.tolist(), strict=True))
    assert by_name == {key: counts[key[0]] / 4 for key in by_name}
    assert {*of_patterns, *of_lengths.ravel()} == {len(TRAIN) / 4}


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_weights_begin_at_0(kind):
    nlp = make_nlp(**KINDS[kind])
    nlp.initialize(lambda: make_examples(nlp))
    state = nlp.get_pipe("hosemi").weights
    assert len(state.counts) and not any(map(np.any, first_squares(state)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_saved", [False, True])
def test_labels_that_are_added_begin_at_0(kind, is_saved):
    nlp = make_trained(**KINDS[kind])
    pipe = nlp.get_pipe("hosemi")
    n_labels, n_patterns = len(pipe.weights.tail), len(pipe.weights.pattern)
    for label in ("X", "Y"):
        pipe.add_label(label)
    if is_saved:
        pipe.from_bytes(pipe.to_bytes())
    state = pipe.weights
    by_name, of_patterns, of_lengths = squares_by_name(state)
    n_all = len(state.tail)
    assert n_all > n_labels
    for (_, column), square in by_name.items():
        assert (square == 0.0) == (n_labels <= column < n_all)
    assert of_patterns[:n_patterns].all() and not of_patterns[n_patterns:].any()
    assert of_lengths[:n_labels].all() and not of_lengths[n_labels:].any()


def test_features_that_are_added_begin_at_0():
    state = make_trained().get_pipe("hosemi").weights
    n_known, steps = len(state.names), OnlineSteps(state)
    names = ["inside:ORTH=x", "inside:ORTH=y"]
    keys, counts = np.array([1, 2], np.uint64), np.ones(2, np.int64)
    steps.add_features(state, keys, names, counts)
    squares = steps._matrix._squares
    assert len(squares) == n_known + 2
    assert squares[:n_known].all() and not squares[n_known:].any()
