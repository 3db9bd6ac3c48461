"""Exact answers written from the definition of the model. Imports nothing of ours.

Two independent references that the tests compare the core with:

1. Enumeration: list every segmentation, score it, sum. For documents up to 5 tokens.
2. Dynamic program in the log domain over full label histories: a state is the tuple
   of the last symbols, as many as the longest pattern needs, every segment length is
   tried, nothing is scaled, shared or subtracted. O(n^2) a state; for longer documents.

Neither is fast, and neither is meant to be.
"""

import math
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

Segment = tuple[int, int, int]  # start, end (exclusive), label index
Segmentation = tuple[Segment, ...]
Pattern = tuple[int | str, ...]  # label indices; "^" may stand first, "$" last


class Problem(NamedTuple):
    """One document with n tokens: L labels, D explicit lengths, M patterns."""

    patterns: tuple[Pattern, ...]  # [M]
    inside: np.ndarray  # [n, L]
    start: np.ndarray  # [n, L]
    end: np.ndarray  # [n, L]
    length: np.ndarray  # [L, D]
    tail: np.ndarray  # [L]
    cells: list[tuple[int, int, int, float]]  # start, end, label index, score
    pattern: np.ndarray  # [M]
    allowed: np.ndarray | None = None  # bool [n, L]
    boundary: np.ndarray | None = None  # [n + 1], values -1, 0, 1, 2
    forbidden: tuple[Segment, ...] = ()  # label -1: any but 0


class Marginals(NamedTuple):
    """log Z and its derivatives: the expected count of every potential."""

    log_z: float
    inside: np.ndarray  # [n, L], also P(token covered by label)
    start: np.ndarray  # [n, L]
    end: np.ndarray  # [n, L]
    length: np.ndarray  # [L, D]
    tail: np.ndarray  # [L]
    cells: np.ndarray  # [number of cells]
    pattern: np.ndarray  # [M]
    segments: np.ndarray  # [n, n + 1, L], P(segment)


def no_marginals(problem: Problem, log_z: float = -math.inf) -> Marginals:
    n_tokens, n_labels = problem.inside.shape
    return Marginals(
        log_z,
        *(np.zeros_like(field, dtype=float) for field in problem[1:6]),
        np.zeros(len(problem.cells)),
        np.zeros(len(problem.patterns)),
        np.zeros((n_tokens, n_tokens + 1, n_labels)),
    )


# --- 1. enumeration ---------------------------------------------------------------


@cache
def segmentations(n_tokens: int, n_labels: int) -> tuple[Segmentation, ...]:
    """Cut 0..n at every set of inner boundaries; give the pieces every labelling."""
    if n_tokens == 0:
        return ((),)
    found = []
    for n_cuts in range(n_tokens):
        for cuts in combinations(range(1, n_tokens), n_cuts):
            bounds = (0, *cuts, n_tokens)
            for labels in product(range(n_labels), repeat=n_cuts + 1):
                found.append(tuple(zip(bounds[:-1], bounds[1:], labels, strict=True)))
    return tuple(found)


def length_score(problem: Problem, label: int, n_tokens: int) -> float:
    n_explicit = problem.length.shape[1]
    if n_tokens <= n_explicit:
        return problem.length[label, n_tokens - 1]
    extra = n_tokens - n_explicit
    return problem.length[label, n_explicit - 1] + extra * problem.tail[label]


def segment_score(problem: Problem, start: int, end: int, label: int) -> float:
    terms = [
        *problem.inside[start:end, label],
        problem.start[start, label],
        problem.end[end - 1, label],
        length_score(problem, label, end - start),
        *(cell[3] for cell in problem.cells if cell[:3] == (start, end, label)),
    ]
    return math.fsum(terms)


@cache
def n_fired(pattern: Pattern, labels: tuple[int, ...]) -> int:
    """How often `pattern` is a suffix of a prefix of ^ y_1 .. y_m $."""
    symbols = ("^", *labels, "$")
    width = len(pattern)
    stops = range(width, len(symbols) + 1)
    return sum(symbols[stop - width : stop] == pattern for stop in stops)


def score(problem: Problem, segmentation: Segmentation) -> float:
    labels = tuple(label for _, _, label in segmentation)
    terms = [segment_score(problem, *segment) for segment in segmentation]
    for pattern, weight in zip(problem.patterns, problem.pattern, strict=True):
        terms += [weight] * n_fired(pattern, labels)
    return math.fsum(terms)


def permits(problem: Problem, start: int, end: int, label: int) -> bool:
    """The constraints, one segment at a time."""
    if problem.allowed is not None and not problem.allowed[start:end, label].all():
        return False
    if problem.boundary is not None:
        if problem.boundary[start] == -1 or problem.boundary[end] == -1:
            return False
        crossed = problem.boundary[start + 1 : end]
        if 1 in crossed or (2 in crossed and label != 0):
            return False
    if (start, end, -1) in problem.forbidden and label != 0:
        return False
    return (start, end, label) not in problem.forbidden


def scored(problem: Problem) -> dict[Segmentation, float]:
    """Every segmentation that the constraints permit, with its score."""
    return {
        segmentation: score(problem, segmentation)
        for segmentation in segmentations(*problem.inside.shape)
        if all(permits(problem, *segment) for segment in segmentation)
    }


def log_z(scores: dict[Segmentation, float]) -> float:
    top = max(scores.values(), default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(x - top) for x in scores.values()))


def marginals(problem: Problem, scores: dict[Segmentation, float]) -> Marginals:
    """Count what each segmentation uses, weighted by its probability."""
    expected = no_marginals(problem, log_z(scores))
    n_explicit = problem.length.shape[1]
    for segmentation, value in scores.items():
        if value == -math.inf:
            continue
        prob = math.exp(value - expected.log_z)
        labels = tuple(label for _, _, label in segmentation)
        for m, pattern in enumerate(problem.patterns):
            expected.pattern[m] += prob * n_fired(pattern, labels)
        for start, end, label in segmentation:
            expected.inside[start:end, label] += prob
            expected.start[start, label] += prob
            expected.end[end - 1, label] += prob
            expected.length[label, min(end - start, n_explicit) - 1] += prob
            expected.tail[label] += prob * max(0, end - start - n_explicit)
            expected.segments[start, end, label] += prob
    for k, (start, end, label, _) in enumerate(problem.cells):
        expected.cells[k] = expected.segments[start, end, label]
    return expected


def best(scores: dict[Segmentation, float]) -> tuple[Segmentation, float]:
    """Ties, from the start: smallest label index, then the longest segment."""
    top = max(scores.values(), default=-math.inf)
    if top == -math.inf:
        return (), top
    tied = [segmentation for segmentation, value in scores.items() if value == top]
    return min(tied, key=tie_key), top


def tie_key(segmentation: Segmentation) -> list[tuple[int, int]]:
    return [(label, start - end) for start, end, label in segmentation]


# --- 2. dynamic program over label histories, log domain --------------------------


class Histories(NamedTuple):
    """All tuples of last symbols; H of them, the first is ("^",)."""

    states: list[Pattern]  # [H]
    last: np.ndarray  # [H], label index of the last symbol; 0 for ("^",)
    step: np.ndarray  # [H, H], pattern weights that fire; -inf: no such step
    final: np.ndarray  # [H], pattern weights that fire at the end


def fired_weight(problem: Problem, symbols: Pattern) -> float:
    pairs = zip(problem.patterns, problem.pattern, strict=True)
    return sum(weight for z, weight in pairs if symbols[-len(z) :] == z)


def histories(problem: Problem) -> Histories:
    order = max((len(pattern) for pattern in problem.patterns), default=2) - 1
    labels = range(problem.inside.shape[1])
    states: list[Pattern] = [("^",)]
    steps = {}
    for source in states:  # grows while it is read
        for label in labels:
            target = (*source, label)[-order:]
            if target not in states:
                states.append(target)
            steps[source, target] = fired_weight(problem, (*source, label))
    step = [[steps.get((s, t), -math.inf) for t in states] for s in states]
    final = [fired_weight(problem, (*state, "$")) for state in states]
    last = [0] + [state[-1] for state in states[1:]]
    return Histories(states, np.array(last), np.array(step), np.array(final))


def segment_table(problem: Problem) -> np.ndarray:
    """Score of each segment, [n, n + 1, L], with -inf for what is not permitted."""
    n_tokens, n_labels = problem.inside.shape
    inside = problem.inside
    if problem.allowed is not None:
        inside = np.where(problem.allowed, inside, -math.inf)
    table = np.full((n_tokens, n_tokens + 1, n_labels), -math.inf)
    total = np.zeros((n_tokens + 1, n_labels))  # sum of inside, by start
    for width in range(1, n_tokens + 1):
        total = total[:-1] + inside[width - 1 :]
        starts = np.arange(n_tokens - width + 1)
        lengths = [length_score(problem, label, width) for label in range(n_labels)]
        ends = problem.start[starts] + problem.end[starts + width - 1]
        table[starts, starts + width] = total + ends + lengths
    for start, end, label, value in problem.cells:
        table[start, end, label] += value
    for start, end, label in problem.forbidden:
        table[start, end, slice(1, None) if label == -1 else label] = -math.inf
    for b, value in enumerate([] if problem.boundary is None else problem.boundary):
        if value == -1:
            table[b : b + 1] = table[:, b] = -math.inf
        if value > 0:
            table[:b, b + 1 :, value - 1 :] = -math.inf
    return table


def log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    top = np.max(x, axis=axis, keepdims=True)
    top[top == -math.inf] = 0.0
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(x - top), axis=axis))
    return total + np.squeeze(top, axis=axis)


def forward(table, history, add) -> tuple[np.ndarray, np.ndarray]:
    """alpha [n + 1, H] between segments, opened [n, H] before a segment's score."""
    n_tokens, n_states = len(table), len(history.states)
    alpha = np.full((n_tokens + 1, n_states), -math.inf)
    opened = np.full((n_tokens, n_states), -math.inf)
    alpha[0, 0] = 0.0
    for j in range(n_tokens + 1):
        if j > 0:
            alpha[j] = add(opened[:j] + table[:j, j][:, history.last], axis=0)
        if j < n_tokens:
            opened[j] = add(alpha[j][:, None] + history.step, axis=0)
    return alpha, opened


def backward(table, history, add) -> tuple[np.ndarray, np.ndarray]:
    """beta [n + 1, H] between segments, closed [n, H] with a segment's score."""
    n_tokens, n_states = len(table), len(history.states)
    beta = np.full((n_tokens + 1, n_states), -math.inf)
    closed = np.full((n_tokens, n_states), -math.inf)
    beta[n_tokens] = history.final
    for i in reversed(range(n_tokens)):
        closed[i] = add(table[i, i + 1 :][:, history.last] + beta[i + 1 :], axis=0)
        beta[i] = add(history.step + closed[i], axis=1)
    return beta, closed


def reference_log_z(problem: Problem) -> float:
    history = histories(problem)
    alpha, _ = forward(segment_table(problem), history, log_sum)
    return float(log_sum(alpha[-1] + history.final, axis=0))


def reference_marginals(problem: Problem) -> Marginals:
    table, history = segment_table(problem), histories(problem)
    alpha, opened = forward(table, history, log_sum)
    beta, closed = backward(table, history, log_sum)
    total = float(log_sum(alpha[-1] + history.final, axis=0))
    expected = no_marginals(problem, total)
    if total == -math.inf:
        return expected
    for h in range(1, len(history.states)):
        label = history.last[h]
        both = opened[:, h, None] + table[:, :, label] + (beta[None, :, h] - total)
        expected.segments[:, :, label] += np.exp(both)
    for m, z in enumerate(problem.patterns):
        for s, state in enumerate(history.states):
            if (*state, "$")[-len(z) :] == z:
                expected.pattern[m] += np.exp(alpha[-1, s] + history.final[s] - total)
            for t in np.flatnonzero(history.step[s] > -math.inf):
                if (*state, history.last[t])[-len(z) :] == z:
                    step = alpha[:-1, s] + history.step[s, t] + (closed[:, t] - total)
                    expected.pattern[m] += np.exp(step).sum()
    n_explicit = problem.length.shape[1]
    for width in range(1, len(table) + 1):
        starts = np.arange(len(table) - width + 1)
        probs = expected.segments[starts, starts + width]
        expected.start[starts] += probs
        expected.end[starts + width - 1] += probs
        expected.length[:, min(width, n_explicit) - 1] += probs.sum(axis=0)
        expected.tail[:] += probs.sum(axis=0) * max(0, width - n_explicit)
        for k in range(width):
            expected.inside[starts + k] += probs
    for k, (start, end, label, _) in enumerate(problem.cells):
        expected.cells[k] = expected.segments[start, end, label]
    return expected


def reference_best(problem: Problem) -> tuple[Segmentation, float]:
    """Exact ties for integer scores: from the left the history is known."""
    table, history = segment_table(problem), histories(problem)
    beta, closed = backward(table, history, np.max)
    if beta[0, 0] == -math.inf:
        return (), -math.inf
    segments: list[Segment] = []
    start, state = 0, 0
    while start < len(table):
        tied = np.flatnonzero(history.step[state] + closed[start] == beta[start, state])
        target = tied[history.last[tied].argmin()]
        label = history.last[target]
        ends = table[start, start + 1 :, label] + beta[start + 1 :, target]
        end = start + 1 + np.flatnonzero(ends == closed[start, target]).max()
        segments.append((int(start), int(end), int(label)))
        start, state = end, target
    return tuple(segments), float(beta[0, 0])
