"""The component with tables of words: learnt, saved, replaced, and what is refused."""

import copy

import numpy as np
import pytest
import spacy

from spacy_hosemi.model.span_scorer import weights_of

from ..helpers import assert_gradient, initialize, lbfgs, make_examples, make_nlp
from .test_gazetteers import CITIES, MARKED, NEW, PEOPLE, PLAIN, find_new, use_lists

TABLE = {"@misc": "spacy_hosemi.table.v1"}
NLP = spacy.blank("en")


def rows_of(cities=(*CITIES, *NEW), people=PEOPLE) -> list[tuple[str, str]]:
    """Clusters of the words of names."""
    words = [(word, "011") for name in cities for word in name.split()]
    return words + [(word, "10") for name in people for word in name.split()]


def use_tables(**tables):
    return {name: {**TABLE, **settings} for name, settings in tables.items()}


def write(path, rows):
    path.write_text("word,cluster\n" + "".join(f"{w},{c}\n" for w, c in rows))
    reader = {"@readers": "spacy_hosemi.read_table.v1", "path": str(path)}
    return {**reader, "word": "word", "value": "cluster"}


def train_clusters(folder, rows=None, **config):
    """A fitted pipeline with the table "clusters"; its file is gone."""
    tables = use_tables(clusters={"prefixes": [2]})
    nlp = make_nlp(features=PLAIN, model={"tables": tables}, **config)
    readers = {"clusters": write(folder / "clusters.csv", rows or rows_of())}
    initialize(nlp, MARKED, tables=readers, fit=lbfgs(max_iter=15))
    (folder / "clusters.csv").unlink()
    return nlp


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_clusters(tmp_path_factory.mktemp("tables"))


def make_pipe(tables, **settings):
    tables = use_tables(**dict.fromkeys(tables, {}))
    model = {"tables": tables, "features": PLAIN, **settings}
    return NLP.create_pipe("hosemi", config={"model": model})


# --- what is learnt ---------------------------------------------------------------


def test_words_that_only_the_table_knows(trained):
    assert find_new(trained) == [True, True, True, False]
    weights = trained.get_pipe("hosemi").weights
    assert {
        "inside:clusters:VALUE=011",
        "inside:clusters:PREFIX2=01",
        "start:clusters:VALUE[-1]=10",
        "end:clusters:PREFIX2[1]=01",
    } <= set(weights.names)
    city = trained.get_pipe("hosemi").inventory.names.index("CITY")
    row = weights.matrix[weights.names.index("inside:clusters:VALUE=011")]
    assert row.argmax() == city


def test_tables_and_lists():
    model = {"tables": use_tables(x={}), "gazetteers": use_lists(y={})}
    pipe = NLP.create_pipe("hosemi", config={"model": {**model, "features": PLAIN}})
    examples = make_examples(NLP, MARKED)
    readers = {"tables": {"x": rows_of}, "gazetteers": {"y": lambda: CITIES}}
    pipe.initialize(lambda: examples, nlp=NLP, **readers)
    names = pipe.weights.names
    assert {"inside:x:VALUE=011", "inside:y:IN=2", "whole:y:MATCH=1"} <= set(names)
    other = copy.deepcopy(pipe)
    assert weights_of(other.model).to_bytes() == weights_of(pipe.model).to_bytes()


def test_rows_from_training_documents():
    """A reader with an argument is given the examples."""
    pipe, examples = make_pipe(["x"]), make_examples(NLP, MARKED)

    def read(examples):
        ents = [ent for eg in examples for ent in eg.reference.ents]
        return [(token.text, ent.label_) for ent in ents for token in ent]

    pipe.initialize(lambda: examples, nlp=NLP, tables={"x": read})
    assert "inside:x:VALUE=CITY" in pipe.weights.names


def test_gradient():
    features = {"preset": "none", "whole": ["x:VALUE+", "TOKENS"], "min_count": 1}
    features["inside"] = ["x:PREFIX1"]
    pipe = make_pipe(["x"], features=features)
    marked = ["[A a b] c [B b] .", "( [B b a] c ) [A c]"]
    examples = make_examples(NLP, marked)
    rows = [("a", "01"), ("b", "00"), ("c", "1")]
    pipe.initialize(lambda: examples, nlp=NLP, tables={"x": lambda: rows})
    pipe.set_weights(np.random.default_rng(0).normal(size=pipe.get_weights().shape))
    assert_gradient(pipe, examples)
    assert "whole:x:VALUE+=01 00" in pipe.weights.names


# --- saved models -----------------------------------------------------------------


def test_a_loaded_component_forgets_the_rows_it_had(tmp_path):
    """Values of words are kept: not beyond the rows that they come from."""
    nlp = train_clusters(tmp_path)
    other = train_clusters(tmp_path, rows_of(CITIES, (*PEOPLE, *NEW)))
    assert find_new(nlp)[:3] == [True] * 3
    assert not any(find_new(other))
    nlp.get_pipe("hosemi").from_bytes(other.get_pipe("hosemi").to_bytes())
    assert not any(find_new(nlp))


def test_initialize_again_with_other_rows(tmp_path):
    nlp = train_clusters(tmp_path)
    assert find_new(nlp) == [True, True, True, False]
    rows = rows_of(CITIES, (*PEOPLE, *NEW)) + [("Ceb", "011"), ("Dor", "011")]
    readers = {"clusters": write(tmp_path / "other.csv", rows)}
    initialize(nlp, MARKED, tables=readers, fit=lbfgs(max_iter=15))
    assert find_new(nlp) == [False, False, False, True]


# --- what is refused --------------------------------------------------------------


def test_a_list_is_no_table():
    with pytest.raises(ValueError, match="HS037.*model.tables.x is Gazetteer;"):
        make_nlp(model={"tables": use_lists(x={})})
    with pytest.raises(ValueError, match="HS037.*model.gazetteers.x is Table;"):
        make_nlp(model={"gazetteers": use_tables(x={})})


def test_a_table_and_a_list_of_one_name():
    with pytest.raises(ValueError, match="HS038.*'x'.* of one name"):
        make_nlp(model={"tables": use_tables(x={}), "gazetteers": use_lists(x={})})
