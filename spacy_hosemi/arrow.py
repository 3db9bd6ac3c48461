"""Extraction into tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np
from spacy.language import Language

from .component.extraction import extract_records, own_components
from .core.arguments import MOST_THREADS, check_flag, check_whole, shown
from .errors import Errors
from .formats.lines import Line
from .formats.records import ExtractedField
from .formats.texts import Fault

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError(Errors.HS309) from error

# The key of the schema's metadata that says how a table was made.
WAY = b"spacy_hosemi.way"

# Rows, and characters of their spans, that are turned into columns together: a column
# of Arrow holds at most 2**31 - 1 bytes of text.
_ROWS, _CHARS = 10_000, 2**26

# Texts of a column of Arrow that are Python's at a time.
_SLICE = 1000

_SPAN = pa.struct(
    [
        ("start_char", pa.int32()),
        ("end_char", pa.int32()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("confidence", pa.float64()),
    ]
)
# doc_id is the number of the row until ids take its place.
_SCHEMA = pa.schema(
    [
        ("doc_id", pa.int64()),
        ("record_confidence", pa.float64()),
        ("spans", pa.list_(_SPAN)),
        ("error", pa.string()),
    ]
)
_EXPLODED = pa.schema([*_SCHEMA][:2] + [*_SPAN] + [*_SCHEMA][3:])


def extract(
    nlp: Language,
    texts: Iterable[str | None],
    *,
    ids: Any = None,
    threads: int = 1,
    explode: bool = False,
) -> pa.Table:
    """Extract the spans of many texts into a table of Arrow, a row for each text.

    A text that fails has a row with an error, and the others go on. Beside the table,
    memory does not grow with the number of texts. While it runs, no other thread may
    use the pipeline, see `spacy.Language.memory_zone`.

    nlp (Language): A pipeline with a trained hosemi component. Settings of the
        component hold; its error handlers are not called.
    texts (Iterable[Optional[str]]): n texts, read as far as needed, or a column of
        Arrow with strings.
    ids (Optional[Iterable[Any]]): n values for `doc_id`, in any type that Arrow has, or
        a column of Arrow; they may repeat. They are read before the texts. None: the
        numbers of the rows, from 0.
    threads (int): Threads of the component. The table is the same for any number.
    explode (bool): Whether to make a row for each span. A text without spans has one
        row, in which all that is of a span is null; so has a text with an error.
    RETURNS (pyarrow.Table): In the order of the texts:

        doc_id             of the type of `ids`; int64 without
        record_confidence  float64, the probability of exactly these spans, see
                           `doc._.record_confidence`; null where nobody knows it
        spans              list of structs: start_char, end_char (int32, characters of
                           the text, end exclusive), label, text (string), confidence
                           (float64; null for entities of other components); none if
                           there is an error. With `explode` columns instead
        error              string: why the text was not read; null if it was. A text
                           that is null has an error, too

        The metadata of the schema has "spacy_hosemi.way", how texts were read:
        "pipeline", as `nlp.pipe` does.
    RAISES (ValueError): HS183 texts; HS310 no component; HS311, HS312 ids.
    RAISES (TypeError, ValueError): HS026 threads, explode; HS232 nlp.
    """
    if not isinstance(nlp, Language):
        raise TypeError(Errors.HS232.format(found=shown(nlp)))
    threads = check_whole("threads", threads, 1, MOST_THREADS)
    check_flag("explode", explode)
    pipes = own_components(nlp)
    if not pipes:
        raise ValueError(Errors.HS310.format(found=nlp.pipe_names))
    texts = _read_texts(texts)
    if ids is not None:
        ids = _read_ids(ids)
        texts = _counted(texts, len(ids))
    rows = _Rows(nlp, texts, threads)
    batches = [*_batches(rows, explode)]
    table = pa.Table.from_batches(batches, _EXPLODED if explode else _SCHEMA)
    if ids is not None:
        numbers = table.column("doc_id")
        table = table.set_column(0, "doc_id", ids.take(numbers) if explode else ids)
    return table.replace_schema_metadata({WAY: b"pipeline"})


# A row: the confidence of the whole, the spans, the error.
Row = tuple[float | None, Sequence[ExtractedField], str | None]


class _Rows:
    """The rows of a table, in order.

    nlp (Language), texts (Iterable), threads (int): See `extract`.
    """

    def __init__(self, nlp: Language, texts: Iterable[Any], threads: int) -> None:
        self._nlp, self._texts, self._threads = nlp, texts, threads
        self._errors: dict[int, str] = {}  # of rows that are still to come

    def __iter__(self) -> Iterator[Row]:
        nlp = self._nlp
        pipe: Any = nlp.get_pipe(own_components(nlp)[0])
        args = nlp, pipe, self._lines(), self._on_bad
        n_rows = 0
        for record in extract_records(*args, threads=self._threads):
            for number in range(n_rows, record.line):
                yield None, (), self._errors.pop(number)
            yield record.best.confidence, record.best.fields, None
            n_rows = record.line + 1
        for number in sorted(self._errors):
            yield None, (), self._errors[number]

    def _lines(self) -> Iterator[Line]:
        """The texts that there are. Whatever else is there becomes an error."""
        for number, text in enumerate(self._texts):
            if isinstance(text, str):
                yield Line("", number, str(text), number)
            else:
                found = "null" if text is None else type(text).__name__
                self._errors[number] = f"The text is {found}; expected a string"

    def _on_bad(self, fault: Fault) -> None:
        assert fault.line is not None
        self._errors[fault.line] = fault.message


def _batches(rows: Iterable[Row], explode: bool) -> Iterator[pa.RecordBatch]:
    n_before = 0
    for some in _portions(rows):
        batch = _batch(some, n_before)
        yield _exploded(batch) if explode else batch
        n_before += len(some)


def _portions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """YIELDS (List[Row]): One or more rows at a time."""
    some: list[Row] = []
    n_chars = 0
    for row in rows:
        some.append(row)
        n_chars += sum([len(field.value) for field in row[1]])
        if len(some) >= _ROWS or n_chars >= _CHARS:
            yield some
            some, n_chars = [], 0
    if some:
        yield some


def _batch(rows: list[Row], n_before: int) -> pa.RecordBatch:
    """RETURNS (RecordBatch): Of some rows; n_before (int): There are before them."""
    wholes, of_rows, errors = zip(*rows)
    fields = [field for some in of_rows for field in some]
    columns = [*zip(*fields)] or [()] * len(_SPAN)
    # ExtractedField has start, end, label, value, confidence.
    arrays = [pa.array(column, one.type) for column, one in zip(columns, _SPAN)]
    spans = pa.StructArray.from_arrays(arrays, fields=[*_SPAN])
    borders = pa.array(np.cumsum([0, *map(len, of_rows)]), pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.arange(n_before, n_before + len(rows))),
            pa.array(wholes, pa.float64()),
            pa.ListArray.from_arrays(borders, spans),
            pa.array(errors, pa.string()),
        ],
        schema=_SCHEMA,
    )


def _exploded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """RETURNS (RecordBatch): With a row for each span, and one for each empty list."""
    ids, wholes, spans, errors = batch.columns
    n_spans = spans.value_lengths().to_numpy()
    rows = np.repeat(np.arange(len(batch)), np.maximum(n_spans, 1))
    has_span = np.repeat(n_spans > 0, np.maximum(n_spans, 1))
    place = np.cumsum(has_span) - 1
    of_spans = spans.flatten().take(pa.array(place, mask=~has_span))
    columns = [column.take(pa.array(rows)) for column in (ids, wholes, errors)]
    columns[2:2] = of_spans.flatten()
    return pa.RecordBatch.from_arrays(columns, schema=_EXPLODED)


def _read_texts(texts: Any) -> Iterable[Any]:
    """RETURNS (Iterable[Any]): One at a time. RAISES (ValueError): HS183."""
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        kind = texts.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind not in (pa.string(), pa.large_string(), pa.string_view(), pa.null()):
            raise ValueError(Errors.HS183.format(found=f"a column of {texts.type}"))
        return _Column(texts)
    is_flat = getattr(texts, "ndim", 1) == 1
    is_other = isinstance(texts, (str, bytes, Mapping, pa.Table, pa.RecordBatch))
    if is_other or not is_flat or not isinstance(texts, Iterable):
        raise ValueError(Errors.HS183.format(found=type(texts).__name__))
    return texts


class _Column:
    """A column of Arrow whose values become Python's some at a time."""

    def __init__(self, values: pa.Array | pa.ChunkedArray) -> None:
        self._chunks = getattr(values, "chunks", [values])

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def __iter__(self) -> Iterator[Any]:
        for chunk in self._chunks:
            for start in range(0, len(chunk), _SLICE):
                yield from chunk.slice(start, _SLICE).to_pylist()


def _read_ids(ids: Any) -> pa.Array | pa.ChunkedArray:
    """RETURNS (Union[Array, ChunkedArray]): A column. RAISES (ValueError): HS311."""
    if isinstance(ids, (pa.Array, pa.ChunkedArray)):
        return ids
    try:
        if isinstance(ids, (str, bytes, Mapping)):
            raise TypeError("it is no sequence")
        return pa.array(ids if isinstance(ids, Sized) else [*ids])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        args = {"found": shown(ids), "reason": str(error).rstrip(".")}
        raise ValueError(Errors.HS311.format(**args)) from None


def _counted(texts: Iterable[Any], n_ids: int) -> Iterator[Any]:
    """YIELDS (Any): The texts. RAISES (ValueError): HS312 there are more or fewer than
    ids; at once if their number is known."""
    expected = len(texts) if isinstance(texts, Sized) else None
    if expected not in (None, n_ids):
        raise ValueError(Errors.HS312.format(found=n_ids, expected=expected))
    return _checked(iter(texts), n_ids)


def _checked(texts: Iterator[Any], n_ids: int) -> Iterator[Any]:
    n_texts = 0
    for text in islice(texts, n_ids):
        n_texts += 1
        yield text
    if n_texts < n_ids:
        raise ValueError(Errors.HS312.format(found=n_ids, expected=n_texts))
    for _ in texts:
        raise ValueError(
            Errors.HS312.format(found=n_ids, expected=f"more than {n_ids}")
        )
