"""Families of random problems; `test_answers` puts every question to each of them.

A case is made, enumerated and answered once, for all tests that ask about it.
"""

from functools import cache

import numpy as np

from spacy_hosemi import core

from .. import oracles
from ..oracles import Problem
from ..strategies import (
    EXACT,
    KINDS,
    n_of,
    random_observed,
    random_patterns,
    random_problem,
)
from .problems import DENSE, FIELDS, INF, LABELS, all_segments, as_core, only_labels


class Case:
    """A problem, the arguments of the core, and the oracle that knows the answers.

    rules, tied: Of the automaton.
    """

    def __init__(self, problem, oracle=oracles.Enumerated, rules=(), tied=None):
        n_labels = problem.n_labels
        self.problem, self.tied = problem, tied
        self.grammar = compiled(tuple(rules), n_labels) if rules else None
        args = (self.grammar.permits,) if rules else ()
        self.expected = oracle(problem, *args)
        self.arguments = as_core(problem, grammar=self.grammar, tied=tied)
        self.automaton, self.potentials, self.constraints = self.arguments
        arrays = [getattr(problem, name) for name in DENSE]
        arrays += [[row[3] for row in (*problem.cells, *problem.entries)]]
        scores = np.concatenate([np.ravel(x) for x in arrays])
        scores = scores[np.isfinite(scores)]
        # Sums of whole numbers are not rounded, so that ties are known.
        self.is_exact = bool((scores == np.rint(scores)).all())
        self.is_large = np.abs(scores).max(initial=0.0) > 100.0

    @property
    def only_adds(self) -> bool:
        """Whether method "nonnegative" takes it."""
        added = only_adding(self.problem)
        return all(
            np.array_equal(getattr(added, name), getattr(self.problem, name))
            for name in ("inside", "start", "end", "pattern", "cells", "entries")
        )

    @property
    def are_tokens(self) -> bool:
        """Whether each segment is a token."""
        problem = self.problem
        is_short = problem.length.shape[1] == 1 and not len(problem.cells)
        return is_short and bool(np.isneginf(problem.tail).all())


@cache
def compiled(rules: tuple[str, ...], n_labels: int = 3):
    return core.compile_grammar(LABELS[:n_labels], rules)


# --- what makes a family ------------------------------------------------------------


def any_problem(rng) -> Problem:
    return random_problem(rng)


def positive(x):
    return np.where(np.isinf(x), 0.0, np.abs(x))


def only_adding(problem: Problem) -> Problem:
    """With the absolute values, 0 for -inf, where method "nonnegative" permits no
    negative ones: patterns of three or more names."""
    n_labels = problem.n_labels
    pattern = problem.pattern.copy()
    is_long = np.array([len(z) > 2 for z in problem.patterns], bool)
    pattern[is_long] = positive(pattern[is_long])
    columns = [n_labels + c for c, z in enumerate(problem.observed) if len(z) > 2]
    fields = {"pattern": pattern}
    for name in ("inside", "start", "end"):
        fields[name] = dense = getattr(problem, name).copy()
        if dense.shape[1] > n_labels:
            dense[:, columns] = positive(dense[:, columns])
    for name in ("cells", "entries"):
        fields[name] = [
            (a, b, c, float(positive(x)) if c in columns else x)
            for a, b, c, x in getattr(problem, name)
        ]
    return problem._replace(**fields)


def tags(rng, kinds=None, **given) -> Problem:
    """Segments are tokens, and observed patterns have scores in entries alone: a sweep
    of its own decodes them where they only add. Half of the problems may have ties."""
    kinds = kinds or (EXACT if rng.random() < 0.5 else KINDS)
    problem = random_problem(rng, kinds=kinds, **given)
    return only_labels(problem)._replace(
        length=problem.length[:, :1],
        tail=np.full(problem.n_labels, -INF),
        cells=[],
        forbidden=(),
    )


def runs(rng, **given) -> Problem:
    """The same, but for labels with a tail: another sweep."""
    n_labels = int(rng.integers(1, 4))
    given |= {"n_labels": n_labels, "observed": random_observed(rng, n_labels)}
    problem = random_problem(rng, kinds=EXACT, **given)
    tail = np.where(rng.random(n_labels) < 0.8, positive(problem.tail), -INF)
    return only_labels(problem)._replace(
        length=problem.length[:, :1], tail=tail, cells=[], forbidden=()
    )


def at_starts(rng, kinds=KINDS, **given) -> Problem:
    """Observed patterns have scores at starts of segments alone: varying arcs."""
    n_labels = int(rng.integers(1, 4))
    observed = random_observed(rng, n_labels)
    given |= {"n_labels": n_labels, "observed": observed}
    problem = random_problem(rng, kinds=kinds, **given)
    size = 3 * problem.n_tokens
    scores = rng.permutation(np.concatenate([problem.inside.ravel(), np.zeros(size)]))
    entries = [
        (int(rng.integers(problem.n_tokens)), 1, n_labels + int(c), float(score))
        for c, score in zip(rng.integers(0, len(observed), size), scores, strict=False)
    ]
    cells = [cell for cell in problem.cells if cell[2] < n_labels]
    return only_labels(problem)._replace(cells=cells, entries=entries)


def at_borders(rng) -> Problem:
    """Some of the entries stand at ends instead, so that arcs cannot have them all."""
    problem = at_starts(rng)
    entries = [(i, int(rng.integers(1, 3)), *row) for i, _, *row in problem.entries]
    return problem._replace(entries=entries)


def sharp(rng, problem: Problem | None = None) -> Problem:
    """One label is much better than the others at each token, so that bounds hold."""
    if problem is None:
        n_labels = int(rng.integers(2, 5))
        problem = random_problem(rng, kinds=EXACT, n_labels=n_labels)
    inside = problem.inside.copy()
    n_tokens, n_labels = len(inside), problem.n_labels
    for i, y in enumerate(rng.integers(0, n_labels, n_tokens)):
        inside[i, :n_labels][np.arange(n_labels) != y] -= 300.0
    return problem._replace(inside=inside)


def large(rng) -> Problem:
    """Half of one field, or all cells or entries, score +-700 or +-1e4."""
    problem = random_problem(rng, kinds=("small",), n_tokens=5)
    name = FIELDS[rng.integers(len(FIELDS))]
    value = float(rng.choice([700.0, -700.0, 1e4, -1e4]))
    if name in ("cells", "entries"):
        rows = [(*row[:3], value) for row in getattr(problem, name)]
        return problem._replace(**{name: rows})
    scores = getattr(problem, name).copy()
    scores[rng.random(scores.shape) < 0.5] = value
    return problem._replace(**{name: scores})


def running(rng) -> Problem:
    """Only the running sum knows segments beyond the first token."""
    problem = random_problem(rng, kinds=("small",), n_tokens=5, n_labels=2)
    tail = rng.normal(scale=0.1, size=2)
    return problem._replace(tail=tail, length=problem.length[:, :1])


def random_ties(rng, n_patterns) -> list[int]:
    """Of each pattern the first one with the same weight."""
    group = rng.integers(0, max(1, n_patterns // 2), n_patterns).tolist()
    return [group.index(g) for g in group]


def tied_case(rng) -> Case:
    problem = random_problem(rng)
    tied = random_ties(rng, len(problem.patterns))
    has_rules = problem.n_labels > 1 and rng.random() < 0.3
    rules = ["A at most once"] if has_rules else []
    return Case(problem._replace(pattern=problem.pattern[tied]), rules=rules, tied=tied)


# what each rule says of the labels of a segmentation
RULES = {
    "A at most once": lambda labels: labels.count(1) <= 1,
    "A exactly once": lambda labels: labels.count(1) == 1,
    "B never before A": lambda labels: all(
        1 not in labels[t + 1 :] for t, y in enumerate(labels) if y == 2
    ),
    "B only after A": lambda labels: all(
        1 in labels[:t] for t, y in enumerate(labels) if y == 2
    ),
}
RULE_SETS = [
    *([rule] for rule in RULES),
    ["A at most once", "B only after A"],
    ["A exactly once", "B never before A"],
    # what these say is for the tests of the grammar itself
    ["A or B at most twice", "O at least once", "A never directly before A"],
    ["B only directly after A", "A at most twice"],
]


def ruled_case(rng) -> Case:
    """One of the sets of rules; in a third of the cases long patterns only add."""
    problem = random_problem(rng, n_labels=3)
    if rng.random() < 0.3:
        problem = only_adding(problem)
    return Case(problem, rules=RULE_SETS[rng.integers(len(RULE_SETS))])


# --- the table ----------------------------------------------------------------------

# By family: how many (a fifth, unless thorough), and what makes a problem, or a case.
SHORT = {
    "any": (2000, any_problem),
    "only adding": (500, lambda rng: only_adding(random_problem(rng, kinds=EXACT))),
    "tags": (250, tags),
    "tags that add": (300, lambda rng: only_adding(tags(rng))),
    "runs": (150, runs),
    "runs that add": (300, lambda rng: only_adding(runs(rng))),
    "at starts": (400, at_starts),
    "at borders": (100, at_borders),
    "sharp": (300, sharp),
    "large": (500, large),
    "running": (100, running),
    "tied": (400, tied_case),
    "rules": (750, ruled_case),
}


def longer(rng) -> Problem:
    return random_problem(rng, n_tokens=int(rng.choice([12, 30, 60])))


def exact_sizes(make):
    """Ties of longer documents."""

    def made(rng):
        return make(rng, kinds=EXACT, n_tokens=int(rng.choice([12, 30, 60])))

    return made


def with_many_patterns(rng) -> Problem:
    """Some only add."""
    sizes = [(1, 7, 30), (2, 6, 60), (3, 4, 120), (6, 3, 120)]
    n_labels, longest, n_patterns = sizes[rng.integers(len(sizes))]
    patterns = random_patterns(rng, n_labels, longest, n_patterns)
    kinds = KINDS if rng.random() < 0.5 else EXACT
    given = {"kinds": kinds, "n_labels": n_labels, "patterns": patterns}
    problem = random_problem(rng, n_tokens=8, **given)
    return only_adding(problem) if rng.random() < 0.3 else problem


def with_many_cells(rng) -> Problem:
    """A fifth of all segments has one."""
    kinds = ("small",), ("spikes",), ("huge",), ("ties",)
    kind = kinds[rng.integers(4)]
    problem = random_problem(rng, kinds=kind, n_tokens=40, constrained=False)
    cells = [
        (i, j, c, float(np.rint(rng.normal(0.3 * (j - i), 3.0))))
        for i, j, c in all_segments(40, problem.n_columns)
        if rng.random() < 0.2
    ]
    return problem._replace(cells=cells)


def sharp_and_long(rng) -> Problem:
    given = {"n_labels": 6, "patterns": random_patterns(rng, 6, 3, 12)}
    n_tokens = int(rng.choice([12, 40]))
    return sharp(rng, random_problem(rng, kinds=EXACT, n_tokens=n_tokens, **given))


def longest(rng) -> Problem:
    given = {"n_labels": 2, "patterns": ((0, 0), ("^", 0, 0), (0, "$"))}
    given["kinds"] = ("small",), ("spikes",), ("medium",), ("ties",)
    given["kinds"] = given["kinds"][rng.integers(4)]
    given["observed"] = () if rng.random() < 0.5 else (("^", 0), (0, 0))
    return random_problem(rng, n_tokens=150, constrained=False, **given)


LONG = {
    "longer": (100, longer),
    "longest": (40, longest),
    "exact": (100, exact_sizes(random_problem)),
    "spikes": (200, lambda rng: random_problem(rng, kinds=("spikes",), n_tokens=7)),
    "observed": (100, lambda rng: at_starts(rng, n_tokens=25)),
    "only adding": (100, lambda rng: only_adding(exact_sizes(random_problem)(rng))),
    "tags": (150, lambda rng: only_adding(exact_sizes(tags)(rng))),
    "runs": (100, lambda rng: only_adding(runs(rng, n_tokens=40))),
    "many patterns": (75, with_many_patterns),
    "many cells": (40, with_many_cells),
    "sharp": (50, sharp_and_long),
}


@cache
def cases(family: str) -> list[Case]:
    """Case k is made with the seed k."""
    return [x if isinstance(x, Case) else Case(x) for x in made(*SHORT[family])]


@cache
def long_cases(family: str) -> list[Case]:
    return [Case(problem, oracles.Reference) for problem in made(*LONG[family])]


def made(size, make):
    return (make(np.random.default_rng(seed)) for seed in range(n_of(size)))
