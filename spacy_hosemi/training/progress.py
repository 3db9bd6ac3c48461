"""Bars for what takes long."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

# Seconds before there is a bar: most training data are read in less.
DELAY = 2.0


def bar_of(total: int | None, what: str, unit: str, is_shown: bool) -> Any:
    """A bar for the steps of a fit, on a terminal only.

    total (Optional[int]): The steps; None: nobody knows how many there will be.
    what (str), unit (str): What is done, and what is counted.
    is_shown (bool): False: there is none anywhere.
    RETURNS (tqdm): A context manager. It counts nothing where it is not shown.
    """
    disable = None if is_shown else True
    return tqdm(total=total, desc=what, unit=unit, disable=disable)


def watched(documents: Collection[Item], what: str) -> Iterable[Item]:
    """A pass over training documents, with a bar on a terminal if it takes long.

    documents (Collection): Training documents, or the like.
    what (str): What is done with them.
    RETURNS (Iterable): The same.
    """
    # disable=None: on a terminal only.
    return tqdm(
        documents, desc=what, unit=" docs", leave=False, delay=DELAY, disable=None
    )
