"""What loading a trained pipeline costs, and whether processes share its weights.

    python benchmarks/loading.py MODEL ... --processes 4

Printed are, for each pipeline with one hosemi component:

- MB: of the component's files;
- load: CPU ms of `spacy.load`, and "without" the component (`exclude`): spaCy's own
  share, most of it the tokenizer; medians of --repeats, taking turns;
- first call: CPU ms of `nlp(text)` right after loading, when what follows from the
  weights is made, and again, of the same text;
- MB of each more process: what the memory of all of N processes that have loaded and
  used the pipeline (proportional set size, which counts shared pages once; Linux) grows
  by for each but the first, less the same without the component.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import harness
import psutil
from arguments import number, path_to, script
from processes import size_mb
from spacy.util import load_model
from training import entity_component

TEXT = "Turing, A. M. (1952). The chemical basis of morphogenesis. 237(641), 37-72."

# Loads a pipeline, uses it, says so, and waits.
WAITING = """
import sys, spacy
nlp = spacy.load(sys.argv[1], exclude=sys.argv[3:])
for _ in range(3):
    nlp(sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
"""


def times_of(model: Path, name: str) -> list[float]:
    """Returns the columns of CPU ms."""
    whole, nlp = harness.timed(load_model, model)
    without, _ = harness.timed(partial(load_model, exclude=[name]), model)
    calls = [harness.timed(nlp, TEXT)[0] for _ in range(2)]
    return [1e3 * x for x in (whole, without, whole - without, *calls)]


def added_mb(model: Path, exclude: list[str], n: int) -> float:
    """Returns what each process but the first adds to the memory of all."""

    def all_mb(n_processes: int) -> float:
        command = [sys.executable, "-c", WAITING, str(model), TEXT, *exclude]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        running = [subprocess.Popen(command, **pipes) for _ in range(n_processes)]
        try:
            for process in running:
                process.stdout.readline()
            sizes = [psutil.Process(x.pid).memory_full_info().pss for x in running]
            return float(sum(sizes)) / harness.MB
        finally:
            for process in running:
                process.communicate()

    return (all_mb(n) - all_mb(1)) / (n - 1)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure all pipelines."""
    rows = []
    for model in args.models:
        name = entity_component(load_model(model))
        row = [f"{model}", size_mb(model / name)]
        runs = [times_of(model, name) for _ in range(args.repeats)]
        row += [median(column) for column in zip(*runs)]
        added = [added_mb(model, x, args.processes) for x in ([], [name])]
        rows.append([*row, added[0] - added[1]])
    columns = ["pipeline", "MB|.1f", "load|.0f", "without|.0f", "difference|.0f"]
    columns += ["first call|.1f", "again|.2f", "MB of each more|.1f"]
    harness.report(args, "CPU ms, medians", harness.table(columns, rows), rows=rows)


OPTIONS = {
    "models": path_to("that spacy.load reads", nargs="+"),
    "--repeats": number(7),
    "--processes": number(4, "", 2),
}
main = script(__doc__, measure, "--json", OPTIONS)

if __name__ == "__main__":
    main()
