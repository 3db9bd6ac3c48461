"""From the plain problems of the oracle to the arguments of the core."""

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from ..oracles import Problem
from ..strategies import KINDS, random_problem

INF = float("inf")
LABELS = tuple("OABCDEFGHIJKLMN")
N_PROBLEMS = 2500
FIELDS = ("inside", "start", "end", "length", "tail", "cells", "pattern")


@cache
def solved(seed: int, kinds: tuple[str, ...] = KINDS):
    """The random problem of a seed, its marginals and its best by enumeration."""
    problem = random_problem(np.random.default_rng(seed), kinds=kinds)
    scores = oracles.scored(problem)
    return problem, oracles.marginals(problem, scores), oracles.best(scores)


def make_cells(rows) -> np.ndarray:
    return np.array([tuple(row) for row in rows], dtype=core.CELLS)


def make_automaton(n_labels: int, patterns=()) -> core.PatternAutomaton:
    """An automaton of labels O, A, B, ..; labels in patterns are given by index."""
    names = [tuple(x if x in ("^", "$") else LABELS[x] for x in z) for z in patterns]
    return core.PatternAutomaton(LABELS[:n_labels], names)


def as_core(problem: Problem):
    """The arguments (automaton, potentials, constraints or None) of the core."""
    automaton = make_automaton(problem.inside.shape[1], problem.patterns)
    potentials = core.Potentials(
        problem.inside,
        problem.start,
        problem.end,
        problem.length,
        problem.tail,
        make_cells(problem.cells),
        problem.pattern,
    )
    if problem.allowed is None and problem.boundary is None and not problem.forbidden:
        return automaton, potentials, None
    constraints = core.Constraints(problem.allowed, problem.boundary, problem.forbidden)
    return automaton, potentials, constraints


def zeros(n_tokens: int, n_labels: int, n_explicit: int = 1, tail=-INF, patterns=()):
    """An automaton and potentials of zeros: every segmentation scores 0."""
    automaton = make_automaton(n_labels, patterns)
    potentials = core.Potentials.zeros(automaton, n_tokens, max_length=n_explicit)
    potentials.tail[:] = tail
    return automaton, potentials


def gradient_fields(potentials: core.Potentials) -> dict[str, np.ndarray]:
    """All fields as plain float arrays; of the cells, their scores."""
    fields = {name: getattr(potentials, name) for name in FIELDS}
    fields["cells"] = fields["cells"]["score"]
    return fields


def all_segments(n_tokens: int, n_labels: int) -> list[tuple[int, int, int]]:
    return [
        (start, end, label)
        for start in range(n_tokens)
        for end in range(start + 1, n_tokens + 1)
        for label in range(n_labels)
    ]


def relative_error(found: float, expected: float) -> float:
    """|found - expected|, of 1 or of |expected|; infinite scores must be equal."""
    if found == expected:
        return 0.0
    error = abs(found - expected) / max(1.0, abs(expected))
    return error if error == error else INF


@contextmanager
def raises(code: str):
    kinds = (ValueError, TypeError, IndexError)
    with pytest.raises(kinds, match=rf"^\[{code}\]"):
        yield
