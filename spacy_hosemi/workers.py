"""Extraction in worker processes that each load a model once, such as a cluster's.

A `TableExtractor` is small when it is pickled: it has the place of a model. A process
that calls it loads the model the first time, and again when that place holds another
one. Weights are mapped, so the processes of a machine share them.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from spacy.language import Language

from .arrow import extract, pa
from .component.saved_files import digest_of_file
from .core.arguments import MOST_THREADS, check_flag, check_whole
from .errors import Errors
from .saving import digest_of, fcntl, load
from .values import FILE_PATH, read

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")

# An unpacked archive has at most _MOST_BYTES plus _MOST_TIMES the size of the archive,
# in _MOST_FILES files: weights are packed already, so a real model grows little.
_MOST_TIMES, _MOST_BYTES, _MOST_FILES = 100, 2**28, 10_000

# What an archive raises that is damaged; and OSError and ValueError, such as of a name
# that no file can have, but those that are the fault of the disk.
_UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression that Python does not have
    RuntimeError,  # a password
)
_OF_THE_DISK = "EACCES", "EDQUOT", "EIO", "ENOSPC", "EPERM", "EROFS"

# Models that a process keeps: the one in use, and the one before while jobs overlap.
_MOST_PIPELINES = 2

_pipelines: dict[str, Language] = {}
_lock = threading.Lock()

# Open folders of unpacked archives, locked against removal as long as this process is.
_in_use: dict[Path, int] = {}
_NAME = "spacy_hosemi-"


class TableExtractor:
    """Calls `spacy_hosemi.extract` with a table of texts, in any process.

    model (Union[str, Path]): A saved pipeline, as a folder that all workers see, or an
        archive of it (.tar, .tar.gz, .tgz, .zip), which is unpacked once a machine and
        removed when the last process that used it ends; or the name of an installed
        package.
    text_col (str): The column of texts.
    id_col (Optional[str]): That of `doc_id`; None: rows of each table are numbered.
    threads (int): Threads of the component.
    explode (bool): Whether to make a row for each span, see `extract`.
    verify (bool): Whether files are compared with their digests, see `load`.
    RAISES (TypeError, ValueError): HS026 threads, explode, verify; HS043 model.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        text_col: str = "text",
        id_col: str | None = None,
        threads: int = 1,
        explode: bool = False,
        verify: bool = True,
    ) -> None:
        self.model = read("model", FILE_PATH, model)
        self.text_col, self.id_col = text_col, id_col
        self.threads = check_whole("threads", threads, 1, MOST_THREADS)
        check_flag("explode", explode)
        check_flag("verify", verify)
        self.explode, self.verify = explode, verify
        if self.model.endswith(ARCHIVES):
            _remove_at_end()

    def __call__(self, table: pa.Table | pa.RecordBatch) -> pa.Table:
        """Extract from one table.

        table (Union[Table, RecordBatch]): Has the columns of texts and of ids.
        RETURNS (Table): What `extract` gives.
        RAISES (TypeError): HS392 the table is another object, such as pandas'.
        RAISES (ValueError): HS335 no such column; HS336, HS337 there is no model; what
            `extract` raises for texts that are no strings.
        """
        if not isinstance(table, (pa.Table, pa.RecordBatch)):
            raise TypeError(Errors.HS392.format(found=type(table).__name__))
        names = {"text_col": self.text_col, "id_col": self.id_col}
        check_columns(table.schema.names, **names)
        ids = None if self.id_col is None else table.column(self.id_col)
        options: dict[str, Any] = {"threads": self.threads, "explode": self.explode}
        return extract(self.pipeline(), table.column(self.text_col), ids=ids, **options)

    def pipeline(self) -> Language:
        """Returns the model, which this process loads once."""
        folder = self._folder()
        key = self.model if folder is None else digest_of(folder)
        with _lock:
            if key not in _pipelines:
                source = self.model if folder is None else folder
                _pipelines[key] = load(source, verify=self.verify)
                for oldest in [*_pipelines][:-_MOST_PIPELINES]:
                    del _pipelines[oldest]
            return _pipelines[key]

    def place(self) -> Path:
        """Returns where this machine has the model; it need not be there."""
        return Path(self.model)

    def _folder(self) -> Path | None:
        """Returns the folder; None: a package. Raises ValueError HS336 without any."""
        path = self.place()
        if path.is_file() and path.name.endswith(ARCHIVES):
            path = unpacked(path)
        if path.is_dir():
            return path
        if not path.exists() and self.model.isidentifier():
            return None
        raise ValueError(Errors.HS336.format(found=self.model, path=path.absolute()))


def check_columns(columns: Sequence[str], **names: str | None) -> None:
    """Raises ValueError: HS335 if a table has not these columns, by argument."""
    for argument, name in names.items():
        if name is not None and name not in columns:
            text = Errors.HS335.format(argument=argument, found=name, columns=columns)
            raise ValueError(text)


def unpacked(archive: Path) -> Path:
    """Unpacks a model once a machine, for all processes of this user, to a folder that
    is named after its content. Raises ValueError: HS316 it unpacks to too much, HS337
    it is no pipeline; OSError if there is no room."""
    digest = digest_of_file(archive)
    _remove_at_end()
    own = _own_folder()
    target = own / digest[:32]
    with _locked(own):
        if not target.is_dir():
            new = Path(tempfile.mkdtemp(dir=own))
            try:
                _unpack(archive, new)
                new.rename(target)
            finally:
                shutil.rmtree(new, ignore_errors=True)
        if fcntl and target not in _in_use:  # held as long as this process is
            _in_use[target] = os.open(target, os.O_RDONLY)
            with suppress(OSError):
                fcntl.flock(_in_use[target], fcntl.LOCK_SH)
    for folder in (target, *target.iterdir()):
        if (folder / "config.cfg").is_file():
            return folder
    raise ValueError(Errors.HS337.format(path=archive, reason="it has no config.cfg"))


def _unpack(archive: Path, folder: Path) -> None:
    """Unpacks an archive into a folder. Raises ValueError as `unpacked`."""
    most = _MOST_BYTES + _MOST_TIMES * archive.stat().st_size
    n_files = n_bytes = 0

    def checked(size: int) -> None:
        nonlocal n_files, n_bytes
        n_files, n_bytes = n_files + 1, n_bytes + size
        if n_files > _MOST_FILES or n_bytes > most:
            limits = {"most": most, "most_files": _MOST_FILES}
            sizes = {"n": n_files, "found": n_bytes}
            raise ValueError(Errors.HS316.format(path=archive, **limits, **sizes))

    def member(file: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        checked(file.size)
        # no links or names that lead out of the folder, no devices
        return tarfile.data_filter(file, path)

    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as files:
                for name in files.infolist():  # no file is larger than it says
                    checked(name.file_size)
                files.extractall(folder)
        else:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter=member)
    except (*_UNREADABLE, OSError, ValueError) as error:
        is_ours = isinstance(error, ValueError) and str(error).startswith("[HS")
        number = getattr(error, "errno", None) or 0
        if is_ours or errno.errorcode.get(number, "") in _OF_THE_DISK:
            raise
        reason = str(error).partition(":")[0].partition("\n")[0]
        raise ValueError(Errors.HS337.format(path=archive, reason=reason)) from None


@contextmanager
def _locked(folder: Path, is_free: bool = False) -> Iterator[None]:
    """Locks a folder, for other processes, too; waits until it is free, or with
    is_free raises OSError if it is not."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # A file system may have no locks.
        with nullcontext() if is_free else suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if is_free else 0))
        yield
    finally:
        os.close(handle)


@lru_cache
def _remove_at_end() -> None:
    """Removes at the end of this process what no other one holds: models that it has
    unpacked, and those that processes left which were killed."""
    Finalize(None, _remove_unused, exitpriority=0)  # of workers, too


def _remove_unused() -> None:
    _pipelines.clear()
    while _in_use:
        os.close(_in_use.popitem()[1])
    own = _own_folder()
    with suppress(OSError), _locked(own):
        for folder in own.iterdir():
            with suppress(OSError), _locked(folder, is_free=True):
                shutil.rmtree(folder, ignore_errors=True)
    if not own.name.startswith(_NAME):
        shutil.rmtree(own, ignore_errors=True)


@lru_cache
def _own_folder() -> Path:
    """Returns a folder for temporary files in which nobody else can write."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"{_NAME}{user}"
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    is_own = fcntl is not None and status.st_uid == user
    if is_own and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022:
        return path
    return Path(tempfile.mkdtemp())  # of this process alone
