"""The file from which a fit that was stopped goes on: `fit.checkpoint`.

It has one part for each minimization: one, and with labels in a tree one for each
level. A part has the weights, the position of the optimizer, and what tells whether the
weights belong to the features and labels at hand.
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
from ..values import Flag, Kind, Number, OrNull, Unfit, Whole
from .files import output_path
from .patience import Kept
from .quasi_newton import Position

Floats = NDArray[np.float64]

# Files of the format 1 have neither positions nor weights kept by patience.
FORMAT = 2


class _Unusable(Exception):
    """Why a file is no file of a fit."""


@dataclass(frozen=True)
class Part:
    """Where one minimization was when the file was written.

    weights (float64 [N]): The best so far.
    n_iterations (int): Iterations that led there.
    loss (Optional[float]): The objective there, in nats; None: not yet known.
    is_done (bool): Whether the minimization had converged.
    settings (Dict[str, Any]): What it minimized.
    identity (Dict[str, str]): Of its weights, see `Batch.identity`.
    position (Optional[Position]): Where the optimizer was; None: it has none, or has
        converged.
    kept (Optional[Kept]): What patience kept before the position.
    """

    weights: Floats
    n_iterations: int
    loss: float | None
    is_done: bool
    settings: dict[str, Any]
    identity: dict[str, str]
    position: Position | None = None
    kept: Kept | None = None


class Checkpoint:
    """The parts of one file, which is replaced as a whole at each `write`.

    path (str): The file, which need not exist; its folder must.
    RAISES (ValueError): HS270 no such folder.
    """

    def __init__(self, path: str) -> None:
        self.path = output_path("fit.checkpoint", path)
        self._parts: list[Part] = []

    def read(self) -> None:
        """Read the file, if there is one.

        RAISES (ValueError): HS271 it is damaged, or another file.
        """
        self._parts = []
        if self.path.exists():
            try:
                self._parts = _parts_of(self.path)
            except _Unusable as e:
                found = Errors.HS271.format(path=str(self.path), reason=e)
                raise ValueError(found) from None

    def part(self, index: int, identity: Mapping[str, str]) -> Part | None:
        """RETURNS (Optional[Part]): Where the minimization of this index was; None: the
        file does not say.

        identity (Dict[str, str]): Of the present weights.
        RAISES (ValueError): HS272 the file has weights of other features or labels.
        """
        if index >= len(self._parts):
            return None
        part = self._parts[index]
        if differences := _differences(part.identity, identity):
            path = str(self.path)
            raise ValueError(Errors.HS272.format(path=path, differences=differences))
        return part

    def write(self, index: int, part: Part) -> None:
        """Replace the file: an earlier one stays whole until this one is.

        index (int): Of the minimization; those after it are forgotten.
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
    """RETURNS (str): A short text that differs where the arrays differ."""
    found = blake2b(digest_size=8)
    for array in arrays:
        found.update(array.encode() if isinstance(array, str) else array.tobytes())
    return found.hexdigest()


def of_documents(contents: Iterable[tuple[NDArray[Any], ...]]) -> str:
    """What an annotated corpus is, whatever the order of its documents.

    contents (Iterable[Tuple[NDArray, ...]]): By document, what is known of it.
    RETURNS (str): The number of documents, and a digest.
    """
    found = sorted(digest(repr([x.shape for x in one]), *one) for one in contents)
    return f"{len(found)} documents ({digest(*found)})"


def _save(file: Any, parts: list[Part]) -> None:
    of_parts = [
        {
            "n_iterations": part.n_iterations,
            "loss": part.loss,
            "is_done": part.is_done,
            "settings": part.settings,
            "identity": part.identity,
            "position": _numbers_of(part.position, ("x", "products", "vectors")),
            "kept": _numbers_of(part.kept, ("x",)),
        }
        for part in parts
    ]
    about = json.dumps({"format": FORMAT, "parts": of_parts})
    arrays: dict[str, Any] = {}
    for k, part in enumerate(parts):
        arrays[f"weights_{k}"] = part.weights
        if part.position is not None:
            arrays[f"x_{k}"] = part.position.x
            arrays[f"products_{k}"] = part.position.products
            arrays[f"vectors_{k}"] = part.position.vectors()
        if part.kept is not None:
            arrays[f"kept_{k}"] = part.kept.x
    np.savez(file, about=np.array(about), **arrays)


def _numbers_of(found: Position | Kept | None, arrays: tuple[str, ...]) -> Any:
    """What is no array."""
    if found is None:
        return None
    return {name: x for name, x in found._asdict().items() if name not in arrays}


def _parts_of(path: Path) -> list[Part]:
    """RAISES (_Unusable): The file has no parts that `_save` wrote."""
    arrays = _arrays_of(path)
    about = _about(arrays.get("about"))
    if about.get("format") not in (1, FORMAT):
        raise _Unusable(f"its format is {about.get('format')!r}, expected {FORMAT}")
    parts = about.get("parts")
    if not isinstance(parts, list):
        raise _Unusable("it has no list of parts")
    return [_to_part(k, one, arrays) for k, one in enumerate(parts)]


def _arrays_of(path: Path) -> dict[str, Any]:
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
        with np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except Exception:  # of numpy, zipfile, and the modules that uncompress
        raise _Unusable("what is in the archive cannot be read") from None


def _about(found: Any) -> dict[str, Any]:
    """What is said of the parts, which is JSON."""
    try:
        codes = np.frombuffer(found.astype(found.dtype.newbyteorder("<")), "<u4")
        # NumPy makes strings of any numbers, with which Python goes wrong.
        is_text = found.dtype.kind == "U" and codes.max(initial=0) <= sys.maxunicode
        about = json.loads(found.item()) if is_text else None
    except (AttributeError, TypeError, ValueError, RecursionError):
        about = None
    if not isinstance(about, dict):
        raise _Unusable("it does not say what its weights are")
    return about


def _to_part(k: int, found: Any, arrays: Mapping[str, Any]) -> Part:
    if isinstance(found, dict):  # the format 1 lacks both
        found = {"position": None, "kept": None, **found}
    if not isinstance(found, dict) or set(found) != set(_KINDS):
        raise _Unusable(f"its part {k} has not the keys {', '.join(_KINDS)}")
    read: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        try:
            read[name] = kind.read(found[name])
        except Unfit:
            shown = _cut(repr(found[name]), 60)
            reason = f"{name} of its part {k} is {shown}, expected {kind.expected}"
            raise _Unusable(reason) from None
    n = read["identity"].get("weights")
    number = int(n) if isinstance(n, str) and n.isdecimal() else -1
    weights = _array(arrays, f"weights_{k}", (number,))
    if read["position"] is not None:
        x = _array(arrays, f"x_{k}", (number,))
        products = _array(arrays, f"products_{k}", (None, None))
        n_steps = products.shape[1]
        if len(products) != 2 * n_steps + 2:
            raise _Unusable(f"products_{k} is of the shape {products.shape}")
        vectors = _array(arrays, f"vectors_{k}", (2, n_steps, number))
        more = {"products": products, "vectors": lambda: vectors}
        read["position"] = Position(x=x, **read["position"], **more)
    if read["kept"] is not None:
        x = _array(arrays, f"kept_{k}", (number,))
        read["kept"] = Kept(x=x, **read["kept"])
    return Part(weights=weights, **read)


def _array(arrays: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Any:
    """Finite numbers of a shape; None: any."""
    found = arrays.get(name)
    is_array = isinstance(found, np.ndarray) and found.dtype == np.float64
    here = found.shape if is_array else ()  # type: ignore[union-attr]
    if len(here) != len(shape) or any(b not in (None, a) for a, b in zip(here, shape)):
        expected = " x ".join("any" if n is None else str(n) for n in shape)
        raise _Unusable(f"{name} is no array of {expected} numbers")
    if not np.isfinite(found).all():  # type: ignore[arg-type]
        raise _Unusable(f"{name} is not all finite")
    return found


class _Mapped:
    """A mapping from text, to text or to anything."""

    def __init__(self, is_text: bool) -> None:
        self.is_text = is_text
        self.expected = "a mapping from text to text" if is_text else "a mapping"

    def read(self, found: Any) -> dict[str, Any]:
        if not isinstance(found, dict):
            raise Unfit
        if self.is_text and not all(isinstance(x, str) for x in found.values()):
            raise Unfit
        return found


class _Numbers:
    """The numbers of a `Position` or `Kept`, by their kinds."""

    def __init__(self, **kinds: Kind) -> None:
        self._kinds = kinds
        self.expected = f"a mapping of {', '.join(kinds)}"

    def read(self, found: Any) -> dict[str, Any]:
        if not isinstance(found, dict) or set(found) != set(self._kinds):
            raise Unfit
        return {name: kind.read(found[name]) for name, kind in self._kinds.items()}


# What is said of a part.
_KINDS: dict[str, Kind] = {
    "n_iterations": Whole(),
    "loss": OrNull(Number()),
    "is_done": Flag(),
    "settings": _Mapped(is_text=False),
    "identity": _Mapped(is_text=True),
    "position": OrNull(
        _Numbers(
            value=Number(), n_iterations=Whole(), n_evaluations=Whole(), n_small=Whole()
        )
    ),
    "kept": OrNull(
        _Numbers(loss=Number(), n_steps=Whole(), scores=_Mapped(is_text=False))
    ),
}


def _differences(found: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """What differs, in words; empty: nothing."""
    names = [name for name in expected if found.get(name) != expected[name]]
    return "; ".join(
        f"{name}: {_cut(found.get(name))} in the file, {_cut(expected[name])} now"
        for name in names
    )


def _cut(text: str | None, most: int = 200) -> str:
    shown = "none" if text is None else text
    return shown if len(shown) <= most else shown[: most - 2] + ".."
