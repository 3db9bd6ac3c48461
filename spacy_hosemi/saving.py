"""Whole pipelines on disk: `spacy_hosemi.save` and `spacy_hosemi.load`."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from spacy.language import Language
from spacy.util import load_model

from .component.saved_files import flush_names, read_unchanged, verifies
from .errors import Errors

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Files by which a pipeline is known; */cfg has the digests of a component's weights.
_KNOWN_BY = "config.cfg", "meta.json", "*/cfg"

# File systems have names of 255 bytes at most; what is put around takes 19.
_MOST_BYTES = 230

# Linux: see renameat2(2).
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def save(nlp: Language, path: str | Path) -> None:
    """Save a pipeline so that the folder has the old one or the new one at any moment.

    The new one is written into a folder beside, flushed to the disk, and then both
    folders exchange their names: in one step on Linux. Elsewhere, and on file systems
    that cannot do that, there is a moment without a folder: interrupted just then, the
    old pipeline is in ".NAME.<letters>.old". What an interrupted save left beside is
    removed by the next one. A folder that cannot be renamed, a mount point or the
    working folder, gets the new parts one by one, each as a whole: interrupted between
    two of them, it has parts of both pipelines, and should be saved again.

    nlp (Language): Any pipeline.
    path (Union[str, Path]): A folder. Files in it that are no part of the pipeline
        stay, and so do modes and groups. A link to a folder leads there.
    RAISES (OSError): It cannot be written, such as on a full disk; what was there is
        still there. HS367 another thread or process is saving to this path (not on
        Windows, where one at a time may).
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; expected a folder to write to.")
    is_fixed = _is_fixed(path)
    where = path if is_fixed else path.parent
    with locked(where, path):
        _tidy(where, path)
        mark = f"{_prefix(path)}{uuid4().hex[:12]}"
        new, old = (where / f"{mark}.{kind}" for kind in ("new", "old"))
        try:
            nlp.to_disk(new)
            if path.exists():
                _keep_rights(path, new)
            _flush(new)
            if is_fixed:
                _move_into(new, path)
            elif not path.exists():
                new.rename(path)
            elif _exchange(new, path):
                new.rename(old)
            else:
                path.rename(old)
                new.rename(path)
            flush_names(where)
        finally:
            _tidy(where, path)


def load(path: str | Path, *, verify: bool = True, **settings: Any) -> Language:
    """Load a pipeline as `spacy.load` does, with one more choice, and of one folder: if
    `save` exchanges it meanwhile, all is read again.

    path (Union[str, Path]): A folder, or the name of an installed package.
    verify (bool): Whether the files of each component of ours are compared with the
        SHA-256 that was saved with them, which takes .5 to 1 ms a MB. False: for a
        folder that was verified before and that nobody else writes to. A changed bit
        is not found then, and weights are read from the disk when they are needed.
    settings (Any): Those of `spacy.load`.
    RETURNS (Language): The pipeline.
    RAISES (ValueError): HS061 to HS064 a component is not what was saved.
        (OSError): HS367 others save there again and again.
    """
    token = verifies.set(verify)
    try:
        return read_unchanged(Path(path), lambda: load_model(path, **settings))
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
    """Exchanges the names of two folders in one step; returns whether that is done."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        names = os.fsencode(first), os.fsencode(second)
        args = _AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE
        return bool(rename(*args) == 0)
    return False


def _is_fixed(path: Path) -> bool:
    """Returns whether a folder cannot be renamed, or should not, as processes work in
    it."""
    with suppress(OSError):  # the working folder may be gone
        return os.path.ismount(path) or Path.cwd().is_relative_to(path)
    return False


@contextmanager
def locked(where: Path, path: Path) -> Iterator[None]:
    """Locks a path for all processes; raises BlockingIOError HS367 if it is locked."""
    if fcntl is None:
        yield
        return
    lock = where / f"{_prefix(path)}lock"
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                break
        except BlockingIOError:
            number = os.read(handle, 20).decode() or "unknown"
            os.close(handle)
            error = Errors.HS367.format(path=str(path), found=number)
            raise BlockingIOError(error) from None
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks
            break
        os.close(handle)  # of a file that another process has removed meanwhile
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _prefix(path: Path) -> str:
    """Returns the begin of names of what stands beside a path; of a long name a digest,
    as file systems have names of up to 255 bytes."""
    name = path.name
    if len(os.fsencode(name)) > _MOST_BYTES:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}."


def _move_into(new: Path, path: Path) -> None:
    """Moves entries of a folder in `path` up to it; what they replace is left there."""
    for entry in sorted(new.iterdir()):
        target = path / entry.name
        if not target.exists():
            entry.rename(target)
        elif not _exchange(entry, target):
            target.rename(new / f"{entry.name}.old")
            entry.rename(target)


def _keep_rights(old: Path, new: Path) -> None:
    """Gives files and folders the modes and groups of those of the same names, where
    the user may; new ones get the group of a folder that hands it down."""
    for path in (new, *new.rglob("*")):
        before = old / path.relative_to(new)
        with suppress(OSError):
            if before.exists():
                found = before.stat()
                os.chown(path, -1, found.st_gid)
                path.chmod(stat.S_IMODE(found.st_mode))
            elif before.parent.stat().st_mode & stat.S_ISGID:
                os.chown(path, -1, before.parent.stat().st_gid)


def _tidy(where: Path, path: Path) -> None:
    """Removes what this save or interrupted ones have left: an old pipeline only if
    there is a new one, which gets its files that are no part of it."""
    for folder in _beside(where, path, "new"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in _beside(where, path, "old") if path.exists() else ():
        for entry in folder.iterdir():
            if not (path / entry.name).exists():
                with suppress(OSError):
                    entry.rename(path / entry.name)
        shutil.rmtree(folder, ignore_errors=True)


def _beside(where: Path, path: Path, kind: str) -> list[Path]:
    """Returns what saves to this path have left; ".m-1.0.<letters>.old" is of m-1.0."""
    pattern = re.compile(rf"{re.escape(_prefix(path))}[0-9a-f]{{12}}\.{kind}")
    return [x for x in where.iterdir() if pattern.fullmatch(x.name)]


def _flush(folder: Path) -> None:
    """Writes all files to the disk: a power cut afterwards leaves none empty."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(Path(root) / name, "rb") as file:
                os.fsync(file.fileno())
        flush_names(Path(root))
