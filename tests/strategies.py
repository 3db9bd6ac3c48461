"""Random problems for the core: a seeded generator, `random_problem`, and strategies of
sets of patterns. Imports nothing of ours. `tests/core/test_oracles.py` asserts what
problems cover.
"""

import os
from collections.abc import Callable
from itertools import product

import hypothesis.strategies as st
import numpy as np

from .oracles import Pattern, Problem, Segment

INF = float("inf")
IS_THOROUGH = os.environ.get("HOSEMI_THOROUGH") == "1"


def n_of(thorough: int) -> int:
    """How many random problems: all of them with HOSEMI_THOROUGH=1, else a fifth."""
    return thorough if IS_THOROUGH else max(thorough // 5, 1)


# ties: small integers; steps: multiples of 5,000; spikes: small, some up to +-900,
# around where a double underflows (e^-745)
KINDS = ("ties", "small", "medium", "steps", "huge", "spikes")
EXACT = ("ties", "steps")  # sums of these have no rounding


def all_patterns(n_labels: int, longest: int) -> list[Pattern]:
    """Every pattern of 2 to `longest` symbols: ^ may stand first, $ last."""
    labels = range(n_labels)
    found: list[Pattern] = []
    for width in range(2, longest + 1):
        middles = product(labels, repeat=width - 2)
        for first, middle, last in product(("^", *labels), middles, (*labels, "$")):
            found.append((first, *middle, last))
    return found


def all_observed(n_labels: int, longest: int) -> list[Pattern]:
    """Those that may be observed: without $."""
    return [z for z in all_patterns(n_labels, longest) if z[-1] != "$"]


# --- hypothesis -------------------------------------------------------------------


def pattern_sets(n_labels: int, longest: int = 4) -> st.SearchStrategy:
    patterns = st.sampled_from(all_patterns(n_labels, longest))
    return st.lists(patterns, max_size=8, unique=True).map(tuple)


def observed_sets(n_labels: int, longest: int = 3) -> st.SearchStrategy:
    """None of them in 3 of 5 problems."""
    patterns = st.sampled_from(all_observed(n_labels, longest))
    some = st.lists(patterns, min_size=1, max_size=4, unique=True).map(tuple)
    is_empty = st.sampled_from([True, True, True, False, False])
    return is_empty.flatmap(lambda empty: st.just(()) if empty else some)


# --- the seeded generator ---------------------------------------------------------


def random_problem(
    rng: np.random.Generator,
    *,
    kinds: tuple[str, ...] = KINDS,
    n_tokens: int | None = None,
    n_labels: int | None = None,
    patterns: tuple[Pattern, ...] | None = None,
    constrained: bool | None = None,
    observed: tuple[Pattern, ...] | None = None,
) -> Problem:
    """A problem of any kind and shape, but for what is given. `observed` = () stands
    for a problem without entries, too."""
    n_tokens = int(rng.choice(6, p=N_TOKENS)) if n_tokens is None else n_tokens
    n_labels = int(rng.integers(1, 4)) if n_labels is None else n_labels
    n_explicit = int(rng.integers(1, 4))
    kind = kinds[rng.integers(len(kinds))]
    if patterns is None:
        longest, n_patterns = int(rng.integers(2, 5)), int(rng.integers(0, 9))
        patterns = random_patterns(rng, n_labels, longest, n_patterns)

    def array(*shape: int, with_inf=(0.0, 0.0, 0.0, 0.1, 0.2)) -> np.ndarray:
        values = random_scores(rng, kind, shape)
        values[rng.random(shape) < rng.choice(with_inf)] = -INF
        return values

    segments = random_segments(rng, n_tokens, n_labels, int(rng.integers(0, 6)))
    segments += segments[: int(rng.integers(0, 3))]  # duplicates
    values = array(len(segments)).tolist()
    problem = Problem(
        patterns,
        array(n_tokens, n_labels),
        array(n_tokens, n_labels),
        array(n_tokens, n_labels),
        array(n_labels, n_explicit),
        array(n_labels, with_inf=(0.0, 0.5, 1.0)),
        [(*s, value) for s, value in zip(segments, values, strict=True)],
        array(len(patterns)),
    )
    if constrained or (constrained is None and rng.random() < 0.5):
        problem = problem._replace(**random_constraints(rng, n_tokens, n_labels))
    is_plain = observed == ()
    if observed is None:
        observed = random_observed(rng, n_labels) if rng.random() < 0.4 else ()
    if observed:
        problem = with_observed(rng, problem, observed, array)
    if observed or (not is_plain and rng.random() < 0.15):
        places = random_entries(rng, problem)
        values = array(len(places)).tolist()
        entries = [(*x, value) for x, value in zip(places, values, strict=True)]
        problem = problem._replace(entries=entries)
    return problem


def with_observed(
    rng: np.random.Generator,
    problem: Problem,
    observed: tuple[Pattern, ...],
    array: Callable[..., np.ndarray],
) -> Problem:
    """Some of the fields get columns for observed patterns, and there are cells."""
    problem = problem._replace(observed=observed)
    n_tokens, share = problem.n_tokens, rng.choice([0.0, 0.6, 0.9])
    for name in ("inside", "start", "end"):
        if rng.random() < share:
            columns = array(n_tokens, len(observed))
            dense = np.column_stack([getattr(problem, name), columns])
            problem = problem._replace(**{name: dense})
    size = int(rng.integers(0, 5))
    segments = random_segments(rng, n_tokens, problem.n_columns, size)
    values = array(len(segments)).tolist()
    cells = [(*s, value) for s, value in zip(segments, values, strict=True)]
    return problem._replace(cells=problem.cells + cells)


N_TOKENS = (0.05, 0.1, 0.2, 0.25, 0.25, 0.15)  # share of 0 .. 5 tokens


def random_patterns(
    rng: np.random.Generator, n_labels: int, longest: int, n_patterns: int
) -> tuple[Pattern, ...]:
    candidates = all_patterns(n_labels, longest)
    n_patterns = min(n_patterns, len(candidates))
    chosen = rng.choice(len(candidates), size=n_patterns, replace=False)
    return tuple(candidates[k] for k in chosen)


def random_observed(
    rng: np.random.Generator, n_labels: int, n_patterns: int | None = None
) -> tuple[Pattern, ...]:
    """1 to 4 of them, or as many as is said; pairs only where labels are many."""
    longest = int(rng.choice([2, 3, 4], p=[0.45, 0.4, 0.15]))
    candidates = all_observed(n_labels, longest if n_labels < 4 else 2)
    n_patterns = int(rng.integers(1, 5)) if n_patterns is None else n_patterns
    n_patterns = min(n_patterns, len(candidates))
    chosen = rng.choice(len(candidates), size=n_patterns, replace=False)
    return tuple(candidates[k] for k in chosen)


def random_entries(
    rng: np.random.Generator, problem: Problem
) -> list[tuple[int, int, int]]:
    """(position, role, column) of up to 12 entries, some of them twice."""
    if problem.n_tokens == 0:
        return []
    size = int(rng.integers(0, 11))
    highest = problem.n_tokens, 3, problem.n_columns
    places = np.column_stack([rng.integers(0, high, size) for high in highest])
    found = list(map(tuple, places.tolist()))
    return found + found[: int(rng.integers(0, 3))]


def random_scores(rng: np.random.Generator, kind: str, shape: tuple) -> np.ndarray:
    if kind in EXACT:
        size = 1.0 if kind == "ties" else 5e3
        return size * rng.integers(-2, 3, size=shape).astype(float)
    if kind == "spikes":
        spikes = rng.uniform(-900.0, 900.0, size=shape)
        return rng.uniform(-1.0, 1.0, size=shape) + spikes * (rng.random(shape) < 0.4)
    bound = {"small": 3.0, "medium": 30.0, "huge": 1e4}[kind]
    return rng.uniform(-bound, bound, size=shape)


def random_segments(
    rng: np.random.Generator, n_tokens: int, n_labels: int, size: int, lowest: int = 0
) -> list[Segment]:
    if n_tokens == 0:
        return []
    starts = rng.integers(0, n_tokens, size)
    ends = rng.integers(starts + 1, n_tokens + 1)
    labels = rng.integers(lowest, n_labels, size)
    return list(map(tuple, np.column_stack([starts, ends, labels]).tolist()))


def random_constraints(
    rng: np.random.Generator, n_tokens: int, n_labels: int
) -> dict[str, object]:
    values = rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 2, -1], n_tokens + 1).astype(np.int8)
    allowed = rng.random((n_tokens, n_labels)) >= rng.choice([0.05, 0.3])
    forbidden = random_segments(rng, n_tokens, n_labels, int(rng.integers(0, 4)), -1)
    present = rng.random(3) < 0.6
    return {
        "allowed": allowed if present[0] else None,
        "boundary": values if present[1] else None,
        "forbidden": tuple(forbidden) if present[2] else (),
    }


# --- what a generator must cover ----------------------------------------------------


def traits(problem: Problem) -> set[str]:
    """What is special about a problem; the coverage assertions count these."""
    n_tokens, n_labels = problem.n_tokens, problem.n_labels
    n_explicit = problem.length.shape[1]
    cells = [cell[:3] for cell in problem.cells]
    observed = problem.observed
    places = [entry[:3] for entry in problem.entries]
    widths = {getattr(problem, name).shape[1] for name in ("inside", "start", "end")}
    boundary = [] if problem.boundary is None else list(problem.boundary)
    finite = problem.inside[np.isfinite(problem.inside)]
    fields = ("inside", "start", "end", "length", "tail", "pattern")
    with_inf = [name for name in fields if np.isinf(getattr(problem, name)).any()]
    named = {
        "pattern of 4": any(len(z) == 4 for z in problem.patterns),
        "^": any(z[0] == "^" for z in problem.patterns),
        "$": any(z[-1] == "$" for z in problem.patterns),
        "^$": ("^", "$") in problem.patterns,
        "no pattern": not problem.patterns,
        "finite tail": n_tokens > n_explicit and np.isfinite(problem.tail).any(),
        "long cell": any(j - i > n_explicit for i, j, _ in cells),
        "short cell": any(j - i <= n_explicit for i, j, _ in cells),
        "duplicate cells": len(set(cells)) < len(cells),
        "cell -inf": any(cell[3] == -INF for cell in problem.cells),
        "allowed": problem.allowed is not None and not problem.allowed.all(),
        "forbidden": any(label >= 0 for _, _, label in problem.forbidden),
        "forbidden -1": any(label == -1 for _, _, label in problem.forbidden),
        "+-1e4": (np.abs(finite) > 5e3).any(),
        "observed": bool(observed),
        "observed of 3": any(len(z) == 3 for z in observed),
        "observed ^": any(z[0] == "^" for z in observed),
        "observed suffix": any(is_suffix(a, b) for a in observed for b in observed),
        "observed pattern": bool(set(observed) & set(problem.patterns)),
        "observed dense": observed and widths == {problem.n_columns},
        "observed sparse": observed and widths == {n_labels},
        "observed mixed": len(widths) == 2,
        "observed -inf": np.isinf(problem.inside[:, n_labels:]).any(),
        "observed cell": any(cell[2] >= n_labels for cell in cells),
        "observed entry": any(place[2] >= n_labels for place in places),
        "label entry": any(place[2] < n_labels for place in places),
        "duplicate entries": len(set(places)) < len(places),
        "entry -inf": any(entry[3] == -INF for entry in problem.entries),
    }
    roles = {place[1] for place in places}
    found = {f"{name} entry" for role, name in enumerate(ROLES) if role in roles}
    found |= {f"{name} -inf" for name in with_inf}
    found |= {name for name, present in named.items() if present}
    found |= {f"boundary {value:+d}" for value in boundary if value}
    return found | {f"n = {n_tokens}", f"L = {n_labels}", f"D = {n_explicit}"}


def is_suffix(short: Pattern, long: Pattern) -> bool:
    """Whether a segment that completes the long one completes the short one too."""
    return len(short) < len(long) and long[-len(short) :] == short


ROLES = ("inside", "start", "end")
TRAITS = {
    *("n = 0", "n = 1", "n = 2", "n = 3", "n = 4", "n = 5"),
    *("L = 1", "L = 2", "L = 3", "D = 1", "D = 2", "D = 3"),
    *("inside -inf", "start -inf", "end -inf"),
    *("length -inf", "tail -inf", "pattern -inf", "cell -inf", "finite tail"),
    *("long cell", "short cell", "duplicate cells"),
    *("no pattern", "pattern of 4", "^", "$", "^$"),
    *("allowed", "forbidden", "forbidden -1"),
    *("boundary -1", "boundary +1", "boundary +2", "+-1e4"),
    *("observed", "observed of 3", "observed ^", "observed suffix"),
    *("observed pattern", "observed dense", "observed sparse", "observed mixed"),
    *("observed -inf", "observed cell", "observed entry", "label entry"),
    *("inside entry", "start entry", "end entry"),
    *("duplicate entries", "entry -inf"),
}


# --- label trees --------------------------------------------------------------------


def random_forest(
    rng: np.random.Generator, n_names: int, deepest: int
) -> tuple[list[str], dict[str, str]]:
    """Labels in some order, and the parents of names: of all that have no child, and
    of a few others, too."""
    depth: dict[str, int] = {}
    parents: dict[str, str] = {}
    for k in range(n_names):
        above = [name for name in depth if depth[name] < deepest]
        name = f"n{k}"
        depth[name] = 1
        if above and rng.random() < 0.75:
            parents[name] = above[rng.integers(len(above))]
            depth[name] = depth[parents[name]] + 1
    inner = set(parents.values())
    labels = [name for name in depth if name not in inner or rng.random() < 0.2]
    return [labels[k] for k in rng.permutation(len(labels))], parents
