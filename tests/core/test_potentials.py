"""Potentials and Constraints: what they accept, what they refuse, what they keep."""

import pickle

import numpy as np
import pytest

from spacy_hosemi import core

from ..strategies import random_problem
from .problems import (
    FIELDS,
    FUNCTIONS,
    INF,
    as_core,
    call,
    gradient_fields,
    make_automaton,
    make_cells,
    make_entries,
    raises,
    zeros,
)

N, L, D, M = 3, 2, 2, 2  # shapes of `arguments`
C = 4  # with OBSERVED
PATTERNS = ((0, 1), (1, "$"))
OBSERVED = ((1, 1), ("^", 0))
AUTOMATON = make_automaton(L, PATTERNS)


def arguments() -> dict:
    """Valid potentials of whole numbers, so that every number type can hold them."""
    return {
        "inside": np.arange(6.0).reshape(N, L),
        "start": np.arange(6.0).reshape(N, L) - 3,
        "end": np.ones((N, L)),
        "length": np.array([[0.0, 1.0], [2.0, -1.0]]),
        "tail": np.array([1.0, -2.0]),
        "cells": make_cells([(0, 2, 1, 3.0), (1, 2, 0, -1.0)]),
        "pattern": np.array([2.0, -1.0]),
        "entries": make_entries([(0, 0, 1, 3.0), (1, 2, 1, -2.0), (2, 1, 0, 1.0)]),
    }


def log_z(**changed) -> float:
    """log Z of `arguments` with some of them changed."""
    return core.log_partition(AUTOMATON, core.Potentials(**(arguments() | changed)))


def observed_arguments() -> dict:
    """The same with observed patterns: inside and end have columns for them."""
    return arguments() | {
        "inside": np.arange(12.0).reshape(N, C) - 4,
        "end": np.arange(12.0).reshape(N, C) % 5,
        "entries": make_entries([(0, 0, 3, 3.0), (1, 2, 2, -2.0), (2, 1, 0, 1.0)]),
    }


def observed_log_z(**changed) -> float:
    potentials = core.Potentials(**(observed_arguments() | changed))
    return core.log_partition(make_automaton(L, PATTERNS, OBSERVED), potentials)


# --- zeros ------------------------------------------------------------------------


def test_zeros():
    potentials = core.Potentials.zeros(AUTOMATON, N, max_length=D)
    for name in ("inside", "start", "end"):
        assert getattr(potentials, name).shape == (N, L)
    assert potentials.length.shape == (L, D)
    assert potentials.cells.dtype == core.CELLS
    assert potentials.cells.shape == (0,)
    assert potentials.pattern.shape == (M,)
    assert all(
        not values.any()
        for name, values in gradient_fields(potentials).items()
        if name != "tail"
    )
    assert potentials.tail.tolist() == [-INF, -INF]
    assert potentials.entries is None or len(potentials.entries) == 0


def test_zeros_with_observed_patterns():
    automaton = make_automaton(L, PATTERNS, OBSERVED)
    potentials = core.Potentials.zeros(automaton, N)
    for name in ("inside", "start", "end"):
        assert getattr(potentials, name).shape in [(N, L), (N, C)]
        assert not getattr(potentials, name).any()
    assert core.log_partition(automaton, potentials) == pytest.approx(N * np.log(L))


def test_types_of_records():
    places = {"column": np.int32, "score": np.float64}
    cells = {"start": np.int32, "end": np.int32, **places}
    entries = {"position": np.int32, "role": np.uint8, **places}
    for dtype, expected in ((core.CELLS, cells), (core.ENTRIES, entries)):
        assert {name: x for name, (x, _) in dtype.fields.items()} == expected


def test_potentials_can_be_pickled():
    potentials = core.Potentials(**arguments())
    found = pickle.loads(pickle.dumps(potentials))
    for name in FIELDS:
        assert np.array_equal(getattr(found, name), getattr(potentials, name))


# --- what is read -----------------------------------------------------------------


def test_a_transposed_array_is_read_in_its_own_order():
    columns_first = np.ascontiguousarray(arguments()["inside"].T)
    assert columns_first.T.flags.f_contiguous
    assert log_z(inside=columns_first.T) == log_z()
    with raises("HS010"):
        log_z(inside=columns_first)


def test_entries_may_be_none_or_empty():
    expected = log_z(entries=None)
    assert log_z(entries=np.zeros(0, core.ENTRIES)) == expected
    potentials = core.Potentials(**(arguments() | {"entries": None}))
    assert core.marginals(AUTOMATON, potentials).gradient.entries is None


def test_inputs_are_not_modified():
    rng = np.random.default_rng(3)
    for _ in range(30):
        problem = random_problem(rng, constrained=True)
        automaton, potentials, constraints = as_core(problem)
        if core.log_partition(automaton, potentials, constraints) == -INF:
            continue  # there is nothing to sample
        before = pickle.dumps((problem, potentials))
        for name in FUNCTIONS:
            call(name, automaton, potentials, constraints)
        assert pickle.dumps((problem, potentials)) == before


def test_gradient_does_not_share_memory_with_the_potentials():
    potentials = core.Potentials(**arguments())
    gradient = core.marginals(AUTOMATON, potentials).gradient
    for name in FIELDS:
        found, given = getattr(gradient, name), getattr(potentials, name)
        assert not np.shares_memory(found, given)
        assert (found.shape, found.dtype) == (given.shape, given.dtype)
    assert isinstance(gradient, core.Potentials)


def test_gradient_keeps_entries_in_their_order():
    rows = [(1, 2, 2, 1.0), (0, 0, 0, 0.5), (1, 2, 2, -2.0), (0, 0, 0, -INF)]
    entries = make_entries(rows)
    potentials = core.Potentials(**(observed_arguments() | {"entries": entries}))
    automaton = make_automaton(L, PATTERNS, OBSERVED)
    found = core.marginals(automaton, potentials).gradient.entries
    assert found.dtype == core.ENTRIES
    for name in ("position", "role", "column"):
        assert np.array_equal(found[name], entries[name])
    assert found["score"][0] == found["score"][2] > 0
    assert found["score"][1] == found["score"][3] == 0


def test_gradient_keeps_cells_in_their_order():
    rows = [(1, 3, 1, 1.0), (0, 1, 0, 0.5), (1, 3, 1, -INF), (0, 1, 0, 2.0)]
    potentials = core.Potentials(**(arguments() | {"cells": make_cells(rows)}))
    cells = core.marginals(AUTOMATON, potentials).gradient.cells
    for name in ("start", "end", "column"):
        assert np.array_equal(cells[name], potentials.cells[name])
    assert cells["score"][1] == cells["score"][3] > 0
    assert cells["score"][0] == cells["score"][2] == 0


# --- errors -------------------------------------------------------------------------
# `test_hostile` has those of all values that are refused.


def test_error_infinite_potential_says_where():
    inside = arguments()["inside"]
    inside[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"inside has nan at .*2.*1"):
        log_z(inside=inside)


@pytest.mark.parametrize("name", FIELDS)
def test_minus_infinity_is_accepted(name):
    values = arguments()[name].copy()
    (values["score"] if name in ("cells", "entries") else values).flat[-1] = -INF
    assert log_z(**{name: values}) < log_z()


@pytest.mark.parametrize("name", ["inside", "start", "end"])
def test_columns_are_of_labels_or_all(name):
    """Of length and tail those of labels alone."""
    for n_columns in (L, C):
        assert np.isfinite(observed_log_z(**{name: np.zeros((N, n_columns))}))
    for wrong in ({name: np.zeros((N, C - 1))}, {"length": np.zeros((C, D))}):
        with raises("HS010"):
            observed_log_z(**wrong)
    with raises("HS010"):
        observed_log_z(tail=np.zeros(C))


def test_errors_in_an_empty_document():
    automaton, potentials = zeros(n_tokens=0, n_labels=1)
    potentials.entries = make_entries([(0, 0, 0, 0.0)])
    with raises("HS025"):
        core.log_partition(automaton, potentials)
    potentials.entries, potentials.cells = None, make_cells([(0, 1, 0, 0.0)])
    with raises("HS013"):
        core.log_partition(automaton, potentials)


@pytest.mark.parametrize("field", FIELDS)
def test_equality_is_that_of_all_arrays(field):
    first, second = core.Potentials(**arguments()), core.Potentials(**arguments())
    assert first == second and first != field and not first == None  # noqa: E711
    changed = getattr(second, field).copy()
    flat = changed["score"] if changed.dtype.names else changed.reshape(-1)
    flat[0] += 1.0
    setattr(second, field, changed)
    assert first != second
    longer = core.Potentials(**{**arguments(), field: changed[1:]})
    assert first != longer


def test_equality_of_constraints():
    allowed = np.ones((N, L), bool)
    given = {"allowed": allowed, "forbidden": [(0, 1, 1)]}
    assert core.Constraints(**given) == core.Constraints(
        allowed.copy(), None, ((0, 1, 1),)
    )
    for other in ({}, {**given, "allowed": ~allowed}, {**given, "forbidden": ()}):
        assert core.Constraints(**given) != core.Constraints(**other)


def test_what_masked_values_and_bad_columns_are_told():
    given = core.Potentials(**arguments())
    given.inside = np.ma.masked_less(given.inside, 1.0)
    with pytest.raises(
        TypeError, match="HS012.*inside has type masked float64.*filled"
    ):
        core.log_partition(AUTOMATON, given)
    given = core.Potentials(**{**arguments(), "cells": make_cells([(0, 1, 7, 0.0)])})
    with pytest.raises(ValueError, match="HS013.*column 7.*column < 2"):
        core.log_partition(AUTOMATON, given)
