"""Entities and blocked tokens that a document has before prediction."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.tokens import Span
from spacy.training import Example

from spacy_hosemi.prediction.existing_entities import copy_tokens

from .. import oracles
from ..helpers import (
    MANY_EXISTING,
    SMALL,
    as_problem,
    initialize,
    instances_of,
    make_doc,
    make_examples,
    make_nlp,
    random_pipe,
    triples,
)

NLP = spacy.blank("en")
MARKED = ("[A a b] c [B b] .", "a [B b a] c - [A c]", "c [A c c] a [B a]")


def make_pipe(seed=0, **config):
    return random_pipe(NLP, MARKED, {"features": SMALL}, seed=seed, **config)[0]


def docs_of(n_tokens, n_docs=8):
    rng = np.random.default_rng(n_tokens)
    for _ in range(n_docs):
        yield make_doc(NLP, *rng.choice(list("abc."), n_tokens).tolist())


def draw_preset(rng, n_tokens):
    """Random spans that do not overlap, and blocked tokens."""
    spans, blocked, at = [], [], 0
    while at < n_tokens:
        size = int(rng.integers(1, 3))
        kind = rng.integers(4)
        if kind == 0 and at + size <= n_tokens:
            spans.append((at, at + size, str(rng.choice(["A", "B"]))))
        elif kind == 1:
            size = 1
            blocked.append(at)
        at += size
    return spans, blocked


def write(doc, spans, blocked):
    doc.set_ents(
        [Span(doc, i, j, label, kb_id="Q7", span_id="x") for i, j, label in spans],
        blocked=[doc[i : i + 1] for i in blocked],
        default="missing",
    )


def agrees(segments, names, spans, blocked) -> bool:
    """Whether a segmentation has the spans, and the blocked tokens outside."""
    found = [(i, j, names[y]) for i, j, y in segments if y]
    return set(spans) <= set(found) and not any(
        i <= at < j for i, j, _ in found for at in blocked
    )


@MANY_EXISTING
@pytest.mark.parametrize("outside", ["run", "token"])
@pytest.mark.parametrize("order", [0, 2])
def test_the_rest_is_decoded_exactly(outside, order):
    pipe = make_pipe(outside=outside, max_order=order, confidence=True)
    free = make_pipe(outside=outside, max_order=order)
    rng = np.random.default_rng(order)
    n_preset = 0
    for n_tokens, doc in itertools.chain.from_iterable(
        zip(itertools.repeat(n), docs_of(n)) for n in (1, 3, 5)
    ):
        spans, blocked = draw_preset(rng, n_tokens)
        n_preset += len(spans)
        (problem,) = instances_of(free.decoder.posterior(doc))
        problem = as_problem(free.automaton, problem.potentials)
        names = free.inventory.names
        scores = {
            segments: score
            for segments, score in oracles.scored(problem).items()
            if agrees(segments, names, spans, blocked)
        }
        best, _ = oracles.best(scores)
        write(doc, spans, blocked)
        pipe(doc)
        assert triples(doc.ents) == [(i, j, names[y]) for i, j, y in best if y]
        probs = oracles.span_probabilities(scores)
        for ent in doc.ents:
            is_preset = (ent.start, ent.end, ent.label_) in spans
            assert (ent.kb_id_, ent.ent_id_) == (("Q7", "x") if is_preset else ("", ""))
            if is_preset:
                assert ent._.confidence is None
            else:
                key = ent.start, ent.end, names.index(ent.label_)
                assert ent._.confidence == pytest.approx(probs[key], abs=1e-6)
        assert all(token.ent_iob for token in doc)
        for i in blocked:
            assert (doc[i].ent_iob, doc[i].ent_type) == (3, 0)
        once = doc.to_bytes()
        assert pipe(doc).to_bytes() == once  # its own entities are not preset
    assert n_preset > 5


@MANY_EXISTING
@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_with_tags(encoding):
    pipe = make_pipe(encoding=encoding)
    rng = np.random.default_rng(0)
    for n_tokens in (1, 2, 4, 7):
        for doc in docs_of(n_tokens):
            spans, blocked = draw_preset(rng, n_tokens)
            if encoding == "IO":  # two spans side by side would be one
                spans = spans[:1]
            write(doc, spans, blocked)
            found = triples(pipe(doc).ents)
            assert set(spans) <= set(found)
            assert not any(i <= at < j for i, j, _ in found for at in blocked)


def test_what_cannot_be_segmented_stays_all_the_same():
    pipe = make_pipe(max_length=2, label_rules=["A at most once"])
    doc = make_doc(NLP, *"abcabc.")
    spans = [(0, 3, "B"), (3, 4, "A"), (5, 6, "A")]
    write(doc, spans, [])
    assert set(spans) <= set(triples(pipe(doc).ents))


def test_where_nothing_is_outside():
    marked = ["[A a b] [B c]", "[B c] [A a]"]
    pipe, _ = random_pipe(NLP, marked, {"features": SMALL}, outside="none")
    doc = make_doc(NLP, "a", "b", "c", "a")
    write(doc, [(1, 2, "B")], [3])
    ents = triples(pipe(doc).ents)
    assert (1, 2, "B") in ents and doc[3].ent_type == 0
    assert doc[0].ent_type and doc[2].ent_type


def test_across_sentences_and_on_whitespace():
    for scope in ("doc", "sents"):
        pipe = make_pipe()
        pipe.settings = replace(pipe.settings, scope=scope)
        starts = [True, False, True, False, False]
        doc = make_doc(NLP, "a", "b", "c", " ", "a", sent_starts=starts)
        write(doc, [(1, 4, "A")], [])
        assert (1, 4, "A") in triples(pipe(doc).ents)


def test_outside_may_be_overwritten():
    pipe = make_pipe()
    for doc in docs_of(4):
        expected = triples(pipe(doc).ents)
        other = make_doc(NLP, *(token.text for token in doc))
        other.set_ents([], default="outside")
        assert triples(pipe(other).ents) == expected


# --- labels that come late ------------------------------------------------------------


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"encoding": "BILUO"},
        {"observed_order": 1},
        {"explicit_length": 3},
        {"label_rules": ["A at most once"]},
    ],
)
@pytest.mark.filterwarnings("ignore:.*HSW0")
def test_a_new_label_changes_no_prediction(config, is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    pipe = make_pipe(**config)
    docs = [doc for n in (1, 4, 6) for doc in docs_of(n)]
    expected = [triples(pipe(doc).ents) for doc in docs]
    log_zs = [pipe.marginals(doc).log_z for doc in docs]
    assert pipe.add_label("NEW") == 1
    assert pipe.add_label("NEW") == 0
    assert pipe.labels[-1] == "NEW"
    assert len(pipe.weights.tail) == len(pipe.inventory.names)
    assert [triples(pipe(doc).ents) for doc in docs] == expected
    for doc, log_z in zip(docs, log_zs):
        assert pipe.marginals(doc).log_z >= log_z - 1e-9
    other = make_pipe(**config)
    other.from_bytes(pipe.to_bytes())
    assert [triples(other(doc).ents) for doc in docs] == expected


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.filterwarnings("ignore:.*HSW0")
def test_a_label_is_learnt_late(is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    nlp = make_nlp()
    pipe, first = nlp.get_pipe("hosemi"), make_examples(nlp, MARKED)
    optimizer = initialize(nlp, MARKED)
    for _ in range(60):
        nlp.update(first, sgd=optimizer)
    gold = [triples(eg.reference.ents) for eg in first]
    assert [triples(nlp(eg.text).ents) for eg in first] == gold
    late = make_examples(nlp, [*MARKED, ". [NEW - -] a", "- b [NEW - -]"])
    for _ in range(100):
        nlp.update(late, sgd=optimizer)
    assert pipe.labels == ("A", "B", "NEW")
    gold = [triples(eg.reference.ents) for eg in late]
    assert [triples(nlp(eg.text).ents) for eg in late] == gold


# --- spans known to be wrong ----------------------------------------------------------


def make_incorrect(words, spans, incorrect, missing=()):
    """An example: entities, spans that are none, and tokens without annotation."""
    reference = make_doc(NLP, *words)
    ents = [Span(reference, *span) for span in spans]
    unknown = [reference[i : i + 1] for i in missing]
    reference.set_ents(ents, missing=unknown, default="outside")
    reference.spans["wrong"] = [Span(reference, *span) for span in incorrect]
    return Example(make_doc(NLP, *words), reference)


def test_incorrect_spans_are_learnt_from():
    """The loss is that of all segmentations that agree: checked by enumeration."""
    pipe = make_pipe(incorrect_spans_key="wrong")
    eg = make_incorrect(
        "abca", [(0, 1, "B")], [(1, 3, "A"), (2, 3, "B")], missing=[1, 2, 3]
    )
    names = pipe.inventory.names
    potentials = pipe.model.predict([eg.predicted])
    loss, gradients = pipe.get_loss([eg], potentials)
    scores = oracles.scored(as_problem(pipe.automaton, potentials[0]))
    agreeing = {
        segments: score
        for segments, score in scores.items()
        if {(i, j, names[y]) for i, j, y in segments} >= {(0, 1, "B")}
        and not {(1, 3, "A"), (2, 3, "B")} & {(i, j, names[y]) for i, j, y in segments}
    }
    expected = oracles.log_z(scores) - oracles.log_z(agreeing)
    assert loss == pytest.approx(expected, abs=1e-6)
    plain = make_pipe()
    assert plain.get_loss([eg], potentials)[0] < loss


def test_incorrect_spans_of_a_known_document_say_nothing():
    pipe = make_pipe(incorrect_spans_key="wrong")
    left = make_incorrect("abc", [(0, 2, "A")], [(1, 2, "B")])
    right = make_incorrect("abc", [(0, 2, "A")], [])
    potentials = pipe.model.predict([left.predicted])
    assert pipe.get_loss([left], potentials)[0] == pipe.get_loss([right], potentials)[0]


@pytest.mark.parametrize("missing", [[], [1, 2]])
def test_wrong_incorrect_spans(missing):
    pipe = make_pipe(incorrect_spans_key="wrong")
    eg = make_incorrect("abc", [(0, 1, "A")], [(0, 1, "A")], missing)
    with pytest.raises(ValueError, match="HS094.*'a'.*'A'"):
        pipe.update([eg])
    eg = make_incorrect("abc", [(0, 1, "A")], [(0, 1, "NEW")], missing)
    with pytest.raises(ValueError, match="HS041.*'NEW'"):
        pipe.update([eg])
    with pytest.raises(ValueError, match="HS041.*'NEW'"):
        pipe.initialize(lambda: [eg], nlp=NLP)


@pytest.mark.parametrize("scope", ["doc", "sents"])
def test_what_is_wrong_is_unlearnt(scope):
    """As spaCy's users do it: a span that was predicted is marked as wrong."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    make_nlp(nlp=nlp, incorrect_spans_key="wrong", scope=scope)
    pipe = nlp.get_pipe("hosemi")
    examples = make_examples(nlp, MARKED)
    for eg in examples:
        eg.predicted = nlp.get_pipe("sentencizer")(eg.predicted)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(60):
        pipe.update(examples, sgd=optimizer)
    doc = nlp("a b c b .")
    assert triples(doc.ents) == [(0, 2, "A"), (3, 4, "B")]
    eg = make_incorrect("abcb.", [(3, 4, "B")], [(0, 2, "A")], missing=[0, 1])
    eg.predicted = nlp.get_pipe("sentencizer")(eg.predicted)
    for _ in range(20):
        pipe.update([eg], sgd=optimizer)
    ents = triples(nlp("a b c b .").ents)
    assert (0, 2, "A") not in ents and (3, 4, "B") in ents


# --- rehearsal ------------------------------------------------------------------------


def test_rehearsal_brings_predictions_back():
    nlp = make_nlp()
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, MARKED)
    optimizer = initialize(nlp, MARKED)
    assert nlp.rehearse(examples, sgd=optimizer) == {"hosemi": 0.0}
    for _ in range(60):
        nlp.update(examples, sgd=optimizer)
    gold = [triples(eg.reference.ents) for eg in examples]
    assert [triples(nlp(eg.text).ents) for eg in examples] == gold
    optimizer = nlp.resume_training()
    assert nlp.rehearse(examples)["hosemi"] == pytest.approx(0.0, abs=1e-6)
    others = make_examples(nlp, ["a b c b .", "[NEW a b b a c] - c", "c c a a"])
    for _ in range(30):
        nlp.update(others, sgd=optimizer)
    assert [triples(nlp(eg.text).ents) for eg in examples] != gold
    first = nlp.rehearse(examples)["hosemi"]
    pipe.set_weights(pipe.get_weights())  # the optimizer begins anew
    for _ in range(30):
        last = nlp.rehearse(examples, sgd=optimizer)["hosemi"]
    assert last < first / 4
    assert [triples(nlp(eg.text).ents) for eg in examples] == gold


@pytest.mark.parametrize("observed_order", [0, 1])
def test_rehearsal_where_then_and_now_read_other_features(observed_order):
    """Lists are overlooked in training, and features are added by it."""
    dropout = {"@misc": "spacy_hosemi.gazetteer.v1", "dropout": 0.5}
    features = {**SMALL, "whole": ["x:MATCH", "LOWER*"], "transition": ["LOWER"]}
    if not observed_order:
        del features["transition"]
    model = {"gazetteers": {"x": dropout}}
    nlp = make_nlp(features=features, model=model, observed_order=observed_order)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, MARKED)
    lists = {"x": lambda: ["a b", "c", "d"]}
    pipe.initialize(lambda: examples, nlp=nlp, gazetteers=lists, fit=None)
    optimizer = nlp.resume_training()
    others = make_examples(nlp, ["d e [NEW f a] - c", "[NEW d d] e a a"])
    for _ in range(5):
        nlp.update(others, sgd=optimizer)
    for _ in range(5):
        loss = nlp.rehearse(examples, sgd=optimizer)["hosemi"]
        assert 0.0 < loss < np.inf
    assert np.isfinite(pipe.get_weights()).all()


def test_nothing_to_rehearse_where_rules_leave_nothing():
    nlp = make_nlp(label_rules=["A at least once"])
    initialize(nlp, ["[A a b] c", "c [A a]"])
    optimizer = nlp.resume_training()
    docs = [nlp.make_doc(text) for text in ("", "\n")]
    nothing = [Example(doc, doc.copy()) for doc in docs]
    assert nlp.rehearse(nothing, sgd=optimizer) == {"hosemi": 0.0}


def test_copied_tokens_have_all_that_features_read():
    words = ["Ada", "wrote", "\n", "it"]
    doc = make_doc(
        NLP,
        *words,
        spaces=[True, False, False, True],
        pos=["PROPN", "VERB", "", "PRON"],
        tags=["NNP", "VBD", "", ""],
        lemmas=["Ada", "write", "", "it"],
        morphs=["Number=Sing", "", "", "Case=Acc|Number=Sing"],
        deps=["nsubj", "ROOT", "", "obj"],
        heads=[1, 1, 1, 1],
    )
    doc[3].norm_ = "IT"
    read = ["NORM", "POS", "TAG", "LEMMA", "MORPH", "DEP", "SPACY", "SENT_START"]
    nlp = make_nlp(features={"inside": read, "preset": "none"})
    features = nlp.get_pipe("hosemi").token_features
    copied = copy_tokens(doc, [])
    assert features(copied) == features(doc)
    assert len(features(doc)[3]) >= 6
    assert copied.user_data is doc.user_data


def test_copied_tokens_lack_what_the_others_lack():
    doc = make_doc(NLP, "Ada", "wrote")
    doc[0].set_morph("Number=Sing")
    nlp = make_nlp(features={"inside": ["MORPH"], "preset": "none"})
    features = nlp.get_pipe("hosemi").token_features
    assert features(copy_tokens(doc, None)) == features(doc)
