"""Documents of clean words: which tokens each word has, and what it takes over."""

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc, Span, Token

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.features.clean_docs import are_clean, clean_doc
from spacy_hosemi.text.clean import LINE_END, clean_word

NLP = spacy.blank("en")
TOKENIZERS = [NLP.tokenizer, FieldTokenizer(NLP.vocab)]

SIGNS = [*"aB1-. \t\n\xad\u200b\u0301ﬁ", "-\n", "exam-\nple", "  ", "word ", "Ａ"]
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=12).map("".join)


def words(doc):
    return [token.text for token in doc]


@given(TEXTS, st.sampled_from(TOKENIZERS))
def test_words(text, tokenizer):
    doc = tokenizer(text)
    clean, places = clean_doc(doc)
    if not LINE_END.search(text):
        assert words(clean) == [x for x in map(clean_word, words(doc)) if x]
    assert len(places.starts) == len(places.ends) == len(clean)
    covered = [i for pair in zip(places.starts, places.ends) for i in range(*pair)]
    assert covered == sorted({*covered})
    skipped = {*range(len(doc))} - {*covered}
    assert all(clean_word(doc[i].text) == "" for i in skipped)
    assert all(map(len, clean))
    assert are_clean([clean]) == [True]


@given(TEXTS, st.sampled_from(TOKENIZERS))
def test_clean_documents(text, tokenizer):
    """Are those whose words are all their own clean form."""
    doc = tokenizer(text)
    assert are_clean([doc]) == [all(clean_word(x) == x for x in words(doc))]
    assert are_clean([doc, doc]) == 2 * are_clean([doc])
    assert are_clean([]) == []


@given(TEXTS, st.sampled_from(TOKENIZERS), st.data())
def test_spans_there_and_back(text, tokenizer, data):
    doc = tokenizer(text)
    borders = st.integers(0, len(doc))
    border = data.draw(borders)
    clean, places = clean_doc(doc, [border])
    for start in range(len(clean)):
        for end in range(start + 1, len(clean) + 1):
            assert places.to_words(places.to_tokens((start, end, "A"))) == (
                start,
                end,
                "A",
            )
    assert not any(i < border < j for i, j in zip(places.starts, places.ends))
    # A span of tokens has the words that it touches.
    start, end = sorted((border, data.draw(borders)))
    found = places.to_words((start, end, "A"))
    touched = [
        k
        for k, (i, j) in enumerate(zip(places.starts, places.ends))
        if i < end and j > start and start < end
    ]
    assert found == ((touched[0], touched[-1] + 1, "A") if touched else None)


@given(TEXTS, st.sampled_from(TOKENIZERS))
def test_spaces(text, tokenizer):
    """A word has a space if there is whitespace before the next one, or the end."""
    doc = tokenizer(text)
    clean, places = clean_doc(doc)
    after = [*(doc[i].idx for i in places.starts[1:]), len(text)]
    for token, end, next_start in zip(clean, places.ends, after):
        last = doc[end - 1]
        between = text[last.idx + len(last) : next_start]
        assert bool(token.whitespace_) == any(c.isspace() for c in between)


def test_words_divided_at_line_ends():
    text = "An exam-\nple of so\xad\nme 1950-\n1960 Jean-\nPaul"
    for tokenizer in TOKENIZERS:
        clean, places = clean_doc(tokenizer(text))
        assert {"example", "some"} <= {*words(clean)}
    doc = FieldTokenizer(NLP.vocab)(text)
    clean, places = clean_doc(doc)
    k = words(clean).index("example")
    i, j, _ = places.to_tokens((k, k + 1, ""))
    assert doc[i:j].text == "exam-\nple"
    # A border that a span needs is not lost.
    assert "exam" in words(clean_doc(doc, [i + 1])[0])


def test_sentence_starts():
    words_, starts = ["a", "\n", "b", "c"], [True, True, False, True]
    doc = Doc(NLP.vocab, words_, sent_starts=starts)
    clean, _ = clean_doc(doc)
    assert [token.is_sent_start for token in clean] == [True, True, True]
    assert not clean_doc(Doc(NLP.vocab, words_))[0].has_annotation("SENT_START")


def test_entities():
    doc = Doc(NLP.vocab, ["\n", "a", "\n", "b", "c"])
    clean, _ = clean_doc(doc, ents=[(0, 4, "A"), (4, 5, "O")])
    assert [(x.start, x.end, x.label_) for x in clean.ents] == [
        (0, 2, "A"),
        (2, 3, "O"),
    ]
    assert not clean_doc(doc)[0].ents


@pytest.fixture
def extension():
    Token.set_extension("clean_test", default=None)
    yield
    Token.remove_extension("clean_test")


def test_attributes(extension):
    doc = Doc(NLP.vocab, ["\n", "a", "so\xadft"], tags=["X", "Y", "Z"])
    doc[1]._.clean_test, doc[2]._.clean_test = "one", "two"
    doc[1].norm_ = "an a"
    doc[2].lemma_ = "soft lemma"
    doc.tensor = np.arange(6.0, dtype="f").reshape(3, 2)
    doc.user_data["mine"] = 3
    doc.spans["x"] = [Span(doc, 1, 2)]
    clean, _ = clean_doc(doc)
    assert words(clean) == ["a", "soft"]
    assert [token.tag_ for token in clean] == ["Y", "Z"]
    assert [token._.clean_test for token in clean] == ["one", "two"]
    assert [token.norm_ for token in clean] == ["an a", "soft"]
    assert clean[1].lemma_ == "soft lemma"
    np.testing.assert_array_equal(clean.tensor, doc.tensor[1:])
    assert clean.user_data["mine"] == 3


def test_values_by_token():
    clean, places = clean_doc(Doc(NLP.vocab, ["\n", "a", "\n", "b"]))
    assert places.by_token([[1], [2]]) == [[], [1], [], [2]]
