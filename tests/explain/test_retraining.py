"""What one more training document changes."""

import pytest
from spacy.tokens import Doc

from spacy_hosemi.explain.retraining import check_trained_on, retrain

from ..helpers import TRAIN, initialize, lbfgs, make_examples, make_nlp
from ..training.test_interrupted import interrupt_evaluation

TEXT = "Ada Lovelace wrote to Mary in Paris."
MARY = (4, 5, "LOC")
FIT = {"@misc": "spacy_hosemi.lbfgs.v1", "l2": 0.1, "max_iter": 100}


def make_model(**fit):
    nlp = make_nlp()
    initialize(nlp, TRAIN, fit=lbfgs(l2=0.1, max_iter=100))
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": {**FIT, **fit}}
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return make_model()


@pytest.fixture(scope="module")
def docs(nlp):
    return [x.reference for x in make_examples(nlp, TRAIN)]


def test_a_span_that_was_not_predicted(nlp, docs):
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    weights, ents = pipe.get_weights(), doc.ents
    before = pipe.explain(doc, MARY)
    found = retrain(nlp, pipe, docs, doc, MARY)
    assert not before.is_answer and found.is_answer
    assert before.probability < 0.3 and found.probability > 0.5
    assert MARY in found.gold and (0, 2, "PER") in found.gold
    # The model and the document stay as they are.
    assert (pipe.get_weights() == weights).all() and doc.ents == ents


def test_a_span_that_was_predicted(nlp, docs):
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    span = (4, 5, "PER")
    before = pipe.explain(doc, span)
    found = retrain(nlp, pipe, docs, doc, span)
    assert before.is_answer and span not in found.gold
    assert found.probability < before.probability


def test_it_is_a_training_with_one_more_document(nlp, docs):
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    found = retrain(nlp, pipe, docs, doc, MARY)
    other = make_nlp()
    marked = "[PER Ada Lovelace] wrote to [LOC Mary] in [LOC Paris]."
    assert len(found.gold) == 3
    initialize(other, [*TRAIN, marked], fit=lbfgs(l2=0.1, max_iter=100))
    again = other.get_pipe("hosemi").explain(other(TEXT), MARY)
    assert again.probability == pytest.approx(found.probability, rel=1e-9)


def test_the_penalty_that_was_chosen(docs):
    nlp = make_model(l2="auto")
    pipe = nlp.get_pipe("hosemi")
    first, second = (
        retrain(nlp, pipe, docs, nlp(TEXT), MARY).probability
        for pipe.facts in (with_l2(pipe.facts, 0.1), with_l2(pipe.facts, 3.0))
    )
    plain = make_model()
    args = plain, plain.get_pipe("hosemi"), docs, plain(TEXT), MARY
    assert first == retrain(*args).probability
    assert second < first


def with_l2(facts, l2):
    trials = [{"l2": 1.0, "is_chosen": False}, {"l2": l2, "is_chosen": True}]
    return type(facts)(**{**vars(facts), "trials": trials})


def test_other_documents(nlp):
    others = [Doc(nlp.vocab, words=["other", str(i)]) for i in range(3)]
    args = nlp, nlp.get_pipe("hosemi"), others, nlp(TEXT), MARY
    with pytest.raises(ValueError, match="HS319.*0 of 3 documents.*'hosemi'"):
        retrain(*args)


@pytest.mark.parametrize("change", [lambda x: x[1:], lambda x: [*x, x[0]]])
def test_not_all_documents(nlp, docs, change):
    """Dev is known, too, and so is a part of the training documents."""
    args = nlp, nlp.get_pipe("hosemi"), change(docs), nlp(TEXT), MARY
    with pytest.raises(ValueError, match="HS319.*trained on 5;"):
        retrain(*args)


def test_empty_documents_do_not_count(nlp, docs):
    assert check_trained_on(nlp.get_pipe("hosemi"), [*docs, Doc(nlp.vocab)])


def test_a_model_that_does_not_know():
    nlp = make_model()
    nlp.get_pipe("hosemi").seen_texts = None
    assert not check_trained_on(nlp.get_pipe("hosemi"), [])


def test_a_config_without_a_fit(docs):
    nlp = make_model()
    del nlp.config["initialize"]["components"]["hosemi"]
    with pytest.raises(ValueError, match="HS254"):
        retrain(nlp, nlp.get_pipe("hosemi"), docs, nlp(TEXT), MARY)


@pytest.mark.parametrize("n", [1, 3])
def test_ctrl_c_ends_it(nlp, docs, monkeypatch, n):
    """By itself a fit would end with the weights that it has."""
    interrupt_evaluation(monkeypatch, n)
    with pytest.raises(KeyboardInterrupt):
        retrain(nlp, nlp.get_pipe("hosemi"), docs, nlp(TEXT), MARY)
