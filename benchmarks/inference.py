"""What exact inference costs: speed, growth and memory of `spacy_hosemi.core`.

    python benchmarks/inference.py ../data/grobid_citation

No features and no weights: the potentials are random (normal, by a fixed seed). The
operations are `log_partition`, `marginals` (log Z and gradient) and `viterbi`.

speed: documents of 100 tokens, segments of 1 to 16, in units of a *yardstick*: two bare
loops over arrays of the same sizes, one over (boundary, length, state), one over
(boundary, state, label), that do what the recursions of the paper cannot do without,
and nothing else. Ratios below 1 are possible: the engine shares sums which the second
loop forms again and again. "1 token" is the time for a document of one: what does not
grow with it. The automata are (a) 14 labels, all pairs and random triples, 200 states;
(b) the labels of DATA, all pairs and the most frequent label n-grams of train.jsonl
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
turns in one process. Only the threads are measured in wall time: the best of all calls.
"!" marks what misses its target. inference.md and inference-growth.png are
written to --output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import harness
from arguments import path_to, script, some_of
from inference_growth import (
    OPERATIONS,
    Sizes,
    figure,
    measure_growth,
    median_seconds,
    operations,
)
from pictures import picture
from processes import in_process, peak_mb
from random_models import (
    Pattern,
    first_order,
    prefixes,
    random_automaton,
    random_potentials,
    seen_automaton,
)

# isort: split
import numpy as np
import pyximport
from numpy.typing import NDArray
from tqdm import tqdm

from spacy_hosemi import core

pyximport.install(build_dir=str(harness.ROOT / "build" / "yardstick"))
import yardstick  # noqa: E402, compiled when it is imported

LOOPS = {"segment loop": 0.35, "arc loop": 0.7}  # targets, ns a multiply-add, an arc


# ------------------------------------------------------------------- what is measured


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


# -------------------------------------------------------------------------------- time


def bare_loops(
    automaton: core.PatternAutomaton, n_tokens: int, max_length: int
) -> tuple[dict[str, harness.Timed], dict[str, int]]:
    """The yardstick: the arithmetic alone, on arrays as large as the case's. Returns
    the loops; how many multiply-adds, how many arcs."""
    rng = np.random.default_rng(harness.SEED)
    shape = n_tokens + 1, automaton.n_states
    source, into = rng.random(shape), np.zeros(shape)
    lengths = rng.random((n_tokens + 1, max_length))
    arcs = rng.random((automaton.n_states, automaton.n_labels))
    targets = next_states(automaton)
    loops = {
        "segment loop": lambda _: yardstick.segment_loop(into, source, lengths),
        "arc loop": lambda _: yardstick.arc_loop(source, into, arcs, targets),
    }
    counts = {name: loop(None) for name, loop in loops.items()}
    return {
        name: harness.Timed(x, lambda: into.fill(0.0)) for name, x in loops.items()
    }, counts


# ------------------------------------------------------------------------------- speed

ONE = "1 token"  # what a document of one token takes: does not grow with it


def speed(args: argparse.Namespace, sizes: Sizes) -> list[str]:
    """Operations in units of the yardstick, on two automata; and first order."""
    parts = case_tables("(a) random patterns", random_automaton(14, 3, 200), A, sizes)
    if args.data:
        automaton = seen_automaton(args.data / "train.jsonl", 4, 2_000)
        title = f"(b) label patterns of {args.data.resolve().name}"
        parts += case_tables(title, automaton, B, sizes)
    return [*parts, *first_order_table(sizes)]


A, B = (1.5, 4.0, 1.2), (0.6, 1.8, 0.6)  # targets of the operations, in yardsticks


def case_tables(
    title: str, automaton: core.PatternAutomaton, targets: Sequence[float], sizes: Sizes
) -> list[str]:
    """The yardstick, and the operations beside it."""
    loops, counts = bare_loops(automaton, 100, 16)
    calls: dict[Any, harness.Timed] = dict(loops)
    for n in (1, 100):
        timed = operations(automaton, random_potentials(automaton, n, 16, -np.inf))
        calls |= {(name, n): x for name, x in timed.items()}
    found = median_seconds(calls, sizes)
    us = {key: figure(1e6 * seconds) for key, seconds in found.items()}
    bare = sum(found[name] for name in LOOPS)
    rows = []
    for name, target in LOOPS.items():
        step = figure(1e9 * found[name] / counts[name], target)
        rows.append([name, f"{counts[name]:,}", us[name], step, figure(target)])
    yardstick = ["both: the yardstick", "", figure(1e6 * bare), "", ""]
    columns = ["yardstick", "steps", "µs", "ns a step", "at most"]
    parts = [
        f"## Speed: {title}",
        f"{automaton.n_labels} labels, {len(automaton.patterns):,} patterns, "
        f"{automaton.n_states:,} states; 100 tokens, segments of 1 to 16. A step is a "
        "multiply-add, or an arc; ratios are those to the yardstick.",
        harness.table(columns, [*rows, yardstick]),
    ]
    rows = []
    for name, target in zip(OPERATIONS, targets):
        ratio = figure(found[name, 100] / bare, target)
        rows.append([name, us[name, 1], us[name, 100], ratio, figure(target)])
    return [*parts, harness.table(["", f"{ONE}, µs", "µs", "ratio", "at most"], rows)]


FIRST_ORDER = {"limited": (64, -np.inf), "unlimited": (1, 0.0)}
TARGET_MS = 10.0


def first_order_table(sizes: Sizes) -> list[str]:
    """1,000 tokens, with a longest segment and without, and what the limit costs."""
    automaton, calls = first_order(), {}
    for which, given in FIRST_ORDER.items():
        timed = operations(automaton, random_potentials(automaton, 1_000, *given))
        calls |= {(name, which): x for name, x in timed.items()}
    found = median_seconds(calls, sizes)
    rows = []
    for name in OPERATIONS:
        target = TARGET_MS if name == "log Z and gradient" else None
        limited, unlimited = (found[name, which] for which in FIRST_ORDER)
        ms = [figure(1e3 * x, target) for x in (limited, unlimited)]
        rows.append([name, *ms, figure(unlimited / limited, 1.0)])
    columns = ["", "segments to 64, ms", "no limit, ms", "no limit / limit"]
    return [
        "## Speed: 1,000 tokens, 14 labels, first order",
        f"At most {TARGET_MS:g} ms for log Z and gradient.",
        harness.table(columns, rows),
    ]


# ------------------------------------------------------------------------------ memory


def measure_memory(operation: str, n_tokens: int) -> tuple[float, float, float]:
    """Run one operation on a long document (called in a process of its own). Returns MB
    before, MB at the peak, CPU s."""
    automaton = random_automaton(14, 4, 500)
    potentials = random_potentials(automaton, n_tokens, 16)
    before, began = peak_mb(), time.process_time()
    result = OPERATIONS[operation](automaton, potentials)
    found = before, peak_mb(), time.process_time() - began
    del result
    return found


def memory(args: argparse.Namespace, sizes: Sizes, target: float = 1_000) -> list[str]:
    """Each operation in a process of its own."""
    rows = []
    for name in tqdm(OPERATIONS, desc="memory", disable=None):
        (before, peak, s), _ = in_process(measure_memory, name, sizes.memory)
        shown = figure(before), figure(peak, target), figure(target), figure(s)
        rows.append([name, *shown])
    automaton = random_automaton(14, 4, 500)
    return [
        "## Memory",
        f"{sizes.memory:,} tokens; 14 labels, {len(automaton.patterns)} patterns, "
        f"{automaton.n_states} states, segments of any length (D = 16, tail 0).",
        harness.table(["", "before, MB", "peak, MB", "at most", "CPU s"], rows),
    ]


def growth(args: argparse.Namespace, sizes: Sizes) -> list[str]:
    """All curves, and their picture."""
    curves = measure_growth(sizes)
    parts = [part for one in curves for part in one.tables()]
    path = args.output / "inference-growth"
    return [*parts, picture(path, [one.panel() for one in curves], (11, 6.4), 2)]


PARTS: dict[str, Callable[[argparse.Namespace, Sizes], list[str]]] = {
    "speed": speed,
    "growth": growth,
    "memory": memory,
}


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure the parts, print and write the tables."""
    sizes = Sizes()
    texts = [text for name in args.only for text in PARTS[name](args, sizes)]
    path = args.output / "inference.md"
    harness.report(args, "What inference costs", *texts, path=path)


OPTIONS = {
    "data": path_to("its label sequences are the patterns of speed (b)", nargs="?"),
    "--only": some_of(PARTS),
}
main = script(__doc__, measure, "--output", OPTIONS)

if __name__ == "__main__":
    main()
