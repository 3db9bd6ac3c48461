"""Several batches at a time: the same results, for any number of threads."""

from dataclasses import replace

import pytest
from spacy.tokens import Doc

from spacy_hosemi.core.parallel.ordered import N_OPEN
from spacy_hosemi.prediction import flat_decoder
from spacy_hosemi.prediction.posterior_cache import PosteriorCache
from spacy_hosemi.prediction.predictions import Predictions
from spacy_hosemi.prediction.records import find_records

from ..helpers import TRAIN, make_trained, parse, remembered, triples
from .test_functions import WORDS

TEXTS = [parse(line)[0] for line in TRAIN] * 30


@pytest.fixture(scope="module")
def nlp():
    return make_trained(confidence=True)


def predict(nlp, threads, docs=None):
    pipe = nlp.get_pipe("hosemi")
    pipe.threads = threads
    docs = [nlp.make_doc(text) for text in TEXTS] if docs is None else docs
    found = list(pipe.pipe(docs, batch_size=7))
    return [
        (doc.text, [(*span, ent._.confidence) for span, ent in zip(spans, doc.ents)])
        for doc in found
        for spans in [triples(doc.ents)]
    ]


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
@pytest.mark.parametrize("threads", [2, 5])
def test_equal_for_any_number(nlp, threads, decoding, monkeypatch):
    pipe = nlp.get_pipe("hosemi")
    monkeypatch.setattr(pipe, "decoding", decoding)
    pipe.set_weights(pipe.get_weights())  # no word has scores yet
    found = predict(nlp, threads)
    assert found == predict(nlp, 1)
    assert [text for text, _ in found] == TEXTS


@pytest.mark.parametrize("confidence", [True, False])
@pytest.mark.parametrize("tree", [{}, {"exact_up_to": 0}, {"exact_up_to": 9}])
def test_settings_of_one_call(tree, confidence):
    """Probabilities are those that are computed when they are asked for."""
    settings = {"confidence": not confidence}
    if tree:
        tree = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "_", **tree}
        settings["hierarchy"] = tree
    nlp = make_trained([x.replace("[PER", "[who_PER") for x in TRAIN], **settings)
    pipe = nlp.get_pipe("hosemi")
    before, state = pipe.settings, pipe.decoder.state
    of_call = {"hosemi": {"threads": 2, "confidence": confidence}}
    docs = [*nlp.pipe(TEXTS[:20], component_cfg=of_call)]
    records = [by_name["hosemi"] for doc in docs for *_, by_name in find_records(doc)]
    probs = [p for record in records for p in record["spans"].values()]
    probs += [record["whole"] for record in records]
    assert len(probs) > 20 and {p is not None for p in probs} == {confidence}
    assert pipe.settings is before and pipe.decoder.state is state
    for doc, other in zip(docs, nlp.pipe(TEXTS[:20]), strict=True):
        assert triples(doc.ents) == triples(other.ents)
        assert doc._.record_confidence == other._.record_confidence
        for ent, same in zip(doc.ents, other.ents, strict=True):
            assert ent._.confidence == same._.confidence
            assert ent._.label_path == same._.label_path


@pytest.mark.parametrize("name, value", [("threads", 0), ("confidence", 1)])
def test_settings_of_one_call_are_checked(nlp, name, value):
    with pytest.raises(ValueError, match=f"HS043.*{name}"):
        list(nlp.get_pipe("hosemi").pipe([], **{name: value}))


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
@pytest.mark.parametrize("scope", ["doc", "sents"])
def test_one_by_one_equals_batches(decoding, scope):
    """Bit for bit; and what a batch leaves of a document is its own."""
    nlp = make_trained(decoding=decoding)
    pipe = nlp.get_pipe("hosemi")
    pipe.settings = replace(pipe.settings, scope=scope)
    docs = [[nlp.make_doc(text) for text in TEXTS[:40]] for _ in range(2)]
    for doc in [*docs[0], *docs[1]]:
        for token in doc:
            token.is_sent_start = token.i % 3 == 0
    together = pipe.predict(docs[0])
    alone = [pipe.predict([doc])[0] for doc in docs[1]]
    assert [x.spans for x in together] == [x.spans for x in alone]
    for left, right, *pair in zip(together, alone, *docs):
        paths = right.posterior.paths(right.spans)
        assert left.posterior.paths(left.spans) == paths
        caches = [PosteriorCache(), PosteriorCache()]
        for cache, doc, found in zip(caches, pair, (left, right)):
            cache.store("x", [doc], Predictions.of([found]))
            assert remembered(cache, "x", doc, {"tokens": -1}) == (
                found.spans,
                paths,
            )
        assert caches[0].n_bytes > caches[1].n_bytes > 0  # all of a batch is kept
    assert sum(len(x.spans) for x in alone) > 20


@pytest.mark.parametrize("threads", [1, 3])
def test_no_documents(nlp, threads):
    assert predict(nlp, threads, []) == []
    assert predict(nlp, threads, [Doc(nlp.vocab)]) == [("", [])]


def test_the_stream_is_read_as_far_as_needed(nlp):
    pipe = nlp.get_pipe("hosemi")
    pipe.threads = 2
    n_read = 0

    def stream():
        nonlocal n_read
        for text in TEXTS:
            n_read += 1
            yield nlp.make_doc(text)

    found = pipe.pipe(stream(), batch_size=1)
    next(found)
    assert n_read <= 2 * N_OPEN + 2
    found.close()
    pipe.threads = 1


def test_one_bad_document_loses_only_itself(nlp, monkeypatch):
    pipe = nlp.get_pipe("hosemi")
    read, failed = flat_decoder.are_clean, []

    def fail(docs):
        if any("Nobody" in doc.text for doc in docs):
            raise ValueError("Nobody")
        return read(docs)

    monkeypatch.setattr(flat_decoder, "are_clean", fail)
    monkeypatch.setattr(
        pipe, "error_handler", lambda *args: failed.extend(args[2]), raising=False
    )
    found = predict(nlp, 3)
    assert [text for text, _ in found] == [x for x in TEXTS if "Nobody" not in x]
    assert len(failed) == len(TEXTS) - len(found) == 30


@pytest.mark.parametrize("features", [{}, {"features": WORDS}])
@pytest.mark.parametrize("threads", [1, 3])
def test_labels_that_come_while_a_stream_is_open(threads, features):
    """Whoever reads the stream adds them; what is in work fits the new weights."""
    nlp = make_trained(**features)
    expected = predict(nlp, 1)
    pipe = nlp.get_pipe("hosemi")
    pipe.threads, found = threads, []
    docs = (nlp.make_doc(text) for text in TEXTS)
    for k, doc in enumerate(pipe.pipe(docs, batch_size=8)):
        found.append(triples(doc.ents))
        if k % 16 == 0:
            pipe.add_label(f"N{k}")
    assert len(pipe.labels) > 2
    assert found == [[span[:3] for span in spans] for _, spans in expected]


def test_weights_that_change_while_a_stream_is_open(nlp):
    pipe = nlp.get_pipe("hosemi")
    weights, expected = pipe.get_weights(), predict(nlp, 1)
    pipe.threads = 2
    docs = (nlp.make_doc(text) for text in TEXTS)
    found = []
    for doc in pipe.pipe(docs, batch_size=4):
        found.append(triples(doc.ents))
        pipe.set_weights(weights)  # the same, but none that was summed is kept
    pipe.threads = 1
    assert found == [[span[:3] for span in spans] for _, spans in expected]
