"""Inference under a grammar of labels: as if what it does not permit were not there."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.automaton import compile

from .. import oracles
from ..strategies import random_problem
from .families import RULE_SETS, RULES, cases, compiled
from .problems import (
    INF,
    LABELS,
    as_core,
    make_automaton,
    raises,
    relative_error,
    zeros,
)

NAMES = LABELS[:3]  # O, A, B
by_rules = pytest.mark.parametrize("rules", RULE_SETS, ids="; ".join)


def test_permits_what_the_rules_say():
    sequences = [
        oracles.labels_of(s) for n in range(6) for s in oracles.segmentations(n, 3)
    ]
    for rules in RULE_SETS:
        if not set(rules) <= set(RULES):
            continue
        grammar = compiled(tuple(rules))
        for labels in set(sequences):
            expected = all(RULES[rule](labels) for rule in rules)
            assert grammar.permits(labels) == expected, (rules, labels)


# --- longer documents ---------------------------------------------------------------


def test_equals_the_log_domain_reference_where_patterns_say_the_same():
    """ "B never directly after A" where O is named too: the pattern A B at -inf."""
    grammar = core.compile_grammar(NAMES, ["B or O never directly after A"])
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = random_problem(rng, n_tokens=30, n_labels=3)
        more = [z for z in ((1, 2), (1, 0)) if z not in problem.patterns]
        weights = [
            -INF if z in ((1, 2), (1, 0)) else weight
            for z, weight in zip(problem.patterns, problem.pattern, strict=True)
        ]
        forbidden = problem._replace(
            patterns=(*problem.patterns, *more),
            pattern=np.array([*weights, *(-INF for _ in more)]),
        )
        expected = oracles.reference_marginals(forbidden)
        found = core.marginals(*as_core(problem, grammar=grammar))
        assert relative_error(found.log_z, expected.log_z) < 1e-9
        assert found.tokens == pytest.approx(expected.tokens, abs=1e-9)


# --- nothing is possible ------------------------------------------------------------


# --- the automaton ------------------------------------------------------------------


@by_rules
def test_number_of_states(rules):
    grammar = compiled(tuple(rules))
    patterns, observed = [(0, 1), (1, 2, 1)], [(2, 1)]
    plain = make_automaton(3, patterns, observed)
    found = make_automaton(3, patterns, observed, grammar=grammar)
    print(f"{'; '.join(rules)}: {plain.n_states} states, {found.n_states} with these")
    assert 1 < found.n_states <= plain.n_states * len(grammar.accepting)


def test_states_by_hand():
    """^; then O, A and B, of which O and B before and after the only A."""
    automaton = make_automaton(3, grammar=compiled(("A at most once",)))
    assert automaton.n_states == 6


def test_no_rules_change_nothing():
    plain = make_automaton(3, [(0, 1)])
    free = make_automaton(3, [(0, 1)], grammar=core.compile_grammar(NAMES, []))
    assert free.n_states == plain.n_states
    assert make_automaton(3, [(0, 1)], grammar=None).to_bytes() == plain.to_bytes()
    _, potentials = zeros(4, 3, tail=0.0, patterns=[(0, 1)])
    potentials.pattern[0] = 2.5
    found = core.marginals(free, potentials).tokens
    assert found == pytest.approx(core.marginals(plain, potentials).tokens, abs=1e-12)


def test_round_trip():
    for case in cases("rules")[:60]:
        automaton, potentials, constraints = case.arguments
        found = core.PatternAutomaton.from_bytes(automaton.to_bytes())
        assert found.to_bytes() == automaton.to_bytes()
        assert found.n_states == automaton.n_states
        expected = core.viterbi(automaton, potentials, constraints)
        assert core.viterbi(found, potentials, constraints) == expected
        log_z = core.log_partition(automaton, potentials, constraints)
        assert core.log_partition(found, potentials, constraints) == log_z


def test_bytes_tell_grammars_apart():
    automata = [
        make_automaton(3, grammar=compiled(tuple(rules))) for rules in RULE_SETS
    ]
    automata.append(make_automaton(3))
    assert len({automaton.to_bytes() for automaton in automata}) == len(automata)


@pytest.mark.parametrize("labels", ["OA", "OBA", "OABC", "OAC"])
def test_error_grammar_of_other_labels(labels):
    grammar = core.compile_grammar(tuple(labels), ["A at most once"])
    core.PatternAutomaton(tuple(labels), grammar=grammar)
    with raises("HS075"):
        core.PatternAutomaton(NAMES, grammar=grammar)


def test_error_too_many_states(monkeypatch):
    """31 states of the grammar for each of the histories that patterns tell apart."""
    monkeypatch.setattr(compile, "MAX_STATES", 200)
    grammar = core.compile_grammar(NAMES, ["A at most 30"])
    assert make_automaton(3, [(1,) * 3], grammar=grammar).n_states < 200
    with raises("HS076"):
        make_automaton(3, [(1,) * 12], grammar=grammar)
