"""The part of inference.py that measures how time grows with the size of a problem."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import random_models as models
from harness import Timed, table, take_turns

# isort: split
import numpy as np

from spacy_hosemi import core

OPERATIONS: dict[str, Callable[..., Any]] = {
    "log Z": core.log_partition,
    "log Z and gradient": core.marginals,
    "Viterbi": core.viterbi,
}
MANY = {"marginals_many": core.marginals_many, "viterbi_many": core.viterbi_many}


@dataclass
class Sizes:
    """How large everything is."""

    rounds: int = 7
    seconds: float = 0.1  # the least time of each call in each round
    tokens: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)
    segments: tuple[int, ...] = (10, 100, 1_000, 10_000)
    patterns: tuple[int, ...] = (100, 300, 1_000, 3_000, 10_000)
    threads: tuple[int, ...] = (1, 2, 4)
    documents: int = 64
    memory: int = 100_000


def median_seconds(calls: dict[Any, Timed], sizes: Sizes) -> dict[Any, float]:
    """CPU s of the median call, by name."""
    found = take_turns(calls, sizes.rounds, least=sizes.seconds)
    return {name: median(seconds) for name, seconds in found.items()}


def operations(
    automaton: core.PatternAutomaton, potentials: core.Potentials
) -> dict[str, Timed]:
    """The three operations on one document."""

    def timed(function: Callable[..., object]) -> Timed:
        return Timed(lambda _: function(automaton, potentials))

    return {name: timed(function) for name, function in OPERATIONS.items()}


def figure(value: float, target: float | None = None) -> str:
    """Write a number with three digits that count, "!" where it misses its target."""
    if value == 0.0 or value >= 1000.0:
        shown = f"{value:,.0f}"
    else:
        shown = f"{value:.{max(0, 2 - int(np.floor(np.log10(value))))}f}"
    return shown + ("!" if target is not None and value > target else "")


@dataclass
class Curve:
    """Seconds of each operation by the size of something, of which an exponent is
    expected; at each size they are divided by a unit, or without units shown as a
    speed-up. `also` has more columns."""

    title: str
    what: str
    note: str
    sizes: list[int]
    seconds: dict[str, list[float]]
    per: str
    units: list[int] = field(default_factory=list)
    also: dict[str, list[str]] = field(default_factory=dict)
    expected: float = 1.0

    def exponent(self, name: str, n_last: int = 0) -> float:
        """Slope of the line through all points, or the last ones, in logarithms."""
        sizes, seconds = self.sizes[-n_last:], self.seconds[name][-n_last:]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        return round(slope, 2) + 0.0  # no -0.00

    def tables(self) -> list[str]:
        """Times, times by size, exponents."""
        columns = [self.what, *self.also]
        rows = [[f"{n:,}", *x] for n, *x in zip(self.sizes, *self.also.values())]
        ends = [[x, *("" for _ in self.also)] for x in ("exponent", "of the last two")]
        for name, seconds in self.seconds.items():
            columns += [f"{name}, ms", self.per]
            for i, (row, s) in enumerate(zip(rows, seconds)):
                other = 1e6 * s / self.units[i] if self.units else seconds[0] / s
                row += [figure(1e3 * s), figure(other)]
            for row, n_last in zip(ends, (0, 2)):
                row += [f"{self.exponent(name, n_last):.2f}", ""]
        rows += ends
        return [f"## Growth: {self.title}", self.note, table(columns, rows)]

    def panel(self) -> tuple[dict[str, list[tuple[float, float]]], dict[str, Any]]:
        """For the picture: points, and lines of the expected exponents."""
        lines = {}
        for name, seconds in self.seconds.items():
            ms, i = [1e3 * s for s in seconds], -1 if self.expected > 0 else 0
            lines[f"{name}: {self.exponent(name):.2f}"] = list(zip(self.sizes, ms))
            ideal = [ms[i] * (n / self.sizes[i]) ** self.expected for n in self.sizes]
            lines[f"_{name}: {self.exponent(name):.2f}"] = list(zip(self.sizes, ideal))
        settings = {"xscale": "log", "yscale": "log", "title": self.title}
        settings["xlabel"] = f"expected exponent: {self.expected:g}"
        settings["ylabel"] = (
            "ms, wall time" if self.what == "threads" else "ms, CPU time"
        )
        shown = [f"{n // 1000}k" if n % 1000 == 0 else f"{n}" for n in self.sizes]
        return lines, {**settings, "xticks": self.sizes, "xticklabels": shown}


Problems = dict[int, tuple[core.PatternAutomaton, core.Potentials]]  # by size


def curve(
    title: str, what: str, note: str, problems: Problems, sizes: Sizes, **others: Any
) -> Curve:
    """Measure the operations at all sizes."""
    calls = {
        (name, size): timed
        for size, problem in problems.items()
        for name, timed in operations(*problem).items()
    }
    found = median_seconds(calls, sizes)
    seconds = {name: [found[name, size] for size in problems] for name in OPERATIONS}
    others = {"per": f"µs/{what}", "units": list(problems), **others}
    return Curve(title, what, note, list(problems), seconds, **others)


def measure_growth(sizes: Sizes) -> list[Curve]:
    """Measure all curves."""
    first, n_tokens = models.first_order(), 2 * max(sizes.segments)
    by_length = {
        n: models.random_potentials(first, 1_000, n, -np.inf) for n in sizes.lengths
    }
    long = {n: models.long_segments(first, n_tokens, n) for n in sizes.segments}
    best = [len(core.viterbi(first, x)[0]) for x in long.values()]
    expected = [core.marginals(first, x).gradient.start.sum() for x in long.values()]
    automata = {m: models.random_patterns(24, m) for m in sizes.patterns}
    return [
        curve(
            "length of the document",
            "token",
            "14 labels, first order, segments of any length (D = 1, tail 0).",
            {n: (first, models.random_potentials(first, n)) for n in sizes.tokens},
            sizes,
        ),
        curve(
            "longest segment",
            "D",
            "14 labels, first order, 1,000 tokens, segments of 1 to D (tail -inf).",
            {n: (first, potentials) for n, potentials in by_length.items()},
            sizes,
        ),
        curve(
            "length of the likely segments",
            "segment",
            f"14 labels, first order, {n_tokens:,} tokens, segments of any length (D = "
            "1, tail 0); the potentials favour those of the length given.",
            {n: (first, potentials) for n, potentials in long.items()},
            sizes,
            expected=0.0,
            per="µs/token",
            units=[n_tokens] * len(long),
            also={
                "mean length": [figure(n_tokens / n) for n in expected],
                "in the best": [figure(n_tokens / n) for n in best],
            },
        ),
        curve(
            "number of patterns",
            "pattern",
            "24 labels, random patterns of three and of four labels, 100 tokens, "
            "segments of 1 to 16 (tail -inf).",
            {
                m: (x, models.random_potentials(x, 100, 16, -np.inf))
                for m, x in automata.items()
            },
            sizes,
            also={"states": [f"{x.n_states:,}" for x in automata.values()]},
        ),
        thread_curve(sizes),
    ]


def thread_curve(sizes: Sizes) -> Curve:
    """More and more threads, in wall time."""
    automaton = models.random_automaton(14, 3, 200)
    documents = [
        models.random_potentials(automaton, 50 + 10 * seed, 16, -np.inf, seed)
        for seed in range(sizes.documents)
    ]

    def timed(run: Callable[..., Any], threads: int) -> Timed:
        return Timed(lambda _: run(automaton, documents, threads=threads))

    calls = {(name, n): timed(x, n) for name, x in MANY.items() for n in sizes.threads}
    seconds = take_turns(calls, 3 * sizes.rounds, time.perf_counter)
    best = {key: min(of_call) for key, of_call in seconds.items()}
    return Curve(
        "number of threads",
        "threads",
        f"{len(documents)} documents of {documents[0].n_tokens} to "
        f"{documents[-1].n_tokens} tokens, the automaton of case (a), segments of 1 to "
        f"16; wall time, best of {3 * sizes.rounds}.",
        list(sizes.threads),
        {name: [best[name, n] for n in sizes.threads] for name in MANY},
        expected=-1.0,
        per="speed-up",
    )
