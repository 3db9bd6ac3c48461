"""Every question about random problems: as enumeration, or the reference, answers it.

`families` makes the problems, each of which is enumerated once for all questions.
"""

import math

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.mbr import mbr_steps
from spacy_hosemi.core.algorithms.segment_probabilities import (
    log_partition_as_asked,
    path_steps,
    probable_segments,
    segment_probabilities,
)
from spacy_hosemi.core.algorithms.viterbi import METHODS
from spacy_hosemi.core.parallel.coroutines import finish

from .. import oracles
from ..strategies import n_of
from .families import LONG, SHORT, Case, cases, long_cases
from .problems import INF, all_segments, gradient_fields, make_automaton, relative_error

GAINS = {"spans": oracles.expected_correct, "f1": oracles.expected_f1}


# --- marginals ----------------------------------------------------------------------


def segments_of(found: core.Marginals, n_tokens: int, n_labels: int) -> np.ndarray:
    """Probabilities of all segments, [n, n + 1, L]."""
    probs = np.zeros((n_tokens, n_tokens + 1, n_labels))
    for segment in all_segments(n_tokens, n_labels):
        probs[segment] = found.segment(*segment)
    return probs


def assert_above(found: core.Marginals, segments: np.ndarray, p: float):
    listed = {row[:3]: row[3] for row in found.segments_above(p)}
    clear = {tuple(map(int, s)) for s in np.argwhere(segments >= p + 1e-9)}
    near = {tuple(map(int, s)) for s in np.argwhere(segments >= p - 1e-9)}
    assert clear <= set(listed) <= near and list(listed) == sorted(listed)
    probs = [segments[segment] for segment in listed]
    assert [*listed.values()] == pytest.approx(probs, abs=1e-9)


def assert_agrees(found: core.Marginals, expected: oracles.Marginals, tied=None):
    """Counts above 1 are compared relative to them; of patterns that are tied, those of
    each group together."""
    assert relative_error(found.log_z, expected.log_z) < 1e-9
    fields = gradient_fields(found.gradient)
    fields["tokens"] = found.tokens
    fields["segments"] = segments_of(found, *found.tokens.shape)
    for name, counts in fields.items():
        values = getattr(expected, name)
        if name in ("inside", "start", "end"):  # columns that were not given
            values = values[:, : counts.shape[1]]
        if name == "pattern" and tied:
            counts, values = (np.bincount(tied, x) for x in (counts, values))
        assert counts.shape == values.shape, name
        errors = np.abs(counts - values) / np.maximum(1.0, values)
        assert not (errors >= 1e-9).any() and not np.isnan(errors).any(), name
    for p in (1e-6, 0.2, 0.7):
        assert_above(found, expected.segments, p)


def log_z(case):
    found = core.log_partition(*case.arguments)
    assert relative_error(found, case.expected.log_z) < 1e-9


def marginals(case):
    found = core.marginals(*case.arguments)
    assert_agrees(found, case.expected.marginals, case.tied)
    assert (found.gradient.entries is None) == (case.potentials.entries is None)
    assert relative_error(core.log_partition(*case.arguments), found.log_z) < 1e-12
    lean = core.marginals(*case.arguments, counts=False)
    assert lean.gradient is None
    probs = [segments_of(x, *found.tokens.shape) for x in (lean, found)]
    if case.is_large:  # by another arithmetic
        assert relative_error(lean.log_z, found.log_z) < 1e-12
        np.testing.assert_allclose(*probs, atol=1e-9)
    else:
        assert lean.log_z == found.log_z
        assert np.array_equal(*probs)
    n_spans = case.expected.marginals.segments[:, :, 1:].sum()
    assert lean.n_spans == pytest.approx(n_spans, rel=1e-9, abs=1e-9)
    spans = lean.segments_above(0.1, outside=False)
    above = found.segments_above(0.1)
    assert np.ravel(spans) == pytest.approx(np.ravel([x for x in above if x[2]]))
    assert (found.tokens >= 0.0).all() and (found.tokens <= 1.0 + 1e-9).all()
    total = float(found.log_z > -INF)
    assert found.tokens.sum(axis=1) == pytest.approx(total, abs=1e-9)


def lanes(case):
    """Documents side by side: segments, log Z, paths, and what is probable."""
    automaton, potentials, constraints = case.arguments
    expected = case.expected.marginals
    segments = all_segments(case.problem.n_tokens, case.problem.n_labels)
    together = [potentials] * 2, [segments] * 2, [constraints] * 2
    probs = [expected.segments[segment] for segment in segments]
    for found in segment_probabilities(automaton, *together):
        np.testing.assert_allclose(found, probs, atol=1e-9)
    log_z = log_partition_as_asked(*case.arguments)
    assert relative_error(log_z, expected.log_z) < 1e-9
    path, score = core.viterbi(*case.arguments)
    (answer,) = finish(path_steps(automaton, [potentials], [path], [constraints]))
    if answer:
        spans = [expected.segments[segment] for segment in path if segment[2]]
        assert answer[0] == path and answer[1] == pytest.approx(spans, abs=1e-9)
        assert relative_error(answer[2], score) < 1e-9
        assert relative_error(answer[3], expected.log_z) < 1e-9
    if automaton.observed or case.is_large:
        return
    _, listed, _ = probable_segments(automaton, [potentials], [[]], [constraints], 0.1)
    found = {*map(tuple, listed.tolist())}
    above = {x[:3] for x in core.marginals(*case.arguments).segments_above(0.1)}
    assert all(abs(expected.segments[x] - 0.1) < 1e-9 for x in found ^ above)


def sequences_of_labels(case):
    """Probabilities of sets of labels on adjacent tokens."""
    n_tokens, n_labels = case.problem.n_tokens, case.problem.n_labels
    if not (case.are_tokens and n_tokens):
        return
    rng = np.random.default_rng(n_tokens)
    found = [core.marginals(*case.arguments, counts=x) for x in (False, True)]
    for _ in range(3):
        start = int(rng.integers(n_tokens))
        end = int(rng.integers(start, n_tokens)) + 1
        allowed = rng.random((end - start, n_labels)) < 0.6
        expected = math.fsum(
            prob
            for path, prob in oracles.probabilities(case.expected.scores).items()
            if all(row[path[start + i][2]] for i, row in enumerate(allowed))
        )
        for posterior in found:
            prob = posterior.labels_among(start, allowed)
            assert prob == pytest.approx(expected, rel=1e-9, abs=1e-300)


# --- the best -----------------------------------------------------------------------


def best(case):
    """By every method, and once more with what is kept of the weights. Where scores are
    not rounded, ties are broken by the rule."""
    segments, score = case.expected.best
    for method in METHODS:
        if method == "nonnegative" and not case.only_adds:
            with pytest.raises(ValueError, match="HS104"):
                core.viterbi(*case.arguments, method=method)
            continue
        found, again = (core.viterbi(*case.arguments, method=method) for _ in range(2))
        assert found == again, method
        if case.is_exact:
            assert found == (list(segments), score), method
            continue
        assert relative_error(found[1], score) < 1e-9, method
        assert bool(found[0]) == bool(segments)
        if score > -INF:
            again = core.score(case.automaton, case.potentials, found[0])
            assert relative_error(again, score) < 1e-9, method
    (found,) = core.viterbi_many(
        case.automaton, [case.potentials], [case.constraints], threads=2
    )
    assert found == core.viterbi(*case.arguments)


def k_best(case):
    """Which of those tied at the end are listed is not said: their scores are. All
    together are in the order of the rule for ties."""
    automaton, potentials, constraints = case.arguments
    scores = case.expected.best_scores(7)
    for k in (1, 2, 7):
        found = core.kbest(automaton, potentials, k, constraints)
        values, expected = [score for _, score in found], scores[:k]
        if case.is_exact:
            assert values == expected
            segments, score = case.expected.best
            assert found[:1] == [(list(segments), score)] * (score > -INF)
        assert len(values) == len(expected)
        assert values == sorted(values, reverse=True)
        assert len({tuple(segments) for segments, _ in found}) == len(found)
        for (segments, value), score in zip(found, expected, strict=True):
            assert relative_error(value, score) < 1e-9
            again = core.score(automaton, potentials, segments)
            assert relative_error(value, again) < 1e-9


def every_path_in_order(case):
    """Without rounding: also those that tie."""
    expected = case.expected.ranked
    found = core.kbest(
        case.automaton, case.potentials, len(expected) + 1, case.constraints
    )
    assert {tuple(x) for x, _ in found} == {x for x, _ in expected}
    if case.is_exact:
        assert found == [(list(segments), score) for segments, score in expected]


# --- what one segmentation is worth -------------------------------------------------


def scores(case):
    every = [*case.expected.every.items()]
    for segments, score in every[:: len(every) // 10 + 1]:
        found = core.score(case.automaton, case.potentials, list(segments))
        if segments not in case.expected.scores:  # what rules forbid
            score = -INF
        assert relative_error(found, score) < 1e-10


def counts(case):
    """How often a segmentation reads each potential, added and subtracted."""
    every = [*case.expected.scores.items()]
    for segments, score in every[:: len(every) // 3 + 1]:
        if score == -INF and case.is_large:
            continue
        found = core.marginals(case.automaton, case.potentials)
        counts = core.marginals(case.automaton, case.potentials).gradient
        before = gradient_fields(core.marginals(*case.arguments[:2]).gradient)
        args = case.automaton, case.potentials, list(segments)
        assert relative_error(core.add_counts(*args, counts, 2.0), score) < 1e-9
        assert relative_error(found.less(list(segments)), score) < 1e-9
        assert found.is_possible(list(segments)) == (score > -INF)
        expected = oracles.marginals(case.problem, {segments: 0.0})
        added, taken = gradient_fields(counts), gradient_fields(found.gradient)
        for name, array in before.items():
            much = getattr(expected, name) * (score > -INF)
            if array.ndim == 2:
                much = much[:, : array.shape[1]]
            close = {"atol": 1e-9, "err_msg": name}
            np.testing.assert_allclose(added[name], array + 2.0 * much, **close)
            np.testing.assert_allclose(taken[name], array - much, **close)


# --- expectations -------------------------------------------------------------------


def entropy(case):
    expected, found = case.expected.entropy, core.entropy(*case.arguments)
    assert found == -INF if expected == -INF else found >= 0.0
    if found != expected:
        assert abs(found - expected) < (1e-7 if case.is_large else 1e-9)


def samples(case):
    """Nothing impossible is drawn, nor what has less than e^-40."""
    if case.expected.log_z == -INF:
        return
    automaton, potentials, constraints = case.arguments
    drawn = core.sample(automaton, potentials, 30, 1, constraints)
    least = case.expected.log_z - 40
    for segments in {*map(tuple, drawn)}:
        assert case.expected.scores.get(segments, -INF) > least


def decisions(case):
    """Expected gains, of this document alone and where an F1 is given. Not always the
    very highest is found, but never less than what the best segmentation gains."""
    automaton, potentials, constraints = case.arguments
    probs, possible = (
        case.expected.span_probabilities,
        oracles.possible(case.expected.scores),
    )
    best_path = case.expected.best[0]
    for objective, gain in GAINS.items():
        found = core.mbr(automaton, potentials, objective, constraints)
        if not possible:
            assert found == []
            continue
        assert case.expected.scores[tuple(found)] > -INF
        highest, value = (
            max(gain(probs, s) for s in possible),
            gain(probs, tuple(found)),
        )
        assert highest - value < 1e-5
        assert value >= gain(probs, best_path) - 1e-6
    for ratio in (0.0, 0.3, 1.0):
        given = [potentials], [constraints], ratio
        found = core.mbr(automaton, potentials, "f1", constraints, expected_f1=ratio)
        ((together,), _) = finish(mbr_steps(automaton, *given))
        highest = max((gain_at(probs, s, ratio) for s in possible), default=0.0)
        for segments in (found, together):
            assert bool(segments) == bool(possible and case.problem.n_tokens)
            assert gain_at(probs, segments, ratio) == pytest.approx(highest, abs=1e-5)


def gain_at(probs, segments, ratio: float) -> float:
    n_spans = len(oracles.spans(segments))
    return 2.0 * oracles.expected_correct(probs, segments) - ratio * n_spans


def likely_decisions(case):
    """Of longer documents: decided for is nothing that gains less, by the marginals,
    than the best segmentation and samples do; all that is drawn is possible."""
    automaton, potentials, constraints = case.arguments
    if case.expected.log_z == -INF:
        assert core.mbr(*case.arguments[:2], "f1", constraints) == []
        return
    segments = case.expected.marginals.segments
    probs = {
        tuple(map(int, s)): segments[tuple(s)]
        for s in np.argwhere(segments > 0.0)
        if s[2] > 0
    }
    drawn = core.sample(automaton, potentials, 20, constraints=constraints)
    drawn.append(core.viterbi(*case.arguments)[0])
    for objective, gain in GAINS.items():
        found = core.mbr(automaton, potentials, objective, constraints)
        assert core.score(automaton, potentials, found) > -INF
        assert gain(probs, found) >= max(gain(probs, s) for s in drawn) - 1e-6
    for path in drawn:
        assert core.score(automaton, potentials, path) > -INF
        permits = (oracles.permits(case.problem, *segment) for segment in path)
        assert all(permits)


# By question: of how many cases of a family it is asked; a fifth, unless thorough.
QUESTIONS = {
    **{log_z: 5000, marginals: 5000, best: 1000, entropy: 200, scores: 150},
    **{k_best: 200, every_path_in_order: 100, decisions: 200, samples: 150},
    **{counts: 75, lanes: 200, sequences_of_labels: 200},
}
LONG_QUESTIONS = [log_z, marginals, best, k_best, entropy, lanes, likely_decisions]


def ask(question, some):
    for seed, case in enumerate(some):
        print(f"case {seed}")  # of the one that failed
        question(case)


@pytest.mark.parametrize("family", SHORT)
@pytest.mark.parametrize("question", QUESTIONS)
def test_equals_enumeration(question, family):
    ask(question, cases(family)[: n_of(QUESTIONS[question])])


@pytest.mark.parametrize("family", LONG)
@pytest.mark.parametrize("question", LONG_QUESTIONS)
def test_equals_the_reference(question, family):
    ask(question, long_cases(family))


# --- what families are for ------------------------------------------------------------


def adds_long_patterns(case) -> bool:
    problem = case.problem
    return case.only_adds and any(
        len(z) > 2 for z in (*problem.patterns, *problem.observed)
    )


def without_states(case) -> bool:
    """Whether the best is found without states of observed patterns."""
    automaton, potentials, constraints = Case(case.problem).arguments
    core.viterbi(automaton, potentials, constraints)
    return automaton.layout is None


def has_fewer_arcs(case) -> bool:
    problem = case.problem
    plain = make_automaton(problem.n_labels, problem.patterns, problem.observed)
    return len(case.automaton.arc_edge) < len(plain.arc_edge)


@pytest.mark.parametrize(
    "family, has, share",
    [
        ("any", lambda case: case.is_exact, 0.25),
        ("any", lambda case: not case.is_large, 0.25),
        ("only adding", adds_long_patterns, 0.3),
        ("rules", adds_long_patterns, 0.1),
        ("tags that add", without_states, 0.15),
        ("tags", lambda case: case.are_tokens and case.expected.log_z > -INF, 0.4),
        ("at starts", lambda case: len(case.problem.entries) > 2, 0.5),
        ("tied", has_fewer_arcs, 0.1),
        ("rules", lambda case: case.expected.log_z > -INF, 0.25),
        ("rules", lambda c: len(c.expected.scores) < len(c.expected.every), 0.5),
        ("large", lambda case: case.is_large, 0.5),
    ],
)
def test_families_have_what_they_are_for(family, has, share):
    some = cases(family)[:100]
    assert sum(map(has, some)) >= share * len(some)
