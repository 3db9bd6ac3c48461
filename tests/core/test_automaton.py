"""Label patterns, their states, and how an automaton is stored."""

import copy
import pickle
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi.core import PatternAutomaton

from ..strategies import observed_sets, pattern_sets
from .problems import make_automaton, raises

PATTERNS = [("O", "A"), ("A", "B", "A"), ("^", "A", "B"), ("B", "$"), ("^", "$")]
OBSERVED = [("B", "A"), ("O", "A"), ("^", "B", "B")]


@pytest.mark.parametrize(
    "labels, patterns, expected",
    [
        ("O", [], 2),
        ("OAB", [], 4),
        ("OA", [("O", "A"), ("A", "O"), ("O", "O"), ("A", "A")], 3),
        ("OA", [("A", "A", "A", "A")], 5),
        ("OA", [("A", "O", "A"), ("A", "O", "O"), ("A", "O", "$")], 4),
        ("OA", [("^", "A", "O", "$")], 5),
        ("OA", [("^", "$")], 3),
        # ^  O  A  B, then the proper prefixes A B (of A B A) and ^ A (of ^ A B);
        # the prefix O of O A and the prefix B of B $ are labels
        ("OAB", PATTERNS, 6),
    ],
)
def test_number_of_states(labels, patterns, expected):
    assert PatternAutomaton(list(labels), patterns).n_states == expected


@given(pattern_sets(n_labels=3), observed_sets(n_labels=3, longest=4))
def test_states_are_the_proper_prefixes(patterns, observed):
    """Those of all patterns, and no more than those and the observed."""
    for some in (observed[:0], observed):
        prefixes = {z[:k] for z in patterns + some for k in range(1, len(z))}
        least = {("^",), (0,), (1,), (2,)} | prefixes
        automaton = make_automaton(3, patterns, some)
        assert len(least) <= automaton.n_states <= len(least | set(some))
        assert automaton.n_columns == 3 + len(some)


def test_names_are_kept_in_order_and_may_be_any_iterable():
    automaton = PatternAutomaton(["O", "B", "A"], PATTERNS, observed=OBSERVED)
    assert list(automaton.labels) == ["O", "B", "A"]
    assert [tuple(pattern) for pattern in automaton.patterns] == PATTERNS
    assert [tuple(pattern) for pattern in automaton.observed] == OBSERVED
    assert list(PatternAutomaton(["O", "B", "A"], PATTERNS).observed) == []
    for kind in (tuple, iter, lambda names: list(map(list, names))):
        given = kind(PATTERNS), kind(OBSERVED)
        again = PatternAutomaton(iter("OBA"), given[0], observed=given[1])
        assert again.to_bytes() == automaton.to_bytes()


@given(observed_sets(n_labels=3, longest=4), st.data())
def test_observed_read_finds_each_pattern_that_a_segment_completes(observed, data):
    automaton = make_automaton(3, [], observed)
    sequence = st.lists(st.integers(0, 2), max_size=6)
    documents = data.draw(st.lists(sequence, max_size=4))
    expected, k = [], 0
    for labels in documents:
        names = ["^"]
        for y in labels:
            names.append(automaton.labels[y])
            for c, pattern in enumerate(automaton.observed):
                if names[-len(pattern) :] == [*pattern]:
                    expected.append((k, 3 + c))
            k += 1
    first = np.cumsum([0, *map(len, documents)])
    found = automaton.observed_read(np.array(sum(documents, []), np.int32), first)
    assert sorted(zip(*(x.tolist() for x in found))) == expected


# --- storage ----------------------------------------------------------------------


def from_bytes(automaton):
    return PatternAutomaton.from_bytes(automaton.to_bytes())


def from_pickle(automaton):
    return pickle.loads(pickle.dumps(automaton))


@pytest.mark.parametrize("copied", [from_bytes, from_pickle, copy.deepcopy])
@pytest.mark.parametrize(
    "labels, patterns",
    [
        (["O"], []),
        (["O", "A", "B"], PATTERNS),
        (["O", "B", "A"], PATTERNS[::-1]),
        (["", "a b", "a,b", 'a"b', "é\n\0", "名", "\\"], [("名", "é\n\0", "")]),
    ],
)
def test_round_trip(copied, labels, patterns):
    found = copied(PatternAutomaton(labels, patterns))
    assert_same(found, PatternAutomaton(labels, patterns))
    assert list(found.labels) == labels
    assert [tuple(pattern) for pattern in found.patterns] == patterns


def assert_same(found, automaton):
    assert isinstance(automaton.to_bytes(), bytes)
    assert found.to_bytes() == automaton.to_bytes()
    assert found.observed == automaton.observed
    assert found.n_states == automaton.n_states
    assert found.n_columns == automaton.n_columns


@given(pattern_sets(n_labels=4), observed_sets(n_labels=4))
def test_round_trip_of_any_patterns(patterns, observed):
    automaton = make_automaton(4, patterns, observed)
    assert_same(from_bytes(automaton), automaton)


def test_bytes_tell_automata_apart():
    automata = [PatternAutomaton(["A", "O"]), PatternAutomaton(["OA"])]
    pairs = [("O", "A"), ("A", "O")]
    for some, others in product([[], pairs[:1], pairs, pairs[::-1]], repeat=2):
        automata.append(PatternAutomaton(["O", "A"], some, observed=others))
    assert len({automaton.to_bytes() for automaton in automata}) == 2 + 16


# --- errors -----------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[], ["O", "O"], ["O", "^"], ["$"]])
def test_error_labels(labels):
    assert PatternAutomaton(["O"]).n_columns == 1
    with raises("HS001"):
        PatternAutomaton(labels)


@pytest.mark.parametrize(
    "code, patterns",
    [
        ("HS002", [(), ("A",), ("^",)]),
        ("HS003", [("O", "C"), ("C", "O"), ("^", "a"), ("O", "")]),
        ("HS004", [("O", "^"), ("$", "O"), ("O", "^", "O"), ("O", "$", "O")]),
        ("HS004", [("^", "^")]),
        ("HS005", [("O", "A")]),
    ],
)
@pytest.mark.parametrize("name", ["patterns", "observed"])
def test_error_patterns(name, code, patterns):
    for pattern in patterns:
        if name == "observed" and "$" in pattern:
            continue
        with raises(code):
            PatternAutomaton(["O", "A"], **{name: [("O", "A"), ("A", "A"), pattern]})


def test_patterns_that_are_sound():
    for pattern in (("O", "O"), ("^", "O"), ("O", "$"), ("^", "$"), ("^", "O", "$")):
        assert PatternAutomaton(["O", "A"], [pattern]).patterns == (pattern,)
        if pattern[-1] == "$":
            with raises("HS006"):
                PatternAutomaton(["O", "A"], observed=[("O", "A"), pattern])
    with raises("HS002"):
        PatternAutomaton(["O", "A"], [("$",)])
    both = [("A", "A"), ("O", "A")]
    assert PatternAutomaton(["O", "A"], both, observed=both[::-1]).n_columns == 4


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"[1, 2]", b"null"])
def test_error_bytes_of_something_else(damage):
    with raises("HS007"):
        PatternAutomaton.from_bytes(damage)


def test_error_bytes_cut_off():
    whole = PatternAutomaton(["O", "A"], [("O", "A")]).to_bytes()
    for size in range(len(whole)):
        with raises("HS007"):
            PatternAutomaton.from_bytes(whole[:size])
