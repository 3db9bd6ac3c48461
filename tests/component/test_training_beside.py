"""Threads predict, read confidences and save while another one trains.

Each prediction equals, bit for bit, that of one state that was published between its
start and its end: every state that a prediction read is kept, and predicts once more in
one thread. Sizes come from the environment, for longer runs:

    export HOSEMI_THREADS=8 HOSEMI_DOCS=20000 HOSEMI_RUNS=10
    python -m pytest tests/component/test_training_beside.py
"""

import os
import threading
from itertools import count
from traceback import format_exception

import numpy as np
import pytest
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hosemi.component import predict
from spacy_hosemi.component.initialize import fitted

from ..helpers import MANY_EXISTING, lbfgs, make_nlp

N_THREADS = int(os.environ.get("HOSEMI_THREADS", 4))
N_DOCS = int(os.environ.get("HOSEMI_DOCS", 160))
N_RUNS = int(os.environ.get("HOSEMI_RUNS", 1))
N_UNKNOWN = 200
N_NEW_LABELS = 5
DEFAULT = {"preset": "default", "min_count": 1}


def read_docs(path, vocab):
    return [*DocBin().from_disk(path).get_docs(vocab)]


def make_examples(nlp, docs):
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def make_ruled_nlp(path, **settings):
    """A trained pipeline, whose ruler sets entities with labels that the model lacks.

    RETURNS (Tuple[Language, List[Doc]]): Also what it was trained on.
    """
    nlp = make_nlp(features=DEFAULT, max_order=1, **settings)
    docs = read_docs(path, nlp.vocab)
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": lbfgs(max_iter=10)}
    nlp.initialize(lambda: make_examples(nlp, docs))
    ruler = nlp.add_pipe("entity_ruler", first=True)
    words = sorted({token.text for doc in docs for token in doc if token.is_alpha})
    chosen = words[:: max(1, len(words) // N_UNKNOWN)][:N_UNKNOWN]
    ruler.add_patterns(
        [{"label": f"RULE{k}", "pattern": word} for k, word in enumerate(chosen)]
    )
    return nlp, docs


def said(doc):
    """Everything that the component says of a document."""
    ents = [ent for ent in doc.ents if not ent.label_.startswith("RULE")]
    return [(ent.start, ent.end, ent.label_, ent._.confidence) for ent in ents]


class Recorder:
    """Keeps the decoder of every state that a prediction has read."""

    def __init__(self, monkeypatch):
        self.decoders = []
        make = predict.make_decoder

        def make_and_keep(*args):
            decoder = make(*args)
            self.decoders.append(decoder)
            return decoder

        monkeypatch.setattr(predict, "make_decoder", make_and_keep)


def predict_all(nlp, texts, recorder, found, failed):
    """Predict one document after the other, and note which states can be the one."""
    for k, text in texts:
        try:
            first = max(len(recorder.decoders) - 1, 0)
            doc = nlp(text)
            found.append((k, first, len(recorder.decoders), said(doc)))
        except Exception as e:
            failed.append("".join(format_exception(e)))


def train(nlp, docs, is_over, failed):
    """Updates that change weights and add labels, until all is predicted."""
    hosemi, sgd = nlp.get_pipe("hosemi"), nlp.create_optimizer()
    try:
        for step in count():
            if is_over.is_set() and step > 4 * N_NEW_LABELS:
                return
            start = 4 * step % (len(docs) - 4)
            hosemi.update(make_examples(nlp, docs[start : start + 4]), sgd=sgd)
            if step % 4 == 0 and step < 4 * N_NEW_LABELS:
                hosemi.add_label(f"NEW{step // 4}")
    except Exception as e:
        failed.append("".join(format_exception(e)))


# English's own tokenizer does not cut at some borders of spans.
@pytest.mark.filterwarnings("ignore:.HSW01")
@MANY_EXISTING
@pytest.mark.parametrize("run", range(N_RUNS))
@pytest.mark.parametrize("confidence", [True, False])
def test_each_prediction_is_that_of_one_state(confidence, run, corpus, monkeypatch):
    nlp, docs = make_ruled_nlp(corpus / "train.spacy", confidence=confidence)
    hosemi = nlp.get_pipe("hosemi")
    fitted.discard(hosemi)  # it trains on
    before = hosemi.get_weights()
    texts = [(k, f"{docs[k % len(docs)].text} {k % 97}") for k in range(N_DOCS)]
    recorder = Recorder(monkeypatch)
    found, failed, is_over = [], [], threading.Event()
    args = [
        (nlp, texts[i::N_THREADS], recorder, found, failed) for i in range(N_THREADS)
    ]
    threads = [threading.Thread(target=predict_all, args=x) for x in args]
    trainer = threading.Thread(target=train, args=(nlp, docs, is_over, failed))
    saver = threading.Thread(target=lambda: [nlp.to_bytes() for _ in range(3)])
    for thread in (trainer, saver, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    is_over.set()
    trainer.join()
    saver.join()
    assert not failed, failed[0]
    assert len(found) == N_DOCS
    after = hosemi.get_weights()
    assert len(hosemi.labels) >= 3 + N_NEW_LABELS
    assert not any(label.startswith("RULE") for label in hosemi.labels)
    assert len(after) > len(before)
    assert np.count_nonzero(after[: len(before)] != before) >= 1000
    assert len(recorder.decoders) > 1
    monkeypatch.undo()
    again = {}
    different = [
        k
        for k, first, end, said_then in found
        if not any(
            said_with(nlp, decoder, texts[k][1], again) == said_then
            for decoder in recorder.decoders[first : end + 1]
        )
    ]
    assert different == []
    # some documents are told apart by the state, or nothing was tested
    assert (
        len({str(said_with(nlp, x, texts[0][1], again)) for x in recorder.decoders}) > 1
    )


def said_with(nlp, decoder, text, known):
    """What is said of a text with the state of a decoder, in this thread."""
    if (key := (id(decoder), text)) not in known:
        doc = nlp.get_pipe("entity_ruler")(nlp.make_doc(text))
        (prediction,) = decoder.predict([doc])
        scores = prediction.scores
        if scores is None:
            paths = prediction.posterior.paths(prediction.spans)
            scores = [path[-1][1] for path in paths]
        known[key] = [(*span, p) for span, p in zip(prediction.spans, scores)]
    return known[key]
