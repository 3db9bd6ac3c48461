"""Rows a second in Apache Spark on two cores, beside other ways to do the same.

    python benchmarks/spark.py DATA ... --edsnlp PYTHON

The pipeline has the component alone, with the settings that `hosemi init` writes, and
the field tokenizer, trained on each DATA. Rows are its documents in turn, with three of
ten words replaced by words that have never been there. Ways, each in a process of its
own:

- hosemi: `spacy_hosemi.spark.extract`, with confidences;
- arrow: `mapInArrow` with `nlp.pipe`, without;
- rdd: `rdd.mapPartitions` with `nlp.pipe`, without;
- processes: two processes with `nlp.pipe`, without, and without Spark;
- edsnlp: the Spark backend of EDS-NLP with the same pipeline, without confidences. It
  changes spaCy where it is installed, so it needs an environment of its own: PYTHON is
  the interpreter of one with edsnlp, pyspark, pyarrow, psutil, and spaCy as here.

Printed are rows a second of the first job and of later ones (the median: models are
loaded, words are new in the first job only), CPU s for 1,000 rows in later jobs, with
all of Spark's; and the peak memory of a worker of `hosemi` with one partition of --rows
rows, and with one of ten times as many.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import harness
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import number, script, some_of
from soak import stream, train

WAYS = "hosemi", "arrow", "rdd", "processes", "edsnlp"
WORKER = harness.ROOT / "benchmarks" / "spark_worker.py"


def write_rows(data: Path, path: Path, n: int) -> None:
    """Write n rows to a file of Parquet, with the columns id and text."""
    marked = harness.read_marked(data / "train.jsonl")
    texts = [*stream([text for text, _ in marked], n, 0)]
    ids = [f"{k}" for k in range(len(texts))]
    pq.write_table(pa.table({"id": ids, "text": texts}), path)


def timed(python: str, way: str, *args: Any) -> dict[str, Any]:
    """Returns what `spark_worker.py` prints."""
    paths = filter(None, [str(harness.ROOT), os.environ.get("PYTHONPATH")])
    env = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": os.pathsep.join(paths)}
    command = [python, str(WORKER), way, *map(str, args)]
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{way}: {done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def speeds(jobs: Sequence[Sequence[float]], n: int) -> list[float]:
    """Returns rows a second of the first job, of later ones, CPU s."""
    warm = jobs[1:] or jobs
    seconds, cpu = (median(column) for column in zip(*warm))
    return [n / jobs[0][0], n / seconds, 1000 * cpu / n]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Time all ways on all data."""
    rows, memory, ways = [], [], [x for x in args.ways if x != "edsnlp" or args.edsnlp]
    for data in args.datasets:
        own = folder / data.name
        own.mkdir()
        model = train(data, own, args.max_iter, lists=False)
        table, n = own / "rows.parquet", args.rows
        write_rows(data, table, n)
        found: dict[str, list[Any]] = {}
        for k in range(args.rounds):  # they take turns: the machine may be busy
            for way in ways[k:] + ways[:k]:
                python = args.edsnlp if way == "edsnlp" else sys.executable
                jobs = timed(python, way, model, table, args.jobs, 2)["jobs"]
                found.setdefault(way, []).append(jobs)
                print(way, jobs, flush=True)
        for way in ways:
            firsts = [jobs[0] for jobs in found[way]]
            later = [job for jobs in found[way] for job in jobs[1:]]
            rows.append([data.name, way, *speeds([firsts[0], *(later or firsts)], n)])
        if "hosemi" in ways:
            write_rows(data, own / "tenth.parquet", n // 10)
            small = timed(sys.executable, "hosemi", model, own / "tenth.parquet", 1, 1)
            large = timed(sys.executable, "hosemi", model, table, 1, 1)
            memory.append([data.name, small["mb"], large["mb"]])
    columns = ["data", "way", "rows/s, first job|,.0f", "later|,.0f", "CPU s/1,000|.2f"]
    sizes = [f"MB, {n // 10:,} rows|,.0f", f"{n:,} rows|,.0f"]
    tables = [harness.table(columns, rows), harness.table(["data", *sizes], memory)]
    text = f"{args.rows:,} rows in 2 partitions; {args.rounds} x {args.jobs} jobs."
    path = args.output / "spark.md"
    harness.report(args, "Spark", text, *tables, path=path, rows=rows, memory=memory)


OPTIONS = {
    "--edsnlp": dict(metavar="PYTHON", help="an interpreter that has EDS-NLP"),
    "--rows": number(40_000),
    "--jobs": number(4, "in a process"),
    "--rounds": number(2, "of all ways"),
    "--ways": some_of(WAYS),
}
SHARED = "datasets --max-iter --output --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_iter=100)

if __name__ == "__main__":
    main()
