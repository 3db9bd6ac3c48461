"""The file from which a fit that was stopped goes on: `fit.resume`.

It has one part for each minimization: one, and with labels in a tree one for each
level. A part has the weights, how far the minimization was, and what tells whether the
weights belong to the features and labels at hand.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, Warnings

Floats = NDArray[np.float64]

FORMAT = 1

# What numpy, zipfile and json raise for a file that is none of theirs.
_DAMAGED = OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile


@dataclass(frozen=True)
class Part:
    """Where one minimization was when the file was written.

    weights (float64 [N]): The best so far.
    n_iterations (int): Iterations that led there.
    loss (Optional[float]): The objective there, in nats; None: not yet known.
    is_done (bool): Whether the minimization had converged.
    settings (Dict[str, Any]): What it minimized.
    identity (Dict[str, str]): Of its weights, see `Batch.identity`.
    """

    weights: Floats
    n_iterations: int
    loss: float | None
    is_done: bool
    settings: dict[str, Any]
    identity: dict[str, str]


class Checkpoint:
    """The parts of one file, which is replaced as a whole at each `write`.

    path (str): The file, which need not exist; its folder must.
    RAISES (ValueError): HS270 no such folder.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir() or self.path.is_dir():
            name, folder = "fit.resume", str(self.path.parent)
            found = Errors.HS270.format(name=name, path=path, folder=folder)
            raise ValueError(found)
        self._parts: list[Part] = []

    def read(self) -> None:
        """Read the file, if there is one.

        RAISES (ValueError): HS271 it is damaged, or another file.
        """
        self._parts = []
        if self.path.exists():
            try:
                self._parts = _parts_of(self.path)
            except _DAMAGED as e:
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
            beside.unlink(missing_ok=True)


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
        }
        for part in parts
    ]
    about = json.dumps({"format": FORMAT, "parts": of_parts})
    weights = {f"weights_{k}": part.weights for k, part in enumerate(parts)}
    np.savez(file, about=np.array(about), **weights)  # type: ignore[arg-type]


def _parts_of(path: Path) -> list[Part]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        about = json.loads(str(found["about"]))
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}, expected {FORMAT}")
        return [
            Part(weights=found[f"weights_{k}"], **part)
            for k, part in enumerate(about["parts"])
        ]


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
