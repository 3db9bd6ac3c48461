"""The best segmentations of many documents in one task: as by enumeration, and the same
bits as alone."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.segment_probabilities import (
    best_path_steps,
    path_steps,
)
from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.core.potentials import ManyPotentials

from .. import oracles
from .problems import INF, as_core, make_automaton
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
    return make_automaton(L, PATTERNS), ManyPotentials(*roles, *shared)


def by_document(found):
    n_spans, spans, probability, whole = found
    spans = [*map(tuple, spans.tolist())]
    ends = np.cumsum(n_spans).tolist()
    for i, j, p in zip([0, *ends], ends, whole.tolist(), strict=False):
        yield spans[i:j], probability[i:j].tolist(), p


@pytest.mark.parametrize("has_tail", [True, False])
def test_paths_are_those_of_enumeration(has_tail):
    n_whole = 0
    for seed in range(40):
        sizes = np.random.default_rng(seed).integers(1, 6, 11).tolist()
        made, _ = problems(seed, sizes, has_tail)
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


def test_the_same_bits_as_alone():
    made, _ = finite_problems(3, [70, 1, 33, 200, 34, 2, 90])
    automaton, many = joined(made)
    found = [*by_document(finish(best_path_steps(automaton, many)))]
    for problem, (spans, probability, whole) in zip(made, found, strict=True):
        _, potentials, _ = as_core(problem)
        path, score = core.viterbi(automaton, potentials)
        assert spans == [segment for segment in path if segment[2]]
        (answer,) = finish(path_steps(automaton, [potentials], [path], [None]))
        _, probs, score, log_z = answer
        assert probability == [min(p, 1.0) for p in probs]
        assert whole == np.exp(min(score - log_z, 0.0))


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
    many = ManyPotentials(*(np.zeros((0, L)) for _ in range(3)), *shared(made), [0, 0])
    assert finish(best_path_steps(automaton, many)) is None


def shared(made):
    return made[0].length, made[0].tail, made[0].pattern


@pytest.mark.parametrize("value", [np.nan, INF])
def test_scores_that_are_no_numbers_are_left_to_others(value):
    made, _ = finite_problems(2, [5, 6, 7])
    automaton, many = joined(made)
    many.inside[7, 1] = value
    assert finish(best_path_steps(automaton, many)) is None
    many.inside[7, 1] = 0.0
    assert finish(best_path_steps(automaton, many)) is not None
