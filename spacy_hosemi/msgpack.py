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
    """Garbage collection is afterwards on or off, as it was before."""
    is_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if is_on else gc.disable)()


def read_msgpack(data: bytes) -> Any:
    """RETURNS (Any): What the bytes say, arrays included.

    RAISES (Exception): Any, if they say something else.
    """
    with collecting():
        return srsly.msgpack_loads(data)
