"""Lines of files, one after the other: a line that is too long is never in memory as a
whole."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from .texts import Fault

# So much of a line that is too long is read and forgotten at a time.
_PORTION = 2**16

# The most bytes that a character has in UTF-8.
_MAX_BYTES = 4


class Line(NamedTuple):
    """A line without its end.

    path (str), line (int): Where; lines of each file count from 1.
    text (str): What it says.
    number (int): Its number among the lines of all files, from 1; 0: not numbered.
    """

    path: str
    line: int
    text: str
    number: int = 0


def delimiter_of(header: str) -> str:
    """RETURNS (str): What stands between the columns of a table.

    header (str): Its first line.
    """
    return max(",;\t|", key=header.count)  # of none of them the comma


def read_lines(
    file: BinaryIO,
    path: str,
    max_chars: int,
    on_read: Callable[[int], object] = lambda n_bytes: None,
) -> Iterator[Line | Fault]:
    """The lines of a file in UTF-8, with or without a byte order mark.

    file (BinaryIO): Read as far as needed.
    path (str): Its name.
    max_chars (int): Longer lines are bad.
    on_read (Callable): Told how many bytes were read.
    YIELDS (Union[Line, Fault]): In their order.
    """
    limit = max_chars * _MAX_BYTES + 2  # with the end of the line
    number = 0
    while data := file.readline(limit):
        number += 1
        on_read(len(data))
        is_cut = len(data) == limit and not data.endswith(b"\n")
        if is_cut:
            _skip(file, on_read)
        if number == 1:
            data = data.removeprefix(codecs.BOM_UTF8)
        yield _decode(data, path, number, max_chars, is_cut)


def _skip(file: BinaryIO, on_read: Callable[[int], object]) -> None:
    """Read up to the end of the line."""
    while data := file.readline(_PORTION):
        on_read(len(data))
        if data.endswith(b"\n"):
            return


def _decode(
    data: bytes, path: str, number: int, max_chars: int, is_cut: bool
) -> Line | Fault:
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = "" if is_cut else data.decode("utf8")
    except UnicodeDecodeError as e:
        found = f"byte {data[e.start]:#04x} at {e.start} is no UTF-8"
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            found = "a byte order mark of UTF-16 was found"
        return Fault(path, number, f"{found}; expected a line in UTF-8")
    if is_cut or len(text) > max_chars:
        found = f"more than {max_chars:,} characters"
        return Fault(path, number, f"{found}; expected at most --max-chars")
    return Line(path, number, text)
