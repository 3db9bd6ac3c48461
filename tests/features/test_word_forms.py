"""Forms of words equal those of regular expressions; values are hashes as spaCy's."""

import random
import re
from itertools import groupby, islice

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import example, given
from spacy.strings import hash_string
from spacy.symbols import NAMES
from spacy.vocab import Vocab

from spacy_hosemi.features import Tables, make_table
from spacy_hosemi.features.attributes import FLAGS, LEXEME_ATTRIBUTES, STRINGS
from spacy_hosemi.features.kernels.word_forms import FORMS, Spellings
from spacy_hosemi.features.lexemes import LexemeReader

from ..strategies import IS_THOROUGH

NLP = spacy.blank("en")


# --- what forms are, by regular expressions -------------------------------------------

# Kinds of numbers; these match a word without the punctuation around it.
_YEAR = re.compile(r"(1[5-9]\d\d|20\d\d)[a-z]?")
_RANGE = re.compile(r"[a-zA-Z]?\d+[a-z]?\s*[-–—/]+\s*[a-zA-Z]?\d+")
_ROMAN = re.compile(
    r"m{0,3}(c[md]|d?c{0,3})(x[cl]|l?x{0,3})(i[xv]|v?i{0,3})", re.IGNORECASE
)
_ORDINAL = re.compile(r"\d+(st|nd|rd|th)", re.IGNORECASE)

# This matches a whole word.
_INITIAL = re.compile(r"([A-Z]\.?[-,]?)+,?")
_WORD_CHARACTER = re.compile(r"\w")
_NO_MARK = re.compile("[^" + re.escape("([{<)]}>\"'`“”„‘’‚«»") + "]+")


def number_kind(text):
    start, end = _without_punctuation(text)
    core = text[start:end]
    if _YEAR.fullmatch(core):
        return "year"
    if _RANGE.fullmatch(core):
        return "range"
    is_numbered = core.isdecimal() and text[end : end + 1] == "."
    if is_numbered or _ORDINAL.fullmatch(core):
        return "ordinal"
    digits = sum(c.isdigit() for c in text)
    if digits:
        rest = sum(c.isalpha() for c in text)
        return f"{min(digits, 5)}{'+' if rest else ''}"
    if _INITIAL.fullmatch(text):
        return "initial"
    return "roman" if core and _ROMAN.fullmatch(core) else None


def short_shape(text):
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        for c in text
    )
    return "".join(islice((kind for kind, _ in groupby(kinds)), 12))


def core_of(text):
    core = text.strip(".,;:()[]{}\"'“”‘’«»")
    return core if core and core != text else None


def punctuation(text):
    start, end = _without_punctuation(text)
    if (start, end) == (0, len(text)):
        return None
    return f"{text[:start][:6]}_{text[end:][:6]}"[:6]


def _without_punctuation(text):
    first = _WORD_CHARACTER.search(text)
    last = _WORD_CHARACTER.search(text[::-1]) if first else None
    if first is None or last is None:
        return len(text), len(text)
    return first.start(), len(text) - last.start()


def marks(text):
    text = re.sub(r"(?<=\w)['’`](?=\w)", "", text)
    return _NO_MARK.sub("", text) or None


def case(text):
    letters = "".join(c for c in text if c.isalpha())
    if not letters:
        return None
    if letters.isupper() and len(letters) > 1:
        return "upper"
    if letters[0].isupper() and not any(c.isupper() for c in letters[1:]):
        return "title"
    return "mixed" if any(c.isupper() for c in letters) else "lower"


EXPECTED = {
    "BIAS": lambda text: "1",
    "LENGTH": lambda text: str(len(text)),
    "SHORT_SHAPE": lambda text: short_shape(text) or None,
    "NUMBER": number_kind,
    "PUNCTUATION": punctuation,
    "MARKS": marks,
    "CASE": case,
    "CORE": core_of,
    **{f"PREFIX{k}": lambda x, k=k: x[:k] if x[k:] else None for k in range(1, 5)},
    **{f"SUFFIX{k}": lambda x, k=k: x[-k:] if x[k:] else None for k in range(1, 5)},
}

pieces = st.sampled_from(
    [
        *"aAbivxlcdmIVXLCDM017²٣-–—/_.,('\"`’«» \n\0\u00a0\u0301\u200d一あıİſKßǅⅧª",
        *("st", "ND", "1st", "1999", "20", "ix", "J.", "\U0001f600", "\U0001d7d8"),
    ]
)
words = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=8)


def assert_as_expected(texts):
    for name, expected in EXPECTED.items():
        found = Spellings(texts).texts(FORMS.index(name))
        assert found == [expected(text) for text in texts], name


def test_all_forms_are_tested():
    assert tuple(EXPECTED) == FORMS


def test_forms_of_each_character():
    """Alone, as a digit, and between a letter and a digit."""
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    if not IS_THOROUGH:
        points = [*range(0x3000), *random.Random(0).sample(points, 5_000)]
    for pattern in ("{}", "19{}9", "A{}1", "{}t"):
        assert_as_expected([pattern.format(chr(point)) for point in points])


@given(st.integers(0, 70), st.text(max_size=3))
def test_hashes(n, text):
    """Of texts of any number of bytes, with any number left after the last eight."""
    core = f"{'x' * n}a{text}b".lower()
    orths = np.array([NLP.vocab[f"({core})"].orth], np.uint64)
    (value,) = LexemeReader(["CORE"], Tables()).values(NLP.vocab, orths)
    assert value == hash_string(core)


@pytest.mark.parametrize("sign", ["a", "(", "1", "日", "\U0001f600"])
def test_a_long_text(sign):
    text = sign * 100_000

    def form(name, text=text):
        return Spellings([text]).texts(FORMS.index(name))[0]

    assert form("LENGTH") == "100000"
    assert form("SHORT_SHAPE") == short_shape(sign)
    assert form("MARKS") == (text if sign == "(" else None)
    assert form("CORE", f".{text}a.") == EXPECTED["CORE"](f".{text}a.")


# --- words of a vocabulary ----------------------------------------------------------

ROWS = {"ada": "0110", "met": "1", "zoë": ""}
NAMES_OF_ALL = [*LEXEME_ATTRIBUTES, "x:VALUE", "x:PREFIX2", "norms:VALUE"]


def make_tables():
    tables = Tables({"x": make_table(prefixes=[2]), "norms": make_table("NORM")})
    for name in tables.settings:
        tables.compile(name, ROWS.items())
    return tables


@pytest.fixture(scope="module")
def reader():
    return LexemeReader(NAMES_OF_ALL, make_tables())


def expected_text(lexeme, name):
    """The value of an attribute, read of spaCy's lexeme."""
    if name in STRINGS:
        return getattr(lexeme, f"{name.lower()}_")
    if name in FLAGS:
        return "1" if getattr(lexeme, name.lower()) else None
    if name == "CORE":
        return EXPECTED[name](lexeme.orth_.lower())
    if name in FORMS:
        is_affix = name.startswith(("PREFIX", "SUFFIX"))
        return EXPECTED[name](lexeme.lower_ if is_affix else lexeme.orth_)
    found = ROWS.get(lexeme.norm_ if name == "norms:VALUE" else lexeme.lower_)
    return found[:2] if found and name == "x:PREFIX2" else found


def assert_as_lexemes(reader, vocab, texts):
    orths = [vocab[text].orth for text in texts]
    found = reader.texts(vocab, np.array(orths, np.uint64))
    values = reader.values(vocab, np.array(orths, np.uint64))
    assert values.shape == (len(texts), len(reader.names))
    assert [*found] == [*reader.names]
    assert sorted(found) == sorted(NAMES_OF_ALL)
    for a, (name, of_words) in enumerate(found.items()):
        expected = [expected_text(vocab[text], name) for text in texts]
        assert of_words == expected, name
        hashes = [hash_string(x) if x else 0 for x in expected]
        assert values[:, a].tolist() == hashes, name


OF_ALL_FORMS = """
    1999 (2004) 1999a 12-34 333–40. S12-S14 3rd 21. J. J.-P. MCMXC xiv 7 42 B12 1499
    2100 123456 1234567 10.1007/BF01589116 word . McDonald's, ABC ... 日本
    aA1aA1aA1aA1aA1 Vol., (1999) “Title Word don't „a“ O’Neil’s authors' 's `` a`b
    [{<>}] J.P. A iPhone x1Y 1a Ärger ß
"""


@given(st.lists(words.filter(len), max_size=9))
@example(["ada", "Ada", "MET", "PERSON", "nsubj", "Pos", "POS", "x", "$9.5", "a@b.de"])
@example(["(iv)\n", "12.\n", "m" * 4, "1stt"])
@example(OF_ALL_FORMS.split())
def test_words(reader, texts):
    assert_as_lexemes(reader, NLP.vocab, texts)


def test_strings_with_numbers_of_their_own(reader):
    """spaCy's symbols are small numbers, which are no hashes."""
    assert_as_lexemes(reader, NLP.vocab, [x for x in NAMES if x])


def test_a_vocabulary_without_attributes(reader):
    assert_as_lexemes(reader, Vocab(), ["Ada", "PERSON", "1999", "x"])


def test_attributes_that_were_set(reader):
    vocab = spacy.blank("en").vocab
    vocab["Ada"].is_stop, vocab["Ada"].lower_ = True, "another"
    vocab["met"].shape_, vocab["Zoë"].norm_ = "PERSON", "met"
    assert_as_lexemes(reader, vocab, ["Ada", "met", "Zoë"])


@pytest.mark.parametrize("name", NAMES_OF_ALL)
def test_one_attribute(reader, name):
    alone = LexemeReader([name], make_tables())
    orths = np.array([NLP.vocab[x].orth for x in ("Ada", "PERSON", "1.")], np.uint64)
    at = reader.names.index(name)
    found = alone.values(NLP.vocab, orths)
    np.testing.assert_array_equal(found[:, 0], reader.values(NLP.vocab, orths)[:, at])


@pytest.mark.parametrize("one_dash", [True, False])
def test_one_dash(one_dash):
    """Words with other dashes are read as those with hyphens, if that is set."""
    reader = LexemeReader(NAMES_OF_ALL, make_tables(), one_dash)
    orths = np.array([NLP.vocab[x].orth for x in "- – 4-6 4−6 é é".split()], np.uint64)
    values, texts = reader.values(NLP.vocab, orths), reader.texts(NLP.vocab, orths)
    is_same = (values[::2] == values[1::2]).all(axis=1).tolist()
    assert is_same == [one_dash, one_dash, True]
    assert all(x[::2] == x[1::2] for x in texts.values()) == one_dash


def test_words_without_a_lexeme():
    """They are read as those that a vocabulary has."""
    reader = LexemeReader([*NAMES_OF_ALL, "ORTH"], make_tables(), one_dash=True)
    words = "ORTH Straße 4−6 http://a.b the $ ( 12 Ⅳ \n İ".split(" ")
    vocab, known = spacy.blank("de").vocab, spacy.blank("de").vocab
    orths = np.array([vocab.strings.add(known[x].orth_) for x in words], np.uint64)
    assert (reader.values(vocab, orths) == reader.values(known, orths)).all()


def test_no_attribute():
    reader = LexemeReader([], Tables())
    orths = np.array([NLP.vocab["Ada"].orth], np.uint64)
    assert reader.values(NLP.vocab, orths).shape == (1, 0)
    assert reader.texts(NLP.vocab, orths) == {}
