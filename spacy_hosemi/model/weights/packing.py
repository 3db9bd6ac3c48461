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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ...msgpack import inflate, read_msgpack, write_msgpack

# An array has at most _MOST_VALUES values plus _VALUES_A_BYTE for each stored byte:
# untrained weights of 500 labels have 30 a byte.
_MOST_VALUES, _VALUES_A_BYTE = 2**24, 256

# How texts become bytes: words of documents may have half of a character.
_TEXT = "utf8", "surrogatepass"

# Bytes of bits that are unpacked at a time.
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
    if stored.dtype != np.float32 or stored.ndim != 1:
        raise ValueError(f"weights are of the type {stored.dtype}, {stored.shape}")
    if size > _MOST_VALUES + _VALUES_A_BYTE * (len(bits) + stored.nbytes):
        raise ValueError(f"{size} weights in {len(bits) + stored.nbytes} bytes")
    bits = np.frombuffer(inflate(bits, (size + 7) // 8), np.uint8)
    values, n_read = np.zeros(size, dtype), 0
    for at in range(0, len(bits), _PORTION):
        part = values[8 * at : 8 * (at + _PORTION)]
        is_stored = np.unpackbits(bits[at : at + _PORTION], count=len(part)).view(bool)
        n_stored = int(np.count_nonzero(is_stored))
        np.place(part, is_stored, stored[n_read : n_read + n_stored])
        n_read += n_stored
    if n_read != len(stored):
        raise ValueError(f"{n_read} of {len(stored)} weights")
    return values.reshape(shape)


def pack_names(names: Sequence[str]) -> dict[str, Any]:
    """Returns names as they are stored: distinct beginnings up to "=", distinct rests,
    and the numbers of both for each name. No name may have a line end."""
    packed: dict[str, Any] = {}
    ends = [name.find("=") + 1 for name in names]
    for part, texts in (
        ("template", [name[:end] for name, end in zip(names, ends)]),
        ("value", [name[end:] for name, end in zip(names, ends)]),
    ):
        distinct = sorted({*texts})
        number = {text: n for n, text in enumerate(distinct)}
        packed[f"{part}s"] = zlib.compress("\n".join(distinct).encode(*_TEXT))
        numbers = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        packed[part] = write_msgpack(numbers)
    return packed


def unpack_names(packed: Any, size: int) -> list[str]:
    """Inverts `pack_names` of `size` names; older models have one text for all."""
    if isinstance(packed, bytes):
        return _lines(packed, size) if size or inflate(packed) else []
    parts = []
    for part in ("template", "value"):
        distinct = _lines(packed[f"{part}s"], size)
        numbers = read_msgpack(packed[part], 8 * size)
        if numbers.shape != (size,) or numbers.min(initial=0) < 0:
            raise ValueError(f"{numbers.shape} numbers of {size} names")
        parts.append(map(distinct.__getitem__, numbers.tolist()))
    return [template + value for template, value in zip(*parts, strict=True)]


def _lines(packed: Any, most: int) -> list[str]:
    """Returns lines that were compressed; each takes memory, even an empty one."""
    text = inflate(packed).decode(*_TEXT)
    if text.count("\n") >= max(most, 1):
        raise ValueError(f"more than {most} texts")
    return text.split("\n")


class Names(Sequence[str]):
    """The names of R features: a list, which is not copied, or packed ones, whose
    `size` must be R. Nobody reads them to predict, so they stay as they were saved
    until somebody does. Any number of threads may read what nobody extends."""

    def __init__(self, names: list[str] | Any, size: int | None = None) -> None:
        self._names = names
        self._size = len(names) if size is None else size

    def __len__(self) -> int:
        return self._size

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

    def packed(self) -> dict[str, Any]:
        """Returns the names as they are stored."""
        names = self._names
        return names if isinstance(names, dict) else pack_names(self._unpacked())

    def _unpacked(self) -> list[str]:
        """Raises ValueError HS062 if packed names cannot be read, or are not R."""
        names = self._names
        if not isinstance(names, list):
            try:
                names = unpack_names(names, self._size)
            except Exception as e:  # whatever somebody has put there
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


def check_format(version: Any, expected: int, older: int | None = None) -> None:
    """Raises ValueError: HS062 if a saved file names no format, HS063 if it has another
    format than this version writes, or reads."""
    if type(version) is not int:
        raise truncated(f"format is {version!r}")
    if version not in (expected, older):
        raise ValueError(Errors.HS063.format(found=version, expected=expected))


def truncated(what: str) -> ValueError:
    """Returns the error HS062."""
    return ValueError(Errors.HS062.format(found=what[:200]))
