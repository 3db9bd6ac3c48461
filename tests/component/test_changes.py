"""What would change an answer: each change is made, and the document predicted anew."""

import copy
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from spacy_hosemi.prediction.counterfactuals import (
    ADD_ENTRY,
    ADD_RULE,
    REMOVE_ENTRY,
    REMOVE_RULE,
)

from ..helpers import make_doc, triples
from .test_answers import NLP, joined, make_pipe
from .test_explain import ENTRIES, WORDS, made
from .test_gazetteers import CITIES, NEW, train_cities


@pytest.fixture(scope="module", params=["ALNUM", "LOWER"])
def nlp(request, tmp_path_factory):
    """Only a list tells cities from people."""
    return train_cities(tmp_path_factory.mktemp("lists"), attr=request.param)


def test_an_entry_is_added(nlp):
    pipe, doc = nlp.get_pipe("hosemi"), nlp("they saw Ceb Dor again .")
    assert not doc.ents
    found = pipe.explain(doc, (2, 4, "CITY"), changes=True)
    assert not found.is_answer
    first = found.changes[0]
    assert (first.kind, first.name, first.entry) == (ADD_ENTRY, "cities", "ceb dor")
    assert first.probability > 0.5 > found.probability
    other = copy.deepcopy(nlp)
    lists = other.get_pipe("hosemi").weights.extractor.gazetteers
    lists.compile("cities", [*CITIES, *NEW, "Ceb Dor"], other)
    again = other("they saw Ceb Dor again .")
    assert triples(again.ents) == [(2, 4, "CITY")]
    assert again.ents[0]._.confidence == pytest.approx(first.probability)
    assert not nlp("they saw Ceb Dor again .").ents  # nothing has changed


def test_an_entry_is_removed(nlp):
    pipe, doc = nlp.get_pipe("hosemi"), nlp("they saw Bel Mar again .")
    (found,) = pipe.explain(doc, changes=True)
    removed = [x for x in found.changes if x.kind == REMOVE_ENTRY]
    assert [(x.name, x.entry) for x in removed] == [("cities", "bel mar")]
    assert removed[0].probability < 0.5 < found.probability
    assert pipe.explain(doc)[0].changes == []


def test_rules():
    pipe = make_pipe(label_rules=["A at most twice"])
    kinds = set()
    for words in ("abcabc", "aacca", "cab-abcab", "bbacb"):
        doc = pipe(make_doc(NLP, *words))
        for i in range(len(doc)):
            for label in pipe.labels:
                span = i, i + 1, label
                for one in pipe.explain(doc, span, changes=True).changes:
                    kinds.add(one.kind)
                    rules = [x for x in pipe.schema.rules if x != one.name]
                    rules += [one.name] if one.kind == ADD_RULE else []
                    other = copy.deepcopy(pipe)
                    other.schema = replace(other.schema, rules=tuple(rules))
                    again = triples(other(make_doc(NLP, *words)).ents)
                    assert (span in again) != (span in triples(doc.ents))
    assert kinds == {ADD_RULE, REMOVE_RULE}


@settings(max_examples=10)
@given(parts=WORDS, name=st.sampled_from(["plain", "mbr", "sents"]), data=st.data())
def test_lists(parts, name, data):
    pipe = made("all roles", name)
    doc = pipe(joined(parts))
    i = data.draw(st.integers(0, len(doc) - 1))
    span = i, i + 1, data.draw(st.sampled_from(pipe.labels))
    found = pipe.explain(doc, span, changes=True)
    changed = [x for x in found.changes if x.kind in (ADD_ENTRY, REMOVE_ENTRY)]
    distances = [abs(x.probability - found.probability) for x in found.changes]
    assert distances == sorted(distances)
    for one in changed[:3]:
        entries = [x for x in ENTRIES[one.name] if x != one.entry]
        entries += [one.entry] if one.kind == ADD_ENTRY else []
        other = copy.deepcopy(pipe)
        other.weights.extractor.gazetteers.compile(one.name, entries, NLP)
        again = other(joined(parts))
        assert (span in triples(again.ents)) != found.is_answer
