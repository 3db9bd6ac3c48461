"""A token a line with its tag in another column, a blank line between texts.

CoNLL-2003 and its kin, CoNLL-U, TSV 3 of WebAnno, rows of Wapiti. `tags.py` tells from
all tags of a file how they are to be read. Columns are separated by tabs, or by blanks
if there is no tab. `-DOCSTART-` begins a document. A line that begins with # is a
comment if it cannot be a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import Errors
from ..json_records import sample
from ..sources import SourceText
from ..texts import Fault, Found, Skipped, shown
from .base import FormatReader, ReaderSettings
from .tags import (
    HEADER,
    Row,
    are_tags,
    is_tag,
    labels_of,
    named_columns,
    read_scheme,
    text_of_rows,
)

KEY_VALUE = re.compile(r"#\s*[\w.-]+\s*=\s")
N_SAMPLED = 200
DOCSTART = "-DOCSTART-"
UNREAD = "column(s); tokens are in column {token}, tags in {tag}: see --columns"
PARTS = "row(s) of several words, or of parts of a word"
WEBANNO = "#FORMAT=WebAnno TSV 3"
# Layers of WebAnno that say what kind of word a token is.
OF_WORDS = frozenset("POS Lemma Stem MorphologicalFeatures SurfaceForm".split())
LAYER = re.compile(r"^#T_(SP|CH|RL)=(?:.*\.)?(\w+)((?:\|[^|\r\n]*)+)", re.MULTILINE)
# The first column of rows that are no tokens, in CoNLL-U and in WebAnno.
NUMBER = re.compile(r"\d+-\d+")  # of text and token, in WebAnno TSV 2
PART, PART_OF_WEBANNO = re.compile(r"\d+[-.]\d+"), re.compile(r"\d+-\d+\.\d+")
NUMBERED = re.compile(r"((?:\\.|[^][|\\])*)(\[\d+\])?")  # a label and its span

# The rows of one text, and what comments say of it.
Block = tuple[list[Row], dict[str, str]]


class ColumnLayout(NamedTuple):
    """Says in which columns of a file the words and tags are."""

    separator: re.Pattern[str]
    n: int  # how many columns most lines have
    token: int  # columns, from 0; below 0 from the last one
    tag: int
    widths: frozenset[int]  # how many columns rows have
    has_tags: bool  # whether all tags, not some, are those of a scheme, such as B-PER
    part: re.Pattern[str] | None  # the first column of rows that are no tokens


def _recognizes(source: SourceText) -> bool:
    if source.text.startswith(WEBANNO):
        return True
    if sample(source):  # whatever blanks and tags a text of JSON has
        return False
    lines = [x.strip("\r ") for x in source.text.split("\n")[:N_SAMPLED]]
    lines = [x for x in lines if x.strip() and not x.startswith(("#", DOCSTART))]
    separator = r"\t" if any("\t" in x for x in lines) else "[ ]+"
    rows = [re.split(separator, x.rstrip("\t ")) for x in lines]
    n = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    if n < 2 or named_columns(rows[0], HEADER):
        return False
    columns = [*zip(*(row for row in rows if len(row) == n))]
    if are_tags([row[-1] for row in rows if len(row) > 1], len(rows)):
        return True
    is_conllu = n == 10 and _is_count(columns[0])
    return is_conllu or any(map(labels_of, columns)) and len(columns[0]) > len(rows) / 2


def read_columns(text: str) -> tuple[int, int]:
    """Returns the columns of token and tag, from 1; below 0 from the last one. Raises
    ValueError: HS210 something else."""
    match = re.fullmatch(r"token=(-?[1-9]\d?),tag=(-?[1-9]\d?)", text.replace(" ", ""))
    if not match or match[1] == match[2]:
        raise ValueError(Errors.HS210.format(found=text))
    return int(match[1]), int(match[2])


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    layout = _layout(source, settings.columns)
    blocks = list(_blocks(source, layout))
    tags = [row.tag for x in blocks if isinstance(x, tuple) for row in x[0]]
    scheme = read_scheme(tags, source.path)
    if not settings.columns:
        said = UNREAD.format(token=layout.token + 1, tag=layout.tag + 1)
        yield from [Skipped(said)] * (layout.n - 2)
    for block in blocks:
        if isinstance(block, tuple):
            rows, meta = block
            yield text_of_rows(rows, scheme, source.path, meta)
        else:
            yield block


def _layout(source: SourceText, places: tuple[int, int] | None) -> ColumnLayout:
    """Returns the layout that was asked for, or that the file looks like."""
    separator = re.compile(r"\t" if "\t" in source.text else "[ ]+")
    lines = (line.rstrip("\r").strip(" ") for line in source.text.split("\n"))
    rows = [separator.split(x) for x in lines if x.strip()]
    rows = [row for row in rows if len(row) > 1 and row[0] != DOCSTART]
    rows = [row for row in rows if not row[0].startswith("#")] or rows
    counts = Counter(map(_width, rows))
    n = max(counts, key=lambda n: (counts[n], n), default=2)
    widths = frozenset(counts) if places else frozenset([n])
    is_webanno = source.text.startswith(WEBANNO)
    if places:
        token, tag = (x - 1 if x > 0 else x for x in places)
    elif is_webanno:
        token, tag = 2, _webanno_column(source)
    else:
        token, tag = _places([row[:n] for row in rows if _width(row) == n], n)
    has_tags = all(is_tag(_cell(row, tag)) for row in rows if _width(row) in widths)
    is_counted = n > 2 and _is_count([row[0] for row in rows[:N_SAMPLED]])
    part = PART_OF_WEBANNO if is_webanno else PART if is_counted else None
    return ColumnLayout(separator, n, token, tag, widths, has_tags, part)


def _places(rows: list[list[str]], n: int) -> tuple[int, int]:
    """Returns the columns of tokens and tags. Tags are in the last column that has
    prefixes, if any; of several with the same labels, as outer and inner spans of
    GermEval, or gold and predictions, in the first. Tokens are in the first of the
    others that does not count them."""
    columns = [[x.strip() for x in cells] for cells in zip(*rows)] or [[]] * n
    numbers = columns[0][:N_SAMPLED]
    is_counted = _is_count(numbers) or all(map(NUMBER.fullmatch, numbers))
    is_counted &= n > 2
    labels = [labels_of(cells) for cells in columns]
    tag = n - 1
    if labels[tag] is None:
        tag = max((i for i in range(n) if labels[i]), default=tag)
    while tag > 1 and labels[tag] is not None and (before := labels[tag - 1]):
        if not before & (labels[tag] or (before if is_counted else set())):
            break
        tag -= 1
    others = [i for i in range(n) if i != tag]
    is_first = tag == 0 and n > 2  # brat: tag, start, end, token
    skipped = [i for i in others if is_first and all(map(str.isdigit, columns[i]))]
    return next(i for i in others[is_counted:] if i not in skipped), tag


def _webanno_column(source: SourceText) -> int:
    """Returns the column of the only feature of spans, or raises ValueError HS374."""
    names: list[str] = []
    chosen: list[int] = []
    for kind, layer, features in LAYER.findall(source.text):
        for feature in features[1:].split("|"):
            names.append(f"{layer}|{feature} in {4 + len(names)}")
            if kind == "SP" and layer not in OF_WORDS and feature != "identifier":
                chosen.append(2 + len(names))
    if len(chosen) != 1:
        found = ", ".join(names) or "none"
        raise ValueError(Errors.HS374.format(path=source.path, found=found))
    return chosen[0]


def _of_webanno(rows: list[Row]) -> Iterator[Row]:
    """Yields rows with tags of BIO: PER[1] goes on while it stands, PER is a token."""
    for row, before in zip(rows, ["", *(row.tag for row in rows)]):
        match = NUMBERED.fullmatch(row.tag) if row.tag != "_" else None
        if match:
            kind = "I" if match[2] and row.tag == before else "B"
            row = row._replace(tag=f"{kind}-" + re.sub(r"\\(.)", r"\1", match[1]))
        yield row


def _width(columns: list[str]) -> int:
    """Returns how many columns a line has; an empty one at its end does not count."""
    return len(columns) - (not columns[-1])


def _cell(columns: list[str], index: int) -> str:
    """Returns a column; "" if there is none."""
    is_there = -len(columns) <= index < len(columns)
    return columns[index] if is_there else ""


def _is_count(values: Sequence[str]) -> bool:
    """Returns whether values are 1, 2, 3 .. and then perhaps 1, 2, .. again."""
    before, most = 0, 0
    for value in values:
        if PART.fullmatch(value):  # of CoNLL-U
            continue
        if value not in ("1", str(before + 1)):
            return False
        before = int(value)
        most = max(most, before)
    return most > 1


def _blocks(
    source: SourceText, layout: ColumnLayout
) -> Iterator[Block | Fault | Skipped]:
    """Yields the texts of a file; one with faulty lines is a fault for each of them."""
    rows: list[Row] = []
    faults: list[Fault] = []
    comments: dict[str, str] = {}
    n_documents, is_begun = 0, False
    for number, line in enumerate([*source.text.split("\n"), ""], start=1):
        line = line.rstrip("\r")
        columns = [x.strip() for x in layout.separator.split(line.strip(" "))]
        is_start = DOCSTART in (columns[0], _cell(columns, layout.token))
        if is_start or not line.strip():
            if rows or faults:
                yield from faults
                if not faults:
                    if layout.part is PART_OF_WEBANNO:
                        rows = [*_of_webanno(rows)]
                    number_of = {"docstart": str(n_documents)} if n_documents else {}
                    yield rows, comments | number_of
                rows, faults, comments = [], [], {}
            if is_start:
                n_documents, comments = n_documents + 1, {}
        elif _is_comment(line, columns, layout):
            comments |= re.findall(r"([\w-]+)\s*=\s*(\S+)", line)
            if match := re.match(r"#\s*([\w-]+)\s+([^\s=]+)", line):
                comments[match[1]] = match[2]
        elif layout.part and layout.part.fullmatch(columns[0]):
            yield Skipped(PARTS)
        elif not is_begun and named_columns(columns, HEADER):
            is_begun = True
        else:
            is_begun = True
            row = _row(line, columns, number, layout)
            if isinstance(row, Row):
                rows.append(row)
            else:
                faults.append(Fault(source.path, number, row))


def _row(line: str, columns: list[str], number: int, layout: ColumnLayout) -> Row | str:
    """Returns a token, or what is wrong with its line."""
    if not any(columns[layout.n :]):
        columns = columns[: layout.n]
    if len(columns) > 1 and len(columns) not in layout.widths:
        what = f"{len(columns)} columns, {shown(line.strip())}"
        return f"has {what}; expected {layout.n}, as most lines have"
    word, tag = _cell(columns, layout.token), _cell(columns, layout.tag)
    if len(columns) < 2 or not word or not tag:
        return f"expected a token and a tag, found {shown(line.strip())}"
    return Row(number, word, tag)


def _is_comment(line: str, columns: list[str], layout: ColumnLayout) -> bool:
    """Returns whether a line with # cannot be a row. `# id = 3` is none although it may
    have as many blanks as rows, nor is a line without a tag where all rows have one."""
    if not line.startswith("#"):
        return False
    has_tabs = layout.separator.pattern == r"\t"
    if _width(columns) not in layout.widths:  # a token with its tag is a faulty row
        is_faulty = is_tag(columns[-1]) and (len(columns) == 2 or has_tabs)
        return len(columns) == 1 or not is_faulty
    if has_tabs or is_tag(_cell(columns, layout.tag)):
        return False
    return layout.has_tags or bool(KEY_VALUE.match(line))


READER = FormatReader("columns", _recognizes, _read)
