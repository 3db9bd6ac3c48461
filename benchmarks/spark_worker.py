"""One way to apply a pipeline to a table of texts on two cores, timed: `spark.py` runs
it, in the environment of that way.

    python benchmarks/spark_worker.py WAY MODEL TABLE JOBS PARTITIONS

TABLE is a file of Parquet with the columns id and text. Printed is one line of JSON: of
each job the seconds, and the CPU seconds of all processes; the largest resident memory
of a worker, in MB.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import spacy

Row = tuple[str, list[tuple[int, int, str, str]]]

SCHEMA = "id string, spans array<struct<i:int,j:int,label:string,text:string>>"
N_CORES = 2

# The pipeline of a process.
_loaded: dict[str, Any] = {}


def load(model: str) -> Any:
    """Returns the pipeline, which a process loads once."""
    if model not in _loaded:
        _loaded[model] = spacy.load(model)
    return _loaded[model]


def spans_of(doc: Any) -> list[tuple[int, int, str, str]]:
    """Returns what is kept of a document."""
    return [(x.start_char, x.end_char, x.label_, x.text) for x in doc.ents]


def read(model: str, ids: list[str], texts: list[str]) -> list[Row]:
    """Returns what `nlp.pipe` finds."""
    docs = load(model).pipe(texts)
    return [(key, spans_of(doc)) for key, doc in zip(ids, docs)]


def session() -> Any:
    """Returns a session on two cores of this machine."""
    from pyspark.sql import SparkSession

    own = {"ui.enabled": "false", "ui.showConsoleProgress": "false"}
    own |= {"driver.bindAddress": "127.0.0.1", "driver.host": "127.0.0.1"}
    builder = SparkSession.builder.master(f"local[{N_CORES}]")
    for name, value in own.items():
        builder = builder.config(f"spark.{name}", value)
    return builder.getOrCreate()


def run_all(found: Any) -> None:
    """Compute all rows of a DataFrame, and leave them."""
    found.write.format("noop").mode("overwrite").save()


def hosemi(model: str, df: Any) -> Callable[[], Any]:
    """`spacy_hosemi.spark.extract`."""
    from spacy_hosemi.spark import extract

    return lambda: run_all(extract(df, model, id_col="id"))


def arrow(model: str, df: Any) -> Callable[[], Any]:
    """`mapInArrow` with `nlp.pipe`."""

    def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            ids, texts = (batch.column(x).to_pylist() for x in ("id", "text"))
            span = [("i", pa.int32()), ("j", pa.int32())]
            span += [("label", pa.string()), ("text", pa.string())]
            fields = [("id", pa.string()), ("spans", pa.list_(pa.struct(span)))]
            names = [name for name, _ in span]
            rows = [
                {"id": key, "spans": [dict(zip(names, x)) for x in spans]}
                for key, spans in read(model, ids, texts)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))

    return lambda: run_all(df.mapInArrow(batches, SCHEMA))


def rdd(model: str, df: Any) -> Callable[[], Any]:
    """`rdd.mapPartitions` with `nlp.pipe`."""

    def rows(given: Iterator[Any]) -> Iterator[Row]:
        found = [(row.id, row.text) for row in given]
        yield from read(model, *(list(x) for x in zip(*found)))

    return lambda: run_all(df.rdd.mapPartitions(rows).toDF(SCHEMA))


def edsnlp(model: str, df: Any) -> Callable[[], Any]:
    """The Spark backend of EDS-NLP, with the pipeline of spaCy."""
    import edsnlp as library
    import pyspark.sql.types as types

    nlp = load(model)
    integer, string = types.IntegerType(), types.StringType()
    names = {"id": string, "i": integer, "j": integer, "label": string, "text": string}
    fields = types.StructType([types.StructField(*pair) for pair in names.items()])

    def make(row: dict[str, Any]) -> Any:
        doc = nlp.make_doc(row["text"])
        doc.user_data["id"] = row["id"]
        return doc

    def spans(doc: Any) -> list[dict[str, Any]]:
        key = doc.user_data["id"]
        return [dict(zip(names, (key, *one))) for one in spans_of(doc)]

    stream = library.data.from_spark(df, converter=make).map_pipeline(nlp)
    stream = stream.set_processing(backend="spark")
    return lambda: run_all(stream.to_spark(converter=spans, dtypes=fields))


def processes(model: str, table: str) -> Callable[[], Any]:
    """Two processes with `nlp.pipe`, which have the texts."""
    pool = multiprocessing.get_context("spawn").Pool(N_CORES)

    def run() -> None:
        pool.starmap(read_half, [(model, table, k) for k in range(N_CORES)], 1)

    return run


def read_half(model: str, table: str, k: int) -> int:
    """Returns spans in a part of the texts."""
    found = pq.read_table(table)
    n = -(-len(found) // N_CORES)
    part = found.slice(k * n, n)
    ids, texts = (part.column(x).to_pylist() for x in ("id", "text"))
    return sum(len(spans) for _, spans in read(model, ids, texts))


WAYS: dict[str, Callable[..., Any]]
WAYS = {"hosemi": hosemi, "arrow": arrow, "rdd": rdd, "edsnlp": edsnlp}


class Watched:
    """CPU and memory of the processes below this one, looked at all the time."""

    def __init__(self) -> None:
        self.mb = 0.0
        self._cpu: dict[int, float] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def cpu(self) -> float:
        """Returns CPU seconds so far, with those of this process."""
        self._look()
        return sum(self._cpu.values()) + time.process_time()

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(0.2)

    def _look(self) -> None:
        for one in psutil.Process().children(recursive=True):
            try:
                times = one.cpu_times()
                self._cpu[one.pid] = times.user + times.system
                if "python" in one.name():
                    self.mb = max(self.mb, one.memory_info().rss / 1e6)
            except psutil.Error:
                continue


def main(way: str, model: str, table: str, n_jobs: str, n_partitions: str) -> None:
    """Time some jobs."""
    watched, found = Watched(), []
    if way == "processes":
        job = processes(model, table)
    else:
        df = session().read.parquet(table).repartition(int(n_partitions)).cache()
        df.count()
        job = WAYS[way](model, df)
    for _ in range(int(n_jobs)):
        began, cpu = time.perf_counter(), watched.cpu()
        job()
        found.append((time.perf_counter() - began, watched.cpu() - cpu))
    print(json.dumps({"jobs": found, "mb": watched.mb}))


if __name__ == "__main__":
    main(*sys.argv[1:])
