"""Viterbi decoding where patterns count only where a feature of theirs is active."""

import tracemalloc
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.automaton.pattern_trie import PatternTrie

from .problems import INF, make_automaton, make_entries, zeros

METHODS = ("auto", "nonnegative", "automaton")


def test_many_patterns_equal_the_automaton():
    """More than 64, with a weight alone and where a feature is active."""
    n_labels, rng = 6, np.random.default_rng(0)
    names = range(n_labels)
    triples = [(x, y, z) for x in names for y in names for z in names]
    pairs = [(x, y) for x in names for y in names]
    rng.shuffle(triples)
    patterns = [*pairs, *triples[:30], (1, 2, 3, 4), (2, 3, "$")]
    observed = [*triples[:150], (1, 2), (4, 5), (1, 2, 3, 4), ("^", 1, 2)]
    automaton = make_automaton(n_labels, patterns, observed=observed)
    reference = make_automaton(n_labels, patterns, observed=observed)
    for n_tokens in (1, 7, 30, 30, 30, 100):
        potentials = core.Potentials.zeros(automaton, n_tokens)
        for name in ("inside", "start", "end"):
            setattr(potentials, name, rng.normal(size=(n_tokens, n_labels)))
        potentials.pattern = rng.normal(size=len(patterns))
        potentials.pattern[len(pairs) :] = rng.random(len(patterns) - len(pairs))
        n_entries = 10 * n_tokens
        entries = zip(
            rng.integers(n_tokens, size=n_entries).tolist(),
            rng.integers(3, size=n_entries).tolist(),
            rng.integers(n_labels, automaton.n_columns, size=n_entries).tolist(),
            rng.random(n_entries).tolist(),
        )
        potentials.entries = make_entries([*entries])
        segments, score = core.viterbi(automaton, potentials)
        assert automaton.layout is None  # nobody has asked for the states
        expected = core.viterbi(reference, potentials, method="automaton")
        assert segments == expected[0]
        assert score == pytest.approx(expected[1], rel=1e-12)


def test_long_documents_take_the_memory_of_active_patterns():
    """Not of all 300 patterns at each of 20,000 tokens."""
    n_tokens, n_labels, rng = 20_000, 7, np.random.default_rng(0)
    triples = [(x, y, z) for x in range(7) for y in range(7) for z in range(7)][:300]
    automaton = make_automaton(n_labels, observed=triples)
    potentials = core.Potentials.zeros(automaton, n_tokens)
    for name in ("inside", "start", "end"):
        setattr(potentials, name, rng.normal(size=(n_tokens, n_labels)))
    at = range(2, n_tokens, 3)
    places = [(i, 1, n_labels + i % 300, float(rng.random())) for i in at]
    potentials.entries = make_entries(places)
    tracemalloc.start()
    segments, score = core.viterbi(automaton, potentials)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(segments) == n_tokens and automaton.layout is None
    found = core.score(automaton, potentials, segments)
    assert found == pytest.approx(score, rel=1e-12)
    assert peak < 20_000_000


@pytest.mark.parametrize("tails", [(0.0,), (-INF,), (0.0, -INF, -INF)])
def test_rooms_are_used_again_for_other_documents(tails):
    """Of the same kind, or segments and then tokens."""
    automaton = make_automaton(3, [(1, 2), (0, 1, 2)], observed=[(1, 1, 2), (2, 0, 1)])
    rng = np.random.default_rng(0)
    documents = []
    for n_tokens, tail in zip((3, 900, 0, 40, 5, 900) * 2, cycle(tails)):
        potentials = core.Potentials.zeros(automaton, n_tokens)
        for name in ("inside", "start", "end"):
            setattr(potentials, name, rng.normal(size=(n_tokens, 3)))
        potentials.pattern = np.abs(rng.normal(size=2))
        potentials.tail[:] = tail
        places = [(i, i % 3, 3 + i % 2, float(rng.random())) for i in range(n_tokens)]
        documents.append(replace(potentials, entries=make_entries(places)))
    found = core.viterbi_many(automaton, documents)
    for (segments, score), potentials in zip(found, documents, strict=True):
        expected = core.viterbi(automaton, potentials, method="automaton")
        assert segments == expected[0]
        assert score == pytest.approx(expected[1], abs=1e-9)


def test_prefixes_by_hand():
    patterns = [(0, 1), (1, "$"), (0, 0, "$")]
    automaton = make_automaton(2, patterns, observed=[("^", 0, 1), (1, 0)])
    found = PatternTrie(automaton)
    # O, A, ^, O O, A O, ^ O, ^ O A
    assert found.parent.tolist() == [-1, -1, -1, 0, 1, 2, 5]
    assert found.suffix.tolist() == [-1, -1, -1, 0, 0, 0, 1]
    assert found.label.tolist() == [0, 1, 2, 0, 0, 0, 1]
    assert found.observed(automaton.observed).tolist() == [6, 4]
    at, last = found.places(automaton.patterns)
    assert (at.tolist(), last.tolist()) == ([0, 1, 3], [1, 3, 3])


def sparse(*patterns: tuple[int, ...]):
    """An automaton with an observed pattern that is active, and its potentials."""
    observed = [(0, 1, 1)]
    automaton, potentials = zeros(3, 2, patterns=patterns, observed=observed)
    for name in ("inside", "start", "end"):
        setattr(potentials, name, np.zeros((3, 2)))
    potentials.entries = make_entries([(2, 1, 2, 1.0)])
    return automaton, potentials


@pytest.mark.parametrize("bad", [np.nan, INF])
@pytest.mark.parametrize("place", [0, 1])
def test_weights_of_patterns_are_checked(bad, place):
    automaton, potentials = sparse((0, 1), (0, 1, 0))
    assert core.viterbi(automaton, potentials)[1] == 1.0
    potentials.pattern[place] = bad
    for method in ("auto", "nonnegative"):
        with pytest.raises(ValueError, match="HS011.*pattern"):
            core.viterbi(automaton, potentials, method=method)


def test_many_patterns_with_weights_are_decoded_by_another_method():
    """More than pairs of labels: the best segmentation is the same."""
    patterns = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    automaton, potentials = sparse(*patterns)
    rng = np.random.default_rng(0)
    for n_active in (4, 5, 8):
        potentials.pattern[:n_active] = rng.random(n_active)
        found = {core.viterbi(automaton, potentials, method=x)[1] for x in METHODS}
        assert max(found) - min(found) < 1e-12


@pytest.mark.parametrize("n_columns", [2, 3])
def test_counts_are_added_to_the_same_entries_only(n_columns):
    """Without the states of observed patterns, and with them."""
    automaton, potentials = sparse()
    potentials.inside = np.zeros((3, n_columns))
    segments = [(0, 1, 0), (1, 2, 1), (2, 3, 1)]
    gradient = replace(potentials, entries=potentials.entries.copy())
    assert core.add_counts(automaton, potentials, segments, gradient) == 1.0
    assert gradient.entries["score"].tolist() == [2.0]
    far = potentials.entries.copy()
    far["position"] = 10**9
    others = potentials.entries[:0], far, potentials.entries.astype("f8,f8,f8,f8")
    for entries in others:
        before = gradient.inside.copy()
        with pytest.raises((ValueError, TypeError), match="HS010|HS025|HS012"):
            wrong = replace(gradient, entries=entries)
            core.add_counts(automaton, potentials, segments, wrong)
        assert (gradient.inside == before).all()
