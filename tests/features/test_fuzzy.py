"""Fuzzy matches: against a comparison of every segment with every entry."""

import builtins
import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given

from spacy_hosemi.features import Extractor, FeatureSet, Gazetteers, make_gazetteer
from spacy_hosemi.features.gazetteers.fuzzy import Fuzzy, FuzzyIndex, grams, make_fuzzy
from spacy_hosemi.features.naming import feature_names

from ..helpers import make_doc
from .test_gazetteers import THROUGH, spans_of

NLP = spacy.blank("en")
EDIT = {"similarity": "edit"}
JOURNALS = ["Journal of Applied Physics", "Physical Review Letters", "Nature"]


def edits(a, b) -> int:
    """The Levenshtein distance, by the definition."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def similarity(fuzzy, a, b) -> float:
    """As the docstring of Fuzzy says it, with the same rounding."""
    if fuzzy.similarity == "edit":
        return 1.0 - edits(a, b) / max(len(a), len(b))
    if fuzzy.units == "words":
        bags = a.split(), b.split()
    else:
        bags = tuple([f" {t} "[k : k + 3] for k in range(len(t))] for t in (a, b))
    shared = (Counter(bags[0]) & Counter(bags[1])).total()
    size, other = map(len, bags)
    if fuzzy.similarity == "jaccard":
        return shared / (size + other - shared)
    return shared / math.sqrt(size * other)


def oracle(fuzzy, texts, words, begins, ends):
    found = {}
    for i in range(len(words)):
        for j in range(i + 1, len(words) + 1):
            for e, text in enumerate(texts):
                like = similarity(fuzzy, " ".join(words[i:j]), text)
                if begins[i] and ends[j - 1] and like >= fuzzy.threshold:
                    found[i, j, e] = like
    return found


# A small alphabet, so that texts resemble each other; beyond 16 bits too.
word = st.text("ab😀", min_size=1, max_size=4)
texts_E = st.lists(st.lists(word, min_size=1, max_size=4).map(" ".join), unique=True)
words_n = st.lists(st.tuples(word, st.integers(0, 3), st.integers(0, 3)), max_size=7)
settings = st.one_of(
    st.fixed_dictionaries(
        {
            "similarity": st.sampled_from(["jaccard", "cosine"]),
            "threshold": st.sampled_from([0.3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 1.0]),
            "units": st.sampled_from(["words", "chars"]),
        }
    ),
    st.sampled_from([0.75, 0.8, 0.9, 1.0]).map(lambda x: {**EDIT, "threshold": x}),
)


@given(settings, texts_E, words_n, st.none() | st.sets(st.integers(0, 3)))
def test_every_segment(settings, texts, words, excluded):
    """Each is found with the entry that it resembles most, of those that count."""
    fuzzy = make_fuzzy(settings)
    begins, ends = ([bool(word[k]) for word in words] for k in (1, 2))
    words = [text for text, _, _ in words]
    masks = np.array(begins, np.uint8), np.array(ends, np.uint8)
    args = [] if excluded is None else [lambda e: ~np.isin(e, [*excluded])]
    pairs = FuzzyIndex(fuzzy, texts).find(words, *masks, *args)
    all_pairs = oracle(fuzzy, texts, words, begins, ends)
    expected = {x: s for x, s in all_pairs.items() if x[2] not in (excluded or ())}
    spans = list(zip(pairs.start.tolist(), pairs.end.tolist()))
    assert spans == sorted({(i, j) for i, j, _ in expected})
    for span, e, s in zip(spans, pairs.entry.tolist(), pairs.similarity.tolist()):
        rivals = {k: x for (i, j, k), x in expected.items() if (i, j) == span}
        assert s == pytest.approx(max(rivals.values()))
        assert rivals[e] == pytest.approx(s)


def test_grams():
    a, b, c, space = (ord(x) for x in "abc ")
    codes = [x | y << 21 | z << 42 for x, y, z in [(space, a, b), (a, b, space)]]
    assert grams(["ab", "", "ab"]).tolist() == codes * 2
    assert len(grams([])) == 0
    assert len(set(grams(["\ud800x\U0010ffff"]).tolist())) == 3


# --- in lists ---------------------------------------------------------------------


def make_lists(entries, fuzzy, **settings) -> Gazetteers:
    """The list "x"."""
    lists = Gazetteers({"x": make_gazetteer(fuzzy=fuzzy, **settings)})
    lists.compile("x", entries, NLP)
    return lists


def find(lists, doc, is_train=False, name="x") -> dict[str, float]:
    found = lists.similar([doc], is_train)[name]
    spans = zip(found.start.tolist(), found.end.tolist(), found.similarity.tolist())
    return {doc[i:j].text: round(s, 3) for i, j, s in spans}


@pytest.mark.parametrize("attr", ["ALNUM", "LOWER", "NORM", "LEMMA"])
def test_attributes(attr):
    words = ["in", "physical", "revue", "letters"]
    doc = make_doc(NLP, *words, lemmas=words)
    entries = ["physical review letters"]
    assert find(make_lists(entries, EDIT, attr=attr), doc) == {
        "in physical revue letters": 0.8,
        "physical revue letters": 0.913,
    }
    assert find(make_lists(entries, EDIT, attr=attr), make_doc(NLP)) == {}


def test_words_over_tokens():
    """The tokens are "do" and "n't", the words "don" and "t"."""
    assert find(make_lists(["don't look nov"], EDIT), NLP("Don't look now"))
    doc = make_doc(NLP, "(", "J.Appl.", ")", ",", "Physic")
    found = make_lists(["J Appl Physics"], EDIT).similar([doc])
    assert (found.first.tolist(), found.last.tolist()) == ([0], [5])
    assert (found.start.tolist(), found.size.tolist()) == ([1], [3])


def test_lists_of_both_kinds():
    lists = Gazetteers(
        {
            "plain": make_gazetteer(),
            "like": make_gazetteer(fuzzy={}),
            "equal": make_gazetteer(fuzzy={"threshold": 1.0}, attr="LOWER"),
        }
    )
    for name in lists.settings:
        lists.compile(name, ["Letters", "", "..."], NLP)
    doc = NLP("letters letterss")
    assert find(lists, doc, name="plain") == {}
    assert find(lists, doc, name="like") == {"letters": 1.0}
    assert find(lists, doc, name="equal") == {"letters": 1.0}
    assert lists.similar([doc]).lists.tolist() == [1, 2]
    assert lists.similar([make_doc(NLP)]).names == ("plain", "like", "equal")


def test_the_best_do_not_overlap():
    lists = make_lists(["a b c", "c d"], {"units": "words", "threshold": 0.6})
    found = lists.similar([make_doc(NLP, "a", "b", "c", "d")])
    best = found.best(4)
    assert len(found.start) > len(best.start)
    assert sorted(zip(best.start.tolist(), best.end.tolist())) == [(0, 3)]
    columns = found.on_tokens(4)
    assert (columns[:, 0] > 0).tolist() == [True, False, False, False]
    assert (columns[:, 1] > 0).tolist() == [True, True, True, False]
    assert (columns[:, 2] > 0).tolist() == [False, False, True, False]


def test_entries_from_documents():
    docs = [NLP("by Ada Byronne"), NLP("by Ada Byronn"), NLP("by Ada Byron")]
    entries = [("Ada Byronne", docs[0]), ("Ada Byron", docs[1]), ("Ada Byron", docs[2])]
    lists = make_lists(entries, EDIT)
    assert find(lists, docs[0])["Ada Byronne"] == 1.0
    # its own entry does not count, the next best does
    assert find(lists, docs[0], is_train=True)["Ada Byronne"] == 0.818
    assert find(lists, docs[2], is_train=True)["Ada Byron"] == 1.0


@pytest.mark.parametrize("attr", ["ALNUM", "LOWER"])
def test_dropout_overlooks_the_same_entries_as_exact_matches(attr):
    lists = make_lists(["Ada Byron", "Nature"], EDIT, dropout=0.5, attr=attr)
    n_seen = 0
    for k in range(40):
        doc = make_doc(NLP, f"{k:09}", "Ada", "Byron", "between", "Nature")
        exact = lists.matches([doc], is_train=True)
        seen = {doc[i:j].text for i, j in zip(exact.start, exact.end)}
        assert set(find(lists, doc, is_train=True)) == seen
        assert len(find(lists, doc)) == 2
        n_seen += len(seen)
    assert 25 < n_seen < 55


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("entries", [[], ["...", ""], JOURNALS])
def test_copies(through, entries):
    doc = NLP("Physical Revue Letters")
    lists = make_lists([*entries, *((e, doc) for e in entries[:1])], EDIT)
    for is_train in (False, True):
        assert find(through(lists), doc, is_train) == find(lists, doc, is_train)
    assert bool(find(through(lists), doc)) == (entries == JOURNALS)


def test_many_duplicates():
    lists = make_lists((f"Nature{'.' * (k % 3)}" for k in range(100_000)), {})
    assert len(lists.tries["x"]) == len(lists.fuzzy["x"]) == 1
    assert find(lists, NLP("in nature")) == {"nature": 1.0}


@pytest.mark.parametrize("fuzzy", [{}, {"units": "words"}, EDIT])
def test_an_entry_longer_than_any_document(fuzzy):
    lists = make_lists([" ".join(["word"] * 20_000), "word"], fuzzy)
    assert find(lists, NLP("one word")) == {"word": 1.0}


def test_features():
    lists = make_lists(JOURNALS, {"threshold": 0.8})
    extractor = Extractor(FeatureSet(min_count=1).with_lists(["x"], fuzzy=["x"]), lists)
    doc = make_doc(NLP, "in", "Physical", "Revew", "Letters")
    reading = extractor.read([doc])
    names = [set(filter(None, row)) for row in feature_names(extractor, doc, "inside")]
    assert names == [set()] + [{"x:FUZZY_IN=0.8"}] * 3
    assert "x:FUZZY_BEGIN=0.8" in list(feature_names(extractor, doc, "start"))[1]
    spans = [(1, 4, "x:FUZZY_MATCH=0.8"), (1, 4, "x:SIMILARITY=1.0")]
    assert spans_of(extractor, doc) == spans
    (like,) = find(lists, doc).values()
    segments = reading.segments
    assert segments.strength.tolist() == pytest.approx([1.0, like], abs=1e-3)
    assert len(set(segments.keys.tolist())) == 2


def test_fuzzy_features_of_fuzzy_lists_only():
    both = FeatureSet().with_lists(["x", "y"], fuzzy=["y"])
    texts = {str(t) for templates in both.roles.values() for t in templates}
    assert {"x:MATCH", "y:MATCH", "y:SIMILARITY", "y:FUZZY_IN"} <= texts
    assert not any(text.startswith("x:FUZZY") for text in texts)
    with pytest.raises(ValueError, match="HS031.*x:FUZZY_IN"):
        FeatureSet(inside=["x:FUZZY_IN"]).with_lists(["x", "y"], fuzzy=["y"])
    with pytest.raises(ValueError, match="HS031.*x:SIMILARITY"):
        FeatureSet(whole=["x:SIMILARITY"]).with_lists(["x"])


def test_settings():
    assert make_gazetteer().fuzzy is None
    assert make_gazetteer(fuzzy={}).fuzzy == Fuzzy("jaccard", 0.8, "chars")
    fuzzy = make_gazetteer(fuzzy={"threshold": 1, "units": "words"}).fuzzy
    assert fuzzy == Fuzzy(threshold=1, units="words")


@pytest.mark.parametrize(
    "name, values",
    [
        ("fuzzy", ["jaccard", {"unit": "words"}]),
        ("fuzzy.similarity", [{"similarity": "dice"}]),
        ("fuzzy.units", [{"units": "bytes"}, {**EDIT, "units": "words"}]),
        ("fuzzy.threshold", [{"threshold": x} for x in (0.0, 1.01, math.nan)]),
        ("fuzzy.threshold", [{"threshold": x} for x in ("high", True)]),
        ("fuzzy.threshold", [{**EDIT, "threshold": 0.74}]),
    ],
)
def test_settings_out_of_range(name, values):
    for fuzzy in values:
        with pytest.raises(ValueError, match=f"HS034.*gazetteer.{name} is .*expected"):
            make_gazetteer(fuzzy=fuzzy)


def test_without_rapidfuzz(monkeypatch):
    load = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("rapidfuzz"):
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ValueError, match="HS089.*pip install rapidfuzz"):
        make_gazetteer(fuzzy=EDIT)
    assert make_gazetteer(fuzzy={"similarity": "cosine"}).fuzzy
