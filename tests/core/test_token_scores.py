"""Scores of tokens that are summed in one pass: against dictionaries and loops."""

from functools import partial

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from spacy_hosemi.features.kernels.key_table import RowTable, template_keys
from spacy_hosemi.features.kernels.word_index import Numbering
from spacy_hosemi.model.kernels.token_scores import (
    BlockScores,
    ListScores,
    TemplateScores,
    TokenScoring,
)

keys_K = st.lists(
    st.integers(0, 12) | st.integers(0, 12).map(lambda k: k << 32), max_size=40
)


uint64s, int32s = partial(np.array, dtype=np.uint64), partial(np.array, dtype=np.int32)


@given(st.lists(keys_K, max_size=4), keys_K)
def test_numbering_is_a_dictionary(parts, asked):
    numbering, number_of = Numbering(), {}
    for keys in parts:
        numbering.add(uint64s(keys))
        for key in keys:
            number_of.setdefault(key, len(number_of))
        new = [*dict.fromkeys(key for key in asked if key not in number_of)]
        assert numbering.unknown(uint64s(asked)).tolist() == new
        numbers, n_unknown = numbering.find(uint64s(asked))
        assert numbers.tolist() == [number_of.get(key, -1) for key in asked]
        assert n_unknown == sum(key not in number_of for key in asked)
        assert len(numbering) == len(number_of)


def float32s(rng, *shape) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def places_of(is_weight, is_dense) -> tuple[np.ndarray, np.ndarray]:
    ends = int32s([0, *np.cumsum(is_weight.sum(axis=1))])
    return (ends[:0],) * 2 if is_dense else (ends, int32s(np.nonzero(is_weight)[1]))


def no_templates(n_roles, n) -> tuple[TemplateScores, np.ndarray]:
    none, no_weights = int32s([]), np.zeros(0, np.float32)
    plan, table = (uint64s([]), int32s([0]), none, none), RowTable(uint64s([]))
    templates = TemplateScores(*plan, none, n_roles, table, none, none, no_weights)
    return templates, np.zeros((n, 0), np.uint64)


def one_block(n_labels, n) -> tuple[BlockScores, np.ndarray, np.ndarray]:
    """Returns a block that each of n tokens reads in the last of two roles."""
    of_words = float32s(np.random.default_rng(2), 1, 1, n_labels)
    args = int32s([1]), int32s([0]), int32s([0]), 2
    return BlockScores(of_words.repeat(2, axis=0), *args), int32s([0] * n), of_words


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=3),
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(0, 1)), max_size=4
    ),
)
def test_kept_scores(docs, reads):
    """A block may be read at several offsets, and in several roles."""
    rng = np.random.default_rng(0)
    kept, borders = float32s(rng, 4, 2, 3), float32s(rng, 2, 2, 3)
    first = int32s(np.cumsum([0, *map(len, docs)]))
    words = [word for doc in docs for word in doc]
    columns = (int32s([read[k] for read in reads]) for k in range(3))
    expected, found = np.zeros((2, 3, len(words), 3))
    for start, end in zip(first, first[1:]):
        for i in range(start, end):
            for role, offset, b in reads:
                at = i + offset
                outside = borders[int(at >= end), b]
                is_inside = start <= at < end
                expected[role, i] += kept[words[at], b] if is_inside else outside
    blocks = BlockScores(borders, *columns, 3), int32s(words), kept
    TokenScoring(first, found, *blocks, *no_templates(3, len(words))).do()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(st.data(), st.booleans())
def test_template_scores(data, is_dense):
    n_labels, n_roles = data.draw(st.sampled_from([3, 4, 7, 8, 21, 49])), 2
    value = st.sampled_from([0, 3, 4])
    docs = st.lists(st.lists(st.tuples(value, value), max_size=5), max_size=3)
    docs = [uint64s(doc).reshape(len(doc), 2) for doc in data.draw(docs)]
    atom = st.tuples(st.integers(0, 1), st.integers(-2, 2))
    templates = data.draw(st.lists(st.lists(atom, min_size=1, max_size=2), max_size=4))
    atoms = [atom for template in templates for atom in template]
    values = np.concatenate([np.zeros((0, 2), np.uint64), *docs])
    plan = (
        uint64s(range(100, 100 + len(templates))),
        int32s(np.cumsum([0, *map(len, templates)])),
        int32s([column for column, _ in atoms]),
        int32s([offset for _, offset in atoms]),
    )
    roles = int32s([t % n_roles for t in range(len(templates))])
    no_keys = np.zeros((0, len(templates)), np.uint64)
    keys = np.concatenate([no_keys, *(template_keys(doc, *plan) for doc in docs)])
    known = np.unique(keys[keys != 0])[::2]
    rng = np.random.default_rng(1)
    weights = float32s(rng, len(known), n_labels)
    is_weight = rng.random(weights.shape) < (1.1 if is_dense else 0.5)
    weights[~is_weight] = 0.0
    expected = np.zeros((n_roles, len(values), n_labels))
    found = np.full_like(expected, np.nan)
    for i, t in np.argwhere(np.isin(keys, known, kind="sort")):
        expected[roles[t], i] += weights[known.tolist().index(keys[i, t])]
    first = int32s(np.cumsum([0, *map(len, docs)]))
    places = places_of(is_weight, is_dense)
    args = roles, n_roles, RowTable(known), *places, weights[is_weight]
    templates, block = TemplateScores(*plan, *args), one_block(n_labels, len(values))
    TokenScoring(first, found, *block, templates, values).do()
    expected[1] += block[2][0]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    # Of words: the same as of documents of one, and more in some roles.
    templates = TemplateScores(*plan[:3], np.zeros_like(plan[3]), *args)
    each = int32s(range(len(values) + 1))
    block[2][:] = 0.0
    TokenScoring(each, expected, *block, templates, values).do()
    of_words = np.empty((len(values), n_roles, n_labels), np.float32)
    templates.of_words(values, of_words)
    assert (of_words == expected.swapaxes(0, 1).astype(np.float32)).all()
    more = rng.normal(size=(len(values), 1, n_labels))
    expected[1] += more[:, 0]
    templates.of_words(values, of_words, more, int32s([1]))
    assert (of_words == expected.swapaxes(0, 1).astype(np.float32)).all()


@given(st.data(), st.booleans())
def test_list_scores(data, is_dense):
    """The same as templates that read the attributes."""
    n_labels, n_roles, rng = 3, 2, np.random.default_rng(1)
    value = st.sampled_from([0, 0, 3, 127])
    docs = st.lists(st.lists(st.tuples(value, value), max_size=5), max_size=3)
    docs = [uint64s(doc).reshape(len(doc), 2) for doc in data.draw(docs)]
    atom = st.tuples(st.integers(0, 1), st.integers(-2, 2))
    atoms = data.draw(st.lists(atom, max_size=6))
    values = np.concatenate([np.zeros((0, 2), np.uint64), *docs])
    seeds, every = uint64s(range(100, 100 + len(atoms))), np.arange(len(atoms) + 1)
    columns, offsets = (int32s([x[k] for x in atoms]) for k in range(2))
    roles = int32s(rng.integers(0, n_roles, len(atoms)))
    plan = seeds, int32s(every), columns, offsets
    # Each value at its own place, and the borders, which are there for every offset.
    sample = np.repeat(uint64s([3, 127, 3, 127, 3]), 2).reshape(5, 2)
    known = np.unique(template_keys(sample, *plan)) if atoms else uint64s([])
    known = known[rng.random(len(known)) < 0.7]
    weights = float32s(rng, len(known), n_labels)
    is_weight = rng.random(weights.shape) < (1.1 if is_dense else 0.5)
    args = RowTable(known), *places_of(is_weight, is_dense), weights[is_weight]
    first = int32s(np.cumsum([0, *map(len, docs)]))
    expected, found, none, absent = np.empty((4, n_roles, len(values), n_labels))
    block = one_block(n_labels, len(values))
    templates = TemplateScores(*plan, roles, n_roles, *args)
    TokenScoring(first, expected, *block, templates, values).do()
    lists = ListScores(columns, seeds, offsets, roles, *args, n_roles, n_labels)
    rest = *block, *no_templates(n_roles, len(values)), lists
    TokenScoring(first, found, *rest, values.astype(np.uint8)).do()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    TokenScoring(first, none, *rest).do()
    TokenScoring(first, absent, *rest, np.zeros(values.shape, "u1")).do()
    assert (none == absent).all()
