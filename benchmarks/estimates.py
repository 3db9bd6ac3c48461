"""What `hosemi check` says a training will take, beside what it took.

    python benchmarks/estimates.py corpus ../data/cora ../data/anystyle

For each data set `hosemi check` says which kind of config fits, and estimates the time
and memory of a training with it; then `spacy train` is run with that config, dev.jsonl
(test.jsonl where there is none) as dev. Times are CPU seconds of the whole process,
memory its peak in MB. "Check" is what the check itself took.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import harness
import training
from arguments import script
from processes import measured

COLUMNS = ["data", "kind", "documents|d", "tokens|d"]
COLUMNS += ["check, s|.1f", "estimate, s|.1f", "took, s|.1f", "ratio|.2f"]
COLUMNS += ["estimate, MB|.0f", "took, MB|.0f", "ratio|.2f"]
COLUMNS += ["evaluations|d", "weights|d"]


def row_of(
    data: Path, folder: Path, max_train: int | None, config: Path | None = None
) -> list[Any]:
    """Returns a row of the table, with a config or with the one that `check` names;
    files are kept in a folder."""
    train = harness.draw(harness.read_lines(data / "train.jsonl"), max_train)
    other = data / "dev.jsonl"
    other = other if other.exists() else data / "test.jsonl"
    dev = harness.read_lines(other)
    splits = training.make_splits(folder, "en", train, dev, dev)
    command = [sys.executable, "-m", "spacy", "hosemi"]
    check = [*command, "check", str(splits.train), "--dev", str(splits.dev), "--json"]
    check += ["--config", str(config)] if config else []
    checking = measured(check, accepted=(0, 1))  # 1: the data have faults
    found = json.loads(checking.output[checking.output.index("{\n") :])
    kind = found["config"]["kind"] if config is None else config.stem
    config = config or training.write_init(folder / "config.cfg", kind)
    _, usage, _ = training.train(config, splits, [])
    cost = found["cost"]
    seconds, memory = cost["seconds"]["about"], cost["megabytes"]["about"]
    row = [data.resolve().name, kind, splits.n_docs["train"], splits.n_tokens["train"]]
    row += [checking.cpu_s, seconds, usage.cpu_s, seconds / usage.cpu_s]
    row += [memory, usage.peak_mb, memory / usage.peak_mb]
    return [*row, cost["n_evaluations"], cost["n_weights"]]


def measure(args: argparse.Namespace, folder: Path) -> None:
    rows = []
    for data in args.datasets:
        rows.append(row_of(data, folder / data.resolve().name, args.max_train))
        print(*rows[-1], file=sys.stderr, flush=True)
    harness.report(args, "Estimates", harness.table(COLUMNS, rows), rows=rows)


main = script(__doc__, measure, "datasets --max-train --json")

if __name__ == "__main__":
    sys.exit(main())
