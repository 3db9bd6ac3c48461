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


def make_long(vocab, n_tokens, ents=()):
    """n tokens, with a multiple of the number of WORDS."""
    starts = [i % len(WORDS) == 0 for i in range(n_tokens)]
    doc = Doc(vocab, words=WORDS * (n_tokens // len(WORDS)), sent_starts=starts)
    if ents:
        doc.set_ents([Span(doc, *span) for span in ents])
    return doc


def read_confidences(pipe, n_tokens):
    doc = pipe(make_long(pipe.vocab, n_tokens))
    found = [ent._.confidence for ent in doc.ents]
    assert len(found) >= n_tokens // len(WORDS)


def predict_beside_entities(pipe, n_tokens):
    pipe(make_long(pipe.vocab, n_tokens, in_each_sentence(n_tokens, 5)))


def correct(pipe, n_tokens):
    keep, forbid = (in_each_sentence(n_tokens, at) for at in (4, 0))
    doc = pipe.redecode(make_long(pipe.vocab, n_tokens), keep=keep, forbid=forbid)
    found = {*triples(doc.ents)}
    assert found.issuperset(keep) and found.isdisjoint(forbid)


def list_alternatives(pipe, n_tokens):
    """As many of the same score as there are sentences."""
    assert len(pipe.kbest(make_long(pipe.vocab, n_tokens), 3)) == 3


def list_many(pipe, n_tokens):
    assert len(pipe.kbest(make_long(pipe.vocab, n_tokens), 50)) == 50


def ask_for_entropy(pipe, n_tokens):
    assert pipe.entropy(make_long(pipe.vocab, n_tokens)) > 0.0


def ask_for_marginals(pipe, n_tokens):
    found = pipe.marginals(make_long(pipe.vocab, n_tokens))
    assert len(found.segments_above(0.1)) > n_tokens // len(WORDS)


def decide_by_expected_f1(pipe, n_tokens):
    assert pipe(make_long(pipe.vocab, n_tokens)).ents


def read_dirt(pipe, n_tokens):
    """Each second word is divided at the end of a line, beside entities."""
    words = ["Ada", "-", "\n", "met", "in"]
    n = n_tokens // len(words)
    spaces = [False, False, False, True, True] * n
    starts = [i % len(words) == 0 for i in range(len(words) * n)]
    doc = Doc(pipe.vocab, words * n, spaces, sent_starts=starts)
    doc.set_ents([Span(doc, i, i + 1, "PER") for i in range(4, len(doc), len(words))])
    assert len(pipe(doc).ents) >= n


ASKED = [read_dirt, read_confidences, predict_beside_entities, correct]
ASKED += [list_alternatives, list_many, ask_for_entropy, ask_for_marginals]


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("encoding", ["segments", "BIO"])
@pytest.mark.parametrize("scope", ["doc", "sents"])
def test_time_is_linear(scope, encoding, ask):
    pipe = make_pipe(scope, encoding)
    assert_linear(lambda n_tokens: ask(pipe, n_tokens), FEW, MANY, MANY // FEW)


@pytest.mark.parametrize("scope", ["doc", "sents"])
@pytest.mark.parametrize("expected_f1", [None, 0.4])
def test_time_of_mbr_is_linear(scope, expected_f1, monkeypatch):
    pipe = make_pipe(scope, "segments")
    monkeypatch.setattr(pipe, "decoding", "mbr")
    monkeypatch.setattr(pipe, "expected_f1", expected_f1)
    run = decide_by_expected_f1
    assert_linear(lambda n_tokens: run(pipe, n_tokens), FEW, MANY, MANY // FEW)


def test_the_documents_are_those_that_are_meant():
    doc = make_long(spacy.blank("en").vocab, 20, in_each_sentence(20, 5))
    assert [(ent.start, ent.text) for ent in doc.ents] == [(5, "and"), (15, "and")]
    assert [span.text for span in doc.sents] == [" ".join(WORDS)] * 2
