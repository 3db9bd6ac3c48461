"""Thresholds above which answers need no eye, with a bound on how many are wrong.

With probability 1 - delta over the records that choose the threshold, at most a share
`error` of what is accepted later is wrong, if new records come from where these come
from. Thresholds are tested from strict to lax, each at the level delta, until one is
not rejected: those of records by a binomial test, those of spans by bets against "more
of them are wrong". docs/model.md says why that keeps the promise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Places
from .operating_points import short_between

# Records are equally probable if they are with this many decimals.
DECIMALS = 12

# Tests of records begin with this share of them, or later: where one wrong record, such
# as an error of the gold, does not end them, if that is among the first third.
_FIRST_SHARE, _LAST_FIRST_SHARE = 0.1, 1 / 3

# The number of bets on spans; each bet is half of the one before.
_N_BETS = 10

# Records that say where tests of spans begin, as a share. The first test should have so
# many times the evidence that is needed, and this share of the most that there is
# anywhere, if the other records are as these are; or, if there is nowhere enough, so
# many times the evidence if no span is wrong.
_SCOUTS = 0.1
_RESERVE, _SHARE_OF_MOST, _RESERVE_WITHOUT_ERROR = 3.0, 0.5, 1.5


@dataclass(frozen=True)
class Chosen:
    """A threshold that keeps a promise: what is at least so probable is accepted."""

    threshold: float | None  # None: none could be shown to keep it
    n_tested: int  # the records or spans of the test
    n_accepted: int = 0  # those of them that are accepted
    n_wrong: int = 0  # those of these that are wrong
    most: int = 0  # the most spans of a record that are accepted; 0: any number
    # Without a threshold: how many such records would do; None: more would not help.
    n_needed: int | None = None


def least_sample(error: float, delta: float) -> int:
    """Returns how many accepted records without an error keep the promise that a share
    of at most `error` is wrong but with probability `delta`: 299 for .01 at .05."""
    return int(np.ceil(np.log(delta) / np.log1p(-error) - 1e-9))


def choose_for_records(
    confidence: Floats, is_wrong: Bools, error: float, delta: float
) -> Chosen:
    """Returns the lowest threshold that keeps the promise for records."""
    from scipy.stats import binom

    values, order = _descending(confidence)
    n = len(values)
    ends = _ends_of_ties(values)
    n_accepted, n_wrong = ends + 1, np.cumsum(is_wrong[order].astype(int))[ends]
    may_begin = np.flatnonzero(n_accepted >= _first_test(n, error, delta))
    passes = (binom.cdf(n_wrong, n_accepted, error) <= delta) & (values[ends] > 0)
    if not len(may_begin) or not passes[may_begin[0]]:
        needed = _records_needed(n_wrong, n_accepted, error, delta)
        return Chosen(None, n, n_needed=needed)
    fails = np.flatnonzero(~passes[may_begin[0] :])
    last = (may_begin[0] + fails[0] if len(fails) else len(ends)) - 1
    k = int(n_accepted[last])
    threshold = values[k - 1]
    if k < n:
        threshold = short_between(values[k], threshold)
    else:
        threshold = np.floor(1000 * threshold) / 1000
    return Chosen(float(threshold), n, k, int(n_wrong[last]))


def _first_test(n: int, error: float, delta: float) -> int:
    """Returns how many of n records the first test accepts, whichever these are."""
    from scipy.stats import binom

    counts = np.arange(int(_LAST_FIRST_SHARE * n) + 1)
    with_one_wrong = np.flatnonzero(binom.cdf(1, counts, error) <= delta)
    least = with_one_wrong[0] if len(with_one_wrong) else least_sample(error, delta)
    return int(np.ceil(max(least, _FIRST_SHARE * n)))


def _descending(confidence: Floats) -> tuple[Floats, Places]:
    """Returns values with `DECIMALS` decimals, the largest first, and their order."""
    values = np.round(confidence, DECIMALS)
    order = np.argsort(-values, kind="stable")
    return values[order], order


def _ends_of_ties(values: Floats) -> Places:
    """Returns the places after which a smaller value comes, and the last, int [T]."""
    return np.flatnonzero(np.append(values[1:] != values[:-1], len(values) > 0))


def _records_needed(
    n_wrong: NDArray[np.int_], n_accepted: Places, error: float, delta: float
) -> int | None:
    """Returns how many records would pass the first test in half of all samples, if
    the share of wrong ones among the most probable stays as it is."""
    from scipy.stats import binom

    n = int(n_accepted[-1])
    for total in _larger(n):
        first = _first_test(total, error, delta)
        place = np.searchsorted(n_accepted, min(first / total, 1.0) * n)
        share = n_wrong[place] / n_accepted[place]
        most = binom.ppf(delta, first, error)
        most -= binom.cdf(most, first, error) > delta
        if total >= first and binom.cdf(most, first, share) >= 0.5:
            return total
    return None


def _larger(n: int) -> list[int]:
    """Returns larger numbers of records to try, up to a hundred times as many."""
    return [int(np.ceil(n * 1.1**k)) for k in range(1, 49)]


@dataclass(frozen=True)
class _Spans:
    """Spans of records, the most probable ones first."""

    record: NDArray[np.int_]
    confidence: Floats
    is_wrong: Bools

    def where(self, is_taken: Bools) -> _Spans:
        """Returns some of the spans, bool [S]."""
        record, confidence = self.record[is_taken], self.confidence[is_taken]
        return _Spans(record, confidence, self.is_wrong[is_taken])

    def ranks(self) -> Places:
        """Returns how many spans of its record stand before each, int [S]."""
        return self.sums_before(np.ones(len(self.record), np.intp))

    def sums_before(self, counts: Places) -> Places:
        """Returns the sum over the spans of its record that stand before each."""
        order = np.argsort(self.record, kind="stable")
        total = np.cumsum(counts[order]) - counts[order]
        sizes = np.bincount(self.record)
        starts = (np.cumsum(sizes) - sizes)[self.record[order]]
        sums = np.empty(len(order), np.intp)
        sums[order] = total - total[starts]
        return sums


def choose_for_spans(
    record: NDArray[np.int_],
    confidence: Floats,
    is_wrong: Bools,
    n_records: int,
    error: float,
    delta: float,
    seed: int = 0,
) -> Chosen:
    """Returns the lowest threshold that keeps the promise for spans. `record` has for
    each the number of its record, from 0; some of `n_records` may have no spans."""
    values, order = _descending(confidence)
    spans = _Spans(record[order], values, is_wrong[order])
    is_scout = np.zeros(n_records, bool)
    n_scouts = int(np.ceil(_SCOUTS * n_records))
    is_scout[np.random.default_rng(seed).permutation(n_records)[:n_scouts]] = True
    of_scouts = is_scout[spans.record]
    scouts, tested = spans.where(of_scouts & (values > 0)), spans.where(~of_scouts)
    if not len(scouts.record) or not len(tested.record):
        return Chosen(None, len(tested.record))
    most = int(scouts.ranks().max()) + 1
    tested = tested.where(tested.ranks() < most)
    n_tested, tested = len(tested.record), tested.where(tested.confidence > 0)
    game = error, np.array([0.99 / ((1 - error) * most) / 2**j for j in range(_N_BETS)])
    none_is_wrong = replace(scouts, is_wrong=np.zeros_like(scouts.is_wrong))
    expected = _log_capitals(scouts, *game), _log_capitals(none_is_wrong, *game)
    of_spans = np.vstack([np.zeros(_N_BETS), _log_capitals(tested, *game)])
    times = (n_records - n_scouts) / n_scouts
    grid = _thresholds(scouts.confidence, expected, times, delta)
    n_accepted = np.searchsorted(-tested.confidence, -grid, side="right")
    passes = _mixed(of_spans[n_accepted]) >= -np.log(delta)
    last = int(np.argmin(passes)) - 1 if not passes.all() else len(grid) - 1
    if last < 0:
        for n in _larger(n_records):  # to pass the first test, if capitals grow with n
            more = int((1 - _SCOUTS) * n)
            first = _thresholds(scouts.confidence, expected, more / n_scouts, delta)[0]
            place = np.searchsorted(-tested.confidence, -first, side="right")
            capitals = of_spans[place] * more / (n_records - n_scouts)
            if _mixed(capitals) >= -np.log(delta):
                return Chosen(None, n_tested, most=most, n_needed=n)
        return Chosen(None, n_tested, most=most)
    k = int(n_accepted[last])
    n_wrong = int(tested.is_wrong[:k].sum())
    return Chosen(float(grid[last]), n_tested, k, n_wrong, most)


def _thresholds(
    scouts: Floats, expected: tuple[Floats, Floats], times: float, delta: float
) -> Floats:
    """Returns the thresholds to test, confidences of scouts, the strictest one first,
    at which the capital of that many times the records should suffice with a reserve;
    else the lowest one. `expected`: the log of capitals if the tested spans are as the
    scouts, and if none is wrong, float64 [S, bets]."""
    ends = _ends_of_ties(scouts)
    as_scouts, none_is_wrong = (_mixed(times * x[ends]) for x in expected)
    enough = -np.log(delta)
    goal = max(_RESERVE * enough, _SHARE_OF_MOST * as_scouts.max())
    begins = np.flatnonzero(as_scouts >= goal)
    if not len(begins):
        begins = np.flatnonzero(none_is_wrong >= _RESERVE_WITHOUT_ERROR * enough)
    first = begins[0] if len(begins) else len(ends) - 1
    return scouts[ends[first:]]


def _log_capitals(spans: _Spans, error: float, bets: Floats) -> Floats:
    """Returns the log of the capital of each bet against "more than `error` of the
    spans are wrong", float64 [S, bets]: in row s all spans up to s are accepted."""
    n_wrong = spans.sums_before(spans.is_wrong.astype(np.intp))
    before = n_wrong - error * spans.ranks()
    after = before + spans.is_wrong - error
    gains = np.log1p(-np.outer(after, bets)) - np.log1p(-np.outer(before, bets))
    return np.asarray(np.cumsum(gains, axis=0))


def _mixed(log_capitals: Floats) -> Floats:
    """Returns the log of the capital of all bets together, [..] of [.., bets]."""
    shares = 0.5 ** np.arange(1, _N_BETS + 1)
    log_shares = np.log(shares / shares.sum())
    return np.asarray(np.logaddexp.reduce(log_capitals + log_shares, axis=-1))
