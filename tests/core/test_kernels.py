"""The loops of simd.h and lanes.h, compiled alone: against numpy, in each version."""

import math
import os
import shlex
import shutil
import subprocess
import sysconfig
from ctypes import CDLL, CFUNCTYPE, c_double, c_int, c_ssize_t, c_void_p
from pathlib import Path

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.automaton.sum_schedule import SumSchedule

INF = float("inf")
HEADER = Path(core.__file__).parent / "simd" / "lanes.h"
OPTIONS = ["-O3", "-ffp-contract=off"]  # as in setup.py
if os.environ.get("HOSEMI_SANITIZE") == "1":
    OPTIONS += ["-g", "-fsanitize=address,undefined"]
# The loader chooses the version of a kernel. So there is only the base version:
BASE = "-Dtarget_clones(...)=unused"
RESULTS = {"lane_settle": c_int, "log_bound": c_double, "count_bad": c_ssize_t}
NAMES = [*RESULTS, "exp", "push_max", "rest_max", "max", "leap_max", "relax_max"]
NAMES += [f"lane_{x}" for x in ("sum", "scores", "keys", "bound", "arrive", "leave")]
NAMES += [f"lane_{x}" for x in ("count_arcs", "pair")]
SOURCE = """
#include <fenv.h>
#include "lanes.h"
void clear_flags(void) { feclearexcept(FE_ALL_EXCEPT); }
int flags(void) { return fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT); }
"""
# The kernels are static: only pointers to them can be exported.
SOURCE += "".join(f"void *const p_{name} = (void *)hosemi_{name};\n" for name in NAMES)


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """A function that calls a kernel by its name, in both libraries."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    if os.name == "nt" or not compiler or not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler that takes the options of GCC: {compiler}")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.c").write_text(SOURCE)
    libraries = []
    for name, more in (("chosen.so", []), ("base.so", [BASE])):
        command = [*compiler, *OPTIONS, *more, "-shared", "-fPIC", "-o", name]
        command += ["-I", str(HEADER.parent), "kernels.c", "-lm"]
        # A sanitizer that is loaded into these tests is not for the compiler.
        environ = {**os.environ, "LD_PRELOAD": ""}
        subprocess.run(command, cwd=folder, env=environ, check=True)
        libraries.append(CDLL(str(folder / name)))

    def call(name, *args):
        """Same bits from both, and no flags; arrays are changed as they are in C."""
        found = []
        for library in libraries:
            copies = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
            address = c_void_p.in_dll(library, f"p_{name}").value
            kernel = CFUNCTYPE(RESULTS.get(name))(address)
            passed = [as_c(x) for x in copies]
            library.clear_flags()
            copies.append(kernel(*passed))
            assert library.flags() == 0 or name == "count_bad"
            found.append(copies)
        chosen, base = ([np.array(x).tobytes() for x in copies] for copies in found)
        assert chosen == base
        for x, copy in zip(args, copies):
            if isinstance(x, np.ndarray):
                x[:] = copy
        return copies[-1]

    return call


def as_c(x):
    if isinstance(x, np.ndarray):
        return c_void_p(x.ctypes.data)
    return c_double(x) if isinstance(x, float) else c_ssize_t(x)


def numbers(rng, *shape, forbidden=0.0):
    """Normal numbers, a part of them -inf."""
    return np.where(rng.random(shape) < forbidden, -INF, rng.normal(size=shape))


def test_exp(call):
    rng = np.random.default_rng(0)
    near = np.arange(-1021, 1023)[:, None] * math.log(2) + [-1e-9, 0.0, 1e-9, 0.3466]
    tiny = 10.0 ** -np.arange(15, 324, 3)
    edges = [-708.0, 709.0, 0.0, -0.0, *tiny, *-tiny]
    x = np.concatenate([near.ravel(), edges, rng.uniform(-708, 709, 10_000)])
    found = x.copy()
    call("exp", found, len(x))
    np.testing.assert_allclose(found, [math.exp(y) for y in x], rtol=1e-15)


def test_exp_is_zero_below_its_range(call):
    x = np.array([-INF, -1e308, -1e6, -746.0, -745.0, np.nextafter(-708, -709)])
    call("exp", x, len(x))
    assert x.tobytes() == bytes(8 * len(x))


def test_exp_of_parts(call):
    rng = np.random.default_rng(0)
    x = np.minimum(numbers(rng, 200, forbidden=0.2) * rng.choice([1, 400], 200), 709)
    whole = x.copy()
    call("exp", whole, len(x))
    for n in range(len(x)):
        part = x[:n].copy()
        call("exp", part, n)
        assert part.tobytes() == whole[:n].tobytes()


def groups(rng):
    """First states [G + 1] of some groups, and the group of each state."""
    for n_groups in range(12):
        sizes = rng.integers(1, 12, n_groups)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        yield first, np.repeat(np.arange(n_groups), sizes)


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_max_of_groups(call, forbidden):
    rng = np.random.default_rng(0)
    for first, group in groups(rng):
        n_groups = len(first) - 1
        end, more, tail = numbers(rng, 3, n_groups, forbidden=forbidden)
        given, after, rows = numbers(rng, 3, first[-1], forbidden=forbidden)
        for n, step in ((0, 1), (1, 1), (3, 5)):
            score = numbers(rng, n_groups, step, forbidden=forbidden)
            flat = numbers(rng, n, len(group) + 2, forbidden=forbidden)
            expected = flat.copy()  # what lies between the rows stays
            higher = np.maximum(flat[:, :-2], score[group, :n].T + given)
            expected[:, :-2] = higher
            args = score, step, given, n, flat, len(group) + 2
            call("push_max", first, n_groups, *args)
            assert flat.tolist() == expected.tolist()
        stops = np.where(tail > -INF, end, -INF)[group] + given
        goes_on = (more + tail)[group] + after
        for has_more in (True, False):
            arrays = (more if has_more else 0), tail, given, after, rows
            call("rest_max", first, n_groups, end, *arrays)
            expected = np.maximum(stops, goes_on) if has_more else stops
            assert rows.tolist() == expected.tolist()


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_leaps(call, forbidden):
    rng = np.random.default_rng(0)
    for n in range(30):
        weight, given, best = numbers(rng, 3, n, forbidden=forbidden)
        target = rng.integers(0, max(n, 1), n).astype(np.int32)
        expected = np.maximum(best, weight + given[target])
        call("leap_max", weight, target, given, n, best)
        assert best.tolist() == expected.tolist()


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_relaxation(call, forbidden):
    rng = np.random.default_rng(0)
    for n_rows, width in np.ndindex(6, 12):
        weight = numbers(rng, n_rows, width, forbidden=forbidden)
        given = numbers(rng, n_rows, forbidden=forbidden)
        best = numbers(rng, width, forbidden=forbidden)
        expected = np.max([best, *(given[:, None] + weight)], axis=0)
        call("relax_max", weight, given, n_rows, width, best)
        assert best.tolist() == expected.tolist()


def schedules(forbidden=0.0):
    """Random sums that read each other: a schedule, its matrix of weights [slots,
    slots] (NaN where a sum does not read a slot), and slots."""
    rng = np.random.default_rng(0)
    for n_sums in [*range(30)] * 10:
        n_given = int(rng.integers(1, 10))
        n_slots = n_given + n_sums
        reads = rng.random((n_slots, n_slots)) < rng.choice([0.1, 0.4])
        reads = np.tril(reads, -1)  # a sum reads what is given, and earlier sums
        reads[:n_given] = False
        if n_sums % 2:  # sums that share what they read
            reads[n_given:] = rng.random((n_sums, n_slots)) < 0.9
            reads[:, n_given:] = False
        rows, columns = np.nonzero(reads)
        first = np.searchsorted(rows, np.arange(n_given, n_slots + 1))
        matrix = np.full((n_slots, n_slots), math.nan)
        weight = numbers(rng, len(rows), forbidden=forbidden)
        matrix[reads] = weight
        schedule = SumSchedule(
            np.arange(n_given, n_slots),
            first,
            columns,
            np.arange(len(rows)),
            n_slots,
            len(rows),
        )
        slots = np.append(numbers(rng, n_slots, forbidden=forbidden), [0.0, 0.0])
        yield schedule, matrix, weight, slots, range(n_given, n_slots)


def of_schedule(schedule, weight, padding, slots):
    weight = np.append(weight, [math.nan, padding])[schedule.arc]
    args = schedule.fan, schedule.output, schedule.input, weight, len(schedule.fan)
    return *args, slots


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_max(call, forbidden):
    for schedule, matrix, weight, slots, sums in schedules(forbidden):
        expected = slots[:-2].copy()
        for i in sums:
            reads = ~np.isnan(matrix[i])
            expected[i] = np.max(matrix[i, reads] + expected[reads], initial=-INF)
        call("max", *of_schedule(schedule, weight, -INF, slots))
        assert slots[:-2].tolist() == expected.tolist()


def test_count_bad(call):
    rng = np.random.default_rng(0)
    for n in [*range(21)] * 20:
        x = numbers(rng, n, forbidden=0.2)
        bad = rng.random(n) < 0.2
        x[bad] = rng.choice([math.nan, INF], bad.sum())
        assert call("count_bad", x, n) == bad.sum()


def test_log_bound(call):
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(-1074, 1024)
    for x in powers:
        assert abs(call("log_bound", x) - math.log(x)) < 1e-12
    beside = np.nextafter(powers[1:, None], [0, INF]).ravel()
    for x in (*beside, *np.exp(rng.uniform(-744, 709, 2000))):
        assert -1e-12 < call("log_bound", x) - math.log(x) < math.log(2) + 1e-12


# --- lanes --------------------------------------------------------------------------

ONE, FOUR, LOGS = range(3)
KINDS = (ONE, FOUR, LOGS)


class Numbers:
    """How a kind adds and multiplies; what it is given and what it finds, in logs or
    not."""

    def __init__(self, kind):
        self.n = 4 if kind == FOUR else 1
        self.plus = np.logaddexp if kind == LOGS else np.add
        self.times = np.add if kind == LOGS else np.multiply
        self.nothing = -INF if kind == LOGS else 0.0
        self.linear = np.exp if kind == LOGS else lambda x: x

    def some(self, rng, *shape):
        """A lane is the last of the dimensions."""
        logs = rng.normal(size=(*shape, self.n)) - 1.0
        return logs if self.nothing else np.exp(logs)

    def total(self, terms, axis=0):
        return self.plus.reduce(terms, axis=axis, initial=self.nothing)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kind", KINDS)
def test_lane_sum(call, kind):
    rng, lanes, n_shared = np.random.default_rng(1), Numbers(kind), 0
    for schedule, matrix, _, slots, sums in schedules():
        n_shared += np.sum(schedule.fan < 0)
        weight = lanes.some(rng, int((~np.isnan(matrix)).sum()))[:, 0]
        matrix[~np.isnan(matrix)] = weight
        x = np.full((len(slots), lanes.n), 0.0)
        x[:-2] = lanes.some(rng, len(slots) - 2)
        expected = x[:-2].copy()
        for i in sums:
            reads = ~np.isnan(matrix[i])
            terms = lanes.times(matrix[i, reads, None], expected[reads])
            expected[i] = lanes.total(terms)
        padded = np.append(weight, [math.nan, lanes.nothing])[schedule.arc]
        arrays = schedule.fan, schedule.output, schedule.input, padded
        call("lane_sum", kind, *arrays, len(schedule.fan), x)
        close(x[:-2], expected)
    assert n_shared


@pytest.mark.parametrize("kind", [ONE, FOUR])
@pytest.mark.parametrize("n_lengths", [1, 3])
@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_lane_exponents(call, kind, n_lengths, forbidden):
    """Scores of segments that end at a boundary, as exponents relative to scales."""
    rng, n_lanes = np.random.default_rng(0), Numbers(kind).n
    for n_groups, n in np.ndindex(12, n_lengths):
        n += 1
        first, more, end = numbers(rng, 3, 5, n_groups, forbidden=forbidden)
        length = np.repeat(numbers(rng, n_groups, n_lengths, 1), n_lanes, axis=2)
        tail = np.repeat(numbers(rng, n_groups, 1, forbidden=0.2), n_lanes, axis=1)
        for enters in (0, 1) if n == n_lengths else (0,):
            here = np.full((n_groups, n_lengths), -INF)
            for d in range(1, n + 1):
                further = more[5 - d + 1 :].sum(axis=0)
                here[:, -d] = first[5 - d] + further + end[4] + length[:, -d, 0]
            expected = [more[4] + tail[:, 0], np.full(n_groups, -INF), end[4]]
            if enters:
                expected[1] = first[4 - n] + more[5 - n :].sum(axis=0)
                expected[1] += length[:, 0, 0] + tail[:, 0]
            score = numbers(rng, n_groups * (n_lengths + 3), n_lanes)
            rows = first[4].ctypes.data, more[4].ctypes.data
            args = n_groups, n_lengths, n, enters, *rows, end[4].copy(), length, tail
            call("lane_scores", kind, *args, score)
            flat = np.concatenate([here.ravel(), *expected])
            np.testing.assert_allclose(score[:, 0], flat, rtol=1e-13, atol=1e-13)
        # Any exponents
        low, n_slots = n_lengths - n, n_groups * n_lengths
        x = numbers(rng, len(score), n_lanes, forbidden=forbidden) * 300
        x[:n_slots].reshape(n_groups, n_lengths, n_lanes)[:, :low] = -INF
        tops = numbers(rng, n, n_groups, n_lanes, forbidden=forbidden)
        enter_top, running_top = numbers(rng, 2, n_groups, n_lanes, forbidden=forbidden)
        scales, scale, enter_scale = (
            np.rint(numbers(rng, *shape, n_lanes) * 9) for shape in ((n,), (), ())
        )
        best, group_top = np.zeros(n_lanes), np.zeros((n_groups, n_lanes))
        here, rest = x[:n_slots].copy(), x[n_slots:].copy()
        here = here.reshape(n_groups, n_lengths, n_lanes)
        here[:, low:] += scales
        keep, enter, at_end = rest.reshape(3, n_groups, n_lanes)
        keep = np.where(running_top > -INF, keep + scale, -INF)
        enter = np.where(enter_top > -INF, enter + enter_scale, -INF)
        bound = np.maximum(keep + running_top, enter + enter_top)
        of_group = np.max(here[:, low:] + tops.swapaxes(0, 1), axis=1)
        largest = np.maximum(bound + np.maximum(at_end, 0.0), of_group)
        of_rows = scales, scale, enter_scale, tops, enter_top, running_top
        args = n_groups, n_lengths, low, *of_rows, x, group_top, best
        call("lane_keys", kind, *args)
        flat = np.concatenate([here.reshape(-1, n_lanes), keep, enter, at_end])
        assert x.tolist() == flat.tolist()
        assert running_top.tolist() == bound.tolist()
        assert group_top.tolist() == of_group.tolist()
        assert best.tolist() == np.max(largest, axis=0, initial=-INF).tolist()
        best[best == -INF] = 0.0
        is_kept = here[:, low:] + tops.swapaxes(0, 1) > (of_group - 71.0)[:, None]
        here[:, low:] = np.where(is_kept, here[:, low:] - best, -INF)
        settled = [here.reshape(-1, n_lanes), keep - best, enter - best, at_end]
        settled = np.concatenate(settled)
        finite = settled[settled > -INF]
        is_fit = ((finite >= -708.0) & (finite <= 700.0)).all()
        args = n_groups, n_lengths, low, 1.0, best, tops, group_top, x
        assert call("lane_settle", kind, *args) == is_fit
        assert x.tolist() == settled.tolist()


@pytest.mark.parametrize("kind", [ONE, FOUR])
@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_lane_bound(call, kind, forbidden):
    rng, n_lanes = np.random.default_rng(0), Numbers(kind).n
    for first, group in groups(rng):
        for share in (0.0, 1e-3, 0.5, 1.0):
            x = np.exp(numbers(rng, len(group), n_lanes, forbidden=forbidden) * 10)
            found, top = np.zeros_like(x), np.zeros((len(first) - 1, n_lanes))
            largest = np.zeros_like(top)
            np.maximum.at(largest, group, x)
            expected = np.where(x >= share * largest[group], x, 0.0)
            call("lane_bound", kind, first, len(top), share, x, found, top)
            assert found.tolist() == expected.tolist()
            for bound, value in zip(top.flat, largest.flat):
                assert bound == (call("log_bound", value) if value else -INF)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_lengths", [1, 3])
def test_lane_rows(call, kind, n_lengths):
    """alpha and R of a boundary; then B, T and what is counted."""
    rng, lanes = np.random.default_rng(0), Numbers(kind)
    for first, group in groups(rng):
        n_groups, n_states = len(first) - 1, len(group)
        for n in range(1, n_lengths + 1):
            low, n_slots = n_lengths - n, n_groups * n_lengths
            rows = lanes.some(rng, n_lengths + 1, n_groups * (n_lengths + 3))
            here = rows[:, :n_slots].reshape(len(rows), n_groups, n_lengths, lanes.n)
            keep, enter, at_end = (
                rows[:, n_slots + k * n_groups :][:, :n_groups][:, group]
                for k in range(3)
            )
            opened, entering = lanes.some(rng, n, n_states), lanes.some(rng, n_states)
            running, alpha = lanes.some(rng, n_states), lanes.some(rng, n_states)
            top = lanes.some(rng, n_groups)
            stays = lanes.times(keep[0], running)
            stays = lanes.plus(stays, lanes.times(enter[0], entering))
            terms = lanes.times(here[0, :, low:].swapaxes(0, 1)[:, group], opened)
            ends = lanes.plus(lanes.total(terms), lanes.times(at_end[0], stays))
            args = first, n_groups, n_lengths, low, 0.0, rows[0].copy(), opened
            args = *args, opened[0].size, entering, running, top, alpha
            call("lane_arrive", kind, *args)
            close(running, stays)
            close(alpha, ends)

            beta, rest = lanes.some(rng, n, n_states), lanes.some(rng, n_states)
            after = lanes.some(rng, n_states)
            closing = lanes.some(rng, n_states)
            terms = [lanes.times(enter[n_lengths], rest)]
            for d in range(1, n + 1):
                terms.append(lanes.times(here[d - 1, :, -d][group], beta[d - 1]))
            closed = lanes.total(np.array(terms))
            left = lanes.times(at_end[0], beta[0])
            left = lanes.plus(
                left, lanes.times(keep[1], rest if n_lengths == 1 else after)
            )
            counts = np.zeros((3 * n_groups, lanes.n))
            pairs = (opened[0], closed), (alpha, beta[0]), (running, left)
            joint = [lanes.linear(lanes.times(*pair)) for pair in pairs]
            expected = np.zeros((3, n_groups, lanes.n))
            for count, x in zip(expected, joint):
                np.add.at(count, group, x)
            strides = rows[0].size, beta[0].size
            args = first, n_groups, n_lengths, n, rows, strides[0], beta, strides[1]
            args = *args, after, rest, closing
            kept = rest.copy()
            call("lane_leave", kind, *args, 0, 0, 0, 0)
            close(closing, closed)
            close(rest, left)
            of_starts = opened[0].copy()
            rest[:], counts[:] = kept, 7.0
            call("lane_leave", kind, *args, of_starts, 0, 0, counts)
            close(rest, left)
            close(counts[:n_groups], expected[0])
            assert np.all(counts[n_groups:] == 7.0)
            rest[:] = kept
            call("lane_leave", kind, *args, of_starts, alpha, running, counts)
            close(rest, left)
            close(counts, expected.reshape(-1, lanes.n))


@pytest.mark.parametrize("kind", KINDS)
def test_lane_products(call, kind):
    rng, lanes = np.random.default_rng(0), Numbers(kind)
    for first, group in groups(rng):
        n_groups, n_states = len(first) - 1, len(group)
        for n, step in ((1, 1), (3, 4)):
            weight = lanes.some(rng, n_groups, step)
            rows, given = lanes.some(rng, n, n_states), lanes.some(rng, n_states)
            for w in (weight, 0):
                joint = lanes.times(rows, given)
                if w is weight:
                    joint = lanes.times(joint, weight[group, :n].swapaxes(0, 1))
                expected, prob = np.zeros((n_groups, step, lanes.n)), 0.0 * weight
                np.add.at(
                    expected, (group, slice(n)), lanes.linear(joint).swapaxes(0, 1)
                )
                args = given, n, rows, rows[0].size, prob
                call("lane_pair", kind, first, n_groups, w, step, *args)
                close(prob, expected)
        nodes, to = rng.integers(0, max(n_states, 1), (2, 9)).astype(np.int32)
        if n_states:
            x, y, count = (lanes.some(rng, k) for k in (n_states, n_states, 9))
            weight = lanes.some(rng, 9)[:, 0]
            for w in (weight, 0) if kind != LOGS else (weight,):
                joint = lanes.times(x[nodes], y[to])
                if w is weight:
                    joint = lanes.times(joint, weight[:, None])
                expected = count + lanes.linear(joint)
                call("lane_count_arcs", kind, nodes, to, 9, x, y, w, count)
                close(count, expected)
