"""Scores and documents at the edge of what a double can hold: every function gives what
the log-domain reference gives, and never NaN. Most cases are about observed patterns:
states of one label that read different columns. Those without are in test_inference.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.chart import dp_tables as tables

from .. import oracles
from ..oracles import Problem
from ..strategies import random_observed, random_patterns, random_problem
from .problems import (
    INF,
    as_core,
    gradient_fields,
    make_automaton,
    make_cells,
    relative_error,
    zeros,
)
from .test_inference import assert_agrees

ALWAYS_NEW = [(0, 0), (1, 1)]  # forbidden: neighbours of one label
FAR = [100.0, 370.0, 640.0, 720.0, 745.0, 1500.0, 1e4]  # e^-745 is 0


def plain(
    n_tokens: int, n_labels: int, *, tail=-INF, patterns=(), observed=(), **scores
) -> Problem:
    """A problem of zeros with dense columns and D = 1, but for the scores given."""
    n_columns = n_labels + len(observed)
    problem = Problem(
        tuple(patterns),
        *(np.zeros((n_tokens, n_columns)) for _ in ("inside", "start", "end")),
        np.zeros((n_labels, 1)),
        np.broadcast_to(np.array(tail, dtype=float), n_labels).copy(),
        [],
        np.zeros(len(patterns)),
        observed=tuple(observed),
    )
    for name, values in scores.items():
        if name in ("cells", "entries"):
            problem = problem._replace(**{name: values})
        else:
            getattr(problem, name)[...] = values
    return problem


def columns(n_tokens: int, n_columns: int, **by_column) -> np.ndarray:
    """Zeros, but for columns c0, c1, .."""
    found = np.zeros((n_tokens, n_columns))
    for name, values in by_column.items():
        found[:, int(name[1:])] = values
    return found


def assert_equals_reference(problem: Problem, error: float = 1e-9):
    """All functions, by the log-domain reference."""
    arguments = as_core(problem)
    expected = oracles.reference_marginals(problem)
    assert not math.isnan(expected.log_z)
    assert relative_error(core.log_partition(*arguments), expected.log_z) < error
    assert_agrees(core.marginals(*arguments), expected)
    assert_decisions(problem, oracles.reference_best_scores(problem, 3))
    entropy, found = oracles.reference_entropy(problem), core.entropy(*arguments)
    assert found == entropy or abs(found - entropy) < 1e-7


def assert_decisions(problem: Problem, best_scores: list[float]):
    """The best, and that what is drawn and decided for is possible."""
    automaton, potentials, constraints = as_core(problem)
    segments, score = core.viterbi(automaton, potentials, constraints)
    if not best_scores:
        assert (segments, score) == ([], -INF)
        assert core.kbest(automaton, potentials, 3, constraints) == []
        assert core.mbr(automaton, potentials, "f1", constraints) == []
        return
    assert relative_error(score, best_scores[0]) < 1e-12
    found = core.kbest(automaton, potentials, 3, constraints)
    assert found[0][0] == segments
    for (_, value), expected in zip(found, best_scores, strict=True):
        assert relative_error(value, expected) < 1e-12
    drawn = core.sample(automaton, potentials, 5, constraints=constraints)
    for objective in ("spans", "f1"):
        drawn.append(core.mbr(automaton, potentials, objective, constraints))
    for segments in drawn:
        assert core.score(automaton, potentials, segments) > -INF


# --- small cases with a known answer ------------------------------------------------


@pytest.mark.parametrize("how", ["pattern", "inside", "start", "end", "entry", "cell"])
def test_a_state_800_behind_that_gains_1000_next(how):
    """A costs 800 at the first token; A after A gains 1,000, one way or another."""
    problem = plain(2, 2, patterns=[(1, 1)], observed=[(1, 1)])
    problem.inside[0, 1] = -800
    if how == "pattern":
        problem.pattern[0] = 1000
    elif how == "entry":
        problem = problem._replace(entries=[(1, 0, 2, 400.0), (1, 1, 2, 600.0)])
    elif how == "cell":
        problem = problem._replace(cells=[(1, 2, 2, 1000.0)])
    else:
        getattr(problem, how)[1, 2] = 1000
    # A A: 200, O O and O A: 0, A O: -800
    found = core.marginals(*as_core(problem))
    assert found.log_z == pytest.approx(200, rel=1e-12)
    assert found.tokens[:, 1] == pytest.approx([1.0, 1.0])
    assert found.tokens[0, 0] == pytest.approx(2 * math.exp(-200), rel=1e-9)
    assert core.entropy(*as_core(problem)) == pytest.approx(0.0, abs=1e-9)
    assert_equals_reference(problem)


def test_minus_760_plus_1600_minus_760_in_one_group_of_a_label():
    """A after O, over three tokens, against A after A and all O."""
    problem = plain(4, 2, tail=0.0, patterns=[(0, 0)], observed=[(0, 1)])
    problem.pattern[0] = -INF
    problem.inside[1:, 2] = -760, 1600, -760
    assert_equals_reference(problem)
    # from token 1 to the end only, and 0 altogether, as all the others
    problem.start[1, 2] = -80
    problem.start[2:, 2] = problem.end[:3, 2] = -INF
    found = core.marginals(*as_core(problem))
    # 16 without an A after O: some A and then at most one O; and O with A at (1, 4),
    # which may stand after an A too
    assert found.log_z == pytest.approx(math.log(17), rel=1e-9)
    assert found.segment(1, 4, 1) == pytest.approx(2 / 17, rel=1e-9)
    assert_equals_reference(problem)


@pytest.mark.parametrize("gap", FAR)
def test_two_groups_of_a_label_go_different_ways_to_the_same_score(gap):
    """Four tokens, labels O A A O or B A A O; the A after O loses and gains."""
    patterns = [("^", 1), (0, 2), (2, 0), (1, 1), (0, 0), (2, 2), (1, 2), (2, "$")]
    observed = [(0, 1), (2, 1)]
    problem = plain(4, 3, tail=[-INF, 0.0, -INF], patterns=patterns, observed=observed)
    problem.pattern[:] = -INF
    problem.inside[1:, 3] = -gap, 2 * gap, -gap
    problem.inside[1:, 4] = gap, -2 * gap, gap
    problem.end[:3, 1] = -INF
    # O A A A and B A A A
    found = core.marginals(*as_core(problem))
    assert found.log_z == pytest.approx(math.log(2), rel=1e-12)
    assert found.segment(1, 4, 1) == pytest.approx(1.0, abs=1e-9)
    assert found.tokens[0] == pytest.approx([0.5, 0.0, 0.5], abs=1e-9)
    counts = found.gradient.inside[1:, 3:]
    assert counts == pytest.approx(np.full((3, 2), 0.5), abs=1e-9)
    assert core.entropy(*as_core(problem)) == pytest.approx(math.log(2), abs=1e-7)
    assert_equals_reference(problem)


@pytest.mark.parametrize("gap", FAR)
def test_alpha_far_behind_where_beta_is_far_ahead(gap):
    """The group A after O loses the gap at its start and has it back at its end."""
    problem = plain(6, 2, tail=0.0, patterns=ALWAYS_NEW, observed=[(0, 1), ("^", 1)])
    problem.pattern[:] = -INF
    problem.start[:, 2] = -gap
    problem.end[:, 2] = gap
    problem.start[:, 3] = gap
    problem.end[:, 3] = -gap
    assert_equals_reference(problem)
    # all as likely as each other: runs of two labels
    expected = math.log(2**6)
    assert core.log_partition(*as_core(problem)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["label", "observed", "observed label"])
def test_unreachable_states_that_score_1e4(kind):
    """B can never stand, or what is observed can never be completed."""
    observed = {"observed": [(1, 1), (1, 1, 0)], "observed label": [(2, 0), (1, 2)]}
    observed = observed.get(kind, [])
    patterns = [("^", 2), (0, 2), (1, 2), (1, 1)]
    problem = plain(5, 3, patterns=patterns, observed=observed)
    problem.pattern[:] = -INF
    problem.inside[:, 2:] = 1e4
    problem.start[:, 2:] = 1e4
    found = core.marginals(*as_core(problem))
    # O and A, never two A: Fibonacci
    assert found.log_z == pytest.approx(math.log(13), rel=1e-12)
    assert found.tokens[:, 2].tolist() == [0.0] * 5
    assert not found.gradient.inside[:, 2:].any()
    assert_equals_reference(problem)


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_an_observed_dead_end(value):
    """What A after O reads is large, but nothing may follow it."""
    problem = plain(5, 2, patterns=[(0, 1, 0), (0, 1, 1), (0, 1, "$")])
    problem = problem._replace(observed=((0, 1),))
    problem = problem._replace(inside=columns(5, 3, c0=-value, c2=value))
    problem.pattern[:] = -INF
    # A .. A O .. O
    found = core.marginals(*as_core(problem))
    assert not found.gradient.inside[:, 2].any()
    expected = oracles.log_z(oracles.scored(problem))
    assert relative_error(found.log_z, expected) < 1e-12
    assert_equals_reference(problem)


@pytest.mark.parametrize("seed", range(6))
def test_one_possible_path(seed):
    """One segmentation is left of all, whatever it and the others score."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kinds=("huge",), n_tokens=30, constrained=False)
    possible = oracles.reference_best(problem)[0]
    if not possible:
        return
    allowed = np.zeros((30, problem.n_labels), dtype=bool)
    boundary = np.full(31, -1)
    for start, end, label in possible:
        allowed[start:end, label] = True
        boundary[[start, end]] = 1
    problem = problem._replace(allowed=allowed, boundary=boundary)
    automaton, potentials, constraints = as_core(problem)
    found = core.marginals(automaton, potentials, constraints)
    score = core.score(automaton, potentials, list(possible))
    assert relative_error(found.log_z, score) < 1e-12
    assert found.tokens == pytest.approx(allowed.astype(float), abs=1e-9)
    rows = found.segments_above(0.9)
    assert [row[:3] for row in rows] == list(possible)
    best = core.kbest(automaton, potentials, 5, constraints)
    assert [segments for segments, _ in best] == [list(possible)]
    assert (
        core.sample(automaton, potentials, 3, constraints=constraints)
        == [list(possible)] * 3
    )
    assert core.mbr(automaton, potentials, "f1", constraints) == list(possible)
    assert core.entropy(automaton, potentials, constraints) < 1e-7


@pytest.mark.parametrize("gap", FAR)
def test_every_label_falls_behind_by_more_than_e300_in_turn(gap):
    """Each of three labels, kept throughout, is ahead of the others for a while; and
    each of the groups of one label too."""
    patterns = [(a, b) for a in range(3) for b in range(3) if a != b]
    problem = plain(9, 3, patterns=patterns, observed=[("^", 1), (1, 1)])
    problem.pattern[:] = -INF
    for label in range(3):
        problem.inside[3 * label : 3 * label + 3, label] = gap
    found = core.marginals(*as_core(problem))
    assert found.log_z == pytest.approx(3 * gap + math.log(3), rel=1e-12)
    assert found.tokens == pytest.approx(np.full((9, 3), 1 / 3), abs=1e-9)
    assert_equals_reference(problem)
    problem.inside[0, 3] = -3 * gap  # ^ A
    problem.inside[4:7, 4] = gap  # A A
    found = core.marginals(*as_core(problem))
    assert found.tokens == pytest.approx(np.full((9, 3), 1 / 3), abs=1e-9)
    assert_equals_reference(problem)


@pytest.mark.parametrize("n_tokens", [4, 50, 1000])
@pytest.mark.parametrize("body", [-800.0, -20.0, -1.0, 1.0, 20.0, 800.0])
def test_a_long_segment_in_an_observed_group(n_tokens, body):
    """O, then one A to the end: each of its tokens reads `body` in column 2, and its
    start has it back. As likely as all O in single tokens; both far from the rest."""
    patterns = [("^", 1), (1, 0), (1, 1)]
    problem = plain(n_tokens, 2, tail=[-INF, 0.0], patterns=patterns, observed=[(0, 1)])
    problem.pattern[:] = -INF
    problem.inside[:, 2] = body
    problem = problem._replace(entries=[(1, 1, 2, -body * (n_tokens - 1))])
    problem.start[2:, 1] = -INF
    automaton, potentials, constraints = as_core(problem)
    found = core.marginals(automaton, potentials, constraints)
    error = max(1e-9, np.spacing(n_tokens * abs(body)))
    assert found.log_z == pytest.approx(math.log(2), abs=error)
    assert found.segment(1, n_tokens, 1) == pytest.approx(0.5, abs=error)
    assert found.gradient.entries["score"] == pytest.approx([0.5], abs=error)
    assert found.gradient.inside[1:, 2] == pytest.approx(
        np.full(n_tokens - 1, 0.5), abs=error
    )


# --- against the log-domain reference -----------------------------------------------


@pytest.mark.parametrize("kind", ["small", "spikes", "huge", "steps"])
@pytest.mark.parametrize("seed", range(5))
def test_random_problems_with_observed_patterns(seed, kind):
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(2, 4))
    problem = random_problem(
        rng,
        kinds=(kind,),
        n_tokens=25,
        n_labels=n_labels,
        patterns=random_patterns(rng, n_labels, 3, 5),
        observed=random_observed(rng, n_labels, 3),
        constrained=False,
    )
    assert_equals_reference(problem)


@pytest.mark.parametrize("seed", range(10))
def test_spikes_in_observed_columns_only(seed):
    """Groups of a label drift apart by hundreds, labels do not."""
    rng = np.random.default_rng(seed)
    problem = plain(20, 2, tail=0.0, patterns=[(0, 1, 0)], observed=[(0, 1), (1, 1)])
    for name in ("inside", "start", "end"):
        scores = getattr(problem, name)
        scores[:, :2] = rng.normal(size=(20, 2))
        scores[:, 2:] = rng.uniform(-500, 500, size=(20, 2))
    assert_equals_reference(problem)


# --- long documents -----------------------------------------------------------------


def log_matrix_power(matrix: np.ndarray, power: int) -> tuple[np.ndarray, float]:
    """matrix^power as a matrix times e^scale."""
    found, scale = np.eye(len(matrix)), 0.0
    square, square_scale = matrix, 0.0
    while power:
        if power & 1:
            found, scale = found @ square, scale + square_scale
            found, scale = found / found.max(), scale + math.log(found.max())
        square, square_scale = square @ square, 2 * square_scale
        square, square_scale = (
            square / square.max(),
            square_scale + math.log(square.max()),
        )
        power >>= 1
    return found, scale


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
def test_100_000_tokens_with_an_observed_pattern(value):
    """Single tokens; A after A reads 1.5 in each token, by an observed column."""
    n_tokens = 100_000
    problem = plain(n_tokens, 2, observed=[(1, 1)])
    problem.inside[:, :2] = value, value + 0.25
    problem.inside[:, 2] = 1.5
    step = np.exp([[0.0, 0.25], [0.0, 1.75]])
    power, scale = log_matrix_power(step, n_tokens - 1)
    log_z = math.log(np.exp([0.0, 0.25]) @ power.sum(axis=1)) + scale
    arguments = as_core(problem)
    found = core.marginals(*arguments)
    assert found.log_z == pytest.approx(log_z + n_tokens * value, rel=1e-12)
    middle, middle_scale = log_matrix_power(step, n_tokens // 2)
    left = np.exp([0.0, 0.25]) @ middle
    right = log_matrix_power(step, n_tokens - 1 - n_tokens // 2)[0].sum(axis=1)
    expected = left * right / (left @ right)
    assert found.tokens[n_tokens // 2] == pytest.approx(expected, abs=1e-9)
    assert found.tokens.sum(axis=1) == pytest.approx(np.ones(n_tokens), abs=1e-9)
    segments, score = core.viterbi(*arguments)
    assert segments == [(k, k + 1, 1) for k in range(n_tokens)]
    assert score == n_tokens * (value + 1.75) - 1.5
    assert found.gradient.inside[1:, 2].max() < 1.0
    entropy = core.entropy(*arguments)
    each = log_z - 0.25 * found.tokens[:, 1].sum()
    each -= 1.5 * found.gradient.inside[:, 2].sum()
    assert entropy == pytest.approx(each, rel=1e-9 if value == 0.0 else 1e-5)


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_decisions_of_a_long_document(value):
    n_tokens = 5000
    automaton, potentials = zeros(n_tokens, 2, tail=-0.5, observed=[(0, 1)])
    rng = np.random.default_rng(0)
    potentials.inside[:] = value + rng.normal(size=potentials.inside.shape)
    potentials.inside[:, 2] -= value
    best = core.viterbi(automaton, potentials)
    (first, second) = core.kbest(automaton, potentials, 2)
    assert relative_error(first[1], best[1]) < 1e-12
    assert second[0] != first[0] and second[1] <= first[1]
    marginals = core.marginals(automaton, potentials)
    assert np.isfinite(marginals.tokens).all()
    for segments in (
        second[0],
        *core.sample(automaton, potentials, 2),
        core.mbr(automaton, potentials),
        core.mbr(automaton, potentials, "f1"),
    ):
        score = core.score(automaton, potentials, segments)
        assert -INF < score <= best[1] * (1 + 1e-12 * np.sign(value))
    assert 0.0 < core.entropy(automaton, potentials) < n_tokens * math.log(3)


def test_an_observed_pattern_rescues_a_history_that_is_far_behind():
    """B after A is 200 behind B after O; then O after A B reads a column of +1,000."""
    automaton = make_automaton(3, [(1, 2), (0, 2)], [(1, 2, 0)])
    potentials = core.Potentials.zeros(automaton, n_tokens=3)
    potentials.pattern[:] = -200.0, 0.0
    potentials.inside[0] = 0.0, 0.0, -INF, 0.0
    potentials.inside[1, :3] = -INF, -INF, 0.0
    potentials.inside[2] = 0.0, -INF, -INF, 1000.0
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(800.0, abs=1e-9)
    assert found.segment(0, 1, 1) == pytest.approx(1.0, abs=1e-12)
    assert core.viterbi(automaton, potentials)[0] == [(0, 1, 1), (1, 2, 2), (2, 3, 0)]


# --- forward rows that are kept for a block of boundaries only ------------------------


@pytest.mark.parametrize("seed", range(12))
def test_blocks_of_rows_change_nothing(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    n_tokens, n_labels, n_lengths = 130, 3, 4
    patterns = random_patterns(rng, n_labels, 4, 8)
    automaton = make_automaton(n_labels, patterns)
    potentials = core.Potentials.zeros(automaton, n_tokens, n_lengths)
    for name in ("inside", "start", "end", "length", "pattern"):
        scores = getattr(potentials, name)
        scores[...] = rng.normal(size=scores.shape)
    if seed % 3:
        potentials.tail[1:] = rng.normal(size=n_labels - 1) - 1.0
    starts = rng.integers(0, 100, 8)
    potentials.cells = make_cells(
        [(u, u + int(rng.integers(1, 30)), u % n_labels, 6.0) for u in starts]
    )
    whole = core.marginals(automaton, potentials)
    weights = n_labels * (n_lengths + 3)
    for n_rows in (1, 2, 3):
        size = 40 * n_rows  # a document of more tokens is worked off in blocks
        block = size * max(automaton.n_states, weights)
        monkeypatch.setattr(tables, "BLOCK", block)
        found = core.marginals(automaton, potentials)
        assert found.log_z == whole.log_z
        for name, expected in gradient_fields(whole.gradient).items():
            counts = gradient_fields(found.gradient)[name]
            np.testing.assert_allclose(counts, expected, rtol=1e-12, atol=1e-300)
        monkeypatch.undo()


@pytest.mark.parametrize("seed", range(20))
def test_log_domain_changes_nothing(seed):
    """The weight of a pattern that cannot be complete decides which arithmetic is used:
    one of e^-800 times others is too small for that of scaled numbers."""
    rng = np.random.default_rng(seed)
    automaton = make_automaton(4, [*random_patterns(rng, 3, 3, 6), (3, 3)])
    potentials = core.Potentials.zeros(automaton, 12, 1 + seed % 3)
    for name in ("inside", "start", "end", "length", "pattern"):
        scores = getattr(potentials, name)
        scores[...] = rng.normal(size=scores.shape)
    potentials.tail[: seed % 5] = -0.5
    potentials.inside[:, 3] = -np.inf
    potentials.pattern[-1] = 0.0
    small = replace(potentials, pattern=potentials.pattern.copy())
    small.pattern[-1] = -800.0
    found, expected = (core.marginals(automaton, x) for x in (small, potentials))
    assert found.log_z == pytest.approx(expected.log_z, rel=1e-13)
    assert core.log_partition(automaton, small) == found.log_z
    for name, counts in gradient_fields(expected.gradient).items():
        close = gradient_fields(found.gradient)[name]
        np.testing.assert_allclose(close, counts, rtol=1e-10, atol=1e-12)
    for u, y in ((0, 0), (5, 1), (11, 2)):
        assert found.segment(u, u + 1, y) == pytest.approx(
            expected.segment(u, u + 1, y), rel=1e-10
        )
