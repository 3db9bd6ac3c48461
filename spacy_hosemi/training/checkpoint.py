"""The file from which a fit that was stopped goes on: `fit.checkpoint`.

It has the weights of each minimization of a training (one, and with labels in a tree
one for each level), and what tells whether they belong to the features and labels at
hand.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, Warnings
from ..values import FLAG, Kind, Unfit, integer, number, or_null

Floats = NDArray[np.float64]

# Files of the formats 1 and 2 were those of 0.2.0.
FORMAT = 3


class _Unusable(Exception):
    """Why a file is no file of a fit."""


@dataclass(frozen=True)
class SavedFit:
    """Where one minimization was when the file was written.

    weights (float64 [N]): The best ones.
    settings (Dict[str, Any]): What it minimized.
    identity (Dict[str, str]): Of its weights, see `TrainingSet.identity`.
    n_iterations (int): Iterations so far.
    loss (Optional[float]): The objective at the weights, in nats; None: not yet known.
    is_done (bool): Whether the minimization had converged.
    """

    weights: Floats
    settings: dict[str, Any]
    identity: dict[str, str]
    n_iterations: int
    loss: float | None
    is_done: bool


class Checkpoint:
    """One file, which is replaced as a whole at each `write`; it need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parts: list[SavedFit] = []

    def read(self) -> None:
        """Reads the file, if there is one.

        RAISES (ValueError): HS271 it is damaged, or another file.
        """
        self._parts = []
        if self.path.exists():
            try:
                self._parts = _read_parts(self.path)
            except _Unusable as e:
                message = Errors.HS271.format(path=str(self.path), reason=e)
                raise ValueError(message) from None

    def part(self, index: int, identity: Mapping[str, str]) -> SavedFit | None:
        """Returns where the minimization of this index was, if the file says so.

        identity (Dict[str, str]): Of the present weights.
        RAISES (ValueError): HS272 the file has weights of other features or labels.
        """
        if index >= len(self._parts):
            return None
        saved = self._parts[index]
        if differences := _differences(saved.identity, identity):
            path = str(self.path)
            raise ValueError(Errors.HS272.format(path=path, differences=differences))
        return saved

    def write(self, index: int, part: SavedFit) -> None:
        """Replaces the file: an earlier one stays whole until this one is. The
        minimizations after this one are forgotten.

        WARNS (UserWarning): HSW62 the file cannot be written, as on a full disk.
        """
        self._parts[index:] = [part]
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                _save(file, self._parts)
            os.replace(beside, self.path)
        except OSError as e:
            message = Warnings.HSW62.format(path=str(self.path), reason=e)
            warnings.warn(message, stacklevel=2)
        finally:
            with suppress(OSError):  # it is not there, or the disk is read-only now
                beside.unlink()


def digest(*arrays: NDArray[Any] | str) -> str:
    """Returns a short text that differs where the arrays differ."""
    total = blake2b(digest_size=8)
    for array in arrays:
        total.update(array.encode() if isinstance(array, str) else array.tobytes())
    return total.hexdigest()


def of_documents(contents: Iterable[tuple[NDArray[Any], ...]]) -> str:
    """Returns the number of annotated documents, and a digest of what is known of each,
    which is the same in any order."""
    digests = sorted(digest(repr([x.shape for x in doc]), *doc) for doc in contents)
    return f"{len(digests)} documents ({digest(*digests)})"


def _save(file: Any, parts: list[SavedFit]) -> None:
    about = [{name: getattr(part, name) for name in _KINDS} for part in parts]
    text = json.dumps({"format": FORMAT, "parts": about})
    weights: Any = {f"weights_{k}": part.weights for k, part in enumerate(parts)}
    np.savez(file, about=np.array(text), **weights)


def _read_parts(path: Path) -> list[SavedFit]:
    """RAISES (_Unusable): The file has no parts that `_save` wrote."""
    arrays = _read_arrays(path)
    about = _read_about(arrays.get("about"))
    if about.get("format") != FORMAT:
        raise _Unusable(f"its format is {about.get('format')!r}, expected {FORMAT}")
    parts = about.get("parts")
    if not isinstance(parts, list):
        raise _Unusable("it has no list of parts")
    return [_to_part(k, part, arrays) for k, part in enumerate(parts)]


def _read_arrays(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise _Unusable("it is no archive of numpy (.npz), or a part of one")
            file.seek(0)
            return _unpack(file)
    except OSError as e:
        raise _Unusable(f"it cannot be read ({e.strerror})") from None


def _unpack(file: Any) -> dict[str, Any]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception:  # of numpy, zipfile, and the modules that uncompress
        raise _Unusable("what is in the archive cannot be read") from None


def _read_about(array: Any) -> dict[str, Any]:
    """Returns what is said of the parts, which is JSON."""
    try:
        codes = np.frombuffer(array.astype(array.dtype.newbyteorder("<")), "<u4")
        # NumPy makes strings of any numbers, with which Python goes wrong.
        is_text = array.dtype.kind == "U" and codes.max(initial=0) <= sys.maxunicode
        about = json.loads(array.item()) if is_text else None
    except (AttributeError, TypeError, ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise _Unusable("it does not say what its weights are")
    return about


def _to_part(k: int, about: Any, arrays: Mapping[str, Any]) -> SavedFit:
    if not isinstance(about, dict) or set(about) != set(_KINDS):
        raise _Unusable(f"its part {k} has not the keys {', '.join(_KINDS)}")
    values: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        try:
            values[name] = kind.read(about[name])
        except Unfit:
            shown = _cut(repr(about[name]), 60)
            reason = f"{name} of its part {k} is {shown}, expected {kind.expected}"
            raise _Unusable(reason) from None
    n: Any = values["identity"].get("weights")
    weights: Any = arrays.get(f"weights_{k}")
    is_array = isinstance(weights, np.ndarray) and weights.dtype == np.float64
    if not is_array or weights.ndim != 1 or str(len(weights)) != n:
        raise _Unusable(f"weights_{k} is no array of {n} numbers")
    if not np.isfinite(weights).all():
        raise _Unusable(f"weights_{k} is not all finite")
    return SavedFit(weights=weights, **values)


def _read_block(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit
    return value


def _read_texts(value: Any) -> dict[str, str]:
    if not all(isinstance(x, str) for x in _read_block(value).values()):
        raise Unfit
    return value  # type: ignore[no-any-return]


# What is said of a part.
_KINDS: dict[str, Kind] = {
    "n_iterations": integer(),
    "loss": or_null(number()),
    "is_done": FLAG,
    "settings": Kind("a mapping", _read_block),
    "identity": Kind("a mapping from text to text", _read_texts),
}


def _differences(saved: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """Returns what differs, in words; empty: nothing."""
    names = [name for name in expected if saved.get(name) != expected[name]]
    return "; ".join(
        f"{name}: {_cut(saved.get(name))} in the file, {_cut(expected[name])} now"
        for name in names
    )


def _cut(text: str | None, most: int = 200) -> str:
    shown = "none" if text is None else text
    return shown if len(shown) <= most else shown[: most - 2] + ".."
