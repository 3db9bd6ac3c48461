"""Observed patterns that are read at the start of segments alone: varying arcs."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.sweeps import lane_tables as tables

from .families import at_starts
from .problems import (
    INF,
    as_core,
    gradient_fields,
    make_automaton,
    make_entries,
    raises,
    relative_error,
)


def split(automaton, potentials):
    """The same scores in dense columns: patterns split the states again."""
    n, more = len(potentials.inside), len(automaton.observed)
    start = np.hstack([potentials.start, np.zeros((n, more))])
    for position, _, column, score in potentials.entries.tolist():
        start[position, column] += score
    return replace(potentials, start=start, entries=None)


def test_no_state_is_split():
    """Not even by long patterns that fire everywhere; and counts are those of patterns
    where all entries of one have the same score."""
    rng = np.random.default_rng(1)
    observed = [(1, 2), (2, 1, 2), ("^", 1)]
    automaton = make_automaton(3, [(1, 2), (2, 1)], observed)
    plain = make_automaton(3, [(1, 2), (2, 1), (2, 1, 2), ("^", 1)])
    assert automaton.unsplit.n_groups == 3 < automaton.n_groups
    assert automaton.unsplit.n_states == plain.n_states
    potentials = core.Potentials.zeros(plain, 30)
    potentials.tail[:] = 0.0
    potentials.inside[:] = rng.normal(size=(30, 3))
    potentials.pattern[:] = 0.5, -0.3, 1.5, -2.0
    expected = core.marginals(plain, potentials)
    weights = 0.5 - 0.1, 1.5, -2.0
    entries = [(i, 1, 3 + c, w) for i in range(30) for c, w in enumerate(weights)]
    given = replace(
        potentials, pattern=np.array([0.1, -0.3]), entries=make_entries(entries)
    )
    found = core.marginals(automaton, given)
    assert found.log_z == pytest.approx(expected.log_z, abs=1e-12)
    counts = found.gradient.entries["score"].reshape(30, 3).sum(axis=0)
    pattern = expected.gradient.pattern
    assert found.gradient.pattern == pytest.approx(pattern[:2], abs=1e-12)
    assert counts == pytest.approx(pattern[[0, 2, 3]], abs=1e-12)


@pytest.mark.parametrize("kinds", [("small",), ("spikes",), ("huge",)])
@pytest.mark.parametrize("block", [None, 60])
def test_long_documents_are_as_with_split_states(kinds, block, monkeypatch):
    """In both domains; block by block, too."""
    if block is not None:
        monkeypatch.setattr(tables, "BLOCK", block)
    for seed in range(12):
        problem = at_starts(np.random.default_rng(seed), kinds, n_tokens=40)
        automaton, potentials, limits = as_core(problem)
        found = core.marginals(automaton, potentials, limits)
        expected = core.marginals(automaton, split(automaton, potentials), limits)
        assert relative_error(found.log_z, expected.log_z) < 1e-9
        a, b = (gradient_fields(x.gradient) for x in (found, expected))
        where = [row[0] for row in problem.entries], [row[2] for row in problem.entries]
        b["entries"] = b["start"][where]
        b["start"] = b["start"][:, : problem.n_labels]
        for name, counts in a.items():
            np.testing.assert_allclose(counts, b[name], atol=1e-7, err_msg=name)
        above = (np.array(x.segments_above(0.3)) for x in (found, expected))
        np.testing.assert_allclose(*above, atol=1e-7)


def test_what_is_forbidden_at_one_token():
    """A after O only where no entry forbids it; then nothing is left."""
    automaton = make_automaton(2, [("^", 1), (1, 1)], [(0, 1)])
    potentials = core.Potentials.zeros(automaton, 3)
    potentials.pattern[:] = -INF
    potentials.start[1:, 0] = -INF
    potentials.entries = make_entries([(1, 1, 2, -INF)])
    found = core.marginals(automaton, potentials)
    assert found.log_z == -INF
    assert not found.tokens.any() and not found.gradient.entries["score"].any()
    potentials.entries = make_entries([(2, 1, 2, -INF)])
    potentials.pattern[1] = 0.0
    found = core.marginals(automaton, potentials)
    assert found.log_z == 0.0
    assert found.segment(1, 2, 1) == found.segment(0, 1, 0) == 1.0


def test_other_threads_see_arcs_when_they_are_whole(monkeypatch):
    """What an automaton keeps of them is used without the GIL."""
    automaton, potentials, limits = as_core(at_starts(np.random.default_rng(0)))
    make, known = core.PatternAutomaton.arcs_above, []

    def arcs_above(unsplit, edges):
        known.append(automaton.arcs_of)
        return make(unsplit, edges)

    monkeypatch.setattr(core.PatternAutomaton, "arcs_above", arcs_above)
    core.log_partition(automaton, potentials, limits)
    assert known == [None] and automaton.arcs_of is not None


def test_scores_depend_on_what_stands_before():
    automaton = make_automaton(2, (), [(0, 1)])
    potentials = core.Potentials.zeros(automaton, 3)
    posterior = core.marginals(automaton, potentials, None, False)
    with raises("HS118"):
        posterior.scores_of(np.array([[0, 1, 1]], np.int32))
