"""Work in steps: a generator that gives away jobs and in the end has a result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from .tasks import Job

Result = TypeVar("Result")

# Yields what does not need the GIL, and goes on when that is done.
Steps = Generator[Job, None, Result]


def finish(steps: Steps[Result]) -> Result:
    """RETURNS (Any): The result of steps, all of whose jobs are done by this thread."""
    try:
        while True:
            next(steps).do()
    except StopIteration as e:
        result: Result = e.value
        return result
