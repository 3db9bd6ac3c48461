"""Batches that several threads work on at the same time, with results in order.

One thread does all that needs the GIL, in steps. While a task of one batch is under
way, that thread goes on with another batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar

from .coroutines import Steps, finish
from .tasks import Task, Workers

Batch = TypeVar("Batch")
Result = TypeVar("Result")

# Batches under way for each thread: with 4, no thread waits for a task.
N_OPEN = 4


def in_order(
    stream: Iterable[Batch], work: Callable[[Batch], Steps[Result]], n_threads: int
) -> Iterator[tuple[Batch, Callable[[], Result]]]:
    """Yields each batch and a function that returns its result, or raises what was
    raised in the work, in order; several threads read a little ahead, one does nothing
    before it is asked."""
    if n_threads == 1:
        for batch in stream:
            yield batch, partial(_finished, work, batch)
        return
    under_way: deque[_UnderWay[Batch, Result]] = deque()

    def finish_first() -> _UnderWay[Batch, Result]:
        # Advance the others meanwhile: without their steps the workers have no tasks.
        while not under_way[0].is_over:
            if not sum([one.advance() for one in under_way]):
                under_way[0].wait()
        return under_way.popleft()

    with Workers(n_threads - 1) as workers:
        for batch in stream:
            under_way.append(_UnderWay(batch, work(batch), workers))
            for one in under_way:
                one.advance()
            if len(under_way) > N_OPEN * n_threads:
                first = finish_first()
                yield first.batch, first.result
        while under_way:
            first = finish_first()
            yield first.batch, first.result


def _finished(work: Callable[[Batch], Steps[Result]], batch: Batch) -> Result:
    return finish(work(batch))


class _UnderWay(Generic[Batch, Result]):
    """A batch, and the steps of its work that have been made."""

    def __init__(self, batch: Batch, steps: Steps[Result], workers: Workers) -> None:
        self.batch = batch
        self._workers = workers
        self._steps = steps
        self._task: Task | None = None
        self._found: Result
        self._error: Exception | None = None
        self._step()

    @property
    def is_over(self) -> bool:
        return self._task is None

    def result(self) -> Result:
        """RETURNS (Any): The result of all steps, or raises what one of them raised."""
        if self._error is not None:
            raise self._error
        return self._found

    def advance(self) -> bool:
        """Make a step if the task is done. RETURNS (bool): Whether it was."""
        if self._task is None or not self._workers.forget_if_done(self._task):
            return False
        self._step()
        return True

    def wait(self) -> None:
        """Make a step as soon as the task is done; do other tasks meanwhile."""
        assert self._task is not None
        self._workers.finish(self._task)
        self._step()

    def _step(self) -> None:
        self._task = None
        try:
            self._task = next(self._steps)
        except StopIteration as e:
            self._found = e.value
        except Exception as e:  # raised again by `result`
            self._error = e
        else:
            self._workers.add(self._task)
