"""`spacy_hosemi.spark.extract` in a real session of Spark."""

import shutil
import sys
import tarfile
from importlib import import_module

import pytest

import spacy_hosemi

from .helpers import make_trained

if not shutil.which("java"):
    pytest.skip("Spark needs Java", allow_module_level=True)
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
pytest.importorskip("pandas")

from spacy_hosemi.spark import extract  # noqa: E402

ROWS = [
    ("a", "Ada Lovelace lived in Paris."),
    ("b", None),
    ("c", "Nobody was there."),
    ("d", "x" * 2_000_000),
    ("e", ""),
]


@pytest.fixture(scope="module")
def nlp():
    return make_trained()


@pytest.fixture(scope="module")
def model(nlp, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    spacy_hosemi.save(nlp, path)
    return path


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(ROWS, "key string, body string")


def rows(df):
    return [row.asDict(recursive=True) for row in df.collect()]


@pytest.mark.parametrize("explode", [False, True])
def test_as_extract(nlp, model, df, explode):
    keys, texts = zip(*ROWS)
    expected = spacy_hosemi.extract(nlp, texts, ids=keys, explode=explode)
    found = extract(df, model, text_col="body", id_col="key", explode=explode)
    assert found.columns == expected.column_names
    assert rows(found) == expected.to_pylist()


def test_ids_of_other_types_and_none(model, df):
    numbered = df.selectExpr("cast(unix_date(current_date()) as int) as n", "body")
    found = extract(numbered, str(model), "body", "n")
    assert found.schema["doc_id"].dataType.simpleString() == "int"
    assert {row["doc_id"] for row in rows(found)} == {numbered.first()["n"]}
    ids = [row["doc_id"] for row in rows(extract(df, str(model), "body"))]
    assert len({*ids}) == len(ROWS)


def test_the_same_for_any_number_of_partitions(model, df):
    whole = rows(extract(df, model, "body", "key"))
    for n in (1, 3, 8):
        parts = rows(extract(df.repartition(n), model, "body", "key"))
        assert sorted(parts, key=lambda row: row["doc_id"]) == whole


def test_files_of_spark(spark, model, df, tmp_path):
    expected = rows(extract(df, model, "body", "key"))
    path = tmp_path / "packed.zip"
    shutil.make_archive(str(path.with_suffix("")), "zip", model)
    spark.sparkContext.addFile(str(path))
    assert rows(extract(df, "packed.zip", "body", "key")) == expected
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as files:
        files.add(model, "inside")
    spark.sparkContext.addArchive(str(tmp_path / "other.tar.gz#unpacked"))
    assert rows(extract(df, "unpacked/inside", "body", "key")) == expected


def test_a_model_that_is_not_there_ends_the_job(df, tmp_path):
    with pytest.raises(Exception, match="HS336.*nowhere"):
        extract(df, tmp_path / "nowhere", "body").collect()


@pytest.mark.parametrize("name", ["text_col", "id_col"])
def test_no_such_column(model, df, name):
    args = {"text_col": "body", "id_col": "key", name: "other"}
    with pytest.raises(ValueError, match=rf"HS335\] {name} is 'other'.*'key', 'body'"):
        extract(df, model, **args)


def test_texts_of_another_type(model, df):
    other = df.selectExpr("key", "length(body) as body")
    with pytest.raises(ValueError, match=r"HS340.*'body' has the type int.*cast"):
        extract(other, model, "body")


def test_what_is_no_data_frame(model):
    with pytest.raises(TypeError, match="HS339.*df is a Table"):
        extract(pa.table({"text": ["x"]}), model)


def test_without_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "spacy_hosemi.spark")
    with pytest.raises(ImportError, match='HS338.*pip install "pyspark'):
        import_module("spacy_hosemi.spark")
