"""Explanations: against enumeration, and against scores without one of the weights."""

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spacy_hosemi.core import score
from spacy_hosemi.hierarchy.decoder import segment_decoder
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.weights.potentials import score_rows
from spacy_hosemi.prediction.best_with_and_without import best_with, best_without
from spacy_hosemi.prediction.existing_entities import as_predicted

from ..helpers import SMALL, make_doc, make_trained, random_pipe, randomize, triples
from ..hierarchy.test_component import make_tree_nlp
from .test_answers import CONFIGS, MARKED, NLP, UNITS, by_spans, doc_of, joined, pipe_of
from .test_neural import make_neural, randomize_neural, train

LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}
FUZZY = {**LIST, "fuzzy": {"threshold": 0.5}}
ENTRIES = {"x": ["a b", "c", "b a"], "y": ["b a c", "aa bb"]}


FEATURES = {
    "small": SMALL,
    "all roles": {
        **SMALL,
        "inside": ["BIAS", "LOWER[-1:1]", "LOWER[-1] & LOWER"],
        "within": ["LOWER"],
        "whole": ["TOKENS", "LOWER*", "x:MATCH", "y:SIMILARITY", "y:FUZZY_MATCH"],
        "start": ["LOWER{-3:3}", "x:BEGIN", "x:IN[-1]", "y:FUZZY_IN", "POSITION"],
        "end": ["x:END", "y:END", "y:FUZZY_END[1]"],
    },
    "transitions": {
        **SMALL,
        "transition": ["LOWER", "SHAPE[-1]"],
        "transition_inside": ["LOWER[1]"],
    },
}
SETTINGS = {
    "plain": {},
    "order 3": {"max_order": 3, "pattern_min_count": 1},
    "lengths": {"explicit_length": 3, "outside": "token"},
    "rules": {"label_rules": ["A at most twice", "B at least once"]},
    "BIO": {"encoding": "BIO"},
    "BILUO": {"encoding": "BILUO", "max_order": 2},
    "IO": {"encoding": "IO"},
    "sents": {"scope": "sents"},
    "warm": {"temperature": 2.5},
    "mbr": {"decoding": "mbr", "min_confidence": 0.3},
    "collective": {"collective": 1.5, "temperature": 0.7},
}
MADE = {}


def made(features, name, seed=0):
    """A component with random weights, which have few digits."""
    key = features, name, seed
    if key not in MADE:
        model = {"features": FEATURES[features]}
        config = dict(SETTINGS[name])
        readers = None
        if features == "all roles":
            model["gazetteers"] = {"x": LIST, "y": FUZZY}
            readers = {x: (lambda x=x: ENTRIES[x]) for x in ENTRIES}
        if features == "transitions":
            config.update(observed_order=2, observed_min_count=1)
        args = NLP, MARKED, model
        MADE[key] = random_pipe(*args, readers=readers, seed=seed, **config)[0]
    return MADE[key]


WORDS = st.lists(
    st.lists(
        st.sampled_from(["a", "b", "c", "-", "aa", "bb", "new"]), min_size=1, max_size=6
    ),
    min_size=1,
    max_size=3,
)


class Rescored:
    """The two segmentations of an explanation, scored with some weights left out."""

    def __init__(self, pipe, doc, found):
        decoder = segment_decoder(pipe.decoder, pipe.name)
        spans = found.start, found.end, found.label
        before, _ = as_predicted(doc, pipe.name)
        posterior = decoder.posterior(before)
        batch, ((k, span),) = posterior.batch, posterior.locate([spans])
        args = batch, k, span
        self.paths = best_with(*args)[0], best_without(*args)[0]
        self.automaton, self.tokens = decoder.automaton, batch.tokens[k]
        self.state, self.scale = decoder.scorer.state, pipe.temperature
        self.rows = read_docs(self.state, [self.tokens])
        self.potentials = batch.potentials[k]

    def difference(self, potentials=None):
        args = self.automaton, potentials or self.potentials
        return score(*args, self.paths[0]) - score(*args, self.paths[1])

    def without(self, **arrays):
        """What is lost if a state has these arrays."""
        before, after = (
            self.difference(score_rows(state, self.rows)[0])
            for state in (self.state, replace(self.state, **arrays))
        )
        return (before - after) / self.scale

    def lost(self):
        state, found = self.state, {}
        for row in {r for some in self.rows.active for r in some.tolist()}:
            left = state.of_features.copy()
            left[state.matrix_rows(np.array([row], np.int32))] = 0.0
            found[state.names[row]] = self.without(of_features=left)
        for m, pattern in enumerate(self.automaton.patterns):
            if np.isfinite(state.pattern[m]):
                left = state.pattern.copy()
                left[m] = 0.0
                found["pattern", " ".join(pattern)] = self.without(pattern=left)
        for n in range(1, len(self.tokens) + 1):
            signs = zip((1, -1), self.paths)
            lengths = sum(
                sign * self.length(y, n) / self.scale
                for sign, path in signs
                for i, j, y in path
                if j - i == n
            )
            found["length", f"{n} tokens" if n > 1 else "1 token"] = lengths
        return found

    def length(self, y, n):
        length, tail = self.state.length[y], self.state.tail[y]
        if n <= len(length):
            return length[n - 1]
        return length[-1] + (n - len(length)) * tail


def sum_of(found) -> float:
    return math.fsum(x.score for x in found.contributions)


def ask(pipe, doc, data):
    """A predicted document, and the explanation of some span of it."""
    doc = pipe(doc)
    i = data.draw(st.integers(0, len(doc) - 1))
    size = data.draw(st.integers(1, min(4, len(doc) - i)))
    label = data.draw(st.sampled_from(pipe.labels))
    return doc, pipe.explain(doc, (i, i + size, label))


# --- the two segmentations ---------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=10)
@given(parts=UNITS, data=st.data())
def test_equals_enumeration(name, parts, data):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    everything = by_spans(pipe, doc)
    doc, found = ask(pipe, doc, data)
    span = found.start, found.end, found.label
    assert found.text == doc[found.start : found.end].text
    assert found.is_answer == (span in triples(doc.ents))
    p = sum(p for spans, p in everything.items() if span in spans)
    assert found.probability == pytest.approx(p, abs=1e-9)
    left = [p for spans, p in everything.items() if span in spans and p]
    right = [p for spans, p in everything.items() if span not in spans and p]
    if not left or not right:
        assert (found.difference, found.contributions) == (None, [])
        assert found.limits
        return
    if (
        not pipe.inventory.on_tokens
    ):  # several sequences of tags may have the same spans
        expected = math.log(max(left) / max(right))
        assert found.difference == pytest.approx(expected, abs=1e-9)
    assert found.limits == [] and span in found.spans and span not in found.instead
    assert sum_of(found) == pytest.approx(found.difference, abs=1e-9)


# --- contributions -----------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("features", FEATURES)
@settings(max_examples=2)
@given(parts=WORDS, seed=st.integers(0, 1), data=st.data())
def test_contributions_are_what_is_lost_without_a_weight(
    features, name, parts, seed, data
):
    pipe = made(features, name, seed)
    doc, found = ask(pipe, joined(parts), data)
    assert sum_of(found) == pytest.approx(found.difference or 0.0, abs=1e-9)
    if found.difference is None:
        return
    scored = Rescored(pipe, doc, found)
    assert scored.difference() == pytest.approx(found.difference, abs=1e-6)
    by_weight = {}
    for one in found.contributions:
        assert one.score == pytest.approx(one.value * one.weight / pipe.temperature)
        if one.kind in ("feature", "list"):
            key = f"{one.role}:{one.name}"
        else:
            key = one.kind, one.name
        by_weight[key] = by_weight.get(key, 0.0) + one.score
    expected = scored.lost()
    parts = found.contributions
    others = [x for x in parts if x.kind in ("rounding", "collective")]
    for one in others:
        by_weight.pop((one.kind, one.name), None)
    for key in {*by_weight, *expected}:
        left, right = by_weight.get(key, 0.0), expected.get(key, 0.0)
        assert left == pytest.approx(right, abs=1e-6), key
    # Weights have few digits, see `randomize`.
    assert all(abs(x.score) < 1e-9 for x in parts if x.kind == "rounding")


def test_a_trained_model_is_rounded_a_little():
    pipe = make_trained().get_pipe("hosemi")
    doc = pipe(make_doc(NLP, *"Ada Lovelace wrote to Mary in New York .".split()))
    for i in range(7):
        for label in pipe.labels:
            found = pipe.explain(doc, (i, i + 2, label))
            assert sum_of(found) == pytest.approx(found.difference, abs=1e-12)
            rounding = [x for x in found.contributions if x.kind == "rounding"]
            assert all(0.0 < abs(x.score) < 1e-5 for x in rounding)
            assert len(rounding) < 2


TREE = make_tree_nlp()
WORDS_OF_TREE = ("Ada", "met", "Babbage", "in", "New", "York", "Acme", "x")


@settings(max_examples=25)
@given(seed=st.integers(0, 5), temperature=st.sampled_from([1.0, 3.0]), data=st.data())
def test_a_label_tree(seed, temperature, data):
    pipe = TREE.get_pipe("hosemi")
    pipe.temperature = temperature
    randomize(pipe, seed)
    words = data.draw(st.lists(st.sampled_from(WORDS_OF_TREE), min_size=1, max_size=9))
    doc = pipe(make_doc(TREE, *words))
    i = data.draw(st.integers(0, len(doc) - 1))
    end = min(i + data.draw(st.integers(1, 3)), len(doc))
    span = i, end, data.draw(st.sampled_from(pipe.schema.projection.names()))
    found = pipe.explain(doc, span)
    assert sum_of(found) == pytest.approx(found.difference, abs=1e-9)
    rounding = [x for x in found.contributions if x.kind == "rounding"]
    assert all(abs(x.score) < 1e-5 for x in rounding)
    ranked = pipe.kbest(doc, 300)
    has_span = [has_below(x.spans, span) for x in ranked]
    known = [x.probability for x, is_there in zip(ranked, has_span) if is_there]
    assert math.fsum(known) <= found.probability + 1e-9
    assert has_span[0] == (found.difference >= 0)
    if True in has_span and False in has_span:
        first, second = (ranked[has_span.index(x)] for x in (True, False))
        expected = first.log_probability - second.log_probability
        assert found.difference == pytest.approx(expected, abs=1e-9)


def has_below(spans, span) -> bool:
    """Whether there is a span with a label, or with one below it."""
    places = [x for x in spans if x[:2] == span[:2]]
    return any(f"{y}/".startswith(f"{span[2]}/") for *_, y in places)


@pytest.mark.parametrize("scope", ["doc", "sents"])
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_tok2vec(is_shared, scope):
    nlp = make_neural(is_shared, scope=scope, temperature=1.5)
    train(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    randomize_neural(pipe)
    doc = nlp("Ada met Mary Somerville in Paris. She lived in New York.")
    n_encoder = 0
    for i in range(len(doc)):
        for label in pipe.labels:
            found = pipe.explain(doc, (i, i + 1, label))
            assert sum_of(found) == pytest.approx(found.difference, abs=1e-9)
            some = [x for x in found.contributions if x.kind == "encoder"]
            assert {x.role for x in some} <= {"inside", "start", "end"}
            scored = Rescored(pipe, nlp("".join(t.text_with_ws for t in doc)), found)
            (sparse,) = score_rows(scored.state, scored.rows)
            rest = scored.difference() - scored.difference(sparse) / 1.5
            assert math.fsum(x.score for x in some) == pytest.approx(rest, abs=1e-5)
            n_encoder += len(some)
    assert n_encoder
