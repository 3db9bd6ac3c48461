"""Work on batches by several threads, whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_order(
    stream: Iterable[Batch],
    work: Callable[[Batch], Result],
    n_threads: int,
    prepare: Callable[[Batch, Callable[[], object]], object],
) -> Iterator[tuple[Batch, Callable[[], Result]]]:
    """Batches, and how to get the result of each, which may be in work already.

    stream (Iterable[Batch]): Read a little ahead, if there are several threads.
    work (Callable): Makes the result of a batch.
    n_threads (int): 1: nothing is done before the result is asked for.
    prepare (Callable): With several threads, called with each batch before it is
        handed over, and with a function that returns when nothing is in work.
    YIELDS (Tuple[Batch, Callable[[], Result]]): In the order of the stream.
    """
    if n_threads == 1:
        yield from ((batch, partial(work, batch)) for batch in stream)
        return
    in_work: deque[tuple[Batch, Future[Result]]] = deque()

    def finish() -> None:
        wait([result for _, result in in_work])

    with ThreadPoolExecutor(n_threads) as pool:
        for batch in stream:
            try:
                prepare(batch, finish)
            except Exception as e:  # it is the result, as if there were one thread
                future: Future[Result] = Future()
                future.set_exception(e)
            else:
                # The device for arrays is part of the context.
                future = pool.submit(copy_context().run, work, batch)
            in_work.append((batch, future))
            if len(in_work) > 2 * n_threads:
                first, found = in_work.popleft()
                yield first, found.result
        yield from ((batch, found.result) for batch, found in in_work)
