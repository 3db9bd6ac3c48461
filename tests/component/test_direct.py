"""Texts without documents of spaCy: the same records, bit for bit."""

from functools import cache

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given, settings
from spacy.language import Language

from spacy_hosemi import FieldTokenizer, use_field_tokenizer
from spacy_hosemi.component import chunks
from spacy_hosemi.component.chunks import ResultSink, read_chunks
from spacy_hosemi.component.text_decoder import obstacle, predict_texts
from spacy_hosemi.features.word_cache import WordCache
from spacy_hosemi.formats.lines import Line

from ..helpers import SMALL, TRAIN, UNTRAINED, make_examples, make_nlp, parse, randomize
from .test_functions import WORDS as FUNCTIONS

LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}
TABLE = {"@misc": "spacy_hosemi.table.v1"}
NAMES = ["Ada Lovelace", "Ada", "New York", "Mary", "12", "somerville"]
MODELS = {
    "viterbi": {},
    "mbr": {"decoding": "mbr"},
    "mbr, own F1": {"decoding": "mbr", "expected_f1": None},
    "order 3": {"max_order": 3, "temperature": 0.7},
    "lengths": {"explicit_length": 3, "max_length": 4, "outside": "token"},
    "rules": {"label_rules": ["PER at most twice"], "min_confidence": 0.3},
    "impossible": {
        "marked": ["[PER Ada] [LOC Paris]", "[LOC London] [PER Mary]"],
        "label_rules": ["PER at most once", "LOC at most twice"],
        "outside": "none",
        "max_length": 2,
    },
    "IO": {"encoding": "IO"},
    "BIO": {"encoding": "BIO", "min_confidence": 0.2},
    "BILUO": {"encoding": "BILUO", "temperature": 2.0},
    "tokens as they are": {"clean_text": False},
    "tags as they are": {"clean_text": False, "encoding": "BIO"},
    "confidence": {"confidence": True, "spans_key": "sc"},
    "transitions": {"observed_order": 2},
    "default": {"features": {"preset": "default"}},
    "fields": {"features": {"preset": "fields", "min_count": 1}},
    "pieces": {"features": {**SMALL, "pieces": True}},
    "positions": {
        "features": {**SMALL, "start": ["POSITION", "SPACY[-1]", "ORTH & SPACY"]}
    },
    "segments": {"features": {**SMALL, "whole": ["LOWER*", "TOKENS & LOWER+"]}},
    "soft list": {"gazetteers": {"x": {**LIST}}},
    "list of words as they are": {"gazetteers": {"x": {**LIST, "attr": "ORTH"}}},
    "hard list": {"gazetteers": {"x": {**LIST, "mode": "hard", "label": "LOC"}}},
    "table": {"tables": {"t": TABLE}},
}  # fmt: skip


def make_fields(features=SMALL, gazetteers=None, tables=None, marked=TRAIN, **config):
    """A component with random weights, alone behind the field tokenizer."""
    nlp = use_field_tokenizer(spacy.blank("en"))
    model = {"gazetteers": gazetteers or {}, "tables": tables or {}}
    make_nlp(nlp=nlp, features=features, model=model, **config)
    pipe = nlp.get_pipe("hosemi")
    readers = {"gazetteers": {"x": lambda: NAMES}} if gazetteers else {}
    if tables:
        readers["tables"] = {"t": lambda: [("Ada", "1"), ("met", "2"), ("12", "1")]}
    pipe.initialize(lambda: make_examples(nlp, marked), nlp=nlp, **readers)
    randomize(pipe)
    return nlp


made = cache(lambda name: make_fields(**MODELS[name]))

WORDS = sorted({x for line in TRAIN for x in parse(line)[0].split()})
ODD = ["12", "1950;59(236):433", "é", "e\u0301", "😀", "🏴‍☠️", "北京", "Łukasz", "ﬁeld"]
ODD += ["Love\u00adlace", "\u200b", "PERSON", "ﷺ", "İ", "x" * 60, "\x00", "(a"]
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(ODD), st.text(max_size=4))
GAPS = st.sampled_from([" "] * 12 + ["", "  ", "\n", "-\n", "\t", "\u2028", "\u00a0"])
TEXTS = st.lists(st.tuples(PIECES, GAPS), max_size=12).map(
    lambda pairs: "".join(x for pair in pairs for x in pair)[:-1]
)


class Kept(ResultSink):
    """All findings."""

    needs_docs = False

    def __init__(self):
        self.rows = {}

    def add(self, line, fields, confidence):
        assert line.number not in self.rows
        self.rows[line.number] = [*map(tuple, fields)], confidence

    def fail(self, line, message):
        assert line.number not in self.rows
        self.rows[line.number] = message


def read(nlp, texts, **how):
    findings = Kept()
    lines = [Line("", k, text, k) for k, text in enumerate(texts)]
    for _ in read_chunks(nlp, lines, findings, **how):
        pass
    assert sorted(findings.rows) == [*range(len(texts))]
    return [row for _, row in sorted(findings.rows.items())]


def read_as_documents(nlp, texts, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "obstacle", lambda nlp: "a test")
        return read(nlp, texts, **how)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=7)
@given(texts=st.lists(TEXTS, max_size=8))
def test_the_same_bits(name, texts):
    nlp = made(name)
    assert obstacle(nlp) is None
    assert read(nlp, texts) == read_as_documents(nlp, texts)


PLAIN = [parse(line)[0] for line in TRAIN] * 3 + ["1950;59(236):433 Ada", "Ada, Ada."]


@pytest.mark.parametrize("name", MODELS)
def test_plain_texts_need_no_documents(name, monkeypatch):
    nlp = made(name)
    expected = read_as_documents(nlp, PLAIN)
    assert len({*map(str, expected)}) > 1
    with nlp.memory_zone():
        parts = predict_texts(nlp, PLAIN, None)
        found = {place for places, _ in parts for place in places}
    if name == "impossible":
        assert found < {*range(len(PLAIN))}
        assert any("HS060" in row for row in expected if isinstance(row, str))
        return
    assert found == {*range(len(PLAIN))}
    monkeypatch.setattr(nlp, "make_doc", None)
    assert read(nlp, PLAIN) == expected


@pytest.mark.parametrize("name", ["viterbi", "BIO", "fields", "soft list"])
def test_threads_chunks_and_caches_change_nothing(name, monkeypatch):
    nlp = made(name)
    texts = [f"{text} {k}" for k, text in enumerate(PLAIN * 20)]
    texts[7] = "Ada\u00ad  met\nMary"
    expected = read(nlp, texts)
    assert read(nlp, texts, threads=3) == expected
    monkeypatch.setattr(chunks, "CHUNK", 9)
    assert read(nlp, texts, threads=2) == expected
    monkeypatch.setattr(WordCache, "is_on", False)
    assert read(nlp, texts) == expected


def test_a_failure_is_of_one_text():
    """A batch in which one document fails is read by the pipeline."""
    nlp = made("impossible")
    texts = ["Ada Paris", "Ada", *PLAIN, "Mary London"]
    found = read(nlp, texts)
    assert found == [read(nlp, [text])[0] for text in texts]
    assert 0 < sum(isinstance(row, str) for row in found) < len(texts) - 2


def test_texts_that_are_no_texts_of_words():
    nlp = made("viterbi")
    nlp.max_length = 30
    texts = ["", " ", "Ada " * 10, "\ud800 Ada", "Ada", "\n"]
    try:
        found = read(nlp, texts)
        assert found == read_as_documents(nlp, texts)
        with nlp.memory_zone():
            parts = predict_texts(nlp, texts, None)
            places = [place for some, _ in parts for place in some]
    finally:
        nlp.max_length = 1_000_000
    assert sorted(places) == [0, 1, 4, 5]
    assert [isinstance(row, str) for row in found] == [
        False, False, True, True, False, False
    ]  # fmt: skip


def test_words_are_forgotten():
    nlp = made("fields")
    read(nlp, ["Ada met Mary."])
    before = len(nlp.vocab.strings), len(nlp.tokenizer.cache)
    read(nlp, [f"Word{k} met Ada{k}x." for k in range(2000)])
    assert (len(nlp.vocab.strings), len(nlp.tokenizer.cache)) == before


@UNTRAINED
def test_an_untrained_component():
    nlp = use_field_tokenizer(make_nlp())
    assert read(nlp, ["Ada met Mary."]) == [([], 1.0)]


class Own(FieldTokenizer):
    """Another tokenizer."""


class OwnLanguage(Language):
    lang = "own"

    def make_doc(self, text):
        return super().make_doc(text.lower())


def own_tokenizer(nlp):
    nlp.tokenizer = Own(nlp.vocab)


def own_documents(nlp):
    nlp.__class__ = OwnLanguage


@Language.component("does_nothing")
def does_nothing(doc):
    return doc


TREE = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "_"}


@pytest.mark.parametrize(
    "config, change, why",
    [
        ({}, lambda nlp: nlp.add_pipe("does_nothing"), "more than one component"),
        ({}, own_tokenizer, "tokenizer is not spacy_hosemi.FieldTokenizer.v1"),
        ({}, own_documents, "makes documents in its own way"),
        ({"scope": "sents"}, None, "the scope is 'sents'"),
        ({"collective": 1.0}, None, "collective"),
        ({"spans_key": "sc", "spans_threshold": 0.1}, None, "spans_threshold"),
        ({"hierarchy": TREE}, None, "labels are in a tree"),
        ({"features": {**SMALL, "end": ["NORM", "POS"]}}, None, "read NORM, POS"),
        ({"features": {**SMALL, "end": ["SENT_START"]}}, None, "read SENT_START"),
        ({"features": {**SMALL, "end": ["_.x"]}}, None, "read _.x"),
        ({"features": FUNCTIONS}, None, "features read functions"),
        ({"features": {**SMALL, "whole": ["BALANCED"]}}, None, "read BALANCED"),
        ({"gazetteers": {"x": {**LIST, "attr": "LOWER"}}}, None, "read LOWER"),
    ],
)
def test_obstacles(config, change, why):
    nlp = use_field_tokenizer(spacy.blank("en"))
    config = dict(config)
    features = config.pop("features", SMALL)
    model = {"gazetteers": config.pop("gazetteers", {})}
    make_nlp(nlp=nlp, features=features, model=model, **config)
    if "hierarchy" in config:
        marked = ["[who_PER Ada] wrote.", "[who_ORG Acme] wrote."]
        examples = make_examples(nlp, marked)
        nlp.get_pipe("hosemi").initialize(lambda: examples, nlp=nlp)
    if change is not None:
        assert obstacle(nlp) is None
        change(nlp)
    assert why in obstacle(nlp)


def test_a_tok2vec_is_an_obstacle():
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None}
    tok2vec |= {"width": 8, "depth": 1, "embed_size": 50, "window_size": 1}
    tok2vec |= {"maxout_pieces": 2, "subword_features": True}
    nlp = use_field_tokenizer(make_nlp(model={"tok2vec": tok2vec}))
    assert obstacle(nlp) == "features read a tok2vec"
