"""Scores and documents at the edge of what a double can hold: every question has the
answer of the reference, and a closed form where documents are long."""

import math
from dataclasses import replace
from functools import cache
from math import log

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.sweeps import lane_tables as tables

from .. import oracles
from ..oracles import Problem
from ..strategies import random_patterns, random_problem
from .families import Case
from .problems import (
    INF,
    as_core,
    gradient_fields,
    make_automaton,
    make_cells,
    relative_error,
    zeros,
)
from .test_answers import LONG_QUESTIONS, QUESTIONS, best, decisions, entropy, log_z

# e^-745 is 0 in double precision, the product of two e^-373 too
GAPS = [100.0, 330.0, 340.0, 350.0, 370.0, 400.0, 500.0, 640.0, 700.0, 720.0]
GAPS += [745.0, 800.0, 1500.0, 1e4]
# what a label gains at each token, in gaps: 0 altogether
PROFILES = [(-1, 2, -1), (2, -1, -1), (-1, -1, 2), (1, -2, 1), (1, 1, -2), (-2, 1, 1)]
PROFILES += [(1, -1), (-1, 1), (-1, 0, 0, 1), (1, 0, 0, 0, -1)]
NO_CHANGE = [(a, b) for a in range(3) for b in range(3) if a != b]
ALWAYS_NEW = [(0, 0), (1, 1)]
ONE_OF_A = [(0, 1), (1, 0), (1, 1)]  # forbidden: A beside O or A


def plain(
    n_tokens: int, n_labels: int, *, tail=-INF, patterns=(), observed=(), **scores
) -> Problem:
    """A problem of zeros with dense columns and D = 1, but for the scores given;
    patterns have the first weights that are given, the others are forbidden."""
    n_columns = n_labels + len(observed)
    problem = Problem(
        tuple(patterns),
        *(np.zeros((n_tokens, n_columns)) for _ in ("inside", "start", "end")),
        np.zeros((n_labels, 1)),
        np.broadcast_to(np.array(tail, dtype=float), n_labels).copy(),
        [],
        np.full(len(patterns), -INF),
        observed=tuple(observed),
    )
    weights = scores.pop("pattern", ())
    problem.pattern[: len(weights)] = weights
    for name in ("cells", "entries"):
        if name in scores:
            problem = problem._replace(**{name: scores.pop(name)})
    for name, by_column in scores.items():
        for column, values in by_column.items():
            getattr(problem, name)[:, column] = values
    return problem


def far_apart(gap):
    """Single tokens whose label never changes, and other ways to the same score."""
    lead = {"inside": dict(enumerate(gap * np.eye(3)))}
    yield "a label catches up", plain(3, 3, patterns=NO_CHANGE, **lead), gap + log(3)
    rows = gap * np.array([[0, -1, -2], [0, 0, 0], [-2, -1, 0]])
    both = {"inside": dict(enumerate(rows.T))}
    found = plain(3, 3, patterns=NO_CHANGE, **both)
    yield "alpha and beta far behind together", found, -2 * gap + log(3)
    for profile in PROFILES:
        gains = {"inside": {1: gap * np.array(profile)}}
        found = plain(len(profile), 3, patterns=NO_CHANGE, **gains)
        yield f"another way to the same score {profile}", found, log(3)
        tail = [-INF, 0.0]
        found = plain(len(profile), 2, tail=tail, patterns=ONE_OF_A, **gains)
        yield f"another way of a segment {profile}", found, log(2)
    for weights in ((2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 0, 1)):
        patterns = [("^", 1), (1, 1), (1, "$"), (0, 1), (1, 0)]
        scores = {"inside": {1: -gap}, "pattern": gap * np.array(weights)}
        found = plain(2, 2, patterns=patterns, **scores)
        yield f"a pattern pays for its tokens {weights}", found, log(2)
    patterns = [("^", 1), (1, "$"), *ONE_OF_A]
    scores = {"inside": {1: 2 * gap / 8}, "pattern": (-gap, -gap)}
    found = plain(8, 2, tail=[-INF, 0.0], patterns=patterns, **scores)
    yield "a long segment between two patterns that cost", found, log(2)
    # A after O or B, the one losing what the other gains, against each other
    patterns = [("^", 1), (0, 2), (2, 0), (1, 1), (0, 0), (2, 2), (1, 2), (2, "$")]
    sizes = {"tail": [-INF, 0.0, -INF], "observed": [(0, 1), (2, 1)]}
    ways = {3: [0, -gap, 2 * gap, -gap], 4: [0, gap, -2 * gap, gap]}
    end = {1: [-INF, -INF, -INF, 0.0]}
    found = plain(4, 3, patterns=patterns, inside=ways, end=end, **sizes)
    yield "two groups of a label go different ways", found, log(2)
    turns = {"start": {2: -gap, 3: gap}, "end": {2: gap, 3: -gap}}
    observed = [(0, 1), ("^", 1)]
    found = plain(6, 2, tail=0.0, patterns=ALWAYS_NEW, observed=observed, **turns)
    yield "a group has back at its end what it lost", found, log(2**6)
    inside = {y: gap * (np.arange(9) // 3 == y) for y in range(3)}
    observed = [("^", 1), (1, 1)]
    given = {"patterns": NO_CHANGE, "observed": observed}
    found = plain(9, 3, inside=inside, **given)
    yield "each label leads in turn", found, 3 * gap + log(3)
    inside |= {3: np.where(np.arange(9) == 0, -3 * gap, 0.0)}
    inside |= {4: gap * ((np.arange(9) > 3) & (np.arange(9) < 7))}
    yield "each group leads in turn", plain(9, 3, inside=inside, **given), None


def as_large_as_1e4():
    found = plain(3, 3, patterns=NO_CHANGE, inside={1: [-760, 1600, -760]})
    yield "-760 + 1600 - 760", found, 80.0
    gains = {"inside": {1: [-800.0, 0.0]}}
    ways = {"pattern": {"pattern": [1000.0]}, "entry": {}, "cell": {}}
    ways["entry"]["entries"] = [(1, 0, 2, 400.0), (1, 1, 2, 600.0)]
    ways["cell"]["cells"] = [(1, 2, 2, 1000.0)]
    ways |= {x: {x: {2: [0.0, 1000.0]}} for x in ("start", "end")}
    ways["inside"] = {"inside": {2: [0.0, 1000.0]} | gains["inside"]}
    for how, more in ways.items():  # A costs 800; A after A gains 1,000
        scores = {"pattern": [0.0]} | gains | more
        found = plain(2, 2, patterns=[(1, 1)], observed=[(1, 1)], **scores)
        yield f"800 behind, gains 1000 next by {how}", found, 200.0
    for blocked in ([("^", 1), (0, 1)], [("^", 1), (0, 1), (1, 1), (1, 0)]):
        found = plain(3, 2, patterns=blocked, inside={0: -1e4, 1: 1e4})
        yield f"an unreachable label {len(blocked)}", found, -3e4
    for observed in ([], [(1, 1), (1, 1, 0)], [(2, 0), (1, 2)]):
        patterns = [("^", 2), (0, 2), (1, 2), (1, 1)]
        scores = dict.fromkeys(range(2, 3 + len(observed)), 1e4)
        given = {"patterns": patterns, "observed": observed}
        found = plain(5, 3, inside=scores, start=scores, **given)
        yield f"unreachable states {observed}", found, log(13)  # Fibonacci
    dead_end = [(1, 0), (1, 1), (1, "$")]
    found = plain(4, 2, patterns=dead_end, inside={1: 1e4})
    yield "a dead end", found, 0.0
    dead_end = [(0, 1, 0), (0, 1, 1), (0, 1, "$")]
    for value in (1e4, -1e4):
        scores = {"observed": [(0, 1)], "inside": {0: -value, 2: value}}
        found = plain(5, 2, patterns=dead_end, **scores)
        yield f"an observed dead end {value}", found, None
    # B after A is 200 behind B after O; then O after A B reads 1,000
    inside = {0: [0, -INF, 0], 1: [0, -INF, -INF], 2: [-INF, 0, -INF], 3: [0, 0, 1e3]}
    given = {"patterns": [(0, 2), (1, 2)], "observed": [(1, 2, 0)], "inside": inside}
    found = plain(3, 3, pattern=[0.0, -200.0], **given)
    yield "a history far behind is rescued", found, 800.0
    found = plain(50, 2, tail=[-INF, 0.0], inside={1: 1e4}, end={1: -INF})
    yield "a segment that cannot end", found, 0.0
    found = plain(3, 2, tail=[-INF, 0.0], inside={1: [1e4, -INF, 1e4]})
    yield "-inf between two large tokens", found, 2e4
    for body in (-1.0, -12.0, -14.0, -20.0, -24.0, -32.0, -1e4):
        start, end = (np.where(np.arange(50) == i, 0.0, -INF) for i in (10, 39))
        only = {"start": {1: start}, "end": {1: end}}
        cells = [(10, 40, 1, -30 * body)]
        found = plain(50, 2, tail=[-INF, 0.0], inside={1: body}, cells=cells, **only)
        yield f"a long cell pays for {body}", found, log(2)
    scores = {"inside": {2: [0.0, -760, 1600, -760]}, "pattern": [-INF]}
    start, end = [0.0, -80, -INF, -INF], [-INF, -INF, -INF, 0.0]
    given = {"tail": 0.0, "patterns": [(0, 0)], "observed": [(0, 1)]}
    yield "-760 + 1600 - 760 in a group", plain(4, 2, **scores, **given), None
    # 16 without an A after O; and O with A at (1, 4), which may stand after A too
    found = plain(4, 2, start={2: start}, end={2: end}, **scores, **given)
    yield "-760 + 1600 - 760 from 1 to the end", found, log(17)
    rng = np.random.default_rng(0)
    for k in range(6):  # groups of a label drift apart, labels do not
        scores = {
            name: {c: rng.normal(size=20) for c in (0, 1)}
            | {c: rng.uniform(-500, 500, 20) for c in (2, 3)}
            for name in ("inside", "start", "end")
        }
        scores |= {"observed": [(0, 1), (1, 1)], "patterns": [(0, 1, 0)]}
        found = plain(20, 2, tail=0.0, pattern=[0.0], **scores)
        yield f"spikes in columns {k}", found, None


@pytest.mark.parametrize("gap", [None, *GAPS])
@pytest.mark.parametrize("question", LONG_QUESTIONS)
def test_every_answer_is_that_of_the_reference(question, gap):
    for name, case in edges(gap).items():
        print(name)  # of the one that failed
        question(case)


@cache
def edges(gap):
    """None: those without a gap. The reference knows the closed forms."""
    found = {}
    for name, problem, expected in far_apart(gap) if gap else as_large_as_1e4():
        case = Case(problem, oracles.Reference)
        if expected is not None:
            log_z = case.expected.log_z
            assert log_z == pytest.approx(expected, rel=1e-9, abs=1e-9), name
        found[name] = case
    return found


# --- nothing is possible, or only one -------------------------------------------------


def forbid(**fields) -> Problem:
    """Two tokens, O and A, D = 1, no tail; the named fields are set as given."""
    patterns = [("^", 0), ("^", 1), (0, "$")]
    problem = plain(2, 2, patterns=patterns, pattern=(0.0, 0.0, 0.0))
    for name, value in fields.items():
        if name in ("allowed", "boundary", "forbidden", "cells"):
            problem = problem._replace(**{name: value})
        else:
            where, score = value
            getattr(problem, name)[where] = score
    return problem


IMPOSSIBLE = {
    "inside": forbid(inside=(1, -INF)),
    "start": forbid(start=(0, -INF)),
    "end": forbid(end=(1, -INF)),
    "length": forbid(length=(..., -INF)),
    "pattern": forbid(pattern=([0, 1], -INF)),
    "pattern at the end": forbid(pattern=(2, -INF), inside=((1, 1), -INF)),
    "inside against 1e4": forbid(inside=(1, -INF), start=(..., 1e4)),
    "cells": forbid(cells=[(1, 2, y, x) for y in (0, 1) for x in (5.0, -INF)]),
    "allowed": forbid(allowed=np.array([[True, True], [False, False]])),
    "boundary -1 at 0": forbid(boundary=np.array([-1, 0, 0])),
    "boundary -1 at n": forbid(boundary=np.array([0, 0, -1])),
    "boundary -1 inside": forbid(boundary=np.array([0, -1, 0])),
    "forbidden": forbid(forbidden=((1, 2, 0), (1, 2, -1))),
    "no A where rules demand one": forbid(inside=((..., 1), -INF)),
    "no token where rules demand an A": plain(0, 2),
    "empty": plain(0, 2, patterns=[("^", "$")]),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_nothing_is_possible(name):
    case = Case(IMPOSSIBLE[name], rules=["A exactly once"] * ("rules" in name))
    assert case.expected.log_z == -INF
    for question in QUESTIONS:
        question(case)
    found = core.marginals(*case.arguments)
    assert found.segments_above(1e-300) == []
    with pytest.raises(ValueError, match="HS027"):
        core.sample(case.automaton, case.potentials, 1, 0, case.constraints)


@pytest.mark.parametrize("weight", [0.0, 2.5, -1e4])
@pytest.mark.parametrize("boundary", [None, -1, 1, 2])
def test_empty_documents(weight, boundary):
    """They complete ^ $ alone, and have no segments to constrain."""
    patterns = [("^", "$"), ("^", 0), (0, "$"), ("^", 0, "$")]
    problem = plain(0, 2, patterns=patterns, pattern=(weight, 7.0, 7.0, 7.0))
    if boundary is not None:
        problem = problem._replace(boundary=np.array([boundary]))
    case = Case(problem)
    assert case.expected.scores == {(): weight}
    for question in (log_z, best, entropy, decisions):
        question(case)
    automaton, potentials, constraints = case.arguments
    found = core.marginals(*case.arguments)
    assert found.gradient.pattern.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert core.kbest(automaton, potentials, 3, constraints) == [([], weight)]
    assert core.sample(automaton, potentials, 3, 0, constraints) == [[], [], []]


@pytest.mark.parametrize("seed", range(6))
def test_one_possible_path(seed):
    """One segmentation is left of all, whatever it and the others score."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kinds=("huge",), n_tokens=30, constrained=False)
    path, score = oracles.reference_best(problem)
    if not path:
        return
    allowed = np.zeros((30, problem.n_labels), dtype=bool)
    boundary = np.full(31, -1)
    for start, end, label in path:
        allowed[start:end, label] = True
        boundary[[start, end]] = 1
    case = Case(problem._replace(allowed=allowed, boundary=boundary), oracles.Reference)
    for question in LONG_QUESTIONS:
        question(case)
    automaton, potentials, constraints = case.arguments
    assert relative_error(core.log_partition(*case.arguments), score) < 1e-12
    drawn = core.sample(automaton, potentials, 3, constraints=constraints)
    decided = core.mbr(automaton, potentials, "f1", constraints)
    assert [*drawn, decided] == [list(path)] * 4


# --- long documents with a closed form ----------------------------------------------


def one_long_segment(n_tokens, value, begin, end):
    """Either all single O, each scoring `value`, or one A over the whole document."""
    patterns = [*ONE_OF_A, ("^", 1), (1, "$")]
    automaton, potentials = zeros(n_tokens, 2, tail=[-INF, 0.0], patterns=patterns)
    potentials.pattern[:] = -INF, -INF, -INF, begin, end
    potentials.inside[:, 0] = value
    return automaton, potentials


@pytest.mark.parametrize("n_tokens", [3, 50, 3000])
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 30.0, -800.0, 1e4, -1e4])
@pytest.mark.parametrize("is_begin", [True, False])
def test_a_segment_as_long_as_the_document(n_tokens, value, is_begin):
    """The segment is as likely as all the O, however far the O are ahead meanwhile."""
    pays = n_tokens * value
    both = (pays, 0.0) if is_begin else (0.0, pays)
    given = one_long_segment(n_tokens, value, *both)
    found, expected = core.marginals(*given), pays + log(2)
    assert relative_error(found.log_z, expected) < 1e-12
    # at 5e7, log Z itself is known to 7e-9 only
    error = max(1e-9, np.spacing(abs(expected)))
    assert found.tokens == pytest.approx(np.full((n_tokens, 2), 0.5), abs=error)
    assert found.segment(0, n_tokens, 1) == pytest.approx(0.5, abs=error)
    assert found.gradient.pattern == pytest.approx([0, 0, 0, 0.5, 0.5], abs=error)
    assert found.gradient.tail[1] == pytest.approx((n_tokens - 1) / 2, rel=error)
    tolerance = 1e-8 + 1e-12 * n_tokens * abs(value)
    assert core.entropy(*given) == pytest.approx(log(2), abs=tolerance)
    for ahead in (-1.0, 1.0):
        given[1].pattern[3:] = np.array(both) + ahead * np.array(
            [is_begin, not is_begin]
        )
        segments, score = core.viterbi(*given)
        assert score == pays + max(0.0, ahead)
        assert len(segments) == (1 if ahead > 0 else n_tokens)


@pytest.mark.parametrize("n_tokens", [4, 50, 1000])
@pytest.mark.parametrize("body", [-800.0, -20.0, -1.0, 1.0, 20.0, 800.0])
def test_a_long_segment_in_an_observed_group(n_tokens, body):
    """O, then one A to the end: each of its tokens reads `body` in column 2, and its
    start has it back. As likely as all O in single tokens; both far from the rest."""
    patterns = [("^", 1), (1, 0), (1, 1)]
    entries = [(1, 1, 2, -body * (n_tokens - 1))]
    given = {"tail": [-INF, 0.0], "patterns": patterns, "observed": [(0, 1)]}
    problem = plain(n_tokens, 2, inside={2: body}, entries=entries, **given)
    problem.start[2:, 1] = -INF
    found = core.marginals(*as_core(problem))
    error = {"abs": max(1e-9, np.spacing(n_tokens * abs(body)))}
    assert found.log_z == pytest.approx(log(2), **error)
    assert found.segment(1, n_tokens, 1) == pytest.approx(0.5, **error)
    assert found.gradient.entries["score"] == pytest.approx([0.5], **error)
    counts = np.full(n_tokens - 1, 0.5)
    assert found.gradient.inside[1:, 2] == pytest.approx(counts, **error)


def renewal(n_tokens, n_labels, value, constant=-1.5, tail=-0.25):
    """Every token but the first goes on, with weight e^t, or starts one of L labels,
    with weight e^c each: log Z = n v + c + log L + (n - 1) log(e^t + L e^c). RETURNS:
    also the probability of going on."""
    automaton, potentials = zeros(n_tokens, n_labels, tail=tail)
    potentials.inside[:] = value
    potentials.length[:] = constant
    each = np.logaddexp(tail, log(n_labels) + constant)
    log_z = n_tokens * value + constant + log(n_labels) + (n_tokens - 1) * each
    return automaton, potentials, log_z, math.exp(tail - each)


@pytest.mark.parametrize("value", [-1e4, -1.0, 0.0, 1e4])
@pytest.mark.parametrize(
    "n_tokens, n_labels", [(1, 1), (2, 3), (2000, 3), (100_000, 2)]
)
def test_long_documents(n_tokens, n_labels, value):
    """Each token decides on its own, so their entropies add."""
    *given, log_z, goes_on = renewal(n_tokens, n_labels, value)
    found = core.marginals(*given)
    starts = (1 - goes_on) / n_labels  # P(a segment of this label starts here)
    assert found.log_z == pytest.approx(log_z, rel=1e-12)
    assert np.abs(found.tokens - 1 / n_labels).max() < 1e-9
    assert np.abs(found.gradient.start[1:] - starts).max(initial=0.0) < 1e-9
    for width in (1, 2, 10) if n_tokens > 100 else ():
        at = n_tokens // 2
        prob = starts * goes_on ** (width - 1) * (1 - goes_on)
        assert found.segment(at, at + width, 0) == pytest.approx(prob, abs=1e-9)
    each = -goes_on * log(goes_on) - (1 - goes_on) * log(starts)
    expected = log(n_labels) + (n_tokens - 1) * each
    tolerance = (
        {"rel": 1e-9, "abs": 1e-8} if value == 0.0 else {"rel": 1e-6, "abs": 1e-6}
    )
    assert core.entropy(*given) == pytest.approx(expected, **tolerance)


@pytest.mark.parametrize("value", [-1e4, 0.0, 1e4])
def test_one_cell_as_long_as_the_document(value):
    n_tokens = 2000
    automaton, potentials, log_z, _ = renewal(n_tokens, 2, value)
    alone = n_tokens * value - 1.5 - (n_tokens - 1) * 0.25
    weight = log_z - alone  # the segment is as good as everything else
    potentials.cells = make_cells([(0, n_tokens, 1, weight)])
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log_z + log(2), rel=1e-12)
    # Z has 1 + e^weight - 1 in place of 1; e^-weight is about e^-600
    tolerance = 1e-9 if value == 0.0 else 1e-7  # the rounding of `alone`
    assert found.segment(0, n_tokens, 1) == pytest.approx(0.5, abs=tolerance)
    assert found.gradient.cells["score"] == pytest.approx([0.5], abs=tolerance)
    potentials.cells["score"] += 1e4
    found, score = core.viterbi(automaton, potentials)
    assert found == [(0, n_tokens, 1)]
    assert score == pytest.approx(log_z + 1e4, rel=1e-12)


def test_scores_that_add_up_without_rounding_are_exact():
    automaton, potentials = zeros(100_000, 2, tail=[-INF, -1.0])
    potentials.inside[:] = -1e4
    potentials.inside[1::2, 1] += 3.0
    # token by token: pairs of O, then A ahead by 3
    segments, score = core.viterbi(automaton, potentials)
    assert segments == [(k, k + 1, k % 2) for k in range(100_000)]
    assert score == -1e4 * 100_000 + 3.0 * 50_000


def log_matrix_power(matrix: np.ndarray, power: int) -> tuple[np.ndarray, float]:
    """matrix^power as a matrix times e^scale."""
    found, scale = np.eye(len(matrix)), 0.0
    for bit in bin(power)[2:]:
        found, scale = found @ found, 2 * scale
        found = found @ matrix if bit == "1" else found
        found, scale = found / found.max(), scale + log(found.max())
    return found, scale


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
def test_a_long_document_with_an_observed_pattern(value):
    """Single tokens; A after A reads 1.5 in each token, by an observed column."""
    n_tokens = 30_000
    columns = {0: value, 1: value + 0.25, 2: 1.5}
    arguments = as_core(plain(n_tokens, 2, observed=[(1, 1)], inside=columns))
    step, first = np.exp([[0.0, 0.25], [0.0, 1.75]]), np.exp([0.0, 0.25])
    power, scale = log_matrix_power(step, n_tokens - 1)
    log_z = log(first @ power.sum(axis=1)) + scale
    found = core.marginals(*arguments)
    assert found.log_z == pytest.approx(log_z + n_tokens * value, rel=1e-12)
    left = first @ log_matrix_power(step, n_tokens // 2)[0]
    right = log_matrix_power(step, n_tokens - 1 - n_tokens // 2)[0].sum(axis=1)
    expected = left * right / (left @ right)
    assert found.tokens[n_tokens // 2] == pytest.approx(expected, abs=1e-9)
    assert np.abs(found.tokens.sum(axis=1) - 1.0).max() < 1e-9
    segments, score = core.viterbi(*arguments)
    assert segments == [(k, k + 1, 1) for k in range(n_tokens)]
    assert score == n_tokens * (value + 1.75) - 1.5
    assert found.gradient.inside[1:, 2].max() < 1.0
    expected = log_z - 0.25 * found.tokens[:, 1].sum()
    expected -= 1.5 * found.gradient.inside[:, 2].sum()
    rel = 1e-9 if value == 0.0 else 1e-5
    assert core.entropy(*arguments) == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_decisions_of_a_long_document(value):
    n_tokens = 5000
    automaton, potentials = zeros(n_tokens, 2, tail=-0.5, observed=[(0, 1)])
    rng = np.random.default_rng(0)
    potentials.inside[:] = value + rng.normal(size=potentials.inside.shape)
    potentials.inside[:, 2] -= value
    best = core.viterbi(automaton, potentials)
    first, second = core.kbest(automaton, potentials, 2)
    assert relative_error(first[1], best[1]) < 1e-12
    assert second[0] != first[0] and second[1] <= first[1]
    assert np.isfinite(core.marginals(automaton, potentials).tokens).all()
    decided = [core.mbr(automaton, potentials, x) for x in ("spans", "f1")]
    for segments in (second[0], *core.sample(automaton, potentials, 2), *decided):
        score = core.score(automaton, potentials, segments)
        assert -INF < score <= best[1] * (1 + 1e-12 * np.sign(value))
    assert 0.0 < core.entropy(automaton, potentials) < n_tokens * log(3)


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("n_tokens", [1, 2, 1000, 20_000])
def test_one_label_at_most_once_by_counting(n_tokens, value):
    """O and A. m segments can be cut in C(n - 1, m - 1) ways, and have A nowhere or at
    one of m places: Z = 2^(n - 1) + (n + 1) 2^(n - 2) = (n + 3) 2^(n - 2)."""
    grammar = core.compile_grammar(("O", "A"), ["A at most once"])
    given = zeros(n_tokens, 2, tail=0.0, grammar=grammar)
    given[1].inside[:] = value
    expected = log(n_tokens + 3) + (n_tokens - 2) * log(2)
    log_z = expected + n_tokens * value
    assert core.log_partition(*given) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    if n_tokens <= 1000:
        tolerance = 1e-8 + 1e-12 * n_tokens * abs(value)
        assert core.entropy(*given) == pytest.approx(expected, abs=tolerance)


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
    assert found[700] == pytest.approx(1.0 / (1.0 + 999 * math.exp(-4.0)))


# --- what is worked off in parts, or in another arithmetic ----------------------------


def random_document(rng, automaton, n_tokens, n_lengths):
    potentials = core.Potentials.zeros(automaton, n_tokens, n_lengths)
    for name in ("inside", "start", "end", "length", "pattern"):
        scores = getattr(potentials, name)
        scores[...] = rng.normal(size=scores.shape)
    return potentials


def assert_same(found, expected, **close):
    for name, counts in gradient_fields(expected.gradient).items():
        other = gradient_fields(found.gradient)[name]
        np.testing.assert_allclose(other, counts, err_msg=name, **close)


@pytest.mark.parametrize("seed", range(12))
def test_blocks_of_forward_rows_change_nothing(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    n_tokens, n_labels, n_lengths = 130, 3, 4
    automaton = make_automaton(n_labels, random_patterns(rng, n_labels, 4, 8))
    potentials = random_document(rng, automaton, n_tokens, n_lengths)
    if seed % 3:
        potentials.tail[1:] = rng.normal(size=n_labels - 1) - 1.0
    starts = rng.integers(0, 100, 8)
    potentials.cells = make_cells(
        [(u, u + int(rng.integers(1, 30)), u % n_labels, 6.0) for u in starts]
    )
    expected = [core.marginals(automaton, potentials, counts=x) for x in (True, False)]
    monkeypatch.setattr(
        tables, "BLOCK", 0
    )  # rows are kept by blocks of 11, then made again
    found = [core.marginals(automaton, potentials, counts=x) for x in (True, False)]
    assert_same(found[0], expected[0], rtol=0.0)
    for ours, others in zip(found, expected):
        assert ours.log_z == others.log_z
        assert ours.segments_above(1e-3) == others.segments_above(1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_log_domain_changes_nothing(seed):
    """The weight of a pattern that cannot be complete decides which arithmetic is used:
    one of e^-800 times others is too small for that of scaled numbers."""
    rng = np.random.default_rng(seed)
    automaton = make_automaton(4, [*random_patterns(rng, 3, 3, 6), (3, 3)])
    potentials = random_document(rng, automaton, 12, 1 + seed % 3)
    potentials.tail[: seed % 5] = -0.5
    potentials.inside[:, 3] = -INF
    potentials.pattern[-1] = 0.0
    small = replace(potentials, pattern=potentials.pattern.copy())
    small.pattern[-1] = -800.0
    found, expected = (core.marginals(automaton, x) for x in (small, potentials))
    assert found.log_z == pytest.approx(expected.log_z, rel=1e-13)
    assert core.log_partition(automaton, small) == found.log_z
    assert_same(found, expected, rtol=1e-10, atol=1e-12)
    for segment in ((0, 1, 0), (5, 6, 1), (11, 12, 2)):
        prob = expected.segment(*segment)
        assert found.segment(*segment) == pytest.approx(prob, rel=1e-10)
