"""Entries as words: against reading each one for itself."""

import itertools
import re

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.features.clean_docs import clean_doc
from spacy_hosemi.features.gazetteers.words import (
    ATTRIBUTES,
    alnum_cache,
    alnum_words,
    entry_words,
    token_words,
    words_of_text,
)
from spacy_hosemi.features.instances import Instances

from ..helpers import make_doc
from ..strategies import IS_THOROUGH

NLP = spacy.blank("en")
CACHE = alnum_cache()
WORDS = ["a", "B.", "can't", "O'Neill", "(x)", "--", "mark", "NOUN", "Ⅷ", "東京", "_"]
ENTRIES = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    | st.text("aB.'- \t\n\u3000_", max_size=6)
)


CJK = "\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def expected_words(text):
    """The words of a text by a regular expression."""
    return [word.lower() for word in WORD.findall(text)]


def words_of(entry, attr):
    """Values and texts of one entry, as those of a document are read."""
    if attr == "ALNUM":
        texts = expected_words(entry)
        return [hash_string(text) for text in texts], texts
    attr = "ORTH" if attr == "LEMMA" else attr
    values = []
    for piece in re.findall(r"\S+", entry):
        values += NLP.make_doc(piece).to_array(attr).tolist()
    return values, [NLP.vocab.strings[value] for value in values]


@pytest.mark.parametrize("attr", ATTRIBUTES)
@given(entries=ENTRIES, with_texts=st.booleans())
def test_as_one_by_one(attr, entries, with_texts):
    found = entry_words(iter(entries), attr, NLP, with_texts=with_texts)
    expected = [words_of(entry, attr) for entry in entries]
    firsts = found.first.tolist()
    values = found.values.tolist()
    parts = [values[i:j] for i, j in zip(firsts, firsts[1:], strict=False)]
    assert parts == [of_entry for of_entry, _ in expected]
    if with_texts:
        texts = [" ".join(texts) for _, texts in expected]
        assert found.texts == texts or not any(texts)


PARTS = st.text("aBΣİ1½²Ⅷ_.'-東ー\u0301ß \U0001d7d8", min_size=1, max_size=4)


@given(st.lists(st.lists(st.tuples(PARTS, st.booleans()), max_size=6), min_size=1))
def test_words_of_documents(docs):
    """Parts of a word in several tokens are joined as they are in lower case."""
    made, expected = [], []
    n_tokens, borders = 0, [0]
    for of_doc in docs:
        texts, spaces = [x for x, _ in of_doc], [y for _, y in of_doc]
        made.append(make_doc(NLP, *texts, spaces=spaces))
        is_open = False
        for k, (text, space) in enumerate(of_doc, n_tokens):
            for match in WORD.finditer(text):
                is_alone = re.match(f"[{CJK}]", match.group())
                if is_open and match.start() == 0 and not is_alone:
                    expected[-1][0] += match.group().lower()
                    expected[-1][2] = k
                else:
                    expected.append([match.group().lower(), k, k])
                is_open = match.end() == len(text) and not is_alone
            is_open &= bool(WORD.match(text[-1])) and not space
        n_tokens += len(of_doc)
        borders.append(len(expected))
    found = alnum_words(Instances(made))
    assert found.texts == [word for word, _, _ in expected]
    assert found.values.tolist() == [hash_string(word) for word, _, _ in expected]
    assert found.first.tolist() == [first for _, first, _ in expected]
    assert found.last.tolist() == [last for _, _, last in expected]
    assert found.docs.tolist() == borders
    for cache in (alnum_cache(), CACHE):
        again = alnum_words(Instances(made), cache)
        assert again.texts == []
        for name in ("values", "first", "last", "docs"):
            assert getattr(again, name).tolist() == getattr(found, name).tolist()


def test_words_of_each_character():
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    if not IS_THOROUGH:
        points = [*range(0x600), *range(0x600, 0x110000, 7)]
    points = [point for point in points if not 0xD800 <= point < 0xE000]
    text = " ".join(f"{chr(point)} a{chr(point)}1" for point in points)
    assert words_of_text(text) == expected_words(text)


SIGNS = [*"aB1-.'(½²", *"\xad\u200b\ufeff\u0301ﬁＡ１é", "ex-\nam", " ", "  ", "\xa0"]
# What is not seen between a letter and what NFKC joins with it: an accent, a vowel
# sign, a voiced sound mark; some stand on a space of their own.
LETTERS = "a", "1", "か", "क", "東", "ﬁ"
UNSEEN = "", *"\xad\u200b\u200d\ufe0f\u034f\x01\u115f\U000e0101"
JOINED = "\u0301", "\u0300\u0323", "\u3099", "\u309b", "´", "\u093e", "\u20dd", "b"


FIELDS, CHARACTERS = spacy.blank("en", vocab=NLP.vocab), spacy.blank("zh")
FIELDS.tokenizer = FieldTokenizer(NLP.vocab)


TEXTS = st.lists(st.sampled_from(SIGNS), max_size=9).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from([NLP, FIELDS]))
def test_clean_as_a_document(texts, nlp):
    assert_as_documents(texts, nlp, ATTRIBUTES)


def assert_as_documents(texts, nlp, attributes):
    """The words are those that are read of clean documents with the same texts."""
    docs = Instances(clean_doc(nlp.make_doc(text))[0] for text in texts)
    for attr in attributes:
        if attr == "ALNUM":
            expected = alnum_words(docs)
        else:  # entries are lemmas
            expected = token_words(docs, "ORTH" if attr == "LEMMA" else attr, True)
        found = entry_words(texts, attr, nlp, with_texts=True, clean_text=True)
        assert found.values.tolist() == expected.values.tolist()
        assert found.first.tolist() == expected.docs.tolist()
        assert " ".join(found.texts).split() == " ".join(expected.texts).split()


@pytest.mark.parametrize(
    "nlp", [NLP, FIELDS, CHARACTERS], ids=["words", "fields", "characters"]
)
def test_unseen_between_a_letter_and_its_accent(nlp):
    texts = map("".join, itertools.product(LETTERS, UNSEEN, JOINED))
    texts = [f"{text} {text}{text}" for text in texts]
    assert_as_documents(texts, nlp, ["ALNUM", "LEMMA"])


@pytest.mark.parametrize("unseen", UNSEEN)
def test_pieces_without_a_visible_character(unseen):
    for texts in (["a", unseen], [unseen, "a"], [f"a {unseen} b", unseen, "c"]):
        assert_as_documents(texts, NLP, ["ALNUM", "LEMMA"])
        found = entry_words(texts, "ALNUM", NLP, with_texts=True, clean_text=True)
        assert " ".join(found.texts).split() == re.findall("[abc]", "".join(texts))


@pytest.mark.parametrize("attr", ATTRIBUTES)
def test_each_piece_is_read_once(attr):
    nlp = spacy.blank("en")
    tokenizer, read = nlp.tokenizer, []

    def recording(text):
        read.append(text)
        return tokenizer(text)

    nlp.tokenizer = recording
    entry_words(["a b", "b  a.", "a", ""], attr, nlp)
    assert read == ([] if attr == "ALNUM" else ["a", "b", "a."])
