"""Work in steps: a generator that yields tasks and in the end returns a result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from .tasks import Task

Result = TypeVar("Result")

# Yields each task that needs no GIL, and goes on when the task is done.
Steps = Generator[Task, None, Result]


def finish(steps: Steps[Result]) -> Result:
    """RETURNS (Any): The result of steps; this thread does all of their tasks."""
    try:
        while True:
            next(steps).do()
    except StopIteration as e:
        result: Result = e.value
        return result
