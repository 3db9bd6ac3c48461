"""Words of any length and any characters are read in linear time.

The time of the thread is measured, and only tells linear from quadratic: 50 times the
characters take 50 or 2,500 times as long.
"""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hosemi.features import (
    Extractor,
    FeatureSet,
    Functions,
    Gazetteers,
    Tables,
    from_word2features,
    make_gazetteer,
    make_table,
)
from spacy_hosemi.features.gazetteers.words import entry_words
from spacy_hosemi.features.kernels.word_forms import FORMS as WORD_FORMS
from spacy_hosemi.features.kernels.word_forms import Spellings
from spacy_hosemi.features.naming import token_features

from ..helpers import assert_linear

NLP = spacy.blank("en")
FEW, MANY = 400, 20_000
TIMES = MANY // FEW

# Without the attributes of spaCy's that are computed when a lexeme is made.
VOCAB = Vocab()

# One of each kind of character, and sequences that number patterns begin with.
KINDS = [
    *"aAm7²٣-—/_.,(\"' \n\0\u00a0\u0301\u200d\U0001f600一あİ",
    *("\U0001f468\u200d\U0001f469", "A.", "1-", "1 ", "a-", "a'", "1st"),
]
FORMS = {"alone": "{}", "between letters": "a{}b"}


def texts(kind: str, form: str) -> list[str]:
    """A text of FEW characters of a kind, and one of MANY."""
    longest = kind * (MANY // len(kind) + 1)
    return [FORMS[form].format(longest[:n]) for n in (FEW, MANY)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_forms_of_words(kind, form):
    few, many = texts(kind, form)
    for index in range(len(WORD_FORMS)):
        assert_linear(lambda x, index=index: read_form(index, x), few, many, TIMES)


def read_form(index, text):
    Spellings([text]).texts(index)


@pytest.fixture(scope="module")
def extractor():
    """Templates for all kinds of lists and tables, and of segments."""
    gazetteers = Gazetteers(
        {
            "exact": make_gazetteer(),
            "lower": make_gazetteer("LOWER"),
            "words": make_gazetteer(fuzzy={"units": "words", "threshold": 0.6}),
            "chars": make_gazetteer(fuzzy={"threshold": 0.6}),
            "cosine": make_gazetteer("NORM", fuzzy={"similarity": "cosine"}),
            "edit": make_gazetteer(fuzzy={"similarity": "edit"}),
        }
    )
    entries = [sign * n for sign in {*"".join(KINDS)} for n in (1, 2, 7)]
    entries += ["a b", "a 7 - b", "New York", "一 一 b"]
    for name in gazetteers.settings:
        gazetteers.compile(name, entries, NLP)
    tables = Tables({"of_words": make_table(prefixes=[2])})
    tables.compile("of_words", [(entry, "value") for entry in entries])
    functions = Functions({"crfsuite": from_word2features(word2features)})
    features = FeatureSet(
        whole=["LOWER*", "SHAPE+", "TOKENS", "BALANCED"], functions=functions
    )
    lists, fuzzy = [*gazetteers.settings], [*gazetteers.fuzzy]
    features = features.with_lists(lists, tables.settings, fuzzy=fuzzy)
    return Extractor(features, gazetteers, tables)


def word2features(sent, i):
    return {"word": sent[i][0], "parts": {"first": sent[i][0][:1], "is_new": True}}


def parts(extractor) -> dict:
    """What is read of a document, by kind, without what is cached of its words."""
    fresh = extractor.reading(extractor.features)
    lists = Gazetteers(extractor.gazetteers.settings)
    lists.tries, lists.fuzzy = extractor.gazetteers.tries, extractor.gazetteers.fuzzy
    return {
        "exact": lambda doc: lists.matches([doc]),
        "fuzzy": lambda doc: lists.similar([doc]),
        "functions": lambda doc: fresh.listed([doc]),
        "all": lambda doc: fresh.read([doc]),
        "names": lambda doc: token_features(fresh, doc),
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["a", "7", "-", " ", "\U0001f600", "A.", "あ"])
def test_a_long_token(kind, form, extractor):
    few, many = (Doc(VOCAB, [text], [False]) for text in texts(kind, form))
    for read in parts(extractor).values():
        assert_linear(read, few, many, TIMES)


@pytest.mark.parametrize("kind", ["a", "7", "-", "一"])
def test_many_tokens_that_are_one_word(kind, extractor):
    """A gazetteer joins tokens without space between them."""
    pair = texts(kind, "alone")
    few, many = (Doc(VOCAB, list(text), [False] * len(text)) for text in pair)
    for name in ("exact", "fuzzy"):
        assert_linear(parts(extractor)[name], few, many, TIMES)


@pytest.mark.parametrize("kind", KINDS)
def test_entries(kind):
    few, many = texts(kind, "between letters")
    assert_linear(lambda text: entry_words([text], "ALNUM", NLP), few, many, TIMES)
