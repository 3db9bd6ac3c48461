"""Reads files line by line; a line that is too long is never in memory as a whole."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from .sources import MARKS
from .texts import Fault, has_half

# Of a line that is too long this much is read and forgotten at a time.
_PORTION = 2**16

UTF8 = "utf-8"
# The most bytes that a character has in UTF-8.
_MAX_BYTES = 4

# The first bytes of files that people take for text: PDF, and ZIP, as those of Office.
_BINARY = b"%PDF-", b"PK\3\4"

# This many bytes of a file show whether it is UTF-16 without a byte order mark.
_N_LOOKED_AT = 16


class Line(NamedTuple):
    """One line of a file, without its end."""

    path: str
    line: int  # in the file, from 1
    text: str
    number: int = 0  # among the lines of all files, from 1; 0: not numbered
    tokens: tuple[str, ...] | None = None  # given in place of a text, which joins them


def delimiter_of(header: str) -> str:
    """Returns what stands between the columns of a table."""
    return max(",;\t|", key=header.count)  # of none of them the comma


def read_lines(
    file: BinaryIO,
    path: str,
    max_chars: int,
    on_read: Callable[[int], object] = lambda n_bytes: None,
    encoding: str = UTF8,
) -> Iterator[Line | Fault]:
    """Yields the lines of a file, which is read as far as needed; `on_read` is told how
    many bytes were. Lines with more than `max_chars` characters are faults. A fault
    without a line is the last: what is left is no text in that encoding."""
    try:
        ends_as_ascii = "\n".encode(encoding) == b"\n"  # not so in UTF-16
    except UnicodeError:
        ends_as_ascii = False
    if not ends_as_ascii:  # lines cannot be told apart before they are decoded
        yield from _read_text(file, path, max_chars, on_read, encoding)
        return
    limit = max_chars * _MAX_BYTES + 2  # with the end of the line
    number = 0
    while data := file.readline(limit):
        number += 1
        on_read(len(data))
        if number == 1:
            if message := _unlike_lines(data):
                yield Fault(path, None, message)
                return
            data = data.removeprefix(codecs.BOM_UTF8)
        if len(data) == limit and not data.endswith(b"\n"):
            while (rest := file.readline(_PORTION)) and not rest.endswith(b"\n"):
                on_read(len(rest))
            on_read(len(rest))
            yield _too_long(path, number, max_chars)
        else:
            yield _decode(data, path, number, max_chars, encoding)


def _unlike_lines(data: bytes) -> str:
    """Returns why a file that begins with these bytes has no lines of UTF-8, or ""."""
    for mark, name in MARKS:
        if mark != codecs.BOM_UTF8 and data.startswith(mark):
            return f"has the byte order mark of {name.upper()}; give --encoding {name}"
    if data.startswith(_BINARY):
        return "is a binary file, such as a PDF or a workbook; expected text"
    for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        zeros, letters = data[first:_N_LOOKED_AT:2], data[1 - first : _N_LOOKED_AT : 2]
        if len(zeros) >= 3 and not any(zeros) and all(letters):  # no UTF-8 of a text
            return f"looks like {name.upper()}; give --encoding {name}"
    return ""


def _read_text(
    file: BinaryIO,
    path: str,
    max_chars: int,
    on_read: Callable[[int], object],
    encoding: str,
) -> Iterator[Line | Fault]:
    """Does what `read_lines` does for a file that is decoded before it is cut into
    lines. What cannot be decoded ends it."""
    n_bytes = len("xx".encode(encoding)) - len("x".encode(encoding))
    limit = max_chars + 3  # with a byte order mark and the end of the line
    decoded = io.TextIOWrapper(file, encoding, newline="\n")
    number = 0
    try:
        while data := decoded.readline(limit):
            number += 1
            on_read(len(data) * n_bytes)
            is_cut = len(data) == limit and not data.endswith("\n")
            part = data
            while is_cut and part and not part.endswith("\n"):
                part = decoded.readline(_PORTION)
                on_read(len(part) * n_bytes)
            text = data.removeprefix("\ufeff") if number == 1 else data
            text = text.removesuffix("\n").removesuffix("\r")
            yield _checked(text, path, number, max_chars)
    except UnicodeError as e:
        reason = e.reason if isinstance(e, UnicodeDecodeError) else str(e)
        message = f"is not {encoding} after line {number:,}: {reason}; see --encoding"
        yield Fault(path, None, f"{message}. What follows is left out")
    finally:
        decoded.detach()  # the file stays open


def _decode(
    data: bytes, path: str, number: int, max_chars: int, encoding: str
) -> Line | Fault:
    try:
        text = data.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
    except UnicodeDecodeError as e:
        byte = f"byte {data[e.start]:#04x} at {e.start} is no {encoding.upper()}"
        is_usual = encoding == UTF8
        hint = "give --encoding, such as cp1252" if is_usual else "see --encoding"
        return Fault(path, number, f"{byte}; {hint}")
    except UnicodeError as e:  # of codecs that do not say where, such as idna
        return Fault(path, number, f"is not {encoding}: {e}; see --encoding")
    return _checked(text, path, number, max_chars)


def _checked(text: str, path: str, number: int, max_chars: int) -> Line | Fault:
    if len(text) > max_chars:
        return _too_long(path, number, max_chars)
    if has_half(text):
        message = "has half a surrogate pair; expected a text, see --encoding"
        return Fault(path, number, message)
    return Line(path, number, text)


def _too_long(path: str, number: int, max_chars: int) -> Fault:
    length = f"more than {max_chars:,} characters"
    return Fault(path, number, f"{length}; expected at most --max-chars")
