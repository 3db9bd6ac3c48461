"""Whole pipelines on disk: `spacy_hosemi.save` and `spacy_hosemi.load`."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import sys
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .component.saved_files import flush_names, verifies

if TYPE_CHECKING:
    from spacy.language import Language

# Files of a pipeline by which a model is known. The last one is a component's, and has
# the digests of its weights.
_KNOWN_BY = "config.cfg", "meta.json", "*/cfg"

# Linux: see renameat2(2).
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def save(nlp: Language, path: str | Path) -> None:
    """Save a pipeline so that the folder has the old one or the new one at any moment.

    The new one is written into a folder beside, flushed to the disk, and then both
    folders exchange their names: in one step on Linux. Elsewhere, and on file systems
    that cannot do that, there is a moment without a folder: interrupted just then, the
    old pipeline is in ".NAME.<letters>.old". What an interrupted save left beside is
    removed by the next one; one process at a time may save to a path.

    nlp (Language): Any pipeline.
    path (Union[str, Path]): A folder. Files in it that are no part of the pipeline
        stay. A link to a folder leads there.
    RAISES (OSError): It cannot be written, such as on a full disk; what was there is
        still there.
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; expected a folder to write to.")
    _tidy(path)
    mark = uuid4().hex[:12]
    new, old = (path.with_name(f".{path.name}.{mark}.{x}") for x in ("new", "old"))
    try:
        nlp.to_disk(new)
        _flush(new)
        if not path.exists():
            new.rename(path)
        elif _exchange(new, path):
            new.rename(old)
        else:
            path.rename(old)
            new.rename(path)
        flush_names(path.parent)
    finally:
        _tidy(path)


def load(path: str | Path, *, verify: bool = True, **settings: Any) -> Language:
    """Load a pipeline: `spacy.load`, with one more choice.

    path (Union[str, Path]): A folder, or the name of an installed package.
    verify (bool): Whether the files of each component of ours are compared with the
        SHA-256 that was saved with them, which takes .5 to 1 ms a MB. False: for a
        folder that was verified before and that nobody else writes to. A changed bit
        is not found then, and weights are read from the disk when they are needed.
    settings (Any): Those of `spacy.load`.
    RETURNS (Language): The pipeline.
    RAISES (ValueError): HS061 to HS064 a component is not what was saved.
    """
    from spacy.util import load_model

    token = verifies.set(verify)
    try:
        return load_model(path, **settings)
    finally:
        verifies.reset(token)


def digest_of(folder: Path) -> str:
    """Returns the SHA-256 of the files by which a saved pipeline is known."""
    digest = hashlib.sha256()
    for pattern in _KNOWN_BY:
        for path in sorted(folder.glob(pattern)):
            data = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(data)} ".encode())
            digest.update(data)
    return digest.hexdigest()


def _exchange(first: Path, second: Path) -> bool:
    """Exchanges the names of two folders in one step. Returns whether this system and
    this file system can."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        names = os.fsencode(first), os.fsencode(second)
        args = _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
        return bool(rename(*args) == 0)
    return False


def _tidy(path: Path) -> None:
    """Removes what this save or interrupted ones have left beside: an old pipeline only
    if there is a new one, which gets its files that are no part of it."""
    for folder in _beside(path, "new"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in _beside(path, "old") if path.exists() else ():
        for entry in folder.iterdir():
            if not (path / entry.name).exists():
                with suppress(OSError):
                    entry.rename(path / entry.name)
        shutil.rmtree(folder, ignore_errors=True)


def _beside(path: Path, kind: str) -> list[Path]:
    return [*path.parent.glob(f".{escape(path.name)}.*.{kind}")]


def _flush(folder: Path) -> None:
    """Writes all files to the disk: a power cut afterwards leaves none empty."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(Path(root) / name, "rb") as file:
                os.fsync(file.fileno())
        flush_names(Path(root))
