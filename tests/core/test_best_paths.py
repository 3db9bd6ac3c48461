"""Best segmentations of many documents in one task: as enumerated, and as alone."""

import math

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.segment_probabilities import (
    best_decision_steps,
    best_path_steps,
    path_steps,
)
from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.core.potentials import ManyPotentials

from .. import oracles
from ..strategies import n_of
from .problems import INF, as_core, make_automaton, make_cells
from .test_likelihoods import PATTERNS, L, finite_problems, problems


def joined(made):
    """RETURNS (Tuple[PatternAutomaton, ManyPotentials]): Of all problems."""
    roles = (
        np.concatenate([getattr(x, role) for x in made])
        for role in ("inside", "start", "end")
    )
    first = made[0]
    borders = np.cumsum([0, *(len(x.inside) for x in made)]).tolist()
    shared = first.length, first.tail, first.pattern, borders
    cells = make_cells([cell for x in made for cell in x.cells])
    of_docs = np.cumsum([0, *(len(x.cells) for x in made)]).tolist()
    cells = (cells, of_docs) if len(cells) else ()
    return make_automaton(L, PATTERNS), ManyPotentials(*roles, *shared, *cells)


def with_cells(made, rng, share=0.7):
    """Some of the problems with cells, long, too; some twice, some forbidden."""
    found = []
    for problem in made:
        n, cells = len(problem.inside), []
        while n and rng.random() < share and len(cells) < 12:
            start = int(rng.integers(n))
            end = int(rng.integers(start + 1, min(n, start + 12) + 1))
            value = -INF if rng.random() < 0.1 else float(rng.normal())
            cells += [(start, end, int(rng.integers(L)), value)] * int(
                rng.integers(1, 3)
            )
        found.append(problem._replace(cells=cells))
    return found


def by_document(found):
    n_spans, spans, probability, whole = found
    spans = [*map(tuple, spans.tolist())]
    ends = np.cumsum(n_spans).tolist()
    for i, j, p in zip([0, *ends], ends, whole.tolist(), strict=False):
        yield spans[i:j], probability[i:j].tolist(), p


def test_paths_are_those_of_enumeration():
    n_whole = 0
    for seed in range(n_of(200)):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 6, 7).tolist()
        share = rng.choice([0.0, 0.2, 0.8])
        made = with_cells(problems(seed, sizes, bool(seed % 2))[0], rng, share)
        found = finish(best_path_steps(*joined(made)))
        scores = [oracles.scored(problem) for problem in made]
        if any(oracles.best(x)[1] == -INF for x in scores):
            assert found is None
            continue
        n_whole += 1
        for of_doc, one in zip(by_document(found), scores, strict=True):
            path, _ = oracles.best(one)
            probs = oracles.span_probabilities(one)
            spans, probability, whole = of_doc
            assert tuple(spans) == oracles.spans(path)
            expected = [probs[span] for span in spans]
            np.testing.assert_allclose(probability, expected, rtol=1e-11)
            log_prob = one[path] - oracles.log_z(one)
            np.testing.assert_allclose(whole, np.exp(log_prob), rtol=1e-11)
    assert n_whole > 5


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_same_bits_as_alone(share):
    made, _ = finite_problems(3, [70, 1, 33, 200, 34, 2, 90])
    made = with_cells(made, np.random.default_rng(1), share)
    automaton, many = joined(made)
    (without,) = finish(best_path_steps(automaton, many, has_probabilities=False))[1:2]
    found = [*by_document(finish(best_path_steps(automaton, many)))]
    for problem, (spans, probability, whole) in zip(made, found, strict=True):
        _, potentials, _ = as_core(problem)
        path, score = core.viterbi(automaton, potentials)
        assert spans == [segment for segment in path if segment[2]]
        (answer,) = finish(path_steps(automaton, [potentials], [path], [None]))
        _, probs, score, log_z = answer
        assert probability == [min(p, 1.0) for p in probs]
        assert whole == math.exp(min(score - log_z, 0.0))
    assert [*map(tuple, without.tolist())] == [x for spans, *_ in found for x in spans]


def test_decisions_are_those_of_each_alone():
    n_decided = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        share, expected_f1 = (0.0, 0.5, 0.9)[seed % 3], (None, 0.0, 0.3, 0.8)[seed % 4]
        sizes = rng.integers(0, 40, 7).tolist()
        made = with_cells(finite_problems(seed, sizes)[0], rng, share)
        automaton, many = joined(made)
        given = automaton, many, expected_f1
        found = finish(best_decision_steps(*given))
        settings = {"expected_f1": expected_f1}
        alone = [(x, core.mbr(automaton, x, "f1", **settings)) for x in many]
        if found is None:
            continue
        n_decided += 1
        spans_only = finish(best_decision_steps(*given, has_probabilities=False))
        assert spans_only[2:] == (None, None)
        for x, y in zip(found[:2], spans_only[:2], strict=True):
            assert x.tolist() == y.tolist()
        for (potentials, path), of_doc in zip(alone, by_document(found), strict=True):
            spans, probability, whole = of_doc
            assert spans == [segment for segment in path if segment[2]]
            if path:
                (answer,) = finish(path_steps(automaton, [potentials], [path], [None]))
                assert probability == [min(p, 1.0) for p in answer[1]]
                assert whole == math.exp(min(answer[2] - answer[3], 0.0))
    assert n_decided > 40


def test_the_longest_segments_may_be_explicit():
    """Where D is above 1."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made, _ = problems(seed, rng.integers(1, 6, 8).tolist())
        length = rng.normal(size=(L, 3))
        made = with_cells([x._replace(length=length) for x in made], rng)
        automaton, many = joined(made)
        found = finish(best_path_steps(automaton, many, has_probabilities=False))
        scored = [oracles.scored(problem) for problem in made]
        expected = [oracles.best(scores) for scores in scored]
        if any(score == -INF for _, score in expected):
            assert found is None
            continue
        paths = [oracles.spans(path) for path, _ in expected]
        assert [*map(tuple, found[1].tolist())] == [x for path in paths for x in path]
        found = by_document(finish(best_path_steps(automaton, many)))
        for scores, (path, _), (spans, probs, whole) in zip(scored, expected, found):
            of_path = oracles.probabilities(scores)
            assert whole == pytest.approx(of_path[path], rel=1e-9)
            totals = [sum(p for x, p in of_path.items() if y in x) for y in spans]
            assert probs == pytest.approx(totals, rel=1e-9)


def test_cells_that_are_not_sound_are_left_to_others():
    made, _ = finite_problems(2, [5, 6, 7])
    for cell in ((0, 6, 1, 0.0), (2, 2, 1, 0.0), (0, 1, L, 0.0), (0, 1, 1, np.nan)):
        automaton, many = joined([made[0]._replace(cells=[cell]), *made[1:]])
        assert finish(best_path_steps(automaton, many)) is None
        assert finish(best_decision_steps(automaton, many, None)) is None


def test_documents_without_tokens():
    made, _ = finite_problems(1, [3, 4])
    automaton, many = joined(made)
    whole = finish(best_path_steps(automaton, many))
    many.borders = [0, 0, 3, 3, 7, 7]
    n_spans, *others, certain = finish(best_path_steps(automaton, many))
    assert n_spans.tolist() == [0, whole[0][0], 0, whole[0][1], 0]
    assert certain.tolist() == [1.0, whole[-1][0], 1.0, whole[-1][1], 1.0]
    for x, y in zip(others, whole[1:-1], strict=True):
        assert x.tolist() == y.tolist()
    many.pattern = np.append(many.pattern, -INF)  # none of them is possible
    automaton = make_automaton(L, [*PATTERNS, ("^", "$")])
    assert finish(best_path_steps(automaton, many))[-1].tolist() == certain.tolist()
    many.borders = [0, 0]
    assert finish(best_path_steps(automaton, many)) is None


def test_each_array_may_be_kept_alone():
    made, _ = finite_problems(1, [3, 4, 5] * 20)
    automaton, many = joined(made)
    for steps in (best_path_steps, best_decision_steps):
        args = (None,) if steps is best_decision_steps else ()
        expected = [x.tolist() for x in finish(steps(automaton, many, *args))]
        for k, values in enumerate(expected):
            one = finish(steps(automaton, many, *args))[k]
            taken = [np.zeros((len(many.inside) + 61, 3), np.int32) for _ in range(99)]
            assert one.tolist() == values
            del taken


def test_potentials_of_each():
    made = with_cells(finite_problems(4, [3, 1, 5, 2])[0], np.random.default_rng(4))
    _, many = joined(made)
    parts = [as_core(problem)[1] for problem in made]
    for one, expected in zip(
        [*many, many[-1], *many[1:3]], [*parts, parts[-1], *parts[1:3]], strict=True
    ):
        for name, array in vars(expected).items():
            if name != "entries":
                np.testing.assert_array_equal(getattr(one, name), array)
        assert one.entries is None
    with pytest.raises(IndexError):
        many[4]


@pytest.mark.parametrize("value", [np.nan, INF])
def test_scores_that_are_no_numbers_are_left_to_others(value):
    made, _ = finite_problems(2, [5, 6, 7])
    automaton, many = joined(made)
    many.inside[7, 1] = value
    assert finish(best_path_steps(automaton, many)) is None
    many.inside[7, 1] = 0.0
    assert finish(best_path_steps(automaton, many)) is not None
