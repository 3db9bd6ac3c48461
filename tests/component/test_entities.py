"""Entities as attributes of tokens, beside what Span and Doc.set_ents make of them."""

import numpy as np
import pytest
from spacy.attrs import ENT_ID, ENT_IOB, ENT_KB_ID, ENT_TYPE
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_hosemi.component.annotations import write_predictions
from spacy_hosemi.features.instances import Instances
from spacy_hosemi.prediction.predictions import Prediction, Predictions
from spacy_hosemi.prediction.records import find_records, span_key

WRITTEN = [ENT_IOB, ENT_TYPE, ENT_ID, ENT_KB_ID]


def documents(rng, vocabs):
    """Documents of 0 to 8 words, with spans that do not overlap."""
    for _ in range(30):
        words = [f"w{k}" * k for k in rng.integers(1, 4, rng.integers(0, 9))]
        doc = Doc(vocabs[rng.integers(len(vocabs))], words)
        borders = np.flatnonzero(rng.random(len(words) + 1) < 0.7).tolist()
        pairs = [pair for pair in zip(borders, borders[1:]) if rng.random() < 0.6]
        yield doc, [(i, j, rng.choice(["A", "BB", "Ж"])) for i, j in pairs]


@pytest.mark.parametrize("n_vocabs", [1, 2])
def test_columns_are_what_set_ents_writes(n_vocabs):
    vocabs = [Vocab() for _ in range(n_vocabs)]
    docs, spans = map(list, zip(*documents(np.random.default_rng(0), vocabs)))
    scores = [[k / 100 for k in range(len(of_doc))] for of_doc in spans]
    write(docs, spans, scores)
    for doc, of_doc, of_spans in zip(docs, spans, scores):
        expected = Doc(doc.vocab, [token.text for token in doc])
        expected.set_ents([Span(expected, *span) for span in of_doc])
        written = doc.to_array(WRITTEN)
        assert written.tolist() == expected.to_array(WRITTEN).tolist()
        found = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        assert found == of_doc
        ((_, end, by_name),) = find_records(doc)
        written = dict(zip(map(span_key, doc.ents), of_spans))
        assert by_name["x"]["spans"] == written
        assert end == len(doc.text)


def write(docs, spans, scores):
    """By `write_predictions`, all documents of a vocabulary at once."""
    for vocab in {doc.vocab for doc in docs}:
        some = [k for k, doc in enumerate(docs) if doc.vocab is vocab]
        rows = [Prediction(spans[k], scores[k]) for k in some]
        batch = Instances([docs[k] for k in some])
        write_predictions(batch, Predictions.of(rows), "x", None, {})


@pytest.mark.parametrize(
    "span", [(0, 3, "A"), (-1, 1, "A"), (1, 1, "A"), (0, 10**9, "A")]
)
@pytest.mark.parametrize("place", [0, 1])
def test_error_span_outside_the_document(span, place):
    docs = [Doc(Vocab(), ["a", "b"]) for _ in range(2)]
    spans = [[(0, 1, "A")], [(0, 2, "A")]]
    spans[place] = [span]
    with pytest.raises(IndexError, match="of 2 tokens"):
        write(docs, spans, [[1.0], [1.0]])
