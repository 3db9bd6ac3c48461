"""The clean form of words, and where a word goes on after a hyphen."""

import time
import unicodedata

import hypothesis.strategies as st
import pytest
import regex
from hypothesis import given

from spacy_hosemi.text.clean import LINE_END, clean_joined, clean_word, with_hyphens

SIGNS = list("aB1-.é\xad\u200b\u200d\u200e\ufeff\u0301 \t\n\r\u2028\x00ﬁＡ½…")
TEXTS = st.lists(st.sampled_from(SIGNS)).map("".join) | st.text()


@given(TEXTS)
def test_clean_words(text):
    found = clean_word(text)
    assert clean_word(found) == found
    assert not any(c.isspace() or unicodedata.category(c) == "Cc" for c in found)
    assert unicodedata.is_normalized("NFKC", found)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("word", "word"),
        ("so\xadft", "soft"),
        ("\ufeff\u200fﬁrst\u200b", "first"),
        ("ＡＢ（１）", "AB(1)"),
        ("nai\u0308ve", "naïve"),
        (" \n", ""),
        ("\xa0", ""),
        ("\u200b\xad", ""),
        ("", ""),
    ],
)
def test_examples(text, expected):
    assert clean_word(text) == expected


@pytest.mark.parametrize("dash", "-‐‑‒–—―−﹣－\ufffd")
def test_dashes(dash):
    """Of all kinds, alone and in words; U+FFFD between digits, or alone."""
    assert with_hyphens(f"43{dash}60") == "43-60"
    assert with_hyphens(dash) == "-"
    within = f"Jean{dash}Paul"
    assert with_hyphens(within) == (within if dash == "\ufffd" else "Jean-Paul")
    assert with_hyphens("naïve · é") == "naïve · é"


def test_every_sign():
    """What is asked before regular expressions are knows as much as they do."""
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    dashes = regex.findall(r"\p{Pd}|\u2212|\ufffd", every)
    ignored = regex.findall(r"\p{Default_Ignorable_Code_Point}|\p{Cf}", every)
    assert {*map(with_hyphens, dashes)} == {"-"} and not any(map(clean_word, ignored))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("exam-\nple", "example"),
        ("exam- \r\n  ple", "example"),
        ("exam\xad\nple", "example"),
        ("exam\u2010\u200b\nple", "example"),
        ("e-\nx-\nample", "example"),
        ("pages 1950-\n1960", "pages1950-1960"),
        ("Jean-\nPaul", "Jean-Paul"),
        ("exam-ple", "exam-ple"),
    ],
)
def test_line_ends(text, expected):
    assert clean_joined(text) == expected


@pytest.mark.parametrize("sign", ["-", "a-", "-\n", "a-\n", "\n", "\xad", " ", "\r"])
def test_time_is_linear(sign):
    text = f"a-{sign * 100_000}"
    start = time.thread_time()
    LINE_END.sub("", text)
    clean_word(text)
    assert time.thread_time() - start < 1.0
