"""What a reader of a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..json_records import records, sample
from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found


@dataclass(frozen=True)
class ReaderSettings:
    """Holds what a user may say about a file."""

    text_key: str | None = None  # the key, column or element that holds a text
    fields: tuple[str, ...] = ()  # columns of a table that are fields; none: all others
    group: str | None = None  # the key by which texts are divided: never a field
    encoding: str | None = None
    # Of token and tag, from 1; below 0 from the last one. None: as the file looks.
    columns: tuple[int, int] | None = None
    is_binary: bool = False  # whether the answer to a task is one for its spans alone
    inner: bool = False  # xml: whether of nested elements the inner ones are read
    join: bool | None = None  # xml: whether neighbours of one label are one span
    has_marks: bool = True  # whether tables of `parse` have ' in front of formulas


# Reads an object, with its line and the path of its file.
ObjectReader = Callable[[int, dict[str, Any], str, ReaderSettings], Iterator[Found]]


@dataclass(frozen=True)
class FormatReader:
    """Reads texts of one format."""

    name: str  # as `--format` names it
    recognizes: Callable[[SourceText], bool]  # whether the content looks like it
    read: Callable[[SourceText, ReaderSettings], Iterator[Found]]


def object_reader(
    name: str, knows: Callable[[dict[str, Any]], bool], make: ObjectReader
) -> FormatReader:
    """Returns a reader of JSON with an object for each text: `knows` says whether one
    is of this format, `make` reads one. Messages count objects of a single line."""

    def read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
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
                for item in make(*record, source.path, settings):
                    if isinstance(item, AnnotatedText):
                        item = replace(item, name=name)
                    yield item
            except ValueError as e:
                empty = AnnotatedText("", (), source.path, record[0], name=name)
                yield empty.fault(str(e))

    return FormatReader(name, lambda source: any(map(knows, sample(source))), read)
