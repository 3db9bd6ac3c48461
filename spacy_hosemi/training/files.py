"""Files that a fit writes."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import Errors


def output_path(name: str, path: str) -> Path:
    """RETURNS (Path): Of a file that need not exist, in a folder that does.

    name (str): Of the setting, for the message.
    RAISES (ValueError): HS270 no such folder, or the path is a folder itself.
    """
    found = Path(path)
    if reason := _why_no_file(found):
        raise ValueError(Errors.HS270.format(name=name, path=path, reason=reason))
    return found


def _why_no_file(path: Path) -> str:
    """Why no file can be there, in words; empty: it may be."""
    try:
        if not path.parent.is_dir():
            return f"{str(path.parent)!r} is no folder"
        return "it is a folder itself" if path.is_dir() else ""
    except OSError as e:  # as of a folder that may not be entered, or a name too long
        return f"it cannot be reached ({e.strerror})"


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one place, as by a link."""
    return os.path.realpath(one) == os.path.realpath(other)
