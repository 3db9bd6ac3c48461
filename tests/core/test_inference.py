"""Score, log Z and marginals, against enumeration and against closed forms."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from math import log

import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi import core
from spacy_hosemi.core.sweeps import forward_backward

from .. import oracles
from ..strategies import (
    problems_nLD,
    random_observed,
    random_patterns,
    random_problem,
)
from .problems import (
    FIELDS,
    INF,
    N_PROBLEMS,
    all_segments,
    as_core,
    constant,
    few_examples,
    gradient_fields,
    make_cells,
    make_entries,
    n_of,
    raises,
    relative_error,
    set_scores,
    solved,
    zeros,
)

FIELD_NAMES = ["tokens", "segments", "segments_above", *FIELDS]


def solve(problem: oracles.Problem) -> oracles.Marginals:
    return oracles.marginals(problem, oracles.scored(problem))


def segment_probabilities(found: core.Marginals) -> np.ndarray:
    """Those of all segments, [n, n + 1, L]."""
    n_tokens, n_labels = found.tokens.shape
    probs = np.zeros((n_tokens, n_tokens + 1, n_labels))
    for segment in all_segments(n_tokens, n_labels):
        probs[segment] = found.segment(*segment)
    return probs


def segments_above_error(found: core.Marginals, segments: np.ndarray, p: float):
    """Largest error of a probability listed; infinite if the list is a wrong one."""
    listed = {row[:3]: row[3] for row in found.segments_above(p)}
    clear = {tuple(map(int, s)) for s in np.argwhere(segments >= p + 1e-9)}
    near = {tuple(map(int, s)) for s in np.argwhere(segments >= p - 1e-9)}
    if not clear <= set(listed) <= near or list(listed) != sorted(listed):
        return INF
    return max((abs(listed[s] - segments[s]) for s in listed), default=0.0)


def largest_errors(found: core.Marginals, expected: oracles.Marginals) -> dict:
    """By name: absolute errors of probabilities; counts above 1 relative to them."""
    pairs = {
        name: (values, getattr(expected, name))
        for name, values in gradient_fields(found.gradient).items()
    }
    for name in ("inside", "start", "end"):  # columns that were not given have none
        values, counts = pairs[name]
        pairs[name] = values, counts[:, : values.shape[1]]
    pairs["tokens"] = (found.tokens, expected.tokens)
    pairs["segments"] = (segment_probabilities(found), expected.segments)
    errors = {
        name: (np.abs(a - b) / np.maximum(1.0, b)).max(initial=0.0)
        if a.shape == b.shape
        else INF
        for name, (a, b) in pairs.items()
    }
    thresholds = (1e-6, 0.2, 0.7)
    errors["segments_above"] = max(
        segments_above_error(found, expected.segments, p) for p in thresholds
    )
    return {name: error if error == error else INF for name, error in errors.items()}


def assert_agrees(found: core.Marginals, expected: oracles.Marginals):
    assert relative_error(found.log_z, expected.log_z) < 1e-9
    errors = largest_errors(found, expected)
    assert {name: error for name, error in errors.items() if error >= 1e-9} == {}


# --- a case worked by hand --------------------------------------------------------


@pytest.fixture
def hand():
    """Two tokens, O and A; all weights are logs, so Z is a sum of products.

    O O            1 * 1          =  1
    O A            1 * 3, O A * 7 = 21
    A O            (5 * 2) * 1    = 10
    A A            (5 * 2) * 3    = 30
    A, two tokens  5 * 2 * 3 / 2  = 15
    O, two tokens                    0
    """
    automaton, potentials = zeros(n_tokens=2, n_labels=2, patterns=[(0, 1)])
    potentials.inside[:, 1] = log(2), log(3)
    potentials.start[0, 1] = log(5)
    potentials.tail[1] = log(1 / 2)
    potentials.pattern[0] = log(7)
    return automaton, potentials


def test_score_by_hand(hand):
    assert core.score(*hand, [(0, 1, 0), (1, 2, 1)]) == pytest.approx(log(21))
    assert core.score(*hand, [(0, 2, 1)]) == pytest.approx(log(15))
    assert core.score(*hand, [(0, 2, 0)]) == -INF


def test_log_partition_by_hand(hand):
    assert core.log_partition(*hand) == pytest.approx(log(77))


def test_marginals_by_hand(hand):
    found = core.marginals(*hand)
    assert found.log_z == pytest.approx(log(77))
    expected = {
        "inside": [[22, 55], [11, 66]],
        "start": [[22, 55], [11, 51]],
        "end": [[22, 40], [11, 66]],
        "length": [[2 + 21 + 10], [21 + 10 + 2 * 30 + 15]],
        "tail": [0, 15],
        "pattern": [21],
    }
    for name, counts in expected.items():
        assert getattr(found.gradient, name) * 77 == pytest.approx(np.array(counts))
    assert found.tokens * 77 == pytest.approx(np.array([[22, 55], [11, 66]]))
    assert found.segment(0, 1, 1) * 77 == pytest.approx(40)
    assert found.segment(0, 2, 1) * 77 == pytest.approx(15)
    assert found.segment(0, 2, 0) == 0


def test_segments_above_by_hand(hand):
    rows = core.marginals(*hand).segments_above(22 / 78)
    assert [row[:3] for row in rows] == [(0, 1, 0), (0, 1, 1), (1, 2, 1)]
    assert [row[3] * 77 for row in rows] == pytest.approx([22, 40, 51])


@pytest.fixture
def observed_by_hand():
    """Two tokens, O and A, single tokens; ^ O and O A are observed, columns 2 and 3.

    O O            5 (^ O at 0)                    =   5
    O A            5 * 3 (start at 1) * 2 (cell)   =  30
    A O            1                               =   1
    A A            1                               =   1
    """
    observed = [("^", 0), (0, 1)]
    automaton, potentials = zeros(n_tokens=2, n_labels=2, observed=observed)
    potentials.inside[0, 2] = log(5)
    potentials.cells = make_cells([(1, 2, 3, log(2))])
    potentials.entries = make_entries([(1, 1, 3, log(3))])
    potentials.start = potentials.start[:, :2]
    return automaton, potentials


def test_observed_by_hand(observed_by_hand):
    automaton, potentials = observed_by_hand
    assert core.score(automaton, potentials, [(0, 1, 0), (1, 2, 1)]) == pytest.approx(
        log(30)
    )
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(37))
    expected = {
        "inside": [[35, 2, 35, 0], [6, 31, 0, 30]],
        "start": [[35, 2], [6, 31]],
        "end": [[35, 2, 35, 0], [6, 31, 0, 30]],
        "length": [[41], [33]],
        "cells": [30],
        "entries": [30],
    }
    gradient = gradient_fields(found.gradient)
    for name, counts in expected.items():
        assert gradient[name] * 37 == pytest.approx(np.array(counts)), name
    assert found.tokens * 37 == pytest.approx(np.array([[35, 2], [6, 31]]))
    assert found.segment(1, 2, 1) * 37 == pytest.approx(31)
    rows = found.segments_above(0.5)
    assert [row[:3] for row in rows] == [(0, 1, 0), (1, 2, 1)]


# --- enumeration ------------------------------------------------------------------


@pytest.fixture(scope="module")
def worst_errors():
    """The worst error by name, with the seed of its problem."""
    worst = {name: (0.0, 0) for name in ("log_z", "log_partition", *FIELD_NAMES)}
    for seed in range(N_PROBLEMS):
        arguments, expected, _ = solved(seed)
        found = core.marginals(*arguments)
        errors = largest_errors(found, expected)
        errors["log_z"] = relative_error(found.log_z, expected.log_z)
        log_z = core.log_partition(*arguments)
        errors["log_partition"] = relative_error(log_z, expected.log_z)
        for name, error in errors.items():
            worst[name] = max(worst[name], (error, seed), key=lambda pair: pair[0])
    return worst


@pytest.mark.parametrize("name", ["log_z", "log_partition", *FIELD_NAMES])
def test_equals_enumeration(worst_errors, name):
    error, seed = worst_errors[name]
    print(f"{name}: worst error over {N_PROBLEMS} problems {error:.1e} (seed {seed})")
    assert error < 1e-9, f"random_problem(np.random.default_rng({seed}))"


@given(problems_nLD())
def test_equals_enumeration_on_any_problem(problem):
    assert_agrees(core.marginals(*as_core(problem)), solve(problem))


def test_score_equals_enumeration():
    rng = np.random.default_rng(4)
    for _ in range(n_of(60)):
        problem = random_problem(rng, constrained=False)
        automaton, potentials, _ = as_core(problem)
        for segmentation, expected in oracles.scored(problem).items():
            found = core.score(automaton, potentials, list(segmentation))
            assert relative_error(found, expected) < 1e-10


# labels, longest pattern, number of patterns
MANY_PATTERNS = [(1, 7, 30), (2, 6, 60), (3, 4, 150), (3, 5, 300), (9, 3, 200)]


@pytest.mark.parametrize("n_tokens", [12, 30, 60])
def test_equals_the_log_domain_reference(n_tokens):
    rng = np.random.default_rng(n_tokens)
    for _ in range(25):
        problem = random_problem(rng, n_tokens=n_tokens)
        expected = oracles.reference_marginals(problem)
        assert_agrees(core.marginals(*as_core(problem)), expected)


def test_spikes_equal_the_log_domain_reference():
    rng = np.random.default_rng(18)
    for _ in range(n_of(400)):
        problem = random_problem(rng, kinds=("spikes",), n_tokens=7)
        expected = oracles.reference_marginals(problem)
        assert_agrees(core.marginals(*as_core(problem)), expected)


@pytest.mark.parametrize("kind", ["small", "spikes", "huge"])
@pytest.mark.parametrize("observed", [(), (("^", 0), (0, 0))], ids=["", "observed"])
def test_equals_the_log_domain_reference_on_a_long_document(kind, observed):
    rng = np.random.default_rng(5)
    patterns = ((0, 0), ("^", 0, 0), (0, "$"))
    problem = random_problem(
        rng,
        kinds=(kind,),
        n_tokens=n_of(2000),
        patterns=patterns,
        constrained=False,
        observed=observed,
    )
    found = core.log_partition(*as_core(problem))
    assert relative_error(found, oracles.reference_log_z(problem)) < 1e-9


@pytest.mark.parametrize("n_labels, longest, n_patterns", MANY_PATTERNS)
def test_many_patterns(n_labels, longest, n_patterns):
    rng = np.random.default_rng(19)
    for _ in range(n_of(10)):
        patterns = random_patterns(rng, n_labels, longest, n_patterns)
        problem = random_problem(rng, n_tokens=8, n_labels=n_labels, patterns=patterns)
        expected = oracles.reference_marginals(problem)
        assert_agrees(core.marginals(*as_core(problem)), expected)


@pytest.mark.parametrize("kind", ["small", "spikes", "huge"])
def test_many_long_cells(kind):
    rng = np.random.default_rng(6)
    problem = random_problem(rng, kinds=(kind,), n_tokens=60, constrained=False)
    cells = [
        (start, end, label, float(rng.normal(0.3 * (end - start), 3.0)))
        for start, end, label in all_segments(60, problem.n_columns)
        if rng.random() < 0.2
    ]
    problem = problem._replace(cells=cells)
    expected = oracles.reference_marginals(problem)
    assert_agrees(core.marginals(*as_core(problem)), expected)


# --- the gradient -----------------------------------------------------------------


@pytest.mark.parametrize("name", FIELDS)
def test_gradient_equals_central_differences(name):
    rng = np.random.default_rng(7)
    step = 1e-4
    for _ in range(25):
        problem = random_problem(rng, kinds=("small",), constrained=False)
        automaton, potentials, _ = as_core(problem)
        gradient = gradient_fields(core.marginals(automaton, potentials).gradient)[name]
        if not np.isfinite(core.log_partition(automaton, potentials)):
            continue
        scores = gradient_fields(potentials)[name]
        for where in zip(*np.nonzero(np.isfinite(scores)), strict=True):
            log_z = []
            for shift in (-step, step):
                value = scores[where] + shift
                changed = set_scores(potentials, name, where, value)
                log_z.append(core.log_partition(automaton, changed))
            difference = (log_z[1] - log_z[0]) / (2 * step)
            assert gradient[where] == pytest.approx(difference, abs=1e-6)


@few_examples
@given(problems_nLD())
def test_probabilities_are_probabilities(problem):
    found = core.marginals(*as_core(problem))
    probs = [*found.tokens.flat, *segment_probabilities(found).flat]
    assert all(0 <= prob <= 1 + 1e-9 for prob in probs)


@few_examples
@given(problems_nLD())
def test_each_token_has_one_label(problem):
    found = core.marginals(*as_core(problem))
    total = 1.0 if found.log_z > -INF else 0.0
    assert found.tokens.sum(axis=1) == pytest.approx(total, abs=1e-9)


@few_examples
@given(problems_nLD())
def test_log_partition_equals_log_z_of_marginals(problem):
    arguments = as_core(problem)
    log_z = core.log_partition(*arguments)
    assert relative_error(core.marginals(*arguments).log_z, log_z) < 1e-12


def test_calls_are_deterministic():
    arguments = as_core(random_problem(np.random.default_rng(8), n_tokens=40))
    first, second = core.marginals(*arguments), core.marginals(*arguments)
    assert first.log_z == second.log_z
    a, b = gradient_fields(first.gradient), gradient_fields(second.gradient)
    for name in FIELDS:
        assert np.array_equal(a[name], b[name])


def test_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(9)
    problems = [as_core(random_problem(rng, n_tokens=200)) for _ in range(20)]

    def solved(arguments):
        found = core.marginals(*arguments)
        return found.log_z, pickle.dumps(gradient_fields(found.gradient))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(solved, problems)) == list(map(solved, problems))


def test_threads_share_marginals():
    problem = as_core(random_problem(np.random.default_rng(9), n_tokens=400))
    shared = core.marginals(*problem)
    expected = shared.segments_above(1e-6)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: shared.segments_above(1e-6), range(100)))
    assert [x == expected for x in found] == [True] * len(found)


def test_earlier_results_are_not_overwritten():
    rng = np.random.default_rng(10)
    first = core.marginals(*as_core(random_problem(rng, n_tokens=5)))
    before = first.tokens.copy(), segment_probabilities(first)
    core.marginals(*as_core(random_problem(rng, n_tokens=5)))
    assert np.array_equal(first.tokens, before[0])
    assert np.array_equal(segment_probabilities(first), before[1])


# --- special cases of the model -----------------------------------------------------


def linear_chain(emission, first, step, last):
    """log Z and P(label of token), by the textbook recursions in the log domain.

    emission [n, L], first [L], step [L, L] from row to column, last [L].
    """
    n_tokens = len(emission)
    alpha, beta = np.empty_like(emission), np.empty_like(emission)
    alpha[0] = first + emission[0]
    for t in range(1, n_tokens):
        alpha[t] = emission[t] + np.logaddexp.reduce(alpha[t - 1][:, None] + step)
    beta[-1] = last
    for t in reversed(range(n_tokens - 1)):
        beta[t] = np.logaddexp.reduce(step + emission[t + 1] + beta[t + 1], axis=1)
    log_z = np.logaddexp.reduce(alpha[-1] + last)
    return log_z, np.exp(alpha + beta - log_z)


@pytest.mark.parametrize("n_tokens", [1, 2, 50])
def test_one_token_segments_are_a_linear_chain(n_tokens):
    rng = np.random.default_rng(n_tokens)
    n_labels = 3
    labels = range(n_labels)
    patterns = [(a, b) for a in labels for b in labels]
    patterns += [("^", a) for a in labels] + [(a, "$") for a in labels]
    automaton, potentials = zeros(n_tokens, n_labels, patterns=patterns)
    for name in ("inside", "start", "end", "length", "pattern"):
        values = getattr(potentials, name)
        values[...] = rng.normal(size=values.shape)
    emission = potentials.inside + potentials.start + potentials.end
    emission = emission + potentials.length[:, 0]
    step, first, last = np.split(potentials.pattern, [9, 12])
    log_z, probs = linear_chain(emission, first, step.reshape(3, 3), last)
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log_z, abs=1e-9)
    assert found.tokens == pytest.approx(probs, abs=1e-9)


def test_tail_equals_explicit_lengths():
    """length = c + d * t, once with D = n, once with D = 1 and the tail t."""
    rng = np.random.default_rng(11)
    for _ in range(n_of(50)):
        problem = random_problem(rng, kinds=("small",), n_tokens=8)
        n_labels = len(problem.tail)
        constant, tail = rng.normal(size=(2, n_labels))
        explicit = constant[:, None] + np.arange(8) * tail[:, None]
        dense = problem._replace(length=explicit, tail=np.full(n_labels, -INF))
        short = problem._replace(length=explicit[:, :1], tail=tail)
        found, expected = (core.marginals(*as_core(p)) for p in (short, dense))
        assert relative_error(found.log_z, expected.log_z) < 1e-9
        a, b = segment_probabilities(found), segment_probabilities(expected)
        assert a == pytest.approx(b, abs=1e-9)


@few_examples
@given(problems_nLD(kinds=("small",)))
def test_a_score_of_each_token_multiplies(problem):
    shifted = constant(problem, "inside", 0.75)
    log_z = core.log_partition(*as_core(problem))
    expected = log_z + 0.75 * problem.n_tokens
    assert relative_error(core.log_partition(*as_core(shifted)), expected) < 1e-9


@few_examples
@given(problems_nLD(kinds=("small",)))
def test_a_score_of_each_segment_may_stand_in_start_end_or_length(problem):
    shifted = [
        constant(problem, "start", -1.5),
        constant(problem, "end", -1.5),
        problem._replace(length=problem.length - 1.5),
    ]
    first, *others = [core.log_partition(*as_core(p)) for p in shifted]
    assert all(relative_error(other, first) < 1e-9 for other in others)


@few_examples
@given(problems_nLD(kinds=("small", "spikes")))
def test_permuted_labels_give_permuted_results(problem):
    problem = problem._replace(boundary=None, forbidden=())  # these know label 0
    n_labels = len(problem.tail)
    order = np.roll(np.arange(n_labels), 1)  # new label k is the old order[k]
    new = {c: c for c in range(n_labels, problem.n_columns)} | {"^": "^", "$": "$"}
    new |= {int(old): k for k, old in enumerate(order)}
    columns = {
        name: np.hstack([values[:, order], values[:, n_labels:]])
        for name in ("inside", "start", "end", "allowed")
        if (values := getattr(problem, name)) is not None
    }
    permuted = problem._replace(
        patterns=tuple(tuple(new[symbol] for symbol in z) for z in problem.patterns),
        observed=tuple(tuple(new[symbol] for symbol in z) for z in problem.observed),
        length=problem.length[order],
        tail=problem.tail[order],
        cells=[(i, j, new[c], value) for i, j, c, value in problem.cells],
        entries=[(i, role, new[c], value) for i, role, c, value in problem.entries],
        **columns,
    )
    expected = core.marginals(*as_core(problem))
    found = core.marginals(*as_core(permuted))
    assert relative_error(found.log_z, expected.log_z) < 1e-9
    assert found.tokens == pytest.approx(expected.tokens[:, order], abs=1e-9)
    assert found.gradient.pattern == pytest.approx(expected.gradient.pattern, abs=1e-9)


@few_examples
@given(problems_nLD())
def test_order_of_patterns_does_not_matter(problem):
    turned = problem._replace(
        patterns=problem.patterns[::-1], pattern=problem.pattern[::-1]
    )
    expected = core.marginals(*as_core(problem)).gradient.pattern
    found = core.marginals(*as_core(turned)).gradient.pattern
    assert found == pytest.approx(expected[::-1], abs=1e-9)


@few_examples
@given(problems_nLD())
def test_order_of_observed_patterns_does_not_matter(problem):
    n_labels, n_columns = problem.n_labels, problem.n_columns
    new = [*range(n_labels), *reversed(range(n_labels, n_columns))]
    columns = {
        name: values[:, new] if values.shape[1] == n_columns else values
        for name in ("inside", "start", "end")
        if (values := getattr(problem, name)) is not None
    }
    turned = problem._replace(
        observed=problem.observed[::-1],
        cells=[(i, j, new[c], value) for i, j, c, value in problem.cells],
        entries=[(i, role, new[c], value) for i, role, c, value in problem.entries],
        **columns,
    )
    expected = core.marginals(*as_core(problem))
    found = core.marginals(*as_core(turned))
    assert relative_error(found.log_z, expected.log_z) < 1e-9
    assert found.tokens == pytest.approx(expected.tokens, abs=1e-9)
    a, b = gradient_fields(found.gradient), gradient_fields(expected.gradient)
    assert a["entries"] == pytest.approx(b["entries"], abs=1e-9)
    assert a["cells"] == pytest.approx(b["cells"], abs=1e-9)


def test_a_pattern_is_an_observed_pattern_with_one_score_at_each_start():
    rng = np.random.default_rng(24)
    for _ in range(n_of(50)):
        problem = random_problem(rng, kinds=("small",), observed=())
        plain = [k for k, z in enumerate(problem.patterns) if z[-1] != "$"]
        other = [k for k, z in enumerate(problem.patterns) if z[-1] == "$"]
        weights = np.tile(problem.pattern[plain], (problem.n_tokens, 1))
        observed = problem._replace(
            patterns=tuple(problem.patterns[k] for k in other),
            pattern=problem.pattern[other],
            observed=tuple(problem.patterns[k] for k in plain),
            start=np.hstack([problem.start, weights]),
        )
        expected = core.marginals(*as_core(problem))
        found = core.marginals(*as_core(observed))
        assert relative_error(found.log_z, expected.log_z) < 1e-9
        counts = found.gradient.start[:, problem.n_labels :].sum(axis=0)
        assert counts == pytest.approx(expected.gradient.pattern[plain], abs=1e-9)


def test_entries_are_the_same_as_dense_columns():
    rng = np.random.default_rng(25)
    names = ("inside", "start", "end")
    for _ in range(n_of(100)):
        problem = random_problem(rng, kinds=("small", "spikes"))
        fields = zip(names, oracles.dense_columns(problem), strict=True)
        dense = problem._replace(entries=(), **dict(fields))
        found, expected = (core.marginals(*as_core(p)) for p in (problem, dense))
        assert relative_error(found.log_z, expected.log_z) < 1e-9
        counts = [getattr(expected.gradient, name) for name in names]
        expected_counts = [counts[role][i, c] for i, role, c, _ in problem.entries]
        found_counts = gradient_fields(found.gradient)["entries"]
        assert found_counts == pytest.approx(expected_counts, abs=1e-9)


def test_observed_columns_of_zeros_change_nothing():
    rng = np.random.default_rng(26)
    for _ in range(n_of(50)):
        problem = random_problem(rng, observed=())
        more = problem._replace(observed=random_observed(rng, problem.n_labels))
        found, expected = (core.marginals(*as_core(p)) for p in (more, problem))
        assert relative_error(found.log_z, expected.log_z) < 1e-12
        assert found.tokens == pytest.approx(expected.tokens, abs=1e-12)


def test_a_pattern_of_weight_zero_changes_nothing():
    rng = np.random.default_rng(12)
    for _ in range(n_of(50)):
        problem = random_problem(rng, n_tokens=5)
        new = (0, 0, 0, 0, "$")  # longer than any other
        more = problem._replace(
            patterns=(new, *problem.patterns), pattern=np.append(0.0, problem.pattern)
        )
        found = core.log_partition(*as_core(more))
        assert relative_error(found, core.log_partition(*as_core(problem))) < 1e-12


# --- constraints ------------------------------------------------------------------
# Three tokens, two labels, all scores 0: the first token has 2 labels, each other goes
# on or starts one of 2 labels: Z = 2 * 3 * 3 = 18 segmentations.


@pytest.mark.parametrize(
    "constraints, expected",
    [
        ({}, 18),
        ({"boundary": [0, 1, 0, 0]}, 2 * 2 * 3),  # token 1 starts a segment
        ({"boundary": [1, 1, 1, 1]}, 2 * 2 * 2),
        ({"boundary": [0, -1, 0, 0]}, 2 * 1 * 3),  # token 1 goes on
        ({"boundary": [0, -1, -1, 0]}, 2),
        ({"boundary": [0, 2, 0, 0]}, (2 * 2 + 1) * 3),  # or only O goes on
        ({"boundary": [0, 2, 2, 0]}, 8 + 2 + 2 + 1),  # O goes on at neither, 1, 2, both
        ({"boundary": [2, 0, 0, 2]}, 18),
        ({"boundary": [0, 1, -1, 0]}, 2 * 2 * 1),
        ({"allowed": [[1, 1], [1, 0], [1, 1]]}, 9),  # as many have A at token 1
        ({"allowed": [[1, 0], [0, 1], [1, 0]]}, 1),
        ({"allowed": [[1, 0], [1, 0], [1, 0]]}, 4),
        ({"forbidden": [(0, 3, 1)]}, 18 - 1),
        ({"forbidden": [(0, 3, 0)]}, 18 - 1),
        ({"forbidden": [(0, 3, -1)]}, 18 - 1),
        ({"forbidden": [(1, 2, 1)]}, 18 - 2 * 2),
        ({"forbidden": [(1, 2, -1), (1, 2, 1), (0, 3, 0)]}, 18 - 4 - 1),
        ({"boundary": [0, 1, 0, 0], "allowed": [[1, 0], [1, 1], [1, 1]]}, 1 * 2 * 3),
    ],
)
@pytest.mark.parametrize("n_explicit, tail", [(1, 0.0), (2, 0.0), (3, -INF)])
def test_constraints_by_counting(constraints, expected, n_explicit, tail):
    automaton, potentials = zeros(3, 2, n_explicit, tail)
    given = {name: np.array(values) for name, values in constraints.items()}
    if "allowed" in given:
        given["allowed"] = given["allowed"].astype(bool)
    found = core.log_partition(automaton, potentials, core.Constraints(**given))
    assert math.exp(found) == pytest.approx(expected)


def test_any_label_but_outside_is_forbidden():
    automaton, potentials = zeros(1, 3)
    constraints = core.Constraints(forbidden=[(0, 1, -1)])
    found = core.marginals(automaton, potentials, constraints)
    assert found.tokens.tolist() == [[1.0, 0.0, 0.0]]


def test_no_constraints_is_the_same_as_none():
    automaton, potentials, _ = as_core(random_problem(np.random.default_rng(13)))
    expected = core.log_partition(automaton, potentials)
    free = core.Constraints(
        np.ones((len(potentials.inside), len(automaton.labels)), dtype=bool),
        np.zeros(len(potentials.inside) + 1, dtype=np.int8),
        [],
    )
    assert core.log_partition(automaton, potentials, core.Constraints()) == expected
    assert core.log_partition(automaton, potentials, free) == expected


def forced(problem: oracles.Problem, *segments) -> core.Constraints:
    """Exactly these segments must be there."""
    allowed = np.ones((problem.n_tokens, problem.n_labels), dtype=bool)
    boundary = np.zeros(problem.n_tokens + 1, dtype=np.int8)
    for start, end, label in segments:
        allowed[start:end] = np.arange(problem.n_labels) == label
        boundary[start + 1 : end] = -1
    for start, end, _ in segments:
        boundary[[start, end]] = 1
    return core.Constraints(allowed, boundary)


def random_free_problems(seed: int, n_problems: int):
    """Without constraints and not impossible: the problem, and its scores."""
    rng = np.random.default_rng(seed)
    while n_problems:
        problem = random_problem(rng, kinds=("small",), n_tokens=5, constrained=False)
        scores = oracles.scored(problem)
        if oracles.possible(scores):
            yield problem, scores
            n_problems -= 1


def test_segment_probability_is_the_ratio_of_constrained_to_free():
    for problem, _ in random_free_problems(14, 30):
        automaton, potentials, _ = as_core(problem)
        free = core.marginals(automaton, potentials)
        for segment in all_segments(problem.n_tokens, problem.n_labels):
            constraints = forced(problem, segment)
            only = core.log_partition(automaton, potentials, constraints)
            ratio = math.exp(only - free.log_z)
            assert free.segment(*segment) == pytest.approx(ratio, abs=1e-9)


def test_conditional_probability_of_two_segments():
    """P(a | b) = Z(a and b forced) / Z(b forced), also with the label 0 for either."""
    rng = np.random.default_rng(22)
    n_pairs = 0
    for problem, scores in random_free_problems(22, 40):
        automaton, potentials, _ = as_core(problem)
        for _ in range(5):
            start, middle, gap, end = np.sort(rng.integers(0, 6, 4)).tolist()
            if start == middle or gap == end:
                continue
            a = (start, middle, int(rng.integers(problem.n_labels)))
            b = (gap, end, int(rng.integers(problem.n_labels)))
            with_b = {s: value for s, value in scores.items() if b in s}
            if not oracles.possible(with_b):
                continue
            with_both = {s: value for s, value in with_b.items() if a in s}
            both, only_b = (
                core.log_partition(automaton, potentials, forced(problem, *segments))
                for segments in ((a, b), (b,))
            )
            expected = math.exp(oracles.log_z(with_both) - oracles.log_z(with_b))
            assert math.exp(both - only_b) == pytest.approx(expected, abs=1e-9)
            found = core.marginals(automaton, potentials, forced(problem, b))
            assert found.segment(*a) == pytest.approx(expected, abs=1e-9)
            n_pairs += 1
    assert n_pairs > 50


def test_probability_without_a_segment():
    """P(neither) = Z(both forbidden) / Z; P(a | not b) by both together."""
    rng = np.random.default_rng(23)
    for problem, scores in random_free_problems(23, 60):
        automaton, potentials, _ = as_core(problem)
        segments = all_segments(problem.n_tokens, problem.n_labels)
        a, b = (segments[k] for k in rng.choice(len(segments), 2, replace=False))
        constraints = core.Constraints(forbidden=[a, b])
        neither = {s: value for s, value in scores.items() if a not in s and b not in s}
        log_z = core.log_partition(automaton, potentials, constraints)
        assert relative_error(log_z, oracles.log_z(neither)) < 1e-9
        without_b = {s: value for s, value in scores.items() if b not in s}
        if oracles.possible(without_b):
            expected = oracles.log_z({s: x for s, x in without_b.items() if a in s})
            expected = math.exp(expected - oracles.log_z(without_b))
            constraints = core.Constraints(forbidden=[b])
            found = core.marginals(automaton, potentials, constraints)
            assert found.segment(*a) == pytest.approx(expected, abs=1e-9)
            assert found.segment(*b) == 0.0


# --- nothing is possible ------------------------------------------------------------


def forbid(**fields):
    """Two tokens, O and A, D = 1, no tail; the named fields are set as given."""
    automaton, potentials = zeros(2, 2, patterns=[("^", 0), ("^", 1), (0, "$")])
    for name, (where, value) in fields.items():
        getattr(potentials, name)[where] = value
    return automaton, potentials


EVERY = (..., -INF)
IMPOSSIBLE = {
    "inside": (forbid(inside=(1, -INF)), {}),
    "start": (forbid(start=(0, -INF)), {}),
    "end": (forbid(end=(1, -INF)), {}),
    "length": (forbid(length=EVERY), {}),
    "pattern": (forbid(pattern=([0, 1], -INF)), {}),
    "pattern at the end": (forbid(pattern=(2, -INF), inside=((1, 1), -INF)), {}),
    "inside against 1e4": (forbid(inside=(1, -INF), start=(..., 1e4)), {}),
    "allowed": (forbid(), {"allowed": np.array([[True, True], [False, False]])}),
    "boundary -1 at 0": (forbid(), {"boundary": np.array([-1, 0, 0])}),
    "boundary -1 at n": (forbid(), {"boundary": np.array([0, 0, -1])}),
    "boundary -1 inside": (forbid(), {"boundary": np.array([0, -1, 0])}),
    "forbidden": (forbid(), {"forbidden": [(1, 2, 0), (1, 2, -1)]}),
}


@pytest.fixture(params=IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def impossible(request):
    (automaton, potentials), constraints = request.param
    return automaton, potentials, core.Constraints(**constraints)


def test_nothing_possible_has_log_z_of_minus_infinity(impossible):
    assert core.log_partition(*impossible) == -INF
    assert core.marginals(*impossible).log_z == -INF


def test_nothing_possible_has_no_probability(impossible):
    found = core.marginals(*impossible)
    for values in gradient_fields(found.gradient).values():
        assert not values.any()
    assert found.tokens.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert not segment_probabilities(found).any()
    assert found.segments_above(1e-300) == []


def test_impossible_cells():
    automaton, potentials = zeros(1, 1)
    potentials.cells = make_cells([(0, 1, 0, 5.0), (0, 1, 0, -INF)])
    assert core.log_partition(automaton, potentials) == -INF
    assert core.marginals(automaton, potentials).gradient.cells["score"].sum() == 0


# --- small and empty documents ------------------------------------------------------


@pytest.mark.parametrize("n_labels", [1, 3])
def test_empty_document(n_labels):
    automaton, potentials = zeros(0, n_labels)
    found = core.marginals(automaton, potentials)
    assert core.log_partition(automaton, potentials) == found.log_z == 0.0
    assert core.score(automaton, potentials, []) == 0.0
    assert found.tokens.shape == found.gradient.inside.shape == (0, n_labels)
    assert found.segments_above(0.5) == []


@pytest.mark.parametrize("weight, expected", [(2.5, 1.0), (-1e4, 1.0), (-INF, 0.0)])
def test_empty_document_completes_begin_end(weight, expected):
    patterns = [("^", 0), ("^", "$"), (0, "$"), ("^", 0, "$")]
    automaton, potentials = zeros(0, 1, patterns=patterns)
    potentials.pattern[:] = 7.0, weight, 7.0, 7.0
    found = core.marginals(automaton, potentials)
    assert core.log_partition(automaton, potentials) == found.log_z == weight
    assert core.score(automaton, potentials, []) == weight
    assert found.gradient.pattern.tolist() == [0.0, expected, 0.0, 0.0]


@pytest.mark.parametrize("boundary", [-1, 0, 1, 2])
def test_empty_document_has_no_segments_to_constrain(boundary):
    automaton, potentials = zeros(0, 2)
    constraints = core.Constraints(np.zeros((0, 2), dtype=bool), np.array([boundary]))
    assert core.log_partition(automaton, potentials, constraints) == 0.0


def test_one_token():
    automaton, potentials = zeros(1, 2, patterns=[("^", 1, "$"), ("^", "$")])
    potentials.pattern[:] = log(3), log(100)
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(1 + 3))
    assert found.tokens == pytest.approx(np.array([[0.25, 0.75]]))
    assert found.gradient.pattern == pytest.approx([0.75, 0.0])


def test_one_label_and_one_token_is_certain():
    found = core.marginals(*zeros(1, 1))
    assert found.log_z == 0.0
    assert found.segments_above(1.0) == [(0, 1, 0, 1.0)]


# --- large scores -------------------------------------------------------------------


@pytest.mark.parametrize("value", [700.0, -700.0, 1e4, -1e4])
@pytest.mark.parametrize("name", FIELDS)
def test_large_scores_in_any_field(name, value):
    rng = np.random.default_rng(15)
    for _ in range(n_of(40)):
        problem = random_problem(rng, kinds=("small",), n_tokens=5)
        if name in ("cells", "entries"):
            rows = [(*row[:3], value) for row in getattr(problem, name)]
            problem = problem._replace(**{name: rows})
        else:
            scores = getattr(problem, name).copy()
            scores[rng.random(scores.shape) < 0.5] = value
            problem = problem._replace(**{name: scores})
        assert_agrees(core.marginals(*as_core(problem)), solve(problem))


# e^-745 is 0 in double precision, the product of two e^-373 too
GAPS = [*(100.0, 340.0, 370.0, 400.0, 500.0, 600.0, 640.0, 670.0, 700.0, 720.0)]
GAPS += [745.0, 800.0, 1500.0, 1e4]
# what a label gains at each token, in gaps: 0 altogether
PROFILES = [(-1, 2, -1), (2, -1, -1), (-1, -1, 2), (1, -2, 1), (1, 1, -2), (-2, 1, 1)]
PROFILES += [(1, -1), (-1, 1), (-1, 0, 0, 1), (1, 0, 0, 0, -1)]
NO_CHANGE = [(a, b) for a in range(3) for b in range(3) if a != b]


def constant_labels(inside):
    """Single tokens; the label never changes: one path for each of three labels."""
    automaton, potentials = zeros(len(inside), 3, patterns=NO_CHANGE)
    potentials.pattern[:] = -INF
    potentials.inside[:] = inside
    return automaton, potentials


def one_long_segment(n_tokens, value):
    """Either all single O, each scoring `value`, or one A over the whole document."""
    blocked = [(0, 1), (1, 0), (1, 1)]
    patterns = [*blocked, ("^", 1), ("^", 1, "$")]
    automaton, potentials = zeros(n_tokens, 2, tail=[-INF, 0.0], patterns=patterns)
    potentials.pattern[:3] = -INF
    potentials.inside[:, 0] = value
    return automaton, potentials


@pytest.mark.parametrize("gap", GAPS)
def test_a_label_far_behind_catches_up(gap):
    """O leads by the gap at the start, A in the middle, B at the end: all equal."""
    found = core.marginals(*constant_labels(gap * np.eye(3)))
    assert found.log_z == pytest.approx(gap + log(3), rel=1e-12)
    assert found.tokens == pytest.approx(np.full((3, 3), 1 / 3), abs=1e-9)


@pytest.mark.parametrize("gap", GAPS)
def test_alpha_and_beta_far_behind_together(gap):
    """In the middle, O has alpha 0 and beta -2 gap, B the reverse, A -gap in both."""
    inside = gap * np.array([[0, -1, -2], [0, 0, 0], [-2, -1, 0]])
    found = core.marginals(*constant_labels(inside))
    assert found.log_z == pytest.approx(-2 * gap + log(3), rel=1e-12)
    assert found.tokens == pytest.approx(np.full((3, 3), 1 / 3), abs=1e-9)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_a_label_goes_another_way_to_the_same_score(profile, gap):
    """O and B score 0 throughout; A loses and gains: three equal paths."""
    inside = np.zeros((len(profile), 3))
    inside[:, 1] = gap * np.array(profile)
    found = core.marginals(*constant_labels(inside))
    assert found.log_z == pytest.approx(log(3), rel=1e-12)
    assert found.tokens == pytest.approx(np.full(inside.shape, 1 / 3), abs=1e-9)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_a_segment_goes_another_way_to_the_same_score(profile, gap):
    """Single O against one A over the whole document: two equal paths."""
    n_tokens = len(profile)
    automaton, potentials = one_long_segment(n_tokens, 0.0)
    potentials.inside[:, 1] = gap * np.array(profile)
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(2), rel=1e-12)
    assert found.segment(0, n_tokens, 1) == pytest.approx(0.5, abs=1e-9)
    assert found.tokens == pytest.approx(np.full((n_tokens, 2), 0.5), abs=1e-9)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("weights", [(2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 0, 1)])
def test_a_pattern_pays_for_its_tokens(weights, gap):
    """A A loses the gap twice; a pattern at begin, middle or end gives it back."""
    patterns = [("^", 1), (1, 1), (1, "$"), (0, 1), (1, 0)]
    automaton, potentials = zeros(2, 2, patterns=patterns)
    potentials.inside[:, 1] = -gap
    potentials.pattern[:] = *(gap * np.array(weights)), -INF, -INF
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(2), rel=1e-12)
    assert found.gradient.pattern[:3] == pytest.approx([0.5, 0.5, 0.5], abs=1e-9)


def test_minus_760_plus_1600_minus_760():
    inside = np.zeros((3, 3))
    inside[:, 1] = -760, 1600, -760
    found = core.marginals(*constant_labels(inside))
    # O: 0, A: 80, B: 0
    assert found.log_z == pytest.approx(80 + math.log1p(2 * math.exp(-80)), rel=1e-12)
    assert found.tokens[:, 1] == pytest.approx(1.0)
    assert found.tokens[:, 0] == pytest.approx(math.exp(-80), rel=1e-9)


def test_a_state_800_behind_that_gains_1000_next():
    automaton, potentials = zeros(2, 2, patterns=[(1, 1)])
    potentials.inside[0, 1] = -800
    potentials.pattern[0] = 1000
    found = core.marginals(automaton, potentials)
    # A A: 200, O O and O A: 0, A O: -800
    assert found.log_z == pytest.approx(200, rel=1e-12)
    assert found.gradient.pattern == pytest.approx([1.0])
    assert found.tokens[0, 0] == pytest.approx(2 * math.exp(-200), rel=1e-9)


@pytest.mark.parametrize(
    "blocked",
    [[("^", 1), (0, 1)], [("^", 1), (0, 1), (1, 1), (1, 0)]],
    ids=["never reached", "alone"],
)
def test_an_unreachable_label_that_scores_1e4(blocked):
    automaton, potentials = zeros(3, 2, patterns=blocked)
    potentials.pattern[:] = -INF
    potentials.inside[:, 1] = 1e4
    potentials.inside[:, 0] = -1e4
    found = core.marginals(automaton, potentials)
    assert found.log_z == -3e4
    assert found.tokens.tolist() == [[1.0, 0.0]] * 3


def test_a_dead_end_that_scores_1e4():
    automaton, potentials = zeros(4, 2, patterns=[(1, 0), (1, 1), (1, "$")])
    potentials.pattern[:] = -INF
    potentials.inside[:, 1] = 1e4
    found = core.marginals(automaton, potentials)
    assert found.log_z == 0.0
    assert found.tokens.tolist() == [[1.0, 0.0]] * 4


def test_a_segment_that_cannot_end_and_scores_1e4():
    automaton, potentials = zeros(50, 2, tail=[-INF, 0.0])
    potentials.inside[:, 1] = 1e4
    potentials.end[:, 1] = -INF
    found = core.marginals(automaton, potentials)
    assert found.log_z == 0.0
    assert found.tokens.tolist() == [[1.0, 0.0]] * 50


@pytest.mark.parametrize("n_tokens", [3, 50, 1000, 5000])
@pytest.mark.parametrize("value", [1.0, -1.0, 30.0, -800.0, 1e4, -1e4])
@pytest.mark.parametrize("pattern", [3, 4], ids=["at the start", "at the end"])
def test_a_segment_as_long_as_the_document(n_tokens, value, pattern):
    """The segment is as likely as all the O, however far the O are ahead meanwhile."""
    automaton, potentials = one_long_segment(n_tokens, value)
    potentials.pattern[pattern] = n_tokens * value
    found = core.marginals(automaton, potentials)
    expected = n_tokens * value + log(2)
    assert relative_error(found.log_z, expected) < 1e-12
    # at 5e7, log Z itself is known to 7e-9 only
    error = max(1e-9, np.spacing(abs(expected)))
    assert found.tokens == pytest.approx(np.full((n_tokens, 2), 0.5), abs=error)
    assert found.segment(0, n_tokens, 1) == pytest.approx(0.5, abs=error)
    assert found.gradient.pattern == pytest.approx([0, 0, 0, 0.5, 0.5], abs=error)
    assert found.gradient.tail[1] == pytest.approx((n_tokens - 1) / 2, rel=error)


@pytest.mark.parametrize("gap", [*GAPS, 330.0, 345.0, 350.0])
def test_a_long_segment_between_two_patterns_that_cost(gap):
    """A loses the gap at begin and end and gets it back between: as good as all O."""
    patterns = [(0, 1), (1, 0), (1, 1), ("^", 1), (1, "$")]
    automaton, potentials = zeros(8, 2, tail=[-INF, 0.0], patterns=patterns)
    potentials.pattern[:] = -INF, -INF, -INF, -gap, -gap
    potentials.inside[:, 1] = 2 * gap / 8
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(2), rel=1e-9)
    assert found.segment(0, 8, 1) == pytest.approx(0.5, abs=1e-9)
    assert [row[:3] for row in found.segments_above(0.4)][1:2] == [(0, 8, 1)]


@pytest.mark.parametrize("body", [-1.0, -12.0, -14.0, -20.0, -24.0, -32.0, -1e4])
def test_a_long_cell_that_pays_for_its_body(body):
    """A has the cell (10, 40) only, which makes up for 30 tokens: as good as all O."""
    automaton, potentials = zeros(50, 2, tail=[-INF, 0.0])
    potentials.inside[:, 1] = body
    potentials.start[:, 1] = -INF
    potentials.start[10, 1] = 0
    potentials.end[:, 1] = -INF
    potentials.end[39, 1] = 0
    potentials.cells = make_cells([(10, 40, 1, -30 * body)])
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log(2), rel=1e-12)
    assert found.segment(10, 40, 1) == pytest.approx(0.5, abs=1e-9)
    assert found.gradient.cells["score"] == pytest.approx([0.5], abs=1e-9)


@pytest.mark.parametrize("name", FIELDS)
def test_minus_1e30_is_as_good_as_forbidden(name):
    rng = np.random.default_rng(20)
    for _ in range(30):
        problem = random_problem(rng, kinds=("small",), n_tokens=5)
        automaton, potentials, constraints = as_core(problem)
        expected = core.marginals(automaton, potentials, constraints)
        if expected.log_z == -INF:
            continue
        where = gradient_fields(potentials)[name] == -INF
        if where.any():
            potentials = set_scores(potentials, name, where, -1e30)
        found = core.marginals(automaton, potentials, constraints)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-9)
        assert found.tokens == pytest.approx(expected.tokens, abs=1e-9)


def test_minus_infinity_between_two_large_tokens():
    automaton, potentials = zeros(3, 2, tail=[-INF, 0.0])
    potentials.inside[:, 1] = 1e4, -INF, 1e4
    found = core.marginals(automaton, potentials)
    assert found.log_z == 2e4
    assert found.tokens.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert found.segment(0, 2, 1) == found.segment(0, 3, 1) == 0.0


# --- long documents with a closed form ------------------------------------------------
# Every token but the first goes on, with weight e^t, or starts one of L labels, with
# weight e^c each:  log Z = n v + c + log L + (n - 1) log(e^t + L e^c)


def renewal(n_tokens, n_labels, value, constant, tail):
    automaton, potentials = zeros(n_tokens, n_labels, tail=tail)
    potentials.inside[:] = value
    potentials.length[:] = constant
    each = np.logaddexp(tail, log(n_labels) + constant)
    log_z = n_tokens * value + constant + log(n_labels) + (n_tokens - 1) * each
    return automaton, potentials, log_z, math.exp(tail - each)


@pytest.mark.parametrize("value", [-1e4, -1.0, 0.0, 1e4])
@pytest.mark.parametrize("n_tokens, n_labels", [(2000, 3), (100_000, 2)])
def test_long_document(n_tokens, n_labels, value):
    automaton, potentials, log_z, goes_on = renewal(
        n_tokens, n_labels, value, constant=-1.5, tail=-0.25
    )
    found = core.marginals(automaton, potentials)
    middle = n_tokens // 2
    starts = (1 - goes_on) / n_labels  # P(a segment of this label starts here)
    assert found.log_z == pytest.approx(log_z, rel=1e-12)
    assert np.abs(found.tokens - 1 / n_labels).max() < 1e-9
    assert np.abs(found.gradient.start[1:] - starts).max() < 1e-9
    for width in (1, 2, 10):
        prob = starts * goes_on ** (width - 1) * (1 - goes_on)
        found_prob = found.segment(middle, middle + width, 0)
        assert found_prob == pytest.approx(prob, abs=1e-9)


@pytest.mark.parametrize("value", [-1e4, 1e4])
def test_long_linear_chain(value):
    """Two labels, one 0.5 ahead, at 100,000 tokens of +-1e4."""
    n_tokens = 100_000
    automaton, potentials = zeros(n_tokens, 2)
    potentials.inside[:] = value, value + 0.5
    found = core.marginals(automaton, potentials)
    expected = n_tokens * (value + math.log1p(math.exp(0.5)))
    assert found.log_z == pytest.approx(expected, rel=1e-12)
    prob = 1 / (1 + math.exp(-0.5))
    assert np.abs(found.tokens - [1 - prob, prob]).max() < 1e-9


@pytest.mark.parametrize("value", [-1e4, 0.0, 1e4])
def test_one_cell_as_long_as_the_document(value):
    n_tokens = 2000
    automaton, potentials, log_z, _ = renewal(n_tokens, 2, value, -1.5, -0.25)
    whole = n_tokens * value - 1.5 - (n_tokens - 1) * 0.25
    weight = log_z - whole  # the segment alone is as good as everything else
    potentials.cells = make_cells([(0, n_tokens, 1, weight)])
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log_z + log(2), rel=1e-12)
    # Z has 1 + e^weight - 1 in place of 1; e^-weight is about e^-600
    tolerance = 1e-9 if value == 0.0 else 1e-7  # the rounding of `whole`
    assert found.segment(0, n_tokens, 1) == pytest.approx(0.5, abs=tolerance)
    assert found.gradient.cells["score"] == pytest.approx([0.5], abs=tolerance)


def test_segments_above_of_a_long_document():
    n_tokens = 20_000
    automaton, potentials = zeros(n_tokens, 2, n_explicit=2, tail=0.0)
    potentials.length[:] = -20.0
    potentials.cells = make_cells([(k, k + 4, 1, 60.0) for k in range(0, n_tokens, 4)])
    rows = core.marginals(automaton, potentials).segments_above(0.9)
    expected = [(k, k + 4, 1) for k in range(0, n_tokens, 4)]
    assert [row[:3] for row in rows] == expected


@pytest.mark.parametrize("limit", [1, 2, 7, 30, 100])
def test_the_most_probable_segments_above(limit):
    """With ties, and more than twice as many as are listed."""
    rng = np.random.default_rng(limit)
    automaton = core.PatternAutomaton(["O", "A", "B"])
    potentials = core.Potentials.zeros(automaton, 12)
    potentials.tail[:] = 0.0
    potentials.inside[:, 1:] = rng.integers(-1, 2, size=(12, 1))
    found = core.marginals(automaton, potentials)
    every = found.segments_above(1e-12, outside=False)
    assert len(every) == 12 * 13
    by_rank = sorted(every, key=lambda row: (-row[3], row[1], row[0], row[2]))
    listed, is_cut = found.best_above(1e-12, limit)
    assert (listed, is_cut) == (sorted(by_rank[:limit]), True)
    assert found.best_above(1e-12, len(every)) == (every, False)
    assert found.best_above(1e-12, 0) == (every, False)


def test_segments_above_is_sorted_and_has_plain_numbers():
    automaton, potentials = zeros(4, 3, tail=0.0)
    rows = core.marginals(automaton, potentials).segments_above(1e-12)
    assert [row[:3] for row in rows] == all_segments(4, 3)
    assert all([type(x) for x in row] == [int, int, int, float] for row in rows)


# --- errors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "segments",
    [
        *[[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(1, 3, 0)]],
        *[[(0, 1, 0), (2, 3, 0)], [(0, 2, 0), (1, 3, 0)], [(0, 4, 0)], [(-1, 3, 0)]],
        *[[(0, 0, 0), (0, 3, 0)], [(0, 3, 0), (3, 3, 0)], [(1, 3, 0), (0, 1, 0)]],
    ],
)
def test_error_segments_do_not_cover_the_document(segments):
    automaton, potentials = zeros(3, 2, tail=0.0)
    assert core.score(automaton, potentials, [(0, 1, 1), (1, 3, 0)]) == 0.0
    with raises("HS020"):
        core.score(automaton, potentials, segments)


def test_error_segments_in_an_empty_document():
    with raises("HS020"):
        core.score(*zeros(0, 2), [(0, 1, 0)])


@pytest.mark.parametrize("label", [-1, 2])
def test_error_label(label):
    automaton, potentials = zeros(1, 2)
    assert core.score(automaton, potentials, [(0, 1, 1)]) == 0.0
    with raises("HS021"):
        core.score(automaton, potentials, [(0, 1, label)])
    with raises("HS021"):
        core.marginals(automaton, potentials).segment(0, 1, label)


@pytest.mark.parametrize("p", [0.0, -0.5, np.nextafter(1.0, 2.0), INF, math.nan])
def test_error_probability(p):
    found = core.marginals(*zeros(2, 2))
    assert len(found.segments_above(np.nextafter(0.0, 1.0))) == 4
    assert found.segments_above(1.0) == []
    with raises("HS022"):
        found.segments_above(p)


@pytest.mark.parametrize("start, end", [(-1, 1), (0, 4), (3, 4), (1, 1), (2, 1)])
def test_error_segment_outside_the_document(start, end):
    found = core.marginals(*zeros(3, 2, tail=0.0))
    assert found.segment(0, 3, 1) > 0
    assert found.segment(2, 3, 1) > 0
    with raises("HS024"):
        found.segment(start, end, 0)


@pytest.mark.parametrize("kept", [forward_backward.KEPT, 0])
def test_without_counts_segments_are_as_probable(kept, monkeypatch):
    monkeypatch.setattr(forward_backward, "KEPT", kept)
    for problem, _ in random_free_problems(15, 30):
        automaton, potentials, constraints = as_core(problem)
        full = core.marginals(automaton, potentials, constraints)
        lean = core.marginals(automaton, potentials, constraints, counts=False)
        assert lean.log_z == full.log_z
        assert lean.gradient is None
        for segment in all_segments(*full.tokens.shape):
            assert lean.segment(*segment) == full.segment(*segment)
        assert lean.n_spans == pytest.approx(full.n_spans, rel=1e-12)
        above = lean.segments_above(0.1), full.segments_above(0.1)
        assert np.ravel(above[0]) == pytest.approx(np.ravel(above[1]))
        spans = lean.segments_above(0.1, outside=False)
        assert spans == [row for row in above[0] if row[2]]


def test_weights_of_patterns_that_change_in_place():
    """What is made of them is kept from document to document."""
    for problem, _ in random_free_problems(16, 20):
        automaton, potentials, _ = as_core(problem)
        for _ in range(2):
            fresh = core.PatternAutomaton.from_bytes(automaton.to_bytes())
            found = core.marginals(automaton, potentials)
            expected = core.marginals(fresh, potentials)
            assert found.log_z == expected.log_z
            assert core.viterbi(automaton, potentials) == core.viterbi(
                fresh, potentials
            )
            np.add(potentials.pattern, 0.5, out=potentials.pattern)
            potentials.pattern[::2] -= 1.0


def test_less_one_segmentation():
    n_entries = 0
    for problem, _ in random_free_problems(17, 30):
        automaton, potentials, _ = as_core(problem)
        n_labels = automaton.n_labels
        dense = potentials.inside, potentials.start, potentials.end
        if any(array.shape[1] > n_labels for array in dense):
            continue
        potentials.cells = potentials.cells[potentials.cells["column"] < n_labels]
        segments, _ = core.viterbi(automaton, potentials)
        if not segments:
            continue
        found, before = (core.marginals(automaton, potentials) for _ in range(2))
        score = found.less(segments)
        assert score == pytest.approx(core.score(automaton, potentials, segments))
        start = np.zeros_like(before.gradient.start)
        for u, _, y in segments:
            start[u, y] = 1.0
        np.testing.assert_allclose(
            found.gradient.start, before.gradient.start - start, atol=1e-12
        )
        if potentials.entries is None:
            continue
        n_entries += len(potentials.entries)
        expected = oracles.marginals(problem, {tuple(segments): 0.0}).entries
        taken = before.gradient.entries["score"] - found.gradient.entries["score"]
        np.testing.assert_allclose(taken, expected, atol=1e-12)
    assert n_entries > 20
