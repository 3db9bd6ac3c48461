"""A training or a loading that fails leaves the component as it was."""

import pytest

from ..helpers import (
    fit_anew,
    initialize,
    make_examples,
    make_nlp,
    make_trained,
    triples,
)
from ..hierarchy.test_component import make_tree_nlp
from .test_neural import make_neural, train

TEXT = "Ada Lovelace wrote to Mary Somerville in Paris."


def make_top_down():
    return make_tree_nlp(tree={"exact_up_to": 0})


def make_untrained():
    nlp = make_nlp()
    nlp.get_pipe("hosemi").add_label("PER")
    return nlp


def make_with_tok2vec():
    nlp = make_neural()
    train(nlp)
    return nlp


MADE = [make_trained, make_top_down, make_untrained, make_with_tok2vec]


def look(nlp):
    """All that can be known of a component."""
    pipe = nlp.get_pipe("hosemi")
    doc = nlp(TEXT)
    texts = None if pipe.training_texts is None else pipe.training_texts.to_cfg()
    found = triples(doc.ents), [ent._.confidence for ent in doc.ents], texts
    settings = pipe.settings.cfg, pipe.labels, pipe.facts, nlp.config["components"]
    weights = pipe.get_weights().tolist() if pipe.weights.is_trained else None
    return *found, *settings, weights, pipe.to_bytes(exclude=["vocab"])


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("labels", [["O"], ["$"], ["X", "Y/Z"]], ids=str)
def test_labels_that_are_not_those_of_the_gold(make, labels):
    """Some are found when others have been taken."""
    nlp = make()
    before = look(nlp)
    with pytest.raises(ValueError, match="HS"):
        nlp.get_pipe("hosemi").initialize(
            lambda: make_examples(nlp), nlp=nlp, labels=labels
        )
    assert look(nlp) == before


class Stopped(Exception):
    """Of a fit that fails."""


@pytest.mark.parametrize("make", [make_trained, make_top_down, make_untrained])
@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt])
def test_a_fit_that_fails(make, error):
    """At its end, when all weights have changed."""
    nlp = make()
    before = look(nlp)

    def fit(batch):
        batch.weights.set_vector(batch.weights.vector() + 1.0)
        raise error

    with pytest.raises(error):
        nlp.get_pipe("hosemi").fit(make_examples(nlp), nlp=nlp, fit=fit)
    assert look(nlp) == before


def cut(data):
    return data[:-7]


def with_a_bad_setting(data):
    return data.replace(b"segments", b"segmented")


def of_a_tree(_):
    return make_top_down().get_pipe("hosemi").to_bytes()


@pytest.mark.parametrize(
    "make, change",
    [
        *((make, x) for make in MADE[:3] for x in (cut, with_a_bad_setting)),
        (make_trained, of_a_tree),
        (make_untrained, of_a_tree),
    ],
)
def test_a_model_that_cannot_be_loaded(make, change):
    nlp = make()
    pipe, before = nlp.get_pipe("hosemi"), look(nlp)
    with pytest.raises(ValueError, match="HS06"):
        pipe.from_bytes(change(pipe.to_bytes()))
    assert look(nlp) == before


def test_online_training_goes_on():
    """The optimizer, and the documents that are known, are those of before."""
    found = []
    for fails in (False, True):
        nlp = make_nlp()
        sgd = initialize(nlp)
        examples = make_examples(nlp)
        nlp.update(examples, sgd=sgd)
        if fails:
            with pytest.raises(ValueError, match="HS"):
                nlp.get_pipe("hosemi").from_bytes(b"none")
        nlp.update(examples, sgd=sgd)
        found.append(nlp.get_pipe("hosemi").get_weights().tolist())
    assert found[0] == found[1]


def test_no_step_after_a_fit():
    """A component that a fit has trained takes no step in `spacy train`, also if it
    could not be initialized again."""
    nlp = fit_anew()
    pipe, before = nlp.get_pipe("hosemi"), look(nlp)
    with pytest.raises(ValueError, match="HS"):
        pipe.initialize(lambda: make_examples(nlp), nlp=nlp, labels=["O"])
    nlp.update(make_examples(nlp), sgd=nlp.create_optimizer())
    assert look(nlp) == before


def test_pruning_before_initialization():
    """Rules may name labels that there are not yet."""
    nlp = make_untrained()
    pipe = nlp.get_pipe("hosemi")
    pipe.label_rules = ["LOC at most once"]
    before = look(nlp)
    pipe.prune(0.1)
    assert look(nlp) == before
