"""Features for CRFsuite: as `pycrfsuite.ItemSequence` has them."""

import pickle

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.strings import hash_string

from spacy_hosemi import from_word2features
from spacy_hosemi.features.crfsuite import words_and_tags
from spacy_hosemi.features.kernels.key_table import hash_items

from ..helpers import make_doc

NLP = spacy.blank("en")

texts = st.sampled_from(["a", "b:c", "", "ä"])
numbers = st.booleans() | st.sampled_from([0, 1, 2, -0.5, 1.0, 0.0])
lists = st.lists(texts, max_size=3) | st.sets(texts, max_size=3)
dicts = st.recursive(
    st.dictionaries(texts, texts | numbers | lists, max_size=3),
    lambda values: st.dictionaries(texts, values, max_size=2),
    max_leaves=4,
)


def listed(found):
    """What is listed for one token whose features are these, as a dict."""
    first, values, strength, texts, fault = hash_items([found])
    assert first.tolist() == [0, len(texts)] and fault is None
    assert values.tolist() == [*map(hash_string, texts)]
    return dict(zip(texts, [1.0] * len(texts) if strength is None else strength))


@given(dicts | lists | st.tuples(texts, texts))
def test_as_crfsuite_reads_them(found):
    crfsuite = pytest.importorskip("pycrfsuite")
    (expected,) = crfsuite.ItemSequence([found]).items()
    expected.pop("", None)  # it would be a feature of every token
    assert listed(found) == {key: value for key, value in expected.items() if value}


@pytest.mark.parametrize(
    "found, expected",
    [
        ({"word": "Ada", "title": True, "digit": False}, ["word:Ada", "title"]),
        ({"size": 0.5, "bias": 1.0, "none": 0}, [("size", 0.5), "bias"]),
        ({"near": {"word": "a", "title": True}}, ["near:word:a", "near:title"]),
        ({"in": ["x", "y"], "of": {"q": {"r"}}}, ["in:x", "in:y", "of:q:r"]),
        (["a", "a"], ["a", "a"]),
        ({b"word": b"\xc3\xa4"}, ["word:ä"]),
        ({}, []),
    ],
)
def test_forms(found, expected):
    pairs = [x if isinstance(x, tuple) else (x, 1.0) for x in expected]
    assert listed(found) == dict(pairs)
    _, values, strength, *_ = hash_items([found, [], found])
    assert len(values) == 2 * len(expected)
    assert (strength is None) == all(number == 1 for _, number in pairs)


def test_sets_are_sorted():
    words = {f"w{k}" for k in range(20)}
    assert [*listed({"p": words})] == [f"p:{word}" for word in sorted(words)]


def test_the_sentence():
    doc = make_doc(NLP, "He", "ran", tags=["PRP", "VBD"])
    function = from_word2features(lambda sent, i: [*sent[i], str(len(sent))])
    assert function(doc) == [["He", "PRP", "2"], ["ran", "VBD", "2"]]
    function = from_word2features(
        lambda sent, i: [sent[i][0]], lambda doc: [t.lower_ for t in doc]
    )
    assert function(doc) == [["h"], ["r"]]
    assert function(make_doc(NLP)) == []
    assert function(doc[1:]) == [["r"]]


def word_of(sent, i):
    return {"word": sent[i][0]}


def test_pickle():
    function = pickle.loads(pickle.dumps(from_word2features(word_of)))
    assert function(make_doc(NLP, "x")) == [{"word": "x"}]
    assert words_and_tags(make_doc(NLP, "x")) == [("x", "")]
