"""Lists and texts of the same few words: work and memory are bounded."""

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc

from spacy_hosemi.features.gazetteers.fuzzy import SimilarEntries
from spacy_hosemi.features.gazetteers.gazetteers import Gazetteers, make_gazetteer
from spacy_hosemi.features.kernels import ngram_windows

from ..core.test_bags import bags_E, build, threshold, unit
from ..helpers import assert_linear, peak_of, random_pipe

NLP = spacy.blank("en")
pytestmark = pytest.mark.filterwarnings("ignore:.*HSW102")
FUZZY = [
    {"units": "words"},
    {"units": "chars"},
    {"units": "words", "similarity": "cosine", "threshold": 0.6},
    {"similarity": "edit"},
]


@given(bags_E, st.lists(st.lists(unit, min_size=1, max_size=3), max_size=9), threshold)
def test_the_best_bag_of_each_window(bags, words, threshold):
    index = build(bags, "jaccard", threshold)
    elements = np.array([u for word in words for u in word], np.uint64)
    border = np.cumsum([0, *map(len, words)], dtype="i4")
    every = np.ones(len(words), "u1")
    where = elements, border[:-1], border[1:].copy(), every, every
    expected = SimilarEntries(*index.find(*where)).best()
    found = index.find(*where, True)
    for name, values in zip(("start", "end", "entry", "similarity"), found):
        assert values.tolist() == getattr(expected, name).tolist()


def repeated(fuzzy, n_entries):
    lists = Gazetteers({"new": make_gazetteer(fuzzy=fuzzy)})
    entries = [" ".join(["new"] * k) for k in range(1, n_entries + 1)]
    lists.compile("new", entries, NLP)
    lists.similar([Doc(NLP.vocab, words=["new"])])  # makes the index
    return lists


@pytest.mark.parametrize("is_train", [False, True])
@pytest.mark.parametrize("fuzzy", FUZZY, ids=str)
def test_memory_of_repeated_words(fuzzy, is_train):
    """It took 3.7 GB."""
    lists, doc = repeated(fuzzy, 440), Doc(NLP.vocab, words=["new"] * 1000)
    found = []
    peak = peak_of(lambda: found.append(lists.similar([doc], is_train=is_train)))
    assert peak < 300_000_000
    assert len(found[0].start) > 10_000 or fuzzy.get("similarity") == "edit"


def test_time_is_linear_in_the_text(monkeypatch):
    for name in ("STEPS", "HITS"):
        monkeypatch.setattr(ngram_windows, name, 0)
        monkeypatch.setattr(ngram_windows, f"{name}_EACH", 1000)
    lists = repeated({"units": "words"}, 300)
    few, many = (Doc(NLP.vocab, words=["new"] * n) for n in (500, 10_000))
    assert_linear(lambda doc: lists.similar([doc]), few, many, 20)


@pytest.mark.parametrize("n", [0, 1, 7, 100, 1000])
def test_the_bound_of_steps_is_kept(monkeypatch, n):
    """Less is found, and nothing else."""
    lists, doc = repeated({"units": "words"}, 30), Doc(NLP.vocab, words=["new"] * 60)
    whole = lists.similar([doc])
    monkeypatch.setattr(ngram_windows, "STEPS", n)
    monkeypatch.setattr(ngram_windows, "STEPS_EACH", 0)
    with pytest.warns(UserWarning, match="HSW102"):
        part = lists.similar([doc])
    assert len(part.start) <= min(n, len(whole.start))
    spans = {*zip(whole.start.tolist(), whole.end.tolist())}
    assert spans.issuperset(zip(part.start.tolist(), part.end.tolist()))


def test_words_that_point_to_too_many_entries(monkeypatch):
    lists = Gazetteers({"names": make_gazetteer(fuzzy={"units": "words"})})
    entries = [f"a {k}" for k in range(300)] + ["Ada Lovelace"]
    lists.compile("names", entries, NLP)
    doc = Doc(NLP.vocab, words=["a", "7", "Ada", "Lovelace", *["a"] * 9])
    whole = lists.similar([doc])
    assert whole.start.tolist() == [0, 2]
    monkeypatch.setattr(ngram_windows, "HITS", 50)
    monkeypatch.setattr(ngram_windows, "HITS_EACH", 0)
    assert 2 in lists.similar([doc]).start.tolist()  # rare words still are found


def test_pairs_are_bounded(monkeypatch):
    monkeypatch.setattr(ngram_windows, "PAIRS", 10)
    monkeypatch.setattr(ngram_windows, "PAIRS_EACH", 1)
    lists, doc = repeated({"units": "words"}, 30), Doc(NLP.vocab, words=["new"] * 60)
    assert 0 < len(lists.similar([doc], is_train=True).start) <= 70


NESTED = [" ".join(["new"] * k) for k in range(1, 201)]


LISTS = [{}, {"attr": "LOWER"}, *({"fuzzy": fuzzy} for fuzzy in FUZZY)]


@pytest.mark.parametrize("block", LISTS, ids=str)
def test_memory_of_nested_entries(block):
    """It asked for 6 GB: for each entry all segments up to the longest one."""
    kind = {"@misc": "spacy_hosemi.gazetteer.v1"}
    lists = {"one": {**kind, **block}, "another": kind}
    marked = [f"I saw [A:{' '.join(['new'] * k)}] there" for k in (1, 3, 9)]
    readers = dict.fromkeys(lists, lambda nlp: NESTED)
    pipe, _ = random_pipe(NLP, marked, {"gazetteers": lists}, readers=readers)
    doc = NLP.make_doc(" ".join(["new"] * 300))
    assert peak_of(lambda: pipe(doc)) < 100_000_000
