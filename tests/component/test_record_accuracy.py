"""The share of documents all of whose entities are exact."""

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi.component.scorer import score_entities

NLP = spacy.blank("en")
WORDS = ["a", "b", "c"]
AB, C = (0, 2, "X"), (2, 3, "Y")


def example(found, gold, missing=()):
    docs = []
    for spans, unknown in ((found, ()), (gold, missing)):
        doc = Doc(NLP.vocab, words=WORDS)
        ents = [Span(doc, i, j, label=label) for i, j, label in spans]
        left = [doc[i : i + 1] for i in unknown]
        doc.set_ents(ents, missing=left, default="outside")
        docs.append(doc)
    return Example(*docs)


RIGHT = [example([AB, C], [C, AB]), example([], [])]
WRONG = [
    example([AB], [AB, C]),
    example([AB, C], [AB]),
    example([AB, (2, 3, "X")], [AB, C]),
    example([(0, 1, "X"), C], [AB, C]),
    example([AB], []),
]


def accuracy(examples):
    return score_entities(examples)["ents_record_accuracy"]


def test_a_record_is_exact_as_a_whole():
    assert accuracy(RIGHT) == 1.0
    for wrong in WRONG:
        assert accuracy([wrong]) == 0.0
        assert accuracy([*RIGHT, wrong]) == pytest.approx(2 / 3)


def test_missing_annotation_is_not_counted():
    partial = example([AB], [AB], missing=[2])
    assert accuracy([partial]) is None
    assert accuracy([*RIGHT, WRONG[0], partial]) == pytest.approx(2 / 3)
    nothing = Example(Doc(NLP.vocab, words=WORDS), Doc(NLP.vocab, words=WORDS))
    assert accuracy([nothing]) is None
    empty = Example(Doc(NLP.vocab), Doc(NLP.vocab))
    assert accuracy([empty]) is None
    assert accuracy([]) is None
