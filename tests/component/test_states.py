"""Predictions read published states, whatever training does meanwhile."""

import gc
import json
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import numpy as np
import pytest
from thinc.api import Adam

from spacy_hosemi.hierarchy.decoder import make_decoder
from spacy_hosemi.hierarchy.tree_trainer import TreeTrainer
from spacy_hosemi.model.span_scorer import build_span_scorer, weights_of
from spacy_hosemi.model.state import Published
from spacy_hosemi.training.trainer import Trainer

from ..helpers import (
    UNTRAINED,
    initialize,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
)
from ..hierarchy.test_component import TREE, example, examples_of
from ..test_saved_models import FOLDERS, load, make_example
from ..test_saved_models import make_doc as make_saved_doc

N_THREADS = 8
WORDS = "Ada Charles London Paris met wrote in to Babbage York".split()


def new_lines(k):
    """Texts with words and labels that no earlier one had."""
    label = f"NEW{k}" if k % 5 == 0 else "PER"
    return [f"[{label} Name{k} Word{k}] met [PER Ada] in [LOC Place{k}] ."]


class Recorder:
    """All states that a trainer publishes, and when each was the present one."""

    def __init__(self, pipe, monkeypatch):
        self.states, self.times, self._lock = [pipe.state], [0.0], Lock()
        kind = TreeTrainer if pipe.hierarchy else Trainer
        publish = kind.publish

        def recorded(trainer):
            state = publish(trainer)
            with self._lock:
                self.states.append(state)
                self.times.append(time.perf_counter())
            return state

        monkeypatch.setattr(kind, "publish", recorded)

    def between(self, start, end):
        """States that may have been the present one at some time from start to end."""
        nexts = [*self.times[1:], np.inf]
        spans = zip(self.states, self.times, nexts)
        return [x for x, first, last in spans if first <= end and start <= last]


def answers(decoder, doc):
    (found,) = decoder.predict([doc])
    return found.spans, found.scores


def predict_while_training(pipe, docs, train, monkeypatch):
    """Each prediction is that of a state that was the present one meanwhile."""
    pipe.confidence = True
    recorder = Recorder(pipe, monkeypatch)
    is_over = Event()

    def predict(seed):
        rng, found = np.random.default_rng(seed), []
        while not is_over.is_set() or not found:
            k = int(rng.integers(len(docs)))
            start = time.perf_counter()
            answer = answers(pipe, docs[k])
            found.append((k, start, time.perf_counter(), answer))
        return found

    with ThreadPoolExecutor(N_THREADS + 1) as pool:
        waiting = [pool.submit(predict, seed) for seed in range(N_THREADS)]
        saving = pool.submit(lambda: [pipe.to_bytes() for _ in range(3)])
        try:
            train()
        finally:
            is_over.set()
        saving.result()
        found = [x for one in waiting for x in one.result()]
    options, known = pipe.decoder.options, {}
    for k, start, end, answer in found:
        possible = recorder.between(start, end)
        for state in possible:
            if (id(state), k) not in known:
                decoder = make_decoder(state, options)
                known[id(state), k] = answers(decoder, docs[k])
        assert answer in [known[id(state), k] for state in possible]
    return recorder.states, found


@UNTRAINED
def test_threads_predict_while_one_trains(monkeypatch):
    nlp = make_nlp(features={"preset": "default", "min_count": 1})
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    rng = np.random.default_rng(0)
    docs = [make_doc(nlp, *rng.choice(WORDS, n).tolist()) for n in (1, 3, 9, 20)]
    before, optimizer = pipe.state, Adam(0.01)
    vector = pipe.get_weights()

    def train():
        for k in range(21):
            nlp.update(make_examples(nlp, new_lines(k)), sgd=optimizer)

    states, found = predict_while_training(pipe, docs, train, monkeypatch)
    after = pipe.state
    assert len({state.schema for state in states}) > 1 and len(found) > 50
    assert len(after.schema.labels) == len(before.schema.labels) + 5
    assert len(after.weights.names) > len(before.weights.names) + 100
    assert np.count_nonzero(after.weights.matrix) > 1000
    assert not vector.any() or before.weights.matrix.shape != after.weights.matrix.shape
    assert not before.weights.matrix.flags.writeable


@UNTRAINED
@pytest.mark.parametrize("exact_up_to", [140, 0])
def test_threads_predict_with_a_tree(exact_up_to, monkeypatch):
    nlp = make_nlp(
        hierarchy={**TREE, "exact_up_to": exact_up_to}, features={"min_count": 1}
    )
    nlp.initialize(lambda: examples_of(nlp))
    docs = [make_doc(nlp, *"Ada met Babbage in Paris".split()[:n]) for n in (2, 5)]
    optimizer = Adam(0.01)

    def train():
        for k in range(3):
            line = f"[PER/first Name{k}] met [LOC/city Place{k}] ."
            nlp.update([example(nlp, line), *examples_of(nlp)], sgd=optimizer)

    pipe = nlp.get_pipe("hosemi")
    states, _ = predict_while_training(pipe, docs, train, monkeypatch)
    assert len(states) > 1
    for array in states[0].levels.matrix:
        assert not array.flags.writeable


@UNTRAINED
@pytest.mark.parametrize(
    "change",
    [
        lambda nlp, pipe: nlp.update(make_examples(nlp), sgd=Adam(0.1)),
        lambda nlp, pipe: pipe.set_weights(pipe.get_weights() + 1.0),
        lambda nlp, pipe: pipe.add_label("NEW"),
        lambda nlp, pipe: pipe.prune(0.3),
        lambda nlp, pipe: initialize(nlp),
        lambda nlp, pipe: pipe.from_bytes(make_trained().get_pipe("hosemi").to_bytes()),
    ],
)
def test_a_published_state_never_changes(change):
    nlp = make_nlp()
    initialize(nlp)
    pipe, optimizer = nlp.get_pipe("hosemi"), Adam(0.1)
    for _ in range(3):
        nlp.update(make_examples(nlp), sgd=optimizer)
    state, doc = pipe.state, nlp.make_doc("Ada Lovelace met Mary in London")
    decoder = make_decoder(state, pipe.decoder.options)
    before = (
        answers(decoder, doc),
        state.weights.matrix.copy(),
        len(state.weights.names),
    )
    change(nlp, pipe)
    assert pipe.state is not state
    pipe.predict([doc])
    after = answers(decoder, doc), state.weights.matrix, len(state.weights.names)
    assert before[0] == after[0] and before[2] == after[2]
    assert (before[1] == after[1]).all()
    with pytest.raises(ValueError, match="read-only"):
        state.weights.matrix[:] = 0.0


def test_training_copies_only_what_predictions_have_seen():
    nlp = make_nlp()
    initialize(nlp)
    weights, optimizer = weights_of(nlp.get_pipe("hosemi").model), Adam(0.1)
    nlp.update(make_examples(nlp), sgd=optimizer)
    own = weights.state
    nlp.update(make_examples(nlp), sgd=optimizer)
    assert weights.state.matrix is own.matrix  # changed in place
    state = nlp.get_pipe("hosemi").state
    assert state.weights.matrix is own.matrix
    nlp.update(make_examples(nlp), sgd=optimizer)
    assert weights.state.matrix is not own.matrix
    assert weights.state.table is own.table and weights.state.names is own.names


class Source:
    """Numbers instead of labels and weights."""

    def __init__(self):
        self.value, self.n_published = 0, 0
        self.model = build_span_scorer()

    def is_current(self, state):
        return state == self.value

    def publish(self):
        self.n_published += 1
        return self.value


def test_nothing_is_published_until_somebody_reads():
    published = Published(source := Source())
    for _ in range(3):
        with published.change():
            source.value += 1
    assert source.n_published == 0
    assert [published.read() for _ in range(3)] == [3, 3, 3]
    assert source.n_published == 1


@pytest.mark.parametrize("is_long", [False, True])
def test_a_reader_sees_no_half_of_a_change(is_long):
    published = Published(source := Source())
    assert published.read() == 0
    with published.change():
        source.value = 1
    with ThreadPoolExecutor(1) as pool:
        with published.change(is_long=is_long):
            source.value = 2
            assert published.read() == 2  # the thread that changes it
            reading = pool.submit(published.read)
            if is_long:
                assert reading.result(timeout=10) == 1
            source.value = 3
        assert reading.result(timeout=10) == (1 if is_long else 3)
    assert published.read() == 3


def test_changes_within_a_change_are_one():
    published = Published(source := Source())
    assert published.read() == 0
    with published.change(), ThreadPoolExecutor(1) as pool:
        with published.change():
            source.value = 1
        assert pool.submit(published.read).result(timeout=10) == 0
    assert published.read() == 1


def test_a_change_that_fails_lets_others_go_on():
    published = Published(source := Source())
    with pytest.raises(KeyError), published.change():
        source.value = 1
        raise KeyError
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(published.read).result(timeout=10) == 1


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda x: x.name)
def test_no_state_is_left_to_the_garbage_collector(folder):
    """Weights would stay in memory until it runs, which sizes of arrays never hasten:
    those of many updates at once, if predictions read between them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings that left the package
        nlp = load(folder)
    pipe, sgd = nlp.get_pipe("hosemi"), nlp.resume_training()
    lines = (folder / "expected.jsonl").read_text("utf8").splitlines()

    def update_and_predict(given):
        nlp.update([make_example(nlp, given)], sgd=sgd)
        doc = nlp(make_saved_doc(nlp, given))
        assert all(ent._.confidence is None or ent._.confidence for ent in doc.ents)
        assert pipe.kbest(doc, 2)
        pipe.redecode(doc)

    update_and_predict(json.loads(lines[0]))
    gc.freeze()  # what there is: only what comes now is looked at
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for line in lines[1:3]:
            update_and_predict(json.loads(line))
        gc.collect()
        kinds = {type(found).__module__ for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not {kind for kind in kinds if kind.startswith("spacy_hosemi")}
