"""The files of a saved component, which are exchanged all at once.

    cfg                       settings, and the SHA-256 of each part and of cfg itself
    model-<digest>.msgpack    everything else but ..
    weights-<digest>.npy      .. the weights of features, to be mapped

Each part is written under a name that no other content has. Then cfg is replaced in one
step, and the files that it does not name are removed. So a save that is interrupted at
any moment leaves the old component or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from ..model.weights.packing import check_finite, check_format, truncated

# What a component writes: parts, and what was never finished. Nothing else in the
# folder is ours.
_OURS = re.compile(r"(model|weights)-[0-9a-f]{16}\.(msgpack|npy)|\.hosemi-.*")

FORMAT = 2

# Whether loading compares parts with their digests, which takes .5 to 1 ms a MB.
verifies = ContextVar("verifies", default=True)

Parts = Mapping[str, Mapping[str, str]]  # of each: its sha256, and in a folder its file

T = TypeVar("T")


def read_unchanged(folder: Path, read: Callable[[], T]) -> T:
    """Returns what `read` gives of a folder that nobody writes to meanwhile: it reads
    again, errors or not, after a save. Raises BlockingIOError HS367 if saves go on."""
    for _ in range(20):
        before = _state_of(folder)
        try:
            result = read()
        except Exception as e:
            if isinstance(e, BlockingIOError) or _state_of(folder) == before:
                raise
        else:
            if _state_of(folder) == before:
                return result
    raise BlockingIOError(Errors.HS367.format(path=str(folder), found="unknown"))


def _state_of(folder: Path) -> list[tuple[int, int, int]]:
    """Returns what a save changes; nothing of a folder that is not there."""
    with suppress(OSError):
        found = map(os.stat, (folder, *sorted(folder.iterdir())))
        return [(x.st_dev, x.st_ino, x.st_ctime_ns) for x in found]
    return []


def write_parts(
    folder: Path,
    cfg: Mapping[str, Any],
    model: bytes | None,
    weights: Sequence[NDArray[np.float32]],
) -> None:
    """Writes a component into a folder, or raises OSError and leaves the old one. Only
    one process at a time may write into it. model: None keeps the one that is there;
    weights: an array that the model lacks, or none."""
    parts: dict[str, Any] = {}
    if model is None:
        with suppress(OSError, ValueError):
            parts |= read_cfg(folder)[1]
    else:
        parts["model"] = _write_part(
            folder, "model", ".msgpack", methodcaller("write", model)
        )
    for array in weights:
        write = partial(np.lib.format.write_array, array=array, allow_pickle=False)
        parts["weights"] = _write_part(folder, "weights", ".npy", write)
    path, _ = _write_new(folder, methodcaller("write", sealed(cfg, parts)))
    os.replace(path, folder / "cfg")
    flush_names(folder)
    if model is None:
        return
    names = {part["file"] for part in parts.values()}
    for path in folder.iterdir():
        # What an earlier save, or one that was interrupted, has left; on Windows a file
        # that is mapped stays until the next time.
        if _OURS.fullmatch(path.name) and path.name not in names:
            with suppress(OSError):
                path.unlink()


def read_parts(folder: Path, parts: Parts) -> tuple[bytes, list[NDArray[np.float32]]]:
    """Reads what `write_parts` wrote: the model, and its weights, which are read-only
    and mapped, so that all processes that load the file share its memory. Raises
    ValueError: HS061 if a file is missing, HS062 if it is not what was saved, HS313 if
    a weight is not finite."""
    if "model" not in parts:
        raise ValueError(Errors.HS061.format(path=folder / "model"))
    path = _checked_file(folder, parts, "model")
    weights = []
    if "weights" in parts:
        file = _checked_file(folder, parts, "weights")
        # Not by np.load, which reads archives and would be asked for pickles.
        array = np.lib.format.open_memmap(file, mode="r")
        if array.dtype != np.float32 or array.ndim != 2:
            raise truncated(f"weights of the type {array.dtype}, {array.shape}")
        if verifies.get():
            check_finite(file.name, array)
        weights.append(np.asarray(array))
    return path.read_bytes(), weights


def read_cfg(folder: Path) -> tuple[dict[str, Any], Parts]:
    """Returns and raises what `unsealed` does; raises HS061 if there is no cfg."""
    return unsealed(_existing(folder / "cfg").read_bytes())


def _existing(path: Path) -> Path:
    """Returns the path of a file; raises HS061 if it is missing."""
    if not path.is_file():
        raise ValueError(Errors.HS061.format(path=path))
    return path


def sealed(cfg: Mapping[str, Any], parts: Parts) -> bytes:
    """Returns cfg as JSON, with the digests of parts and its own."""
    # Not by srsly, which reads 0.7 as 0.7000000000000001.
    cfg = {**cfg, "parts": parts}
    digest = digest_of(json.dumps(cfg, sort_keys=True).encode("utf8"))
    return json.dumps({**cfg, "sha256": digest}, indent=2).encode("utf8")


def unsealed(data: bytes) -> tuple[dict[str, Any], Parts]:
    """Inverts `sealed`. Raises ValueError: HS062 if it is not what was saved, HS063 if
    another version saved it."""
    cfg = json.loads(data)
    check_format(cfg.get("format"), FORMAT)
    cfg.pop("sha256", None)
    parts = cfg.pop("parts", None)
    # JSON says the same in several ways, such as with a line twice; only one was
    # saved, but for the ends of lines, which programs for versions change.
    if parts is None or data.replace(b"\r\n", b"\n") != sealed(cfg, parts):
        raise truncated("cfg is not what was saved: its SHA-256 differs")
    return cfg, parts


def checked(data: Mapping[str, bytes], parts: Parts, name: str) -> bytes:
    """Returns a part; raises HS062 if it is not what was saved."""
    if digest_of(data[name]) != parts[name]["sha256"]:
        raise truncated(f"{name} is not what was saved: its SHA-256 differs")
    return data[name]


def digest_of(data: bytes) -> str:
    """Returns the SHA-256."""
    return hashlib.sha256(data).hexdigest()


def _checked_file(folder: Path, parts: Parts, name: str) -> Path:
    """Returns the path of a part; raises HS061 if it is missing, HS062 if it is not
    what was saved."""
    part = parts[name]
    if not _OURS.fullmatch(part["file"]):
        raise truncated(f"{name} is in {part['file']!r}")
    path = _existing(folder / part["file"])
    if verifies.get() and digest_of_file(path) != part["sha256"]:
        raise truncated(f"{path.name} is not what was saved: its SHA-256 differs")
    return path


def digest_of_file(path: str | Path) -> str:
    """Returns the SHA-256 of a file, which is read a MB at a time."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while data := file.read(2**20):
            digest.update(data)
    return digest.hexdigest()


class _Hashed:
    """A file that knows the digest of what was written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.digest.update(data)
        self._file.write(data)


def _write_part(
    folder: Path, name: str, ending: str, write: Callable[[Any], Any]
) -> dict[str, str]:
    """Returns the file, which is named after its content, and the digest."""
    path, digest = _write_new(folder, write)
    target = folder / f"{name}-{digest[:16]}{ending}"
    if target.is_file() and digest_of_file(target) == digest:
        path.unlink()  # it may be mapped, and then cannot be replaced on Windows
    else:
        os.replace(path, target)
    return {"file": target.name, "sha256": digest}


def _write_new(folder: Path, write: Callable[[Any], Any]) -> tuple[Path, str]:
    """Returns a new file, and its digest."""
    path = folder / f".hosemi-{uuid4().hex}"
    try:
        with open(path, "xb") as file:
            hashed = _Hashed(file)
            write(hashed)
            # A name must not lead to content that a power cut has lost.
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path, hashed.digest.hexdigest()


def flush_names(folder: Path) -> None:
    """Writes names to the disk, so that a power cut does not bring back old ones, where
    the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
