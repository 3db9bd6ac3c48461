"""Potentials and Constraints: what they accept, what they refuse, what they keep."""

import pickle

import numpy as np
import pytest

from spacy_hosemi import core

from ..strategies import n_of, random_problem
from .problems import (
    DENSE,
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


def test_zeros_have_one_explicit_length_unless_said():
    assert core.Potentials.zeros(AUTOMATON, N).length.shape == (L, 1)


def test_cells_dtype():
    fields = {name: dtype for name, (dtype, _) in core.CELLS.fields.items()}
    assert fields == {
        "start": np.int32,
        "end": np.int32,
        "column": np.int32,
        "score": np.float64,
    }


def test_entries_dtype():
    fields = {name: dtype for name, (dtype, _) in core.ENTRIES.fields.items()}
    assert fields == {
        "position": np.int32,
        "role": np.uint8,
        "column": np.int32,
        "score": np.float64,
    }


def test_potentials_can_be_pickled():
    potentials = core.Potentials(**arguments())
    found = pickle.loads(pickle.dumps(potentials))
    for name in FIELDS:
        assert np.array_equal(getattr(found, name), getattr(potentials, name))


# --- which arrays are accepted ----------------------------------------------------


def read_only(values):
    values = values.copy()
    values.setflags(write=False)
    return values


def non_contiguous(values):
    wide = np.repeat(values, 2, axis=-1)
    return wide[..., ::2]


def reversed_twice(values):
    return values[::-1].copy()[::-1]


LAYOUTS = [
    *(read_only, np.asfortranarray, non_contiguous, reversed_twice),
    *(np.float32, np.float16, np.int64, np.int32, np.int8, np.ndarray.tolist),
]


@pytest.mark.parametrize("converted", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", DENSE)
def test_layouts_and_number_types(name, converted):
    def convert(values):
        is_type = isinstance(converted, type)
        return values.astype(converted) if is_type else converted(values)

    assert log_z(**{name: convert(arguments()[name])}) == log_z()
    values = observed_arguments()[name]
    assert observed_log_z(**{name: convert(values)}) == observed_log_z()


@pytest.mark.parametrize("converted", [read_only, non_contiguous, reversed_twice])
@pytest.mark.parametrize("name", ["cells", "entries"])
def test_layouts_of_cells_and_entries(name, converted):
    assert log_z(**{name: converted(arguments()[name])}) == log_z()
    values = observed_arguments()[name]
    assert observed_log_z(**{name: converted(values)}) == observed_log_z()


def test_a_transposed_array_is_read_in_its_own_order():
    columns_first = np.ascontiguousarray(arguments()["inside"].T)
    assert columns_first.T.flags.f_contiguous
    assert log_z(inside=columns_first.T) == log_z()
    with raises("HS010"):
        log_z(inside=columns_first)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("formats", ["i4, i4, i4, f8", "i8, i8, i8, f4"])
def test_number_types_and_alignment_of_cells(formats, align):
    dtype = np.dtype(formats, align=align)
    dtype.names = core.CELLS.names
    assert log_z(cells=arguments()["cells"].astype(dtype)) == log_z()


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("formats", ["i4, u1, i4, f8", "i8, i8, i8, f4"])
def test_number_types_and_alignment_of_entries(formats, align):
    dtype = np.dtype(formats, align=align)
    dtype.names = core.ENTRIES.names
    assert log_z(entries=arguments()["entries"].astype(dtype)) == log_z()


@pytest.mark.parametrize("name", ["cells", "entries"])
def test_order_of_cells_and_entries_does_not_matter(name):
    turned = arguments()[name][::-1]
    assert log_z(**{name: turned}) == pytest.approx(log_z(), rel=1e-14)
    turned = observed_arguments()[name][::-1]
    found = observed_log_z(**{name: turned})
    assert found == pytest.approx(observed_log_z(), rel=1e-14)


def test_entries_may_be_none_or_empty():
    expected = log_z(entries=None)
    assert log_z(entries=np.zeros(0, core.ENTRIES)) == expected
    potentials = core.Potentials(**(arguments() | {"entries": None}))
    assert core.marginals(AUTOMATON, potentials).gradient.entries is None


@pytest.mark.parametrize("converted", [read_only, np.asfortranarray, non_contiguous])
def test_layouts_of_constraints(converted):
    automaton, potentials = AUTOMATON, core.Potentials(**arguments())
    allowed = np.array([[True, False], [True, True], [False, True]])
    boundary = np.array([0, 2, 1, 0], dtype=np.int8)
    expected = core.log_partition(
        automaton, potentials, core.Constraints(allowed, boundary)
    )
    constraints = core.Constraints(converted(allowed), converted(boundary))
    assert core.log_partition(automaton, potentials, constraints) == expected


def test_constraints_as_lists_and_other_integers():
    automaton, potentials = AUTOMATON, core.Potentials(**arguments())
    arrays = core.Constraints(
        np.array([[True, False], [True, True], [False, True]]),
        np.array([0, 2, -1, 0], dtype=np.int8),
        [(0, 1, -1)],
    )
    lists = core.Constraints(
        [[True, False], [True, True], [False, True]],
        [0, 2, -1, 0],
        np.array([[0, 1, -1]]),
    )
    expected = core.log_partition(automaton, potentials, arrays)
    assert core.log_partition(automaton, potentials, lists) == expected


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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_read_only_arrays(name):
    potentials = core.Potentials(**observed_arguments())
    for field in FIELDS:
        getattr(potentials, field).setflags(write=False)
    allowed, boundary = np.ones((N, L), dtype=bool), np.zeros(N + 1, dtype=np.int8)
    allowed.setflags(write=False)
    boundary.setflags(write=False)
    automaton = make_automaton(L, PATTERNS, OBSERVED)
    call(name, automaton, potentials, core.Constraints(allowed, boundary))


def test_gradient_does_not_share_memory_with_the_potentials():
    potentials = core.Potentials(**arguments())
    gradient = core.marginals(AUTOMATON, potentials).gradient
    for name in FIELDS:
        assert not np.shares_memory(getattr(gradient, name), getattr(potentials, name))


def test_gradient_has_the_shapes_of_the_potentials():
    potentials = core.Potentials(**arguments())
    gradient = core.marginals(AUTOMATON, potentials).gradient
    assert isinstance(gradient, core.Potentials)
    for name in FIELDS:
        assert getattr(gradient, name).shape == getattr(potentials, name).shape
        assert getattr(gradient, name).dtype == getattr(potentials, name).dtype


def test_gradient_has_the_shapes_of_any_potentials():
    rng = np.random.default_rng(4)
    for _ in range(n_of(100)):
        problem = random_problem(rng)
        automaton, potentials, constraints = as_core(problem)
        found = core.marginals(automaton, potentials, constraints)
        expected = gradient_fields(potentials)
        for name, counts in gradient_fields(found.gradient).items():
            assert counts.shape == expected[name].shape, name
        assert found.tokens.shape == (problem.n_tokens, problem.n_labels)
        assert (found.gradient.entries is None) == (potentials.entries is None)


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


# --- errors: shapes ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name, shape",
    [
        *(("inside", shape) for shape in [(N, L - 1), (N, L + 1), (N,), (N, L, 1)]),
        *(("start", shape) for shape in [(N - 1, L), (N + 1, L), (N, L + 1), (0, L)]),
        *(("end", shape) for shape in [(N - 1, L), (N + 1, L), (N, L - 1), (N * L,)]),
        *(("length", shape) for shape in [(L - 1, D), (L + 1, D), (L,), (L, 0)]),
        *(("tail", shape) for shape in [(L - 1,), (L + 1,), (L, 1), ()]),
        *(("pattern", shape) for shape in [(M - 1,), (M + 1,), (0,), (M, 1)]),
    ],
)
def test_error_shape(name, shape):
    with raises("HS010"):
        log_z(**{name: np.zeros(shape)})


@pytest.mark.parametrize("name", ["cells", "entries"])
def test_error_shape_of_cells_and_entries(name):
    with raises("HS010"):
        log_z(**{name: arguments()[name][None]})


@pytest.mark.parametrize("name", ["inside", "start", "end"])
@pytest.mark.parametrize("n_columns", [L - 1, L, L + 1, C, C + 1])
def test_error_shape_with_observed_columns(name, n_columns):
    """Those of the labels, or all: nothing between."""
    if n_columns in (L, C):
        assert np.isfinite(observed_log_z(**{name: np.zeros((N, n_columns))}))
    else:
        with raises("HS010"):
            observed_log_z(**{name: np.zeros((N, n_columns))})


@pytest.mark.parametrize("name", ["length", "tail"])
def test_error_length_and_tail_have_no_observed_columns(name):
    shape = {"length": (C, D), "tail": (C,)}[name]
    with raises("HS010"):
        observed_log_z(**{name: np.zeros(shape)})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_checks_shapes(function):
    potentials = core.Potentials(**(arguments() | {"tail": np.zeros(L + 1)}))
    with raises("HS010"):
        call(function, AUTOMATON, potentials)


# --- errors: values ---------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, INF, -INF])
@pytest.mark.parametrize("name", FIELDS)
def test_only_minus_infinity_is_accepted(name, value):
    values = arguments()[name].copy()
    (values["score"] if name in ("cells", "entries") else values).flat[-1] = value
    if value == -INF:
        assert log_z(**{name: values}) < log_z()
    else:
        with raises("HS011"):
            log_z(**{name: values})


def test_error_infinite_potential_says_where():
    inside = arguments()["inside"]
    inside[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"inside has nan at .*2.*1"):
        log_z(inside=inside)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", ["text", object(), [["x", "y"]] * N])
def test_error_type(name, value):
    with raises("HS012"):
        log_z(**{name: value})


@pytest.mark.parametrize("name", ["cells", "entries"])
def test_error_cells_and_entries_without_fields(name):
    with raises("HS012"):
        log_z(**{name: np.zeros((2, 4))})


def test_error_entries_with_the_fields_of_cells():
    with raises("HS012"):
        log_z(entries=arguments()["cells"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_checks_numbers(function):
    potentials = core.Potentials(**(arguments() | {"tail": np.full(L, np.nan)}))
    with raises("HS011"):
        call(function, AUTOMATON, potentials)


@pytest.mark.parametrize("name", ["inside", "start", "end"])
@pytest.mark.parametrize("value", [np.nan, INF])
def test_error_infinite_score_in_an_observed_column(name, value):
    scores = np.zeros((N, C))
    scores[1, C - 1] = value
    with raises("HS011"):
        observed_log_z(**{name: scores})


@pytest.mark.parametrize("cell", [(0, 1, 0), (0, N, L - 1), (N - 1, N, 0)])
def test_cells_inside_the_document(cell):
    assert np.isfinite(log_z(cells=make_cells([(*cell, 1.0)])))


@pytest.mark.parametrize(
    "cell",
    [
        *[(-1, 1, 0), (0, N + 1, 0), (N, N + 1, 0)],
        *[(1, 1, 0), (2, 1, 0), (N, N, 0), (0, 0, 0)],
        *[(0, 1, -1), (0, 1, L)],
    ],
)
def test_error_cell_outside_the_document(cell):
    with raises("HS013"):
        log_z(cells=make_cells([(0, 1, 0, 0.0), (*cell, 0.0)]))


def test_cells_of_observed_columns():
    assert np.isfinite(observed_log_z(cells=make_cells([(0, 1, C - 1, 1.0)])))
    with raises("HS013"):
        observed_log_z(cells=make_cells([(0, 1, C, 1.0)]))


@pytest.mark.parametrize("entry", [(0, 0, 0), (N - 1, 2, C - 1), (1, 1, L)])
def test_entries_inside_the_document(entry):
    assert np.isfinite(observed_log_z(entries=make_entries([(*entry, 1.0)])))


@pytest.mark.parametrize(
    "entry",
    [
        *[(-1, 0, 0), (N, 0, 0), (N + 1, 2, 0)],
        *[(0, 3, 0), (0, 255, 0)],
        *[(0, 0, -1), (0, 0, C), (N - 1, 1, C + 1)],
    ],
)
def test_error_entry_outside_the_document(entry):
    with raises("HS025"):
        observed_log_z(entries=make_entries([(0, 0, 0, 0.0), (*entry, 0.0)]))


@pytest.mark.parametrize("entry", [(0, 256, 0), (0, -1, 0), (2**32, 0, 0)])
def test_numbers_of_entries_do_not_wrap_around(entry):
    dtype = np.dtype("i8, i8, i8, f8")
    dtype.names = core.ENTRIES.names
    with raises("HS025"):
        log_z(entries=np.array([(*entry, 0.0)], dtype=dtype))


@pytest.mark.parametrize("cell", [(2**32, 2**32 + 1, 0), (0, 1, 2**32)])
def test_numbers_of_cells_do_not_wrap_around(cell):
    dtype = np.dtype("i8, i8, i8, f8")
    dtype.names = core.CELLS.names
    with raises("HS013"):
        log_z(cells=np.array([(*cell, 0.0)], dtype=dtype))


def test_error_entry_in_an_empty_document():
    automaton, potentials = zeros(n_tokens=0, n_labels=1)
    potentials.entries = make_entries([(0, 0, 0, 0.0)])
    with raises("HS025"):
        core.log_partition(automaton, potentials)


def test_error_cell_in_an_empty_document():
    automaton, potentials = zeros(n_tokens=0, n_labels=1)
    potentials.cells = make_cells([(0, 1, 0, 0.0)])
    with raises("HS013"):
        core.log_partition(automaton, potentials)


def test_error_max_length():
    assert core.Potentials.zeros(AUTOMATON, N, max_length=1).length.shape == (L, 1)
    with raises("HS014"):
        core.Potentials.zeros(AUTOMATON, N, max_length=0)


def test_error_n_tokens():
    assert core.Potentials.zeros(AUTOMATON, 0).inside.shape == (0, L)
    with raises("HS015"):
        core.Potentials.zeros(AUTOMATON, -1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_error_automaton(function):
    with raises("HS019"):
        call(function, ["O", "A"], core.Potentials(**arguments()))


# --- errors: constraints ----------------------------------------------------------


def constrained(**given) -> float:
    constraints = core.Constraints(**given)
    return core.log_partition(AUTOMATON, core.Potentials(**arguments()), constraints)


@pytest.mark.parametrize("shape", [(N - 1, L), (N + 1, L), (N, L - 1), (N, L + 1)])
def test_error_shape_of_allowed(shape):
    assert constrained(allowed=np.ones((N, L), dtype=bool)) == log_z()
    with raises("HS016"):
        constrained(allowed=np.ones(shape, dtype=bool))


@pytest.mark.parametrize("shape", [(N,), (N + 2,), (0,), (N + 1, 1)])
def test_error_shape_of_boundary(shape):
    assert constrained(boundary=np.zeros(N + 1, dtype=np.int8)) == log_z()
    with raises("HS016"):
        constrained(boundary=np.zeros(shape, dtype=np.int8))


@pytest.mark.parametrize("value", [-2, 3])
def test_error_value_of_boundary(value):
    for accepted in (-1, 0, 1, 2):
        constrained(boundary=np.array([0, accepted, 0, 0], dtype=np.int8))
    with raises("HS017"):
        constrained(boundary=np.array([0, value, 0, 0], dtype=np.int8))


@pytest.mark.parametrize("value", [256, 257, 255])
def test_boundary_values_do_not_wrap_around(value):
    with raises("HS017"):
        constrained(boundary=np.array([0, value, 0, 0]))


@pytest.mark.parametrize("segment", [(0, N, -1), (0, N, L - 1), (N - 1, N, 0)])
def test_forbidden_inside_the_document(segment):
    assert constrained(forbidden=[segment]) < log_z()


@pytest.mark.parametrize(
    "segment",
    [
        *[(-1, 1, 0), (0, N + 1, 0), (1, 1, 0), (2, 1, 0), (N, N, 0)],
        *[(0, 1, -2), (0, 1, L), (0, 1), (0, 1, 0, 0)],
    ],
)
def test_error_forbidden(segment):
    with raises("HS018"):
        constrained(forbidden=[segment])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_checks_constraints(function):
    constraints = core.Constraints(boundary=np.zeros(N, dtype=np.int8))
    with raises("HS016"):
        call(function, AUTOMATON, core.Potentials(**arguments()), constraints)


BEST = {
    "viterbi": lambda found: found[0],
    "viterbi_many": lambda found: found[0],
    "kbest": lambda found: found[0][0],
    "sample": lambda found: found[0],
    "mbr": lambda found: found,
}


@pytest.mark.parametrize("function", BEST)
def test_every_function_obeys_constraints(function):
    allowed = np.array([[True, False], [False, True], [True, False]])
    constraints = core.Constraints(allowed)
    found = call(function, AUTOMATON, core.Potentials(**arguments()), constraints)
    assert BEST[function](found) == [(0, 1, 0), (1, 2, 1), (2, 3, 0)]
