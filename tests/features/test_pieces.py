"""Entries as words: against reading each one for itself."""

import re

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.features.clean_docs import clean_doc
from spacy_hosemi.features.gazetteers.entry_words import (
    alnum_words,
    entry_words,
)
from spacy_hosemi.features.gazetteers.words import ATTRIBUTES, WordReader, token_words

NLP = spacy.blank("en")
WORDS = ["a", "B.", "can't", "O'Neill", "(x)", "--", "mark", "NOUN", "Ⅷ", "東京", "_"]
ENTRIES = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    | st.text("aB.'- \t\n\u3000_", max_size=6)
)


def words_of(entry, attr):
    """Values and texts of one entry, as those of a document are read."""
    if attr == "ALNUM":
        texts = alnum_words(entry)
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


SIGNS = [*"aB1-.'(½²", *"\xad\u200b\ufeff\u0301ﬁＡ１é", "ex-\nam", " ", "  ", "\xa0"]


@pytest.mark.parametrize("attr", ATTRIBUTES)
@given(
    text=st.lists(st.sampled_from(SIGNS), max_size=9).map("".join),
    tokenizer=st.sampled_from([NLP.tokenizer, FieldTokenizer(NLP.vocab)]),
)
def test_clean_as_a_document(attr, text, tokenizer):
    """The words are those that are read of a clean document with the same text."""
    nlp = spacy.blank("en", vocab=NLP.vocab)
    nlp.tokenizer = tokenizer
    doc = clean_doc(tokenizer(text)).doc
    if attr == "ALNUM":
        expected = WordReader().read([doc], with_texts=True)
    else:  # entries are lemmas
        expected = token_words([doc], "ORTH" if attr == "LEMMA" else attr, True)
    found = entry_words([text], attr, nlp, with_texts=True, clean_text=True)
    assert found.values.tolist() == expected.values.tolist()
    assert "".join(found.texts).split() == " ".join(expected.texts).split()


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
