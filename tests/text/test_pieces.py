"""Tokens of many texts at once: those of each text."""

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.text.pieces import read_texts

VOCAB = spacy.blank("en").vocab
TOKENIZER = FieldTokenizer(VOCAB)
WHOLE = FieldTokenizer(VOCAB, split_digits=False)
PIECES = st.one_of(
    st.sampled_from(["Ada", "1950;59", "e\u0301", "Love\u00adlace", "x" * 60, "北京"]),
    st.text(st.characters(max_codepoint=127), max_size=6),
    st.text(max_size=4),
)
TEXTS = st.builds(
    lambda pieces, end: " ".join(pieces) + end,
    st.lists(PIECES, max_size=5),
    st.sampled_from(["", "", " ", "  ", "\n"]),
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from([TOKENIZER, WHOLE]))
def test_tokens_are_those_of_documents(texts, tokenizer):
    (orths, spaces, places), first, others = read_texts(texts, tokenizer)
    assert (len(first), len(orths)) == (len(texts) + 1, first[-1])
    starts, ends = places.view("i4").reshape(-1, 2).T
    for k, text in enumerate(texts):
        some = slice(*first[k : k + 2])
        if k in others:
            assert not len(orths[some])
            continue
        # A fresh tokenizer, by another way.
        doc = Doc(VOCAB, *FieldTokenizer(VOCAB, **tokenizer.settings)._read(text))
        assert orths[some].tolist() == doc.to_array("ORTH").tolist()
        assert spaces[some].tolist() == doc.to_array("SPACY").tolist()
        assert starts[some].tolist() == [token.idx for token in doc]
        assert ends[some].tolist() == [token.idx + len(token) for token in doc]


@pytest.mark.parametrize("text", ["Ada", "Ada met 12 ", "Größe (1950;59)"])
def test_most_texts_are_pieces(text):
    assert read_texts([text], TOKENIZER)[-1] == []


@pytest.mark.parametrize("text", ["", " ", "Ada  met", "Ada\n", " Ada", "Ada  "])
def test_other_texts(text):
    assert read_texts([text], TOKENIZER)[-1] == [0]


def test_texts_that_fail_are_others():
    texts = ["Ada", "Ada \ud800", "", "met Ada "]
    (orths, spaces, _), first, others = read_texts(texts, TOKENIZER)
    assert [VOCAB.strings[orth] for orth in orths] == ["Ada", "met", "Ada"]
    assert spaces.tolist() == [0, 1, 1]
    assert (first, others) == ([0, 1, 1, 1, 3], [1, 2])
    with pytest.raises(TypeError):
        read_texts(["Ada", None], TOKENIZER)


def test_a_full_cache_is_emptied(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.text.tokenizer._CACHE_SIZE", 2)
    tokenizer = FieldTokenizer(VOCAB)
    (orths, *_), *_ = read_texts(["é ö ü ß", "é ö ü ß"], tokenizer)
    assert [VOCAB.strings[orth] for orth in orths] == [*"éöüßéöüß"]
    assert 0 < len(tokenizer.cache) <= 2


def test_words_with_numbers_of_spacy():
    """Names of attributes and labels have no hash for a number."""
    words = ["PERSON", "ORTH", "a", "PERSON", "nsubj"]
    for _ in range(2):  # the second time they were seen before
        (orths, *_), *_ = read_texts([" ".join(words)], TOKENIZER)
        assert orths.tolist() == [VOCAB.strings[word] for word in words]


def test_many_words_are_forgotten():
    tokenizer = FieldTokenizer(VOCAB, split_digits=False)
    for start in range(0, 300_000, 100_000):
        words = [f"w{k}" for k in range(start, start + 100_000)]
        (orths, *_), *_ = read_texts([" ".join(words), "w1 w2"], tokenizer)
        some = orths[[0, 99_999, -2, -1]]
        expected = [words[0], words[-1], "w1", "w2"]
        assert [VOCAB.strings[orth] for orth in some] == expected


def test_words_of_a_zone_are_forgotten():
    nlp = spacy.blank("en")
    nlp.tokenizer = tokenizer = FieldTokenizer(nlp.vocab)
    for k in range(3):
        with nlp.memory_zone():
            for texts in [[f"qwertz {k}", "qwertz"]] * 2:
                (orths, *_), _, others = read_texts(texts, tokenizer)
                assert not others
                assert nlp.vocab.strings[orths[0]] == "qwertz"
        assert "qwertz" not in nlp.vocab.strings
    with nlp.vocab.memory_zone():  # the tokenizer is not told of it
        assert read_texts(["qwertz"], tokenizer)[-1] == [0]
