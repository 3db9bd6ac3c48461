"""From the plain problems of the oracle to the arguments of the core."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core

from ..oracles import Problem

INF = float("inf")
LABELS = tuple("OABCDEFGHIJKLMN")
DENSE = ("inside", "start", "end", "length", "tail", "pattern")
FIELDS = (*DENSE, "cells", "entries")


# Those that read potentials and may have constraints; see `call`.
FUNCTIONS = ("log_partition", "marginals", "viterbi", "kbest", "sample", "entropy")
FUNCTIONS += ("mbr", "viterbi_many", "marginals_many")


def call(name: str, automaton, potentials, constraints=None):
    """Call any of FUNCTIONS for one document."""
    function = getattr(core, name)
    if name.endswith("_many"):
        constraints = None if constraints is None else [constraints]
        return function(automaton, [potentials], constraints)[0]
    size = [3] if name in ("kbest", "sample") else []
    return function(automaton, potentials, *size, constraints=constraints)


def make_cells(rows) -> np.ndarray:
    return np.array([tuple(row) for row in rows], dtype=core.CELLS)


def make_entries(rows) -> np.ndarray:
    return np.array([tuple(row) for row in rows], dtype=core.ENTRIES)


def named(patterns) -> list[tuple[str, ...]]:
    return [tuple(x if x in ("^", "$") else LABELS[x] for x in z) for z in patterns]


def make_automaton(
    n_labels: int, patterns=(), observed=(), **grammar
) -> core.PatternAutomaton:
    """An automaton of labels O, A, B, ..; labels in patterns are given by index."""
    return core.PatternAutomaton(
        LABELS[:n_labels], named(patterns), observed=named(observed), **grammar
    )


def as_core(problem: Problem, **grammar):
    """The arguments (automaton, potentials, constraints or None) of the core."""
    automaton = make_automaton(
        problem.n_labels, problem.patterns, problem.observed, **grammar
    )
    potentials = core.Potentials(
        problem.inside,
        problem.start,
        problem.end,
        problem.length,
        problem.tail,
        make_cells(problem.cells),
        problem.pattern,
        make_entries(problem.entries) if problem.entries else None,
    )
    if problem.allowed is None and problem.boundary is None and not problem.forbidden:
        return automaton, potentials, None
    constraints = core.Constraints(problem.allowed, problem.boundary, problem.forbidden)
    return automaton, potentials, constraints


def zeros(
    n_tokens: int, n_labels: int, n_explicit: int = 1, tail=-INF, patterns=(), **more
):
    """An automaton and potentials of zeros: every segmentation scores 0. With observed
    patterns, `inside`, `start` and `end` have columns for them."""
    automaton = make_automaton(n_labels, patterns, **more)
    potentials = core.Potentials.zeros(automaton, n_tokens, max_length=n_explicit)
    potentials.tail[:] = tail
    for name in ("inside", "start", "end"):
        setattr(potentials, name, np.zeros((n_tokens, automaton.n_columns)))
    return automaton, potentials


def only_labels(problem: Problem) -> Problem:
    """Without the dense columns of observed patterns."""
    names = "inside", "start", "end"
    dense = {x: getattr(problem, x)[:, : problem.n_labels] for x in names}
    return problem._replace(**dense)


def given_columns(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Of counts by the oracle, in all columns, those in the columns that are given."""
    return expected[:, : found.shape[1]] if found.ndim == 2 else expected


def gradient_fields(potentials: core.Potentials) -> dict[str, np.ndarray]:
    """All fields as plain float arrays; of the cells and entries, their scores."""
    fields = {name: getattr(potentials, name) for name in DENSE}
    fields["cells"] = potentials.cells["score"]
    given = potentials.entries is not None
    fields["entries"] = potentials.entries["score"] if given else np.zeros(0)
    return fields


def set_scores(potentials: core.Potentials, name: str, where, value) -> core.Potentials:
    """A copy with some scores of one field replaced."""
    values = getattr(potentials, name).copy()
    (values["score"] if name in ("cells", "entries") else values)[where] = value
    return replace(potentials, **{name: values})


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
