"""Work on batches by several threads, whose results come in order.

One thread does all that needs the GIL, in steps: where one batch has given away a job,
it goes on with another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Generic, TypeVar

from .coroutines import Steps, finish
from .tasks import Helpers, Job

Batch = TypeVar("Batch")
Result = TypeVar("Result")

# So many batches are in work for each thread: enough for none to wait.
N_OPEN = 4


def in_order(
    stream: Iterable[Batch],
    work: Callable[[Batch], Steps[Result]],
    n_threads: int,
) -> Iterator[tuple[Batch, Callable[[], Result]]]:
    """Batches, and how to get the result of each.

    stream (Iterable[Batch]): Read a little ahead, if there are several threads.
    work (Callable): Makes the result of a batch.
    n_threads (int): 1: nothing is done before the result is asked for.
    YIELDS (Tuple[Batch, Callable[[], Result]]): In the order of the stream; the
        function raises what was raised in the work.
    """
    if n_threads == 1:
        for batch in stream:
            yield batch, partial(_finished, work, batch)
        return
    in_work: deque[_InWork[Batch, Result]] = deque()

    def finish_first() -> _InWork[Batch, Result]:
        # Others go on meanwhile: no helper can make their steps, and without a step
        # there is no job for them.
        while not in_work[0].is_over:
            if not sum([one.go_on() for one in in_work]):
                in_work[0].wait()
        return in_work.popleft()

    with Helpers(n_threads - 1) as helpers:
        for batch in stream:
            in_work.append(_InWork(batch, work(batch), helpers))
            for one in in_work:
                one.go_on()
            if len(in_work) > N_OPEN * n_threads:
                first = finish_first()
                yield first.batch, first.result
        while in_work:
            first = finish_first()
            yield first.batch, first.result


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

    @property
    def is_over(self) -> bool:
        """Whether all steps have been made."""
        return self._job is None

    def result(self) -> Result:
        """RETURNS (Any): The result of all steps, or raises what one of them raised;
        they have been made."""
        if self._error is not None:
            raise self._error
        return self._found

    def go_on(self) -> bool:
        """Make the step that nothing stands in the way of. RETURNS (bool): Whether
        there was one."""
        if self._job is None or not self._helpers.forget_if_done(self._job):
            return False
        self._step()
        return True

    def wait(self) -> None:
        """Make the next step as soon as its job is done; do jobs meanwhile."""
        assert self._job is not None
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
