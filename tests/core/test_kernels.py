"""The loops of simd.h, compiled on their own: against numpy, and in each version."""

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
HEADER = Path(core.__file__).parent / "simd" / "simd.h"
OPTIONS = ["-O3", "-ffp-contract=off"]  # as in setup.py
if os.environ.get("HOSEMI_SANITIZE") == "1":
    OPTIONS += ["-g", "-fsanitize=address,undefined"]
# The loader chooses the version of a kernel. So there is only the base version:
BASE = "-Dtarget_clones(...)=unused"
RESULTS = {"shift": c_double, "settle": c_int, "lane_settle": c_int}
RESULTS |= {"log_bound": c_double, "count_bad": c_ssize_t}
NAMES = [*RESULTS, "exp", "pull", "push", "rest", "pair", "push_max", "rest_max", "sum"]
NAMES += ["max", "bound", "leap_max", "relax_max", "lane_sum", "lane_scores"]
NAMES += ["lane_keys", "lane_bound", "lane_arrive", "lane_leave"]
SOURCE = """
#include <fenv.h>
#include "simd.h"
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


def problems(forbidden=0.0):
    """w [n], in [width] and rows [n, width], which are given as an array that ends with
    the last of them and their places in it. What lies between them must stay."""
    rng = np.random.default_rng(0)
    for width in range(1, 21):
        for n in range(21):
            for stride in (width, width + 1, width + 7):
                flat = np.full(max((n - 1) * stride + width, 0), 12345.0)
                places = np.arange(n)[:, None] * stride + np.arange(width)
                flat[places] = numbers(rng, n, width, forbidden=forbidden)
                w = numbers(rng, n, forbidden=forbidden)
                yield w, numbers(rng, width, forbidden=forbidden), flat, places, stride


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


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_shift_and_settle(call, forbidden):
    rng = np.random.default_rng(0)
    for n in [*range(21)] * 10:
        score, scale, top = numbers(rng, 3, n, forbidden=forbidden)
        x = np.zeros(n)
        best = call("shift", score, scale, top, n, x)
        assert x.tolist() == (score + scale).tolist()
        assert best == np.max(x + top, initial=-INF)
        for cut in (-INF, 0.0, *(x + top)[:2].tolist()):  # ties are not kept
            for level in (0.0, -700.5, 708.5):
                settled = x.copy()
                fits = call("settle", settled, top, n, cut, level)
                expected = np.where(x + top > cut, x - level, -INF)
                kept = expected[x + top > cut]
                assert settled.tolist() == expected.tolist()
                assert fits == np.all((kept >= -708) & (kept <= 700))


def one_group(width):
    return np.array([0, width], np.int32), 1


def test_pull(call):
    for w, out, flat, places, stride in problems():
        expected = out + w @ flat[places]
        call("pull", *one_group(len(out)), w, 0, flat, stride, len(w), out)
        np.testing.assert_allclose(out, expected, atol=1e-13)


def test_push(call):
    for w, given, flat, places, stride in problems():
        expected = flat.copy()
        expected[places] += np.outer(w, given)
        call("push", *one_group(len(given)), w, 0, given, len(w), flat, stride)
        assert flat.tolist() == expected.tolist()


def test_pair(call):
    for w, given, flat, places, stride in problems():
        prob = np.full(len(w), math.nan)
        call("pair", *one_group(len(given)), w, 0, given, len(w), flat, stride, prob)
        np.testing.assert_allclose(prob, w * (flat[places] @ given), atol=1e-13)


def groups(rng):
    """First states [G + 1] of some groups, and the group of each state."""
    for n_groups in range(12):
        sizes = rng.integers(1, 12, n_groups)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        yield first, np.repeat(np.arange(n_groups), sizes)


def test_sums_of_groups(call):
    rng = np.random.default_rng(0)
    for first, group in groups(rng):
        n, n_groups = len(group), len(first) - 1
        for k in (0, 1, 3):
            w, x = rng.normal(size=(n_groups, k + 2)), rng.normal(size=n)
            rows, used = rng.normal(size=(k, n)), w[:, :k]
            out = rng.normal(size=n)
            expected = out + (used[group].T * rows).sum(axis=0)
            call("pull", first, n_groups, w, k + 2, rows, n, k, out)
            np.testing.assert_allclose(out, expected, atol=1e-13)
            prob, expected = np.zeros_like(w), np.zeros_like(w)
            np.add.at(expected[:, :k], group, used[group] * (rows * x).T)
            call("pair", first, n_groups, w, k + 2, x, k, rows, n, prob)
            np.testing.assert_allclose(prob, expected, atol=1e-13)
            expected = rows + used[group].T * x
            call("push", first, n_groups, w, k + 2, x, k, rows, n)
            np.testing.assert_allclose(rows, expected, atol=1e-13)
        end, keep = rng.normal(size=(2, n_groups))
        x, after, out = rng.normal(size=(3, n))
        expected = end[group] * x + keep[group] * after
        call("rest", first, n_groups, end, keep, x, after, out)
        np.testing.assert_allclose(out, expected, atol=1e-13)


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_push_max(call, forbidden):
    for w, given, flat, places, stride in problems(forbidden):
        expected = flat.copy()
        expected[places] = np.maximum(flat[places], w[:, None] + given)
        one = one_group(len(given))
        call("push_max", *one, w, len(w), given, len(w), flat, stride)
        assert flat.tolist() == expected.tolist()


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_max_of_groups(call, forbidden):
    rng = np.random.default_rng(0)
    for first, group in groups(rng):
        n_groups = len(first) - 1
        end, more, tail, score = numbers(rng, 4, n_groups, forbidden=forbidden)
        given, after, rows = numbers(rng, 3, first[-1], forbidden=forbidden)
        expected = np.maximum(rows, score[group] + given)
        call("push_max", first, n_groups, score, 1, given, 1, rows, 0)
        assert rows.tolist() == expected.tolist()
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


def test_sum(call):
    for schedule, matrix, weight, slots, sums in schedules():
        expected = slots[:-2].copy()
        for i in sums:
            reads = ~np.isnan(matrix[i])
            expected[i] = matrix[i, reads] @ expected[reads]
        call("sum", *of_schedule(schedule, weight, 0.0, slots))
        np.testing.assert_allclose(slots[:-2], expected, rtol=1e-12, atol=1e-12)


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


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_bound(call, forbidden):
    rng = np.random.default_rng(0)
    for first, group in groups(rng):
        for share in (0.0, 1e-3, 0.5, 1.0):
            x = np.exp(numbers(rng, len(group), forbidden=forbidden) * 10)
            largest, top = np.zeros(len(first) - 1), np.zeros(len(first) - 1)
            np.maximum.at(largest, group, x)
            expected = np.where(x >= share * largest[group], x, 0.0)
            call("bound", first, len(top), share, x, top)
            assert x.tolist() == expected.tolist()
            for found, value in zip(top, largest):
                assert found == (call("log_bound", value) if value else -INF)


def test_log_bound(call):
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(-1074, 1024)
    for x in powers:
        assert abs(call("log_bound", x) - math.log(x)) < 1e-12
    beside = np.nextafter(powers[1:, None], [0, INF]).ravel()
    for x in (*beside, *np.exp(rng.uniform(-744, 709, 2000))):
        assert -1e-12 < call("log_bound", x) - math.log(x) < math.log(2) + 1e-12


# Lanes: what the kernels above do, for four documents.


def test_lane_sum(call):
    rng = np.random.default_rng(1)
    for schedule, _, weight, _, _ in schedules():
        lanes = rng.normal(size=(int(schedule.output.max(initial=0)) + 20, 4))
        lanes[-2:] = 0.0
        args = of_schedule(schedule, weight, 0.0, lanes)
        columns = [column.copy() for column in lanes.T]
        call("lane_sum", *args)
        for column, found in zip(columns, lanes.T):
            call("sum", *args[:-1], column)
            assert found.tobytes() == column.tobytes()


@pytest.mark.parametrize("forbidden", [0.0, 0.3, 1.0])
def test_lane_exponents(call, forbidden):
    rng = np.random.default_rng(0)
    for n in range(12):
        rows = numbers(rng, 4, n, forbidden=forbidden)
        before, first, more, end = rows
        length, tail = (np.repeat(numbers(rng, n, forbidden=0.2), 4) for _ in range(2))
        for start in (0, before):
            score = numbers(rng, 4, n, 4)
            expected = np.full((4, n), -INF)
            expected[0] = first + end + length[::4]
            expected[1] = more + tail[::4]
            if n and start is before:
                expected[2] = before + more + length[::4] + tail[::4]
            expected[3] = end
            call("lane_scores", n, start, first, more, end, length, tail, score)
            assert score[:, :, 0].tolist() == expected.tolist()
        x = numbers(rng, 4, n, 4, forbidden=forbidden) * 300
        tops = numbers(rng, 3, n, 4, forbidden=forbidden)
        scales = np.rint(numbers(rng, 3, 4) * 9)
        best = np.zeros(4)
        keys = x + [[scales[0]], [scales[1]], [scales[2]], [np.zeros(4)]]
        keys[1][tops[2] == -INF] = keys[2][tops[1] == -INF] = -INF
        bound = np.maximum(keys[1] + tops[2], keys[2] + tops[1])
        largest = np.maximum(bound + np.maximum(keys[3], 0.0), keys[0] + tops[0])
        call("lane_keys", n, *scales, *tops, x, best)
        assert x.tolist() == keys.tolist()
        assert tops[2].tolist() == bound.tolist()
        assert best.tolist() == np.max(largest, axis=0, initial=-INF).tolist()
        best[best == -INF] = 0.0
        settled = keys - [[best], [best], [best], [np.zeros(4)]]
        settled[0][keys[0] + tops[0] == -INF] = -INF
        finite = settled[settled > -INF]
        is_fit = ((finite >= -708.0) & (finite <= 700.0)).all()
        assert call("lane_settle", n, 1.0, best, tops[0], x) == is_fit
        assert x.tolist() == settled.tolist()


def test_lane_rows(call):
    rng = np.random.default_rng(0)
    for first, group in groups(rng):
        n, n_groups = len(group), len(first) - 1
        for share in (0.0, 0.5):
            weight, after = np.exp(rng.normal(size=(2, 4, n_groups, 4)))
            opened, entering, running, rest, beta = np.exp(rng.normal(size=(5, n, 4)))
            found, top = np.zeros((n, 4)), np.zeros((n_groups, 4))
            here, keep, enter, at_end = weight[:, group]
            _, next_keep, next_enter, _ = after[:, group]
            alone = [np.ascontiguousarray(x) for x in opened.T]
            call("lane_bound", first, n_groups, share, opened, found, top)
            tops = np.zeros(n_groups)
            for lane, x in enumerate(alone):
                call("bound", first, n_groups, share, x, tops)
                assert found[:, lane].tolist() == x.tolist()
                assert top[:, lane].tolist() == tops.tolist()
            stays = keep * running + enter * entering
            kept = [np.ascontiguousarray(x) for x in stays.T]
            arrays = weight, opened, entering, running, top, found
            call("lane_arrive", first, n_groups, share, *arrays)
            for lane, x in enumerate(kept):
                call("bound", first, n_groups, share, x, tops)
                assert running[:, lane].tolist() == x.tolist()
                assert top[:, lane].tolist() == tops.tolist()
            assert found.tolist() == (here * opened + at_end * running).tolist()
            closing = next_enter * rest + here * beta
            following = at_end * beta + next_keep * rest
            call("lane_leave", first, n_groups, weight, after, beta, rest, found)
            assert found.tolist() == closing.tolist()
            assert rest.tolist() == following.tolist()
