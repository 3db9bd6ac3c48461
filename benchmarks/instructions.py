"""How many instructions a document takes, and in which library: they do not differ from
one second to the next, as times do on a machine that has other users.

    python benchmarks/instructions.py DATA --models MODEL --ways doc-pipe text-call

A pipeline runs under callgrind (Debian: apt install valgrind). Figures are those of a
process that predicts the first --max-docs documents of test after --warm of train, once
or twice, less those of one that predicts these of train alone. Ways, "first sight" and
"again" are as in `throughput.py`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections import Counter
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import harness
import predictors
import training
from arguments import number, script, some_of
from processes import in_process
from spacy.training import Corpus
from spacy.util import load_model

# Of callgrind's file: the number of a library and, the first time, its path.
LIBRARY = re.compile(r"(c?)ob=(\(\d+\))(?: (?:.*/)?([^/.]*).*)?\n")
N_LEAST = 1000  # instructions a document, of a library that is shown


def predict(model: str, way: str, n_times: int, warm: Any, docs: Any) -> None:
    """What a process does: predict documents n times, after others."""
    system = predictors.pipeline(Path(model))
    inputs = [system.inputs(way, x) for x in (warm, docs, docs)]
    for given in inputs[: 1 + n_times]:
        system.run(way, given)


def count(folder: Path, *args: Any) -> Counter[str]:
    """Returns the instructions of a process that predicts, by library."""
    out = folder / "callgrind"
    valgrind = "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"
    in_process(predict, *args, under=valgrind)
    found: Counter[str] = Counter()
    names: dict[str, str] = {}
    library, is_own = "", True
    with out.open(encoding="utf-8") as lines:
        for line in lines:
            if parts := LIBRARY.fullmatch(line):
                name = names.setdefault(parts[2], parts[3] or "others")
                library = library if parts[1] else name
            elif line[0] in "+-*0123456789":
                found[library] += is_own * int(line.split()[1])
            # What follows are the instructions of the function that is called.
            is_own = not line.startswith("calls=")
    return found


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Count all ways of all models."""
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed (Debian: apt install valgrind)")
    os.environ["PYTHONHASHSEED"] = "0"
    columns = ["library", "first sight|,.0f", "again|,.0f"]
    for model in args.models:
        splits = training.read_splits(args, folder / model.name, model / "config.cfg")
        warm, docs = (
            [predictors.given(x.predicted) for x in Corpus(path)(load_model(model))]
            for path in (splits.train, splits.test)
        )
        for way in args.ways:
            counts = [
                count(folder, model, way, n_times, warm[: args.warm], docs)
                for n_times in range(3)
            ]
            added = [
                {x: (b[x] - a[x]) / len(docs) for x in counts[2]}
                for a, b in pairwise(counts)
            ]
            rows = [[x, *(by_name[x] for by_name in added)] for x in counts[2]]
            rows = sorted((x for x in rows if max(x[1:]) >= N_LEAST), key=itemgetter(1))
            rows.append(["all", *(sum(x.values()) for x in added)])
            harness.report(
                args,
                f"{model.name}, {way}: instructions a document, of {len(docs)}",
                harness.table(columns, rows[::-1]),
                rows=rows[::-1],
            )


OPTIONS = {"--ways": some_of(predictors.WAYS), "--warm": number(120)}
main = script(__doc__, measure, "data --models --max-docs --json", OPTIONS)

if __name__ == "__main__":
    main()
