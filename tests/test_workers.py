"""`TableExtractor`: a model that each process loads once."""

import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from multiprocessing import Pool

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
    workers._own_folder.cache_clear()


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
    numbered = TableExtractor(str(folder), text_col="body")(TABLE)
    assert numbered.column("doc_id").to_pylist() == [0, 1, 2]


def test_a_model_is_loaded_once_until_its_files_change(folder):
    extractor, again = TableExtractor(folder, **COLUMNS), TableExtractor(str(folder))
    assert extractor.pipeline() is extractor.pipeline() is again.pipeline()
    assert extractor(TABLE).column("spans").to_pylist() != [[], [], []]
    nlp = spacy.load(folder)
    nlp.get_pipe("hosemi").min_confidence = 0.999
    spacy_hosemi.save(nlp, folder)
    assert extractor(TABLE).column("spans").to_pylist() == [[], [], []]
    shutil.rmtree(folder)
    with pytest.raises(ValueError, match="HS336"):
        extractor.pipeline()


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


def pack(folder, path):
    with tarfile.open(path, "w") as files:
        files.add(folder, "model")
    return path


def test_threads_and_processes_unpack_once(folder, tmp_path, monkeypatch):
    path, n_calls, unpack = pack(folder, tmp_path / "packed.tar"), [], workers._unpack

    def slow(archive, target):
        n_calls.append(1)
        time.sleep(0.1)
        unpack(archive, target)

    monkeypatch.setattr(workers, "_unpack", slow)
    with ThreadPoolExecutor(4) as threads:
        (found,) = {*threads.map(workers.unpacked, 4 * [path])}
    assert (found / "config.cfg").is_file() and len(n_calls) == 1
    (own,) = (tmp_path / "tmp").iterdir()
    assert len([*own.iterdir()]) == 1


END = """\
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from spacy_hosemi import workers
workers.unpacked(workers.Path(sys.argv[2]))
if sys.argv[3] == "waits":
    print("ready", flush=True)
    sys.stdin.read()
elif sys.argv[3] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(workers.fcntl is None, reason="each process has its own folder")
def test_what_was_unpacked_is_removed_by_the_last_process(folder, tmp_path):
    path, own = pack(folder, tmp_path / "packed.tar"), tmp_path / "tmp"

    def command(how):
        return [*map(str, [sys.executable, "-c", END, own, path, how])]

    def run(how):
        return subprocess.run(command(how)).returncode

    def n_left():
        return len([*own.glob("spacy_hosemi-*/*")])

    with subprocess.Popen(command("waits"), stdin=-1, stdout=-1, text=True) as first:
        assert first.stdout.readline() == "ready\n"
        assert run("ends") == 0 and n_left() == 1  # the first one uses it
        first.communicate("")
    assert n_left() == 0
    assert run("killed") != 0 and n_left() == 1
    with Pool(1, initargs=(str(own),), initializer=use_folder) as pool:
        assert pool.apply(TableExtractor(path, **COLUMNS), (TABLE,)).num_rows == 3
    assert run("ends") == 0 and n_left() == 0


def use_folder(path):
    tempfile.tempdir = path
    workers._own_folder.cache_clear()


@pytest.mark.parametrize(
    "table",
    [
        TABLE.to_pandas(),
        TABLE.to_pylist(),
        TABLE.to_pydict(),
        TABLE.column(0),
        None,
        "x",
    ],
    ids=lambda table: type(table).__name__,
)
def test_other_tables(folder, table):
    with pytest.raises(TypeError, match="HS392.*from_pandas"):
        TableExtractor(folder)(table)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_a_folder_that_others_can_write_to_is_not_used(folder, tmp_path):
    path = pack(folder, tmp_path / "packed.tar")
    other = tmp_path / "tmp" / f"spacy_hosemi-{os.getuid()}"
    other.mkdir()
    other.chmod(0o777)
    assert other not in workers.unpacked(path).parents
    assert not [*other.iterdir()]


def test_archives_of_something_else(folder, tmp_path):
    path = pack(folder / "vocab", tmp_path / "notes.tar")
    with pytest.raises(ValueError, match="HS337.*no config.cfg"):
        TableExtractor(path).pipeline()
    path = tmp_path / "bad.tar"  # it leads out of its folder
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


@pytest.mark.parametrize("model", [None, 3, "", b"model", TABLE])
def test_no_path(model):
    with pytest.raises(ValueError, match="HS043.*model is"):
        TableExtractor(model)


def test_a_changed_bit(folder):
    (weights,) = (folder / "hosemi").glob("weights-*.npy")
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ValueError, match="HS062"):
        TableExtractor(folder).pipeline()
    TableExtractor(folder, verify=False).pipeline()


def test_importing_it_needs_no_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "spacy_hosemi.workers")
    import_module("spacy_hosemi.workers")
