"""Extension attributes of tokens: values, types, and what is refused."""

import enum
import pickle

import numpy as np
import pytest
import spacy
from spacy.strings import hash_string
from spacy.tokens import Token

from spacy_hosemi.features import Extensions, Extractor, FeatureSet
from spacy_hosemi.features.naming import feature_names

from ..helpers import make_doc
from .test_gazetteers import spans_of

NLP = spacy.blank("en")


@pytest.fixture(autouse=True)
def registered():
    """The attributes `_.topic` and `_.is_long`; the second one is computed."""
    Token.set_extension("topic", default=None)
    Token.set_extension("is_long", getter=lambda token: len(token) > 3)
    yield
    for name in ("topic", "is_long"):
        if Token.has_extension(name):
            Token.remove_extension(name)


def make_topics(*values):
    doc = make_doc(NLP, *[f"w{k}" for k in range(len(values))])
    for token, value in zip(doc, values, strict=True):
        token._.topic = value
    return doc


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    "values, expected",
    [
        (["a", None, "", "b c"], ["a", None, None, "b c"]),
        ([True, False, None], ["1", None, None]),
        ([0, 1, -7, None, 10**30], ["0", "1", "-7", None, "1" + "0" * 30]),
        ([None, None], [None, None]),
        ([], []),
    ],
)
def test_values(values, expected):
    doc, extensions = make_topics(*values), Extensions()
    assert extensions.texts(doc, "topic") == expected
    found = extensions.values(doc, "topic")
    assert found.dtype == np.uint64
    assert found.tolist() == [hash_string(text) if text else 0 for text in expected]


@pytest.mark.parametrize(
    "values, expected",
    [(["a", ""], "str"), ([True, False], "bool"), ([0, 2], "int"), ([None], None)],
)
def test_the_first_value_in_training_tells_the_type(values, expected):
    for value in values:
        extensions = Extensions()
        extensions.values(make_topics(None, value), "topic")
        assert not extensions
        extensions.values(make_topics(None, value), "topic", is_train=True)
        assert extensions.types == ({"topic": expected} if expected else {})
        assert bool(extensions) == bool(expected)


# --- what is refused --------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["a"]])
def test_an_attribute_that_is_not_registered(words):
    with pytest.raises(ValueError) as error:
        Extensions().values(make_doc(NLP, *words), "subject")
    assert str(error.value).startswith("[HS039] a feature template reads _.subject, ")
    assert "Token.set_extension('subject', default=None)" in str(error.value)


@pytest.mark.parametrize(
    "value, kind",
    [
        (0.5, "float"),
        (["a"], "list"),
        (np.int64(1), "numpy.int64"),
        (np.bool_(True), "numpy.bool"),
        (np.str_("a"), "numpy.str_"),
        (Colour.RED, "tests.features.test_extensions.Colour"),
        (b"a", "bytes"),
    ],
)
def test_a_value_of_another_kind(value, kind):
    extensions = Extensions()
    with pytest.raises(TypeError) as error:
        extensions.values(make_topics(None, value), "topic")
    text = str(error.value)
    assert text.startswith("[HS048] the extension attribute _.topic of the token 'w1' ")
    assert f"of type {kind}" in text
    assert "; expected str or bool or int, or None." in text
    assert extensions.types == {}


@pytest.mark.parametrize(
    "first, second, expected",
    [("a", 1, "str"), (1, "a", "int"), (True, 1, "bool"), (1, True, "int")],
)
def test_the_type_changes(first, second, expected):
    extensions = Extensions()
    with pytest.raises(TypeError, match=f"HS048.*; expected {expected}, or None"):
        extensions.values(make_topics(first, second), "topic")
    extensions = Extensions({"topic": expected})
    with pytest.raises(TypeError, match="HS048.* of the token 'w0' "):
        extensions.values(make_topics(second), "topic")
    extensions.values(make_topics(first, None), "topic")


def test_a_long_value_is_cut():
    with pytest.raises(TypeError, match="HS048") as error:
        Extensions({"topic": "int"}).values(make_topics("x" * 10_000), "topic")
    assert len(str(error.value)) < 400


def test_a_method_is_no_value():
    Token.set_extension("topic", method=lambda token: "a", force=True)
    with pytest.raises(TypeError, match="HS048.*of type functools.partial"):
        Extensions().values(make_doc(NLP, "a"), "topic")


def test_names():
    extractor = Extractor(FeatureSet(["_.topic[-1:1]", "_.is_long & LOWER"]))
    doc = make_doc(NLP, "long", "low", "lower")
    for token, topic in zip(doc, ["a", None, "b"]):
        token._.topic = topic
    assert list(feature_names(extractor, doc, "inside")) == [
        ["_.topic[-1]=^", "_.topic=a", None, "_.is_long & LOWER=1 & long"],
        ["_.topic[-1]=a", None, "_.topic[1]=b", None],
        [None, "_.topic=b", "_.topic[1]=$", "_.is_long & LOWER=1 & lower"],
    ]
    is_read = [[0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0]]
    assert (extractor.read([doc]).keys["inside"] == 0).tolist() == is_read


def test_of_whole_segments():
    extractor = Extractor(FeatureSet(whole=["_.topic+", "_.topic & _.topic[-1]"]))
    doc = make_topics("a", None, "a", "a")
    spans = spans_of(extractor, doc)
    assert (0, 4, "_.topic+=a _ a") in spans
    assert (2, 4, "_.topic+=a") in spans
    assert (0, 4, "_.topic & _.topic[-1]=a & a") in spans
    assert (1, 2) not in [x[:2] for x in spans]


def test_values_are_not_kept_between_documents():
    # the same words, other values
    extractor = Extractor(FeatureSet(["_.topic"]))
    for topic in ("a", "b", None):
        doc = make_topics(topic)
        (name,) = next(feature_names(extractor, doc, "inside"))
        assert name == (f"_.topic={topic}" if topic else None)


def test_a_list_that_is_named_like_an_attribute():
    with pytest.raises(ValueError, match="HS031.*'_.topic:IN'"):
        Extractor(FeatureSet(["_.topic:IN"]))


def test_pickle():
    extractor = Extractor(FeatureSet(["_.topic"]))
    extractor.read([make_topics("a")], is_train=True)
    copy = pickle.loads(pickle.dumps(extractor))
    with pytest.raises(TypeError, match="HS048"):
        copy.read([make_topics(1)])
