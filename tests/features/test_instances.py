"""What is read of documents once, beside what spaCy says of each."""

import numpy as np
import pytest
import spacy
from spacy.attrs import ENT_IOB, IS_SPACE, ORTH, SENT_START, SPACY
from spacy.tokens import Span

from spacy_hosemi.features.instances import Instances
from spacy_hosemi.features.kernels.token_reader import split_tokens

NLP = spacy.blank("en")
TEXTS = ("a b, c", "", "one", "two  spaces", "x\ny z", "to be")


def documents():
    for text in TEXTS:
        for change in ("", "ents", "sents", "no sents"):
            doc = NLP(text)
            if change == "ents" and len(doc) > 1:
                doc.set_ents([Span(doc, 1, 2, "A")], default="unmodified")
            if "sents" in change and len(doc) > 1:
                doc[1].is_sent_start = change == "sents"
            yield doc


def test_batch_equals_what_each_document_says():
    docs = [*documents()]
    batch = Instances(docs)
    assert batch == docs
    assert batch.first.tolist() == np.cumsum([0, *map(len, docs)]).tolist()
    assert batch.orths.tolist() == [x for doc in docs for x in doc.to_array(ORTH)]
    assert batch.spaces.tolist() == [x for doc in docs for x in doc.to_array(SPACY)]
    assert batch.tokens[2].tolist() == [len(token) for doc in docs for token in doc]
    for doc, has_ents, has_limits in zip(docs, batch.has_ents, batch.has_limits):
        if len(doc) > 1:
            assert has_ents == doc.has_annotation(ENT_IOB)
            assert has_limits == doc.has_annotation(SENT_START)
        else:
            assert not has_ents and not has_limits


def test_texts_equal_documents():
    """All together, and each read again alone."""
    docs = [NLP(text) for text in TEXTS]
    expected = Instances(docs)
    columns = expected.orths, expected.spaces, expected.first
    texts = Instances.of_texts(NLP.vocab, *columns)
    again = [Instances([text]) for text in texts]
    for name in ("orths", "spaces"):
        values = getattr(expected, name).tolist()
        assert np.concatenate([getattr(x, name) for x in again]).tolist() == values
    for text, alone, doc in zip(texts, again, docs):
        assert (len(text), text.text) == (len(doc), doc.text)
        for name in (ORTH, "SPACY"):
            assert text.to_array(name).tolist() == doc.to_array(name).tolist()
        assert not any(map(text.has_annotation, (ENT_IOB, SENT_START, IS_SPACE)))
        assert not any([*alone.has_ents, *alone.has_limits, *alone.tokens[2]])
        with pytest.raises(KeyError):
            text.to_array("LOWER")


def test_error_no_document():
    with pytest.raises(TypeError, match="HS230"):
        Instances([NLP("a"), "b"])


def test_error_arrays_that_do_not_fit():
    for shape, last in ((3, 5), [1]), ((2, 4), [1]), ((2, 5), []):
        with pytest.raises(ValueError, match=f"{shape[0]} tokens"):
            split_tokens(np.zeros(shape, np.uint64), [0, 2], last)
