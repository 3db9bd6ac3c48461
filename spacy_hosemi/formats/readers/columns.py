"""A token a line with its tag in another column, a blank line between texts.

CoNLL-2003 and its kin. Tags are those of BIO (IOB2), IOB1, IO, BILUO or BIOES, plain
labels with O, or brackets as in OntoNotes; which of them is seen from all tags of a
file. Columns are separated by tabs, or by blanks if there is no tab. `-DOCSTART-`
begins a document. A line that begins with # is a comment if it cannot be a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import Errors
from ..sources import SourceText
from ..texts import Fault, Found, Skipped, shown
from .base import FormatReader, ReaderSettings
from .tags import BRACKETS, Row, find_scheme, text_of_rows

TAG = re.compile(r"(?:O|[BILUESM][-_].+)$")
KEY_VALUE = re.compile(r"#\s*[\w.-]+\s*=\s")
N_SAMPLED = 200
DOCSTART = "-DOCSTART-"
UNREAD = "column(s); tokens are in column {token}, tags in {tag}: see --columns"


# The rows of one text, and what comments say of it.
Block = tuple[list[Row], dict[str, str]]


class ColumnLayout(NamedTuple):
    """Where the words and tags of a file are."""

    separator: re.Pattern[str]
    n: int  # how many columns a line has; 0: that may differ
    token: int  # columns, from 0; below 0 from the last one
    tag: int
    widths: frozenset[int]  # how many columns rows have
    has_tags: bool  # whether all tags, not some, are those of a scheme, such as B-PER


def _recognizes(source: SourceText) -> bool:
    lines = [x for x in source.text.split("\n")[:N_SAMPLED] if x.strip()]
    rows = [x for x in lines if not x.startswith("#")]
    tags = [x.split()[-1] for x in rows if len(x.split()) > 1]
    return bool(tags) and sum(bool(TAG.match(x)) for x in tags) >= 0.8 * len(rows)


def read_columns(text: str) -> tuple[int, int]:
    """Returns the columns of token and tag, from 1; below 0 from the last one. Raises
    ValueError: HS210 something else."""
    match = re.fullmatch(r"token=(-?[1-9]\d?),tag=(-?[1-9]\d?)", text.replace(" ", ""))
    if not match or match[1] == match[2]:
        raise ValueError(Errors.HS210.format(found=text))
    return int(match[1]), int(match[2])


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    layout = _layout(source.text, settings.columns)
    blocks = list(_blocks(source, layout))
    tags = [row.tag for x in blocks if isinstance(x, tuple) for row in x[0]]
    scheme = find_scheme(tags)
    if not settings.columns:
        said = UNREAD.format(token=layout.token + 1, tag=layout.n)
        yield from [Skipped(said)] * (layout.n - 2)
    for block in blocks:
        if isinstance(block, Fault):
            yield block
            continue
        rows, meta = block
        yield text_of_rows(rows, scheme, source.path, meta)


def _layout(text: str, places: tuple[int, int] | None) -> ColumnLayout:
    """Returns the layout that was asked for; else tokens are in the first column, or in
    the second if the first one counts them, and tags in the last."""
    separator = re.compile(r"\t" if "\t" in text else "[ ]+")
    lines = (line.rstrip("\r").strip(" ") for line in text.split("\n"))
    rows = [separator.split(x) for x in lines if x.strip()]
    rows = [row for row in rows if len(row) > 1 and row[0] != DOCSTART]
    rows = [row for row in rows if not row[0].startswith("#")] or rows
    counts = Counter(map(_width, rows))
    if places:
        n, widths = 0, frozenset(counts)
        token, tag = (x - 1 if x > 0 else x for x in places)
    else:
        n = max(counts, key=lambda n: (counts[n], n), default=2)
        widths = frozenset([n])
        first = [row[0] for row in rows[:N_SAMPLED]]
        token, tag = int(n > 2 and _is_count(first)), n - 1
    has_tags = all(_is_tag(_cell(row, tag)) for row in rows if _width(row) in widths)
    return ColumnLayout(separator, n, token, tag, widths, has_tags)


def _width(columns: list[str]) -> int:
    """Returns how many columns a line has; an empty one at its end does not count."""
    return len(columns) - (not columns[-1])


def _cell(columns: list[str], index: int) -> str:
    """Returns a column; "" if there is none."""
    is_there = -len(columns) <= index < len(columns)
    return columns[index] if is_there else ""


def _is_tag(cell: str) -> bool:
    return bool(TAG.match(cell) or BRACKETS.fullmatch(cell))


def _is_count(values: list[str]) -> bool:
    """Returns whether values are 1, 2, 3 .. and then perhaps 1, 2, .. again."""
    before, most = 0, 0
    for value in values:
        if value not in ("1", str(before + 1)):
            return False
        before = int(value)
        most = max(most, before)
    return most > 1


def _blocks(source: SourceText, layout: ColumnLayout) -> Iterator[Block | Fault]:
    """Yields the texts of a file; one with a faulty line is a fault for each such
    line."""
    rows: list[Row] = []
    faults: list[Fault] = []
    comments: dict[str, str] = {}
    n_documents = 0
    for number, line in enumerate([*source.text.split("\n"), ""], start=1):
        line = line.rstrip("\r")
        columns = [x.strip() for x in layout.separator.split(line.strip(" "))]
        is_start = DOCSTART in (columns[0], _cell(columns, layout.token))
        if is_start or not line.strip():
            if rows or faults:
                yield from faults
                if not faults:
                    yield rows, _meta(comments, n_documents)
                rows, faults, comments = [], [], {}
            if is_start:
                n_documents, comments = n_documents + 1, {}
        elif _is_comment(line, columns, layout):
            comments |= _comment(line)
        else:
            row = _row(line, columns, number, layout)
            if isinstance(row, Row):
                rows.append(row)
            else:
                faults.append(Fault(source.path, number, row))


def _row(line: str, columns: list[str], number: int, layout: ColumnLayout) -> Row | str:
    """Returns a token, or what is wrong with its line."""
    if layout.n and len(columns) == layout.n + 1 and not columns[-1]:
        columns = columns[:-1]
    if layout.n and 1 < len(columns) != layout.n:
        what = f"{len(columns)} columns, {shown(line.strip())}"
        return f"has {what}; expected {layout.n}, as most lines have"
    word, tag = _cell(columns, layout.token), _cell(columns, layout.tag)
    if len(columns) < 2 or not word or not tag:
        return f"expected a token and a tag, found {shown(line.strip())}"
    return Row(number, word, tag)


def _is_comment(line: str, columns: list[str], layout: ColumnLayout) -> bool:
    """Returns whether a line with # cannot be a row. `# id = 3` is none although it may
    have as many blanks as rows have, nor is a line without a tag where all rows have
    one."""
    if not line.startswith("#"):
        return False
    has_tabs = layout.separator.pattern == r"\t"
    if _width(columns) not in layout.widths:  # a token with its tag is a faulty row
        is_faulty = TAG.match(columns[-1]) and (len(columns) == 2 or has_tabs)
        return len(columns) == 1 or not is_faulty
    if has_tabs or _is_tag(_cell(columns, layout.tag)):
        return False
    return layout.has_tags or bool(KEY_VALUE.match(line))


def _comment(line: str) -> dict[str, str]:
    pairs = re.findall(r"([\w-]+)\s*=\s*(\S+)", line)
    match = re.match(r"#\s*([\w-]+)\s+([^\s=]+)", line)
    return dict(pairs) | ({match[1]: match[2]} if match else {})


def _meta(comments: dict[str, str], n_documents: int) -> dict[str, str]:
    return {**comments, **({"docstart": str(n_documents)} if n_documents else {})}


READER = FormatReader("columns", _recognizes, _read)
