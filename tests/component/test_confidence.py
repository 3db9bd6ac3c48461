"""Probabilities of predicted spans, against enumeration; where they are kept."""

import gc
import math
import pickle

import numpy as np
import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_hosemi.labels.inventory import ENCODINGS
from spacy_hosemi.prediction.posterior_cache import register_extensions

from .. import oracles
from ..helpers import (
    as_problem,
    initialize,
    make_doc,
    make_nlp,
    make_trained,
    randomize,
    triples,
)

MARKED = ["[A a b] c", "[B b] c a", "a [B c]"]
TEXT = "Ada Lovelace wrote to Charles Babbage."


def make_uncertain(marked=MARKED, *, seed=0, size=1.0, **config):
    nlp = make_nlp(**config)
    initialize(nlp, marked)
    randomize(nlp.get_pipe("hosemi"), seed, size)
    return nlp


def posterior(nlp, doc, span, produced_by) -> float:
    """P(span) as the share of all segmentations that produce it."""
    pipe = nlp.get_pipe("hosemi")
    (potentials,) = pipe.model.predict([doc])
    scores = oracles.scored(as_problem(pipe.automaton, potentials))
    agreeing = {
        segmentation: score
        for segmentation, score in scores.items()
        if score > -math.inf and span in produced_by(segmentation)
    }
    return math.exp(oracles.log_z(agreeing) - oracles.log_z(scores))


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_confidence_beside_whitespace(encoding):
    # tags may cover whitespace, which is cut off from the span
    n_cut, marked = 0, ["[A a b] c", "b [A c]"]
    nlp = make_uncertain(marked, encoding=encoding, clean_text=False)
    for seed in range(8):
        randomize(nlp.get_pipe("hosemi"), seed)
        doc = nlp(make_doc(nlp, "a", "\n", "b"))
        decode = nlp.get_pipe("hosemi").inventory.decode

        def produced(segmentation, decode=decode):
            cut = {(0, 2): (0, 1), (1, 3): (2, 3)}  # start and end without "\n"
            spans = [(*cut.get((i, j), (i, j)), y) for i, j, y in decode(segmentation)]
            return [span for span in spans if span[:2] != (1, 2)]

        for ent in doc.ents:
            n_cut += 1
            expected = posterior(nlp, doc, (ent.start, ent.end, ent.label_), produced)
            assert ent._.confidence == pytest.approx(expected, abs=1e-9)
    assert n_cut > 2


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_stored_scored_and_computed_confidences_are_equal(encoding):
    words = "a b c b a c a a b".split()
    texts = {}
    for config in ({}, {"confidence": True}, {"spans_key": "x"}):
        nlp = make_uncertain(encoding=encoding, **config)
        doc = nlp(make_doc(nlp, *words))
        assert len(doc.ents) > 0
        found = [ent._.confidence for ent in doc.ents]
        assert all(0.0 < p <= 1.0 for p in found)
        texts[str(config)] = found
        if "spans_key" in config:
            assert triples(doc.spans["x"]) == triples(doc.ents)
            scores = doc.spans["x"].attrs["scores"]
            np.testing.assert_allclose(scores, found, rtol=1e-6)
            copy = Doc(nlp.vocab).from_bytes(doc.to_bytes())
            assert copy.spans["x"].attrs["scores"].tolist() == scores.tolist()
    first, *others = texts.values()
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-12)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_min_confidence(encoding):
    words, seed, scores = "a b c b a c a a b".split(), 0, {}
    while len(scores) < 2:
        seed += 1
        nlp = make_uncertain(seed=seed, encoding=encoding)
        doc = nlp(make_doc(nlp, *words))
        values = [ent._.confidence for ent in doc.ents]
        scores = dict(zip(triples(doc.ents), values, strict=True))
    limit = max(scores.values()) - 1e-9
    config = {"min_confidence": limit, "spans_key": "x"}
    nlp = make_uncertain(seed=seed, encoding=encoding, **config)
    doc = nlp(make_doc(nlp, *words))
    kept = [triple for triple, p in scores.items() if p >= limit]
    assert 0 < len(kept) < len(scores)
    assert triples(doc.ents) == triples(doc.spans["x"]) == kept
    assert len(doc.spans["x"].attrs["scores"]) == len(kept)


def test_other_spans_have_none():
    nlp = make_trained()
    doc = nlp(TEXT)
    assert [ent._.confidence is None for ent in doc.ents] == [False, False]
    ent = doc.ents[0]
    assert doc[2:3]._.confidence is None
    assert Span(doc, ent.start, ent.end, label="OTHER")._.confidence is None
    assert Span(doc, ent.start, ent.end + 1, label=ent.label_)._.confidence is None
    assert nlp.make_doc(TEXT)[0:2]._.confidence is None


def test_old_values_are_removed():
    nlp = make_trained(confidence=True)
    pipe = nlp.get_pipe("hosemi")
    doc = nlp(TEXT)
    old = doc.ents[0]
    assert old._.confidence > 0.5
    pipe.set_weights(np.zeros_like(pipe.get_weights()))  # all outside
    doc = pipe(doc)
    assert doc.ents == ()
    assert old._.confidence is None


def test_old_values_are_replaced():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    doc = nlp(TEXT)
    before = doc.ents[0]._.confidence
    pipe.set_weights(0.5 * pipe.get_weights())
    doc = pipe(doc)
    assert triples(doc.ents) == [(0, 2, "PER"), (4, 6, "PER")]
    assert doc.ents[0]._.confidence < before


def test_stored_values_outlive_the_component():
    nlp = make_trained(confidence=True)
    doc = nlp(TEXT)
    expected = [ent._.confidence for ent in doc.ents]
    data = DocBin(docs=[doc], store_user_data=True).to_bytes()
    vocab_data = nlp.vocab.to_bytes()
    del nlp, doc
    gc.collect()
    (copy,) = DocBin().from_bytes(data).get_docs(Vocab().from_bytes(vocab_data))
    assert [ent._.confidence for ent in copy.ents] == expected


def test_a_pickled_pipeline_computes_its_own():
    nlp = make_trained()
    expected = [ent._.confidence for ent in nlp(TEXT).ents]
    copy = pickle.loads(pickle.dumps(nlp))
    pipe = nlp.get_pipe("hosemi")
    pipe.set_weights(0.1 * pipe.get_weights())  # not those of the copy
    assert [ent._.confidence for ent in copy(TEXT).ents] == expected


def test_two_components_keep_separate_records():
    nlp = make_nlp(spans_key="first", confidence=True)
    features = nlp.get_pipe_config("hosemi")["model"]["features"]
    config = {"model": {"features": features}, "spans_key": "second"}
    nlp.add_pipe("hosemi", name="other", config={**config, "confidence": True})
    initialize(nlp)
    names = ("hosemi", "other")
    for seed, name in enumerate(names):
        randomize(nlp.get_pipe(name), seed)
    doc = nlp(TEXT)
    groups = [triples(doc.spans[key]) for key in ("first", "second")]
    # What the first one has found is preset for the second one.
    assert sorted(groups[0] + groups[1]) == triples(doc.ents)
    for key in ("first", "second"):
        for span, score in zip(doc.spans[key], doc.spans[key].attrs["scores"]):
            assert span._.confidence == pytest.approx(score, rel=1e-6)


def test_the_component_that_wrote_an_entity_has_its_confidence():
    nlp = make_trained()
    other = make_trained(fit={"l2": 1.0})
    expected = [ent._.confidence for ent in nlp(TEXT).ents]
    assert expected != [ent._.confidence for ent in other(TEXT).ents]
    nlp.add_pipe("hosemi", name="other", source=other)
    assert [ent._.confidence for ent in nlp(TEXT).ents] == pytest.approx(expected)


def later(doc, change):
    """What is read before something sets it, and afterwards."""
    change(doc)
    return [ent._.confidence for ent in doc.ents if ent._.confidence is not None]


def set_sentences(doc):
    doc[1].is_sent_start = True  # within "Ada Lovelace"


def unset_sentences(doc):
    for token in doc[1:]:
        token.is_sent_start = None


def add_entity(doc):
    doc.set_ents([Span(doc, 2, 3, "VERB")], default="unmodified")


def remove_preset(doc):
    doc.set_ents([ent for ent in doc.ents if ent.label_ != "VERB"])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({}, set_sentences),
        ({}, add_entity),
        ({"sent_starts": [True, *6 * [False]]}, set_sentences),
        ({"sent_starts": [True, False, True, *4 * [False]]}, unset_sentences),
        ({"ents": ["O", "O", "B-VERB", *4 * ["O"]]}, remove_preset),
    ],
)
def test_what_is_set_after_prediction_does_not_count(encoding, before, change):
    nlp = make_trained(encoding=encoding)
    pipe = nlp.get_pipe("hosemi")
    words = ["Ada", "Lovelace", "wrote", "to", "Charles", "Babbage", "."]
    docs = [make_doc(nlp, *words, **before) for _ in range(2)]
    pipe.confidence = True
    expected = later(pipe(docs[0]), lambda doc: None)
    assert len(expected) == 2
    pipe.confidence = False
    labels = pipe.labels
    assert later(pipe(docs[1]), change) == pytest.approx(expected)
    assert pipe.labels == labels


def test_blocked_tokens_are_remembered():
    nlp = make_trained()
    doc = nlp.make_doc(TEXT)
    doc.set_ents([], blocked=[doc[0:1]], default="missing")
    pipe = nlp.get_pipe("hosemi")
    other = doc.copy()
    (expected,) = later(pipe(doc), lambda doc: None)
    assert later(pipe(other), add_entity) == pytest.approx([expected])
    assert nlp(TEXT).ents[1]._.confidence != expected


def test_entities_that_were_merged():
    nlp = make_trained()
    expected = [ent._.confidence for ent in nlp(TEXT).ents]
    nlp.add_pipe("merge_entities")
    assert [ent._.confidence for ent in nlp(TEXT).ents] == expected
    copy = nlp(TEXT).copy()  # of which only the record is left
    assert [ent._.confidence for ent in copy.ents] == [None, None]
    nlp.get_pipe("hosemi").confidence = True
    assert None not in [ent._.confidence for ent in nlp(TEXT).ents]


def test_a_users_own_extension_stays():
    ours = Span.get_extension("confidence")
    try:
        Span.set_extension("confidence", default=0.25, force=True)
        register_extensions()
        assert make_nlp()("Ada wrote.")[0:1]._.confidence == 0.25
    finally:
        Span.remove_extension("confidence")
        register_extensions()
    assert Span.get_extension("confidence") == ours
