"""Label inventory and mined patterns, against brute force."""

from collections import Counter
from itertools import product

import hypothesis.strategies as st
import pytest
from hypothesis import given

from spacy_hosemi.core import PatternAutomaton
from spacy_hosemi.labels import patterns as mining
from spacy_hosemi.labels.inventory import ENCODINGS, OUTSIDES, LabelInventory
from spacy_hosemi.labels.patterns import check_observed, mine_observed, mine_patterns

NAMES = ("PER", "B-2")  # a label may look like a tag


def spans_of(pieces):
    """Spans from (length, label or None) of consecutive pieces, and n."""
    spans, at = [], 0
    for size, label in pieces:
        if label is not None:
            spans.append((at, at + size, label))
        at += size
    return spans, at


def is_representable(spans, n_tokens, encoding, outside):
    """IO joins neighbours of one label; "none" has no place for outside tokens."""
    if encoding == "IO" and any(
        left[1] == right[0] and left[2] == right[2]
        for left, right in zip(spans, spans[1:], strict=False)
    ):
        return False
    covered = sum(end - start for start, end, _ in spans)
    return outside != "none" or covered == n_tokens


pieces = st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, *NAMES])))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("outside", OUTSIDES)
@given(pieces=pieces)
def test_encode_and_decode(encoding, outside, pieces):
    spans, n_tokens = spans_of(pieces)
    if not is_representable(spans, n_tokens, encoding, outside):
        return
    inventory = LabelInventory(NAMES, encoding, outside)
    segments = inventory.encode(spans, n_tokens)
    assert inventory.decode(segments) == spans
    # the segments cover all tokens from left to right
    borders = [0] + [end for _, end, _ in segments]
    assert borders[:-1] == [start for start, _, _ in segments]
    assert borders[-1] == n_tokens
    automaton = PatternAutomaton(inventory.names, inventory.forbidden())
    assert automaton.completed(y for _, _, y in segments) == []
    if encoding != "segments" or outside == "token":
        limited = [(i, j) for i, j, y in segments if inventory.on_tokens or not y]
        assert all(j - i == 1 for i, j in limited)


def test_encodings_by_hand():
    spans = [(1, 4, "A"), (4, 5, "A")]
    expected = {
        "segments": ["O", "A", "A", "O"],
        "IO": ["O", "I-A", "I-A", "I-A", "I-A", "O", "O"],
        "BIO": ["O", "B-A", "I-A", "I-A", "B-A", "O", "O"],
        "BILUO": ["O", "B-A", "I-A", "L-A", "U-A", "O", "O"],
    }
    for encoding, names in expected.items():
        inventory = LabelInventory(["A"], encoding)
        segments = inventory.encode(spans, 7)
        assert [inventory.names[y] for _, _, y in segments] == names


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
@pytest.mark.parametrize("n_tokens", [1, 2, 3])
def test_exactly_the_valid_tag_sequences_survive(encoding, n_tokens):
    inventory = LabelInventory(["A", "B"], encoding)
    automaton = PatternAutomaton(inventory.names, inventory.forbidden())
    indices = range(len(inventory.names))
    survive = {
        tags
        for tags in product(indices, repeat=n_tokens)
        if automaton.completed(tags) == []
    }
    valid = set()
    for size in range(1, n_tokens + 1):
        for lengths in product(range(1, n_tokens + 1), repeat=size):
            for names in product([None, "A", "B"], repeat=size):
                spans, n = spans_of(zip(lengths, names, strict=True))
                if n == n_tokens:
                    valid.add(tuple(y for _, _, y in inventory.encode(spans, n)))
    assert survive == valid


@pytest.mark.parametrize(
    "outside, forbidden", [("run", [("O", "O")]), ("token", []), ("none", [])]
)
def test_forbidden_between_segments(outside, forbidden):
    assert LabelInventory(["A"], "segments", outside).forbidden() == forbidden


@pytest.mark.parametrize("label", ["O", "^", "$", "", "!A", 3, None])
def test_reserved_labels(label):
    with pytest.raises(ValueError, match="HS040"):
        LabelInventory(["A", label])


def all_bigrams(names):
    return {
        pair
        for pair in product(("^", *names), (*names, "$"))
        if pair not in (("^", "$"), ("O", "O"))
    }


def test_order_0_has_no_weights():
    inventory = LabelInventory(["A"])
    assert mine_patterns(inventory, [[0, 1]], max_order=0) == ([], [("O", "O")])


def test_order_1_has_all_bigrams():
    inventory = LabelInventory(["A", "B"])
    for sequences in ([], [[0, 1]]):
        patterns, forbidden = mine_patterns(inventory, sequences, max_order=1)
        assert set(patterns) == all_bigrams(inventory.names)
        assert len(patterns) == len(set(patterns))
        assert forbidden == [("O", "O")]


def test_of_too_many_bigrams_only_those_seen(monkeypatch):
    monkeypatch.setattr(mining, "ALL_BIGRAMS", 8)
    inventory = LabelInventory(["A", "B"])  # 3 names: 9 bigrams
    patterns, _ = mine_patterns(inventory, [[0, 1], [1]], max_order=1)
    assert set(patterns) == {("^", "O"), ("O", "A"), ("A", "$"), ("^", "A")}


@pytest.mark.parametrize("most, n", [(None, 4), (3, 3), (2, 2), (0, 0)])
def test_the_most_frequent_longer_patterns(most, n):
    inventory, sequences = LabelInventory(["A", "B"]), [[1, 2, 1, 2], [1, 2]]
    found, _ = mine_patterns(inventory, sequences, max_order=2, max_patterns=most)
    longer = {pattern for pattern in found if len(pattern) > 2}
    often = {("^", "A", "B"), ("A", "B", "$")}  # twice, others once
    assert len(longer) == n and (longer >= often or not n)


@given(
    st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=4),
    st.integers(2, 4),
    st.integers(1, 3),
)
def test_mined_patterns_are_those_that_occur(sequences, max_order, min_count):
    inventory = LabelInventory(["A", "B"], outside="token")
    found, _ = mine_patterns(
        inventory, sequences, max_order=max_order, min_count=min_count
    )
    counts = Counter()
    for sequence in sequences:
        symbols = ["^", *(inventory.names[y] for y in sequence), "$"]
        for i, j in product(range(len(symbols)), range(len(symbols) + 1)):
            if 3 <= j - i <= max_order + 1:
                counts[tuple(symbols[i:j])] += 1
    often = {pattern for pattern, count in counts.items() if count >= min_count}
    assert {pattern for pattern in found if len(pattern) > 2} == often
    PatternAutomaton(inventory.names, found)  # none is malformed or given twice


@pytest.mark.parametrize(
    "asked, found",
    [
        ([["A", "*", "B"]], {"A A B", "A B B"}),
        ([["*1", "*2", "*1"]], {"A B A", "A A A"}),
        ([["*", "*1", "*1"]], {"A B B", "A A A"}),
        ([["^", "*", "B"]], {"^ A B"}),
        ([["*", "*", "*"]], {"A A A", "A A B", "A B B", "A B A"}),
        ([["*", "A"], ["B", "A"]], {"A A", "B A"}),
        ([], set()),
    ],
)
def test_patterns_that_are_asked_for(asked, found):
    """What occurs in A B B and A B A, A A A, A A B; "*1" is one label throughout."""
    inventory = LabelInventory(["A", "B"], outside="none")
    a, b = (inventory.names.index(name) for name in "AB")
    sequences = [[a, b, b], [a, b, a], [a, a, a], [a, a, b]]
    mined = mine_observed(inventory, sequences, max_order=0, listed=asked)
    assert {" ".join(pattern) for pattern in mined} == found
    often = mine_observed(inventory, sequences, max_order=0, min_count=2, listed=asked)
    assert set(often) <= set(mined)


@pytest.mark.parametrize("asked", [["A"], ["A", "C"], ["A", "*x"], ["A", "^"], []])
def test_patterns_that_can_never_occur(asked):
    inventory = LabelInventory(["A", "B"])
    with pytest.raises(ValueError, match="HS112"):
        check_observed([["A", "O", "*"], asked], inventory)
