"""What is known of spans: against definitions that compare each with each."""

from hypothesis import given
from hypothesis import strategies as st

from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.prediction import limits

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

    def is_possible(tried, *args):
        assert tried.required == tuple(sorted(tried.required))
        return not impossible & {*tried.required}

    expected = some
    for span in chosen:
        tried = PartialLabels((span,)).merge(expected)
        if is_possible(tried):
            expected = tried
    old, limits._is_possible = limits._is_possible, is_possible
    try:
        found = limits._require(chosen, some, None, None, None)
    finally:
        limits._is_possible = old
    assert found.required == expected.required
    assert {*found.excluded} == {*expected.excluded}


def test_few_impossible_spans_cost_few_tries(monkeypatch):
    tries = []

    def is_possible(tried, *args):
        tries.append(len(tried.required))
        return (700, 701, "A") not in tried.required

    monkeypatch.setattr(limits, "_is_possible", is_possible)
    chosen = [(i, i + 1, "A") for i in range(1000)]
    found = limits._require(chosen, PartialLabels(), None, None, None)
    assert len(found.required) == 999
    assert len(tries) <= 2 * 10 + 1  # 2**10 > 1000
