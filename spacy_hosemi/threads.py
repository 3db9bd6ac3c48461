"""Work on batches by several threads, whose results come in order.

One thread does all that needs the GIL, in steps: where one batch has given away a job,
it goes on with another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar

from .core.jobs import Helpers, Job
from .core.steps import Steps, finish

Batch = TypeVar("Batch")
Result = TypeVar("Result")

# So many batches are in work for each thread: enough for none to wait.
N_OPEN = 4


def in_order(
    stream: Iterable[Batch],
    work: Callable[[Batch], Steps[Result]],
    n_threads: int,
    prepare: Callable[[Batch, Callable[[], object]], object],
) -> Iterator[tuple[Batch, Callable[[], Result]]]:
    """Batches, and how to get the result of each, which may be in work already.

    stream (Iterable[Batch]): Read a little ahead, if there are several threads.
    work (Callable): Makes the result of a batch.
    n_threads (int): 1: nothing is done before the result is asked for.
    prepare (Callable): With several threads, called with each batch before work on it
        begins, and with a function that returns when nothing is in work.
    YIELDS (Tuple[Batch, Callable[[], Result]]): In the order of the stream.
    """
    if n_threads == 1:
        for batch in stream:
            yield batch, partial(_finished, work, batch)
        return
    in_work: deque[_InWork[Batch, Result]] = deque()

    def finish_all() -> None:
        for one in in_work:
            one.finish()

    def prepared(batch: Batch) -> Steps[Result]:
        prepare(batch, finish_all)
        return (yield from work(batch))

    with Helpers(n_threads - 1) as helpers:
        for batch in stream:
            in_work.append(_InWork(batch, prepared(batch), helpers))
            for one in in_work:
                one.go_on()
            if len(in_work) > N_OPEN * n_threads:
                first = in_work.popleft()
                yield first.batch, first.result
        for one in in_work:
            yield one.batch, one.result


def _finished(work: Callable[[Batch], Steps[Result]], batch: Batch) -> Result:
    return finish(work(batch))


class _InWork(Generic[Batch, Result]):
    """A batch, and the steps that have been made.

    batch (Any): The batch.
    steps (Steps): What is to be done.
    helpers (Helpers): Who does the jobs.
    """

    def __init__(self, batch: Batch, steps: Steps[Result], helpers: Helpers) -> None:
        self.batch = batch
        self._helpers = helpers
        self._steps = steps
        self._job: Job | None = None
        self._found: Result
        self._error: Exception | None = None
        self._step()

    def result(self) -> Result:
        """RETURNS (Any): The result of all steps, or raises what one of them raised."""
        self.finish()
        if self._error is not None:
            raise self._error
        return self._found

    def go_on(self) -> None:
        """Make the steps that nothing stands in the way of."""
        while self._job is not None and self._helpers.forget_if_done(self._job):
            self._step()

    def finish(self) -> None:
        """Make all steps."""
        while self._job is not None:
            self._helpers.finish(self._job)
            self._step()

    def _step(self) -> None:
        self._job = None
        try:
            self._job = next(self._steps)
        except StopIteration as e:
            self._found = e.value
        except Exception as e:  # for whoever asks for the result
            self._error = e
        else:
            self._helpers.add(self._job)
