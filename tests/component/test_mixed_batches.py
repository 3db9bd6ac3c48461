"""Batches in which some documents are clean, and others are made so."""

import pytest
from spacy.tokens import Span

from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.prediction.posterior_cache import CACHE

from ..helpers import triples
from .test_clean_text import NLP, TEXTS, make_pipe

DIRTY = [text.replace(" ", "  ").replace("Lon", "Lon-\n") for text in TEXTS]
MIXED = [TEXTS[0], DIRTY[0], " ", DIRTY[1], "", TEXTS[2], "\n\n", DIRTY[2], TEXTS[1]]


@pytest.fixture(scope="module", params=["viterbi", "mbr"])
def pipe(request):
    return make_pipe(decoding=request.param)


def docs_with(change=None, at=3):
    docs = [NLP.make_doc(text) for text in MIXED]
    if change:
        change(docs[at])
    return docs


def add_entity(doc):
    doc.set_ents([Span(doc, 0, 1, "LOC")], default="unmodified")


def add_sentence(doc):
    doc[len(doc) - 2].is_sent_start = True


def predicted(pipe, docs):
    return [
        (triples(doc.ents), [x._.confidence for x in doc.ents], doc._.record_confidence)
        for doc in docs
    ]


def test_one_table(pipe):
    """A document that is not clean does not slow the others down."""
    predictions = finish(pipe.decoder.steps(docs_with()))
    assert predictions.batch.is_free
    assert [len(x.spans) for x in predictions] == [3, 3, 0, 3, 0, 4, 0, 4, 3]


@pytest.mark.parametrize("change", [None, add_entity, add_sentence])
@pytest.mark.parametrize("at", [0, 3])  # a clean one, another
@pytest.mark.parametrize("confidence", [False, True])
def test_as_one_by_one(pipe, change, at, confidence):
    how = {"confidence": confidence}
    together = [*pipe.pipe(docs_with(change, at), **how)]
    alone = [doc for x in docs_with(change, at) for doc in pipe.pipe([x], **how)]
    for one, other in zip(predicted(pipe, together), predicted(pipe, alone)):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], abs=1e-12)
        assert one[2] == pytest.approx(other[2], abs=1e-12)
    assert together[1].ents


def test_probabilities_that_are_computed_again(pipe, monkeypatch):
    expected = predicted(pipe, pipe.pipe(docs_with()))
    monkeypatch.setattr(CACHE, "max_bytes", 1)
    docs = [*pipe.pipe(docs_with())]
    assert CACHE.n_bytes <= 1
    for one, other in zip(predicted(pipe, docs), expected):
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], abs=1e-12)
