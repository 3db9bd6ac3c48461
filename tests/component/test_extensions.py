"""The component with extension attributes: who sets them, and what goes wrong."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Token

from ..helpers import initialize, lbfgs, make_examples, make_nlp
from .test_gazetteers import CITIES, MARKED, NEW, PLAIN, find_new
from .test_serialize import THROUGH

KNOWN = {word for name in (*CITIES, *NEW) for word in name.split()}
READS = {**PLAIN, "inside": [*PLAIN["inside"], "_.topic"], "whole": ["_.topic*"]}


def topic_of(token):
    return "city" if token.text in KNOWN else None


@Language.component("hosemi_tests_topic")
def set_topic(doc):
    for token in doc:
        token._.topic = topic_of(token)
    return doc


@pytest.fixture(autouse=True)
def cleaned():
    yield
    if Token.has_extension("topic"):
        Token.remove_extension("topic")


def register(**settings):
    Token.set_extension("topic", force=True, **settings)


def train_topics():
    """A fitted pipeline; a component before it sets the attribute."""
    register(default=None)
    nlp = make_nlp(features=READS)
    nlp.add_pipe("hosemi_tests_topic", first=True)
    nlp.config["training"]["annotating_components"] = ["hosemi_tests_topic"]
    initialize(nlp, MARKED, fit=lbfgs(max_iter=15))
    return nlp


# --- what is learnt ---------------------------------------------------------------


def test_a_component_sets_it():
    nlp = train_topics()
    assert find_new(nlp) == [True, True, True, False]
    names = nlp.get_pipe("hosemi").weights.names
    assert {"inside:_.topic=city", "whole:_.topic*=city city"} <= set(names)


def test_nobody_sets_it():
    """As for POS: where no component before it annotates, there is nothing to read."""
    register(default=None)
    nlp = make_nlp(features=READS)
    nlp.add_pipe("hosemi_tests_topic", first=True)
    initialize(nlp, MARKED, fit=lbfgs(max_iter=15))
    pipe = nlp.get_pipe("hosemi")
    assert not [name for name in pipe.weights.names if "topic" in name]
    assert pipe.weights.extractor.extensions.types == {}


def test_types():
    """Also those of a training anew."""
    nlp = make_nlp(features=READS)
    for kind in (bool, int, str):
        register(getter=lambda token, kind=kind: kind(token.text in KNOWN))
        initialize(nlp, MARKED, fit=lbfgs(max_iter=15))
        assert find_new(nlp) == [True, True, True, False]
        types = nlp.get_pipe("hosemi").weights.extractor.extensions.types
        assert types == {"topic": kind.__name__}


def test_online():
    register(getter=topic_of)
    nlp = make_nlp(features=READS)
    optimizer, examples = initialize(nlp, MARKED), make_examples(nlp, MARKED)
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    assert find_new(nlp) == [True, True, True, False]


# --- saved models -----------------------------------------------------------------


@pytest.mark.parametrize("through", THROUGH[:2])
def test_a_saved_model_has_the_type(through, tmp_path):
    nlp = train_topics()
    other = through(nlp, tmp_path)
    assert find_new(other) == [True, True, True, False]
    pipe = other.get_pipe("hosemi")
    assert pipe.weights.extractor.extensions.types == {"topic": "str"}
    assert pipe.model.to_bytes() == nlp.get_pipe("hosemi").model.to_bytes()
    register(getter=lambda token: 1)
    other.disable_pipe("hosemi_tests_topic")
    with pytest.raises(TypeError) as error:
        other("they saw Xor .")
    text = str(error.value)
    begin = "[HS048] the extension attribute _.topic of the token 'they'"
    assert text.startswith(begin)
    assert " is 1, of type int; expected str, or None." in text


def test_a_loaded_model_without_types(tmp_path):
    """Types of before do not stay."""
    nlp = train_topics()
    plain = make_nlp(features=READS)
    initialize(plain, ["[A a] b"])
    pipe = nlp.get_pipe("hosemi")
    pipe.from_bytes(plain.get_pipe("hosemi").to_bytes())
    assert pipe.weights.extractor.extensions.types == {}


# --- what goes wrong --------------------------------------------------------------


@pytest.mark.parametrize("fit", [{}, {"fit": lbfgs()}])
def test_not_registered_at_training(fit):
    nlp = make_nlp(features=READS)
    with pytest.raises(ValueError) as error:
        initialize(nlp, MARKED, **fit)
    assert str(error.value).startswith("[HS039] a feature template reads _.topic, ")
    assert "Token.set_extension('topic', default=None)" in str(error.value)
    register(getter=topic_of)
    initialize(nlp, MARKED, **fit)


@pytest.mark.parametrize("how", ["call", "pipe", "load"])
def test_not_registered_at_prediction(how, tmp_path):
    nlp = train_topics()
    nlp.disable_pipe("hosemi_tests_topic")
    if how == "load":
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
    Token.remove_extension("topic")
    with pytest.raises(ValueError, match="HS039.*_.topic"):
        list(nlp.pipe(["they saw Xor ."])) if how == "pipe" else nlp("they saw Xor .")


@pytest.mark.parametrize("value", [0.5, ["city"], np.float32(1)])
def test_a_value_that_is_no_value(value):
    register(default=value)
    with pytest.raises(TypeError, match="HS048.*_.topic of the token 'they' is "):
        initialize(make_nlp(features=READS), MARKED)


def test_the_type_changes_within_training():
    register(getter=lambda token: 1 if token.text == "saw" else topic_of(token))
    with pytest.raises(TypeError, match="HS048.*'Arvo' is 'city', of type str; expec"):
        initialize(make_nlp(features=READS), MARKED)


def test_an_attribute_that_is_called_like_no_other():
    with pytest.raises(ValueError, match="HS030"):
        make_nlp(features={"inside": ["_.my topic"]})
