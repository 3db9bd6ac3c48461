"""Scores of tokens that are summed in one pass: against dictionaries and loops."""

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


def uint64s(keys) -> np.ndarray:
    return np.array(keys, np.uint64)


def int32s(numbers) -> np.ndarray:
    return np.array(numbers, np.int32)


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
    expected = rng.normal(size=(3, len(words), 3))
    found = expected.copy()
    for start, end in zip(first, first[1:]):
        for i in range(start, end):
            for role, offset, b in reads:
                at = i + offset
                if at < start:
                    expected[role, i] += borders[0, b]
                elif at >= end:
                    expected[role, i] += borders[1, b]
                else:
                    expected[role, i] += kept[words[at], b]
    of_blocks = BlockScores(borders, *columns)
    TokenScoring(
        first, found, blocks=of_blocks, words=int32s(words), of_words=kept
    ).do()
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(st.data(), st.booleans())
def test_template_scores(data, is_dense):
    n_labels, n_roles = data.draw(st.sampled_from([3, 4, 7, 8, 21])), 2
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
    expected = rng.normal(size=(n_roles, len(values), n_labels))
    found = expected.copy()
    for i, t in np.argwhere(np.isin(keys, known, kind="sort")):
        expected[roles[t], i] += weights[known.tolist().index(keys[i, t])]
    first = int32s(np.cumsum([0, *map(len, docs)]))
    first_weight = int32s([0, *np.cumsum(is_weight.sum(axis=1))])
    places = (int32s([]), int32s([]))
    if not is_dense:
        places = (first_weight, int32s(np.nonzero(is_weight)[1]))
    flat = weights[is_weight]
    templates = TemplateScores(*plan, roles, RowTable(known), *places, flat)
    TokenScoring(first, found, templates=templates, values=values).do()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    # Of words: the same as of documents of one, and more in some roles.
    alone = [plan[0], plan[1], plan[2], np.zeros_like(plan[3])]
    templates = TemplateScores(*alone, roles, RowTable(known), *places, flat)
    expected = np.zeros((n_roles, len(values), n_labels))
    each = int32s(range(len(values) + 1))
    TokenScoring(each, expected, templates=templates, values=values).do()
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
    places = (int32s([]), int32s([]))
    if not is_dense:
        first_weight = int32s([0, *np.cumsum(is_weight.sum(axis=1))])
        places = (first_weight, int32s(np.nonzero(is_weight)[1]))
    args = roles, RowTable(known), *places, weights[is_weight]
    first = int32s(np.cumsum([0, *map(len, docs)]))
    expected = rng.normal(size=(n_roles, len(values), n_labels))
    found = expected.copy()
    TokenScoring(
        first, expected, templates=TemplateScores(*plan, *args), values=values
    ).do()
    lists = ListScores(columns, seeds, offsets, *args, n_roles, n_labels)
    TokenScoring(first, found, lists=lists, on_lists=values.astype(np.uint8)).do()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    none, absent = np.zeros((2, *found.shape))
    TokenScoring(first, none, lists=lists).do()
    TokenScoring(first, absent, lists=lists, on_lists=np.zeros(values.shape, "u1")).do()
    assert (none == absent).all()
