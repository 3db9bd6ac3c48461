"""Files of names, and of words with a value, read one entry at a time.

Plain text, patterns of spaCy's EntityRuler, and tables; each also compressed by gzip.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from ...errors import Errors, Warnings
from ...text.rows import next_row
from ...values import shown

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (".txt", ".jsonl", *DELIMITERS)

# Keys of a token pattern whose value is the text of the token.
TOKEN_KEYS = ("TEXT", "ORTH", "LOWER", "NORM", "LEMMA")

# A decompressed file has at most MOST_BYTES plus MOST_TIMES the compressed size: names
# have three to ten times that size. A line has at most MOST_CHARS characters.
MOST_TIMES, MOST_BYTES = 100, 2**26
MOST_CHARS = 2**20


def make_gazetteer_reader(
    path: str | Path,
    column: str | int | None = None,
    label: str | None = None,
    encoding: str = "utf8",
) -> Callable[[], Iterator[str]]:
    """A reader of the entries of a gazetteer; it opens the file when it is called.

    path (Union[str, Path]): A file that ends in .txt (one entry a line), .jsonl
        (patterns of spaCy's EntityRuler), .csv or .tsv, or in one of these and .gz.
    column (Optional[Union[str, int]]): Of a table, the column of the entries: its name
        in the first row, or its index from 0 if there is no such row. None is index 0.
    label (Optional[str]): Of patterns, read only those with this label; None: all.
    encoding (str): Of the file. A byte order mark is skipped.
    RETURNS (Callable[[], Iterator[str]]): Yields entries in the order of the file, with
        duplicates, white space normalized, none empty. Raises ValueError HS080 to
        HS088, HS314, HS315.
    """
    return partial(_read_entries, Path(path), column, label, encoding)


def make_folder_reader(
    folder: str | Path | None, encoding: str = "utf8"
) -> Callable[[Iterable[str]], dict[str, Callable[[], Iterator[str]]]]:
    """Readers of all lists of a model from one folder.

    Registered as "spacy_hosemi.read_gazetteers.v1" in `readers`.

    folder (Optional[Union[str, Path]]): Has a file for each list, named after the list,
        such as journals.txt; see `make_gazetteer_reader` for other endings. None: all
        lists are empty.
    encoding (str): Of the files.
    RETURNS (Callable): From the names of the lists to the reader of each. Lists without
        a file are empty, with a warning (HSW31); if no list has one, each reader raises
        ValueError HS080.
    """
    return partial(_folder_readers, folder, encoding)


def _folder_readers(
    folder: str | Path | None, encoding: str, names: Iterable[str]
) -> dict[str, Callable[[], Iterator[str]]]:
    names = list(names)
    if folder is None:
        return dict.fromkeys(names, no_entries)
    paths = {name: _path_of(Path(folder), name) for name in names}
    missing = [name for name in names if not paths[name].exists()]
    if len(missing) == len(names):
        missing = []  # the folder is wrong: say so
    if missing:
        shown = ", ".join(missing)
        warnings.warn(Warnings.HSW31.format(folder=folder, names=shown), stacklevel=3)
    readers = {x: make_gazetteer_reader(paths[x], encoding=encoding) for x in names}
    return {**readers, **dict.fromkeys(missing, no_entries)}


def _path_of(folder: Path, name: str) -> Path:
    """Returns the file of a list; if there is none, its first possible path."""
    endings = [suffix + gz for gz in ("", ".gz") for suffix in SUFFIXES]
    paths = [folder / f"{name}{ending}" for ending in endings]
    return next((path for path in paths if path.exists()), paths[0])


def no_entries() -> Iterator[str]:
    """Returns the entries of an empty list."""
    return iter(())


def make_table_reader(
    path: str | Path, word: str | int = 0, value: str | int = 1, encoding: str = "utf8"
) -> Callable[[], Iterator[tuple[str, str]]]:
    """A reader of a table of words; it opens the file when it is called.

    path (Union[str, Path]): A file that ends in .csv or .tsv, or in one of these and
        .gz.
    word, value (Union[str, int]): The columns of the words and of their values: names
        in the first row, or indices from 0 if there is no such row.
    encoding (str): Of the file. A byte order mark is skipped.
    RETURNS (Callable[[], Iterator[Tuple[str, str]]]): Yields words and their values in
        the order of the file, without rows where one of them is empty. Raises
        ValueError HS080 to HS088, HS314, HS315.
    """
    return partial(_read_table, Path(path), (word, value), encoding)


def _read_table(
    path: Path, columns: tuple[str | int, str | int], encoding: str
) -> Iterator[tuple[str, str]]:
    suffix = _check_path(path, tuple(DELIMITERS))
    lines = _read_lines(path, encoding)
    rows = _read_columns(path, lines, columns, DELIMITERS[suffix])
    wanted = "word {!r} and value {!r}".format(*columns)
    for cells in _not_blank(path, rows, wanted):
        yield cells[0], cells[1]


def _read_entries(
    path: Path, column: str | int | None, label: str | None, encoding: str
) -> Iterator[str]:
    suffix = _check_path(path)
    _check_arguments(path, suffix, column, label)
    lines = _read_lines(path, encoding)
    if suffix in DELIMITERS:
        rows = _read_columns(path, lines, [column or 0], DELIMITERS[suffix])
    else:
        texts = _read_patterns(path, lines, label) if suffix == ".jsonl" else lines
        rows = ([text] for text in texts)
    for row in _not_blank(path, rows, f"column {column!r} and label {label!r}"):
        yield row[0]


def _not_blank(
    path: Path, rows: Iterable[list[str]], wanted: str
) -> Iterator[list[str]]:
    """Yields rows with normalized white space and no blank cell; raises HS082 if there
    are none."""
    is_empty = True
    for row in rows:
        cells = [*map(_normalize, row)]
        if all(cells):
            is_empty = False
            yield cells
    if is_empty:
        raise ValueError(Errors.HS082.format(path=path, wanted=wanted))


def _normalize(text: str) -> str:
    return " ".join(text.split())


def _check_path(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Returns the suffix of a file, without .gz; raises HS080, HS081 if it cannot be
    read."""
    if not path.exists():
        raise ValueError(Errors.HS080.format(path=path))
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if path.is_dir() or suffix not in suffixes:
        found = "a folder" if path.is_dir() else f"a file with the suffix {suffix!r}"
        text = Errors.HS081.format(path=path, found=found, expected=", ".join(suffixes))
        raise ValueError(text)
    return suffix


def _check_arguments(
    path: Path, suffix: str, column: str | int | None, label: str | None
) -> None:
    """Refuses a column or label that would be ignored."""
    for name, value, has_meaning, why in (
        ("column", column, suffix in DELIMITERS, "only .csv and .tsv have columns"),
        ("label", label, suffix == ".jsonl", "only .jsonl has labels"),
    ):
        if value is not None and not has_meaning:
            args = {"name": name, "found": value, "path": path}
            raise ValueError(Errors.HS086.format(**args, expected=f"null, since {why}"))


# --- lines ----------------------------------------------------------------------------


def _open(path: Path, encoding: str) -> IO[str]:
    is_gzip = path.suffix.lower() == ".gz"
    try:
        if codecs.lookup(encoding).name == "utf-8":
            encoding = "utf-8-sig"
        # newline="": the csv module sees the line ends inside of quotes itself.
        if is_gzip:
            return io.TextIOWrapper(_Decompressed(path), encoding=encoding, newline="")
        return path.open(encoding=encoding, newline="")
    except LookupError as error:
        expected = "a text encoding that Python knows, such as utf8 or latin1"
        found = {"name": "encoding", "found": encoding, "path": path}
        raise ValueError(Errors.HS086.format(**found, expected=expected)) from error


class _Decompressed(gzip.GzipFile):
    """Decompresses a file while it is read; raises HS314 if it grows to much more than
    any list does."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._path = path
        self._most = MOST_BYTES + MOST_TIMES * path.stat().st_size
        self._n_read = 0

    def read1(self, size: int = -1) -> bytes:
        data = super().read1(size)
        self._n_read += len(data)
        if self._n_read > self._most:
            raise ValueError(
                Errors.HS314.format(path=self._path, most=self._most, times=MOST_TIMES)
            )
        return data


def _read_lines(path: Path, encoding: str) -> Iterator[str]:
    """Yields lines with their ends; errors give the number of the line."""
    number = 0
    with _open(path, encoding) as lines:
        try:
            while line := lines.readline(MOST_CHARS + 1):
                number += 1
                if len(line) > MOST_CHARS:
                    text = Errors.HS315.format(path=path, line=number, most=MOST_CHARS)
                    raise ValueError(text)
                yield line
        except UnicodeError as error:
            found: object = error
            number += 1
            if isinstance(error, UnicodeDecodeError):  # not all codecs say where
                # Files are decoded in blocks. Lines that end before this block have
                # been yielded; those that end in the block before the error have not.
                before = error.object[: error.start].decode(error.encoding, "replace")
                number += len(re.findall(r"\r\n?|\n", before))
                found = error.object[error.start : error.end]
            args = {"path": path, "line": number, "encoding": encoding}
            raise ValueError(Errors.HS083.format(**args, found=found)) from error
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise ValueError(Errors.HS087.format(path=path, found=error)) from error


# --- patterns -------------------------------------------------------------------------


def _read_patterns(
    path: Path, lines: Iterator[str], label: str | None
) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found_label, pattern = _parse_pattern(line)
            # Patterns with other labels are not read: they may have operators.
            is_wanted = label is None or label == found_label
            text = _text_of(pattern) if is_wanted else ""
            text.encode("utf8")  # JSON may have half of a surrogate pair, "\ud83d"
        except ValueError as error:
            where, expected = {"path": path, "line": number}, list(TOKEN_KEYS)
            message = Errors.HS085.format(**where, found=error, expected=expected)
            raise ValueError(message) from error
        yield text


# Errors of the functions below say what is wrong; `_read_patterns` adds the line.


def _parse_pattern(line: str) -> tuple[str, object]:
    """Returns the label and the pattern of one line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown(line.strip())} is not JSON") from error
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not an object")
    for key in ("label", "pattern"):
        if key not in value:
            raise ValueError(f"{shown(value)} has no {key!r}")
    if not isinstance(value["label"], str):
        raise ValueError(f"the label {shown(value['label'])} is not a string")
    return value["label"], value["pattern"]


def _text_of(pattern: object) -> str:
    if isinstance(pattern, str):
        return pattern
    if not isinstance(pattern, list) or not pattern:
        raise ValueError(f"the pattern {shown(pattern)} is no string and no tokens")
    return " ".join(map(_text_of_token, pattern))


def _text_of_token(token: object) -> str:
    if isinstance(token, dict) and len(token) == 1:
        ((key, value),) = token.items()
        # The case of keys does not matter to spaCy's Matcher either.
        if key.upper() in TOKEN_KEYS and isinstance(value, str):
            return value
    raise ValueError(f"the token pattern {shown(token)} is not supported")


# --- tables ---------------------------------------------------------------------------


def _read_columns(
    path: Path, lines: Iterator[str], columns: Sequence[str | int], delimiter: str
) -> Iterator[list[str]]:
    """Yields the cells of some columns, row by row."""
    rows = _read_rows(path, lines, delimiter)
    indices = [column if isinstance(column, int) else 0 for column in columns]
    if any(isinstance(column, str) for column in columns):
        for number, cells in rows:  # the first row, if there is one
            names = list(map(_normalize, cells))
            for k, column in enumerate(columns):
                if isinstance(column, str):
                    if column not in names:
                        raise _no_column(path, number, column, f"the columns {names}")
                    indices[k] = names.index(column)
            break
    for number, cells in rows:
        for column, index in zip(columns, indices):
            if not 0 <= index < len(cells):
                found = f"a row of length {len(cells)}"
                raise _no_column(path, number, column, found)
        yield [cells[index] for index in indices]


def _no_column(
    path: Path, number: int, column: str | int | None, found: str
) -> ValueError:
    message = Errors.HS084.format(path=path, line=number, column=column, found=found)
    return ValueError(message)


def _read_rows(
    path: Path, lines: Iterator[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yields rows that are not blank, each with the number of its first line."""
    # Unless strict, all text after an unclosed quote would become one cell.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next_row(reader)
        except csv.Error as error:
            raise ValueError(
                Errors.HS088.format(path=path, line=number, found=error)
            ) from error
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield number, cells
