"""Threads that share work whose parts are all there at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .tasks import Task, Workers


class Team:
    """Does tasks in any order on the calling thread and the workers."""

    def __init__(self, n: int = 1, workers: Workers | None = None) -> None:
        self.n, self._workers = n, workers

    def run(self, tasks: Sequence[Task]) -> None:
        """Return when all tasks are done."""
        if self._workers is None:
            for task in tasks:
                task.do()
            return
        for task in tasks[1:]:
            self._workers.add(task)
        tasks[0].do()
        for task in tasks[1:]:
            self._workers.finish(task)


ALONE = Team()


@contextmanager
def team_of(n: int) -> Iterator[Team]:
    """YIELDS (Team): Of n threads, which end with the `with` statement."""
    if n == 1:
        yield ALONE
        return
    with Workers(n - 1) as workers:
        yield Team(n, workers)
