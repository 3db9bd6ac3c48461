"""The component in a pipeline: labels, training, prediction, settings."""

import math
import pickle
import warnings

import numpy as np
import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from spacy_hosemi.core import PatternAutomaton
from spacy_hosemi.labels.inventory import ENCODINGS

from ..helpers import (
    SMALL,
    TRAIN,
    UNTRAINED,
    change_weights,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    parse,
    randomize,
    references,
    triples,
)

TEXT = "Ada Lovelace wrote to Charles Babbage."


def predict(nlp, texts=TRAIN):
    return [triples(nlp(parse(text)[0]).ents) for text in texts]


GOLD = [triples(doc.ents) for doc in references()]


# --- labels and initialization ----------------------------------------------------


@UNTRAINED
def test_untrained_predicts_nothing():
    nlp = make_nlp(spans_key="x", confidence=True)
    assert nlp(TEXT).ents == ()
    initialize(nlp)
    doc = nlp(TEXT)
    assert doc.ents == ()
    assert len(doc.spans["x"]) == len(doc.spans["x"].attrs["scores"]) == 0


def test_labels_come_from_the_examples():
    nlp = make_nlp()
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    assert pipe.labels == ("LOC", "PER")
    assert pipe.label_data == ["LOC", "PER"]
    assert nlp.pipe_labels["hosemi"] == ["LOC", "PER"]


def test_given_labels():
    nlp = make_nlp()
    initialize(nlp, labels=["PER", "ORG", "LOC"])
    assert nlp.get_pipe("hosemi").labels == ("PER", "ORG", "LOC")
    with pytest.raises(ValueError, match="HS041.*'LOC'.*components.hosemi"):
        initialize(make_nlp(), labels=["PER"])


@UNTRAINED
def test_add_label():
    nlp = make_nlp()
    pipe = nlp.get_pipe("hosemi")
    assert pipe.add_label("ORG") == 1
    assert pipe.add_label("ORG") == 0
    with pytest.raises(ValueError, match="HS040"):
        pipe.add_label("O")
    initialize(nlp)
    assert pipe.labels == ("ORG", "LOC", "PER")
    assert pipe.add_label("PER") == 0
    assert pipe.add_label("NEW") == 1
    for label in ("O", "!PER"):
        with pytest.raises(ValueError, match="HS040"):
            pipe.add_label(label)
    assert pipe.labels == ("ORG", "LOC", "PER", "NEW")
    with pytest.raises(ValueError, match="HS096"):  # it was refused
        pipe.redecode(nlp.make_doc("a b"), keep=[(0, 1, "!PER")])


def test_many_labels_make_few_automata(monkeypatch):
    made = []
    make = PatternAutomaton.__init__

    def count(automaton, *args, **kwargs):
        made.append(automaton)
        make(automaton, *args, **kwargs)

    monkeypatch.setattr(PatternAutomaton, "__init__", count)
    nlp = make_nlp()
    for i in range(300):
        nlp.get_pipe("hosemi").add_label(str(i))
    assert made == []
    optimizer = nlp.initialize()
    for _ in range(3):
        nlp.update(make_examples(nlp, ["[7 Ada] wrote."]), sgd=optimizer)
    nlp("Ada wrote.")
    assert len(made) <= 2
    assert len(nlp.get_pipe("hosemi").labels) == 300


@pytest.mark.parametrize("label", ["O", "^", "$", "!PER"])
def test_reserved_labels(label):
    nlp = make_nlp()
    doc = make_doc(nlp, "a", "b")
    reference = make_doc(nlp, "a", "b", ents=[f"B-{label}", "O"])
    with pytest.raises(ValueError, match="HS040"):
        nlp.initialize(lambda: [Example(doc, reference)])


def test_too_many_weights_are_those_of_frequent_features(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 150)
    nlp, seen = make_nlp(), make_nlp(features={**SMALL, "all_labels": False})
    with pytest.warns(UserWarning, match="HSW03.* 3 columns .* 150 weights"):
        initialize(nlp)
    initialize(seen)
    found, of_seen = (x.get_pipe("hosemi").weights for x in (nlp, seen))
    assert {*of_seen.names} <= {*found.names}  # none is left out that a segment reads
    has_all = found.pairs.sizes == 3
    assert found.matrix.size <= 150 and 0 < has_all.sum() < len(has_all)
    # those with weights for all labels are those that occur most often
    assert found.counts[has_all].mean() > found.counts[~has_all].mean()


def test_many_labels_with_two_examples_each_are_learnt(monkeypatch):
    """Features that occur twice are all that tells one label from another."""
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 1_500)
    marked = [
        f"{before} [L{k} {chr(97 + k) * 3} {chr(97 + k) * 5}] {after} ."
        for before, after in (("we saw", "again"), ("then the", "was here"))
        for k in range(24)
    ]
    nlp = make_nlp(features={**SMALL, "min_count": 2})
    with pytest.warns(UserWarning, match="HSW03.* from a count of 2:"):
        initialize(nlp, marked, fit=lbfgs())
    examples = make_examples(nlp, marked)
    assert nlp.evaluate(examples)["ents_f"] == 1.0


# --- training ---------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("outside", ["run", "token"])
def test_overfitting_in_batch(encoding, outside):
    nlp = make_trained(fit={"l2": 0.01}, encoding=encoding, outside=outside)
    assert predict(nlp) == GOLD


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_overfitting_online(encoding):
    nlp = make_nlp(encoding=encoding)
    optimizer = initialize(nlp)
    examples = make_examples(nlp)
    history = []
    for _ in range(30):
        losses = nlp.update(examples, sgd=optimizer)
        history.append(losses["hosemi"])
    assert type(history[0]) is float
    assert history[-1] < 0.1 * history[0]
    assert predict(nlp) == GOLD
    with nlp.use_params(optimizer.averages or {}):
        assert predict(nlp) == GOLD


@pytest.mark.parametrize("clean_text", [False, True])
def test_every_token_in_a_span(clean_text):
    """Of whitespace between spans, features that read clean words know nothing."""
    marked = ["[A a] [B b c]", "[B b] [A a a]", "[A a] [B c]"]
    nlp = make_trained(marked, outside="none", fit={"l2": 0.01}, clean_text=clean_text)
    for text in ("a b c c b a", "x", "a\n b", "\n"):
        doc = nlp(text)
        left = [token for token in doc if not token.ent_type]
        assert not left or clean_text and all(token.is_space for token in left)
    with pytest.raises(ValueError, match="HS044"):
        initialize(nlp, ["[A a] b"])


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_every_token_has_a_tag_of_a_span(encoding):
    nlp = make_nlp(outside="none", encoding=encoding)
    initialize(nlp, ["[A a] [B b c]", "[B b] [A a a]", "[A a] [B c]"], fit=lbfgs())
    pipe = nlp.get_pipe("hosemi")
    for seed in range(5):
        for text in ("a b c c b a", "x", "a\n b", "\n", ""):
            doc = nlp(text)
            words = [token for token in doc if not token.is_space]
            assert all(token.ent_type for token in words)
            tokens = pipe.marginals(doc).tokens
            assert not any(tokens[word.i, 0] for word in words)
            assert all(x.spans for x in pipe.kbest(doc, 5)) or not words
        randomize(pipe, seed)
    with pytest.raises(ValueError, match="HS044"):
        initialize(nlp, ["[A a] b"])


def test_losses_add_up_under_the_name():
    nlp = make_nlp()
    nlp.rename_pipe("hosemi", "fields")
    examples = make_examples(nlp)
    nlp.initialize(lambda: examples)
    losses = {}
    nlp.get_pipe("fields").update(examples[:2], losses=losses)
    first = losses["fields"]
    assert first > 0.0
    nlp.get_pipe("fields").update(examples[:2], losses=losses)
    assert losses == {"fields": pytest.approx(2 * first)}


def test_impossible_gold_names_the_document():
    nlp = make_nlp(max_length=1)
    optimizer = initialize(nlp)
    with pytest.raises(ValueError, match="HS056.*'Ada Lovelace wrote"):
        nlp.update(make_examples(nlp), sgd=optimizer)
    with pytest.raises(ValueError, match="HS056.*'Ada Lovelace wrote"):
        make_trained(max_length=1)


def test_a_pickled_component_learns_on():
    nlp = pickle.loads(pickle.dumps(make_trained(fit={"max_iter": 2})))
    before = nlp.get_pipe("hosemi").get_weights()
    nlp.update(make_examples(nlp), sgd=Adam(0.001))
    assert nlp.get_pipe("hosemi").get_weights().tolist() != before.tolist()


def test_wrong_number_of_weights():
    pipe = make_trained().get_pipe("hosemi")
    weights = pipe.get_weights()
    for wrong in (weights[:-1], np.append(weights, 0.0), weights[None]):
        with pytest.raises(ValueError, match=f"HS055.*expected {len(weights)}"):
            pipe.set_weights(wrong)
    weights[:] = 0.0
    assert pipe.get_weights().any()  # it was a copy


def test_scores_are_those_of_ner():
    nlp = make_trained(TRAIN[:2])
    found = nlp.evaluate(make_examples(nlp))
    examples = make_examples(nlp)
    for eg in examples:
        eg.predicted = nlp(eg.reference.text)
    ner = spacy.blank("en").add_pipe("ner")
    expected = ner.score(examples)
    assert 0.0 < expected["ents_f"] < 1.0
    assert {key: found[key] for key in expected} == expected
    assert Scorer.score_spans(examples, "ents")["ents_f"] == found["ents_f"]


# --- prediction -------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text", ["", "Ada", "\n", " \n\t ", " Ada ", "Ada\n\nLovelace"]
)
def test_small_docs(encoding, text):
    nlp = make_trained(encoding=encoding, confidence=True)
    doc = nlp(text)
    for ent in doc.ents:
        assert not ent[0].is_space and not ent[-1].is_space
        assert 0.0 < ent._.confidence <= 1.0
    assert nlp.get_pipe("hosemi").marginals(doc).tokens.shape[0] == len(doc)


@pytest.mark.parametrize("encoding", ["segments", "BILUO"])
def test_a_long_doc(encoding):
    nlp = make_trained(encoding=encoding)
    words = [token.text for token in nlp.make_doc(TEXT)]
    copies = 50_000 // len(words) + 1
    doc = nlp(make_doc(nlp, *words * copies))
    assert len(doc) >= 50_000
    assert len(doc.ents) == 2 * copies
    if encoding == "segments":  # tags: time grows with tokens times entities
        assert 0.5 < doc.ents[-1]._.confidence <= 1.0


@pytest.mark.parametrize("confidence", [True, False])
def test_pipe_equals_call(confidence):
    """Confidences are saved, or computed when they are read."""
    nlp = make_trained(confidence=confidence)
    texts = [parse(text)[0] for text in TRAIN] * 5 + [""]

    def read(doc):
        return [(*t, e._.confidence) for t, e in zip(triples(doc.ents), doc.ents)]

    expected = [read(nlp(text)) for text in texts]
    assert [read(doc) for doc in nlp.pipe(texts, batch_size=3)] == expected
    assert [read(doc) for doc in nlp.pipe(texts, n_process=2)] == expected


def test_memory_zone():
    nlp = make_trained()
    expected = predict(nlp)
    with nlp.memory_zone():
        assert predict(nlp) == expected
        nlp("Words that nobody wrote before")
    assert predict(nlp) == expected
    assert nlp.get_pipe("hosemi").to_bytes()


@pytest.mark.parametrize("outside", ["run", "token", "none"])
@pytest.mark.parametrize("max_length", [1, 2, 3])
def test_max_length(max_length, outside):
    nlp = make_nlp(max_length=max_length, outside=outside)
    initialize(nlp, ["[A a] [B b]", "[B b] [A a]"])
    for seed in range(5):
        randomize(nlp.get_pipe("hosemi"), seed)
        doc = nlp(make_doc(nlp, *"abxyabbbaaa" * 3))
        assert all(len(ent) <= max_length for ent in doc.ents)


@pytest.mark.parametrize("encoding", ["segments", "BIO", "BILUO"])
def test_no_entity_crosses_a_sentence_start(encoding):
    nlp = make_nlp(encoding=encoding)
    initialize(nlp, ["[A a b] c", "[A a b c]"])
    crossed = 0
    for seed in range(8):
        randomize(nlp.get_pipe("hosemi"), seed)
        doc = nlp(make_doc(nlp, *"abcabc"))
        crossed += any(ent.start < 3 < ent.end for ent in doc.ents)
        starts = [i in (0, 3) for i in range(6)]
        doc = nlp(make_doc(nlp, *"abcabc", sent_starts=starts))
        assert not any(ent.start < 3 < ent.end for ent in doc.ents)
        for ent in doc.ents:
            assert 0.0 < ent._.confidence <= 1.0
    assert crossed > 0


def forbid_word(nlp, word):
    """Nothing may cover this word: its documents have no segmentation."""
    pipe = nlp.get_pipe("hosemi")
    matrix = pipe.weights.matrix.copy()
    matrix[pipe.weights.names.index(f"inside:LOWER={word}")] = -np.inf
    change_weights(pipe, matrix=matrix)


def test_nothing_is_possible():
    nlp = make_trained()
    forbid_word(nlp, "paris")
    assert len(nlp(TEXT).ents) == 2
    with pytest.raises(ValueError, match="HS060.*'She was in Paris.*weights of -inf"):
        nlp("She was in Paris.")


def test_the_constraints_that_leave_nothing_are_named():
    rules = ["PER at least twice"]
    nlp = make_nlp(label_rules=rules, max_length=3)
    marked = [line for line in TRAIN if line.count("[PER") > 1]
    initialize(nlp, marked, fit=lbfgs())
    with pytest.raises(ValueError) as error:
        nlp("Paris")
    assert f"under max_length = 3 and label_rules = {rules}." in str(error.value)


# --- registration -----------------------------------------------------------------


def test_doc_of_another_vocab():
    nlp = make_trained()
    doc = Doc(spacy.blank("en").vocab, words=TEXT[:-1].split())
    assert triples(nlp.get_pipe("hosemi")(doc).ents) == [(0, 2, "PER"), (4, 6, "PER")]
    assert math.isfinite(doc.ents[0]._.confidence)


# --- label rules ------------------------------------------------------------------


def test_label_rules_hold_in_predictions():
    free = make_trained()
    doc = free("Ada Lovelace met Charles Babbage in London and Paris.")
    assert [ent.label_ for ent in doc.ents].count("PER") == 2
    ruled = make_nlp(label_rules=["PER at most once", "LOC never before PER"])
    marked = [line for line in TRAIN if line.count("PER") < 2]
    initialize(ruled, marked, fit=lbfgs())
    for text in (doc.text, "London and Paris: Ada Lovelace, Charles Babbage."):
        labels = [ent.label_ for ent in ruled(text).ents]
        assert labels.count("PER") <= 1
        assert "PER" not in labels[labels.index("LOC") :] if "LOC" in labels else True


def test_features_that_no_document_has():
    lists = {"x": {"@misc": "spacy_hosemi.gazetteer.v1", "attr": "LEMMA"}}
    features = {**SMALL, "start": ["LOWER & POS[-1]", "NORM"], "end": ["TAG"]}
    nlp = make_nlp(features=features)
    with pytest.warns(UserWarning, match="HSW09.*read POS, TAG, which no"):
        initialize(nlp)
    examples = make_examples(nlp)
    examples[0].predicted[0].pos_ = examples[1].predicted[1].tag_ = "X"
    nlp.get_pipe("hosemi").initialize(lambda: examples)  # warnings are errors
    nlp = make_nlp(model={"gazetteers": lists})
    with pytest.warns(UserWarning, match="HSW09.*read LEMMA, which no"):
        nlp.get_pipe("hosemi").initialize(
            lambda: examples, gazetteers={"x": lambda: ["Ada"]}
        )


def test_gold_that_breaks_label_rules():
    """It is learnt from as without rules, all other documents with them."""
    rules = ["PER at most once"]
    nlp, free = make_nlp(label_rules=rules), make_nlp()
    with pytest.warns(UserWarning, match="HSW05] 2 training.*of 3.*PER at most once"):
        initialize(nlp, TRAIN[:3], fit=lbfgs())
    initialize(free, TRAIN[:3], fit=lbfgs())
    pipe, without = nlp.get_pipe("hosemi"), free.get_pipe("hosemi")
    without.set_weights(pipe.get_weights())
    n_breaking = 0
    for data in TRAIN[:3]:
        (loss, gradient), (loss_without, gradient_without) = (
            x.get_pipe("hosemi").value_and_gradient(make_examples(x, [data]))
            for x in (nlp, free)
        )
        n_breaking += loss == loss_without
        assert (loss == loss_without) == np.allclose(gradient, gradient_without)
        assert loss <= loss_without
    assert n_breaking == 2


@pytest.mark.parametrize("name", ["log_likelihood", "perceptron"])
def test_known_spans_that_break_label_rules(name):
    """Where other tokens are open, too."""
    objective = {"@misc": f"spacy_hosemi.{name}.v1"}
    losses = []
    for rules in ([], ["PER at most once"]):
        nlp = make_nlp(label_rules=rules, objective=objective)
        examples = make_examples(nlp, ["[PER Ada] met [PER Bob] .", "[PER Ada] ran ."])
        known = examples[0].reference
        known.set_ents([*known.ents], missing=[known[1:2]])
        pipe = nlp.get_pipe("hosemi")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            pipe.initialize(lambda examples=examples: examples, nlp=nlp)
        texts = [str(x.message) for x in warned]
        assert [x[:46] for x in texts] == len(rules) * [
            "[HSW05] 1 training documents of 2 break label_"
        ]
        randomize(pipe)
        losses.append(pipe.value_and_gradient(examples[:1]))
    (free, of_free), (ruled, of_ruled) = losses
    # One goes by marginals, the other one beside other documents.
    assert ruled == pytest.approx(free, rel=1e-12)
    np.testing.assert_allclose(of_ruled, of_free, rtol=1e-12, atol=1e-14)


def test_label_rules_need_labels():
    with pytest.raises(ValueError, match="HS071.*'AUTHOR'"):
        initialize(make_nlp(label_rules=["AUTHOR at most once"]))


# --- decoding -----------------------------------------------------------------------


def expected_f1(found, spans):
    """By the probabilities of the model: of (start, end, label index)."""
    n_expected = found.gradient.start[:, 1:].sum()
    return 2 * sum(found.segment(*s) for s in spans) / (len(spans) + n_expected)


def test_mbr_decoding_expects_more():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    pipe.expected_f1 = None
    n_different = 0
    for seed in range(20):
        randomize(pipe, seed, 0.5)
        doc = nlp.make_doc("Ada met Bob in Paris and Rome .")
        found = pipe.marginals(doc)
        spans = {}
        for pipe.decoding in ("viterbi", "mbr"):
            ents = triples(pipe(doc).ents)
            spans[pipe.decoding] = [
                (i, j, pipe.inventory.names.index(label)) for i, j, label in ents
            ]
        best, mbr = (expected_f1(found, spans[key]) for key in ("viterbi", "mbr"))
        assert mbr >= best - 1e-9
        n_different += mbr > best + 1e-6
    assert n_different > 3
