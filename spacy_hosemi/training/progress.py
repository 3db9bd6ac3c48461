"""Bars for what takes long."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

# Seconds before there is a bar: most training data are read in less.
DELAY = 2.0


def bar_of(total: int | None, what: str, unit: str, is_shown: bool) -> Any:
    """Returns a bar for the steps of a fit, on a terminal only and if it `is_shown`; it
    counts nothing elsewhere."""
    disable = None if is_shown else True
    return tqdm(total=total, desc=what, unit=unit, disable=disable)


def watched(items: Collection[Item], what: str, unit: str = " docs") -> Iterable[Item]:
    """Passes over documents, with a bar on a terminal if it takes long."""
    # disable=None: on a terminal only.
    return tqdm(items, desc=what, unit=unit, leave=False, delay=DELAY, disable=None)
