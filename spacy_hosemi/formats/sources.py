"""Reads files as text: encodings, byte order marks, standard input, folders."""

from __future__ import annotations

import codecs
import sys
from dataclasses import dataclass
from pathlib import Path

from ..errors import Errors
from .texts import Fault

STDIN = "-"
SUFFIXES = frozenset(
    ".jsonl .json .ndjson .csv .tsv .xml .conll .iob .bio .iob2 .biluo .conllu".split()
)
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class SourceText:
    """The text of one file, line ends as they are, and how messages name it."""

    path: str
    text: str


def find_files(path: str) -> list[str]:
    """Returns the file, or the files in a folder that a reader may know. Raises
    ValueError: HS160 nothing is there."""
    if path == STDIN or Path(path).is_file():
        return [path]
    paths = sorted(p for p in Path(path).rglob("*") if p.is_file())
    files = [p for p in paths if p.suffix.lower() in SUFFIXES or p.suffix == ".ann"]
    if not files:
        what = "is a folder without one" if Path(path).is_dir() else "does not exist"
        raise ValueError(Errors.HS160.format(path=path, found=what))
    return [str(p) for p in files]


def read_source(path: str, encoding: str | None = None) -> SourceText | Fault:
    """Returns the text of a file, or why it cannot be read. Raises ValueError: HS161 if
    unknown encoding, HS160 if standard input is closed."""
    if encoding is not None:
        check_encoding(encoding)
    name = "<stdin>" if path == STDIN else path
    if path == STDIN and (sys.stdin is None or sys.stdin.closed):
        raise ValueError(Errors.HS160.format(path="-", found="is closed"))
    try:
        raw = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as e:
        return Fault(name, None, f"cannot be read: {e.strerror or e}")
    used = encoding or next((e for m, e in MARKS if raw.startswith(m)), "utf-8")
    try:
        return SourceText(name, raw.decode(used).removeprefix("\ufeff"))
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        return Fault(name, line, _undecodable(raw, used, e, is_given=bool(encoding)))
    except UnicodeError as e:  # of codecs that do not say where, such as idna
        return Fault(name, None, f"is not {used}: {e}; give --encoding")


def check_encoding(encoding: str) -> None:
    """Raises ValueError HS161 for an unknown encoding, or one of no text, as base64."""
    try:
        b" ".decode(encoding)
    except UnicodeDecodeError:  # too short
        pass
    except (LookupError, ValueError):  # ValueError: a NUL in its name
        raise ValueError(Errors.HS161.format(found=encoding)) from None


def _undecodable(
    raw: bytes, used: str, error: UnicodeDecodeError, is_given: bool
) -> str:
    """Returns what a file looks like whose bytes are not of its encoding."""
    byte = raw[error.start]
    if is_given or used != "utf-8":
        return f"is not {used}: {error.reason} (byte 0x{byte:02x}); give --encoding"
    if b"\0" in raw[:4096]:
        return "is a binary file; expected text"
    if error.end >= len(raw) and "unexpected end" in error.reason:
        return "ends within a character: the file is cut off; copy it again"
    # Windows-1252 has printable characters where Latin-1 has control characters.
    other = "cp1252" if any(0x80 <= b < 0xA0 for b in raw) else "latin-1"
    looks = f"it looks like {other}; give --encoding {other}"
    return f"is not UTF-8 (byte 0x{byte:02x}), {looks}"
