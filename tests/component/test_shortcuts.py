"""Documents that nothing limits are predicted by a shortcut: the same without it."""

import pytest

from spacy_hosemi.component import predict
from spacy_hosemi.features.instances import Instances
from spacy_hosemi.prediction.existing_entities import before_prediction
from spacy_hosemi.prediction.flat_decoder import FlatDecoder
from spacy_hosemi.prediction.posterior_cache import CACHE

from ..helpers import lbfgs, make_trained, triples

TEXTS = (
    "Ada Lovelace wrote to Mary Somerville in London.",
    "",
    "London",
    "He met Ada Lovelace.",
)


def predicted(nlp, monkeypatch, is_on):
    """Spans, confidences and bytes that were kept; confidences in two ways."""
    pipe = nlp.get_pipe("hosemi")
    n_lazy = []
    if not is_on:
        init = FlatDecoder.__init__

        def slow(self, *args):
            init(self, *args)
            self._is_plain = False

        monkeypatch.setattr(FlatDecoder, "__init__", slow)
    else:
        from_arrays = FlatDecoder._from_arrays

        def counted(self, batch, *args):
            n_lazy.append(len(batch.docs))
            return from_arrays(self, batch, *args)

        monkeypatch.setattr(FlatDecoder, "_from_arrays", counted)
    pipe.temperature = 2.0  # another decoder
    pipe.temperature = 1.0
    before = CACHE.n_bytes
    docs = [*nlp.pipe(TEXTS)]
    n_bytes = CACHE.n_bytes - before
    found = [
        [(*span, p._.confidence) for span, p in zip(triples(doc.ents), doc.ents)]
        + [doc._.record_confidence, doc.user_data]
        for doc in docs
    ]
    other = [pipe.kbest(doc, 3) for doc in docs], [pipe.entropy(doc) for doc in docs]
    monkeypatch.undo()
    return found, other, n_bytes, n_lazy


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
def test_predictions_equal_those_without_the_shortcut(decoding, monkeypatch):
    nlp = make_trained(fit=lbfgs(l2=0.1), decoding=decoding)
    found, other, n_bytes, n_lazy = predicted(nlp, monkeypatch, True)
    slow = predicted(nlp, monkeypatch, False)
    assert n_lazy[0] == len(TEXTS) and not slow[3]
    for one, expected in zip(found, slow[0]):
        *one, data = one
        *expected, expected_data = expected
        assert one == expected
        (key, record), (_, expected_record) = *data.items(), *expected_data.items()
        assert key in expected_data
        for part in ("spans", "whole", "given"):
            assert record["hosemi"][part] == expected_record["hosemi"][part]
    assert other == slow[1]
    assert n_bytes == slow[2] > 0


def test_a_limited_document_in_the_batch_changes_no_other(monkeypatch):
    nlp = make_trained(fit=lbfgs(l2=0.1))
    alone = [nlp(text) for text in TEXTS]
    docs = [nlp.make_doc(text) for text in TEXTS]
    docs[3][1].is_sent_start = False
    for one, doc in zip(alone, nlp.pipe(docs)):
        assert triples(one.ents) == triples(doc.ents)
        for x, y in zip(one.ents, doc.ents):
            assert x._.confidence == y._.confidence
    given = docs[3].user_data["._.", "hosemi_record", 0, len(TEXTS[3])]["hosemi"]
    assert before_prediction(docs[3], "hosemi", given["given"]) is not None


@pytest.mark.parametrize("settings", [{}, {"confidence": True}, {"spans_key": "x"}])
def test_what_is_written_equals_annotations(settings):
    """By `pipe`, by a call, and by the two methods of spaCy's contract."""
    nlp = make_trained(fit=lbfgs(l2=0.1), **settings)
    pipe = nlp.get_pipe("hosemi")
    texts = [*TEXTS, "Mary \u00adSomerville  wrote"]
    ways = [*nlp.pipe(texts)], [nlp(text) for text in texts], []
    for text in texts:
        doc = nlp.make_doc(text)
        pipe.set_annotations([doc], pipe.predict([doc]))
        ways[2].append(doc)
    pipe.set_annotations(ways[2], pipe.predict(ways[2]))
    for docs in zip(*ways):
        *found, expected = map(everything, docs)
        assert found == [expected] * 2


def everything(doc):
    attributes = doc.to_array(["ENT_IOB", "ENT_TYPE", "SENT_START"]).tolist()
    groups = {key: [*map(str, group)] for key, group in doc.spans.items()}
    confidences = [ent._.confidence for ent in doc.ents], doc._.record_confidence
    return attributes, dict(doc.user_data), confidences, groups


def test_tokens_that_are_merged_meanwhile():
    """While threads read ahead, somebody may change the documents."""
    nlp = make_trained(fit=lbfgs(l2=0.1))
    docs = [nlp.make_doc(TEXTS[0]) for _ in range(3)]

    def merging(found):
        with docs[1].retokenize() as retokenizer:
            retokenizer.merge(docs[1][:2])
        return found()

    pipe = nlp.get_pipe("hosemi")
    read = iter([Instances(docs)])
    ((batch, found),) = predict.predictions(pipe, read, None, None)
    with pytest.raises(IndexError, match="tokens were read"):
        predict.write(pipe, batch, merging(found))
