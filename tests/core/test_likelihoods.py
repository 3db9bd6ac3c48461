"""Losses of many documents, four side by side: as by enumeration, and as alone."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import likelihoods
from spacy_hosemi.core.algorithms.likelihoods import GoldPaths, Likelihoods

from .. import oracles
from ..strategies import random_problem
from .problems import INF, as_core, make_automaton

PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"), (2, 2, 0), (2, 1, "$"))
L = 3


def problems(seed, sizes, has_tail=True):
    """Documents with the same weights of patterns, lengths and tails."""
    rng = np.random.default_rng(seed)
    shared = {
        "length": rng.normal(size=(L, 1)),
        "tail": rng.normal(size=L) - 1.0 if has_tail else np.full(L, -INF),
        "pattern": rng.normal(size=len(PATTERNS)),
        "cells": [],
        "forbidden": (),
        "allowed": None,
        "boundary": None,
    }
    given = {"kinds": ("small",), "n_labels": L, "patterns": PATTERNS, "observed": ()}
    made = [random_problem(rng, n_tokens=n, **given)._replace(**shared) for n in sizes]
    for k, problem in enumerate(made):  # what the gold has is possible
        roles = {x: getattr(problem, x) for x in ("inside", "start", "end")}
        finite = {x: np.where(y > -INF, y, -30.0) for x, y in roles.items()}
        made[k] = problem._replace(**(finite if k % 3 else roles))
    golds = [random_segments(rng, n, longest=n if has_tail else 1) for n in sizes]
    return made, golds


def random_segments(rng, n, longest):
    segments, at = [], 0
    while at < n:
        end = int(rng.integers(at + 1, min(n, at + longest) + 1))
        segments.append((at, end, int(rng.integers(L))))
        at = end
    return segments


def solve(made, golds, borders=None, n_tasks=1, has_within=True):
    """Losses; derivatives by inside, start, end and within of all tokens, by pattern
    and by length; and which documents are done."""
    sizes = [len(x.inside) for x in made]
    borders = borders or [0, len(made)]
    gold = GoldPaths(make_automaton(L, PATTERNS), sizes, golds, borders)
    gold.set_weights(made[0].pattern, made[0].length, made[0].tail)
    inside, start, end = (
        np.concatenate([getattr(x, role) for x in made])
        for role in ("inside", "start", "end")
    )
    # scores by role: what "within" has is also in the potentials, see `join_scores`
    within = np.random.default_rng(1).normal(size=inside.shape)
    if has_within:
        inside, start = inside - within, start + within
    else:
        within = within[:0]
    loss, done = np.zeros(len(made)), np.zeros(len(made), np.uint8)
    n_blocks = len(borders) - 1
    pattern, length = np.zeros((n_blocks, len(PATTERNS))), np.zeros((n_blocks, L))
    tasks = [Likelihoods(gold, k, n_tasks) for k in range(n_tasks)]
    for task in tasks:
        by_role = start, inside, end, within
        task.take(0, n_blocks, 0, *by_role, loss, done, pattern, length)
        task.do()
    counts = inside, start, end, within, pattern.sum(0), length.sum(0)
    return loss, counts, done.astype(bool)


def by_enumeration(made, golds):
    losses, by_document = [], []
    for problem, gold in zip(made, golds, strict=True):
        scores = oracles.scored(problem)
        expected = oracles.marginals(problem, scores)
        losses.append(expected.log_z - scores[tuple(gold)])
        by_document.append(less(expected, problem, gold))
    return np.array(losses), [np.concatenate(x) for x in zip(*by_document)]


def less(expected, problem, gold):
    """Expected counts less those of the gold."""
    inside, start, end = (
        x.copy() for x in (expected.inside, expected.start, expected.end)
    )
    pattern, length = expected.pattern.copy(), expected.length[:, 0].copy()
    for i, j, y in gold:
        inside[i:j, y] -= 1
        start[i, y] -= 1
        end[j - 1, y] -= 1
        length[y] -= 1
    labels = tuple(y for _, _, y in gold)
    for m, z in enumerate(problem.patterns):
        pattern[m] -= oracles.n_fired(z, labels)
    return inside, start, end, inside - start, pattern[None], length[None]


@pytest.mark.parametrize("has_tail", [True, False])
def test_losses_and_derivatives_are_those_of_enumeration(has_tail):
    n_whole = 0
    for seed in range(40):
        sizes = np.random.default_rng(seed).integers(1, 6, 11).tolist()
        made, golds = problems(seed, sizes, has_tail)
        loss, counts, done = solve(made, golds)
        expected, (*of_tokens, pattern, length) = by_enumeration(made, golds)
        assert done.tolist() == np.isfinite(expected).tolist()
        if not done.all():
            continue
        n_whole += 1
        np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)
        for x, y in zip(
            counts, (*of_tokens, pattern.sum(0), length.sum(0)), strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)
    assert n_whole > 5


def finite_problems(seed, sizes):
    made, golds = problems(seed, sizes)
    for k, problem in enumerate(made):
        roles = {x: getattr(problem, x) for x in ("inside", "start", "end")}
        finite = {x: np.where(y > -INF, y, -30.0) for x, y in roles.items()}
        made[k] = problem._replace(**finite)
    return made, golds


def test_long_documents_as_by_marginals():
    made, golds = finite_problems(3, [70, 1, 33, 200, 34, 2, 90])
    loss, (inside, start, end, _, pattern, _), done = solve(made, golds)
    assert done.all()
    at, of_patterns = 0, 0.0
    for problem, gold, found in zip(made, golds, loss, strict=True):
        automaton, potentials, _ = as_core(problem)
        posterior = core.marginals(automaton, potentials)
        score = posterior.less(gold)
        assert found == pytest.approx(posterior.log_z - score, rel=1e-12, abs=1e-12)
        here = slice(at, at + len(problem.inside))
        for x, role in ((inside, "inside"), (start, "start"), (end, "end")):
            expected = getattr(posterior.gradient, role)
            np.testing.assert_allclose(x[here], expected, rtol=1e-11, atol=1e-12)
        of_patterns += posterior.gradient.pattern
        at = here.stop
    np.testing.assert_allclose(pattern, of_patterns, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_tasks", [1, 2, 3, 9])
def test_tasks_change_no_bit(n_tasks):
    made, golds = finite_problems(
        5, np.random.default_rng(5).integers(1, 40, 50).tolist()
    )
    borders = [0, 7, 8, 20, 50]
    loss, counts, _ = solve(made, golds, borders)
    others, found, _ = solve(made, golds, borders, n_tasks)
    assert others.tobytes() == loss.tobytes()
    assert all(x.tobytes() == y.tobytes() for x, y in zip(counts, found, strict=True))


def test_what_stands_beside_changes_no_bit_of_a_document():
    made, golds = finite_problems(6, [9, 30, 4, 12, 8])
    loss, counts, _ = solve(made, golds)
    alone, found, _ = solve(made[2:3], golds[2:3])
    assert alone[0] == loss[2]
    here = slice(39, 43)
    # `within` is random by place, so that sums are rounded elsewhere
    for x, y in zip(counts[:3], found[:3], strict=True):
        np.testing.assert_allclose(x[here], y, rtol=1e-12, atol=1e-13)


def test_without_the_role_within():
    made, golds = finite_problems(7, [5, 3, 8])
    loss, counts, _ = solve(made, golds)
    other, found, _ = solve(made, golds, has_within=False)
    np.testing.assert_allclose(other, loss, rtol=1e-12)
    for x, y in zip(counts[:3], found[:3], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def test_documents_that_are_left_out_keep_their_scores():
    made, golds = finite_problems(8, [4, 5, 6])
    before = made[1].end.copy()
    loss, counts, done = solve(made, [golds[0], None, golds[2]])
    assert done.tolist() == [True, False, True]
    assert counts[2][4:9].tobytes() == before.tobytes() and loss[1] == 0.0


@pytest.mark.parametrize("bad", [np.nan, INF, -INF, 1e13, 900.0])
def test_what_is_out_of_range_is_not_done(bad):
    made, golds = finite_problems(9, [4, 5, 6, 7, 3])
    inside = made[1].inside.copy()
    inside[2] = bad if bad != 900.0 else [-900.0, 900.0, -900.0]
    made[1] = made[1]._replace(inside=inside)
    loss, _, done = solve(made, golds, has_within=False)
    assert not done[1] or abs(bad) == 900.0
    for k, problem in enumerate(made):
        if done[k]:
            automaton, potentials, _ = as_core(problem)
            score = core.score(automaton, potentials, golds[k])
            expected = core.log_partition(automaton, potentials) - score
            assert loss[k] == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_gold_that_is_impossible_is_not_done():
    made, golds = finite_problems(10, [4, 3])
    made = [x._replace(pattern=np.full(len(PATTERNS), -INF)) for x in made]
    golds[0] = [(0, 1, 0), (1, 4, 1)]
    assert not solve(made, golds)[2][0]


def test_large_documents_are_left_to_others(monkeypatch):
    monkeypatch.setattr(likelihoods, "LARGEST", 400)
    made, golds = finite_problems(11, [3, 60, 4])
    assert solve(made, golds)[2].tolist() == [True, False, True]


def test_no_document():
    gold = GoldPaths(make_automaton(L, PATTERNS), [], [], [0, 0])
    assert gold.is_chosen.tolist() == []
    loss, _, done = solve(*finite_problems(12, [2, 2]), borders=[0, 0, 2, 2])
    assert done.all() and (loss > 0.0).all()
