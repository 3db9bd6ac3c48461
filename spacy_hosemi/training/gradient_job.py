"""Sums over the documents of a corpus as a job of Apache Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import Errors
from ..model.weights.state import Floats, Ints, WeightState, of_rows
from .encoded_docs import EncodedDocs, ShardSum, ShardSums

# The weights that a job reads: those of features, patterns and lengths.
_Weights = tuple[Floats, Floats, Floats]


@contextmanager
def gradient_job(
    docs: EncodedDocs, state: WeightState, n_partitions: int
) -> Iterator[ShardSums]:
    """Documents in Spark's workers, as long as it lasts.

    docs (EncodedDocs): The documents.
    state (WeightState): Their features.
    n_partitions (int): Tasks of a job; there are not more than shards.
    YIELDS (Callable): Runs a job.
    RAISES (ImportError): HS338 no pyspark.
    """
    try:
        from pyspark import StorageLevel
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError(Errors.HS338) from error
    context: Any = SparkSession.builder.getOrCreate().sparkContext
    n_shards = docs.n_shards
    n_partitions = min(n_partitions, n_shards)
    packed = [(k, _pack(docs, state, k)) for k in range(n_shards)]
    # Each task of an RDD that is made of a list takes its part of the list along, every
    # time. After a shuffle the parts are where the tasks are.
    sent = context.parallelize(packed, n_shards)
    del packed
    placed = sent.partitionBy(n_partitions, partial(_partition, n_shards, n_partitions))
    stored = placed.persist(StorageLevel.MEMORY_AND_DISK)

    def sums(state: WeightState) -> Iterator[ShardSum]:
        weights = context.broadcast((state.matrix, state.pattern, state.length))
        try:
            found = stored.map(partial(_sum_of, weights)).collect()
        finally:
            weights.destroy()
        for _, of_shard in sorted(found, key=lambda pair: pair[0]):
            if isinstance(of_shard, ValueError):
                raise of_shard
            yield of_shard

    try:
        yield sums
    finally:
        stored.unpersist()


def _partition(n_shards: int, n_partitions: int, k: int) -> int:
    """RETURNS (int): Of a shard: neighbours are together."""
    return k * n_partitions // n_shards


def _pack(docs: EncodedDocs, state: WeightState, k: int) -> bytes:
    """RETURNS (bytes): A shard, where its weights are, and what is known of them."""
    rows = docs.rows_of_shard(k)
    own = of_rows(state, rows)
    own = replace(own, of_features=np.zeros((0, state.matrix.shape[1])))
    return pickle.dumps((docs.shard(k), state.matrix_rows(rows), own), protocol=5)


def _sum_of(weights: Any, packed: tuple[int, bytes]) -> tuple[int, Any]:
    """RETURNS (Tuple[int, Union[ShardSum, ValueError]]): The number of a shard, and its
    sum; or what is wrong, which is not Spark's business."""
    k, data = packed
    found: tuple[EncodedDocs, Ints, WeightState] = pickle.loads(data)
    docs, at, state = found
    of_all: _Weights = weights.value
    matrix, pattern, length = of_all
    state = replace(state, of_features=matrix[at], pattern=pattern, length=length)
    try:
        return k, docs.sum(state)
    except ValueError as error:
        return k, error
