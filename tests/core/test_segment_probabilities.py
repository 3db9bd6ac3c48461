"""Several documents in lanes: as alone, and as `marginals`."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import posteriors
from spacy_hosemi.core.algorithms.mbr import mbr_steps
from spacy_hosemi.core.algorithms.segment_probabilities import (
    decision_steps,
    log_partition_as_asked,
    path_steps,
    probability_steps,
    probable_segments,
    segment_probabilities,
)
from spacy_hosemi.core.parallel.coroutines import finish

from ..strategies import KINDS, n_of, random_problem
from .problems import INF, all_segments, as_core, make_cells, raises, zeros

PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"), (2, 2, 0))
OBSERVED = ((0, 1), ("^", 1), (2, 0, 1))


def problem_of_lanes(rng, n_tokens, kinds, observed=()):
    """With cells, and something forbidden, in half of the documents; half of them have
    segments of one explicit token."""
    problem = random_problem(
        rng,
        kinds=kinds,
        n_tokens=n_tokens,
        n_labels=3,
        patterns=PATTERNS,
        observed=observed,
    )
    given = {"length": problem.length[:, : None if rng.random() < 0.5 else 1]}
    if rng.random() < 0.5:
        given |= {"cells": [], "forbidden": ()}
    return problem._replace(**given)


def documents(seed, sizes, kinds=("small",), observed=()):
    """An automaton; potentials, some segments and constraints of each document, all
    with the same weights of patterns."""
    rng = np.random.default_rng(seed)
    given = [as_core(problem_of_lanes(rng, n, kinds, observed)) for n in sizes]
    automata, potentials, limits = zip(*given, strict=True)
    potentials = [replace(x, pattern=potentials[0].pattern) for x in potentials]
    segments = []
    for n in sizes:
        all_of_them = all_segments(n, 3)
        rng.shuffle(all_of_them)
        segments.append([*map(tuple, all_of_them[: int(rng.integers(0, 9))])])
    return automata[0], list(potentials), segments, list(limits)


def by_marginals(automaton, potentials, segments, limits):
    found = []
    for x, asked, limit in zip(potentials, segments, limits, strict=True):
        posterior = core.marginals(automaton, x, limit, counts=False)
        found.append([posterior.segment(*segment) for segment in asked])
    return found


@pytest.mark.parametrize("kinds", [("small",), ("small", "huge"), ("steps", "spikes")])
@pytest.mark.parametrize("observed", [(), OBSERVED])
def test_documents_are_as_alone_and_as_marginals(kinds, observed):
    """The same bits whatever stands beside; those of `marginals`, by the same sums."""
    for seed in range(4):
        sizes = np.random.default_rng(seed).integers(0, 41, 13).tolist()
        given = documents(seed, [*sizes, 5, 9, 3, 9, 12], kinds, observed)
        automaton, potentials, segments, limits = given
        assert any(limit is not None for limit in limits)
        potentials[-2].cells = make_cells([(0, 2, 1, 1.5)])
        potentials[-1].inside[2] = -INF  # impossible
        found, log_z = finish(probability_steps(*given))
        alone = [
            segment_probabilities(automaton, *([x] for x in document))[0]
            for document in zip(*given[1:], strict=True)
        ]
        assert found == alone
        expected = by_marginals(*given)
        if kinds == ("small",) and not observed:
            assert found == expected
        for probs, close in zip(found, expected, strict=True):
            np.testing.assert_allclose(probs, close, rtol=1e-9, atol=1e-12)
        pairs = [*zip(potentials, limits, strict=True)]
        alone = [log_partition_as_asked(automaton, *pair) for pair in pairs]
        assert log_z == [x if some else None for x, some in zip(alone, segments)]
        expected = [core.log_partition(automaton, *pair) for pair in pairs]
        assert alone == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert alone[-1] == -INF


def test_documents_that_stand_alone():
    """With another D, other weights of patterns, or without anything to tell."""
    automaton, potentials, segments, limits = documents(3, [6] * 9)
    potentials[1].cells = make_cells([(0, 2, 1, 1.5)])
    potentials[2].length = np.ones((3, 2))
    limits[3] = core.Constraints(forbidden=[(1, 3, 2)])
    potentials[4] = replace(potentials[4], pattern=potentials[4].pattern + 0.25)
    potentials[5].tail[:] = -INF
    potentials[6].inside[2] = -INF  # impossible
    segments[7] = []
    given = automaton, potentials, segments, limits
    assert segment_probabilities(*given) == by_marginals(*given)
    assert segment_probabilities(automaton, [], [], []) == []


def test_cells_need_nothing_else():
    """A few documents with cells are one task."""
    automaton, potentials, segments, limits = documents(3, [6] * 4)
    potentials = [replace(x, length=potentials[0].length) for x in potentials]
    potentials[1].cells = make_cells([(0, 2, 1, 1.5), (0, 1, 1, 0.5), (2, 6, 2, -INF)])
    limits[3] = core.Constraints(forbidden=[(1, 3, 2)])
    steps = probability_steps(automaton, potentials, [[(0, 2, 1)]] * 4, limits)
    task = next(steps)
    assert type(task).__name__ == "Posteriors"
    task.do()
    with pytest.raises(StopIteration):
        next(steps)


@pytest.mark.parametrize("kind", KINDS)
def test_few_segments_as_among_all(kind):
    """The backward sweep ends where the first of them ends."""
    for seed in range(n_of(50)):
        rng = np.random.default_rng(seed)
        n_tokens = int(rng.integers(1, 40))
        given = {"n_tokens": n_tokens, "n_labels": 3, "patterns": PATTERNS}
        problem = random_problem(rng, kinds=(kind,), **given)
        automaton, potentials, limits = as_core(problem)
        posterior = core.marginals(automaton, potentials, limits, counts=False)
        segments = all_segments(n_tokens, 3)
        for _ in range(5):
            some = [segments[k] for k in rng.choice(len(segments), 2)]
            expected = [posterior.segment(*x) for x in some]
            (found,) = segment_probabilities(automaton, [potentials], [some], [limits])
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize("tail", [-INF, -0.1])
def test_few_segments_of_many_tokens(tail, scale):
    """With blocks of forward rows that are made again; scale: also in log domain."""
    n = 50_000
    automaton, potentials = zeros(n, 2, 3, tail, [(0, 1), (1, 1)])
    rng = np.random.default_rng(0)
    potentials.inside[:] = scale * rng.normal(size=(n, 2))
    potentials.pattern[:] = 0.7, -0.4
    posterior = core.marginals(automaton, potentials, counts=False)
    for u in (0, 1, n // 3, n - 2, n - 1):
        some = [(u, j, y) for j in (u + 1, u + 2) if j <= n for y in (0, 1)]
        expected = [posterior.segment(*x) for x in some]
        assert segment_probabilities(automaton, [potentials], [some], [None]) == [
            expected
        ]


@pytest.mark.parametrize("small, share", [(1_000_000, 0.5), (100_000, 0.05)])
def test_memory_of_cells_is_given_back(monkeypatch, small, share):
    """Each cell makes hundreds of segments explicit; the automaton stays."""
    monkeypatch.setattr(posteriors, "SMALL", small)
    automaton, potentials = zeros(600, 2, tail=0.0, patterns=[(0, 1)])
    given = automaton, [potentials], [[(0, 1, 1)]], [None]
    segment_probabilities(*given)
    potentials.cells = make_cells([(u, u + 300, 1, 0.5) for u in range(300)])
    tracemalloc.start()
    segment_probabilities(*given)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak > 4_000_000
    assert held < share * peak


def test_scores_that_do_not_fit_into_one_weight():
    automaton, potentials = zeros(3, 3, tail=0.0, patterns=[(0, 1), (1, 1)])
    potentials.pattern[:] = 1e4, -INF
    some = [potentials, replace(potentials, inside=np.full((3, 3), -INF)), potentials]
    given = automaton, some, [all_segments(3, 3)] * 3, [None] * 3
    assert segment_probabilities(*given) == by_marginals(*given)
    for p in (0.0, 0.1):
        expected = probable_by_marginals(*given, p)
        assert by_document(*probable_segments(*given, p)) == expected


def test_many_threads():
    automaton, *given = documents(5, [11] * 40)
    expected = by_marginals(automaton, *given)

    def solve(at):
        return segment_probabilities(automaton, *(x[at : at + 6] for x in given))

    with ThreadPoolExecutor(6) as pool:
        for at, found in zip(range(34), pool.map(solve, range(34))):
            assert found == expected[at : at + 6]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["inside", "start", "end"])
def test_numbers_are_checked_in_the_room_of_another(name, bad):
    automaton, potentials, segments, _ = documents(6, [5, 9, 3, 7, 4, 8])
    given = potentials, segments, [None] * 6
    k = next(k for k in range(6) if segments[k])
    expected = segment_probabilities(automaton, *given)
    assert segment_probabilities(automaton, *given) == expected
    scores = getattr(potentials[k], name)
    before = scores[2, 1]
    scores[2, 1] = bad
    with raises("HS011"):
        segment_probabilities(automaton, *given)
    scores[2, 1] = before
    assert segment_probabilities(automaton, *given) == expected


def test_errors():
    automaton, potentials = zeros(3, 2, tail=0.0)
    good, path = (0, 3, 0), (0, 1, 1)
    (found,) = segment_probabilities(automaton, [potentials], [[path, good]], [None])
    assert found[1] > 0.0
    borders = [(-1, 1), (0, 4), (3, 4), (1, 1), (2, 1)]
    cases = [("HS024", (*x, 0)) for x in borders]
    for code, segment in [*cases, ("HS021", (0, 1, -1)), ("HS021", (0, 1, 2))]:
        with raises(code):
            segment_probabilities(automaton, [potentials], [[path, segment]], [None])
    given = documents(0, [4, 5], observed=OBSERVED)
    with raises("HS118"):
        probable_segments(*given, 0.1)
    automaton, potentials, _, limits = documents(0, [4, 5])
    with raises("HS026"):
        finish(mbr_steps(automaton, potentials, limits, 1.1))
    potentials[1].inside[2, 1] = np.nan
    with raises("HS011"):
        finish(mbr_steps(automaton, potentials, limits, 0.8))
    with raises("HS011"):
        log_partition_as_asked(automaton, potentials[1], None)
    potentials[0].length = potentials[0].length[:, 0]
    with raises("HS010"):
        log_partition_as_asked(automaton, potentials[0], None)


# --- what is probable -----------------------------------------------------------


def probable_by_marginals(automaton, potentials, segments, limits, p):
    """By document: segments by end, start and label, each with its score."""
    found = []
    for x, listed, limit in zip(potentials, segments, limits, strict=True):
        if not len(x.inside):
            found.append([])
            continue
        posterior = core.marginals(automaton, x, limit)
        some = all_segments(len(x.inside), 3)
        if p > 0.0:
            some = [segment[:3] for segment in posterior.segments_above(p)]
        some = sorted({*listed, *map(tuple, some)}, key=lambda x: (x[1], x[0], x[2]))
        scores = posterior.scores_of(np.array(some, np.int32).reshape(-1, 3))
        pairs = zip(some, scores.tolist(), strict=True)
        found.append([(*pair,) for pair in pairs if pair[1] > -INF])
    return found


def by_document(first, segments, scores):
    pairs = [*zip(map(tuple, segments.tolist()), scores.tolist(), strict=True)]
    return [pairs[i:j] for i, j in zip(first, first[1:])]


@pytest.mark.parametrize("p", [0.0, 1e-6, 0.05, 0.5, 1.0])
def test_probable_segments_are_those_of_marginals(p):
    n_found = 0
    for seed in range(6):
        sizes = np.random.default_rng(seed).integers(0, 13, 11).tolist()
        kinds = [("small",), ("small", "huge"), ("steps",)][seed % 3]
        given = documents(seed, [*sizes, 6], kinds)
        given[1][-1].inside[2] = -INF  # impossible
        expected = probable_by_marginals(*given, p)
        assert by_document(*probable_segments(*given, p)) == expected
        n_found += sum(map(len, expected))
    assert n_found > 100
    first, found, scores = probable_segments(given[0], [], [], [], p)
    assert (first.tolist(), found.shape, len(scores)) == ([0], (0, 3), 0)


# --- what is decided ------------------------------------------------------------


@pytest.mark.parametrize("expected_f1", [None, 0.0, 0.1, 0.5, 0.8, 1.0])
def test_decisions_are_those_of_each_document(expected_f1):
    n_spans = 0
    for seed in range(8):
        sizes = np.random.default_rng(seed).integers(0, 13, 11).tolist()
        kinds = [("small",), ("small", "huge"), ("steps",)][seed % 3]
        observed = OBSERVED if seed == 7 else ()
        automaton, potentials, _, limits = documents(seed, sizes, kinds, observed)
        if seed % 4 == 1:
            potentials[1].cells = make_cells([(0, 1, 1, 1.5)][: sizes[1]])
            potentials[2].inside[:, 0] = -INF  # no outside; impossible as a rule
        given = automaton, potentials, limits
        found, _ = finish(mbr_steps(*given, expected_f1))
        for x, limit, segments in zip(potentials, limits, found, strict=True):
            alone = core.mbr(automaton, x, "f1", limit, expected_f1=expected_f1)
            posterior = core.marginals(automaton, x, limit)
            gains = [gain(posterior, s, expected_f1) for s in (segments, alone)]
            assert gains[0] == pytest.approx(gains[1], abs=1e-9)
            assert bool(segments) == bool(alone)
            assert not segments or posterior.is_possible(segments)
            n_spans += sum(y > 0 for *_, y in segments)
    assert n_spans > 100


def is_as_asked(automaton, potentials, limits, segments, answer):
    """Whether the same bits are known of a path as where each is asked for alone."""
    spans = [segment for segment in segments if segment[2]]
    (probs,) = segment_probabilities(automaton, [potentials], [spans], [limits])
    score = core.score(automaton, potentials, segments)
    log_z = log_partition_as_asked(automaton, potentials, limits)
    return answer == (segments, probs, score, log_z)


@pytest.mark.parametrize("expected_f1", [None, 0.1, 0.6])
def test_decisions_know_their_probabilities(expected_f1):
    n_known = n_none = 0
    for seed in range(6):
        sizes = np.random.default_rng(seed).integers(0, 13, 11).tolist()
        automaton, potentials, _, limits = documents(seed, sizes)
        potentials[0].inside[:, 1:] = -40.0  # no span is probable
        potentials[1].inside[:, 0] = -INF  # no outside
        given = automaton, potentials, limits
        answers = finish(decision_steps(*given, expected_f1))
        found, known = finish(mbr_steps(*given, expected_f1))
        assert known == [answer or None for answer in answers]
        for x, limit, segments, answer in zip(potentials, limits, found, answers):
            if answer:
                assert is_as_asked(automaton, x, limit, segments, answer)
                n_known += 1
            if answer == ():
                assert expected_f1 is None
                posterior = core.marginals(automaton, x, limit)
                assert not posterior.segments_above(1e-7, outside=False)
                assert segments == core.viterbi(automaton, x, limit)[0]
                n_none += 1
    assert n_known > 30 and bool(n_none) == (expected_f1 is None)


@pytest.mark.parametrize("observed", [(), OBSERVED])
def test_what_is_known_of_paths(observed):
    """Also of those that nothing permits, and where a batch has to be redone."""
    n_known = 0
    for seed in range(12):
        sizes = np.random.default_rng(seed).integers(0, 13, 11).tolist()
        kinds = [("small",), ("small",), ("small", "huge"), ("steps",)][seed % 4]
        automaton, potentials, _, limits = documents(seed, sizes, kinds, observed)
        given = automaton, potentials
        paths = [x for x, _ in core.viterbi_many(*given, limits)]
        paths[3] = [(i, i + 1, i % 3) for i in range(sizes[3])]
        limits[3] = None
        answers = finish(path_steps(*given, paths, limits))
        for x, limit, segments, answer in zip(potentials, limits, paths, answers):
            assert segments or answer is None
            if answer and not observed:  # there, the scores are summed in another order
                assert is_as_asked(automaton, x, limit, segments, answer)
            if answer:
                score = core.score(automaton, x, segments)
                assert answer[2] == pytest.approx(score, rel=1e-9)
            n_known += answer is not None
    assert n_known > 30


def gain(posterior, segments, expected_f1):
    spans = [segment for segment in segments if segment[2]]
    right = sum(posterior.segment(*span) for span in spans)
    if expected_f1 is None:
        return 2.0 * right / ((len(spans) + posterior.n_spans) or 1.0)
    return 2.0 * right - expected_f1 * len(spans)
