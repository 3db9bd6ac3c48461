"""Segmentations of given segments only, against enumeration."""

from functools import cache

import numpy as np
import pytest

from spacy_hosemi.core import Potentials, compile_grammar, viterbi
from spacy_hosemi.core.algorithms.lattice import Lattice
from spacy_hosemi.core.algorithms.lattice_graph import StateTable

from .. import oracles
from ..strategies import n_of, random_problem
from .problems import as_core, make_automaton, relative_error

INF = float("inf")
N_PROBLEMS = n_of(300)


def some_segments(problem, rng):
    """Segments of a problem, by their ends: most of them, or all."""
    n, n_labels = problem.n_tokens, problem.n_labels
    share = rng.choice([0.6, 1.0])
    return [
        (i, j, y)
        for j in range(1, n + 1)
        for i in range(j)
        for y in range(n_labels)
        if rng.random() < share
    ]


def make_lattice(automaton, pattern, *documents):
    """documents: pairs of a size and segments."""
    sizes = [len(segments) for _, segments in documents]
    starts, ends, labels = (
        np.array([s for _, segments in documents for s in segments], np.int32)
        .reshape(-1, 3)
        .T.copy()
    )
    first = np.cumsum([0, *sizes]).astype(np.int32)
    n_tokens = np.array([n for n, _ in documents], np.int32)
    steps = StateTable(automaton)
    return Lattice(steps, pattern, first, n_tokens, starts, ends, labels)


@cache
def case(seed):
    """A problem, some of its segments and their scores, and what enumeration says of
    the segmentations of those."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, constrained=False, observed=())
    segments = some_segments(problem, rng)
    scores = np.array(
        [oracles.segment_score(problem, i, j, (y,)) for i, j, y in segments]
    )
    expected = oracles.Enumerated(problem)
    known = set(segments)
    every = expected.scores.items()
    expected.scores = {s: value for s, value in every if known.issuperset(s)}
    return problem, segments, scores, expected


def sums(problem, segments, scores, expected, lattice):
    log_z, prob, steps, ends = lattice.sums(scores)
    assert relative_error(log_z[1], expected.log_z) < 1e-9
    found = expected.marginals
    probs = [found.segments[segment] for segment in segments]
    assert prob == pytest.approx(probs, abs=1e-9)
    counts = lattice.table.counts(steps, ends)
    assert counts == pytest.approx(found.pattern, abs=1e-9)


def best(problem, segments, scores, expected, lattice):
    """And the k best. Order decides ties, which rounding may hide."""
    order = np.array([y for _, _, y in segments], np.int32)
    prob, path, found = lattice.solve(scores, order)
    assert prob.tolist() == lattice.sums(scores)[1].tolist()
    segmentation, score = expected.best
    assert relative_error(found[1], score) < 1e-9
    is_exact = bool((scores[np.isfinite(scores)] % 1 == 0).all())
    is_exact &= bool((problem.pattern[np.isfinite(problem.pattern)] % 1 == 0).all())
    if is_exact:
        assert [segments[k] for k in path] == list(segmentation)
    ranked = expected.ranked
    for k in (1, 3, len(ranked) + 2):
        listed = lattice.kbest(1, scores, order, k)
        assert len(listed) == len(ranked[:k])
        if is_exact:
            paths = [tuple(segments[x] for x in path) for path, _ in listed]
            assert paths == [s for s, _ in ranked[:k]]
        for (_, score), (_, value) in zip(listed, ranked):
            assert relative_error(score, value) < 1e-9
    assert lattice.kbest(0, scores, order, 3) == []


def entropies(problem, segments, scores, expected, lattice):
    value = max(expected.entropy, 0.0)  # 0 where nothing is possible
    found = lattice.entropies(scores).tolist()
    assert found == [0.0, pytest.approx(value, abs=1e-7)]


@pytest.mark.parametrize("question", [sums, best, entropies])
def test_answers_equal_enumeration(question):
    for seed in range(N_PROBLEMS):
        print(f"case {seed}")  # of the one that failed
        problem, segments, *_ = case(seed)
        automaton, potentials, _ = as_core(problem)
        documents = (2, []), (problem.n_tokens, segments)
        lattice = make_lattice(automaton, potentials.pattern, *documents)
        question(*case(seed), lattice)


@pytest.mark.parametrize("seed", range(20))
def test_segments_with_the_same_tokens_and_label(seed):
    """Together they have the probability of one; the best one is that of the best."""
    problem, segments, scores, _ = case(seed)
    rng = np.random.default_rng(seed)
    copies = rng.integers(1, 4, len(segments))
    more = np.repeat(scores, copies) + rng.choice([-INF, -1.0, 0.0], copies.sum())
    kept = (rng.random(copies.sum()) < 0.8).astype(np.uint8)
    of = np.repeat(np.arange(len(segments)), copies)
    automaton, pattern, n = as_core(problem)[0], problem.pattern, problem.n_tokens
    lattice = make_lattice(automaton, pattern, (n, [segments[k] for k in of]))
    alone = make_lattice(automaton, pattern, (n, segments))
    for mask in (None, kept):
        counted = more if mask is None else np.where(mask, more, -INF)
        total = np.full(len(segments), -INF)
        np.logaddexp.at(total, of, counted)
        log_z, prob, *counts = lattice.sums(more, mask)
        expected_z, expected, *expected_counts = alone.sums(total)
        np.testing.assert_allclose(log_z, expected_z, atol=1e-9)
        share = np.exp(counted - np.where(total > -INF, total, 0.0)[of])
        np.testing.assert_allclose(prob, expected[of] * share, atol=1e-12)
        for pair in zip(counts, expected_counts, strict=True):
            np.testing.assert_allclose(*pair, atol=1e-9)
    top = np.full(len(segments), -INF)
    np.maximum.at(top, of, more)
    order = rng.permutation(len(of)).astype(np.int32)
    _, best, value = lattice.solve(more, order)
    _, _, expected_value = alone.solve(top, np.zeros(len(top), np.int32))
    np.testing.assert_allclose(value, expected_value, atol=1e-9)
    for k in best.tolist():
        equal = np.flatnonzero((of == of[k]) & (more == more[k]))
        assert more[k] == top[of[k]] and order[k] == order[equal].min()
    # all of them, as if no two were alike
    listed = lattice.kbest(0, more, order, 10**6)
    assert len({tuple(path) for path, _ in listed}) == len(listed)
    if not listed:
        return
    values = np.array([x for _, x in listed])
    log_z = lattice.sums(more)[0]
    assert np.logaddexp.reduce(values) == pytest.approx(log_z[0], abs=1e-9)
    p = np.exp(values - log_z[0])
    entropy = -(p[p > 0.0] * np.log(p[p > 0.0])).sum()
    assert lattice.entropies(more)[0] == pytest.approx(entropy, abs=1e-9)
    assert listed[0][0] == best.tolist()


def test_documents_of_a_batch_do_not_touch_each_other():
    """Each with the probabilities it has alone; kept says what is left of one."""
    rng = np.random.default_rng(5)
    problem = random_problem(
        rng, kinds=("small",), n_tokens=4, n_labels=3, constrained=False, observed=()
    )
    automaton, potentials, _ = as_core(problem)
    segments = some_segments(problem, rng)
    args = automaton, potentials.pattern
    documents = (4, segments), (0, []), (2, [s for s in segments if s[1] <= 2])
    scores = [rng.normal(size=len(s)) for _, s in documents]
    together = make_lattice(*args, *documents).sums(np.concatenate(scores))
    alone = [make_lattice(*args, x).sums(s) for x, s in zip(documents, scores)]
    assert together[0].tolist() == [x[0][0] for x in alone]
    assert together[1].tolist() == np.concatenate([x[1] for x in alone]).tolist()
    kept = np.ones(len(segments), np.uint8)
    kept[1] = 0
    lattice = make_lattice(*args, documents[0])
    less = np.where(kept, scores[0], -INF)
    found, expected = lattice.sums(scores[0], kept), lattice.sums(less)
    assert found[0] == expected[0] and (found[1] == expected[1]).all()


def test_grammar_and_viterbi_agree():
    """With all segments it is the decoder of the automaton, rules included."""
    rng = np.random.default_rng(3)
    grammar = compile_grammar(("O", "A", "B"), ["A at most once", "A only after B"])
    automaton = make_automaton(3, [(1, 2), ("^", 1)], grammar=grammar)
    for _ in range(20):
        potentials = Potentials.zeros(automaton, 5)
        potentials.inside[:] = rng.normal(size=(5, 3))
        potentials.start[:] = rng.normal(size=(5, 3))
        potentials.tail[:] = 0.0
        potentials.pattern[:] = rng.normal(size=2)
        segments = [(i, j, y) for j in range(1, 6) for i in range(j) for y in range(3)]
        inside, start = potentials.inside, potentials.start
        scores = [inside[i:j, y].sum() + start[i, y] for i, j, y in segments]
        scores = np.array(scores)
        lattice = make_lattice(automaton, potentials.pattern, (5, segments))
        order = np.array([y for _, _, y in segments], np.int32)
        _, path, score = lattice.solve(scores, order)
        best, expected = viterbi(automaton, potentials)
        assert [segments[k] for k in path] == best
        assert score[0] == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e4, 1e-300])
def test_scores_of_any_size(scale):
    automaton = make_automaton(2)
    n = 1000
    segments = [(i, i + 1, y) for i in range(n) for y in (0, 1)]
    lattice = make_lattice(automaton, np.zeros(0), (n, segments))
    log_z, prob, *_ = lattice.sums(np.full(2 * n, -scale))
    assert log_z[0] == pytest.approx(n * (np.log(2.0) - scale))
    assert prob == pytest.approx(0.5)
    (entropy,) = lattice.entropies(np.full(2 * n, -scale))
    assert entropy == pytest.approx(n * np.log(2.0))
    order = np.tile([0, 1], n).astype(np.int32)
    scores = np.full(2 * n, -scale)
    for k, (path, score) in enumerate(lattice.kbest(0, scores, order, 3)):
        others = [x // 2 for x in path if x % 2]
        assert others == [[], [n - 1], [n - 2]][k]
        assert score == pytest.approx(-n * scale)


def test_nothing_is_possible():
    lattice = make_lattice(make_automaton(2), np.zeros(0), (2, [(0, 1, 0)]))
    assert lattice.sums(np.zeros(1))[0].tolist() == [-INF]
    empty = make_lattice(make_automaton(2), np.zeros(0), (0, []))
    assert empty.entropies(np.zeros(0)).tolist() == [0.0]
    _, path, score = lattice.solve(np.zeros(1), np.zeros(1, np.int32))
    assert not len(path) and score.tolist() == [-INF]


@pytest.mark.parametrize(
    "segment", [(-1, 1, 0), (0, 3, 0), (1, 1, 0), (0, 1, 2), (0, 1, -1)]
)
def test_segments_that_do_not_fit_are_named(segment):
    with pytest.raises(ValueError, match="HS113"):
        make_lattice(make_automaton(2), np.zeros(0), (2, [segment]))


def test_segments_are_sorted_and_scores_fit():
    with pytest.raises(ValueError, match="HS113"):
        make_lattice(make_automaton(1), np.zeros(0), (2, [(0, 2, 0), (0, 1, 0)]))
    lattice = make_lattice(make_automaton(1), np.zeros(0), (1, [(0, 1, 0)]))
    with pytest.raises(ValueError, match="HS113"):
        lattice.sums(np.zeros(2))
    with pytest.raises(ValueError, match="HS113"):
        lattice.kbest(1, np.zeros(1), np.zeros(1, np.int32), 1)
