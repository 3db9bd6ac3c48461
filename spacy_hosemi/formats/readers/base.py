"""What a reader of a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..json_records import records
from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found


@dataclass(frozen=True)
class ReaderSettings:
    """Holds what a user may say of a file.

    text_key (Optional[str]): The key, column or element that holds a text.
    fields (Tuple[str, ...]): Columns of a table that are fields; none: all others.
    group (Optional[str]): The key by which texts are divided: never a field.
    encoding (Optional[str]): Encoding of files that a reader opens beside the first.
    columns (Optional[Tuple[int, int]]): Of token and tag, from 1; below 0 from the last
        one. None: as the file looks.
    is_binary (bool): Whether the answer to a task is one for its spans alone.
    """

    text_key: str | None = None
    fields: tuple[str, ...] = ()
    group: str | None = None
    encoding: str | None = None
    columns: tuple[int, int] | None = None
    is_binary: bool = False


@dataclass(frozen=True)
class FormatReader:
    """Reads texts of one format.

    name (str): As `--format` names it.
    recognizes (Callable): (source) returns whether the content looks like it.
    read (Callable): (source, settings) yields texts, and what is wrong.
    can_be_binary (bool): Whether it knows answers for spans alone.
    """

    name: str
    recognizes: Callable[[SourceText], bool]
    read: Callable[[SourceText, ReaderSettings], Iterator[Found]]
    can_be_binary: bool = False


def read_records(
    source: SourceText, make: Callable[[int, dict[str, Any]], Iterator[Found]]
) -> Iterator[Found]:
    """Yields what is made of each object of a JSON file, and its faults; where all
    objects are on one line, with their number."""
    number = 0
    whole = source.text.strip()
    is_one_line = whole[:1] == "[" and "\n" not in whole
    for record in records(source):
        if isinstance(record, Fault):
            yield record
            continue
        number += 1
        name = f"object {number}" if is_one_line else ""
        try:
            for item in make(*record):
                if isinstance(item, AnnotatedText):
                    item = replace(item, name=name)
                yield item
        except ValueError as e:
            yield AnnotatedText("", (), source.path, record[0], name=name).fault(str(e))
