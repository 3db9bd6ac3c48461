"""Scores divided by a temperature, against enumeration at temperature 1."""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Span

from spacy_hosemi import core

from .. import oracles
from ..core.problems import as_core
from ..helpers import make_trained, triples
from ..strategies import random_problem
from .test_answers import CONFIGS, PIPES, UNITS, distributions, doc_of, pipe_of
from .test_serialize import THROUGH

TEXT = "Ada Lovelace wrote to Charles Babbage."
TEMPERATURES = st.sampled_from([0.3, 0.8, 1.0, 1.7, 6.0])


@pytest.fixture(autouse=True)
def as_they_were():
    """Pipelines are shared with other tests."""
    yield
    for pipe in PIPES.values():
        pipe.temperature = 1.0


def cooled(pipe, doc, temperature) -> dict:
    """P(spans) of all sets of spans, from the scores at temperature 1."""
    pipe.temperature = 1.0
    whole = {(): 1.0}
    for low, scores in distributions(pipe, doc):
        scaled = {s: score / temperature for s, score in scores.items()}
        instance = {}
        for segments, p in oracles.probabilities(scaled).items():
            decoded = pipe.inventory.decode(segments)
            spans = tuple((i + low, j + low, y) for i, j, y in decoded)
            instance[spans] = instance.get(spans, 0.0) + p
        pairs = itertools.product(whole.items(), instance.items())
        whole = {(*x, *y): p * q for (x, p), (y, q) in pairs}
    pipe.temperature = temperature
    return whole


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=8)
@given(parts=UNITS, temperature=TEMPERATURES)
def test_all_answers_equal_enumeration(name, parts, temperature):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    expected = cooled(pipe, doc, temperature)
    for one in pipe.kbest(doc, 5):
        assert one.probability == pytest.approx(expected[tuple(one.spans)], abs=1e-9)
    for row in pipe.to_rows(doc, 3):
        span = row["start"], row["end"], row["label"]
        p = sum(p for spans, p in expected.items() if span in spans)
        assert row["confidence"] == pytest.approx(p, abs=1e-9)
        if not pipe.inventory.on_tokens:
            label = pipe.inventory.names.index(row["label"])
            found = pipe.marginals(doc).segment(*span[:2], label)
            assert found == pytest.approx(p, abs=1e-9)
    if not pipe.inventory.on_tokens:  # else it is that of tags
        entropy = -sum(p * math.log(p) for p in expected.values() if p > 0)
        assert pipe.entropy(doc) == pytest.approx(entropy, abs=1e-6)
    for ent in pipe(doc).ents:
        span = ent.start, ent.end, ent.label_
        p = sum(p for spans, p in expected.items() if span in spans)
        assert ent._.confidence == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("name", [x for x in CONFIGS if x != "mbr"])
@settings(max_examples=8)
@given(parts=UNITS, temperature=TEMPERATURES)
def test_viterbi_stays(name, parts, temperature):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    pipe.temperature = 1.0
    before = triples(pipe(doc.copy()).ents)
    pipe.temperature = temperature
    assert triples(pipe(doc).ents) == before


@pytest.mark.parametrize("seed", range(40))
def test_scores_times_a_factor(seed):
    """Forbidden stays forbidden; cells, entries and lengths have a part in it."""
    rng = np.random.default_rng(seed)
    problem, factor = random_problem(rng), float(rng.choice([0.25, 0.5, 2.0]))
    automaton, potentials, constraints = as_core(problem)
    scaled = potentials.times(factor)
    expected = {s: factor * x for s, x in oracles.scored(problem).items()}
    found = core.log_partition(automaton, scaled, constraints)
    assert found == pytest.approx(oracles.log_z(expected), rel=1e-9, abs=1e-9)
    for name in ("inside", "length", "tail", "cells", "entries", "pattern"):
        old, new = getattr(potentials, name), getattr(scaled, name)
        assert old is None or not np.shares_memory(old, new)


@pytest.mark.parametrize("preset", [(0, 1, "LOC"), (3, 5, "PER")])
def test_preset_entities_stay(preset):
    nlp = make_trained(temperature=3.0)
    doc = nlp.make_doc(TEXT)
    start, end, label = preset
    doc.set_ents([Span(doc, start, end, label=label)], default="missing")
    doc = nlp.get_pipe("hosemi")(doc)
    assert preset in triples(doc.ents)
    fixed = nlp.get_pipe("hosemi").redecode(nlp.make_doc(TEXT), keep=[preset])
    assert preset in triples(fixed.ents)


def test_above_1_is_less_sure():
    confidences = []
    for temperature in (0.5, 1.0, 2.0, 4.0):
        nlp = make_trained(temperature=temperature, confidence=True)
        confidences.append([ent._.confidence for ent in nlp(TEXT).ents])
    for surer, other in itertools.pairwise(confidences):
        assert all(p > q for p, q in zip(surer, other, strict=True))


def test_training_stays():
    """It is of no account there: weights and losses are those at 1."""
    plain, warm = make_trained(), make_trained(temperature=2.5)
    weights = [nlp.get_pipe("hosemi").get_weights().tolist() for nlp in (plain, warm)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("through", THROUGH)
def test_round_trip(through, tmp_path):
    nlp = make_trained(temperature=1.5, min_confidence={"PER": 0.2}, confidence=True)
    other = through(nlp, tmp_path)
    pipe = other.get_pipe("hosemi")
    assert (pipe.temperature, pipe.min_confidence) == (1.5, {"PER": 0.2})
    expected = [ent._.confidence for ent in nlp(TEXT).ents]
    assert [ent._.confidence for ent in other(TEXT).ents] == expected != []


def test_models_without_these_keys(tmp_path):
    make_trained(confidence=True).to_disk(tmp_path)
    config = (tmp_path / "config.cfg").read_text("utf8")
    (tmp_path / "config.cfg").write_text(config.replace("temperature = 1.0\n", ""))
    assert spacy.load(tmp_path).get_pipe("hosemi").temperature == 1.0
