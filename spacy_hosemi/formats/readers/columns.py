"""A token a line, its tag in the last column, a blank line between texts.

CoNLL-2003 and its kin. Tags are those of BIO (IOB2), IOB1, IO, BILUO or BIOES, or plain
labels with O; which of them is seen from all tags of a file. Columns are separated by
tabs, or by blanks if there is no tab. `-DOCSTART-` begins a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..sources import Source
from ..texts import Fault, Found, Skipped, from_tokens, shown
from .base import Reader, Settings
from .tags import TagError, find_scheme, spans_of

TAG = re.compile(r"(?:O|[BILUESM][-_].+)$")
N_SAMPLED = 200
DOCSTART = "-DOCSTART-"
UNREAD = "column(s) between token and tag, such as parts of speech"


@dataclass(frozen=True)
class Row:
    """One token: its line, its word, its tag."""

    line: int
    word: str
    tag: str


def _recognizes(source: Source) -> bool:
    lines = [x for x in source.text.split("\n")[:N_SAMPLED] if x.strip()]
    rows = [x for x in lines if not x.startswith("#")]
    tags = [x.split()[-1] for x in rows if len(x.split()) > 1]
    return bool(tags) and sum(bool(TAG.match(x)) for x in tags) >= 0.8 * len(rows)


def _read(source: Source, settings: Settings) -> Iterator[Found]:
    separator = _separator(source.text)
    n_columns = _usual_columns(source.text, separator)
    blocks = list(_blocks(source, separator, n_columns))
    tags = [row.tag for block in blocks if isinstance(block, Block) for row in block]
    scheme = find_scheme(tags)
    yield from [Skipped(UNREAD)] * (n_columns - 2)
    for block in blocks:
        if isinstance(block, Fault):
            yield block
            continue
        words = tuple(row.word for row in block)
        try:
            spans = spans_of([row.tag for row in block], scheme)
        except TagError as e:
            yield Fault(source.path, block[e.index].line, str(e))
            continue
        spans = [span._replace(line=block[span.start].line) for span in spans]
        text = from_tokens(words, tuple(spans), source.path, block[0].line)
        yield replace(text, has_offsets=False, meta=block.meta)


class Block(list[Row]):
    """The rows of one text, and what comments say of it."""

    def __init__(self, rows: Sequence[Row], meta: dict[str, str]) -> None:
        super().__init__(rows)
        self.meta = meta


def _separator(text: str) -> re.Pattern[str]:
    return re.compile(r"\t" if "\t" in text else "[ ]+")


def _blocks(
    source: Source, separator: re.Pattern[str], n_columns: int
) -> Iterator[Block | Fault]:
    """The texts of a file; one with a faulty line is a fault for each such line."""
    rows: list[Row] = []
    faults: list[Fault] = []
    comments: dict[str, str] = {}
    n_documents = 0
    for number, line in enumerate([*source.text.split("\n"), ""], start=1):
        line = line.rstrip("\r")
        columns = [x.strip() for x in separator.split(line.strip(" "))]
        if not line.strip():
            if rows or faults:
                yield from faults
                if not faults:
                    yield Block(rows, _meta(comments, n_documents))
                rows, faults, comments = [], [], {}
        elif columns[0] == DOCSTART:
            n_documents, comments = n_documents + 1, {}
        elif _is_comment(line, columns, n_columns):
            comments |= _comment(line)
        elif len(columns) < 2 or not columns[0] or not columns[-1]:
            message = f"expected a token and a tag, found {shown(line.strip())}"
            faults.append(Fault(source.path, number, message))
        elif len(columns) != n_columns:
            found = f"{len(columns)} columns, {shown(line.strip())}"
            message = f"has {found}; expected {n_columns}, as most lines have"
            faults.append(Fault(source.path, number, message))
        else:
            rows.append(Row(number, columns[0], columns[-1]))


def _usual_columns(text: str, separator: re.Pattern[str]) -> int:
    counts: dict[int, int] = {}
    for line in text.split("\n"):
        n = len(separator.split(line.rstrip("\r").strip(" "))) if line.strip() else 0
        if n > 1 and not line.startswith("#"):
            counts[n] = counts.get(n, 0) + 1
    return max(counts, key=lambda n: (counts[n], n), default=2)


def _is_comment(line: str, columns: list[str], n_columns: int) -> bool:
    """`# id = 3` is a comment, a token `#` with its tag is none."""
    is_row = len(columns) == n_columns and TAG.match(columns[-1])
    return line.startswith("#") and not is_row


def _comment(line: str) -> dict[str, str]:
    found = re.findall(r"([\w-]+)\s*=\s*(\S+)", line)
    match = re.match(r"#\s*([\w-]+)\s+([^\s=]+)", line)
    return dict(found) | ({match[1]: match[2]} if match else {})


def _meta(comments: dict[str, str], n_documents: int) -> dict[str, str]:
    return {**comments, **({"docstart": str(n_documents)} if n_documents else {})}


READER = Reader("columns", _recognizes, _read)
