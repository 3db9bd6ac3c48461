"""`TableExtractor`: a model that each process loads once."""

import os
import pickle
import shutil
import sys
import tarfile
import tempfile
import zipfile
from importlib import import_module

import pytest
import spacy

import spacy_hosemi

from .helpers import make_trained

pa = pytest.importorskip("pyarrow")
from spacy_hosemi import workers  # noqa: E402
from spacy_hosemi.workers import TableExtractor  # noqa: E402

TEXTS = ["Ada Lovelace lived in Paris.", None, "Nobody was there."]
TABLE = pa.table({"key": ["a", "b", "c"], "body": TEXTS})
COLUMNS = {"text_col": "body", "id_col": "key"}


@pytest.fixture(scope="module")
def nlp():
    return make_trained()


@pytest.fixture()
def folder(nlp, tmp_path):
    spacy_hosemi.save(nlp, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Archives are unpacked below; no model is kept from another test."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(workers, "_pipelines", {})


@pytest.mark.parametrize("explode", [False, True])
def test_as_extract(nlp, folder, explode):
    expected = spacy_hosemi.extract(
        nlp, TEXTS, ids=TABLE.column("key"), explode=explode
    )
    extractor = TableExtractor(folder, **COLUMNS, explode=explode, threads=2)
    assert extractor(TABLE) == expected
    (batch,) = TABLE.to_batches()
    assert pickle.loads(pickle.dumps(extractor))(batch) == expected
    assert extractor(TABLE.slice(0, 0)).schema == expected.schema


def test_rows_are_numbered_without_ids(folder):
    found = TableExtractor(str(folder), text_col="body")(TABLE)
    assert found.column("doc_id").to_pylist() == [0, 1, 2]


def test_a_model_is_loaded_once(folder):
    first, again = TableExtractor(folder), TableExtractor(str(folder), text_col="x")
    assert first.pipeline() is first.pipeline() is again.pipeline()


def test_another_model_in_the_same_place_is_loaded(folder):
    extractor = TableExtractor(folder, **COLUMNS)
    before = extractor(TABLE)
    nlp = spacy.load(folder)
    nlp.get_pipe("hosemi").min_confidence = 0.999
    spacy_hosemi.save(nlp, folder)
    assert extractor(TABLE).column("spans").to_pylist() == [[], [], []]
    assert before.column("spans").to_pylist() != [[], [], []]


def test_few_models_are_kept(nlp, tmp_path):
    for k in range(4):
        nlp.meta["description"] = f"number {k}"
        spacy_hosemi.save(nlp, tmp_path / f"{k}")
        TableExtractor(tmp_path / f"{k}").pipeline()
    assert [x.meta["description"] for x in workers._pipelines.values()] == [
        "number 2",
        "number 3",
    ]


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tgz", ".zip"])
@pytest.mark.parametrize("top", ["", "model"])
def test_archives_are_unpacked_once(folder, tmp_path, ending, top):
    path = tmp_path / f"packed{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as whole:
            for file in folder.rglob("*"):
                whole.write(file, os.path.join(top, file.relative_to(folder)))
    else:
        with tarfile.open(path, "w:gz" if "z" in ending else "w") as files:
            files.add(folder, top or ".")
    extractor = TableExtractor(path, **COLUMNS)
    assert extractor(TABLE) == TableExtractor(folder, **COLUMNS)(TABLE)
    (own,) = (tmp_path / "tmp").iterdir()
    (unpacked,) = own.iterdir()
    assert workers.unpacked(path) in (unpacked, unpacked / "model")
    if hasattr(os, "getuid"):
        assert own.stat().st_mode & 0o777 == 0o700


def test_another_process_was_faster(folder, tmp_path, monkeypatch):
    path = tmp_path / "packed.tar"
    with tarfile.open(path, "w") as files:
        files.add(folder, "model")
    unpack = workers._unpack

    def slow(archive, target):
        unpack(archive, target)
        monkeypatch.setattr(workers, "_unpack", unpack)
        workers.unpacked(path)

    monkeypatch.setattr(workers, "_unpack", slow)
    assert (workers.unpacked(path) / "config.cfg").is_file()
    (own,) = (tmp_path / "tmp").iterdir()
    assert len([*own.iterdir()]) == 1


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_a_folder_that_others_can_write_to_is_not_used(folder, tmp_path):
    path = tmp_path / "packed.tar"
    with tarfile.open(path, "w") as files:
        files.add(folder, "model")
    other = tmp_path / "tmp" / f"spacy_hosemi-{os.getuid()}"
    other.mkdir()
    other.chmod(0o777)
    assert other not in workers.unpacked(path).parents
    assert not [*other.iterdir()]


def test_an_archive_that_leads_out_of_its_folder(folder, tmp_path):
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as files:
        files.add(folder / "config.cfg", "../../config.cfg")
    with pytest.raises(ValueError, match="HS337.*bad.tar"):
        TableExtractor(path).pipeline()
    assert not [*tmp_path.glob("**/config.cfg")][1:]


@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
@pytest.mark.parametrize("data", [b"", b"no archive"])
def test_what_is_no_archive(tmp_path, ending, data):
    path = tmp_path / f"bad{ending}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"HS337.*bad.*expected one with the files"):
        TableExtractor(path).pipeline()


def test_an_archive_of_something_else(tmp_path):
    (tmp_path / "notes.txt").write_text("notes")
    with tarfile.open(tmp_path / "notes.tar", "w") as files:
        files.add(tmp_path / "notes.txt", "notes.txt")
    with pytest.raises(ValueError, match="HS337.*no config.cfg"):
        TableExtractor(tmp_path / "notes.tar").pipeline()


def test_no_model(tmp_path):
    with pytest.raises(ValueError, match="HS336.*nowhere.*each worker sees"):
        TableExtractor(tmp_path / "nowhere").pipeline()
    with pytest.raises(OSError, match="E050"):  # spaCy's own, for packages
        TableExtractor("no_such_package").pipeline()


@pytest.mark.parametrize("name", ["text_col", "id_col"])
def test_no_such_column(folder, name):
    extractor = TableExtractor(folder, **{**COLUMNS, name: "other"})
    with pytest.raises(ValueError, match=rf"HS335\] {name} is 'other'.*'key', 'body'"):
        extractor(TABLE)


@pytest.mark.parametrize("name", ["threads", "explode", "verify"])
def test_wrong_arguments(name):
    with pytest.raises((TypeError, ValueError), match=f"HS026.*{name}"):
        TableExtractor("model", **{name: "yes"})


def test_a_changed_bit(folder):
    (weights,) = (folder / "hosemi").glob("weights-*.npy")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ValueError, match="HS062"):
        TableExtractor(folder).pipeline()
    TableExtractor(folder, verify=False).pipeline()


def test_importing_it_needs_no_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "spacy_hosemi.workers")
    import_module("spacy_hosemi.workers")


def test_removed_models_are_an_error(folder):
    extractor = TableExtractor(folder)
    extractor.pipeline()
    shutil.rmtree(folder)
    with pytest.raises(ValueError, match="HS336"):
        extractor.pipeline()
