"""Windows that resemble bags: against a search that compares all with all."""

from collections import Counter
from math import sqrt

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi.features.kernels.ngram_windows import MEASURES, BagIndex

# Few units, so that bags overlap: among them the least and the largest there is.
unit = st.sampled_from([0, 1, 7, 2**64 - 1])
bags_E = st.lists(st.lists(unit, max_size=7), max_size=6)
# Words of one to three units; not every unit of the sequence belongs to one.
words_n = st.lists(
    st.tuples(st.lists(unit, min_size=1, max_size=3), st.booleans(), st.booleans()),
    max_size=7,
)
threshold = st.sampled_from([0.2, 0.5, 2 / 3, 0.75, 0.8, 0.9, 1.0])


def build(bags, measure="jaccard", threshold=0.5) -> BagIndex:
    units = [u for bag in bags for u in bag]
    first = np.cumsum([0, *map(len, bags)]).astype(np.int64)
    return BagIndex(np.array(units, np.uint64), first, measure, threshold)


def find(index, words):
    units = [u for of_word, _, _ in words for u in of_word]
    border = np.cumsum([0, *(len(of_word) for of_word, _, _ in words)], dtype="i4")
    begins, ends = np.array([word[1:] for word in words], "u1").reshape(-1, 2).T.copy()
    found = index.find(
        np.array(units, np.uint64), border[:-1], border[1:].copy(), begins, ends
    )
    return sorted(zip(*(column.tolist() for column in found), strict=True))


def similarity(measure, bag, window) -> float:
    overlap = (Counter(bag) & Counter(window)).total()
    if measure == "jaccard":
        return overlap / (len(bag) + len(window) - overlap)
    return overlap / sqrt(len(bag) * len(window))


def oracle(bags, words, measure, threshold):
    found = []
    for i in range(len(words)):
        for j in range(i + 1, len(words) + 1):
            window = [u for of_word, _, _ in words[i:j] for u in of_word]
            for e, bag in enumerate(bags):
                is_window = words[i][1] and words[j - 1][2] and bag
                if is_window and similarity(measure, bag, window) >= threshold:
                    found.append((i, j, e, similarity(measure, bag, window)))
    return found


@given(bags_E, words_n, st.sampled_from(["jaccard", "cosine"]), threshold)
def test_all_windows_and_bags(bags, words, measure, threshold):
    index = build(bags, measure, threshold)
    assert find(index, words) == oracle(bags, words, measure, threshold)


@pytest.mark.parametrize("measure", MEASURES)
def test_nothing(measure):
    plain = [([1], True, True)]
    assert find(build([], measure, 0.9), plain) == []
    assert find(build([[], []], measure, 0.9), plain) == []
    assert find(build([[1]], measure, 0.9), []) == []
    assert find(build([[], [1]], measure, 0.9), plain) == [(0, 1, 1, 1.0)]


def test_more_windows_than_there_is_room_for():
    words = [([1], True, True)] * 45
    bags = [[1] * size for size in range(1, 46)]
    assert find(build(bags), words) == oracle(bags, words, "jaccard", 0.5)


def test_a_bag_longer_than_the_document():
    assert find(build([[1] * 10_000]), [([1], True, True)] * 3) == []


def test_what_an_index_needs():
    bags = [[k % 97, k % 89, k] for k in range(1000)]
    assert 3000 * 4 < build(bags).nbytes < 3000 * 30
