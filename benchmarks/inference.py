"""What exact inference costs: speed, growth and memory of `spacy_hosemi.core`.

    python benchmarks/inference.py ../data/grobid_citation --runs 3
    python benchmarks/inference.py --only growth memory
    python benchmarks/inference.py ../data/grobid_citation --quick

No features and no weights: the potentials are random (normal, by a fixed seed). The
operations are `log_partition`, `marginals` (log Z and gradient) and `viterbi`.

speed: documents of 100 tokens, segments of 1 to 16, in units of a *yardstick*: two bare
loops over arrays of the same sizes, one over (boundary, length, state), one over
(boundary, state, label), that do what the recursions of the paper cannot do without,
and nothing else. Ratios below 1 are possible: the engine shares sums which the second
loop forms again and again. "1 token" is the time for a document of one: what does not
grow with it. The automata are (a) 14 labels, all pairs and random triples, 200 states;
(b) the labels of DATA_DIR, all pairs and the most frequent label n-grams of train.jsonl
up to order 4, as many as make at most 2,000 states. Then a document of 1,000 tokens
with 14 labels, first order, with segments to 64 tokens and without a limit.

growth: time by the number of tokens, by the longest segment, by the length of the
segments that are likely, by the number of patterns, and by the number of threads. The
exponent is the slope of the straight line through the points, both axes logarithmic:
1 is linear, 0 constant. The second one is that of the two largest sizes only.

memory: a document of 100,000 tokens and 500 states, each operation in a process of its
own. MB (10^6 bytes) is the largest resident size of the process, "before" what it had
with imports, automaton and potentials made.

Times are CPU seconds on one thread, medians of single calls; what is compared takes
turns in one process. Only the threads are measured in wall time: the best of all calls,
and how many cores that one was given (CPU time by wall time).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import measuring  # before numpy: sets the number of threads
import numpy as np
import spacy
from convert import docs_from_jsonl
from measuring import table
from numpy.typing import NDArray
from tqdm import tqdm

from spacy_hosemi import core
from spacy_hosemi.core import yardstick

OPERATIONS: dict[str, Callable[..., Any]] = {
    "log Z": core.log_partition,
    "log Z and gradient": core.marginals,
    "Viterbi": core.viterbi,
}
LOOPS = {"segment loop": 0.35, "arc loop": 0.7}  # targets, ns a multiply-add, an arc
PARTS = ("speed", "growth", "memory")
OUTPUT = measuring.ROOT / "benchmarks" / "results"
SEED = 0

Pattern = tuple[str, ...]
Table = tuple[str, list[str]]  # a heading; paragraphs and tables below it


@dataclass
class Sizes:
    """How large everything is; the defaults are those without --quick."""

    rounds: int = 7
    seconds: float = 0.1  # at least so long for each call in each round
    tokens: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)
    segments: tuple[int, ...] = (10, 100, 1_000, 10_000)
    patterns: tuple[int, ...] = (100, 300, 1_000, 3_000, 10_000)
    threads: tuple[int, ...] = (1, 2, 4)
    documents: int = 64
    memory: int = 100_000


QUICK = Sizes(
    rounds=3,
    seconds=0.02,
    tokens=(1_000, 3_000, 10_000),
    lengths=(4, 16, 64),
    segments=(10, 100, 1_000),
    patterns=(100, 300, 1_000),
    documents=16,
    memory=10_000,
)


# ------------------------------------------------------------------- what is measured


def label_names(n_labels: int) -> list[str]:
    """Names of labels; the first is outside."""
    return ["O", *(f"l{i}" for i in range(1, n_labels))]


def all_pairs(labels: Sequence[str]) -> list[Pattern]:
    """All patterns of two labels."""
    return [(a, b) for a in labels for b in labels]


def prefixes(pattern: Pattern) -> set[Pattern]:
    """The states that a pattern needs besides those of the labels."""
    return {pattern[:k] for k in range(2, len(pattern))}


def random_automaton(
    n_labels: int, length: int, n_states: int
) -> core.PatternAutomaton:
    """All pairs, and random patterns until there are so many states.

    n_labels (int): L.
    length (int): Labels in a random pattern.
    n_states (int): To be had exactly.
    RETURNS (PatternAutomaton): The same one for the same numbers.
    """
    rng = np.random.default_rng(SEED)
    labels = label_names(n_labels)
    patterns = all_pairs(labels)
    seen, states = set(patterns), set[Pattern]()
    while (n_more := n_states - (1 + n_labels + len(states))) > 0:
        pattern = tuple(labels[y] for y in rng.integers(n_labels, size=length))
        if pattern not in seen and len(prefixes(pattern) - states) <= n_more:
            seen.add(pattern)
            patterns.append(pattern)
            states |= prefixes(pattern)
    return checked(core.PatternAutomaton(labels, patterns), n_states)


def random_patterns(n_labels: int, n_patterns: int) -> core.PatternAutomaton:
    """Random patterns of three and of four labels, and no pairs."""
    rng = np.random.default_rng(SEED)
    labels = label_names(n_labels)
    patterns: dict[Pattern, None] = {}
    while len(patterns) < n_patterns:
        chosen = rng.integers(n_labels, size=3 + len(patterns) % 2)
        patterns[tuple(labels[y] for y in chosen)] = None
    return core.PatternAutomaton(labels, patterns)


def label_sequences(path: Path) -> list[Pattern]:
    """Read the labels of the segments of each document, outside ones included."""
    found = []
    for doc in docs_from_jsonl(path, spacy.blank("xx")):
        sequence, at = ["^"], 0
        for ent in doc.ents:
            sequence += ["O"] * (ent.start > at) + [ent.label_]
            at = ent.end
        found.append((*sequence, *["O"] * (at < len(doc)), "$"))
    return found


def seen_automaton(path: Path, order: int, n_states: int) -> core.PatternAutomaton:
    """All pairs, and the most frequent label n-grams as long as states suffice.

    path (Path): A file that `corpus/convert.py` reads.
    order (int): N-grams have up to order + 1 labels.
    n_states (int): At most so many; fewer if the n-grams need no more.
    RETURNS (PatternAutomaton): The same one for the same data.
    """
    sequences = label_sequences(path)
    labels = ["O", *sorted({y for z in sequences for y in z} - {"^", "O", "$"})]
    counts = Counter(
        sequence[i : i + length]
        for sequence in sequences
        for length in range(3, order + 2)
        for i in range(len(sequence) - length + 1)
    )
    patterns, states = all_pairs(labels), set[Pattern]()
    for pattern, _ in counts.most_common():
        states |= prefixes(pattern)
        if 1 + len(labels) + len(states) > n_states:
            break
        patterns.append(pattern)
    return checked(core.PatternAutomaton(labels, patterns), n_states)


def checked(automaton: core.PatternAutomaton, n_states: int) -> core.PatternAutomaton:
    """Make sure that what is measured is as large as was asked for."""
    if automaton.n_states > n_states:
        raise RuntimeError(f"{automaton} has more than {n_states} states")
    return automaton


def random_potentials(
    automaton: core.PatternAutomaton,
    n_tokens: int,
    max_length: int = 1,
    tail: float = 0.0,
    seed: int = SEED,
) -> core.Potentials:
    """Potentials from the normal distribution.

    max_length (int): D.
    tail (float): For each token above D; -inf: at most D tokens.
    RETURNS (Potentials): The same ones for the same numbers.
    """
    rng = np.random.default_rng(seed)
    potentials = core.Potentials.zeros(automaton, n_tokens, max_length)
    for name in ("inside", "start", "end", "length", "pattern"):
        array = getattr(potentials, name)
        array[...] = rng.normal(size=array.shape)
    potentials.tail[:] = tail
    return potentials


def long_segments(
    automaton: core.PatternAutomaton, n_tokens: int, length: int
) -> core.Potentials:
    """Potentials with which segments of one length are by far the likeliest."""
    rng = np.random.default_rng(SEED)
    potentials = random_potentials(automaton, n_tokens)
    potentials.inside[...] = rng.normal(size=(n_tokens, 1))  # no label wins with time
    potentials.start -= 30.0
    potentials.start[::length] += 40.0
    return potentials


def next_states(automaton: core.PatternAutomaton) -> NDArray[np.int32]:
    """From the definition, for the yardstick: the state after each state and label."""
    states: set[Pattern] = {("^",)}
    states.update((y,) for y in automaton.labels)
    states.update(*map(prefixes, automaton.patterns))
    ids = {state: i for i, state in enumerate(sorted(states, key=lambda z: z[::-1]))}

    def longest_suffix(key: Pattern) -> int:
        return next(ids[key[i:]] for i in range(len(key)) if key[i:] in ids)

    found = [[longest_suffix((*state, y)) for y in automaton.labels] for state in ids]
    return np.array(found, np.int32)


# ------------------------------------------------------------------------ stop watches


@dataclass
class Timed:
    """A call that is measured, and what puts things in order before it."""

    call: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


def median_seconds(calls: dict[Any, Timed], sizes: Sizes) -> dict[Any, float]:
    """Time calls that take turns: the machine may be busy for a while.

    calls (Dict[Any, Timed]): By any name.
    RETURNS (Dict[Any, float]): CPU s of the median call, after a round of warm-up.
    """
    found: dict[Any, list[float]] = {}
    for turn in range(1 + sizes.rounds):
        for name, timed in calls.items():
            seconds: list[float] = []
            until = time.process_time() + sizes.seconds
            while not seconds or time.process_time() < until:
                timed.prepare()
                began = time.process_time()
                timed.call()
                seconds.append(time.process_time() - began)
            if turn > 0:
                found.setdefault(name, []).extend(seconds)
    return {name: float(np.median(seconds)) for name, seconds in found.items()}


def operations(
    automaton: core.PatternAutomaton, potentials: core.Potentials
) -> dict[str, Timed]:
    """The three operations on one document."""

    def timed(function: Callable[..., object]) -> Timed:
        return Timed(lambda: function(automaton, potentials))

    return {name: timed(function) for name, function in OPERATIONS.items()}


def bare_loops(
    automaton: core.PatternAutomaton, n_tokens: int, max_length: int
) -> tuple[dict[str, Timed], dict[str, int]]:
    """The yardstick: the arithmetic alone, on arrays as large as the case's.

    RETURNS (Tuple[Dict, Dict]): The loops; how many multiply-adds, how many arcs.
    """
    rng = np.random.default_rng(SEED)
    shape = n_tokens + 1, automaton.n_states
    source, into = rng.random(shape), np.zeros(shape)
    lengths = rng.random((n_tokens + 1, max_length))
    arcs = rng.random((automaton.n_states, automaton.n_labels))
    targets = next_states(automaton)

    def segment_loop() -> int:
        return yardstick.segment_loop(into, source, lengths)

    def arc_loop() -> int:
        return yardstick.arc_loop(source, into, arcs, targets)

    def clear() -> None:
        into[...] = 0.0

    loops = {"segment loop": segment_loop, "arc loop": arc_loop}
    counts = {name: loop() for name, loop in loops.items()}
    return {name: Timed(loop, clear) for name, loop in loops.items()}, counts


# ----------------------------------------------------------------------------- tables


def figure(value: float, target: float | None = None) -> str:
    """Write a number with three digits that count, "!" where it misses its target."""
    if value == 0.0 or value >= 1000.0:
        shown = f"{value:,.0f}"
    else:
        shown = f"{value:.{max(0, 2 - int(np.floor(np.log10(value))))}f}"
    return shown + ("!" if target is not None and value > target else "")


def by_run(values: Sequence[float], target: float) -> list[str]:
    """Write a figure: of each run, if there are several, and the median."""
    median = figure(float(np.median(values)), target)
    return [median] if len(values) == 1 else [*map(figure, values), median]


def run_columns(title: str, n_runs: int) -> list[str]:
    """The headings for `by_run`."""
    runs = [f"run {run + 1}" for run in range(n_runs)]
    return [title] if n_runs == 1 else [*runs, f"{title} (median)"]


# ------------------------------------------------------------------------------ speed


@dataclass
class Case:
    """A document that is measured in units of the yardstick."""

    title: str
    automaton: core.PatternAutomaton
    targets: dict[str, float]  # ratios
    n_tokens: int = 100
    max_length: int = 16
    runs: list[dict[str, float]] = field(default_factory=list)  # seconds

    def measure(self, sizes: Sizes) -> None:
        """Add a run."""
        potentials = random_potentials(
            self.automaton, self.n_tokens, self.max_length, -np.inf
        )
        loops, self.counts = bare_loops(self.automaton, self.n_tokens, self.max_length)
        one_token = random_potentials(self.automaton, 1, self.max_length, -np.inf)
        fixed = operations(self.automaton, one_token)
        calls = {**loops, **operations(self.automaton, potentials)}
        calls |= {f"{name}, fixed": timed for name, timed in fixed.items()}
        self.runs.append(median_seconds(calls, sizes))

    def column(self, name: str) -> list[float]:
        """Seconds of each run."""
        return [run[name] for run in self.runs]

    def tables(self) -> Table:
        """The yardstick, and the operations beside it."""
        loops, rows = [], []
        for name, target in LOOPS.items():
            each = [1e9 * s / self.counts[name] for s in self.column(name)]
            unit = "multiply-add" if name == "segment loop" else "arc"
            loops.append(
                [
                    name,
                    f"{self.counts[name]:,} ({unit})",
                    figure(1e6 * float(np.median(self.column(name)))),
                    *by_run(each, target),
                    figure(target),
                ]
            )
        whole = [sum(run[name] for name in LOOPS) for run in self.runs]
        loops.append(["both: the yardstick", "", figure(1e6 * float(np.median(whole)))])
        loops[-1] += [""] * (len(loops[0]) - len(loops[-1]))
        for name, target in self.targets.items():
            seconds = self.column(name)
            ratios = [s / bare for s, bare in zip(seconds, whole)]
            times = [
                figure(1e6 * float(np.median(column)))
                for column in (self.column(f"{name}, fixed"), seconds)
            ]
            rows.append([name, *times, *by_run(ratios, target), figure(target)])
        n_runs = len(self.runs)
        automaton = self.automaton
        return (
            f"Speed: {self.title}",
            [
                f"{automaton.n_labels} labels, {len(automaton.patterns):,} patterns, "
                f"{automaton.n_states:,} states; {self.n_tokens} tokens, segments of 1 "
                f"to {self.max_length}.",
                table(
                    ["yardstick", "steps", "µs", *run_columns("ns a step", n_runs)]
                    + ["at most"],
                    loops,
                ),
                table(
                    ["", "1 token, µs", "µs", *run_columns("ratio", n_runs), "at most"],
                    rows,
                ),
            ],
        )


@dataclass
class FirstOrder:
    """A document of 1,000 tokens, with a longest segment and without."""

    n_tokens: int = 1_000
    max_length: int = 64
    target_ms: float = 10.0
    runs: list[dict[Any, float]] = field(default_factory=list)

    def measure(self, sizes: Sizes) -> None:
        """Add a run."""
        automaton = first_order()
        given = {
            "limited": (self.max_length, -np.inf),
            "unlimited": (1, 0.0),
        }
        calls = {
            (name, which): timed
            for which, (max_length, tail) in given.items()
            for name, timed in operations(
                automaton,
                random_potentials(automaton, self.n_tokens, max_length, tail),
            ).items()
        }
        self.runs.append(median_seconds(calls, sizes))

    def tables(self) -> Table:
        """Times, and what the limit costs."""
        rows = []
        for name in OPERATIONS:
            row, is_target = [name], name == "log Z and gradient"
            pairs = [
                (run[name, "limited"], run[name, "unlimited"]) for run in self.runs
            ]
            for column in zip(*pairs):
                milliseconds = 1e3 * float(np.median(column))
                row.append(figure(milliseconds, self.target_ms if is_target else None))
            ratios = [unlimited / limited for limited, unlimited in pairs]
            row += by_run(ratios, 1.0 if is_target else np.inf)
            rows.append([*row, f"{self.target_ms:g} ms, 1.00" if is_target else ""])
        return (
            "Speed: 1,000 tokens, 14 labels, first order",
            [
                table(
                    ["", f"segments to {self.max_length}, ms", "no limit, ms"]
                    + [*run_columns("no limit / limit", len(self.runs)), "at most"],
                    rows,
                )
            ],
        )


def first_order() -> core.PatternAutomaton:
    """14 labels and all their pairs."""
    labels = label_names(14)
    return core.PatternAutomaton(labels, all_pairs(labels))


def speed(args: argparse.Namespace, sizes: Sizes) -> list[Table]:
    """Measure all cases as often as asked for."""
    names = tuple(OPERATIONS)
    cases: list[Case | FirstOrder] = [
        Case(
            "(a) random patterns",
            random_automaton(14, 3, 200),
            dict(zip(names, (1.5, 4.0, 1.2))),
        )
    ]
    if args.data:
        title = f"(b) label patterns of {args.data.resolve().name}"
        automaton = seen_automaton(args.data / "train.jsonl", 4, 2_000)
        cases.append(Case(title, automaton, dict(zip(names, (0.6, 1.8, 0.6)))))
    cases.append(FirstOrder())
    turns = [case for _ in range(args.runs) for case in cases]
    for case in tqdm(turns, desc="speed", disable=None):
        case.measure(sizes)
    return [case.tables() for case in cases]


# ----------------------------------------------------------------------------- growth


@dataclass
class Curve:
    """Seconds of each operation, by the size of something."""

    title: str
    what: str  # grows
    note: str
    sizes: list[int]
    seconds: dict[str, list[float]]
    expected: float = 1.0  # exponent
    per: str = ""  # what the second figure is
    units: list[int] = field(default_factory=list)  # none: a speed-up
    also: dict[str, list[str]] = field(default_factory=dict)

    def exponent(self, name: str, n_last: int = 0) -> float:
        """Slope of the line through all points, or the last ones."""
        sizes, seconds = self.sizes[-n_last:], self.seconds[name][-n_last:]
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        return round(slope, 2) + 0.0  # no -0.00

    def second(self, name: str, i: int) -> str:
        """What stands beside the time."""
        seconds = self.seconds[name]
        if self.units:
            return figure(1e6 * seconds[i] / self.units[i])
        return figure(seconds[0] / seconds[i])

    def tables(self) -> Table:
        """Times, times by size, exponents."""
        header = [self.what, *self.also]
        for name in self.seconds:
            header += [f"{name}, ms", self.per]
        rows = []
        for i, size in enumerate(self.sizes):
            row = [f"{size:,}", *(values[i] for values in self.also.values())]
            for name, seconds in self.seconds.items():
                row += [figure(1e3 * seconds[i]), self.second(name, i)]
            rows.append(row)
        for title, n_last in (("exponent", 0), ("of the last two", 2)):
            row = [title, *("" for _ in self.also)]
            for name in self.seconds:
                row += [f"{self.exponent(name, n_last):.2f}", ""]
            rows.append(row)
        return f"Growth: {self.title}", [self.note, table(header, rows)]


Given = tuple[core.PatternAutomaton, core.Potentials]


def curve(
    title: str,
    what: str,
    note: str,
    given: dict[int, Given],
    sizes: Sizes,
    **others: Any,
) -> Curve:
    """Measure the operations at all sizes.

    title, what, note (str): As in `Curve`, as are the others.
    given (Dict[int, Given]): Automaton and potentials of each size.
    """
    calls = {
        (name, size): timed
        for size, pair in given.items()
        for name, timed in operations(*pair).items()
    }
    found = median_seconds(calls, sizes)
    seconds = {name: [found[name, size] for size in given] for name in OPERATIONS}
    others = {"per": f"µs/{what}", "units": list(given), **others}
    return Curve(title, what, note, list(given), seconds, **others)


def token_curve(sizes: Sizes) -> Curve:
    """Longer and longer documents."""
    automaton = first_order()
    return curve(
        "length of the document",
        "token",
        "14 labels, first order, segments of any length (D = 1, tail 0).",
        {n: (automaton, random_potentials(automaton, n)) for n in sizes.tokens},
        sizes,
    )


def length_curve(sizes: Sizes) -> Curve:
    """Longer and longer segments that have a potential for each length."""
    automaton = first_order()
    return curve(
        "longest segment",
        "D",
        "14 labels, first order, 1,000 tokens, segments of 1 to D (tail -inf).",
        {
            max_length: (
                automaton,
                random_potentials(automaton, 1_000, max_length, -np.inf),
            )
            for max_length in sizes.lengths
        },
        sizes,
    )


def segment_curve(sizes: Sizes) -> Curve:
    """Longer and longer segments in what is likely."""
    automaton = first_order()
    n_tokens = 2 * max(sizes.segments)
    given = {
        length: (automaton, long_segments(automaton, n_tokens, length))
        for length in sizes.segments
    }
    best = [len(core.viterbi(*pair)[0]) for pair in given.values()]
    expected = [core.marginals(*pair).gradient.start.sum() for pair in given.values()]
    return curve(
        "length of the likely segments",
        "segment",
        f"14 labels, first order, {n_tokens:,} tokens, segments of any length (D = 1, "
        "tail 0); the potentials favour those of the length given.",
        given,
        sizes,
        expected=0.0,
        per="µs/token",
        units=[n_tokens] * len(given),
        also={
            "mean length": [figure(n_tokens / n) for n in expected],
            "in the best": [figure(n_tokens / n) for n in best],
        },
    )


def pattern_curve(sizes: Sizes) -> Curve:
    """More and more patterns."""
    automata = {m: random_patterns(24, m) for m in sizes.patterns}
    return curve(
        "number of patterns",
        "pattern",
        "24 labels, random patterns of three and of four labels, 100 tokens, segments "
        "of 1 to 16 (tail -inf).",
        {m: (a, random_potentials(a, 100, 16, -np.inf)) for m, a in automata.items()},
        sizes,
        also={"states": [f"{a.n_states:,}" for a in automata.values()]},
    )


def thread_curve(sizes: Sizes) -> Curve:
    """More and more threads."""
    automaton = random_automaton(14, 3, 200)
    documents = [
        random_potentials(automaton, 50 + 10 * seed, 16, -np.inf, seed)
        for seed in range(sizes.documents)
    ]
    functions = {
        "marginals_many": core.marginals_many,
        "viterbi_many": core.viterbi_many,
    }

    def run(name: str, threads: int) -> Any:
        return functions[name](automaton, documents, threads=threads)

    keys = [(x, threads) for x in functions for threads in sizes.threads]
    best = dict.fromkeys(keys, (np.inf, 0.0))  # wall s, CPU s
    for _ in range(3 * sizes.rounds):
        for key in keys:
            began = time.perf_counter(), time.process_time()
            run(*key)
            wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
            best[key] = min(best[key], (wall, cpu))
    of_one = {x: [bits(result) for result in run(x, 1)] for x in functions}
    same = [
        all([bits(result) for result in run(x, k)] == of_one[x] for x in functions)
        for k in sizes.threads
    ]
    return Curve(
        "number of threads",
        "threads",
        f"{len(documents)} documents of {documents[0].n_tokens} to "
        f"{documents[-1].n_tokens} tokens, the automaton of case (a), segments of 1 to "
        f"16; wall time, best of {3 * sizes.rounds}, on {n_cores()} cores.",
        list(sizes.threads),
        {x: [best[x, k][0] for k in sizes.threads] for x in functions},
        expected=-1.0,
        per="speed-up",
        also={
            "results": ["same bits" if x else "DIFFER" for x in same],
            "cores": [
                ", ".join(f"{best[x, k][1] / best[x, k][0]:.1f}" for x in functions)
                for k in sizes.threads
            ],
        },
    )


def bits(result: Any) -> object:
    """All that a result says, such that only equal bits are equal."""
    if not isinstance(result, core.Marginals):
        segments, score = result
        return segments, np.float64(score).tobytes()
    arrays = [getattr(result.gradient, x.name) for x in fields(result.gradient)]
    arrays += [result.tokens, np.float64(result.log_z)]
    return [None if array is None else array.tobytes() for array in arrays]


def n_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def growth(sizes: Sizes) -> list[Curve]:
    """Measure all curves."""
    makers = [token_curve, length_curve, segment_curve, pattern_curve, thread_curve]
    return [maker(sizes) for maker in tqdm(makers, desc="growth", disable=None)]


def picture(curves: Sequence[Curve], folder: Path) -> str:
    """Draw the curves, a panel each.

    folder (Path): Where inference-growth.png and .svg are written.
    RETURNS (str): What inference.md says of it.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return "The picture was left out; to have it: `pip install matplotlib`"
    matplotlib.rcParams.update({"svg.hashsalt": "inference", "font.size": 9})
    drawn = Figure(figsize=(11, 6.4), layout="constrained")
    *panels, last = drawn.subplots(2, 3).flat
    for panel, found in zip(panels, curves):
        draw(panel, found)
    key_to_lines(last)
    for ending in ("png", "svg"):
        metadata = {"Date": None} if ending == "svg" else None
        drawn.savefig(folder / f"inference-growth.{ending}", dpi=150, metadata=metadata)
    return "![Time by size](inference-growth.png)"


STYLES = {
    "log Z": ("#0072b2", "o"),
    "log Z and gradient": ("#d55e00", "s"),
    "Viterbi": ("#009e73", "^"),
    "marginals_many": ("#d55e00", "s"),
    "viterbi_many": ("#009e73", "^"),
}


def draw(panel: Any, found: Curve) -> None:
    """Draw one curve: points, exponents, and what is expected from one point on."""
    sizes = np.array(found.sizes)
    for name, seconds in found.seconds.items():
        colour, marker = STYLES[name]
        milliseconds = 1e3 * np.array(seconds)
        panel.plot(sizes, milliseconds, color=colour, marker=marker)
        i = -1 if found.expected > 0 else 0
        ideal = milliseconds[i] * (sizes / sizes[i]) ** found.expected
        panel.plot(sizes, ideal, color=colour, linestyle=":", linewidth=1)
    # At least a power of ten, so that what is constant looks it.
    values = 1e3 * np.array(list(found.seconds.values()))
    middle = np.sqrt(values.min() * values.max())
    half = max(np.sqrt(10.0), 1.25 * values.max() / middle)
    is_wall = found.what == "threads"
    y = -np.inf  # of the exponents, in the log domain; beside the last points, or above
    for name in sorted(found.seconds, key=lambda name: found.seconds[name][-1]):
        y = max(np.log(1e3 * found.seconds[name][-1]), y + 0.11 * np.log(half))
        panel.annotate(
            f"{found.exponent(name):.2f}",
            (sizes[-1], np.exp(y)),
            xytext=(8, -3),
            textcoords="offset points",
            color=STYLES[name][0],
        )
    panel.set(
        xscale="log",
        yscale="log",
        xlim=(sizes[0] / 1.25, sizes[-1] * (sizes[-1] / sizes[0]) ** 0.22),
        ylim=(middle / half, middle * half),
        title=found.title,
        xlabel=f"expected exponent: {found.expected:g}",
        ylabel="ms, wall time" if is_wall else "ms, CPU time",
    )
    panel.set_xticks(sizes, [short(size) for size in sizes])
    panel.yaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.minorticks_off()
    panel.grid(color="#dddddd", linewidth=0.6)


def short(size: int) -> str:
    """Write a size so that seven of them stand side by side."""
    return f"{size // 1_000}k" if size % 1_000 == 0 else str(size)


def key_to_lines(panel: Any) -> None:
    """Say in a panel of its own what the lines are."""
    for name in OPERATIONS:
        colour, marker = STYLES[name]
        panel.plot([], [], color=colour, marker=marker, label=name)
    panel.plot([], [], color="#444444", linestyle=":", label="as expected")
    panel.axis("off")
    panel.legend(loc="center", frameon=False, title="numbers: exponents\n", fontsize=11)


# ----------------------------------------------------------------------------- memory


def measure_memory(operation: str, n_tokens: str, report: str) -> None:
    """Run one operation on a long document (called in a process of its own).

    operation (str): A key of OPERATIONS.
    report (str): JSON file to write: MB before, MB at the peak, CPU seconds.
    """
    automaton = random_automaton(14, 4, 500)
    potentials = random_potentials(automaton, int(n_tokens), 16)
    before, began = measuring.peak_mb(), time.process_time()
    result = OPERATIONS[operation](automaton, potentials)
    seconds = time.process_time() - began
    found = {"before": before, "peak": measuring.peak_mb(), "cpu_s": seconds}
    del result
    Path(report).write_text(json.dumps(found))


def memory(sizes: Sizes, target_mb: float = 1_000.0) -> Table:
    """Measure each operation in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        for name in tqdm(OPERATIONS, desc="memory", disable=None):
            asked = name, str(sizes.memory), report
            measuring.measured(measuring.call(measure_memory, *asked), quiet=True)
            found = json.loads(report.read_text())
            row = [figure(found["before"]), figure(found["peak"], target_mb)]
            rows.append([name, *row, figure(target_mb), figure(found["cpu_s"])])
    automaton = random_automaton(14, 4, 500)
    return (
        "Memory",
        [
            f"{sizes.memory:,} tokens; 14 labels, {len(automaton.patterns)} patterns, "
            f"{automaton.n_states} states, segments of any length (D = 16, tail 0).",
            table(["", "before, MB", "peak, MB", "at most", "CPU s"], rows),
        ],
    )


# --------------------------------------------------------------------------- all of it


def head() -> str:
    """Where, when and with what it was measured."""
    where = measuring.environment()
    versions = {**where["versions"], "numpy": np.__version__}
    shown = ("python", "spacy_hosemi", "numpy")
    return (
        f"{where['date']}, {where['cpu']} ({n_cores()} cores), commit "
        f"{where['commit']}, {', '.join(f'{x} {versions[x]}' for x in shown)}.\n\n"
        f"    {where['command']}\n\n"
        "CPU time, one thread, medians. A figure with ! misses its target."
    )


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Measure what exact inference costs: speed beside bare loops, "
        "growth, memory. Prints tables.",
        epilog="Example: python benchmarks/inference.py ../data/grobid_citation",
    )
    add = parser.add_argument
    add(
        "data",
        type=Path,
        nargs="?",
        metavar="DATA_DIR",
        help="has train.jsonl; its label sequences are the patterns of speed (b), "
        "which is left out otherwise",
    )
    add(
        "--only",
        nargs="+",
        choices=PARTS,
        default=PARTS,
        metavar="PART",
        help=f"what to measure: {', '.join(PARTS)} (default: all of them)",
    )
    add(
        "--runs",
        type=int,
        default=1,
        metavar="R",
        help="measure speed R times and print all ratios (default: %(default)s)",
    )
    add(
        "--quick",
        action="store_true",
        help="small sizes and few repetitions: to try, not to quote",
    )
    add(
        "--output",
        type=Path,
        metavar="DIR",
        help="where inference.md and inference-growth.{png,svg} are written, whatever "
        f"is there (default: {OUTPUT}; with --quick nothing is written)",
    )
    args = parser.parse_args()
    if args.data and not (args.data / "train.jsonl").is_file():
        parser.error(f"there is no {args.data / 'train.jsonl'}")
    if args.runs < 1:
        parser.error("--runs is at least 1")
    if args.output is None and not args.quick:
        args.output = OUTPUT
    return args


def main() -> int:
    """Measure the parts, print and write the tables."""
    args = arguments()
    sizes = QUICK if args.quick else Sizes()
    written = ["# What inference costs", head()]
    print(written[-1], flush=True)

    def show(*tables: Table) -> None:
        for title, parts in tables:
            written.extend([f"## {title}", *parts])
            print("\n" + "\n\n".join([title, *parts]), flush=True)

    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
    if "speed" in args.only:
        show(*speed(args, sizes))
        if not args.data:
            written.append("Without DATA_DIR there is no case (b).")
            print("\n" + written[-1])
    if "growth" in args.only:
        curves = growth(sizes)
        show(*(found.tables() for found in curves))
        if args.output:
            written.append(picture(curves, args.output))
            print("\n" + written[-1])
    if "memory" in args.only:
        show(memory(sizes))
    if args.output:
        (args.output / "inference.md").write_text("\n\n".join(written) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
