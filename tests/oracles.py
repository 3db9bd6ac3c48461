"""Exact answers written from the definition of the model. Imports nothing of ours.

Two independent references that the tests compare the core with:

1. Enumeration: list every segmentation, score it, sum. For documents up to 5 tokens.
2. Dynamic program in the log domain over full label histories: a state is the tuple
   of the last symbols, as many as the longest pattern needs, every segment length is
   tried, nothing is scaled, shared or subtracted. O(n^2) a state; for longer documents.

Neither is fast, and neither is meant to be.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

Segment = tuple[int, int, int]  # start, end (exclusive), label index
Segmentation = tuple[Segment, ...]
Pattern = tuple[int | str, ...]  # label indices; "^" may stand first, "$" last
Columns = tuple[int, ...]  # what a segment reads: its label, then observed patterns
Entry = tuple[int, int, int, float]  # position, role, column, score
Scores = dict[Segmentation, float]

INSIDE, START, END = range(3)  # roles of entries


class Problem(NamedTuple):
    """One document with n tokens: L labels, D explicit lengths, M patterns.

    Columns are the L labels, then the observed patterns, C in all. A segment reads the
    column of its label and those of all observed patterns that it completes.
    """

    patterns: tuple[Pattern, ...]  # [M]
    inside: np.ndarray  # [n, L] or [n, C]
    start: np.ndarray  # [n, L] or [n, C]
    end: np.ndarray  # [n, L] or [n, C]
    length: np.ndarray  # [L, D]
    tail: np.ndarray  # [L]
    cells: list[tuple[int, int, int, float]]  # start, end, column, score
    pattern: np.ndarray  # [M]
    allowed: np.ndarray | None = None  # bool [n, L]
    boundary: np.ndarray | None = None  # [n + 1], values -1, 0, 1, 2
    forbidden: tuple[Segment, ...] = ()  # label -1: any but 0
    observed: tuple[Pattern, ...] = ()  # [C - L], "$" stands in none
    entries: Sequence[Entry] = ()  # added to inside, start or end, by role

    @property
    def n_tokens(self) -> int:
        return len(self.inside)

    @property
    def n_labels(self) -> int:
        return len(self.length)

    @property
    def n_columns(self) -> int:
        return len(self.length) + len(self.observed)


class Marginals(NamedTuple):
    """log Z and its derivatives: the expected count of every potential."""

    log_z: float
    inside: np.ndarray  # [n, C]
    start: np.ndarray  # [n, C]
    end: np.ndarray  # [n, C]
    length: np.ndarray  # [L, D]
    tail: np.ndarray  # [L]
    cells: np.ndarray  # [number of cells]
    pattern: np.ndarray  # [M]
    entries: np.ndarray  # [number of entries]
    segments: np.ndarray  # [n, n + 1, L], P(segment)
    tokens: np.ndarray  # [n, L], P(token covered by label)


def no_marginals(problem: Problem, log_z: float = -math.inf) -> Marginals:
    n_tokens, n_labels = problem.n_tokens, problem.n_labels
    return Marginals(
        log_z,
        *(np.zeros((n_tokens, problem.n_columns)) for _ in ("inside", "start", "end")),
        np.zeros_like(problem.length, dtype=float),
        np.zeros(n_labels),
        np.zeros(len(problem.cells)),
        np.zeros(len(problem.patterns)),
        np.zeros(len(problem.entries)),
        np.zeros((n_tokens, n_tokens + 1, n_labels)),
        np.zeros((n_tokens, n_labels)),
    )


def entry_counts(problem: Problem, expected: Marginals) -> list[float]:
    """An entry is counted as often as the dense potential at its place."""
    fields = expected.inside, expected.start, expected.end
    return [fields[role][i, column] for i, role, column, _ in problem.entries]


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


def labels_of(segmentation: Segmentation) -> tuple[int, ...]:
    return tuple(label for _, _, label in segmentation)


def columns_read(problem: Problem, labels: tuple[int, ...]) -> Columns:
    """Those that the last of these segments reads."""
    symbols = ("^", *labels)
    completed = (symbols[-len(z) :] == z for z in problem.observed)
    observed = (problem.n_labels + c for c, done in enumerate(completed) if done)
    return labels[-1], *observed


def length_score(problem: Problem, label: int, n_tokens: int) -> float:
    n_explicit = problem.length.shape[1]
    if n_tokens <= n_explicit:
        return problem.length[label, n_tokens - 1]
    extra = n_tokens - n_explicit
    return problem.length[label, n_explicit - 1] + extra * problem.tail[label]


def segment_score(problem: Problem, start: int, end: int, columns: Columns) -> float:
    terms = [length_score(problem, columns[0], end - start)]
    for c in columns:
        here = slice(c, c + 1)  # nothing where that column is not given
        terms += [*problem.inside[start:end, here].flat]
        terms += [*problem.start[start, here], *problem.end[end - 1, here]]
        terms += [cell[3] for cell in problem.cells if cell[:3] == (start, end, c)]
    for position, role, column, value in problem.entries:
        roles = start <= position < end, position == start, position == end - 1
        if column in columns and roles[role]:
            terms.append(value)
    return math.fsum(terms)


@cache
def n_fired(pattern: Pattern, labels: tuple[int, ...]) -> int:
    """How often `pattern` is a suffix of a prefix of ^ y_1 .. y_m $."""
    symbols = ("^", *labels, "$")
    width = len(pattern)
    stops = range(width, len(symbols) + 1)
    return sum(symbols[stop - width : stop] == pattern for stop in stops)


def windows(
    labels: tuple[int, ...], widths: Iterable[int]
) -> Iterator[tuple[int | str, ...]]:
    """All that patterns of these widths could be: each as often as `n_fired` counts it.
    To look them up is fast where there are many patterns."""
    symbols = ("^", *labels, "$")
    for width in widths:
        for stop in range(width, len(symbols) + 1):
            yield symbols[stop - width : stop]


def scorer(problem: Problem) -> Callable[[Segmentation], float]:
    """The score as a function; what segmentations share is computed once."""

    @cache
    def of_segment(start: int, end: int, columns: Columns) -> float:
        return segment_score(problem, start, end, columns)

    @cache
    def columns_of(labels: tuple[int, ...]) -> Columns:
        return columns_read(problem, labels)

    weights = dict(zip(problem.patterns, problem.pattern.tolist(), strict=True))
    assert len(weights) == len(problem.patterns)
    widths = {len(pattern) for pattern in weights}

    @cache
    def of_patterns(labels: tuple[int, ...]) -> float:
        return math.fsum(weights.get(x, 0.0) for x in windows(labels, widths))

    def score(segmentation: Segmentation) -> float:
        labels = labels_of(segmentation)
        terms = [of_patterns(labels)]
        for t, (start, end, _) in enumerate(segmentation, start=1):
            terms.append(of_segment(start, end, columns_of(labels[:t])))
        return math.fsum(terms)

    return score


def score(problem: Problem, segmentation: Segmentation) -> float:
    return scorer(problem)(segmentation)


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


def scored(problem: Problem) -> Scores:
    """Every segmentation that the constraints permit, with its score."""
    score = scorer(problem)
    permitted = cache(lambda *segment: permits(problem, *segment))
    return {
        segmentation: score(segmentation)
        for segmentation in segmentations(problem.n_tokens, problem.n_labels)
        if all(permitted(*segment) for segment in segmentation)
    }


def filtered(scores: Scores, permits: Callable[[tuple[int, ...]], bool]) -> Scores:
    """What a predicate on the sequence of labels leaves, such as a grammar's."""
    return {s: value for s, value in scores.items() if permits(labels_of(s))}


def possible(scores: Scores) -> list[Segmentation]:
    return [s for s, value in scores.items() if value > -math.inf]


def log_z(scores: Scores) -> float:
    top = max(scores.values(), default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(x - top) for x in scores.values()))


def probabilities(scores: Scores) -> Scores:
    """Of those that are possible; one may be too small for a number above 0."""
    total = log_z(scores)
    return {s: math.exp(scores[s] - total) for s in possible(scores)}


def marginals(problem: Problem, scores: Scores) -> Marginals:
    """Count what each segmentation uses, weighted by its probability."""
    expected = no_marginals(problem, log_z(scores))
    n_explicit = problem.length.shape[1]
    columns_of = cache(lambda labels: columns_read(problem, labels))
    used: Counter = Counter()  # (start, end, columns): its expected count
    sequences: Counter = Counter()  # labels: their probability
    for segmentation, prob in probabilities(scores).items():
        labels = labels_of(segmentation)
        sequences[labels] += prob
        for t, (start, end, _) in enumerate(segmentation, start=1):
            used[start, end, columns_of(labels[:t])] += prob
    index = {pattern: m for m, pattern in enumerate(problem.patterns)}
    widths = {len(pattern) for pattern in index}
    for labels, prob in sequences.items():
        for window in windows(labels, widths):
            if window in index:
                expected.pattern[index[window]] += prob
    for (start, end, columns), prob in used.items():
        for c in columns:
            expected.inside[start:end, c] += prob
            expected.start[start, c] += prob
            expected.end[end - 1, c] += prob
        for k, cell in enumerate(problem.cells):
            if cell[:2] == (start, end) and cell[2] in columns:
                expected.cells[k] += prob
        label = columns[0]
        expected.length[label, min(end - start, n_explicit) - 1] += prob
        expected.tail[label] += prob * max(0, end - start - n_explicit)
        expected.segments[start, end, label] += prob
        expected.tokens[start:end, label] += prob
    expected.entries[:] = entry_counts(problem, expected)
    return expected


def tie_key(segmentation: Segmentation) -> list[tuple[int, int]]:
    """Ties, from the start: smallest label index, then the longest segment."""
    return [(label, start - end) for start, end, label in segmentation]


def ranked(scores: Scores) -> list[tuple[Segmentation, float]]:
    """All that are possible, best first, in order of ties."""
    return sorted(
        ((s, scores[s]) for s in possible(scores)),
        key=lambda pair: (-pair[1], tie_key(pair[0])),
    )


def best(scores: Scores) -> tuple[Segmentation, float]:
    return next(iter(ranked(scores)), ((), -math.inf))


def entropy(scores: Scores) -> float:
    """In nats; -inf if nothing is possible."""
    total = log_z(scores)
    if total == -math.inf:
        return total
    pairs = probabilities(scores).items()
    return math.fsum(prob * (total - scores[s]) for s, prob in pairs)


def spans(segmentation: Segmentation) -> Segmentation:
    return tuple(segment for segment in segmentation if segment[2] != 0)


def span_probabilities(scores: Scores) -> dict[Segment, float]:
    """P(span) of each segment with a label other than 0."""
    found: Counter = Counter()
    for segmentation, prob in probabilities(scores).items():
        for span in spans(segmentation):
            found[span] += prob
    return found


def expected_correct(probs: dict[Segment, float], segmentation: Segmentation) -> float:
    """How many spans of a segmentation are right, by the probabilities of spans."""
    return math.fsum(probs.get(span, 0.0) for span in spans(segmentation))


def expected_f1(probs: dict[Segment, float], segmentation: Segmentation) -> float:
    """2 E[correct] / (predicted + E[gold]); 0 if there is neither."""
    size = len(spans(segmentation)) + math.fsum(probs.values())
    return 2.0 * expected_correct(probs, segmentation) / size if size else 0.0


# --- 2. dynamic program over label histories, log domain --------------------------


class Histories(NamedTuple):
    """All tuples of last symbols; H of them, the first is ("^",).

    Those that have the same last label and complete the same observed patterns are a
    group; G of them. A segment's score depends on the group that it leads to.
    """

    states: list[Pattern]  # [H]
    last: np.ndarray  # [H], label index of the last symbol; 0 for ("^",)
    columns: list[Columns]  # [G], read by a segment that leads there
    group: np.ndarray  # [H], 0 for ("^",)
    step: np.ndarray  # [H, H], pattern weights that fire; -inf: no such step
    final: np.ndarray  # [H], pattern weights that fire at the end


def fired_weight(problem: Problem, symbols: Pattern) -> float:
    pairs = zip(problem.patterns, problem.pattern, strict=True)
    return sum(weight for z, weight in pairs if symbols[-len(z) :] == z)


def histories(problem: Problem) -> Histories:
    # A segment reads what its label completes, so that label is in the history too.
    order = max([1, *(len(z) for z in problem.observed)])
    order = max([order, *(len(z) - 1 for z in problem.patterns)])
    states: dict[Pattern, Columns | None] = {("^",): None}
    steps = {}
    sources = [("^",)]
    for source in sources:  # grows while it is read
        for label in range(problem.n_labels):
            symbols = (*source, label)
            target = symbols[-order:]
            if target not in states:
                completed = [target[-len(z) :] == z for z in problem.observed]
                observed = np.flatnonzero(completed) + problem.n_labels
                states[target] = (label, *observed.tolist())
                sources.append(target)
            steps[source, target] = fired_weight(problem, symbols)
    columns = sorted({read for read in states.values() if read})
    group = [0] + [columns.index(read) for read in states.values() if read]
    step = [[steps.get((s, t), -math.inf) for t in states] for s in states]
    final = [fired_weight(problem, (*state, "$")) for state in states]
    last = [0] + [state[-1] for state in states if state != ("^",)]
    return Histories(
        list(states),
        np.array(last),
        columns,
        np.array(group),
        np.array(step),
        np.array(final),
    )


def dense_columns(problem: Problem) -> list[np.ndarray]:
    """inside, start, end with all columns and entries, each [n, C]."""
    found = []
    for role, given in enumerate([problem.inside, problem.start, problem.end]):
        dense = np.zeros((problem.n_tokens, problem.n_columns))
        dense[:, : given.shape[1]] = given
        for position, entry_role, column, value in problem.entries:
            if entry_role == role:
                dense[position, column] += value
        found.append(dense)
    return found


def segment_table(problem: Problem, columns: list[Columns]) -> np.ndarray:
    """Score of each segment, [n, n + 1, G], with -inf for what is not permitted."""
    n_tokens = problem.n_tokens
    dense = dense_columns(problem)
    if problem.allowed is not None:
        dense[INSIDE][:, : problem.n_labels][~problem.allowed] = -math.inf
    labels = [read[0] for read in columns]
    is_span = np.array(labels) != 0
    inside, start_scores, end_scores = (
        np.column_stack([field[:, read].sum(axis=1) for read in columns])
        for field in dense
    )
    table = np.full((n_tokens, n_tokens + 1, len(columns)), -math.inf)
    total = np.zeros((n_tokens + 1, len(columns)))  # sum of inside, by start
    for width in range(1, n_tokens + 1):
        total = total[:-1] + inside[width - 1 :]
        starts = np.arange(n_tokens - width + 1)
        lengths = [length_score(problem, label, width) for label in labels]
        ends = start_scores[starts] + end_scores[starts + width - 1]
        table[starts, starts + width] = total + ends + lengths
    for start, end, column, value in problem.cells:
        table[start, end, [column in read for read in columns]] += value
    for start, end, label in problem.forbidden:
        is_meant = is_span if label == -1 else np.array(labels) == label
        table[start, end, is_meant] = -math.inf
    for b, value in enumerate([] if problem.boundary is None else problem.boundary):
        if value == -1:
            table[b : b + 1] = table[:, b] = -math.inf
        if value > 0:
            table[:b, b + 1 :, is_span | (value == 1)] = -math.inf
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
            alpha[j] = add(opened[:j] + table[:j, j][:, history.group], axis=0)
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
        closed[i] = add(table[i, i + 1 :][:, history.group] + beta[i + 1 :], axis=0)
        beta[i] = add(history.step + closed[i], axis=1)
    return beta, closed


def reference_log_z(problem: Problem) -> float:
    history = histories(problem)
    alpha, _ = forward(segment_table(problem, history.columns), history, log_sum)
    return float(log_sum(alpha[-1] + history.final, axis=0))


def reference_marginals(problem: Problem) -> Marginals:
    history = histories(problem)
    table = segment_table(problem, history.columns)
    alpha, opened = forward(table, history, log_sum)
    beta, closed = backward(table, history, log_sum)
    total = float(log_sum(alpha[-1] + history.final, axis=0))
    expected = no_marginals(problem, total)
    if total == -math.inf:
        return expected
    read = np.zeros((*table.shape[:2], problem.n_columns))  # P(segment reads column)
    for h in range(1, len(history.states)):
        g = history.group[h]
        both = opened[:, h, None] + table[:, :, g] + (beta[None, :, h] - total)
        read[:, :, history.columns[g]] += np.exp(both)[:, :, None]
    for m, z in enumerate(problem.patterns):
        for s, state in enumerate(history.states):
            if (*state, "$")[-len(z) :] == z:
                expected.pattern[m] += np.exp(alpha[-1, s] + history.final[s] - total)
            for t in np.flatnonzero(history.step[s] > -math.inf):
                if (*state, history.last[t])[-len(z) :] == z:
                    step = alpha[:-1, s] + history.step[s, t] + (closed[:, t] - total)
                    expected.pattern[m] += np.exp(step).sum()
    n_explicit, n_labels = problem.length.shape[1], problem.n_labels
    expected.segments[:] = read[:, :, :n_labels]
    for width in range(1, len(table) + 1):
        starts = np.arange(len(table) - width + 1)
        probs = read[starts, starts + width]
        expected.start[starts] += probs
        expected.end[starts + width - 1] += probs
        n_segments = probs[:, :n_labels].sum(axis=0)
        expected.length[:, min(width, n_explicit) - 1] += n_segments
        expected.tail[:] += n_segments * max(0, width - n_explicit)
        for k in range(width):
            expected.inside[starts + k] += probs
    expected.tokens[:] = expected.inside[:, :n_labels]
    for k, (start, end, column, _) in enumerate(problem.cells):
        expected.cells[k] = read[start, end, column]
    expected.entries[:] = entry_counts(problem, expected)
    return expected


def reference_entropy(problem: Problem) -> float:
    """By the chain rule, from right to left: what is still uncertain at each point.

    Large scores cancel in each choice and not in the sum, as in log Z - E[score].
    """
    history = histories(problem)
    table = segment_table(problem, history.columns)
    beta, closed = backward(table, history, log_sum)
    n_tokens, n_states = len(table), len(history.states)
    if log_sum(beta[0, :1], axis=0) == -math.inf:
        return -math.inf
    between = np.zeros((n_tokens + 1, n_states))  # before the label is chosen
    for i in reversed(range(n_tokens)):
        ends = table[i, i + 1 :][:, history.group] + beta[i + 1 :]
        during = uncertainty(ends.T, closed[i], between[i + 1 :].T)
        targets = np.broadcast_to(during, (n_states, n_states))
        between[i] = uncertainty(history.step + closed[i], beta[i], targets)
    return float(between[0, 0])


def uncertainty(scores: np.ndarray, total: np.ndarray, later: np.ndarray) -> np.ndarray:
    """Entropy of a choice and of what follows it: [A, B], [A], [A, B] -> [A].

    Choice b has log probability scores[a, b] - total[a]; a is possible if total is.
    """
    is_possible = scores > -math.inf
    log_prob = np.where(is_possible, scores, 0.0)
    log_prob = log_prob - np.where(total > -math.inf, total, 0.0)[:, None]
    terms = np.where(is_possible, np.exp(np.minimum(log_prob, 0.0)), 0.0)
    return (terms * (later - log_prob)).sum(axis=1)


def reference_best(problem: Problem) -> tuple[Segmentation, float]:
    """Exact ties for integer scores: from the left the history is known."""
    history = histories(problem)
    table = segment_table(problem, history.columns)
    beta, closed = backward(table, history, np.max)
    if beta[0, 0] == -math.inf:
        return (), -math.inf
    segments: list[Segment] = []
    start, state = 0, 0
    while start < len(table):
        tied = np.flatnonzero(history.step[state] + closed[start] == beta[start, state])
        target = tied[history.last[tied].argmin()]
        ends = table[start, start + 1 :, history.group[target]]
        ends = ends + beta[start + 1 :, target]
        end = start + 1 + np.flatnonzero(ends == closed[start, target]).max()
        segments.append((int(start), int(end), int(history.last[target])))
        start, state = end, target
    return tuple(segments), float(beta[0, 0])


def reference_best_scores(problem: Problem, k: int) -> list[float]:
    """Scores of the k best segmentations, best first; of fewer if there are fewer."""
    history = histories(problem)
    table = segment_table(problem, history.columns)
    n_tokens, n_states = len(table), len(history.states)
    beta = np.full((n_tokens + 1, n_states, k), -math.inf)  # sorted along the last axis
    beta[n_tokens, :, 0] = history.final
    for i in reversed(range(n_tokens)):
        closed = table[i, i + 1 :][:, history.group, None] + beta[i + 1 :]
        closed = k_largest(np.moveaxis(closed, 0, 1), k)
        beta[i] = k_largest(history.step[:, :, None] + closed, k)
    return [float(value) for value in beta[0, 0] if value > -math.inf]


def k_largest(x: np.ndarray, k: int) -> np.ndarray:
    """Of each x[a]: [A, B, k] -> [A, k], descending."""
    return -np.sort(-x.reshape(len(x), -1), axis=1)[:, :k]


# --- one problem, many questions ----------------------------------------------------


class Enumerated:
    """What enumeration says of a problem; each answer is found once.

    permits: What a grammar permits of the labels of a segmentation.
    """

    def __init__(
        self, problem: Problem, permits: Callable[[tuple[int, ...]], bool] | None = None
    ):
        self.problem, self.every = problem, scored(problem)
        self.scores = filtered(self.every, permits) if permits else self.every

    @cached_property
    def log_z(self) -> float:
        return log_z(self.scores)

    @cached_property
    def marginals(self) -> Marginals:
        return marginals(self.problem, self.scores)

    @cached_property
    def ranked(self) -> list[tuple[Segmentation, float]]:
        return ranked(self.scores)

    @property
    def best(self) -> tuple[Segmentation, float]:
        return next(iter(self.ranked), ((), -math.inf))

    def best_scores(self, k: int) -> list[float]:
        return [value for _, value in self.ranked[:k]]

    @cached_property
    def entropy(self) -> float:
        return entropy(self.scores)

    @cached_property
    def span_probabilities(self) -> dict[Segment, float]:
        return span_probabilities(self.scores)


class Reference:
    """The same questions about longer documents, by the dynamic program."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def marginals(self) -> Marginals:
        return reference_marginals(self.problem)

    @property
    def log_z(self) -> float:
        return self.marginals.log_z

    @cached_property
    def best(self) -> tuple[Segmentation, float]:
        return reference_best(self.problem)

    def best_scores(self, k: int) -> list[float]:
        return reference_best_scores(self.problem, k)

    @cached_property
    def entropy(self) -> float:
        return reference_entropy(self.problem)
