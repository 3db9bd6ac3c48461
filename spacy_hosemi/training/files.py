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
    try:
        is_fit = found.parent.is_dir() and not found.is_dir()
    except OSError:  # as of a folder that may not be entered, or a name too long
        is_fit = False
    if not is_fit:
        folder = str(found.parent)
        raise ValueError(Errors.HS270.format(name=name, path=path, folder=folder))
    return found


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one place, as by a link."""
    return os.path.realpath(one) == os.path.realpath(other)
