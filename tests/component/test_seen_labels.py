"""`all_labels = false`: a feature has weights for labels that training has it with."""

import warnings

import pytest
from spacy import load
from thinc.api import Adam

from ..helpers import (
    TRAIN,
    assert_gradient,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    triples,
)
from ..hierarchy.test_component import MARKED, TREE, fit_on, predicted

SEEN = {"all_labels": False, "min_count": 1}


def make_seen(**config):
    """Trained without a warning: it is what was asked for."""
    nlp = make_nlp(features=SEEN, **config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        initialize(nlp, fit=lbfgs(max_iter=25))
    return nlp


@pytest.mark.parametrize("config", [{}, {"encoding": "BIO"}, {"max_order": 3}])
def test_weights_are_those_that_training_has(config):
    nlp = make_seen(**config)
    pipe, weights = nlp.get_pipe("hosemi"), nlp.get_pipe("hosemi").weights
    full = make_nlp(features={**SEEN, "all_labels": True}, **config)
    initialize(full, fit=lbfgs(max_iter=25))
    every = full.get_pipe("hosemi").weights
    n_labels = len(pipe.inventory.names)
    assert every.pairs is None
    assert set(weights.names) <= set(every.names)
    assert (
        len(weights.names) <= len(weights.pairs.columns) < n_labels * len(every.names)
    )
    # "Ada" begins persons, and nothing else
    row = weights.names.index(
        "inside:LOWER=ada" if "encoding" in config else "start:LOWER=ada"
    )
    columns = weights.pairs.columns[slice(*weights.pairs.first[row : row + 2])]
    assert [pipe.inventory.names[y].endswith("PER") for y in columns] == [True]
    for text in TRAIN:
        doc = make_examples(nlp, [text])[0].reference
        ents = doc.ents
        assert triples(nlp(make_doc(nlp, *(t.text for t in doc))).ents) == triples(ents)
    assert_gradient(pipe, make_examples(nlp))


def test_what_is_met_later_has_all_labels():
    nlp = make_nlp(features=SEEN)
    initialize(nlp)
    weights = nlp.get_pipe("hosemi").weights
    n_before, n_labels = len(weights.names), len(weights.tail)
    examples = make_examples(nlp, ["[PER Quentin] laughed loudly ."])
    for _ in range(20):
        nlp.update(examples, sgd=Adam(0.01))
    weights = nlp.get_pipe("hosemi").weights
    sizes = weights.pairs.sizes
    assert len(sizes) == len(weights.names) > n_before
    assert (sizes[n_before:] == n_labels).all()
    assert (sizes[:n_before] < n_labels).any()
    doc = nlp(make_doc(nlp, "Quentin", "laughed", "loudly", "."))
    assert triples(doc.ents) == [(0, 1, "PER")]


def test_with_a_tree(tmp_path):
    nlp = fit_on(make_nlp(hierarchy=TREE, features=SEEN), MARKED)
    weights = nlp.get_pipe("hosemi").weights
    assert len(weights.pairs.columns) < len(weights.names) * len(weights.tail)
    found = predicted(nlp)
    assert sum(map(len, found)) > 3
    nlp.to_disk(tmp_path)
    assert predicted(load(tmp_path)) == found
