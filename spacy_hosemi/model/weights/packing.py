"""How weights are stored: in single precision, a bit for each 0, names compressed.

A model is mostly weights. Half of their digits say nothing about a prediction, and
after L1 training or pruning most of them are 0.

What is stored may come from a stranger: sizes are compared with what is there before
anything of that size is made. Functions that read raise ValueError, KeyError, TypeError
or zlib.error if something else was stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from math import inf, prod
from typing import Any, overload

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
    """Returns the values that a saved model will have."""
    return values.astype(np.float32).astype(np.float64)


def pack_floats(values: NDArray[Any]) -> dict[str, Any]:
    """Returns an array, of any shape, as it is stored; -inf stays -inf."""
    single = values.astype("<f4").ravel()
    is_stored = single != 0.0
    return {
        "shape": list(values.shape),
        "is_stored": zlib.compress(np.packbits(is_stored).tobytes()),
        "values": single[is_stored],
    }


def shape_of(packed: Any) -> tuple[int, ...]:
    """Returns the shape of an array that `pack_floats` packed."""
    shape = packed["shape"]
    if len(shape) > 2 or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"a shape is {shape}")
    return tuple(shape)


def unpack_floats(packed: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """Inverts `pack_floats`: returns a new array, whose zeros take no memory until they
    are written."""
    shape = shape_of(packed)
    bits, stored, size = packed["is_stored"], packed["values"], prod(shape)
    if not isinstance(bits, bytes) or not isinstance(stored, np.ndarray):
        raise TypeError("no packed array")
    if stored.dtype != np.float32 or stored.ndim != 1:
        raise ValueError(f"weights are of the type {stored.dtype}, {stored.shape}")
    if size > _MOST_VALUES + _VALUES_A_BYTE * (len(bits) + stored.nbytes):
        raise ValueError(f"{size} weights in {len(bits) + stored.nbytes} bytes")
    values, at, n_read = np.zeros(size, dtype), 0, 0
    for portion in _inflate_portions(bits, (size + 7) // 8):
        is_stored = np.unpackbits(np.frombuffer(portion, np.uint8)).view(bool)
        part = values[at : at + len(is_stored)]
        is_stored_here = is_stored[: len(part)]
        n_stored = int(np.count_nonzero(is_stored_here))
        part[is_stored_here] = stored[n_read : n_read + n_stored]
        at, n_read = at + len(is_stored), n_read + n_stored
    if at != (size + 7) // 8 * 8 or n_read != len(stored):
        raise ValueError(f"{n_read} of {len(stored)} weights, {at} of {size} bits")
    return values.reshape(shape)


def _inflate_portions(data: bytes, size: int) -> Iterator[bytes]:
    """Yields portions of what `zlib.compress` compressed; where that is larger than
    expected, no more than one portion too many."""
    stream, n_missing = zlib.decompressobj(), size
    for start in range(0, len(data), _PORTION):
        compressed = data[start : start + _PORTION]
        while compressed and n_missing >= 0 and not stream.eof:
            portion = stream.decompress(compressed, _PORTION)
            compressed = stream.unconsumed_tail
            n_missing -= len(portion)
            yield portion
    if n_missing >= 0 and not stream.eof:
        raise zlib.error("incomplete or truncated stream")


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


def pack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """Returns the numbers, from 0 up, in the smallest type that holds them."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


def pack_names(names: Sequence[str]) -> bytes:
    """Returns names as they are stored; no name may have a line end."""
    return zlib.compress("\n".join(names).encode("utf8", "surrogatepass"))


def unpack_names(packed: bytes) -> list[str]:
    """Inverts `pack_names`."""
    names = inflate(packed).decode("utf8", "surrogatepass")
    return names.split("\n") if names else []


class Names(Sequence[str]):
    """The names of R features: a list, which is not copied, or packed ones, whose
    `size` must be R. Nobody reads them to predict, so they stay as they were saved
    until somebody does. Any number of threads may read what nobody extends."""

    def __init__(self, names: list[str] | bytes, size: int | None = None) -> None:
        self._names = names
        self._size = len(names) if size is None else size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        return self._unpacked()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Names, list)):
            return NotImplemented
        return self._unpacked() == [*other]

    __hash__ = None  # type: ignore[assignment]  # names may be added

    def extend(self, names: Iterable[str]) -> None:
        """Adds names at the end."""
        all_names = self._unpacked()
        all_names.extend(names)
        self._size = len(all_names)

    def packed(self) -> bytes:
        """Returns the names as they are stored."""
        names = self._names
        return names if isinstance(names, bytes) else pack_names(names)

    def _unpacked(self) -> list[str]:
        """Raises ValueError HS062 if packed names cannot be read, or are not R."""
        names = self._names
        if isinstance(names, bytes):
            try:
                names = unpack_names(names)
            except (ValueError, zlib.error) as e:
                raise truncated(repr(e)) from None
            if len(names) != self._size:
                raise truncated(f"{len(names)} names of {self._size} features")
            self._names = names
        return names


def check_finite(name: str, values: NDArray[Any], *, may_forbid: bool = False) -> None:
    """Raises ValueError HS313 if a number is not finite; with `may_forbid`, -inf may be
    among them."""
    if not values.size:
        return
    # The least and the largest are NaN if one is: faster than looking at each.
    least, most = float(values.min()), float(values.max())
    if not (most < inf and (least > -inf or (may_forbid and least == -inf))):
        wrong = most if least > -inf or may_forbid else least
        raise ValueError(Errors.HS313.format(name=name, found=wrong))


def check_format(version: Any, expected: int) -> None:
    """Raises ValueError: HS062 if a saved file names no format, HS063 if it has another
    format than this version reads."""
    if type(version) is not int:
        raise truncated(f"format is {version!r}")
    if version != expected:
        raise ValueError(Errors.HS063.format(found=version, expected=expected))


def truncated(what: str) -> ValueError:
    """Returns the error HS062."""
    return ValueError(Errors.HS062.format(found=what[:200]))
