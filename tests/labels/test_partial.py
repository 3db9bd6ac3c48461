"""What is known of spans: parts, what overrides what, and as constraints."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hosemi.core import PatternAutomaton, Potentials, log_partition
from spacy_hosemi.labels.constraints import to_constraints, with_outside
from spacy_hosemi.labels.inventory import ENCODINGS, OUTSIDES, LabelInventory
from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.labels.projection import with_labels
from spacy_hosemi.prediction.limits import require_all

from .. import oracles
from ..helpers import as_problem


def mask(*tokens, n=6):
    return np.isin(np.arange(n), tokens)


def shown(known):
    """All that is known, as plain values."""
    blocked = known.blocked
    borders = known.borders
    return (
        known.required,
        known.excluded,
        None if blocked is None else np.flatnonzero(blocked).tolist(),
        None if borders is None else borders.tolist(),
    )


def test_corrections_override_entities_and_these_sentence_starts():
    corrections = PartialLabels(((1, 3, "A"),), ((4, 6, None), (0, 1, "B")))
    entities = PartialLabels(
        ((0, 1, "B"), (2, 4, "B"), (4, 6, "A")), (), mask(0, 2, 3, 4, 5)
    )
    starts = PartialLabels(borders=np.array([1, 2, 4]))
    known = corrections.merge(entities).merge(starts)
    # (0, 1, "B") and (4, 6, "A") are excluded, (2, 4, "B") overlaps what is required.
    assert shown(known) == (((1, 3, "A"),), corrections.excluded, [], [1, 4])
    known = entities.merge(starts)
    assert shown(known) == (entities.required, (), [0, 2, 3, 4, 5], [1, 2, 4])
    crossing = PartialLabels(((1, 5, "A"),)).merge(starts)
    assert shown(crossing) == (((1, 5, "A"),), (), None, [1])
    same = PartialLabels(((2, 4, "B"),)).merge(entities)
    assert shown(same) == (entities.required, (), [0, 2, 3, 4, 5], None)


def test_blocked_tokens_stay_but_under_corrections():
    blocked = PartialLabels(blocked=mask(0, 1, 4))
    assert shown(PartialLabels(((1, 3, "A"),)).merge(blocked))[2] == [0, 4]
    assert blocked.blocked.sum() == 3  # as it was


def test_unknown_labels_leave_their_tokens_blocked():
    known = PartialLabels(((0, 2, "A"), (3, 5, "NEW")), (), mask(0, 1, 3, 4))
    found = with_labels(known, ("A", "B"))
    assert shown(found) == (((0, 2, "A"),), (), [0, 1, 3, 4], None)
    assert np.flatnonzero(found.outside()).tolist() == [3, 4]
    assert known.outside() is None and with_labels(known, ("A", "NEW")) is known


def test_parts():
    known = PartialLabels(
        ((0, 2, "A"), (3, 5, "B")), ((1, 4, None),), mask(0, 1, 5), np.array([2, 4])
    )
    assert shown(known.part(0, 6)) == shown(known)
    assert shown(known.part(1, 5)) == (((2, 4, "B"),), ((0, 3, None),), [0], [1, 3])
    assert shown(known.part(4, 6)) == ((), (), [1], [])
    assert shown(known.part(1, 4))[3] == [1]  # its own end is no border
    assert np.flatnonzero(known.part(4, 6).unknown()).tolist() == [0]


def draw(rng, n_tokens):
    required, at, blocked = [], 0, np.zeros(n_tokens, bool)
    while at < n_tokens:
        size = int(rng.integers(1, 3))
        kind = rng.integers(5)
        if kind == 0 and at + size <= n_tokens:
            required.append((at, at + size, str(rng.choice(["A", "B"]))))
        if kind == 1:
            blocked[at : at + size] = True
        at += size
    excluded = []
    for _ in range(int(rng.integers(3))):
        i, j = sorted(rng.choice(n_tokens + 1, size=2, replace=False).tolist())
        excluded.append((i, j, rng.choice(["A", "B", None])))
    borders = np.flatnonzero(rng.random(n_tokens) < 0.3)
    starts = PartialLabels(borders=borders[borders > 0])
    known = PartialLabels(tuple(required), tuple(excluded), blocked).merge(starts)
    if any(map(known.excludes, required)):
        known = replace(known, excluded=())
    return known


def agrees(spans, known, borders):
    """Whether predicted spans are all that is required, and nothing else is known to
    be wrong of them."""
    others = [span for span in spans if span not in known.required]
    return (
        {*known.required} <= {*spans}
        and not any(known.blocked[i:j].any() for i, j, _ in others)
        and not any(i < b < j for i, j, _ in others for b in borders)
        and not any({x, (*x[:2], None)} & {*known.excluded} for x in spans)
    )


@pytest.mark.parametrize("outside", OUTSIDES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_constraints_equal_enumeration(encoding, outside):
    inventory = LabelInventory(["A", "B"], encoding, outside)
    forbidden = inventory.forbidden()
    automaton = PatternAutomaton(inventory.names, forbidden)
    n_empty = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n_tokens = int(rng.integers(1, 4 if encoding == "BILUO" else 5))
        known = draw(rng, n_tokens)
        if inventory.on_tokens:
            known = replace(known, excluded=())
        borders = known.borders
        if encoding == "IO":  # neighbours of one label are one span
            pairs = zip(known.required, known.required[1:], strict=False)
            if any(left[1:] == (right[0], right[2]) for left, right in pairs):
                continue
            known, borders = replace(known, borders=None), ()
        potentials = Potentials.zeros(automaton, n_tokens)
        for name in ("inside", "start", "end"):
            array = getattr(potentials, name)
            array[:] = rng.normal(size=array.shape)
        if not inventory.on_tokens:
            potentials.tail[:] = 0.0
        potentials.pattern[:] = -np.inf
        is_outside = known.outside()
        if outside == "none":
            potentials.length[0] = potentials.tail[0] = -np.inf
            if is_outside is not None:
                potentials = with_outside(potentials, inventory)
        scores = oracles.scored(as_problem(automaton, potentials))

        def permits(segments):
            spans = inventory.decode(segments)
            free = [i for i, j, y in segments if not y for i in range(i, j)]
            is_in = outside != "none" or set(free) == set(
                np.flatnonzero([] if is_outside is None else is_outside).tolist()  # noqa: B023
            )
            # Adjacent outside tokens are one segment where it may be long.
            ends = {i for i, j, y in segments if not y} & {
                j for _, j, y in segments if not y
            }
            is_one = outside != "none" or inventory.on_tokens or not ends
            return agrees(spans, known, borders) and is_in and is_one  # noqa: B023

        left = {s: x for s, x in scores.items() if x > -math.inf and permits(s)}
        n_empty += not left
        constraints = to_constraints(known, inventory, n_tokens)
        found = log_partition(automaton, potentials, constraints)
        assert found == pytest.approx(oracles.log_z(left), abs=1e-9)
    assert n_empty < 12


# --- against definitions that compare each with each ---------------------------------

N_TOKENS = 9
LABELS = ("A", "B")
BORDERS = st.integers(0, N_TOKENS)


def overlap(left, right):
    return left[0] < right[1] and right[0] < left[1]


@st.composite
def spans(draw, labels=LABELS):
    start = draw(st.integers(0, N_TOKENS - 1))
    return start, draw(st.integers(start + 1, N_TOKENS)), draw(st.sampled_from(labels))


@st.composite
def apart(draw):
    """Spans that do not overlap, in any order."""
    chosen = []
    for span in draw(st.lists(spans(), max_size=6)):
        if not any(overlap(span, other) for other in chosen):
            chosen.append(span)
    return chosen


@st.composite
def known(draw):
    excluded = draw(st.lists(spans((*LABELS, None)), max_size=6))
    return PartialLabels(tuple(sorted(draw(apart()))), tuple(excluded))


def excludes(some, span):
    return any(x[:2] == span[:2] and x[2] in (span[2], None) for x in some.excluded)


@given(known(), spans())
def test_permits(some, span):
    is_free = not any(overlap(span, x) and x != span for x in some.required)
    assert some.permits(span) == (is_free and not excludes(some, span))
    assert some.excludes(span) == excludes(some, span)


@given(known(), BORDERS, BORDERS)
def test_part(some, start, end):
    part = some.part(start, end)
    for name in ("required", "excluded"):
        given = getattr(some, name)
        within = [
            (i - start, j - start, y) for i, j, y in given if start <= i <= j <= end
        ]
        assert sorted(getattr(part, name), key=str) == sorted(within, key=str)
    assert part.required == tuple(sorted(part.required))


@given(apart(), known(), st.sets(spans(), max_size=4))
def test_spans_are_required_one_after_the_other(chosen, some, impossible):
    """As long as they are possible together, however many are tried at once."""

    def is_possible(tried):
        assert tried.required == tuple(sorted(tried.required))
        return not impossible & {*tried.required}

    chosen = [span for span in chosen if some.permits(span)]
    expected = some
    for span in chosen:
        tried = PartialLabels((span,)).merge(expected)
        if is_possible(tried):
            expected = tried
    found = require_all(chosen, some, is_possible)
    assert found.required == expected.required
    assert {*found.excluded} == {*expected.excluded}


def test_few_impossible_spans_cost_few_tries():
    tries = []

    def is_possible(tried):
        tries.append(len(tried.required))
        return (700, 701, "A") not in tried.required

    chosen = [(i, i + 1, "A") for i in range(1000)]
    found = require_all(chosen, PartialLabels(), is_possible)
    assert len(found.required) == 999
    assert len(tries) <= 2 * 10 + 1  # 2**10 > 1000
