"""MessagePack, in which models are saved.

srsly turns garbage collection off while it reads, and leaves it off where it fails: a
service that is given something else again and again would keep all its garbage.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import srsly


@contextmanager
def collecting() -> Iterator[None]:
    """Leaves garbage collection on or off, as it was before."""
    is_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if is_on else gc.disable)()


def read_msgpack(data: bytes) -> Any:
    """Returns values, maybe arrays; raises any exception for other bytes."""
    with collecting():
        return srsly.msgpack_loads(data)
