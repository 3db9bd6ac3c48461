"""Extracts spans on a cluster of Apache Spark: `spacy_hosemi.spark.extract`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arrow import EXPLODED, SCHEMA
from .errors import Errors
from .workers import TableExtractor, check_columns, pa

try:
    from pyspark import SparkFiles
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType
except ImportError as error:
    raise ImportError(Errors.HS338) from error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TEXT, _ID = "text", "doc_id"


def extract(
    df: DataFrame,
    model: str | Path,
    text_col: str = "text",
    id_col: str | None = None,
    *,
    explode: bool = False,
    verify: bool = True,
) -> DataFrame:
    """Extract the spans of a column of texts, in Spark's Python workers.

    Each worker loads the model once and keeps it for later jobs, until the model in
    that place is another; the workers of a machine share the memory of its weights.
    Texts go there and tables come back as batches of Arrow (`DataFrame.mapInArrow`), so
    that memory does not grow with the size of a partition. A text that fails, or is
    null, has a row with an error, and the job goes on.

    df (DataFrame): Of Spark.
    model (Union[str, Path]): Where the workers find a saved pipeline:
        - a path that all of them see, on a shared disk or in their image;
        - the name of a file or folder of `SparkContext.addFile` or `--files`, or what
          follows `#` in `--archives`. An archive (.tar.gz, .zip) is unpacked once a
          machine;
        - the name of an installed package.
    text_col (str): The column of texts, strings.
    id_col (Optional[str]): The column that becomes `doc_id`. None: numbers that tell
        rows apart (`monotonically_increasing_id`).
    explode (bool): Whether to make a row for each span.
    verify (bool): Whether files of the model are compared with their digests.
    RETURNS (DataFrame): With the columns of `spacy_hosemi.extract`: doc_id,
        record_confidence, spans (or the columns of one span), error. Nothing is
        computed until an action asks for it.
    RAISES (TypeError): HS339 df is no DataFrame of Spark.
    RAISES (ValueError): HS335 no such column; HS340 a column of texts of another type;
        HS026 explode, verify. In the workers: HS336, HS337 there is no model.
    """
    schema: Any = getattr(df, "schema", None)
    if not isinstance(schema, StructType) or not hasattr(df, "mapInArrow"):
        raise TypeError(Errors.HS339.format(found=type(df).__name__))
    check_columns(schema.names, text_col=text_col, id_col=id_col)
    if not isinstance(schema[text_col].dataType, StringType):
        column_type = schema[text_col].dataType.simpleString()
        raise ValueError(Errors.HS340.format(found=column_type, name=text_col))
    options = {"explode": explode, "verify": verify}
    worker = _Worker(model, text_col=_TEXT, id_col=_ID, **options)
    ids: Any = functions.monotonically_increasing_id() if id_col is None else df[id_col]
    texts = df.select(ids.alias(_ID), df[text_col].alias(_TEXT))
    columns = from_arrow_schema(EXPLODED if explode else SCHEMA).fields
    columns[0] = StructField(_ID, texts.schema[_ID].dataType)
    return texts.mapInArrow(worker.batches, StructType(columns))


class _Worker(TableExtractor):
    """Looks for a model where the driver saw it, and where Spark puts files."""

    def __init__(self, model: str | Path, **options: Any) -> None:
        super().__init__(model, **options)
        self._of_driver = Path(model).absolute()  # workers have other folders

    def place(self) -> Path:
        path = super().place()
        if path.is_absolute():
            return path
        places = self._of_driver, path, Path(SparkFiles.get(self.model))
        return next((x for x in places if x.exists()), path)

    def batches(self, tables: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        """Yields a few batches for each table, with its rows."""
        for table in tables:
            yield from self(table).to_batches()
