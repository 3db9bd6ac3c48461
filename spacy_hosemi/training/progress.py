"""Bars for what takes long."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

# Seconds before there is a bar: most training data are read in less.
DELAY = 2.0


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
