"""MessagePack, in which models are saved.

Of columns of numbers, arrays [N], all first bytes are stored together, all second bytes
.., compressed where that pays; where most numbers are larger than those before them, of
the differences: 100,000 hashes take 6 bytes each. Older models have plain arrays.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray

# What is inflated has at most _MOST_BYTES plus _BYTES_A_BYTE for each stored byte, as
# have all columns of a file: names of real features have 5 to 10.
_MOST_BYTES, _BYTES_A_BYTE = 2**26, 200

# The key of the bytes of a column, which no dict of anybody else has.
_PLANES = b"planes"


@contextmanager
def collecting() -> Iterator[None]:
    """Leaves garbage collection on or off, as it was before: srsly turns it off while
    it reads, and where it fails a service would keep all garbage from then on."""
    is_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if is_on else gc.disable)()


def write_msgpack(data: Any) -> bytes:
    """Returns bytes for `read_msgpack`."""
    return bytes(srsly.msgpack_dumps(_mapped(_packed, data)))


def read_msgpack(data: bytes, most: int | None = None) -> Any:
    """Returns values, maybe arrays; raises any exception for other bytes. most: how
    many bytes all columns may have; None: as many as are inflated."""
    most = _MOST_BYTES + _BYTES_A_BYTE * len(data) if most is None else most
    with collecting():
        unpack = partial(_unpacked, [most])
        return _mapped(unpack, srsly.msgpack_loads(data))


def inflate(data: Any, size: int | None = None) -> bytes:
    """Returns what `zlib.compress` compressed: `size` bytes, or at most 64 MB and 200
    times as many as are stored."""
    if not isinstance(data, bytes):
        raise TypeError("expected bytes")
    most = _MOST_BYTES + _BYTES_A_BYTE * len(data) if size is None else size
    stream = zlib.decompressobj()
    inflated = stream.decompress(data, most + 1)
    if len(inflated) > most or (size is not None and len(inflated) != size):
        raise ValueError(f"{len(data)} bytes are not {most} when decompressed")
    if not stream.eof:
        raise zlib.error("incomplete or truncated stream")
    return inflated


def _mapped(function: Callable[[Any], Any], data: Any) -> Any:
    """Returns data with all arrays replaced by what a function returns."""
    if isinstance(data, dict) and _PLANES not in data:
        return {key: _mapped(function, value) for key, value in data.items()}
    if isinstance(data, list):
        return [_mapped(function, value) for value in data]
    return function(data) if isinstance(data, (dict, np.ndarray)) else data


def _packed(column: NDArray[Any]) -> Any:
    if column.ndim != 1 or column.dtype.kind not in "uif":
        return column
    numbers = column.astype(column.dtype.newbyteorder("<"))
    n_ascents = np.count_nonzero(numbers[1:] > numbers[:-1])
    is_ascending = column.dtype.kind != "f" and bool(n_ascents > 0.9 * numbers.size)
    if is_ascending:  # what is too large for the type comes back when it is added
        numbers[1:] -= numbers[:-1].copy()
    planes = []
    for k in range(numbers.itemsize):
        plane = numbers.view(np.uint8)[k :: numbers.itemsize].tobytes()
        packed = zlib.compress(plane) if any(plane) else b""
        planes.append(packed if len(packed) < 0.95 * numbers.size else plane)
    dtype = numbers.dtype.str
    return {_PLANES: planes, "type": dtype, "size": numbers.size, "adds": is_ascending}


def _unpacked(n_left: list[int], stored: Any) -> Any:
    """Returns a column; n_left: how many bytes the columns of a file may still take."""
    if isinstance(stored, np.ndarray):
        return stored
    dtype, size, planes = np.dtype(stored["type"]), stored["size"], stored[_PLANES]
    n_left[0] -= size * dtype.itemsize
    is_sound = dtype.kind in "uif" and len(planes) == dtype.itemsize
    if type(size) is not int or not is_sound or n_left[0] < 0:
        raise ValueError(f"{size} numbers of the type {dtype}, {len(planes)} planes")
    numbers = np.zeros(size, dtype)
    for k, plane in enumerate(planes):
        if plane:
            plane = plane if len(plane) == size else inflate(plane, size)
            numbers.view(np.uint8)[k :: dtype.itemsize] = np.frombuffer(plane, "u1")
    if stored["adds"]:
        np.cumsum(numbers, dtype=dtype, out=numbers)
    return numbers.astype(dtype.newbyteorder("="), copy=False)
