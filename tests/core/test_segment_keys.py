"""Features of segments: against tuples of values and a stack of brackets."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from spacy_hosemi.features.kernels.segment_keys import (
    ALL,
    AT,
    BALANCED,
    NEITHER,
    OF_SEGMENT,
    OPEN_BOTH,
    OPEN_BRACKETS,
    OPEN_QUOTES,
    RUNS,
    balance,
    match_keys,
    segment_keys,
)

# Few values, so that segments agree; 0 is absent.
values_V = st.sampled_from([0, 0, 10, 11, 2**63])
atoms = st.tuples(
    st.sampled_from([AT, ALL, RUNS, OF_SEGMENT]), st.integers(0, 1), st.integers(-3, 3)
)


@st.composite
def problems(draw):
    """values [n, 2], segments, values of segments [K, 2], templates."""
    n = draw(st.integers(0, 5))
    values = [[draw(values_V) for _ in range(2)] for _ in range(n)]
    every = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    segments = draw(st.lists(st.sampled_from(every), max_size=8)) if every else []
    of_segment = [[draw(values_V) for _ in range(2)] for _ in segments]
    templates = draw(st.lists(st.lists(atoms, min_size=1, max_size=3), max_size=4))
    return values, segments, of_segment, templates


def find_keys(values, segments, of_segment, templates) -> np.ndarray:
    starts, ends = np.array(segments, np.int32).reshape(-1, 2).T.copy()
    flat = [atom for template in templates for atom in template]
    kinds, columns, offsets = zip(*flat) if flat else ((), (), ())
    return segment_keys(
        np.array(values, np.uint64).reshape(-1, 2),
        starts,
        ends,
        np.array(of_segment, np.uint64).reshape(-1, 2),
        np.arange(1, len(templates) + 1, dtype=np.uint64) * np.uint64(2**40 + 1),
        np.cumsum([0, *map(len, templates)], dtype=np.int32),
        np.array(kinds, np.uint8),
        np.array(columns, np.int32),
        np.array(offsets, np.int32),
    )


def read(atom, column_of_tokens, of_segment):
    """What an atom reads of a segment; None: nothing."""
    kind, column, offset = atom
    if kind == OF_SEGMENT:
        return of_segment[column] or None
    tokens = column_of_tokens[column]
    if kind == AT:
        is_there = -len(tokens) <= offset < len(tokens)
        return tokens[offset] or None if is_there else None
    if not any(tokens):
        return None
    if kind == ALL:
        return tuple(tokens)
    borders = [i for i in range(len(tokens)) if i == 0 or tokens[i] != tokens[i - 1]]
    return tuple(tokens[i] for i in borders)


@given(problems())
def test_equal_keys_are_equal_values(problem):
    values, segments, of_segment, templates = problem
    keys = find_keys(*problem)
    assert keys.shape == (len(segments), len(templates))
    values_of, key_of = {}, {}
    for (k, t), key in np.ndenumerate(keys):
        i, j = segments[k]
        tokens = [[row[column] for row in values[i:j]] for column in range(2)]
        found = tuple(read(atom, tokens, of_segment[k]) for atom in templates[t])
        assert (key == 0) == (None in found)
        if key:
            assert values_of.setdefault(key, (t, found)) == (t, found)
            assert key_of.setdefault((t, found), key) == key


def test_sequences_end_somewhere():
    """Two atoms are not one long sequence."""
    values = [[10, 11], [11, 10]]
    templates = [[(ALL, 0, 0), (ALL, 1, 0)]]
    first = find_keys(values, [(0, 2)], [[0, 0]], templates)
    second = find_keys([[10, 10], [11, 11]], [(0, 2)], [[0, 0]], templates)
    assert first != second


def stack_of(text) -> int:
    """What the marks of a text are, character by character; one kind of brackets."""
    stack, is_broken = [], False
    for c in text:
        if c == "(":
            stack.append(c)
        elif c == ")":
            is_broken |= not stack
            stack = stack[:-1]
    is_open, is_odd = is_broken or bool(stack), text.count("'") % 2 == 1
    if not set(text) & set("()'"):
        return NEITHER
    return {
        (False, False): BALANCED,
        (True, False): OPEN_BRACKETS,
        (False, True): OPEN_QUOTES,
        (True, True): OPEN_BOTH,
    }[is_open, is_odd]


def least_depth(word) -> int:
    depths = [word[:k].count("(") - word[:k].count(")") for k in range(len(word) + 1)]
    return min(depths)


def find_balance(words, segments) -> list[int]:
    starts, ends = np.array(segments, np.int32).reshape(-1, 2).T.copy()
    columns = (
        [word.count("(") - word.count(")") for word in words],
        [least_depth(word) for word in words],
        [word.count("'") for word in words],
        [bool(set(word) & set("()'")) for word in words],
    )
    return balance(starts, ends, *(np.array(c, np.int32) for c in columns)).tolist()


@given(st.lists(st.text("()'x", max_size=4), max_size=6))
def test_balance_is_what_a_stack_says(words):
    n = len(words)
    segments = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    expected = [stack_of("".join(words[i:j])) for i, j in segments]
    assert find_balance(words, segments) == expected


@given(st.data())
def test_keys_of_matches(data):
    """Those of templates that read the value of a segment, one match at a time."""
    around = st.integers(0, 2)
    value = st.integers(11, 16)
    match = st.tuples(st.integers(0, 2), around, st.integers(1, 3), around, value)
    matches = data.draw(st.lists(match, max_size=6))
    of_lists = data.draw(st.lists(st.integers(0, 2), max_size=5))
    seeds = np.arange(7, 7 + len(of_lists), dtype=np.uint64)
    expected, arrays = [], [[] for _ in range(6)]
    for of_list, before, size, after, value in matches:
        start, end = 5, 5 + size
        one = (of_list, start - before, start, end, end + after, value)
        for array, x in zip(arrays, one, strict=True):
            array.append(x)
        for i in range(start - before, start + 1):
            for j in range(end, end + after + 1):
                for t, seed in enumerate(seeds):
                    if of_lists[t] == of_list:
                        expected.append((i, j, mix_of(seed, value), t, value))
    ints = [np.array(x, np.int32) for x in arrays[:5]]
    value, lists = np.array(arrays[5], np.uint64), np.array(of_lists, np.int32)
    found = match_keys(*ints, value, seeds, lists)
    assert list(zip(*(x.tolist() for x in found), strict=True)) == expected


def mix_of(seed, value):
    """The key of a template with one atom."""
    one = np.array([[value]], np.uint64)
    plan = [0, 1], [OF_SEGMENT], [0], [0]
    types = np.int32, np.uint8, np.int32, np.int32
    arrays = [np.array(x, of) for x, of in zip(plan, types, strict=True)]
    segment = np.array([0], np.int32), np.array([1], np.int32)
    seeds = np.array([seed], np.uint64)
    return segment_keys(one, *segment, one, seeds, *arrays)[0, 0]
