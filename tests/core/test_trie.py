"""Tries of words: against a search that compares tuples."""

from itertools import accumulate

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi.features.kernels.trie import (
    SHARED,
    EntryFinder,
    Trie,
    columns_of_matches,
    count_wordless,
)

# Two words, so that entries overlap and repeat: the least and the largest there is.
WORDS = [0, 2**64 - 1]
DOCS = [2, 7, 2**64 - 1]  # what a source may be, apart from SHARED
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


def test_lists_without_sources_are_small():
    assert build([(5, 6)]).source.dtype == np.uint8
    assert build([(5, 6)], [7]).source.dtype == np.uint64


@given(entries_E, words_n)
def test_all_matches_in_order(entries, words):
    assert find(build(entries), words) == oracle(entries, words)


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
    inner = {e[:k] for e in distinct for k in range(1, len(e))}
    assert len(trie) == len(trie.keys) == len(trie.source) == len(distinct)
    assert len(trie.prefixes) == len(inner)


def mix(way, word) -> int:
    """`hosemi_mix`, again."""
    way ^= word + 0x9E3779B97F4A7C15 + (way << 6) + (way >> 2) & 2**64 - 1
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        way = (way ^ way >> 33) * factor & 2**64 - 1
    return way ^ way >> 33


@given(entries_E, words_n)
def test_tries_of_older_models(entries, words):
    """Whole hashes of entries and of all that they begin with; 0: no entry."""
    nodes = {}
    for k, entry in enumerate(entries):
        ways = [*accumulate(entry, mix, initial=0)][1:]
        nodes = {**dict.fromkeys(ways, 0), **nodes}
        if ways:
            nodes[ways[-1]] = DOCS[k % 3]
    source = [nodes[way] for way in sorted(nodes)]
    trie = Trie.of_nodes(np.array(sorted(nodes), "u8"), np.array(source, "u8"))
    assert trie.keys.tolist() == build(entries).keys.tolist()
    found = [(i, j) for i, j, _ in find(trie, words)]
    assert found == [(i, j) for i, j, _ in oracle(entries, words)]


@given(entries_E, words_n)
def test_prefixes_only_say_where_to_stop(entries, words):
    trie = build(entries)
    every = Trie(trie.keys, trie.source, np.arange(2**22, dtype=np.uint32))
    assert find(every, words) == find(trie, words)


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


@pytest.mark.parametrize(
    "change",
    [
        *({"source": np.ones(n, "u1")} for n in (0, 1, 3)),
        *({"keys": np.zeros(2, kind)} for kind in ("f8", "i8", ">u8")),
        {"keys": np.zeros((2, 1), "u8"), "source": np.ones((2, 1), "u1")},
        {"source": np.ones(2, "i8")},
        {"prefixes": np.array([2**22], "u4")},  # they are places in a table
        *({"prefixes": x} for x in (np.zeros(1, "u8"), np.zeros((1, 1), "u4"))),
    ],
    ids=str,
)
def test_arrays_that_are_none(change):
    good = {"keys": np.array([5, 6], "u8"), "source": np.ones(2, "u1")}
    assert len(Trie(**good, prefixes=np.zeros(1, "u4"))) == 2
    with pytest.raises(ValueError, match=r"\) sources, \(.*\) entries"):
        Trie(**{**good, "prefixes": np.zeros(1, "u4"), **change})


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
