"""The file from which a fit that was stopped goes on: `fit.checkpoint`.

It has the weights of each minimization of a training (one, and with labels in a tree
one for each level), and what tells whether they belong to the features and labels at
hand.
"""

from __future__ import annotations

import json
import os
import time
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

from ..arrays import Floats
from ..errors import Errors, Warnings
from ..values import Unfit

# Files of the formats 1 and 2 were those of 0.2.0.
FORMAT = 3


@dataclass(frozen=True)
class SavedFit:
    """Says where one minimization was when the file was written."""

    weights: Floats  # the best ones
    identity: dict[str, str]  # of its weights, see `TrainingSet.identity`
    n_iterations: int  # so far
    converged_with: dict[str, Any] | None  # the settings with which it had converged


class Checkpoint:
    """One file, which is replaced as a whole at each `write`; it need not exist. It is
    due again `every` so many seconds."""

    def __init__(self, path: Path, every: float = 60.0) -> None:
        self.path = path
        self._every, self._written = every, time.monotonic()
        self._parts: list[SavedFit] = []

    @property
    def is_due(self) -> bool:
        """Whether the file is as old as it may get."""
        return time.monotonic() - self._written >= self._every

    def read(self) -> None:
        """Reads the file, if any; raises ValueError HS271 if this fit cannot."""
        self._parts = []
        if not self.path.exists():
            return
        try:
            self._parts = _read_parts(self.path)
        except Unfit as e:
            message = Errors.HS271.format(path=str(self.path), reason=e)
            raise ValueError(message) from None

    def begin(self, index: int, identity: Mapping[str, str]) -> SavedFit | None:
        """Returns where the minimization of this index was, if the file says so; raises
        ValueError HS272 if its weights are of other features or labels."""
        self._written = time.monotonic()
        if index >= len(self._parts):
            return None
        saved = self._parts[index]
        differences = "; ".join(
            f"{name}: {_cut(saved.identity.get(name))} in the file, {_cut(now)} now"
            for name, now in identity.items()
            if saved.identity.get(name) != now
        )
        if differences:
            path = str(self.path)
            raise ValueError(Errors.HS272.format(path=path, differences=differences))
        return saved

    def write(self, index: int, part: SavedFit) -> None:
        """Replaces the file, which stays whole until then; forgets the minimizations
        after this one. Warns by HSW62 if it cannot be written, as on a full disk."""
        self._written = time.monotonic()
        self._parts[index:] = [part]
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                write_parts(file, self._parts)
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


def write_parts(file: Any, parts: list[SavedFit]) -> None:
    """Writes an archive of NumPy: JSON about all parts, and the weights of each."""
    about = [{**vars(part)} for part in parts]
    weights: Any = {f"weights_{k}": x.pop("weights") for k, x in enumerate(about)}
    text = json.dumps({"format": FORMAT, "parts": about}).encode("utf8")
    np.savez(file, about=np.frombuffer(text, np.uint8), **weights)


def _read_parts(path: Path) -> list[SavedFit]:
    """Raises Unfit with the reason if `write_parts` did not write the file."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise Unfit("it is no archive of numpy (.npz), or a part of one")
            file.seek(0)
            try:
                with np.load(file, allow_pickle=False) as archive:
                    arrays = {name: archive[name] for name in archive.files}
            except Exception:  # of numpy, zipfile, and the modules that uncompress
                raise Unfit("what is in the archive cannot be read") from None
    except OSError as e:
        raise Unfit(f"it cannot be read ({e.strerror})") from None
    try:
        about = json.loads(arrays["about"].tobytes())
        version = about.get("format")
        if version != FORMAT:
            raise Unfit(f"its format is {version!r}, expected {FORMAT}")
        parts = enumerate(about["parts"])
        return [_read_part(part, arrays[f"weights_{k}"]) for k, part in parts]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise Unfit("it does not say what its weights are") from None


def _read_part(about: Mapping[str, Any], weights: Any) -> SavedFit:
    """Raises ValueError, or whatever reading something else raises."""
    part = SavedFit(weights=weights, **about)
    n, converged_with = part.n_iterations, part.converged_with
    shape = (int(part.identity["weights"]),)
    if not (
        weights.dtype == np.float64
        and weights.shape == shape
        and np.isfinite(weights).all()
        and type(n) is int
        and n >= 0
        and (converged_with is None or isinstance(converged_with, dict))
        and all(isinstance(x, str) for x in part.identity.values())
    ):
        raise ValueError
    return part


def _cut(text: str | None, most: int = 200) -> str:
    shown = "none" if text is None else text
    return shown if len(shown) <= most else shown[: most - 2] + ".."
