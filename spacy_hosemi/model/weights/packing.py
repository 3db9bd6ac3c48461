"""How weights are stored: in single precision, a bit for each 0, names compressed.

A model is mostly weights. Half of their digits say nothing about a prediction, and
after L1 training or pruning most of them are 0.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors


def to_single(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """RETURNS (float64): The values that a saved model will have."""
    return values.astype(np.float32).astype(np.float64)


def pack_floats(values: NDArray[Any]) -> dict[str, Any]:
    """An array as it is stored; -inf stays -inf.

    values (float64 or float32): Of any shape.
    RETURNS (Dict[str, Any]): For `unpack_floats`.
    """
    single = values.astype("<f4").ravel()
    is_stored = single != 0.0
    return {
        "shape": list(values.shape),
        "is_stored": zlib.compress(np.packbits(is_stored).tobytes()),
        "values": single[is_stored],
    }


def unpack_floats(packed: Any) -> NDArray[np.float64]:
    """Inverse of `pack_floats`; takes the plain arrays of older formats too.

    RETURNS (float64): A new array.
    RAISES (ValueError, KeyError, TypeError, zlib.error): Something else was given.
    """
    if isinstance(packed, np.ndarray):
        return np.array(packed, np.float64)
    bits = np.frombuffer(zlib.decompress(packed["is_stored"]), np.uint8)
    size = int(np.prod(packed["shape"], dtype=np.int64))
    if len(bits) != (size + 7) // 8:
        raise ValueError(f"{len(bits)} bytes of bits for {size} values")
    values = np.zeros(size)
    values[np.unpackbits(bits, count=size).astype(bool)] = packed["values"]
    return values.reshape(packed["shape"])


def truncated(found: str) -> ValueError:
    """RETURNS (ValueError): HS062."""
    return ValueError(Errors.HS062.format(found=found[:200]))


def pack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """RETURNS (uint): The numbers, from 0 up, in the smallest type that holds them."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


def pack_names(names: Sequence[str]) -> bytes:
    """RETURNS (bytes): Names, none of which has a line end, for `unpack_names`."""
    return zlib.compress("\n".join(names).encode("utf8", "surrogatepass"))


def unpack_names(packed: bytes | str) -> list[str]:
    """Inverse of `pack_names`; takes the plain text of older formats too."""
    if isinstance(packed, bytes):
        packed = zlib.decompress(packed).decode("utf8", "surrogatepass")
    return packed.split("\n") if packed else []
