"""Cached rows of words equal those that are computed anew, in any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given

from spacy_hosemi.features import WordCache
from spacy_hosemi.features.lexemes import LexemeReader
from spacy_hosemi.features.word_cache import WORD_BYTES

from ..helpers import fit_anew, make_doc, make_trained, triples

NLP = spacy.blank("en")
OF_ROW = np.uint64, (2,)
OF_WORD = 2 * 8 + WORD_BYTES  # bytes
words_n = st.lists(st.sampled_from(["a", "b", "New", "1999", " ", "x-y"]), max_size=9)


class Hashes:
    """Rows that tell which words were asked for, and how many rows were computed."""

    def __init__(self):
        self.n_made = 0

    def __call__(self, vocab, orths, rows):
        assert len(set(orths.tolist())) == len(orths)
        self.n_made += len(orths)
        rows[:] = np.stack([orths, orths + np.uint64(1)], axis=1)


def rows(cache, doc):
    numbers, table = cache.find(doc.vocab, doc.to_array("ORTH"))
    return table[numbers]


def sizes(cache):
    """Words, and rows for which there is room, of each half of a cache."""
    halves = [cache._young, cache._old]
    tables = [() if half.table is None else half.table for half in halves]
    return [len(half.numbering) for half in halves], [*map(len, tables)]


@given(st.lists(words_n, max_size=6), st.integers(0, 700))
def test_rows_of_words(docs, n_bytes):
    hashes = Hashes()
    cache = WordCache(hashes, OF_ROW, n_bytes)
    for words in docs:
        doc = make_doc(NLP, *words)
        assert rows(cache, doc).tolist() == [[t.orth, t.orth + 1] for t in doc]
        for found in sizes(cache):
            assert all(2 * n * OF_WORD <= n_bytes for n in found)
    n_distinct = len({word for words in docs for word in words})
    assert hashes.n_made == n_distinct or 2 * n_distinct * OF_WORD > n_bytes


def test_words_that_are_met_again_are_kept():
    """Of a full cache only what was not met for long is forgotten."""
    cache = WordCache(hashes := Hashes(), OF_ROW, 2 * 10 * OF_WORD)
    for k in range(100):
        rows(cache, make_doc(NLP, "the", f"w{k}", "of"))
    assert hashes.n_made == 102
    assert sizes(cache)[0][1] == 10
    rows(cache, make_doc(NLP, "the", "of", "w99", "w90"))
    assert hashes.n_made == 102
    rows(cache, make_doc(NLP, "w0"))
    assert hashes.n_made == 103


def test_more_words_than_are_kept():
    """A document with too many words for half of a cache gets all of its rows."""
    cache = WordCache(hashes := Hashes(), OF_ROW, 2 * 10 * OF_WORD)
    doc = make_doc(NLP, *(f"w{k}" for k in range(50)), "w3", "w49")
    for n_made in (50, 90):
        assert rows(cache, doc).tolist() == [[t.orth, t.orth + 1] for t in doc]
        assert hashes.n_made == n_made
        assert sizes(cache)[0] == [10, 0]


def test_attributes_are_computed_once(monkeypatch):
    """Scores of words are made from the attributes that are cached already."""
    seen, read = [], LexemeReader.values

    def counted(self, vocab, orths, values):
        seen.extend(orths.tolist())
        return read(self, vocab, orths, values)

    monkeypatch.setattr(LexemeReader, "values", counted)
    nlp = fit_anew(features={"preset": "names"})
    doc = nlp.make_doc("Ada met Zoë in 1851, and Zoë met Ada.")
    seen.clear()
    nlp.get_pipe("hosemi")(doc)
    assert doc[2].orth in seen and len(seen) == len(set(seen))


def test_predictions_without_a_cache(monkeypatch):
    """The scores of a word are summed in one order, so that they have the same bits."""
    nlp = make_trained(features={"preset": "names"})
    pipe = nlp.get_pipe("hosemi")

    def predict():
        docs = [nlp.make_doc(x) for x in ("Ada met Mary in Rome.", "London, 1999")]
        return [
            (triples(doc.ents), pipe.marginals(doc).log_z) for doc in pipe.pipe(docs)
        ]

    found = [predict() for _ in range(2)]
    monkeypatch.setattr(WordCache, "is_on", False)
    assert found == [predict()] * 2


@pytest.mark.parametrize("n_bytes", [10**6, 2000])
def test_threads(n_bytes):
    """Many short documents with new words, also where the cache is emptied often."""
    docs = [make_doc(NLP, *(f"w{i * k % 997}" for k in range(9))) for i in range(1000)]
    cache = WordCache(Hashes(), OF_ROW, n_bytes)
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda doc: rows(cache, doc), docs)]
    for doc, of_doc in zip(docs, found):
        assert of_doc.tolist() == [[t.orth, t.orth + 1] for t in doc]
