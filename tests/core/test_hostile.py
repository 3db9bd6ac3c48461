"""Every public function of the core is right, or refuses with a code and names what is
wrong: hundreds of arguments of wrong types, shapes, kinds of numbers and ranges. The
same numbers in other arrays give the same answers."""

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
ALL = (*FUNCTIONS, "score", "add_counts")


class Hostile:
    """Fails whatever is done with it."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __repr__(self):
        raise RuntimeError("no repr")

    def __len__(self):
        raise RuntimeError("no length")


# --- documents of whole numbers, which arrays of every type can hold ------------------


def whole(rng, *shape) -> np.ndarray:
    return np.rint(2.0 * rng.normal(size=shape))


def sparse_document() -> core.Potentials:
    """Segments are tokens, and observed patterns have entries alone: there are faster
    sweeps for that."""
    rng = np.random.default_rng(1)
    given = core.Potentials.zeros(AUTOMATON, N_TOKENS)
    for name in ("inside", "start", "end"):
        setattr(given, name, whole(rng, N_TOKENS, N_LABELS))
    given.entries = make_entries([(1, 1, 3, 1.0), (2, 1, 3, -1.0)])
    return given


def document() -> core.Potentials:
    rng = np.random.default_rng(0)
    shapes = {name: (N_TOKENS, N_COLUMNS) for name in ("inside", "start", "end")}
    shapes |= {"length": (N_LABELS, 2), "tail": (N_LABELS,), "pattern": (3,)}
    return core.Potentials(
        **{name: whole(rng, *shape) for name, shape in shapes.items()},
        cells=make_cells([(0, 3, 1, 1.0), (1, 2, 3, -INF)]),
        entries=make_entries([(1, 0, 3, 1.0), (2, 1, 0, -1.0)]),
    )


def plain_document() -> core.Potentials:
    """Without scores of observed patterns."""
    given = document()
    dense = {name: getattr(given, name)[:, :N_LABELS] for name in ("inside", "start")}
    cells = make_cells([(0, 3, 1, 1.0)])
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


def fixed(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def spaced(array: np.ndarray) -> np.ndarray:
    wide = np.zeros([2 * n for n in array.shape])
    wide[tuple([slice(None, None, 2)] * array.ndim)] = array
    return wide[tuple([slice(None, None, 2)] * array.ndim)]


def coded(code: str, **values) -> dict:
    return {name: (value, code) for name, value in values.items()}


def bad_arrays(good: np.ndarray) -> dict[str, tuple[object, str]]:
    """By name: a value in place of an array of scores, and the code that refuses it."""
    bad = coded("HS012", **WORDS, ragged=[[1.0], 2.0], records=np.zeros(2, core.CELLS))
    types = {"objects": object, "text": str, "complex numbers": complex}
    bad |= coded("HS012", **{x: good.astype(kind) for x, kind in types.items()})
    hidden = np.arange(good.size).reshape(good.shape) == 1
    bad |= coded("HS012", dates=np.zeros(good.shape, "M8[s]"), generator=iter([1.0]))
    bad |= coded("HS012", masked=np.ma.masked_array(good, mask=hidden))
    bad |= coded("HS010", scalar=np.float64(0.0), empty=[], flat=good.ravel()[:-1])
    bad |= coded("HS010", more=np.stack([good, good]), less=good[:-1])
    if good.ndim == 2:
        bad |= coded("HS010", none_left=good[:, :0])
    for n_columns in (2, 5) if len(good) == N_TOKENS else ():  # of labels, or all
        bad |= coded("HS010", **{f"{n_columns}": np.zeros((N_TOKENS, n_columns))})
    for score in (NAN, INF, 1e308, -1e308):
        wrong = good.copy()
        wrong.flat[-1] = score
        bad |= coded("HS011", **{f"score {score}": wrong})
    return bad


def good_arrays(good: np.ndarray) -> dict[str, object]:
    """The same numbers in other arrays."""
    kinds = [">f8", np.longdouble, "f4", "f2"]
    kinds += ["i8", "i4", "i1"] if np.isfinite(good).all() else []
    return {str(kind): good.astype(kind) for kind in kinds} | {
        "list": good.tolist(),
        "Fortran order": np.asfortranarray(good),
        "not contiguous": spaced(good),
        "reversed": good[::-1].copy()[::-1],
        "read-only": fixed(good),
        "subclass": np.ma.masked_array(good),
        "memoryview": memoryview(fixed(good)),
    }


def with_types(good: np.ndarray, names=None, **types) -> np.ndarray:
    """Records in which some fields have other types, or another order."""
    kinds = {
        x: types.get(x, types.get("others", good.dtype[x])) for x in good.dtype.names
    }
    kinds["score"] = types.get("score", "f8")
    names = names or good.dtype.names
    made = np.zeros(len(good), [(x, kinds[x]) for x in names])
    for x in names:
        made[x] = good[x] if good[x].shape == made[x].shape else made[x]
    return made


def bad_records(good: np.ndarray, code: str, places) -> dict[str, tuple[object, str]]:
    """places: Fields and values that are outside of the document, and have the code."""
    bad = coded("HS012", **WORDS, list=good.tolist(), floats=np.zeros((2, 4)))
    bad |= coded("HS012", zero=good[0]["score"], other=np.zeros(2, [("a", "i4")]))
    bad |= coded("HS012", other_records=np.zeros(2, core.CELLS))
    if good.dtype == core.CELLS:
        bad |= coded("HS012", other_records=np.zeros(2, core.ENTRIES))
    for name in good.dtype.names[:-1]:
        bad |= coded("HS012", **{f"{name} as float": with_types(good, **{name: "f8"})})
    bad |= coded("HS012", complex_score=with_types(good, score="c16"))
    bad |= coded("HS010", flat=good[None], two=with_types(good, score=("f8", 2)))
    for score in (NAN, INF, 1e308, -1e308):
        wrong = good.copy()
        wrong["score"][1] = score
        bad |= coded("HS011", **{f"score {score}": wrong})
    for name, value in places:
        wrong = with_types(good, others="i8")
        wrong[name][1] = value
        bad |= coded(code, **{f"{name} = {value}": wrong})
    wrong = with_types(good, others="u8")
    wrong["column"][0] = 2**64 - 1
    return bad | coded(code, unsigned=wrong)


def good_records(good: np.ndarray) -> dict[str, object]:
    return {
        "other order": with_types(good, good.dtype.names[::-1], others="i8"),
        "single precision": with_types(good, others="i8", score="f4"),
        "packed": with_types(good),
        "not contiguous": np.repeat(good, 2)[::2],
        "reversed": good[::-1].copy()[::-1],
        "read-only": fixed(good),
        "big-endian": good.astype(good.dtype.newbyteorder(">")),
    }


CELL_PLACES = [("start", -1), ("start", 3), ("start", -(2**63)), ("start", 2**32)]
CELL_PLACES += [("end", 0), ("end", 1), ("end", N_TOKENS + 1), ("end", 2**31)]
CELL_PLACES += [("column", x) for x in (-1, N_COLUMNS, 2**31, 2**32)]
ENTRY_PLACES = [("position", x) for x in (-1, N_TOKENS, N_TOKENS + 1, 2**32)]
ENTRY_PLACES += [("role", x) for x in (3, -1, 255, 256, 257)]
ENTRY_PLACES += [("column", x) for x in (-1, N_COLUMNS)]
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


# --- arrays ---------------------------------------------------------------------------


def refuses(names, function, *args, code: str = r"HS\d{3}", **more) -> None:
    """With a code, and one of the names, which may be one."""
    names = [names] if isinstance(names, str) else names
    try:
        found = function(*args, **more)
    except (ValueError, TypeError) as e:
        assert re.match(rf"\[{code}\] ", str(e)), repr(e)
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


def run(name, automaton=AUTOMATON, potentials=None, constraints=None):
    potentials = document() if potentials is None else potentials
    if name == "score":
        return core.score(automaton, potentials, SEGMENTS)
    if name == "add_counts":
        return core.add_counts(automaton, potentials, SEGMENTS, document())
    return call(name, automaton, potentials, constraints)


def bad_and_good(plain, field):
    """Values for a field of potentials: those that are refused, and those that are as
    good."""
    good = getattr(plain, field)
    if field == "cells":
        return bad_records(good, "HS013", CELL_PLACES), good_records(good)
    if field == "entries":
        bad = bad_records(good, "HS025", ENTRY_PLACES)
        del bad["none"]
        return bad, good_records(good)
    return bad_arrays(good), good_arrays(good)


# A document, the field, and the functions that read it. Of the sparse document, cells
# are none, and `score` and `add_counts` want a gradient in its own shapes.
FIELDS = [(document, x, ALL) for x in (*DENSE, "cells", "entries")]
FIELDS += [(sparse_document, x, FUNCTIONS) for x in (*DENSE, "entries")]


@pytest.mark.parametrize("make, field, functions", FIELDS)
def test_scores_that_are_refused(make, field, functions):
    for what, (value, code) in bad_and_good(make(), field)[0].items():
        given = replace(make(), **{field: value})
        names = {"cells": ["cell"], "entries": ["entr"]}.get(field, [field])
        if code == "HS010":  # of two arrays either one may be right
            names = ["inside", "start", *names]
        for name in functions:
            print(what, name)  # of what fails
            refuses(names, run, name, potentials=given, code=code)


@pytest.mark.parametrize("make, field, functions", FIELDS)
def test_scores_in_other_arrays(make, field, functions):
    """Another sweep may round in another way."""
    expected = {name: as_plain(run(name, potentials=make())) for name in functions}
    for what, value in bad_and_good(make(), field)[1].items():
        given = replace(make(), **{field: value})
        for name in functions:
            found = as_plain(run(name, potentials=given))
            assert is_close(found, expected[name]), (what, name)


def constraint_cases():
    """By field: values that are refused with a code, and those that are as good."""
    bad = coded("HS012", **WORDS, floats=ALLOWED * 1.0, text=ALLOWED.astype(str))
    bad |= coded("HS016", wide=np.ones((N_TOKENS, N_COLUMNS), bool), flat=[True] * 12)
    bad |= coded("HS016", less=ALLOWED[:-1], narrow=ALLOWED[:, 1:], scalar=True)
    good = [ALLOWED.tolist(), np.asfortranarray(ALLOWED), ALLOWED.astype(np.uint8)]
    yield "allowed", bad, [*good, fixed(ALLOWED), np.repeat(ALLOWED, 2, 1)[:, ::2]]
    bad = coded("HS012", **WORDS, text=["0"] * 5)
    shapes = {"short": BOUNDARY[:-1], "long": np.zeros(6), "2-d": BOUNDARY[None]}
    bad |= coded("HS016", **shapes, empty=[])
    for x in (3, -2, NAN, 0.5, 255, 256, 257, 2**40):
        wrong = np.where(BOUNDARY == 2, x, BOUNDARY.astype(int))
        bad |= coded("HS017", **{str(x): wrong})
    good = [BOUNDARY.tolist(), BOUNDARY.astype(int), BOUNDARY * 1.0]
    yield "boundary", bad, [*good, fixed(BOUNDARY), BOUNDARY.astype(">i4")]
    bad = coded("HS019", **NO_LISTS)
    bad |= coded("HS018", **{x: [segment] for x, segment in NO_SEGMENT.items()})
    yield "forbidden", bad, [np.array([(1, 3, 1)]), [[1, 3, 1]], [(1, 3, 1)] * 2]


@pytest.mark.parametrize("field, bad, good", [*constraint_cases()])
def test_constraints(field, bad, good):
    plain = core.Constraints(ALLOWED, BOUNDARY, [(1, 3, 1)])
    for name in FUNCTIONS:
        expected = as_plain(run(name, constraints=plain))
        for value in good:
            found = as_plain(run(name, constraints=replace(plain, **{field: value})))
            assert found == expected, name
        for what, (value, code) in bad.items():
            if value is None:
                continue
            print(what, name)  # of what fails
            given = {"constraints": replace(plain, **{field: value})}
            where = f"constraints.{field}"
            refuses([where, field], run, name, **given, code=code)


@pytest.mark.parametrize("name", ALL)
def test_objects(name):
    given = SimpleNamespace(**vars(document()))  # with the same attributes
    refuses("potentials", run, name, potentials=given, code="HS019")
    other = core.PatternAutomaton(("O", "A"))
    refuses(["inside", "segments"], run, name, automaton=other)
    for value in WORDS.values():
        refuses("automaton", run, name, automaton=value, code="HS019")
        if value is not None and name not in ("score", "add_counts"):
            args = {"constraints": value}
            refuses("constraints", run, name, **args, code="HS019")
        args = {"kbest": [3], "sample": [3], "score": [SEGMENTS]}.get(name, [])
        if name == "add_counts":
            args = [SEGMENTS, document()]
        given = [value] if name.endswith("_many") else value
        function = getattr(core, name)
        refuses("potentials", function, AUTOMATON, given, *args)


NUMBERS = [what for what in NO_NUMBERS if what != "none"]
FLAGS = [what for what in NO_WHOLE if what != "true"]
SEEDS = [what for what in NO_WHOLE if what not in ("2**31", "2**63")]
SCALARS = [
    ("kbest", "k", "HS026", [*NO_WHOLE, "0"]),
    ("sample", "n_samples", "HS026", NO_WHOLE),
    ("sample", "seed", "HS026", SEEDS),
    ("viterbi_many", "threads", "HS026", [*NO_WHOLE, "0"]),
    ("marginals_many", "threads", "HS026", [*NO_WHOLE, "0"]),
    ("viterbi", "method", "HS023", [*NO_WHOLE, "AUTO", "", "auto\n"]),
    ("mbr", "objective", "HS023", [*NO_WHOLE, "F1", ""]),
    ("mbr", "expected_f1", "HS026", [*NUMBERS, "-0.1", "1.1"]),
    ("marginals", "counts", "HS026", FLAGS),
    ("zeros", "n_tokens", "HS015", NO_WHOLE),
    ("zeros", "max_length", "HS014", [*NO_WHOLE, "0"]),
    ("segments_above", "p", "HS022", [*NO_NUMBERS, "0", "1.1", "-0.1"]),
    ("best_above", "limit", "HS026", NO_WHOLE),
    ("segments_above", "outside", "HS026", FLAGS),
    *[("segment", name, "HS024", NO_WHOLE) for name in ("start", "end")],
    ("segment", "label", "HS021", NO_WHOLE),
    ("add_counts", "times", "HS026", NO_NUMBERS),
]
OTHERS = {"0": 0, "1.1": 1.1, "-0.1": -0.1, "AUTO": "AUTO", "": "", "auto\n": "auto\n"}
OTHERS["F1"] = "F1"


@pytest.mark.parametrize("function, name, code, values", SCALARS)
def test_scalars(function, name, code, values):
    for what in values:
        print(what)  # of what fails
        refuse_scalar(function, name, code, {**NO_WHOLE, **OTHERS}[what])


def refuse_scalar(function, name, code, value):
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
    refuses(name, functions.get(function, default), code=code)


# --- segments, lists, gradients -------------------------------------------------------


def no_paths() -> dict[str, object]:
    """What does not cover the document from left to right."""
    paths = NO_LISTS | {x: [y, *SEGMENTS[1:]] for x, y in NO_SEGMENT.items()}
    gaps = {"gap": SEGMENTS[1:], "missing": SEGMENTS[:-1]}
    return paths | gaps | {"overlap": [(0, 2, 0), *SEGMENTS[1:]]}


def test_segments():
    names = "segment", "label"
    found = core.marginals(AUTOMATON.without_observed, plain_document())
    for what, value in no_paths().items():
        print(what)  # of what fails
        args = AUTOMATON, document(), value
        refuses(names, core.score, *args)
        refuses(names, core.add_counts, *args, document())
        refuses(names, found.is_possible, value)
        refuses(names, found.less, value)
        if what not in ("gap", "missing", "overlap"):
            refuses(names, found.scores_of, value)
    refuses(names, found.scores_of, SEGMENTS[0])


def test_segments_in_other_containers():
    expected = core.score(AUTOMATON, document(), SEGMENTS)
    for given in (np.array(SEGMENTS), tuple(map(list, SEGMENTS)), iter(SEGMENTS)):
        assert core.score(AUTOMATON, document(), given) == expected


def test_marginals_without_counts_have_no_gradient():
    found = core.marginals(AUTOMATON, document(), counts=False)
    refuses("gradient", found.less, SEGMENTS)


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


def test_gradients_that_cannot_be_added_to():
    def refuse(gradient):
        args = AUTOMATON, document(), SEGMENTS, gradient
        refuses("gradient", core.add_counts, *args)

    for value in WORDS.values():
        refuse(value)
    for name in (*DENSE, "cells", "entries"):
        good = getattr(document(), name)
        values = [fixed(good), good[:-1], "x", good.tolist()]
        values += [] if name == "entries" else [None]
        if name in DENSE:
            types = good.astype(np.float32), good.astype(object)
            values += [*types, np.stack([good, good])]
            values += [np.asfortranarray(good)] if good.ndim == 2 else []
        for value in values:
            refuse(replace(document(), **{name: value}))


@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_lists_of_documents(name):
    function = getattr(core, name)
    for value in [*NO_LISTS.values(), document()]:
        refuses("potentials", function, AUTOMATON, value)
    values = [value for value in NO_LISTS.values() if value is not None]
    for value in [*values, [], [None, None], ["x"], [1]]:
        given = AUTOMATON, [document()], value
        refuses("constraints", function, *given)
    assert function(AUTOMATON, []) == []


# --- automata and grammars ------------------------------------------------------------

NO_NAMES = [x for x in NO_LISTS.values() if x != "1"]
NO_NAMES += [[], [1, 2], ["O", "O"], ["O", "^"], ["O", None]]
NO_NAMES += [[["O"], ["A"]], [b"O"], "AA"]
NO_PATTERNS = [5, None, ["A"], ["A", "X"], [], [0, 1], [["A"], ["B"]], ["A", "^"]]
NO_PATTERNS += [["$", "A"], [1.0, NAN], {1: "A", 2: "B"}, ["A"] * 100_000]


def test_labels():
    for value in NO_NAMES:
        refuses("labels", core.PatternAutomaton, value)
        refuses("labels", core.compile_grammar, value, [])


@pytest.mark.parametrize(
    "name, values, named",
    [
        ("patterns", [*NO_LISTS.values(), *([x] for x in NO_PATTERNS)], "pattern"),
        ("observed", [*NO_LISTS.values(), *([x] for x in NO_PATTERNS)], "pattern"),
        ("tied", [*NO_LISTS.values(), *([0, 1, x] for x in NO_WHOLE.values())], "tied"),
        ("grammar", [*WORDS.values(), core.compile_grammar("OB", [])], "grammar"),
    ],
)
def test_automata(name, values, named):
    for value in values:
        if value is None and name in ("tied", "grammar"):
            continue
        given = {"patterns": PATTERNS, name: value}
        build = core.PatternAutomaton
        refuses([named, name], build, LABELS, **given)


def test_grammars_of_wrong_tables():
    steps, ends = GRAMMAR.transitions, GRAMMAR.accepting
    for tables in (
        *((None, None), (steps + 100, ends), (steps[:, :-1], ends), (steps, ends[:-1])),
        *((steps.astype(float), ends), (steps[:0], ends[:0])),
    ):
        value = core.LabelGrammar(LABELS, (), *tables)
        refuses("grammar", core.PatternAutomaton, LABELS, grammar=value)


def test_rules():
    for value in [*NO_LISTS.values(), *([x] for x in NO_NUMBERS.values())]:
        refuses("rules", core.compile_grammar, LABELS, value)
    for value in [*NO_LISTS.values(), *([0, x] for x in NO_WHOLE.values())]:
        refuses("label", GRAMMAR.permits, value)


def test_bytes():
    saved = json.loads(AUTOMATON.to_bytes())
    values = [*WORDS.values(), b"", AUTOMATON.to_bytes()[:-2], b"5", b"[1, 2]", 0.5]
    values += [b"[" * 100_000, b"\xff\xfe\x00", b'{"patterns": []}', "text"]
    for key in ("labels", "patterns", "observed", "tied", "rules"):
        for value in (5, "", {}, [5], [[5]], [[[]]], [NAN]):
            if value != {} or key == "labels":
                values.append(json.dumps({**saved, key: value}).encode())
    names = "bytes", "labels", "pattern", "tied", "rules", "observed"
    for value in values:
        refuses(names, core.PatternAutomaton.from_bytes, value)


# --- arrays that are shared, or in a file ---------------------------------------------


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


def test_bounds_of_sizes_say_what_is_too_large():
    long = core.Potentials.zeros(AUTOMATON, 100_000)
    refuses("n_samples", core.sample, AUTOMATON, long, 10_000_000)
    refuses("k", core.kbest, AUTOMATON, long, 1_000_000)
    refuses("n_tokens", core.Potentials.zeros, AUTOMATON, 2**27, 2)
    refuses("max_length", core.Potentials.zeros, AUTOMATON, 1, 2**28)
