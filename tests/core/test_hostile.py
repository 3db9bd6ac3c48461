"""Every public function of the core is right, or refuses with a code and names what is
wrong: hundreds of arguments of wrong types, shapes, kinds of numbers and ranges."""

import decimal
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_hosemi import core

from .problems import DENSE, FUNCTIONS, INF, call, make_cells, make_entries

NAN = float("nan")
LABELS = ("O", "A", "B")
PATTERNS = [("A", "B"), ("^", "A", "B"), ("B", "$")]
OBSERVED = [("A", "B")]
N_TOKENS, N_LABELS, N_COLUMNS = 4, 3, 4
SEGMENTS = [(0, 1, 0), (1, 3, 1), (3, 4, 2)]
AUTOMATON = core.PatternAutomaton(LABELS, PATTERNS, observed=OBSERVED)
GRAMMAR = core.compile_grammar(LABELS, ["A at most once"])


class Hostile:
    """Fails whatever is done with it."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __repr__(self):
        raise RuntimeError("no repr")

    def __len__(self):
        raise RuntimeError("no length")


def sparse_document() -> core.Potentials:
    """Segments are tokens, and observed patterns have entries alone: there are faster
    sweeps for that."""
    rng = np.random.default_rng(1)
    given = core.Potentials.zeros(AUTOMATON, N_TOKENS)
    for name in ("inside", "start", "end"):
        setattr(given, name, rng.normal(size=(N_TOKENS, N_LABELS)))
    given.entries = make_entries([(1, 1, 3, 0.5), (2, 1, 3, -0.5)])
    return given


def document() -> core.Potentials:
    rng = np.random.default_rng(0)
    shapes = {name: (N_TOKENS, N_COLUMNS) for name in ("inside", "start", "end")}
    shapes |= {"length": (N_LABELS, 2), "tail": (N_LABELS,), "pattern": (3,)}
    return core.Potentials(
        **{name: rng.normal(size=shape) for name, shape in shapes.items()},
        cells=make_cells([(0, 3, 1, 0.5), (1, 2, 3, -INF)]),
        entries=make_entries([(1, 0, 3, 0.5), (2, 1, 0, -0.5)]),
    )


def plain_document() -> core.Potentials:
    """Without scores of observed patterns."""
    given = document()
    dense = {name: getattr(given, name)[:, :N_LABELS] for name in ("inside", "start")}
    cells = make_cells([(0, 3, 1, 0.5)])
    end = given.end[:, :N_LABELS]
    return replace(given, **dense, end=end, cells=cells, entries=None)


# --- values ---------------------------------------------------------------------------

WORDS = {"none": None, "str": "1", "bytes": b"1", "object": object(), "dict": {1: 2}}
WORDS |= {"hostile": Hostile(), "class": int, "complex": 1j}
NO_NUMBERS = {**WORDS, "nan": NAN, "inf": INF, "-inf": -INF, "list": [1], "true": True}
NO_NUMBERS |= {"array": np.array([1, 2]), "array of one": np.array([1])}
NO_NUMBERS |= {"2**63": 2**63, "-2**63": -(2**63), "very large": 10**5000}
NO_WHOLE = {**NO_NUMBERS, "float": 1.5, "1.0": 1.0, "float64": np.float64(2.0)}
NO_WHOLE |= {"decimal": decimal.Decimal(1), "-1": -1, "2**31": 2**31}
NO_LISTS = {**WORDS, "int": 5, "float": 0.5}
del NO_LISTS["dict"]


def bad_arrays(good: np.ndarray) -> dict[str, object]:
    """Values in place of an array of scores, each of which must be refused."""
    bad = {**WORDS, "0-d": np.float64(0.0), "empty": [], "flat": good.ravel()[:-1]}
    bad |= {"more": np.stack([good, good]), "less": good[:-1], "ragged": [[1.0], 2.0]}
    bad |= {"object array": good.astype(object), "str array": good.astype(str)}
    bad |= {"complex array": good + 0j, "dates": np.zeros(good.shape, "M8[s]")}
    bad |= {"records": np.zeros(good.shape, core.CELLS), "generator": iter([1.0])}
    masked = np.ma.masked_array(
        good, mask=np.arange(good.size).reshape(good.shape) == 1
    )
    bad["masked"] = masked
    for name, score in {
        "nan": NAN,
        "+inf": INF,
        "1e308": 1e308,
        "-1e308": -1e308,
    }.items():
        bad[name] = good.copy()
        bad[name].flat[-1] = score
    return bad


def good_arrays(good: np.ndarray) -> dict[str, object]:
    """The same numbers in other arrays."""
    spaced = np.zeros([2 * n for n in good.shape])[
        tuple([slice(None, None, 2)] * good.ndim)
    ]
    spaced[:] = good
    fixed = good.copy()
    fixed.flags.writeable = False
    return {
        "list": good.tolist(),
        "Fortran order": np.asfortranarray(good),
        "not contiguous": spaced,
        "reversed": good[::-1].copy()[::-1],
        "read-only": fixed,
        "big-endian": good.astype(">f8"),
        "longdouble": good.astype(np.longdouble),
        "subclass": np.ma.masked_array(good),
        "memoryview": memoryview(fixed),
    }


def bad_records(good: np.ndarray, places: list[tuple[str, int]]) -> dict[str, object]:
    bad = {**WORDS, "list": good.tolist(), "empty list": [], "2-d": good[None]}
    bad |= {
        "floats": np.zeros((2, 4)),
        "0-d": good[0],
        "other": np.zeros(2, [("a", "i4")]),
    }
    names = list(good.dtype.names)
    for name in names:
        kinds = [(x, "f8" if x == name else good.dtype[x]) for x in names]
        bad[f"{name} as float"] = good.astype(kinds)
    del bad["score as float"]
    kinds = [(x, "c16" if x == "score" else good.dtype[x]) for x in names]
    bad["score as complex"] = good.astype(kinds)
    kinds = [(x, ("f8", 2) if x == "score" else good.dtype[x]) for x in names]
    bad["two scores"] = np.zeros(2, kinds)
    for score in (NAN, INF, 1e308, -1e308):
        bad[f"score {score}"] = good.copy()
        bad[f"score {score}"]["score"][1] = score
    wide = [(x, "f8" if x == "score" else "i8") for x in names]
    for name, value in places:
        bad[f"{name} = {value}"] = good.astype(wide)
        bad[f"{name} = {value}"][name][1] = value
    unsigned = [(x, "f8" if x == "score" else "u8") for x in names]
    bad["2**64 - 1"] = good.astype(unsigned)
    bad["2**64 - 1"]["column"][0] = 2**64 - 1
    return bad


def good_records(good: np.ndarray) -> dict[str, object]:
    names = list(good.dtype.names)
    wide = [(x, "f8" if x == "score" else "i8") for x in reversed(names)]
    fixed = good.copy()
    fixed.flags.writeable = False
    packed = good.astype(np.dtype([(x, good.dtype[x]) for x in names]))
    swapped = good.astype(good.dtype.newbyteorder(">"))
    return {
        "wide, in other order": np.array(
            [tuple(row[x] for x in reversed(names)) for row in good], wide
        ),
        "not contiguous": np.repeat(good, 2)[::2],
        "read-only": fixed,
        "packed": packed,
        "big-endian": swapped,
    }


CELL_PLACES = [("start", -1), ("start", 3), ("end", 9), ("end", 2**31), ("column", -1)]
CELL_PLACES += [
    ("column", N_COLUMNS),
    ("column", 2**31),
    ("end", 0),
    ("start", -(2**63)),
]
ENTRY_PLACES = [
    ("position", -1),
    ("position", N_TOKENS),
    ("position", 2**32),
    ("role", 3),
]
ENTRY_PLACES += [("role", -1), ("role", 257), ("column", -1), ("column", N_COLUMNS)]
ALLOWED = np.ones((N_TOKENS, N_LABELS), bool)
ALLOWED[0, 1] = False
BOUNDARY = np.array([0, 1, 0, 2, 0], np.int8)
NO_SEGMENT = {"short": (0, 1), "long": (0, 1, 0, 0), "float": (0, 1.0, 0), "int": 5}
NO_SEGMENT |= {"none": None, "str": "012", "words": ("0", "1", "0"), "nan": (0, NAN, 0)}
NO_SEGMENT |= {"empty": (1, 1, 0), "reversed": (2, 1, 0), "before": (-1, 1, 0)}
NO_SEGMENT |= {"behind": (3, 5, 0), "label": (0, 1, N_LABELS), "2**63": (0, 2**63, 0)}
NO_SEGMENT |= {
    "label -2": (0, 1, -2),
    "huge label": (0, 1, 10**5000),
    "complex": (0, 1j, 0),
}


# --- cases ----------------------------------------------------------------------------


def potentials_cases():
    """(field, what, value, whether it is good)."""
    good = document()
    for name in DENSE:
        array = getattr(good, name)
        yield from ((name, k, v, False) for k, v in bad_arrays(array).items())
        yield from ((name, k, v, True) for k, v in good_arrays(array).items())
    bad = bad_records(good.cells, CELL_PLACES)
    yield from (("cells", k, v, False) for k, v in bad.items())
    yield from (("cells", k, v, True) for k, v in good_records(good.cells).items())
    bad = bad_records(good.entries, ENTRY_PLACES)
    del bad["none"]
    yield from (("entries", k, v, False) for k, v in bad.items())
    yield from (("entries", k, v, True) for k, v in good_records(good.entries).items())


def sparse_cases():
    """The same for those that `sparse_document` has in another form."""
    good = sparse_document()
    for name in DENSE:
        array = getattr(good, name)
        yield from ((name, k, v, False) for k, v in bad_arrays(array).items())
        yield from ((name, k, v, True) for k, v in good_arrays(array).items())
    bad = bad_records(good.entries, ENTRY_PLACES)
    del bad["none"]
    yield from (("entries", k, v, False) for k, v in bad.items())
    yield from (("entries", k, v, True) for k, v in good_records(good.entries).items())


def constraints_cases():
    bad = {**WORDS, "wide": np.ones((N_TOKENS, N_COLUMNS), bool), "flat": [True] * 12}
    bad |= {"floats": ALLOWED * 1.0, "words": ALLOWED.astype(str), "0-d": True}
    del bad["none"]
    yield from (("allowed", k, v, False) for k, v in bad.items())
    good = {"list": ALLOWED.tolist(), "Fortran order": np.asfortranarray(ALLOWED)}
    good |= {
        "uint8": ALLOWED.astype(np.uint8),
        "strided": np.repeat(ALLOWED, 2, 1)[:, ::2],
    }
    yield from (("allowed", k, v, True) for k, v in good.items())
    bad = {
        **WORDS,
        "short": BOUNDARY[:-1],
        "2-d": BOUNDARY[None],
        "list of str": ["0"] * 5,
    }
    bad |= {
        str(x): np.where(BOUNDARY == 2, x, BOUNDARY.astype(int))
        for x in (3, -2, NAN, 0.5, 2**40)
    }
    del bad["none"]
    yield from (("boundary", k, v, False) for k, v in bad.items())
    good = {"list": BOUNDARY.tolist(), "int64": BOUNDARY.astype(int)}
    good |= {"float": BOUNDARY * 1.0, "big-endian": BOUNDARY.astype(">i4")}
    yield from (("boundary", k, v, True) for k, v in good.items())
    yield from (("forbidden", k, v, False) for k, v in NO_LISTS.items())
    yield from (("forbidden", k, [v], False) for k, v in NO_SEGMENT.items())
    good = {
        "array": np.array([(1, 3, 1)]),
        "lists": [[1, 3, 1]],
        "twice": [(1, 3, 1)] * 2,
    }
    yield from (("forbidden", k, v, True) for k, v in good.items())


def ids(cases):
    return [f"{case[0]}-{case[1]}" for case in cases]


POTENTIALS = list(potentials_cases())
SPARSE = list(sparse_cases())
CONSTRAINTS = list(constraints_cases())


def refuses(function, *names: str) -> None:
    """A code, and one of the names."""
    try:
        found = function()
    except (ValueError, TypeError) as e:
        assert re.match(r"\[HS\d{3}\] ", str(e)), repr(e)
        assert any(name in str(e) for name in names), str(e)
    else:
        raise AssertionError(f"accepted: {found!r}")


def as_plain(found):
    """What a function has found, in a form that can be compared."""
    if isinstance(found, core.Marginals):
        gradient = {name: getattr(found.gradient, name).tolist() for name in DENSE}
        return found.log_z, found.tokens.tolist(), gradient, found.segments_above(0.1)
    return found


def is_close(x, y) -> bool:
    if isinstance(x, float):
        return x == pytest.approx(y, rel=1e-9, abs=1e-9)
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(is_close, x, y))
    if isinstance(x, dict):
        return is_close(list(x.items()), list(y.items()))
    return x == y


ALL = (*FUNCTIONS, "score", "add_counts")


def run(name, automaton=AUTOMATON, potentials=None, constraints=None):
    potentials = document() if potentials is None else potentials
    if name == "score":
        return core.score(automaton, potentials, SEGMENTS)
    if name == "add_counts":
        return core.add_counts(automaton, potentials, SEGMENTS, document())
    return call(name, automaton, potentials, constraints)


FIELDS = "field, what, value, is_good"


@pytest.mark.parametrize(FIELDS, POTENTIALS, ids=ids(POTENTIALS))
def test_potentials(field, what, value, is_good):
    check_potentials(document(), ALL, field, what, value, is_good)


@pytest.mark.parametrize("field, what, value, is_good", SPARSE, ids=ids(SPARSE))
def test_sparse_potentials(field, what, value, is_good):
    names = [name for name in ALL if name not in ("score", "add_counts")]
    check_potentials(sparse_document(), names, field, what, value, is_good)


def check_potentials(plain, functions, field, what, value, is_good):
    given = replace(plain, **{field: value})
    for name in functions:
        if is_good:
            found = as_plain(run(name, potentials=given))
            # another sweep may round in another way
            assert is_close(found, as_plain(run(name, potentials=plain))), name
        else:
            names = {"cells": ["cell"], "entries": ["entr"]}.get(field, [field])
            if what == "less":  # of two arrays either one may be right
                names = ["inside", "start", field]
            refuses(lambda name=name: run(name, potentials=given), *names)


@pytest.mark.parametrize(
    "field, what, value, is_good", CONSTRAINTS, ids=ids(CONSTRAINTS)
)
def test_constraints(field, what, value, is_good):
    plain = core.Constraints(ALLOWED, BOUNDARY, [(1, 3, 1)])
    given = replace(plain, **{field: value})
    for name in FUNCTIONS:
        if is_good:
            found = as_plain(run(name, constraints=given))
            assert found == as_plain(run(name, constraints=plain)), name
        else:
            refuses(
                lambda name=name: run(name, constraints=given), f"constraints.{field}"
            )


@pytest.mark.parametrize("what", WORDS)
@pytest.mark.parametrize("name", ALL)
def test_objects(name, what):
    value = WORDS[what]
    refuses(lambda: run(name, automaton=value), "automaton")
    if value is not None and name not in ("score", "add_counts"):
        refuses(lambda: run(name, constraints=value), "constraints")
    args = {"kbest": [3], "sample": [3], "score": [SEGMENTS]}.get(name, [])
    if name == "add_counts":
        args = [SEGMENTS, document()]
    given = [value] if name.endswith("_many") else value
    refuses(lambda: getattr(core, name)(AUTOMATON, given, *args), "potentials")


def test_potentials_of_another_automaton():
    other = core.PatternAutomaton(("O", "A"))
    for name in ALL:
        refuses(lambda name=name: run(name, automaton=other), "inside", "segments")


SCALARS = [
    *[("kbest", "k", what) for what in [*NO_WHOLE, "0"]],
    *[("sample", "n_samples", what) for what in NO_WHOLE],
    *[("sample", "seed", what) for what in NO_WHOLE if what not in ("2**31", "2**63")],
    *[("viterbi_many", "threads", what) for what in [*NO_WHOLE, "0"]],
    *[("marginals_many", "threads", what) for what in [*NO_WHOLE, "0"]],
    *[("viterbi", "method", what) for what in [*NO_WHOLE, "AUTO", "", "auto\n"]],
    *[("mbr", "objective", what) for what in [*NO_WHOLE, "F1", ""]],
    *[("mbr", "expected_f1", what) for what in NO_NUMBERS if what != "none"],
    *[("mbr", "expected_f1", what) for what in ("-0.1", "1.1")],
    *[("marginals", "counts", what) for what in NO_WHOLE if what != "true"],
    *[("zeros", "n_tokens", what) for what in NO_WHOLE],
    *[("zeros", "max_length", what) for what in [*NO_WHOLE, "0"]],
    *[("segments_above", "p", what) for what in [*NO_NUMBERS, "0", "1.1", "-0.1"]],
    *[("best_above", "limit", what) for what in NO_WHOLE],
    *[("segments_above", "outside", what) for what in NO_WHOLE if what != "true"],
    *[
        ("segment", name, what)
        for name in ("start", "end", "label")
        for what in NO_WHOLE
    ],
    *[("add_counts", "times", what) for what in NO_NUMBERS],
]
OTHERS = {"0": 0, "1.1": 1.1, "-0.1": -0.1, "AUTO": "AUTO", "": "", "auto\n": "auto\n"}
OTHERS["F1"] = "F1"


@pytest.mark.parametrize("function, name, what", SCALARS, ids=map("-".join, SCALARS))
def test_scalars(function, name, what):
    value = NO_WHOLE[what] if what in NO_WHOLE else OTHERS[what]
    given, found = document(), core.marginals(AUTOMATON, document())
    segment = {"start": 0, "end": 1, "label": 0}
    functions = {
        "kbest": lambda: core.kbest(AUTOMATON, given, value),
        "zeros": lambda: core.Potentials.zeros(
            AUTOMATON, **{"n_tokens": 1, "max_length": 1, name: value}
        ),
        "sample": lambda: core.sample(
            AUTOMATON, given, **{"n_samples": 1, "seed": 0, name: value}
        ),
        "segments_above": lambda: found.segments_above(**{"p": 0.5, name: value}),
        "best_above": lambda: found.best_above(0.5, value),
        "segment": lambda: found.segment(**{**segment, name: value}),
        "add_counts": lambda: core.add_counts(
            AUTOMATON, given, SEGMENTS, document(), value
        ),
    }
    first = [given] if function.endswith("_many") else given
    default = lambda: getattr(core, function)(AUTOMATON, first, **{name: value})  # noqa: E731
    refuses(functions.get(function, default), name)


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_SEGMENT, "flat", "gap"])
def test_segments_of_marginals(what):
    found = core.marginals(AUTOMATON.without_observed, plain_document())
    values = [NO_LISTS[what]] if what in NO_LISTS else []
    values += [[NO_SEGMENT[what], *SEGMENTS[1:]]] if what in NO_SEGMENT else []
    values += [SEGMENTS[0]] if what == "flat" else []
    for value in values:
        refuses(lambda value=value: found.scores_of(value), "segment", "label")
    for value in [*values, SEGMENTS[1:]]:
        refuses(lambda value=value: found.is_possible(value), "segment", "label")
        refuses(lambda value=value: found.less(value), "segment", "label")


def test_marginals_without_counts_have_no_gradient():
    found = core.marginals(AUTOMATON, document(), counts=False)
    refuses(lambda: found.less(SEGMENTS), "gradient")


def test_scalars_that_are_right():
    given, found = document(), core.marginals(AUTOMATON, document())
    assert core.kbest(AUTOMATON, given, np.int8(2)) == core.kbest(AUTOMATON, given, 2)
    drawn = core.sample(AUTOMATON, given, np.uint8(2), np.int64(7))
    assert drawn == core.sample(AUTOMATON, given, 2, 7)
    assert core.sample(AUTOMATON, given, 1, 2**63)
    for f1 in (0, -0.0, 1, np.float32(0.5)):
        expected = core.mbr(AUTOMATON, given, "f1", expected_f1=float(f1))
        assert core.mbr(AUTOMATON, given, "f1", expected_f1=f1) == expected
    assert found.segments_above(1) == found.segments_above(1.0)
    assert found.segment(np.int64(0), np.uint8(1), np.int8(0)) == found.segment(0, 1, 0)


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_SEGMENT, "gap", "overlap", "missing"])
def test_segments(what):
    more = {"gap": SEGMENTS[1:], "overlap": [(0, 2, 0), *SEGMENTS[1:]]}
    more["missing"] = SEGMENTS[:-1]
    values = [more[what]] if what in more else []
    values += [NO_LISTS[what]] if what in NO_LISTS else []
    values += [[NO_SEGMENT[what], *SEGMENTS[1:]]] if what in NO_SEGMENT else []
    for value in values:
        args = AUTOMATON, document(), value
        refuses(lambda args=args: core.score(*args), "segment", "label")
        refuses(
            lambda args=args: core.add_counts(*args, document()), "segment", "label"
        )


def test_segments_in_other_containers():
    expected = core.score(AUTOMATON, document(), SEGMENTS)
    for given in (np.array(SEGMENTS), tuple(map(list, SEGMENTS)), iter(SEGMENTS)):
        assert core.score(AUTOMATON, document(), given) == expected


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("what", [*WORDS, *DENSE, "cells", "entries"])
def test_gradients_that_cannot_be_added_to(what):
    if what in WORDS:
        args = AUTOMATON, document(), SEGMENTS, WORDS[what]
        refuses(lambda: core.add_counts(*args), "gradient")
        return
    good = getattr(document(), what)
    values = [read_only(good.copy()), good[:-1], None, "x", good.tolist()]
    values[2:3] = [] if what == "entries" else [None]
    if what in DENSE:
        values += [good.astype(np.float32), np.stack([good, good]), good.astype(object)]
        values += [np.asfortranarray(good)] if good.ndim == 2 else []
    for value in values:
        gradient = replace(document(), **{what: value})
        args = AUTOMATON, document(), SEGMENTS, gradient
        refuses(lambda args=args: core.add_counts(*args), "gradient")


@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_lists_of_documents(name):
    function = getattr(core, name)
    for value in [*NO_LISTS.values(), document()]:
        refuses(lambda value=value: function(AUTOMATON, value), "potentials")
    for value in NO_LISTS.values():
        if value is not None:
            given = AUTOMATON, [document()], value
            refuses(lambda given=given: function(*given), "constraints")
    for value in ([], [None, None], ["x"], [1]):
        given = AUTOMATON, [document()], value
        refuses(lambda given=given: function(*given), "constraints")
    assert function(AUTOMATON, []) == []


NO_NAMES = {
    **NO_LISTS,
    "empty": [],
    "ints": [1, 2],
    "twice": ["O", "O"],
    "^": ["O", "^"],
}
NO_NAMES |= {"none in it": ["O", None], "lists": [["O"], ["A"]], "bytes in it": [b"O"]}
NO_PATTERNS = {
    "int": 5,
    "none": None,
    "short": ["A"],
    "unknown": ["A", "X"],
    "empty": [],
}
NO_PATTERNS |= {"ints": [0, 1], "lists": [["A"], ["B"]], "^ last": ["A", "^"]}
NO_PATTERNS |= {"$ first": ["$", "A"], "float": [1.0, NAN], "dict": {1: "A", 2: "B"}}
NO_PATTERNS |= {"very long": ["A"] * 100_000}


NO_NAMES["str"] = "AA"


@pytest.mark.parametrize("what", NO_NAMES)
def test_labels(what):
    value = NO_NAMES[what]
    refuses(lambda: core.PatternAutomaton(value), "labels")
    refuses(lambda: core.compile_grammar(value, []), "labels")


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_PATTERNS])
@pytest.mark.parametrize("name", ["patterns", "observed"])
def test_patterns(name, what):
    for value in [
        *([NO_LISTS[what]] if what in NO_LISTS else []),
        *([[NO_PATTERNS[what]]] if what in NO_PATTERNS else []),
    ]:
        given = {name: value}
        refuses(
            lambda given=given: core.PatternAutomaton(LABELS, **given), "pattern", name
        )


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_WHOLE])
def test_tied(what):
    values = [NO_LISTS[what]] if what in NO_LISTS else []
    values += [[0, 1, NO_WHOLE[what]]] if what in NO_WHOLE else []
    for value in values:
        if value is not None:
            given = {"patterns": PATTERNS, "tied": value}
            refuses(lambda given=given: core.PatternAutomaton(LABELS, **given), "tied")


def test_grammar():
    for value in [x for x in WORDS.values() if x is not None]:
        given = {"grammar": value}
        refuses(lambda given=given: core.PatternAutomaton(LABELS, **given), "grammar")
    other = core.compile_grammar(("O", "B"), [])
    refuses(lambda: core.PatternAutomaton(LABELS, grammar=other), "grammar")
    tables = GRAMMAR.transitions, GRAMMAR.accepting
    for made in (
        (None, None),
        (tables[0] + 100, tables[1]),
        (tables[0][:, :-1], tables[1]),
        (tables[0], tables[1][:-1]),
        (tables[0].astype(float), tables[1]),
        (tables[0][:0], tables[1][:0]),
    ):
        value = core.LabelGrammar(LABELS, (), *made)
        given = {"grammar": value}
        refuses(lambda given=given: core.PatternAutomaton(LABELS, **given), "grammar")


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_NUMBERS])
def test_rules(what):
    values = [NO_LISTS[what]] if what in NO_LISTS else []
    values += [[NO_NUMBERS[what]]] if what in NO_NUMBERS else []
    for value in values:
        refuses(lambda value=value: core.compile_grammar(LABELS, value), "rules")


@pytest.mark.parametrize("what", [*NO_LISTS, *NO_WHOLE])
def test_permits(what):
    values = [NO_LISTS[what]] if what in NO_LISTS else []
    values += [[0, NO_WHOLE[what]]] if what in NO_WHOLE else []
    for value in values:
        refuses(lambda value=value: GRAMMAR.permits(value), "label")


SAVED = json.loads(AUTOMATON.to_bytes())
NO_BYTES = {**WORDS, "empty": b"", "cut": AUTOMATON.to_bytes()[:-2], "number": b"5"}
NO_BYTES |= {"list": b"[1, 2]", "deep": b"[" * 100_000, "not utf-8": b"\xff\xfe\x00"}
NO_BYTES |= {"no labels": b'{"patterns": []}', "str": "text", "float": 0.5}
for key in ("labels", "patterns", "observed", "tied", "rules"):
    for value in (5, "", {}, [5], [[5]], [[[]]], [NAN]):
        NO_BYTES[f"{key} {value}"] = json.dumps({**SAVED, key: value}).encode()
for key in ("patterns", "observed", "tied", "rules"):
    NO_BYTES.pop(f"{key} {{}}")


@pytest.mark.parametrize("what", NO_BYTES)
def test_bytes(what):
    value = NO_BYTES[what]
    names = "bytes", "labels", "pattern", "tied", "rules", "observed"
    refuses(lambda: core.PatternAutomaton.from_bytes(value), *names)


def test_arrays_may_be_shared_and_read_only():
    """One array for several fields, broadcast arrays, and arrays of a file."""
    given = document()
    given.start = given.end = given.inside
    plain = replace(given, start=given.inside.copy(), end=given.inside.copy())
    zeros = replace(given, inside=np.zeros((N_TOKENS, N_COLUMNS)), tail=np.zeros(3))
    wide = replace(
        given, inside=np.broadcast_to(0.0, (4, 4)), tail=np.broadcast_to(0.0, 3)
    )
    for name in ALL:
        found = as_plain(run(name, potentials=given))
        assert found == as_plain(run(name, potentials=plain)), name
        found = as_plain(run(name, potentials=wide))
        assert found == as_plain(run(name, potentials=zeros)), name


def test_arrays_of_a_file(tmp_path):
    given = document()
    for name in DENSE:
        np.save(tmp_path / f"{name}.npy", getattr(given, name))
    mapped = {x: np.load(tmp_path / f"{x}.npy", mmap_mode="r") for x in DENSE}
    for name in ALL:
        found = as_plain(run(name, potentials=replace(given, **mapped)))
        assert found == as_plain(run(name)), name


def test_something_else_with_the_same_attributes():
    given = SimpleNamespace(**vars(document()))
    for name in ALL:
        refuses(lambda name=name: run(name, potentials=given), "potentials")


def test_bounds_of_sizes_say_what_is_too_large():
    long = core.Potentials.zeros(AUTOMATON, 100_000)
    refuses(lambda: core.sample(AUTOMATON, long, 10_000_000), "n_samples")
    refuses(lambda: core.kbest(AUTOMATON, long, 1_000_000), "k")
    refuses(lambda: core.Potentials.zeros(AUTOMATON, 2**27, 2), "n_tokens")
    refuses(lambda: core.Potentials.zeros(AUTOMATON, 1, 2**28), "max_length")
