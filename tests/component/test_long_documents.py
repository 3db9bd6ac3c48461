"""Long documents of equal sentences take linear time, whatever is asked of them.

The time of the thread is measured, and only tells linear from quadratic: 16 times the
tokens take 16 or 256 times as long.
"""

from functools import cache

import pytest
import spacy
from spacy.tokens import Doc, Span

from ..helpers import (
    MANY_EXISTING,
    TRAIN,
    assert_linear,
    lbfgs,
    make_examples,
    make_nlp,
    triples,
)

pytestmark = MANY_EXISTING

WORDS = "Ada met Charles in London and Paris today again .".split()
FEW, MANY = 200, 3_200


@cache
def make_pipe(scope, encoding):
    nlp = make_nlp(scope=scope, encoding=encoding, max_order=1)
    examples = make_examples(nlp, TRAIN)
    for example in examples:
        for doc in (example.predicted, example.reference):
            for token in doc:
                token.is_sent_start = token.i == 0
    settings = {"fit": lbfgs(max_iter=10)}
    nlp.config["initialize"]["components"]["hosemi"] = settings
    nlp.initialize(lambda: examples)
    return nlp.get_pipe("hosemi")


def in_each_sentence(n_tokens, at):
    """The word at this place of each sentence, as a span."""
    return [(i, i + 1, "PER") for i in range(at, n_tokens, len(WORDS))]


def make_long(vocab, n_tokens):
    """n tokens, with a multiple of the number of WORDS."""
    starts = [i % len(WORDS) == 0 for i in range(n_tokens)]
    return Doc(vocab, words=WORDS * (n_tokens // len(WORDS)), sent_starts=starts)


def assert_linear_to_ask(pipe, ask):
    args = FEW, MANY, MANY // FEW
    assert_linear(lambda n: ask(pipe, make_long(pipe.vocab, n)), *args)


def read_confidences(pipe, doc):
    found = [ent._.confidence for ent in pipe(doc).ents]
    assert len(found) >= len(doc) // len(WORDS)


def predict_beside_entities(pipe, doc):
    doc.set_ents([Span(doc, *span) for span in in_each_sentence(len(doc), 5)])
    pipe(doc)


def correct(pipe, doc):
    keep, forbid = (in_each_sentence(len(doc), at) for at in (4, 0))
    found = {*triples(pipe.redecode(doc, keep=keep, forbid=forbid).ents)}
    assert found.issuperset(keep) and found.isdisjoint(forbid)


def ask_for_alternatives(pipe, doc):
    """As many of the same score as there are sentences."""
    assert [len(pipe.kbest(doc, k)) for k in (3, 50)] == [3, 50]


def ask_for_probabilities(pipe, doc):
    assert pipe.entropy(doc) > 0.0
    found = pipe.marginals(doc)
    assert len(found.segments_above(0.1)) > len(doc) // len(WORDS)


def read_dirt(pipe, doc):
    """Each second word is divided at the end of a line, beside entities."""
    words = ["Ada", "-", "\n", "met", "in"]
    n = len(doc) // len(words)
    spaces = [False, False, False, True, True] * n
    starts = [i % len(words) == 0 for i in range(len(words) * n)]
    doc = Doc(pipe.vocab, words * n, spaces, sent_starts=starts)
    doc.set_ents([Span(doc, i, i + 1, "PER") for i in range(4, len(doc), len(words))])
    assert len(pipe(doc).ents) >= n


ASKED = [read_dirt, read_confidences, predict_beside_entities, correct]
ASKED += [ask_for_alternatives, ask_for_probabilities]


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("encoding", ["segments", "BIO"])
@pytest.mark.parametrize("scope", ["doc", "sents"])
def test_time_is_linear(scope, encoding, ask):
    assert_linear_to_ask(make_pipe(scope, encoding), ask)


@pytest.mark.parametrize("scope", ["doc", "sents"])
@pytest.mark.parametrize("expected_f1", [None, 0.4])
def test_time_of_mbr_is_linear(scope, expected_f1, monkeypatch):
    pipe = make_pipe(scope, "segments")
    monkeypatch.setattr(pipe, "decoding", "mbr")
    monkeypatch.setattr(pipe, "expected_f1", expected_f1)
    assert_linear_to_ask(pipe, lambda pipe, doc: pipe(doc))


def test_the_documents_are_those_that_are_meant():
    doc = make_long(spacy.blank("en").vocab, 20)
    assert [span.text for span in doc.sents] == [" ".join(WORDS)] * 2
    assert [doc[i].text for i, _, _ in in_each_sentence(20, 5)] == ["and"] * 2
