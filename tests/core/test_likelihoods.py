"""Losses of many documents, four side by side: as by enumeration, and as alone."""

from functools import cache

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import gold_paths
from spacy_hosemi.core.algorithms.gold_paths import GoldPaths
from spacy_hosemi.core.algorithms.likelihoods import Likelihoods

from .. import oracles
from ..strategies import n_of, random_constraints, random_problem
from .problems import INF, as_core, make_automaton, make_cells

PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"), (2, 2, 0), (2, 1, "$"))
L = 3
GRAMMAR = core.compile_grammar("OAB", ["A at most once"])


def problems(seed, sizes, has_tail=True, has_cells=False):
    """Documents with the same weights of patterns, lengths and tails."""
    rng = np.random.default_rng(seed)
    shared = {
        "length": rng.normal(size=(L, 1)),
        "tail": rng.normal(size=L) - 1.0 if has_tail else np.full(L, -INF),
        "pattern": rng.normal(size=len(PATTERNS)),
        "forbidden": (),
        "allowed": None,
        "boundary": None,
    }
    given = {"kinds": ("small",), "n_labels": L, "patterns": PATTERNS, "observed": ()}
    made = [random_problem(rng, n_tokens=n, **given)._replace(**shared) for n in sizes]
    # what the gold has is possible
    made = [finite(x) if k % 3 else x for k, x in enumerate(made)]
    golds = [random_gold(rng, n, longest=n if has_tail else 1) for n in sizes]
    if not has_cells:
        return [x._replace(cells=[]) for x in made], golds
    return [with_cells(rng, *x) for x in zip(made, golds, strict=True)], golds


def finite(problem):
    roles = {x: getattr(problem, x) for x in ("inside", "start", "end")}
    return problem._replace(**{x: y.clip(-30.0) for x, y in roles.items()})


def with_cells(rng, problem, gold):
    """With cells of some segments of the gold, too; one is there twice."""
    places = [x for x in gold if rng.random() < 0.5]
    cells = [(*x, rng.normal()) for x in [*places, *places[:1]]]
    return problem._replace(cells=problem.cells + cells)


def random_gold(rng, n, longest):
    segments, at = [], 0
    while at < n:
        end = int(rng.integers(at + 1, min(n, at + longest) + 1))
        segments.append((at, end, int(rng.integers(L))))
        at = end
    return segments


def solve(made, golds, borders=None, n_tasks=1, has_within=True, **grammar):
    """Losses; derivatives by inside, start, end and within of all tokens, by pattern
    and by length, and by cell; and which documents are done."""
    sizes = [len(x.inside) for x in made]
    borders = borders or [0, len(made)]
    automaton = make_automaton(L, PATTERNS, **grammar)
    cells = [make_cells(x.cells) for x in made]
    long_ = [[(max(e - s - 1, 0), e > s + 1) for s, e, *_ in x.cells] for x in made]
    needs = [[len(x), *(map(sum, zip(*x)) if x else (0, 0))] for x in long_]
    gold = GoldPaths(automaton, sizes, golds, borders, np.array(needs).reshape(-1, 3))
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
    cells = np.concatenate([make_cells([]), *cells])
    for task in tasks:
        by_role = start, inside, end, within
        task.take(0, n_blocks, *by_role, cells, loss, done, pattern, length)
        task.do()
        task.finish()
    of_all = pattern.sum(0), length.sum(0), cells["score"]
    return loss, (inside, start, end, within, *of_all), done.astype(bool)


@cache
def enumerated(seed, sizes, has_tail, has_cells, has_rules):
    """RETURNS: Problems and golds, and what enumeration says of each."""
    made, golds = problems(seed, sizes, has_tail, has_cells)
    permits = GRAMMAR.permits if has_rules else None
    return made, golds, [oracles.Enumerated(problem, permits) for problem in made]


def by_enumeration(problem, known, gold):
    """The loss and the derivatives of a document. Gold that label rules forbid is
    impossible."""
    expected = known.marginals
    if not isinstance(gold, core.Constraints):
        loss = known.log_z - known.scores.get(tuple(gold), -INF)
        return loss, less(expected, problem, gold)
    limited = problem._replace(
        allowed=gold.allowed, boundary=gold.boundary, forbidden=gold.forbidden
    )
    agreeing = {
        path: score
        for path, score in known.scores.items()
        if all(oracles.permits(limited, *segment) for segment in path)
    }
    counted = oracles.marginals(problem, agreeing)
    both = zip(fields(expected), fields(counted), strict=True)
    return known.log_z - counted.log_z, [x - y for x, y in both]


def fields(expected):
    inside, start = expected.inside, expected.start
    pattern, length = expected.pattern[None], expected.length[:, 0][None]
    return inside, start, expected.end, inside - start, pattern, length, expected.cells


def less(expected, problem, gold):
    """Expected counts less those of the gold."""
    inside, start, end, _, pattern, length, cells = map(np.copy, fields(expected))
    for i, j, y in gold:
        inside[i:j, y] -= 1
        start[i, y] -= 1
        end[j - 1, y] -= 1
        length[0, y] -= 1
    labels = tuple(y for _, _, y in gold)
    for m, z in enumerate(problem.patterns):
        pattern[0, m] -= oracles.n_fired(z, labels)
    for k, (i, j, y, _) in enumerate(problem.cells):
        cells[k] -= (i, j, y) in gold
    return inside, start, end, inside - start, pattern, length, cells


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("has_rules", [False, True])
def test_losses_and_derivatives_are_those_of_enumeration(is_partial, has_rules):
    """With tails in half of the corpora, and with cells in half of both."""
    grammar = GRAMMAR if has_rules else None
    n_whole = 0
    for seed in range(n_of(120)):
        rng = np.random.default_rng(seed)
        sizes = tuple(rng.integers(1, 6, 7).tolist())
        has = bool(seed % 2), bool(seed // 2 % 2), has_rules
        made, golds, known = enumerated(seed, sizes, *has)
        if is_partial:
            golds = [some_constraints(rng, x) for x in golds]
        found = [by_enumeration(*x) for x in zip(made, known, golds, strict=True)]
        done = solve(made, golds, grammar=grammar)[2]
        assert done.tolist() == [np.isfinite(x) for x, _ in found]
        if not done.any():
            continue
        # Only without the others can all derivatives be compared.
        made, golds, found = (
            [x for x, y in zip(of_all, done, strict=True) if y]
            for of_all in (made, golds, found)
        )
        loss, counts, done = solve(made, golds, grammar=grammar)
        of_tokens = [*map(np.concatenate, zip(*(of_doc for _, of_doc in found)))]
        *of_tokens, pattern, length, cells = of_tokens
        assert done.all()
        n_whole += 1
        np.testing.assert_allclose(loss, [x for x, _ in found], 1e-12, 1e-12)
        of_all = *of_tokens, pattern.sum(0), length.sum(0), cells
        for x, y in zip(counts, of_all, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)
    assert n_whole > 3


def some_constraints(rng, gold):
    """Constraints of about half of the documents; some may be impossible."""
    if rng.random() < 0.4:
        return gold
    return core.Constraints(**random_constraints(rng, gold[-1][1], L))


def finite_problems(seed, sizes, **more):
    made, golds = problems(seed, sizes, **more)
    cells = [[y for y in x.cells if y[3] > -INF] for x in made]
    return [finite(x)._replace(cells=y) for x, y in zip(made, cells)], golds


def with_large(problem, large):
    """A score that leaves the range of float64, in lanes or in one lane, too."""
    inside = problem.inside.copy()
    inside[2] = -large, large, -large
    return problem._replace(inside=inside)


@pytest.mark.parametrize("large", [0.0, 900.0, 1e6])
def test_long_documents_as_by_marginals(large):
    made, golds = finite_problems(3, [70, 1, 33, 200, 34, 2, 90], has_cells=True)
    made[3:5] = [with_large(x, large) for x in made[3:5]]
    golds[4] = core.Constraints(allowed=np.arange(34 * L).reshape(34, L) % 7 > 0)
    loss, (inside, start, end, _, pattern, _, cells), done = solve(made, golds)
    assert done.all()
    at, of_patterns = 0, 0.0
    for problem, gold, found in zip(made, golds, loss, strict=True):
        automaton, potentials, _ = as_core(problem)
        posterior = core.marginals(automaton, potentials)
        gradient = posterior.gradient
        if isinstance(gold, core.Constraints):
            agreeing = core.marginals(automaton, potentials, gold)
            score = agreeing.log_z
            for role in ("inside", "start", "end", "pattern"):
                getattr(gradient, role)[:] -= getattr(agreeing.gradient, role)
            gradient.cells["score"] -= agreeing.gradient.cells["score"]
        else:
            score = posterior.less(gold)
        assert found == pytest.approx(posterior.log_z - score, rel=1e-12, abs=1e-9)
        here, atol = slice(at, at + len(problem.inside)), 1e-12 + 1e-15 * large
        for x, role in ((inside, "inside"), (start, "start"), (end, "end")):
            np.testing.assert_allclose(x[here], getattr(gradient, role), 1e-11, atol)
        of_cells = gradient.cells["score"]
        np.testing.assert_allclose(cells[: len(of_cells)], of_cells, 1e-11, atol)
        cells = cells[len(of_cells) :]
        of_patterns += gradient.pattern
        at = here.stop
    np.testing.assert_allclose(pattern, of_patterns, rtol=1e-11, atol=1e-11 + 10 * atol)


@pytest.mark.parametrize("n_tasks", [1, 2, 3, 9])
def test_tasks_change_no_bit(n_tasks):
    rng = np.random.default_rng(5)
    made, golds = finite_problems(5, rng.integers(1, 40, 50).tolist(), has_cells=True)
    golds = [some_constraints(rng, x) for x in golds]
    made = [with_large(x, 1e4) if len(x.inside) % 9 == 8 else x for x in made]
    borders = [0, 7, 8, 20, 50]
    loss, counts, _ = solve(made, golds, borders)
    others, found, _ = solve(made, golds, borders, n_tasks)
    assert others.tobytes() == loss.tobytes()
    assert all(x.tobytes() == y.tobytes() for x, y in zip(counts, found, strict=True))


@pytest.mark.parametrize("has_cells", [False, True])
def test_what_stands_beside_changes_no_bit_of_a_document(has_cells):
    made, golds = finite_problems(6, [9, 30, 4, 12, 8], has_cells=has_cells)
    loss, counts, _ = solve(made, golds)
    alone, found, _ = solve(made[2:3], golds[2:3])
    assert alone[0] == loss[2]
    # `within` is random by place, so that sums are rounded elsewhere
    for x, y in zip(counts[:3], found[:3], strict=True):
        np.testing.assert_allclose(x[39:43], y, rtol=1e-12, atol=1e-13)


def test_without_the_role_within():
    made, golds = finite_problems(7, [5, 3, 8])
    loss, counts, _ = solve(made, golds)
    other, found, _ = solve(made, golds, has_within=False)
    np.testing.assert_allclose(other, loss, rtol=1e-12)
    for x, y in zip(counts[:3], found[:3], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, INF, -INF, 1e13, None])
def test_documents_that_are_left_out_keep_their_scores(bad):
    made, golds = finite_problems(9, [4, 5, 6, 7, 3])
    inside = made[1].inside.copy()
    golds[1] = None if bad is None else golds[1]
    inside[2] = inside[2] if bad is None else bad
    made[1] = made[1]._replace(inside=inside)
    loss, counts, done = solve(made, golds, has_within=False)
    assert done.tolist() == [True, False, True, True, True] and loss[1] == 0.0
    assert counts[0][4:9].tobytes() == inside.tobytes()


def test_gold_that_is_impossible_is_not_done():
    made, golds = finite_problems(10, [4, 3])
    made = [x._replace(pattern=np.full(len(PATTERNS), -INF)) for x in made]
    assert not solve(made, [[(0, 1, 0), (1, 4, 1)], golds[1]])[2][0]


def test_large_documents_are_left_to_others(monkeypatch):
    monkeypatch.setattr(gold_paths, "LARGEST", 400)
    made, golds = finite_problems(11, [3, 60, 4])
    assert solve(made, golds)[2].tolist() == [True, False, True]


def test_no_document():
    assert GoldPaths(make_automaton(L, PATTERNS), [], [], [0, 0]).longest == 0
    loss, _, done = solve(*finite_problems(12, [2, 2]), borders=[0, 0, 2, 2])
    assert done.all() and (loss > 0.0).all()
