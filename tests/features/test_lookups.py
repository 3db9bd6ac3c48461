"""Tables of spacy-lookups-data: of a small language by definition, and of English."""

import gzip
import json

import pytest
from catalogue import REGISTRY
from spacy import registry

from spacy_hosemi.features import lookups
from spacy_hosemi.features.lookups import make_lookups_reader

from ..helpers import frequent_words

PROBS = {
    "The": -5.2,
    "the": -3.5,
    "THE": -9.0,
    "tHe": -9.5,
    "Paris": -8.0,
    "paris": -12.0,
    "PARIS": -19.5,  # not seen: it has the least
    "a1": -11.0,
    "-": -4.0,
    "nobody": -19.5,
}
CLUSTERS = {"the": 0b1011, "Paris": 0b110, "paris": 0b1, "-": 0, "other": 0b10}


@pytest.fixture
def language(tmp_path):
    """Of which only its name is known to spaCy."""
    tables = {}
    for name, rows in (("lexeme_prob", PROBS), ("lexeme_cluster", CLUSTERS)):
        path = tables[name] = tmp_path / f"{name}.json"
        # spaCy asks for the name without .gz
        path.with_suffix(".json.gz").write_bytes(
            gzip.compress(json.dumps(rows).encode())
        )
    registry.lookups.register("test", func=tables)
    registry.lookups.register("no_prob", func={"lexeme_cluster": path})
    yield "test"
    for name in ("test", "no_prob"):
        del REGISTRY[(*registry.lookups.namespace, name)]


def rows(name, lang):
    return [*make_lookups_reader(name, lang)()]


def test_ways_to_clusters_begin_at_the_lowest_bit(language):
    found = rows("cluster", language)
    # frequent words first; words without a cluster are left out
    assert found == [
        ("the", "1101"),
        ("Paris", "0110"),
        ("paris", "1000"),
        ("other", "0100"),
    ]
    assert sorted(rows("cluster", "no_prob")) == sorted(found)


def test_frequencies_are_of_words_that_were_seen(language):
    assert rows("frequency", language) == [
        ("the", "3"),
        ("-", "4"),
        ("The", "5"),
        ("Paris", "8"),
        ("THE", "9"),
        ("tHe", "9"),
        ("a1", "11"),
        ("paris", "12"),
    ]


def test_case_is_of_words_of_letters(language):
    # the: .84 of its occurrences, The .15, THE .003, tHe .002; Paris .98, paris .018
    assert rows("case", language) == [("the", "420"), ("paris", "050")]


def test_english(monkeypatch):
    """Of the words with the largest probabilities, which take less time than all."""
    monkeypatch.setattr(lookups, "load_language_data", frequent_words)
    clusters = dict(rows("cluster", "en"))
    assert len(clusters) > 80_000
    assert {len(way) for way in clusters.values()} == {18}
    days = [clusters[day][:8] for day in ("Monday", "Tuesday", "Friday")]
    assert len(set(days)) == 1 and clusters["the"][:8] not in days
    case = dict(rows("case", "en"))
    assert [case[x] for x in ("walked", "london", "nasa")] == ["510", "140", "005"]
    frequency = dict(rows("frequency", "en"))
    assert int(frequency["the"]) < int(frequency["walked"]) < int(frequency["barrel"])


def test_what_is_not_there(language):
    with pytest.raises(ValueError, match=r"\[HS123\] lang is 'fr', .*'lexeme_cluster'"):
        rows("cluster", "fr")
    with pytest.raises(ValueError, match=r"HS123.*'lexeme_prob'.*\['.*en.*\]"):
        rows("frequency", "no_prob")
    with pytest.raises(ValueError, match="HS077.*'prob'.*cluster"):
        make_lookups_reader("prob")
    reader = registry.readers.get("spacy_hosemi.read_lookups.v1")
    assert dict(reader(lang=language)())["the"] == "1101"
