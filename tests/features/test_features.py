"""Templates, attributes and keys."""

import math
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given

from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.features import TOKEN_ROLES as ROLES
from spacy_hosemi.features import (
    Extractor,
    FeatureSet,
    Gazetteers,
    make_features,
    make_gazetteer,
)
from spacy_hosemi.features.attributes import position
from spacy_hosemi.features.naming import feature_names, in_words
from spacy_hosemi.features.presets import FUZZY_LISTS, LISTS, PIECES, PRESETS, TABLES
from spacy_hosemi.features.templates import parse_templates

from ..helpers import make_doc

NLP = spacy.blank("en")
KEY_ADA, KEY_MET = 13_359_791_049_826_450_833, 18_364_268_105_451_219_304


@pytest.mark.parametrize(
    "text, expected",
    [
        ("LOWER", ["LOWER"]),
        ("LOWER[0]", ["LOWER"]),
        ("SUFFIX3[-1]", ["SUFFIX3[-1]"]),
        ("IS_STOP[2]", ["IS_STOP[2]"]),
        ("SHAPE[-1:1]", ["SHAPE[-1]", "SHAPE", "SHAPE[1]"]),
        ("SHAPE[1:1]", ["SHAPE[1]"]),
        ("SHAPE[-3:-2]", ["SHAPE[-3]", "SHAPE[-2]"]),
        ("LOWER[-1] & LOWER", ["LOWER[-1] & LOWER"]),
        ("LOWER&POS[1]&TAG", ["LOWER & POS[1] & TAG"]),
        ("  LOWER  ", ["LOWER"]),
        # of whole segments
        ("LOWER*", ["LOWER*"]),
        ("SHORT_SHAPE+", ["SHORT_SHAPE+"]),
        ("TOKENS & x:MATCH", ["TOKENS & x:MATCH"]),
        ("x:IN+ & _.topic* & x:PREFIX12", ["x:IN+ & _.topic* & x:PREFIX12"]),
        # of lists
        ("j.2-b_ü:END[1]", ["j.2-b_ü:END[1]"]),
        ("LOWER:IN", ["LOWER:IN"]),  # a list may have the name of an attribute
        ("x:BEGIN[-1:1]", ["x:BEGIN[-1]", "x:BEGIN", "x:BEGIN[1]"]),
        ("x:IN & LOWER[-1]", ["x:IN & LOWER[-1]"]),
    ],
)
def test_templates(text, expected):
    assert list(map(str, parse_templates([text]))) == expected


def test_each_template_once():
    found = parse_templates(["LOWER[-1:1]", "LOWER", "LOWER[0:2]"])
    expected = ["LOWER[-1]", "LOWER", "LOWER[1]", "LOWER[2]"]
    assert list(map(str, found)) == expected


OFFSETS = ["", ":", "1:", ":1", "1.5", "x", "+1", "1:0", "-1001", "0:1001", "1" * 5000]


UNREADABLE = {
    "text": ["", " ", None, "lower", "1LOWER", "LOWER SHAPE", "LOWER["],
    "offset": [f"LOWER[{offset}]" for offset in OFFSETS],
    "conjunction": ["LOWER &", "& LOWER", "LOWER[-1:1] & SHAPE", "SHAPE & LOWER[0:0]"],
    "sequence": ["LOWER**", "LOWER*+", "LOWER[1]*", "LOWER*[1]", "*"],
    "extension": ["_.", "_.a b", "_x"],
    "list": ["x:", ":IN", "x:in", "x y:IN", "x:IN:IN", "x :IN"],
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_templates(kind):
    for text in UNREADABLE[kind]:
        with pytest.raises(ValueError, match="HS030"):
            parse_templates(["LOWER", text])


def test_unknown_names():
    with pytest.raises(ValueError, match="HS031.*'LOWER & NOPE'.*'NOPE'"):
        FeatureSet(start=["LOWER & NOPE"])
    with pytest.raises(ValueError, match="HS032.*'best'"):
        make_features("best")


@pytest.mark.parametrize("name", ["min_count", "width"])
def test_whole_numbers(name):
    for value in (1, 10**9):
        assert getattr(make_features(**{name: value}), name) == value
    for value in (0, -1, 10**9 + 1, "1", 2.5, math.nan, True, None):
        with pytest.raises(ValueError, match="HS033") as error:
            make_features(**{name: value})
        assert f"features.{name} is {value!r}; expected a whole num" in str(error.value)


@pytest.mark.parametrize("value", ["False", 1, None])
@pytest.mark.parametrize("name", ["all_labels", "pieces"])
def test_true_or_false(name, value):
    with pytest.raises(ValueError, match=f"HS033.*{name} is {value!r}; .*true or"):
        make_features(**{name: value})


def test_the_farthest_offsets():
    assert len(parse_templates(["LOWER{-1000:1000}", "LOWER[1000]"])) == 2002


def test_templates_are_added_to_a_preset():
    default, more = make_features(), make_features(inside=["POS"], end=["TAG[1]"])
    assert more.roles["inside"] == (*default.roles["inside"], *parse_templates(["POS"]))
    assert more.roles["start"] == default.roles["start"]
    assert more.roles["end"] == (*default.roles["end"], *parse_templates(["TAG[1]"]))
    assert not make_features("none").templates


def test_pieces_are_added_to_a_preset():
    before, after = make_features(), make_features(pieces=True, start=["TAG"])
    for role in ("inside", "start", "end"):
        assert set(before.roles[role]) < set(after.roles[role])
    assert "SPACY[-1] & LOWER" in map(str, after.roles["end"])
    assert str(after.roles["start"][-1]) == "TAG"
    assert not make_features("none").roles["start"]
    assert make_features("none", pieces=True).roles["start"]


def test_pieces_tell_spaces_apart():
    templates = [*map(str, make_features("none", pieces=True).roles["start"])]
    nlp = use_field_tokenizer(spacy.blank("en"))
    glued, spaced = (names_of(templates, nlp(x)) for x in ("a 2b", "a 2 b"))
    assert "SPACY=1" in spaced[1] and "SPACY=1" not in glued[1]


def test_on_tokens():
    features = FeatureSet(["LOWER"], ["SHAPE", "LOWER"], ["POS"], min_count=3)
    merged = features.on_tokens()
    assert list(map(str, merged.roles["inside"])) == ["LOWER", "SHAPE", "POS"]
    assert merged.roles["start"] == merged.roles["end"] == ()
    assert merged.min_count == 3
    assert merged.on_tokens().roles == merged.roles


@pytest.mark.parametrize("n_tokens", [0, 1, 2, 3, 5, 6, 7, 30, 1000])
def test_position(n_tokens):
    found = position(make_doc(NLP, *["x"] * n_tokens)).tolist()
    assert len(found) == n_tokens
    assert 0 not in found
    near = found[:3] + found[3:][-3:]
    assert len(set(near)) == len(near)  # the first and the last have their own
    assert not set(near) & set(found[3:-3])
    middle = found[3:-3]
    assert middle == sorted(middle)
    assert len(set(middle)) <= 10


FEATURES = FeatureSet(
    inside=["BIAS", "LOWER[-2:2]", "SHORT_SHAPE & LOWER[1]", "POSITION[-2:2]"],
    start=["LOWER", "NORM[-1:1]", "IS_TITLE[-1:1]", "NUMBER", "PREFIX2", "SUFFIX4"],
    end=["LOWER", "POS[-1:1]", "TAG & POS", "LEMMA", "DEP", "MORPH", "LOWER{-3:1}"],
)
WORDS = ["Ada", "ada", "met", "1999", "$", "^", "12-3", "\n", " ", "Vol.,", "“", "-"]
TAGS = ["", "NOUN", "X"]
words_n = st.lists(st.sampled_from(WORDS) | st.text(min_size=1, max_size=3), max_size=7)


@st.composite
def docs_n(draw):
    words = draw(words_n)

    def column(values):
        size = len(words)
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    pos, tags, lemmas = column(TAGS), column(TAGS), column(["", "be", "^"])
    return make_doc(NLP, *words, pos=pos, tags=tags, lemmas=lemmas)


@given(st.lists(docs_n(), max_size=3))
def test_the_same_name_if_and_only_if_the_same_key(docs):
    lists = Gazetteers({"x": make_gazetteer("LOWER")})
    lists.compile("x", ["ada", "ada met", "ada ada ada", "1999 $ ^", "met"], NLP)
    features = FEATURES.with_lists(["x"])
    features.roles["start"] += parse_templates(["x:IN & LOWER"])
    extractor = Extractor(features, lists)
    name_of, key_of = {}, {}
    for doc in docs:
        keys = extractor.read([doc]).keys
        for role in ROLES:
            n_templates = len(features.roles[role])
            assert keys[role].shape == (len(doc), n_templates)
            names = list(feature_names(extractor, doc, role))
            assert [len(row) for row in names] == [n_templates] * len(doc)
            for row_keys, row_names in zip(keys[role].tolist(), names, strict=True):
                for key, name in zip(row_keys, row_names, strict=True):
                    assert (key == 0) == (name is None)
                    if key:
                        full = f"{role}:{name}"
                        assert name_of.setdefault(key, full) == full
                        assert key_of.setdefault(full, key) == key


def assert_as_fresh(extractor, doc):
    keys, expected = (x.read([doc]).keys for x in (extractor, Extractor(FEATURES)))
    for role in ROLES:
        np.testing.assert_array_equal(keys[role], expected[role])


@given(st.lists(docs_n(), max_size=4))
def test_cached_equals_fresh(docs):
    extractor = Extractor(FEATURES)
    for doc in [*docs, *docs]:
        assert_as_fresh(extractor, doc)
    copy = pickle.loads(pickle.dumps(extractor))
    for doc in docs:
        assert_as_fresh(copy, doc)


def test_more_words_than_the_first_table():
    words = [f"w{k}" for k in range(1000)]
    assert len(np.unique(keys_of(["ORTH"], *words, *words))) == 1000


def names_of(templates, doc):
    return list(feature_names(Extractor(FeatureSet(templates)), doc, "inside"))


def keys_of(templates, *words, nlp=NLP):
    reading = Extractor(FeatureSet(templates)).read([make_doc(nlp, *words)])
    return reading.keys["inside"]


def test_names_at_the_borders_and_of_absent_values():
    doc = make_doc(NLP, "Ada", "1999")
    assert names_of(["LOWER[-2:2]", "NUMBER", "NUMBER & LOWER[-1]"], doc) == [
        ["LOWER[-2]=^", "LOWER[-1]=^", "LOWER=ada", "LOWER[1]=1999", "LOWER[2]=$"]
        + [None, None],
        ["LOWER[-2]=^", "LOWER[-1]=ada", "LOWER=1999", "LOWER[1]=$", "LOWER[2]=$"]
        + ["NUMBER=year", "NUMBER & LOWER[-1]=year & ada"],
    ]


def test_the_border_is_no_position():
    keys = keys_of(["POSITION[-1:1]"], *"xxxxxxxx")
    assert keys[0, 0] not in keys[1:, 0]
    assert keys[-1, 2] not in keys[:-1, 2]


def test_token_attributes_are_those_of_the_token():
    # one word, two readings: they belong to the token, not to its lexeme
    tags = {"pos": ["NOUN", "VERB", ""], "tags": ["NN", "VB", ""]}
    doc = make_doc(NLP, "run", "run", "run", **tags)
    doc[1].norm_ = "corre"
    assert names_of(["POS", "TAG", "LOWER & POS", "NORM"], doc) == [
        ["POS=NOUN", "TAG=NN", "LOWER & POS=run & NOUN", "NORM=run"],
        ["POS=VERB", "TAG=VB", "LOWER & POS=run & VERB", "NORM=corre"],
        [None, None, None, "NORM=run"],
    ]


def test_no_features():
    assert keys_of([], "Ada").shape == (1, 0)
    assert names_of([], make_doc(NLP, "Ada")) == [[]]


@pytest.mark.parametrize("lang", ["en", "de"])
def test_keys_are_the_same_in_every_process(lang):
    # saved models contain them
    keys = keys_of(["LOWER & SHAPE"], "Ada", "met", nlp=spacy.blank(lang))
    assert keys.tolist() == [[KEY_ADA], [KEY_MET]]


def test_attributes_of_the_document():
    doc = make_doc(NLP, "a", "b", spaces=[False, True], sent_starts=[True, False])
    assert names_of(["SPACY", "SENT_START", "POSITION"], doc) == [
        [None, "SENT_START=1", "POSITION=1"],
        ["SPACY=1", None, "POSITION=2"],
    ]


def test_all_features_of_presets_have_words():
    roles = [*PRESETS.values(), PIECES, LISTS, FUZZY_LISTS, TABLES]
    texts = {text for preset in roles for of in preset.values() for text in of}
    texts = [
        text.format("cities" if "{}:" in text else "cities:VALUE") for text in texts
    ]
    for template in parse_templates(texts):
        assert in_words(f"{template}={' & '.join('1' for _ in template.atoms)}")
    assert in_words("NUMBER[-2]=1") == "the word 2 before is a single digit"
    assert in_words("LOWER[1]=$") == "there is no word after"
    text = 'the first word is "a" and the last word is "&"'
    assert in_words("LOWER & LOWER[-1]=a & &", True) == text
    assert in_words("_.topic=1") == in_words("mine=a & b") == ""
