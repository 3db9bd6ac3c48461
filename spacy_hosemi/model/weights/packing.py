"""How weights are stored: in single precision, a bit for each 0, names compressed.

A model is mostly weights. Half of their digits say nothing about a prediction, and
after L1 training or pruning most of them are 0.

What is stored may come from a stranger: sizes are compared with what is there before
anything of that size is made.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors

# An array has at most _MOST_VALUES values plus _VALUES_A_BYTE for each stored byte:
# untrained weights of 500 labels have 30 a byte.
_MOST_VALUES, _VALUES_A_BYTE = 2**24, 256

# Names have at most _MOST_BYTES bytes plus _BYTES_A_BYTE for each stored byte: names of
# real features have 5 to 10.
_MOST_BYTES, _BYTES_A_BYTE = 2**26, 200

# Bytes of bits that are inflated at a time.
_PORTION = 2**20


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


def shape_of(packed: Any) -> tuple[int, ...]:
    """Returns the shape of an array that `pack_floats` packed. Raises ValueError,
    KeyError or TypeError if something else was given."""
    shape = packed["shape"]
    if len(shape) > 2 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"a shape is {shape}")
    return tuple(shape)


def unpack_floats(packed: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """Inverts `pack_floats`: returns a new array, whose zeros take no memory until they
    are written. Raises ValueError, KeyError, TypeError or zlib.error if something else
    was given."""
    shape = shape_of(packed)
    bits, stored, size = packed["is_stored"], packed["values"], prod(shape)
    if not isinstance(bits, bytes) or not isinstance(stored, np.ndarray):
        raise TypeError("no packed array")
    if stored.dtype != np.float32 or stored.ndim != 1:
        raise ValueError(f"weights are of the type {stored.dtype}, {stored.shape}")
    if size > _MOST_VALUES + _VALUES_A_BYTE * (len(bits) + stored.nbytes):
        raise ValueError(f"{size} weights in {len(bits) + stored.nbytes} bytes")
    values, at, taken = np.zeros(size, dtype), 0, 0
    for portion in _inflated(bits, (size + 7) // 8):
        is_stored = np.unpackbits(np.frombuffer(portion, np.uint8)).view(bool)
        here = values[at : at + len(is_stored)]
        n_stored = int(np.count_nonzero(is_stored[: len(here)]))
        here[is_stored[: len(here)]] = stored[taken : taken + n_stored]
        at, taken = at + len(is_stored), taken + n_stored
    if at != (size + 7) // 8 * 8 or taken != len(stored):
        raise ValueError(f"{taken} of {len(stored)} weights, {at} of {size} bits")
    return values.reshape(shape)


def _inflated(data: bytes, size: int) -> Iterator[bytes]:
    """YIELDS (bytes): Portions of what `zlib.compress` compressed; of what is larger
    than expected no more than one portion too many. RAISES (zlib.error): It did not."""
    stream, left = zlib.decompressobj(), size
    for start in range(0, len(data), _PORTION):
        given = data[start : start + _PORTION]
        while given and left >= 0 and not stream.eof:
            portion = stream.decompress(given, _PORTION)
            given, left = stream.unconsumed_tail, left - len(portion)
            yield portion
    if left >= 0 and not stream.eof:
        raise zlib.error("incomplete or truncated stream")


def inflate(data: Any, size: int | None = None) -> bytes:
    """Decompress what `zlib.compress` compressed.

    data (bytes): Compressed.
    size (Optional[int]): How many bytes there are to be; None: at most 200 times as
        many as are stored, and 64 MB.
    RETURNS (bytes): Decompressed.
    RAISES (ValueError, TypeError, zlib.error): There are more, or it was not.
    """
    if not isinstance(data, bytes):
        raise TypeError("expected bytes")
    most = _MOST_BYTES + _BYTES_A_BYTE * len(data) if size is None else size
    stream = zlib.decompressobj()
    found = stream.decompress(data, most + 1)
    if len(found) > most or (size is not None and len(found) != size):
        raise ValueError(f"{len(data)} bytes are not {most} when decompressed")
    if not stream.eof:
        raise zlib.error("incomplete or truncated stream")
    return found


def check_finite(name: str, values: NDArray[Any], *, may_forbid: bool = False) -> None:
    """RAISES (ValueError): HS313 a number is not finite.

    name (str): What the values are.
    may_forbid (bool): Whether -inf, which forbids, may be among them.
    """
    if not values.size:
        return
    # The least and the largest are NaN if one is: faster than looking at each.
    least, most = float(values.min()), float(values.max())
    if not (most < inf and (least > -inf or (may_forbid and least == -inf))):
        found = most if least > -inf or may_forbid else least
        raise ValueError(Errors.HS313.format(name=name, found=found))


def check_format(found: Any, expected: int) -> None:
    """Raises ValueError: HS062 if a saved file names no format, HS063 if it has another
    format than this version reads."""
    if type(found) is not int:
        raise truncated(f"format is {found!r}")
    if found != expected:
        raise ValueError(Errors.HS063.format(found=found, expected=expected))


def truncated(found: str) -> ValueError:
    """RETURNS (ValueError): HS062."""
    return ValueError(Errors.HS062.format(found=found[:200]))


def pack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """RETURNS (uint): The numbers, from 0 up, in the smallest type that holds them."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


def pack_names(names: Sequence[str]) -> bytes:
    """RETURNS (bytes): Names, none of which has a line end, for `unpack_names`."""
    return zlib.compress("\n".join(names).encode("utf8", "surrogatepass"))


def unpack_names(packed: bytes) -> list[str]:
    """Inverts `pack_names`."""
    names = inflate(packed).decode("utf8", "surrogatepass")
    return names.split("\n") if names else []
