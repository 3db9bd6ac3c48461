"""Tokens of many texts at once: those of each text."""

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.text.pieces import read_texts

VOCAB = spacy.blank("en").vocab
TOKENIZER = FieldTokenizer(VOCAB)
PIECES = st.one_of(
    st.sampled_from(["Ada", "1950;59", "e\u0301", "Love\u00adlace", "x" * 60, "北京"]),
    st.text(max_size=4),
)
TEXTS = st.builds(
    lambda pieces, end: " ".join(pieces) + end,
    st.lists(PIECES, max_size=5),
    st.sampled_from(["", "", " ", "  ", "\n"]),
)


@given(st.lists(TEXTS, max_size=6))
def test_tokens_are_those_of_documents(texts):
    orths, spaces, starts, ends, borders, others = read_texts(texts, TOKENIZER)
    assert len(borders) == len(texts) + 1
    assert len(orths) == len(spaces) == len(starts) == len(ends) == borders[-1]
    for k, text in enumerate(texts):
        some = slice(*borders[k : k + 2])
        if TOKENIZER.read_pieces(text) is None:
            assert k in others and not len(orths[some])
            continue
        assert k not in others
        doc = TOKENIZER(text)
        assert orths[some].tolist() == doc.to_array("ORTH").tolist()
        assert spaces[some].tolist() == doc.to_array("SPACY").tolist()
        assert starts[some].tolist() == [token.idx for token in doc]
        assert ends[some].tolist() == [token.idx + len(token) for token in doc]


def test_texts_that_fail_are_others():
    texts = ["Ada", "Ada \ud800", "", "met Ada "]
    orths, spaces, _, _, borders, others = read_texts(texts, TOKENIZER)
    assert [VOCAB.strings[orth] for orth in orths] == ["Ada", "met", "Ada"]
    assert spaces.tolist() == [0, 1, 1]
    assert (borders, others) == ([0, 1, 1, 1, 3], [1, 2])
    with pytest.raises(TypeError):
        read_texts(["Ada", None], TOKENIZER)


def test_a_full_cache_is_emptied(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.text.tokenizer._CACHE_SIZE", 2)
    tokenizer = FieldTokenizer(VOCAB)
    orths, *_ = read_texts(["a b c d", "a b c d"], tokenizer)
    assert [VOCAB.strings[orth] for orth in orths] == [*"abcdabcd"]
    assert 0 < len(tokenizer.cache) <= 2
