"""What is read of documents once, beside what spaCy says of each."""

import numpy as np
import pytest
import spacy
from spacy.attrs import ENT_IOB, IS_SPACE, ORTH, SENT_START, SPACY
from spacy.tokens import Span

from spacy_hosemi.features.doc_batch import DocBatch, as_batch
from spacy_hosemi.features.instances import TokenizedText
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
    batch = DocBatch(docs)
    assert batch == docs and as_batch(batch) is batch
    assert batch.first.tolist() == np.cumsum([0, *map(len, docs)]).tolist()
    assert batch.orths.tolist() == [x for doc in docs for x in doc.to_array(ORTH)]
    assert batch.spaces.tolist() == [x for doc in docs for x in doc.to_array(SPACY)]
    for doc, has_ents, has_limits in zip(docs, batch.has_ents, batch.has_limits):
        if len(doc) > 1:
            assert has_ents == doc.has_annotation(ENT_IOB)
            limits = [doc.has_annotation(x) for x in (SENT_START, IS_SPACE)]
            assert has_limits == any(limits)
        else:
            assert not has_ents and not has_limits


def test_texts_equal_documents():
    docs = [NLP(text) for text in TEXTS]
    orths = [doc.to_array(ORTH) for doc in docs]
    spaces = [doc.to_array(SPACY) for doc in docs]
    triples = zip(TEXTS, orths, spaces)
    texts = [TokenizedText(NLP.vocab, *one, 0, len(one[1])) for one in triples]
    for some in ([text] for text in texts):
        found, expected = DocBatch(some), DocBatch([docs[texts.index(some[0])]])
        assert found.orths.tolist() == expected.orths.tolist()
        assert found.spaces.tolist() == expected.spaces.tolist()
        assert not any(found.has_ents) and not any(found.has_limits)


def test_error_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="3 tokens"):
        split_tokens(np.zeros((3, 5), np.uint64), [0, 2])
    with pytest.raises(ValueError, match="2 tokens"):
        split_tokens(np.zeros((2, 4), np.uint64), [0, 2])
