"""The files that the minimizations of a training write: a log and a checkpoint."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import Errors
from .checkpoint import Checkpoint, SavedFit
from .fit_log import FitLog
from .training_set import Floats, Trainable, TrainingSet


class FitFiles:
    """Writes the log, and the checkpoint every `checkpoint_every` seconds.

    RAISES (ValueError): HS270 the folder of a file does not exist; HS300 `log` is
        another file; HS301 both files are one.
    """

    def __init__(
        self,
        log: str | None = None,
        checkpoint: str | None = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.log = None if log is None else FitLog(_output_path("fit.log", log))
        self.checkpoint = None
        if checkpoint is not None:
            self.checkpoint = Checkpoint(_output_path("fit.checkpoint", checkpoint))
        if log is not None and checkpoint is not None:
            if os.path.realpath(log) == os.path.realpath(checkpoint):
                raise ValueError(Errors.HS301.format(log=log, checkpoint=checkpoint))
        self._every, self._saved = checkpoint_every, time.monotonic()
        self._part, self._identity = 0, dict[str, str]()

    def begin(self, batch: Trainable) -> SavedFit | None:
        """Begins the next minimization: a `TrainingSet` begins a training, whatever is
        none belongs to the one before. Returns where an earlier run of it was.

        RAISES (ValueError): HS272 the checkpoint is of other features or labels.
        """
        is_first = isinstance(batch, TrainingSet)
        self._part = 0 if is_first else self._part + 1
        self._saved, saved = time.monotonic(), None
        if self.checkpoint is not None:
            self._identity = batch.identity()
            saved = self.checkpoint.part(self._part, self._identity)
        if self.log is not None and is_first and saved is None:
            self.log.begin()
        return saved

    def add_event(self, event: str, iteration: int, **values: Any) -> None:
        """Writes a line of the log, if there is one."""
        if self.log is not None:
            where = {"part": self._part, "iteration": iteration}
            self.log.add(event, **where, **values)

    @property
    def is_time_to_save(self) -> bool:
        """Whether the checkpoint is as old as it may get."""
        is_old = time.monotonic() - self._saved >= self._every
        return self.checkpoint is not None and is_old

    def save(self, weights: Floats, settings: Mapping[str, Any], **values: Any) -> None:
        """Writes the checkpoint, if there is one; for `values` see `SavedFit`."""
        if self.checkpoint is not None:
            about = dict(settings), self._identity
            self.checkpoint.write(self._part, SavedFit(weights, *about, **values))
        self._saved = time.monotonic()


def _output_path(name: str, path: str) -> Path:
    """Returns the path of a file that need not exist, in a folder that does.

    RAISES (ValueError): HS270 no such folder, or the path is a folder itself.
    """
    if reason := _why_no_file(Path(path)):
        raise ValueError(Errors.HS270.format(name=name, path=path, reason=reason))
    return Path(path)


def _why_no_file(path: Path) -> str:
    """Returns why no file can be there, in words; empty: it may be."""
    try:
        if not path.parent.is_dir():
            return f"{str(path.parent)!r} is no folder"
        return "it is a folder itself" if path.is_dir() else ""
    except OSError as e:  # as of a folder that may not be entered, or a name too long
        return f"it cannot be reached ({e.strerror})"
