"""Rows of features: against dictionaries, loops and dense updates."""

import pickle
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi.features.kernels.key_table import RowTable, template_keys
from spacy_hosemi.model.kernels.gather import (
    gather,
    gather_cells,
    gather_merged_cells,
    scatter,
    scatter_cells,
    touched_rows,
)
from spacy_hosemi.model.kernels.sparse_steps import adagrad_rows
from spacy_hosemi.model.weights.online import SparseAdagrad

# Multiples of 2^32 share their lower bits: they collide in every table of this size.
uint64s = st.integers(1, 2**64 - 1)
keys_R = st.lists(
    uint64s | st.integers(1, 30) | st.integers(1, 30).map(lambda k: k << 32),
    unique=True,
    max_size=60,
)


def read(first, rows) -> list[list[int]]:
    return [rows[i:j].tolist() for i, j in zip(first[:-1], first[1:], strict=True)]


@given(keys_R, st.data())
def test_row_table_is_a_dictionary(keys, data):
    table = RowTable(np.array(keys, np.uint64))
    row_of = {key: row for row, key in enumerate(keys)}
    asked = st.sampled_from([0, 5, 1 << 32, *keys]) | uint64s
    n, width = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 5))
    size = n * width
    flat = data.draw(st.lists(asked, min_size=size, max_size=size))
    found = table.rows(np.array(flat, np.uint64).reshape(n, width))
    expected = [
        [row_of[key] for key in flat[i * width : (i + 1) * width] if key in row_of]
        for i in range(n)
    ]
    assert len(table) == len(keys)
    assert read(*found) == expected
    numbers = table.find(np.array(flat, np.uint64))
    assert numbers.dtype == np.int32
    assert numbers.tolist() == [row_of.get(key, -1) for key in flat]


def test_arrays_are_only_read():
    keys = np.array([7, 3, 2**64 - 1], np.uint64)
    keys.setflags(write=False)
    table = pickle.loads(pickle.dumps(RowTable(keys)))
    assert table.find(keys).tolist() == table.rows(keys[None])[1].tolist() == [0, 1, 2]
    assert RowTable(keys[:0]).find(keys).tolist() == [-1] * 3
    assert table.find(keys[:0]).shape == (0,)
    with pytest.raises(ValueError, match="read-only"):
        table.keys[0] = 1


@given(keys_R, st.lists(st.integers(0, 20), max_size=5))
def test_a_table_that_is_extended_is_one_of_all_keys(keys, sizes):
    keys = np.array(keys, np.uint64)
    borders = np.cumsum([0, *sizes]).clip(max=len(keys)).tolist()
    table = RowTable(keys[:0])
    for i, j in zip(borders, [*borders[1:], len(keys)]):
        table.extend(keys[i:j])
        assert table.find(keys[:j]).tolist() == list(range(j))
        assert table.find(keys[j:]).tolist() == [-1] * (len(keys) - j)
    assert table.keys.tolist() == keys.tolist()


@given(keys_R, keys_R)
def test_a_copy_is_extended_alone(keys, others):
    keys, others = np.array(keys, np.uint64), np.array(others, np.uint64)
    others = others[~np.isin(others, keys, kind="sort")]
    table = RowTable(keys)
    copy = table.copy()
    copy.extend(others)
    assert copy.keys.tolist() == [*keys, *others]
    assert table.keys.tolist() == keys.tolist()
    assert table.find(others).tolist() == [-1] * len(others)
    assert copy.find(others).tolist() == [*range(len(keys), len(copy))]
    assert copy.find(keys).tolist() == table.find(keys).tolist() == [*range(len(keys))]


def test_row_table_when_full_of_collisions():
    keys = np.arange(1, 5000, dtype=np.uint64) << np.uint64(40)
    table = RowTable(keys)
    _, rows = table.rows(keys[:, None])
    assert rows.tolist() == list(range(len(keys)))
    assert len(table.rows(keys[:, None] + np.uint64(1))[1]) == 0


@st.composite
def templates_T(draw, n_attributes):
    """Distinct seeds, and for each template its atoms (attribute, offset)."""
    atom = st.tuples(st.integers(0, n_attributes - 1), st.integers(-3, 3))
    seeds = draw(st.lists(uint64s, unique=True, min_size=1, max_size=4))
    return seeds, [draw(st.lists(atom, min_size=1, max_size=3)) for _ in seeds]


def read_atoms(values, atoms, i):
    """What a template reads at a token; None if an attribute is absent."""
    found = []
    for attribute, offset in atoms:
        at = i + offset
        inside = 0 <= at < len(values)
        found.append(values[at][attribute] if inside else "^" if at < 0 else "$")
    return None if 0 in found else tuple(found)


@given(st.data())
def test_template_keys(data):
    n_attributes = data.draw(st.integers(1, 3))
    # 1 and 2 stand for the borders of the document
    value = st.sampled_from([0, 3, 4, 2**63, 2**64 - 1])
    token = st.lists(value, min_size=n_attributes, max_size=n_attributes)
    docs = data.draw(st.lists(st.lists(token, max_size=5), max_size=3))
    values = [of_token for doc in docs for of_token in doc]
    seeds, templates = data.draw(templates_T(n_attributes))
    atoms = [atom for template in templates for atom in template]
    args = (
        np.array(values, np.uint64).reshape(len(values), n_attributes),
        np.array(seeds, np.uint64),
        np.cumsum([0, *map(len, templates)]).astype(np.int32),
        np.array([attribute for attribute, _ in atoms], np.int32),
        np.array([offset for _, offset in atoms], np.int32),
    )
    found = template_keys(*args, np.cumsum([0, *map(len, docs)]).astype(np.int32))
    assert found.shape == (len(values), len(seeds))
    if len(docs) == 1:
        assert found.tolist() == template_keys(*args).tolist()
    tokens = [(doc, i) for doc in docs for i in range(len(doc))]
    key_of, meaning_of = {}, {}
    for (doc, i), keys in zip(tokens, found.tolist(), strict=True):
        for t, (seed, key) in enumerate(zip(seeds, keys, strict=True)):
            read_values = read_atoms(doc, templates[t], i)
            assert (key == 0) == (read_values is None)
            if key:
                meaning = seed, read_values
                assert key_of.setdefault(meaning, key) == key
                assert meaning_of.setdefault(key, meaning) == meaning


@st.composite
def sparse_nRL(draw):
    """Rows of n tokens in a table of R rows and L columns, some twice or not at all."""
    n_rows, n_labels = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    token = st.lists(st.integers(0, n_rows - 1), max_size=4)
    tokens = draw(st.lists(token, max_size=5))
    first = np.cumsum([0, *map(len, tokens)]).astype(np.int32)
    rows = np.array([row for token in tokens for row in token], np.int32)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scores = rng.normal(size=(len(tokens), n_labels))
    return tokens, first, rows, scores, rng.normal(size=(n_rows, n_labels))


@given(sparse_nRL())
def test_gather_and_scatter(problem):
    tokens, first, rows, scores, weights = problem
    expected_scores, expected_weights = scores.copy(), weights.copy()
    for i, token in enumerate(tokens):
        for row in token:
            expected_scores[i] += weights[row]
            expected_weights[row] += scores[i]
    found_scores, found_weights = scores.copy(), weights.copy()
    for array in (first, rows, weights, scores):
        array.setflags(write=False)
    none = np.zeros(0, np.int32)
    gather(first, rows, None, none, none, weights.ravel(), found_scores)
    scatter(first, rows, None, none, none, scores, found_weights.ravel())
    np.testing.assert_allclose(found_scores, expected_scores, atol=1e-12)
    np.testing.assert_allclose(found_weights, expected_weights, atol=1e-12)


@given(sparse_nRL(), st.lists(st.sampled_from([0.0, -0.0, 1e-300, -3.0]), min_size=5))
def test_touched_rows_are_those_of_tokens_with_a_derivative(problem, values):
    tokens, first, rows, scores, _ = problem
    scores = np.zeros_like(scores)
    scores[:, -1] = values[: len(scores)]
    expected = [row for token, x in zip(tokens, values) if x for row in token]
    assert touched_rows(first, rows, scores).tolist() == expected
    # of one document of several, whose rows stand one behind the other
    at = len(tokens) // 2
    rest = sum(tokens[at:], [])
    ones = np.ones_like(scores[at:])
    assert touched_rows(first[at:], rows, ones).tolist() == rest


def pairs_of(has_weight, is_dense):
    """The first pair of each row, and columns, as kernels take them; none if dense."""
    if is_dense:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    first = np.cumsum([0, *has_weight.sum(axis=1)]).astype(np.int32)
    return first, np.nonzero(has_weight)[1].astype(np.int32)


@given(sparse_nRL(), st.booleans(), st.booleans())
def test_strengths_and_pairs(problem, is_dense, has_strength):
    tokens, first, rows, scores, weights = problem
    n_rows, n_labels = weights.shape
    rng = np.random.default_rng(len(rows))
    has_weight = rng.random(weights.shape) < (1.0 if is_dense else 0.5)
    strength = rng.normal(size=len(rows)) if has_strength else np.ones(len(rows))
    expected_scores, expected_weights = scores.copy(), weights.copy()
    fired = [(i, row) for i, token in enumerate(tokens) for row in token]
    for (i, row), value in zip(fired, strength, strict=True):
        expected_scores[i] += value * weights[row] * has_weight[row]
        expected_weights[row] += value * scores[i] * has_weight[row]
    pairs = pairs_of(has_weight, is_dense)
    found_scores, found_weights = scores.copy(), weights[has_weight]
    for array in (first, rows, strength, *pairs):
        array.setflags(write=False)
    args = first, rows, strength if has_strength else None, *pairs
    gather(*args, weights[has_weight], found_scores)
    scatter(*args, scores, found_weights)
    np.testing.assert_allclose(found_scores, expected_scores, atol=1e-12)
    np.testing.assert_allclose(found_weights, expected_weights[has_weight], atol=1e-12)


@given(sparse_nRL(), st.booleans())
def test_cells_of_segments(problem, is_dense):
    _, _, rows, _, weights = problem
    n_rows, n_labels = weights.shape
    rng = np.random.default_rng(len(rows))
    has_weight = rng.random(weights.shape) < (1.0 if is_dense else 0.5)
    pairs = pairs_of(has_weight, is_dense)
    starts = rng.integers(0, 9, len(rows)).astype(np.int32)
    ends = starts + rng.integers(1, 9, len(rows)).astype(np.int32)
    strength = rng.normal(size=len(rows))
    kept = weights[has_weight]
    found = gather_cells(starts, ends, rows, strength, *pairs, kept, n_labels)
    expected, d_weights = [], np.zeros_like(weights)
    for start, end, row, times in zip(starts, ends, rows, strength):
        for y in range(n_labels):
            if has_weight[row, y]:
                expected.append((start, end, y, times * weights[row, y]))
                d_weights[row, y] += times * len(expected)
    assert found.tolist() == expected
    found["score"] = np.arange(1, len(found) + 1)
    d_kept = np.zeros_like(kept)
    scatter_cells(rows, strength, pairs[0], found, n_labels, d_kept)
    np.testing.assert_allclose(d_kept, d_weights[has_weight], atol=1e-12)


@given(sparse_nRL(), st.booleans(), st.integers(1, 4))
def test_merged_cells(problem, is_dense, n_docs):
    """The scores of each segment are those of the cells that are not merged."""
    _, _, rows, _, weights = problem
    n_labels = weights.shape[1]
    rng = np.random.default_rng(len(rows))
    has_weight = rng.random(weights.shape) < (1.0 if is_dense else 0.5)
    pairs = pairs_of(has_weight, is_dense)
    first = np.arange(n_docs + 1, dtype=np.int32) * 3
    doc = rng.integers(0, n_docs, len(rows))
    starts = rng.integers(0, 3, len(rows))
    ends = rng.integers(starts, 3) + 1
    places = [(x + first[doc]).astype(np.int32) for x in (starts, ends)]
    strength, kept = rng.normal(size=len(rows)), weights[has_weight]
    args = rows, strength, first, *pairs, kept, n_labels
    found, borders = gather_merged_cells(*places, *args)
    assert len(borders) == n_docs + 1
    assert (borders[0], borders[-1]) == (0, len(found))
    for d in range(n_docs):
        own = doc == d
        of_doc = (x[own].astype(np.int32) for x in (starts, ends, rows))
        parts = strength[own], *pairs, kept, n_labels
        expected = Counter()
        for *cell, score in gather_cells(*of_doc, *parts).tolist():
            expected[tuple(cell)] += score
        cells = found[borders[d] : borders[d + 1]].tolist()
        scores = Counter()
        for *cell, score in cells:
            scores[tuple(cell)] += score
        assert scores.keys() == expected.keys()
        assert [scores[x] for x in expected] == pytest.approx([*expected.values()])
        assert cells == sorted(cells, key=lambda x: (x[1], x[0]))
        if is_dense:
            assert len(cells) == len(scores)


def test_adagrad_rows():
    rng = np.random.default_rng(0)
    weights, gradient, squares = rng.normal(size=(3, 4, 2))
    squares = np.abs(squares)
    l2, touched, rate = np.array([0.0, 0.5, 1.0, 2.0]), [1, 3], 0.3
    g = gradient + l2[:, None] * weights
    expected_squares = squares + g**2
    expected = weights - rate * g / (1e-8 + np.sqrt(expected_squares))
    before = weights.copy(), gradient.copy(), squares.copy()
    adagrad_rows(np.array(touched, np.int32), weights, gradient, squares, l2, rate)
    np.testing.assert_allclose(weights[touched], expected[touched], rtol=1e-12)
    np.testing.assert_allclose(squares[touched], expected_squares[touched], rtol=1e-12)
    assert not gradient[touched].any()
    for found, old in zip((weights, gradient, squares), before, strict=True):
        assert found[[0, 2]].tolist() == old[[0, 2]].tolist()


@given(st.lists(st.sets(st.integers(0, 4)), max_size=30), st.booleans())
def test_lazy_averages_equal_eager_ones(steps, read_often):
    """Thinc's formula: after update t the average moves by 1 - (1 + t) / (10 + t)."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(5, 2))
    optimizer = SparseAdagrad(weights, np.zeros_like(weights))
    eager = np.zeros_like(weights)
    for t, touched in enumerate(steps, start=1):
        rows = np.array(sorted(touched), np.int32)
        optimizer.gradient[rows] = rng.normal(size=(len(rows), 2))
        optimizer.touched.append(rows)
        optimizer.step(np.zeros(5), 0.5)
        eager -= (1.0 - min((1.0 + t) / (10.0 + t), 0.9999)) * (eager - weights)
        if read_often:
            np.testing.assert_allclose(optimizer.averages(), eager, atol=1e-12)
    np.testing.assert_allclose(optimizer.averages(), eager, atol=1e-12)


def test_rows_touched_twice_are_updated_once():
    weights = np.zeros((3, 1))
    optimizer = SparseAdagrad(weights, np.zeros_like(weights))
    optimizer.gradient[:] = 2.0
    for rows in ([0, 1, 1], [1]):
        optimizer.touched.append(np.array(rows, np.int32))
    optimizer.step(np.zeros(3), 0.25)
    np.testing.assert_allclose(weights[:, 0], [-0.25, -0.25, 0.0])
    assert optimizer.gradient[:, 0].tolist() == [0.0, 0.0, 2.0]
    optimizer.step(np.zeros(3), 0.25)  # nothing was touched since
    np.testing.assert_allclose(weights[:, 0], [-0.25, -0.25, 0.0])
