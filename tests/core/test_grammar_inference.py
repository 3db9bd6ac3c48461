"""Inference under a grammar of labels: as if what it does not permit were not there."""

import math
from functools import cache

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.automaton import compile

from .. import oracles
from ..strategies import EXACT, KINDS, random_problem
from .problems import (
    INF,
    LABELS,
    as_core,
    make_automaton,
    raises,
    relative_error,
    zeros,
)
from .test_inference import largest_errors
from .test_kbest import as_lists, kbest_errors

NAMES = LABELS[:3]  # O, A, B
# what each rule says of the labels of a segmentation
RULES = {
    "A at most once": lambda labels: labels.count(1) <= 1,
    "A exactly once": lambda labels: labels.count(1) == 1,
    "B never before A": lambda labels: all(
        1 not in labels[t + 1 :] for t, y in enumerate(labels) if y == 2
    ),
    "B only after A": lambda labels: all(
        1 in labels[:t] for t, y in enumerate(labels) if y == 2
    ),
}
SETS = [
    *([rule] for rule in RULES),
    ["A at most once", "B only after A"],
    ["A exactly once", "B never before A"],
    # what these say is for the tests of the grammar itself
    ["A or B at most twice", "O at least once", "A never directly before A"],
    ["B only directly after A", "A at most twice"],
]
N_PROBLEMS = 60

by_rules = pytest.mark.parametrize("rules", SETS, ids="; ".join)


@cache
def compiled(rules: tuple[str, ...]):
    return core.compile_grammar(NAMES, rules)


def make(seed: int, rules, kinds=KINDS):
    """The arguments of the core, what enumeration leaves, and the problem."""
    grammar = compiled(tuple(rules))
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kinds=kinds, n_labels=3)
    scores = oracles.filtered(oracles.scored(problem), grammar.permits)
    return as_core(problem, grammar=grammar), scores, problem


# --- the grammars of these tests ----------------------------------------------------


def test_permits_what_the_rules_say():
    sequences = [
        oracles.labels_of(s) for n in range(6) for s in oracles.segmentations(n, 3)
    ]
    for rules in SETS:
        if not set(rules) <= set(RULES):
            continue
        grammar = compiled(tuple(rules))
        for labels in set(sequences):
            expected = all(RULES[rule](labels) for rule in rules)
            assert grammar.permits(labels) == expected, (rules, labels)


# --- enumeration --------------------------------------------------------------------


@by_rules
def test_marginals_equal_enumeration(rules):
    worst = {"log_z": (0.0, 0)}
    n_possible = n_changed = 0
    for seed in range(N_PROBLEMS):
        arguments, scores, problem = make(seed, rules)
        expected = oracles.marginals(problem, scores)
        found = core.marginals(*arguments)
        errors = largest_errors(found, expected)
        errors["log_z"] = relative_error(found.log_z, expected.log_z)
        log_z = core.log_partition(*arguments)
        errors["log_partition"] = relative_error(log_z, expected.log_z)
        for name, error in errors.items():
            worst[name] = max(worst.get(name, (0.0, 0)), (error, seed))
        n_possible += expected.log_z > -INF
        n_changed += len(scores) < len(oracles.scored(problem))
    error, seed = max(worst.values())
    states = arguments[0].n_states
    print(f"{'; '.join(rules)}: worst error {error:.1e} (seed {seed}), {states} states")
    assert n_possible > N_PROBLEMS // 4 and n_changed > N_PROBLEMS // 2
    assert {name: pair for name, pair in worst.items() if pair[0] >= 1e-9} == {}


@by_rules
def test_viterbi_and_its_ties_equal_enumeration(rules):
    for seed in range(N_PROBLEMS // 2):
        arguments, scores, _ = make(seed, rules, kinds=EXACT)
        segments, score = oracles.best(scores)
        assert core.viterbi(*arguments) == (list(segments), score), seed


@by_rules
def test_kbest_equals_enumeration(rules):
    for seed in range(N_PROBLEMS // 3):
        (automaton, potentials, constraints), scores, _ = make(seed, rules, EXACT)
        expected = oracles.ranked(scores)
        found = core.kbest(automaton, potentials, len(expected) + 1, constraints)
        assert found == as_lists(expected), seed
        (automaton, potentials, constraints), scores, _ = make(seed, rules)
        found = core.kbest(automaton, potentials, 5, constraints)
        assert not kbest_errors(found, scores, 5), seed


@by_rules
def test_entropy_equals_enumeration(rules):
    for seed in range(N_PROBLEMS // 3):
        arguments, scores, _ = make(seed, rules, kinds=("ties", "small"))
        expected = oracles.entropy(scores)
        found = core.entropy(*arguments)
        assert found == expected or found == pytest.approx(expected, abs=1e-9), seed


@by_rules
def test_samples_and_decisions_are_permitted(rules):
    for seed in range(N_PROBLEMS // 3):
        (automaton, potentials, constraints), scores, _ = make(seed, rules, ("small",))
        possible = oracles.possible(scores)
        for objective in ("spans", "f1"):
            found = core.mbr(automaton, potentials, objective, constraints)
            assert tuple(found) in possible or found == possible == []
        if possible:
            found = core.sample(automaton, potentials, 20, seed, constraints)
            assert set(map(tuple, found)) <= set(possible)


@pytest.mark.parametrize("objective", ["spans", "f1"])
def test_mbr_equals_enumeration(objective):
    gains = {"spans": oracles.expected_correct, "f1": oracles.expected_f1}
    for seed in range(2 * N_PROBLEMS):
        rules = SETS[seed % len(SETS)]
        (automaton, potentials, constraints), scores, _ = make(seed, rules, ("small",))
        found = core.mbr(automaton, potentials, objective, constraints)
        probs = oracles.span_probabilities(scores)
        gain = [gains[objective](probs, s) for s in oracles.possible(scores)]
        if gain:
            assert gains[objective](probs, tuple(found)) >= max(gain) - 1e-5


@by_rules
def test_score_of_what_is_not_permitted(rules):
    for seed in range(20):
        grammar = compiled(tuple(rules))
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, n_labels=3, n_tokens=3, constrained=False)
        automaton, potentials, _ = as_core(problem, grammar=grammar)
        for segmentation, score in oracles.scored(problem).items():
            found = core.score(automaton, potentials, list(segmentation))
            if grammar.permits(oracles.labels_of(segmentation)):
                assert relative_error(found, score) < 1e-10
            else:
                assert found == -INF


@by_rules
def test_equals_a_filter_on_all_potentials_of_zero(rules):
    """The number of segmentations of 5 tokens that are permitted."""
    grammar = compiled(tuple(rules))
    permitted = [
        s for s in oracles.segmentations(5, 3) if grammar.permits(oracles.labels_of(s))
    ]
    arguments = zeros(5, 3, tail=0.0, grammar=grammar)
    found = core.log_partition(*arguments)
    assert math.exp(found) == pytest.approx(len(permitted))


# --- longer documents ---------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("n_tokens", [1, 2, 1000, 20_000])
def test_one_label_at_most_once_by_counting(n_tokens, value):
    """O and A. m segments can be cut in C(n - 1, m - 1) ways, and have A nowhere or at
    one of m places: Z = 2^(n - 1) + (n + 1) 2^(n - 2) = (n + 3) 2^(n - 2)."""
    grammar = core.compile_grammar(("O", "A"), ["A at most once"])
    automaton, potentials = zeros(n_tokens, 2, tail=0.0, grammar=grammar)
    potentials.inside[:] = value
    expected = math.log(n_tokens + 3) + (n_tokens - 2) * math.log(2) + n_tokens * value
    found = core.log_partition(automaton, potentials)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    if n_tokens <= 1000:
        entropy = core.entropy(automaton, potentials)
        tolerance = 1e-8 + 1e-12 * n_tokens * abs(value)
        assert entropy == pytest.approx(expected - n_tokens * value, abs=tolerance)


def test_the_best_place_for_the_only_one():
    grammar = core.compile_grammar(("O", "A"), ["A exactly once"])
    automaton, potentials = zeros(1000, 2, patterns=[(0, 0)], grammar=grammar)
    potentials.inside[:, 1] = -5.0
    potentials.inside[700, 1] = -1.0
    segments, score = core.viterbi(automaton, potentials)
    assert score == -1.0
    assert [segment for segment in segments if segment[2]] == [(700, 701, 1)]
    found = core.marginals(automaton, potentials).tokens[:, 1]
    assert found.sum() == pytest.approx(1.0)
    ratio = 1.0 / (1.0 + 999 * math.exp(-4.0))
    assert found[700] == pytest.approx(ratio)


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


@pytest.mark.parametrize("n_tokens", [0, 2])
def test_nothing_possible(n_tokens):
    """An A is demanded where there is no token, or none may have the label."""
    grammar = core.compile_grammar(NAMES, ["A exactly once"])
    automaton, potentials = zeros(n_tokens, 3, grammar=grammar)
    potentials.inside[:, 1] = -INF
    assert core.log_partition(automaton, potentials) == -INF
    assert core.viterbi(automaton, potentials) == ([], -INF)
    assert core.kbest(automaton, potentials, 2) == []
    assert core.entropy(automaton, potentials) == -INF
    assert core.mbr(automaton, potentials) == []
    assert not core.marginals(automaton, potentials).tokens.any()
    with raises("HS027"):
        core.sample(automaton, potentials, 1)


def test_an_empty_document_is_permitted():
    grammar = core.compile_grammar(NAMES, ["A at most once"])
    automaton, potentials = zeros(0, 3, patterns=[("^", "$")], grammar=grammar)
    potentials.pattern[0] = 1.5
    assert core.log_partition(automaton, potentials) == 1.5
    assert core.viterbi(automaton, potentials) == ([], 1.5)
    assert core.score(automaton, potentials, []) == 1.5


def test_an_empty_document_may_violate_the_grammar():
    grammar = core.compile_grammar(NAMES, ["A exactly once"])
    automaton, potentials = zeros(0, 3, grammar=grammar)
    assert core.score(automaton, potentials, []) == -INF


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


@by_rules
def test_round_trip(rules):
    for seed in range(10):
        (automaton, potentials, constraints), _, _ = make(seed, rules)
        found = core.PatternAutomaton.from_bytes(automaton.to_bytes())
        assert found.to_bytes() == automaton.to_bytes()
        assert found.n_states == automaton.n_states
        expected = core.viterbi(automaton, potentials, constraints)
        assert core.viterbi(found, potentials, constraints) == expected
        log_z = core.log_partition(automaton, potentials, constraints)
        assert core.log_partition(found, potentials, constraints) == log_z


def test_bytes_tell_grammars_apart():
    automata = [make_automaton(3, grammar=compiled(tuple(rules))) for rules in SETS]
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
