"""Extracts spans into tables of Arrow."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
from spacy.language import Language

from .component.chunks import ResultSink, own_components, read_chunks
from .component.extraction import ReviewMarks
from .component.fingerprint import guarantee_in_force
from .component.text_decoder import obstacle
from .core.arguments import MOST_THREADS, check_flag, check_whole
from .errors import Errors
from .formats.lines import Line
from .formats.records import ExtractedField, ExtractedRecord, Fields, Segmentation
from .values import shown

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError(Errors.HS309) from error

# Keys of the schema's metadata: how a table was made, if as by `nlp.pipe`, why, and
# what a guarantee says of its texts.
WAY, WHY, REPORT = (b"spacy_hosemi." + x for x in (b"way", b"why", b"report"))

# Rows, and characters of their texts, that are turned into columns together: a column
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
SCHEMA = pa.schema(
    [
        ("doc_id", pa.int64()),
        ("record_confidence", pa.float64()),
        ("spans", pa.list_(_SPAN)),
        ("error", pa.string()),
    ]
)
EXPLODED = pa.schema([*SCHEMA][:2] + [*_SPAN] + [*SCHEMA][3:])


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

        The metadata of the schema has "spacy_hosemi.way": "direct" if texts were read
        without annotated documents, which is faster; "pipeline" if they were read as by
        `nlp.pipe`, and then in "spacy_hosemi.why" what needs documents. Rows are the
        same bits either way. With one component and a guarantee that holds,
        "spacy_hosemi.report" is JSON, as by `parse --report`: what is accepted, and
        whether texts are unlike those of the guarantee; its lines are rows, from 0
    RAISES (ValueError): HS183 texts; HS310 no component; HS311, HS312 ids.
    RAISES (TypeError, ValueError): HS026 threads, explode; HS232 nlp.
    """
    if not isinstance(nlp, Language):
        raise TypeError(Errors.HS232.format(found=shown(nlp)))
    threads = check_whole("threads", threads, 1, MOST_THREADS)
    check_flag("explode", explode)
    if not (names := own_components(nlp)):
        raise ValueError(Errors.HS310.format(found=nlp.pipe_names))
    pipe: Any = nlp.get_pipe(names[0])
    marks = None
    if len(names) == 1 and (guarantee := guarantee_in_force(pipe)) is not None:
        marks = ReviewMarks(guarantee, facts=pipe.facts)
    why = obstacle(nlp)
    way = {WAY: "direct"} if why is None else {WAY: "pipeline", WHY: why}
    source, texts = texts, _read_texts(texts)
    if ids is not None:
        ids = _read_ids(ids)
        n_texts = len(source) if isinstance(source, Sized) else None
        if n_texts not in (None, len(ids)):
            raise ValueError(Errors.HS312.format(found=len(ids), expected=n_texts))
        texts = _counted(iter(texts), len(ids))
    columns = _Columns(marks)
    batches = []
    for _ in read_chunks(nlp, columns.lines(texts), columns, threads=threads):
        if columns.are_full:
            batches.append(columns.take())
    batches.append(columns.take())
    if explode:
        batches = [*map(_exploded, batches)]
    table = pa.Table.from_batches(batches, EXPLODED if explode else SCHEMA)
    if ids is not None:
        of_rows = _ids_of_rows(ids, table.column("doc_id")) if explode else ids
        table = table.set_column(0, "doc_id", of_rows)
    if marks is not None:
        way[REPORT] = json.dumps(marks.report())
    return table.replace_schema_metadata(way)


class _Columns(ResultSink):
    """The rows of a table, from numbered lines, as lists of plain values: these take
    less time and memory than an object for each row."""

    needs_docs = False

    def __init__(self, marks: ReviewMarks | None) -> None:
        self._marks = marks
        self._clear()

    def _clear(self) -> None:
        self._numbers: list[int] = []
        self._texts: list[str] = []
        self._probabilities: list[float | None] = []
        self._n_spans: list[int] = []
        self._errors: list[str | None] = []
        # By the places of ExtractedField: start, end, label, value, confidence.
        self._spans: list[list[Any]] = [[] for _ in _SPAN]
        self._n_chars = 0

    @property
    def are_full(self) -> bool:
        """Returns whether it is time to `take` them."""
        return len(self._numbers) >= _ROWS or self._n_chars >= _CHARS

    def lines(self, texts: Iterable[Any]) -> Iterator[Line]:
        """Yields texts, numbered by rows from 0; anything else becomes an error."""
        for number, text in enumerate(texts):
            if isinstance(text, str):
                yield Line("", 0, str(text), number)
                continue
            fault = "null" if text is None else type(text).__name__
            if isinstance(text, UnicodeDecodeError):
                fault = "not UTF-8"
            line = Line("", 0, "", number)
            self.fail(line, f"The text is {fault}; expected a string")

    def add(
        self, line: Line, fields: Sequence[ExtractedField], confidence: float | None
    ) -> None:
        columns = tuple(map(list, zip(*fields)))
        self.add_many([line], Fields([len(fields)], [confidence], columns))

    def add_many(self, lines: Sequence[Line], fields: Fields) -> None:
        self._numbers += [line.number for line in lines]
        self._texts += [line.text for line in lines]
        self._n_chars += sum([len(line.text) for line in lines])
        self._probabilities += fields.probabilities
        self._n_spans += fields.n_fields
        self._errors += [None] * len(lines)
        for column, values in zip(self._spans, fields.columns):
            column += values

    def fail(self, line: Line, message: str) -> None:
        self._numbers.append(line.number)
        self._texts.append(line.text)
        self._probabilities.append(None)
        self._n_spans.append(0)
        self._errors.append(message)

    def take(self) -> pa.RecordBatch:
        """Returns all rows, in order, and marks them; from then on there are none."""
        if self._marks is not None:
            columns = tuple(self._spans)
            fields = Fields(self._n_spans, self._probabilities, columns).by_text()
            rows = zip(self._numbers, self._texts, fields, self._errors)
            records = (
                ExtractedRecord(number, text, Segmentation(*of_text))
                for number, text, of_text, error in sorted(rows, key=itemgetter(0))
                if error is None
            )
            deque(self._marks.mark(records), maxlen=0)
        arrays = [pa.array(x, y.type) for x, y in zip(self._spans, _SPAN)]
        spans = pa.StructArray.from_arrays(arrays, fields=[*_SPAN])
        borders = np.cumsum([0, *self._n_spans])
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array(self._numbers, pa.int64()),
                pa.array(self._probabilities, pa.float64()),
                pa.ListArray.from_arrays(pa.array(borders, pa.int32()), spans),
                pa.array(self._errors, pa.string()),
            ],
            schema=SCHEMA,
        )
        order = np.argsort(self._numbers, kind="stable")
        self._clear()
        return batch if (np.diff(order) == 1).all() else batch.take(pa.array(order))


def _exploded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a row for each span, and one for each empty list."""
    ids, probabilities, spans, errors = batch.columns
    n_spans = spans.value_lengths().to_numpy()
    rows = np.repeat(np.arange(len(batch)), np.maximum(n_spans, 1))
    has_span = np.repeat(n_spans > 0, np.maximum(n_spans, 1))
    place = np.cumsum(has_span) - 1
    of_spans = spans.flatten().take(pa.array(place, mask=~has_span))
    columns = [column.take(pa.array(rows)) for column in (ids, probabilities, errors)]
    columns[2:2] = of_spans.flatten()
    return pa.RecordBatch.from_arrays(columns, schema=EXPLODED)


def _read_texts(texts: Any) -> Iterable[Any]:
    """Returns texts, one at a time. Raises ValueError: HS183 if they are none."""
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        kind = texts.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if str(kind) not in ("string", "large_string", "string_view", "null"):
            raise ValueError(Errors.HS183.format(found=f"a column of {texts.type}"))
        chunks = getattr(texts, "chunks", [texts])
        slices = (x[k : k + _SLICE] for x in chunks for k in range(0, len(x), _SLICE))
        return chain.from_iterable(map(_values, slices))
    is_flat = getattr(texts, "ndim", 1) == 1
    is_other = isinstance(texts, (str, bytes, Mapping, pa.Table, pa.RecordBatch))
    if is_other or not is_flat or not isinstance(texts, Iterable):
        raise ValueError(Errors.HS183.format(found=type(texts).__name__))
    return texts


def _values(column: pa.Array) -> list[Any]:
    """Returns Python's values; errors for text that is not UTF-8."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        if len(column) == 1:
            return [error]
        values = [x for k in range(len(column)) for x in _values(column.slice(k, 1))]
    return values


def _read_ids(ids: Any) -> pa.Array | pa.ChunkedArray:
    """Returns a column. Raises ValueError: HS311 if that is not possible."""
    if isinstance(ids, (pa.Array, pa.ChunkedArray)):
        return ids
    try:
        if isinstance(ids, (str, bytes, Mapping)):
            raise TypeError("it is no sequence")
        if (n_dimensions := getattr(ids, "ndim", 1)) != 1:
            raise TypeError(f"it has {n_dimensions} dimensions")
        return pa.array(ids if isinstance(ids, Sized) else [*ids])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        args = {"found": shown(ids), "reason": str(error).rstrip(".")}
        raise ValueError(Errors.HS311.format(**args)) from None


def _ids_of_rows(ids: pa.Array | pa.ChunkedArray, rows: pa.ChunkedArray) -> Any:
    """Returns the id of each row; `rows` has the number of the text of each."""
    try:
        return ids.take(rows)
    except pa.ArrowNotImplementedError:  # such as string views
        values = ids.to_pylist()
        return pa.array([values[k] for k in rows.to_pylist()], ids.type)


def _counted(texts: Iterator[Any], n_ids: int) -> Iterator[Any]:
    """Yields texts. Raises ValueError HS312 if there are more or fewer than ids."""
    n_texts = 0
    for text in islice(texts, n_ids):
        n_texts += 1
        yield text
    if n_texts < n_ids:
        raise ValueError(Errors.HS312.format(found=n_ids, expected=n_texts))
    for _ in texts:
        expected = f"more than {n_ids}"
        raise ValueError(Errors.HS312.format(found=n_ids, expected=expected))
