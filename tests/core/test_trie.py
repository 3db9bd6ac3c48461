"""Tries of words: against a search that compares tuples."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spacy_hosemi.features.kernels.trie import (
    NO_ENTRY,
    SHARED,
    EntryFinder,
    Trie,
    columns_of_matches,
    count_wordless,
)

# Two words, so that entries overlap and repeat: the least and the largest there is.
WORDS = [0, 2**64 - 1]
DOCS = [2, 7, 2**64 - 1]  # what a source may be, apart from NO_ENTRY and SHARED
entry = st.lists(st.sampled_from(WORDS), max_size=4).map(tuple)
entries_E = st.lists(entry, max_size=8)
words_n = st.lists(st.sampled_from(WORDS), max_size=10)


def fixed(values, kind) -> np.ndarray:
    """Arrays are only read."""
    array = np.array(values, kind)
    array.setflags(write=False)
    return array


def build(entries, sources=None) -> Trie:
    words = [word for entry in entries for word in entry]
    return Trie.build(
        fixed(words, np.uint64),
        fixed(np.cumsum([0, *map(len, entries)]), np.int64),
        None if sources is None else fixed(sources, np.uint64),
    )


def find(trie, words) -> list[tuple[int, int, int]]:
    every, docs = fixed([1] * len(words), np.uint8), fixed([0, len(words)], np.int32)
    words = fixed(words, np.uint64)
    lists, *found = EntryFinder([trie]).find(words, every, every, docs)
    assert not lists.any()
    return list(zip(*(column.tolist() for column in found), strict=True))


def oracle(entries, words, sources=None) -> list[tuple[int, int, int]]:
    """All (start, end, source), by comparing every piece of the words."""
    from_docs = {}
    for entry, source in zip(entries, sources or [SHARED] * len(entries), strict=True):
        from_docs.setdefault(entry, set()).add(source)
    found = []
    for i in range(len(words)):
        for j in range(i + 1, len(words) + 1):
            given_by = from_docs.get(tuple(words[i:j]), set())
            if given_by:
                source = min(given_by) if len(given_by) == 1 else SHARED
                found.append((i, j, source))
    return found


# --- by hand ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries, words, expected",
    [
        ([], [5, 6], []),
        ([(5,)], [], []),
        ([(5,)], [5], [(0, 1)]),
        ([(5,)], [6], []),
        ([(5, 6)], [5], []),  # the entry is longer than the document
        ([(5, 6)], [5, 6, 5, 6], [(0, 2), (2, 4)]),
        ([(5, 5)], [5, 5, 5], [(0, 2), (1, 3)]),
        ([(5, 6, 7), (6,)], [5, 6, 7], [(0, 3), (1, 2)]),  # one inside the other
        ([(5, 6, 7), (5,)], [5, 6, 6], [(0, 1)]),  # (5, 6) is a node, but no entry
        ([(5, 6), (6, 7), (5, 6, 7)], [5, 6, 7], [(0, 2), (0, 3), (1, 3)]),
        ([(), (5,), ()], [5, 5], [(0, 1), (1, 2)]),
        ([()], [5], []),
        ([(0,), (0, 0)], [0, 0], [(0, 1), (0, 2), (1, 2)]),
    ],
)
def test_matches(entries, words, expected):
    assert find(build(entries), words) == [(i, j, SHARED) for i, j in expected]


@pytest.mark.parametrize(
    "sources, expected",
    [
        (None, SHARED),
        ([7], 7),
        ([7, 7], 7),
        ([7, 8], SHARED),
        ([7, SHARED], SHARED),
        ([SHARED, 7], SHARED),
        ([7, 8, 7], SHARED),
        ([8, 7, 7], SHARED),
    ],
)
def test_source_of_an_entry(sources, expected):
    entries = [(5, 6)] * len(sources or [None])
    trie = build(entries, sources)
    assert find(trie, [5, 6]) == [(0, 2, expected)]
    assert len(trie) == 1
    assert sorted(trie.source.tolist()) == [NO_ENTRY, expected]


def test_one_source_says_nothing_of_other_entries():
    trie = build([(5,), (6,), (5, 6)], [7, 8, SHARED])
    assert find(trie, [5, 6]) == [(0, 1, 7), (0, 2, SHARED), (1, 2, 8)]


def test_lists_without_sources_are_small():
    assert build([(5, 6)]).source.dtype == np.uint8
    assert build([(5, 6)], [7]).source.dtype == np.uint64


# --- against the oracle -----------------------------------------------------------


@given(entries_E, words_n)
def test_all_matches_in_order(entries, words):
    found = find(build(entries), words)
    assert found == oracle(entries, words)
    assert found == sorted(found)


@given(st.data(), words_n)
def test_sources(data, words):
    size = data.draw(st.integers(0, 8))
    entries = data.draw(st.lists(entry, min_size=size, max_size=size))
    source = st.sampled_from([SHARED, *DOCS])
    sources = data.draw(st.lists(source, min_size=size, max_size=size))
    assert find(build(entries, sources), words) == oracle(entries, words, sources)


@given(entries_E)
def test_size_is_the_number_of_distinct_entries(entries):
    trie = build(entries)
    distinct = set(entries) - {()}
    nodes = {e[:k] for e in distinct for k in range(1, len(e) + 1)}
    assert len(trie) == len(distinct)
    assert len(trie.keys) == len(trie.source) == len(nodes)


@given(st.data(), entries_E)
def test_the_order_of_entries_does_not_matter(data, entries):
    left, right = build(entries), build(data.draw(st.permutations(entries)))
    assert left.keys.tolist() == right.keys.tolist()
    assert left.source.tolist() == right.source.tolist()
    assert build(sorted(set(entries))).keys.tolist() == left.keys.tolist()


@given(entries_E, words_n)
def test_from_its_arrays(entries, words):
    trie = build(entries, [DOCS[k % 3] for k in range(len(entries))])
    again = Trie(fixed(trie.keys, np.uint64), fixed(trie.source, trie.source.dtype))
    assert find(again, words) == find(trie, words)
    assert len(again) == len(trie)


def test_random_words():
    """Long entries in a long document; each case has many matches."""
    rng = np.random.default_rng(0)
    for n_words in (2, 5, 30):
        vocabulary = rng.integers(0, 2**64, n_words, np.uint64)
        words = rng.choice(vocabulary, 80).tolist()
        entries = [
            tuple(rng.choice(vocabulary, size).tolist())
            for size in rng.integers(1, 12, 200)
        ]
        entries += [tuple(words[i : i + 9]) for i in (0, 40, 71)]
        sources = [DOCS[k] for k in rng.integers(0, 3, len(entries))]
        found = find(build(entries, sources), words)
        assert found == oracle(entries, words, sources)
        assert len(found) > 30
        assert {0, 80 - 9} <= {start for start, _, _ in found}


# --- arguments --------------------------------------------------------------------


def test_nothing():
    trie = build([])
    assert len(trie) == len(trie.keys) == 0
    one, docs = np.ones(1, np.uint8), np.array([0, 1], np.int32)
    for tries in ([], [trie]):
        found = EntryFinder(tries).find(np.array([5], np.uint64), one, one, docs)
        assert [column.dtype for column in found] == [np.int32] * 3 + [np.uint64]
        assert [column.shape for column in found] == [(0,)] * 4


@given(
    st.lists(entries_E, max_size=3),
    st.lists(
        st.lists(st.tuples(st.sampled_from(WORDS), st.booleans(), st.booleans())),
        max_size=3,
    ),
)
def test_several_lists_and_where_entries_may_begin_and_end(lists, documents):
    """No entry reaches over two documents."""
    borders = np.cumsum([0, *map(len, documents)]).tolist()
    sequence = [word for document in documents for word in document]
    expected = [
        (t, first + i, first + j)
        for t, entries in enumerate(lists)
        for first, document in zip(borders, documents, strict=False)
        for i, j, _ in oracle(entries, [word for word, _, _ in document])
        if document[i][1] and document[j - 1][2]
    ]
    found = EntryFinder([build(entries) for entries in lists]).find(
        np.array([word for word, _, _ in sequence], np.uint64),
        np.array([begins for _, begins, _ in sequence], np.uint8),
        np.array([ends for _, _, ends in sequence], np.uint8),
        np.array(borders, np.int32),
    )
    assert np.stack(found[:3], axis=1).tolist() == list(map(list, expected))


@st.composite
def matches_nK(draw):
    """Numbers of tokens and lists; (list, start, end, value) in any order."""
    n_tokens, n_lists = draw(st.integers(0, 6)), draw(st.integers(1, 3))
    spans = [(i, j) for i in range(n_tokens) for j in range(i + 1, n_tokens + 1)]
    matches = []
    if spans:
        value = st.sampled_from([1, 11, 12, 255])
        span, of_list = st.sampled_from(spans), st.integers(0, n_lists - 1)
        matches = draw(st.lists(st.tuples(of_list, span, value), max_size=8))
    return n_tokens, n_lists, [(k, *span, value) for k, span, value in matches]


@given(matches_nK())
def test_columns_of_matches(problem):
    n_tokens, n_lists, matches = problem
    expected = [[0] * 3 * n_lists for _ in range(n_tokens)]
    for of_list, start, end, value in matches:
        for kind, at in enumerate([[start], range(start, end), [end - 1]]):
            column = 3 * of_list + kind
            for i in at:
                expected[i][column] = max(expected[i][column], value)
    arrays = [np.array([m[k] for m in matches], np.int32) for k in range(3)]
    values = np.array([m[3] for m in matches], np.uint64)
    found = columns_of_matches(*arrays, values, n_tokens, n_lists)
    assert found.shape == (n_tokens, 3 * n_lists)
    assert found.tolist() == expected


@pytest.mark.parametrize("n_sources", [0, 1, 3])
def test_each_node_has_a_source(n_sources):
    with pytest.raises(ValueError, match=rf"\({n_sources},\) sources, \(2,\) nodes"):
        Trie(np.array([5, 6], np.uint64), np.ones(n_sources, np.uint8))


def test_the_strategies_reach_what_matters():
    """Overlaps, duplicates, empty entries, and matches of every length."""
    seen = set()

    @settings(max_examples=100)
    @given(entries_E, words_n)
    def collect(entries, words):
        found = oracle(entries, words)
        seen.update(j - i for i, j, _ in found)
        pairs = zip(found, found[1:])
        seen.update("overlap" for (_, j, _), (i, _, _) in pairs if i < j)
        seen.update("empty" for entry in entries if not entry)
        if len(set(entries)) < len(entries):
            seen.add("duplicate")

    collect()
    assert seen >= {1, 2, 3, "overlap", "empty", "duplicate"}


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=6), max_size=3),
    st.integers(0, 4),
)
def test_wordless_tokens(documents, most):
    """Tokens with 0 to 2 words of their own; 3: one that began in the token before. At
    the borders of documents only what each sees of itself is asked for."""
    docs = np.cumsum([0, *map(len, documents)]).astype(np.int32)
    first, last = [], []
    for at, kinds in zip(docs.tolist(), documents, strict=False):
        for i, kind in enumerate(kinds, at):
            if kind == 3 and last and last[-1] == i - 1 >= at:
                last[-1] = i
            else:
                first += [i] * (kind % 3)
                last += [i] * (kind % 3)
    spans = list(zip(first, last, strict=True))
    words = np.array(first, np.int32), np.array(last, np.int32)
    before, after = count_wordless(*words, docs, most)
    assert len(before) == len(after) == docs[-1] + 1

    def run(tokens):
        """How many of them have no word, from the front on."""
        flags = (not any(a <= i <= b for a, b in spans) for i in tokens)
        return min((*flags, False).index(False), most)

    for at, end in zip(docs.tolist(), docs.tolist()[1:], strict=False):
        for i in range(at, end):
            assert before[i] == run(range(i - 1, at - 1, -1))
            assert after[i + 1] == run(range(i + 1, end))
