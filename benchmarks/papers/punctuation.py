"""Table 3 of Nguyen et al. (2011): punctuation of movie dialogue.

    python benchmarks/papers/punctuation.py --data DATA [--quick] [--held-out]

Each word has the mark that follows it. Their code labels the first word of a clause by
its own mark, none as a rule, and by that which ends the clause, and a segment is a run
of one label: "does he eat" is NONE-QMARK, NONE, QMARK. Ours are measured on the same
files and labels.

- F1: micro-averaged over the words of test with a comma, period or question mark, in
  per cent.
- CPU s: of `nlp.initialize`, one thread.

With --held-out all are measured on a part of train, and test is not read.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import fitting

# isort: split
from arguments import flag
from harness import folds, table
from scores import f1
from spacy.tokens import Doc

NONE = "NONE"

# F1 of the paper, and of their code on these files.
THEIRS = {
    ("C", 1): ("65.10", "67.38"),
    ("C", 2): ("65.86", ""),
    ("C", 3): ("67.17", ""),
    ("SC", 1): ("66.73", "66.73"),
    ("SC", 2): ("70.06", "70.85"),
    ("SC", 3): ("69.66", ""),
}

# Chosen, as the features below, on three folds of train.
L2 = {"inside": 2.0, "start": 2.0, "end": 2.0, "within": 1.0}
L2 |= {"transition": 4.0, "pattern": 4.0, "length": 1.0}
FIT = {"l2": L2, "max_iter": 60, "tolerance": 1e-3}
PAIRS = [
    f"ORTH[{i}] & ORTH[{i + 1}]" if i + 1 else f"ORTH[{i}] & ORTH" for i in range(-2, 2)
]
INSIDE = ["ORTH[-4:4]", *PAIRS]
START = ["ORTH", "ORTH & ORTH[1]"]
END = ["ORTH", "ORTH[-1] & ORTH", "ORTH & ORTH[1]"]
WITHIN = ["BIAS", "ORTH", "ORTH[-1]", "ORTH[-1] & ORTH"]
TRANSITION = ["ORTH", "ORTH[-1]", "ORTH[-1] & ORTH", "ORTH[1]"]


def labels(marks: Sequence[str]) -> list[str]:
    """Labels of words, as their code makes them of marks."""
    found = [NONE if mark == "O" else mark for mark in marks]
    for i, mark in enumerate(marks):
        first = i
        while mark != "O" and first and found[first - 1] == NONE:
            first -= 1
        if mark != "O":
            found[first] += f"-{mark}"
    return found


def segments(record: fitting.Record) -> list[tuple[int, int, str]]:
    """Runs of one label."""
    found, end = [], 0
    for label, run in groupby(labels(record["punct"])):
        start, end = end, end + len(list(run))
        found.append((start, end, label))
    return found


def marks(doc: Doc) -> set[tuple[int, str]]:
    """Words with a mark behind them."""
    own = ((token.i, token.ent_type_.partition("-")[0]) for token in doc)
    return {(i, mark) for i, mark in own if mark and mark != NONE}


def model(kind: str, order: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the component and of its features."""
    settings = fitting.paper_settings(kind, order)
    features = {"preset": "none", "inside": INSIDE, "transition": TRANSITION}
    features |= {"min_count": 2}
    if kind == "SC":
        settings |= {"explicit_length": 12}
        features |= {"start": START, "end": END, "within": WITHIN}
        features |= {"transition_inside": ["ORTH"]}
    return settings, features


def measure(args: argparse.Namespace) -> list[str]:
    """Measure the table, on test or on a third of train."""
    folder = args.data / "punctuation"
    train = fitting.read_records(folder / "train.jsonl", args.quick)
    if args.held_out:
        train, test = next(folds(train, 3))
    else:
        test = fitting.read_records(folder / "test.jsonl", args.quick)
    docs, gold = fitting.make_docs(train, segments), fitting.make_docs(test, segments)
    rows = []
    for (kind, order), theirs in THEIRS.items():
        fit = fitting.by_lbfgs(docs, *model(kind, order), FIT, args.quick)
        found = f1(map(marks, map(fit.nlp, fitting.fresh(gold))), map(marks, gold))
        fitting.tell(
            f"punctuation {kind}{order}: F1 {found:.2f}, {fit.cpu_s:.1f} CPU s"
        )
        rows.append([f"{kind}{order}", found, *theirs, fit.cpu_s])
    columns = ["model", "F1|.2f", "paper", "their code", "CPU s|.1f"]
    return ["Nguyen et al. 2011, Table 3: punctuation", table(columns, rows)]


OPTIONS = {"--held-out": flag("test on a third of train")}
main = fitting.script(__doc__, measure, OPTIONS)

if __name__ == "__main__":
    main()
