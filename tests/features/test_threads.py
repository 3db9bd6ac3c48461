"""Any number of threads read features with one extractor, as one thread does."""

import pickle
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
from spacy_hosemi.features.extractor import CACHE_BYTES
from spacy_hosemi.features.instances import divide

from ..helpers import make_doc

NLP = spacy.blank("en")
N_THREADS, N_DOCS = 8, 60


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
    whole = ["LOWER*", "BALANCED"]
    features = make_features(inside=["LOWER{-2:2}", "NORM"], whole=whole, width=3)
    features.functions = Functions({"ends": ends_of})
    lists, fuzzy = [*gazetteers.settings], [*gazetteers.fuzzy]
    features = features.with_lists(lists, tables.settings, fuzzy=fuzzy)
    return Extractor(features, gazetteers, tables)


def ends_of(doc):
    return [[token.text[-1], ("n", len(token))] for token in doc]


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
            if field.name == "read_texts":  # a function
                continue
            found[id(part), field.name] = getattr(part, field.name)
    return [*found.values()]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for of_doc, wanted in zip(found, expected):
        for one, other in zip(arrays(of_doc), arrays(wanted), strict=True):
            np.testing.assert_array_equal(one, other)


def test_reading(monkeypatch):
    """Also where caches are emptied all the time, of sentences together, and by a
    copy."""
    docs = make_docs()
    parts = [[x.tokens for x in divide(doc, "sents")] for doc in docs]
    parts += [[doc] for doc in docs]
    with monkeypatch.context() as patch:
        patch.setattr(WordCache, "is_on", False)
        alone = make_extractor()
        expected = [alone.read(part) for part in parts]
    for limit in (CACHE_BYTES, 0):
        monkeypatch.setattr("spacy_hosemi.features.extractor.CACHE_BYTES", limit)
        extractor = pickle.loads(pickle.dumps(alone)) if limit else make_extractor()
        with ThreadPoolExecutor(N_THREADS) as pool:
            assert_same([*pool.map(extractor.read, parts)], expected)


def test_what_prediction_reads_cannot_be_written():
    extractor = make_extractor()
    extractor.read([make_docs()[0]])
    lists, tables = extractor.gazetteers, extractor.tables
    arrays = [
        *product(lists.tries.values(), ("keys", "source")),
        *product(lists.fuzzy.values(), ["source"]),
        *product(tables._rows.values(), ("words", "value")),
    ]
    for part, name in arrays:
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
