"""Any number of threads read features with one extractor, as one thread does."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
import spacy

from spacy_hosemi.features import (
    Extractor,
    Functions,
    Gazetteers,
    Tables,
    WordCache,
    make_features,
    make_gazetteer,
    make_table,
)
from spacy_hosemi.features.instances import instances

from ..helpers import make_doc

NLP = spacy.blank("en")
N_THREADS, N_DOCS = 8, 90


@pytest.fixture(autouse=True)
def switches():
    """Threads take turns 500 times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def make_extractor():
    """Reads what prediction caches: words, words of lists, an index of similar ones."""
    gazetteers = Gazetteers(
        {
            "exact": make_gazetteer(),
            "lower": make_gazetteer("LOWER"),
            "chars": make_gazetteer(fuzzy={"threshold": 0.6}),
            "words": make_gazetteer(fuzzy={"units": "words", "threshold": 0.5}),
        }
    )
    entries = [f"Name{k} of w{k}" for k in range(0, N_DOCS, 3)]
    for name in gazetteers.settings:
        gazetteers.compile(name, entries, NLP)
    tables = Tables({"numbers": make_table(prefixes=[1])})
    tables.compile("numbers", [(f"w{k}", str(k)) for k in range(0, N_DOCS, 2)])
    functions = Functions(
        {"ends": lambda doc: [[t.text[-1], ("n", len(t))] for t in doc]}
    )
    features = make_features(
        inside=["LOWER{-2:2}", "NORM"], whole=["LOWER*", "BALANCED"], width=3
    )
    features.functions = functions
    lists, fuzzy = [*gazetteers.settings], [*gazetteers.fuzzy]
    features = features.with_lists(lists, tables.settings, fuzzy=fuzzy)
    return Extractor(features, gazetteers, tables)


def make_docs():
    """Each with words that no other one has, in the vocabulary already."""
    pieces = ("Name{0}", "of", "w{0}", "('x{0}'s,", "nAme{0}", "{0}-{0}", ".")
    docs = []
    for k in range(N_DOCS):
        words = [piece.format(k) for piece in pieces]
        starts = [True, False, False, True, False, False, False]
        docs.append(make_doc(NLP, *words, sent_starts=starts))
    return docs


def arrays(reading):
    """All arrays of what was read, by name."""
    found = {("keys", role): keys for role, keys in reading.keys.items()}
    for part in (reading.segments, *reading.listed):
        for field in fields(part):
            found[id(part), field.name] = getattr(part, field.name)
    return [*found.values()]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for of_doc, wanted in zip(found, expected):
        for one, other in zip(arrays(of_doc), arrays(wanted), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("limit", [None, 0])
def test_reading(limit, monkeypatch):
    """Also where caches are emptied all the time."""
    docs = make_docs()
    with monkeypatch.context() as patch:
        patch.setattr(WordCache, "is_on", False)
        expected = [make_extractor().read(docs[:1])]
        expected += [make_extractor().read([doc]) for doc in docs[1:]]
    if limit is not None:
        monkeypatch.setattr("spacy_hosemi.features.extractor.CACHE_BYTES", limit)
    for _ in range(2):
        extractor = make_extractor()
        with ThreadPoolExecutor(N_THREADS) as pool:
            found = pool.map(extractor.read, ([doc] for doc in docs))
            assert_same([*found], expected)


def test_reading_of_sentences_and_of_documents_together():
    docs = make_docs()
    parts = [[x.tokens for x in instances(doc, "sents")] for doc in docs]
    expected = [*map(make_extractor().read, parts)]
    extractor = make_extractor()
    with ThreadPoolExecutor(N_THREADS) as pool:
        assert_same([*pool.map(extractor.read, parts)], expected)


def test_what_prediction_reads_cannot_be_written():
    extractor = make_extractor()
    extractor.read([make_docs()[0]])
    lists, tables = extractor.gazetteers, extractor.tables
    found = [
        (trie, name) for trie, name in product(lists.tries.values(), ("keys", "source"))
    ]
    found += [(index, "source") for index in lists.fuzzy.values()]
    found += [
        (rows, name) for rows in tables._rows.values() for name in ("words", "value")
    ]
    for part, name in found:
        assert not getattr(part, name).flags.writeable, (part, name)


def test_lists_are_replaced_while_others_read():
    """A document is read with the entries from before or from after."""
    docs, extractor = make_docs()[:30], make_extractor()
    lists = extractor.gazetteers
    entries = {n: [f"Name{k}" for k in range(n)] for n in (10, 30)}
    expected = []
    for names in entries.values():
        lists.compile("exact", names, NLP)
        expected.append({tuple(lists.matches([doc])["exact"].end) for doc in docs})
    with ThreadPoolExecutor(N_THREADS) as pool:
        found = [pool.submit(lists.matches, [doc]) for doc in docs * 5]
        for n in (10, 30) * 5:
            lists.compile("exact", entries[n], NLP)
        ends = {tuple(future.result()["exact"].end) for future in found}
    assert ends <= set.union(*expected)
