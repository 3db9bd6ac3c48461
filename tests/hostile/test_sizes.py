"""What a stranger's file may take: sizes are checked before memory is."""

import gc
import gzip
import io
import tarfile
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.component import saved_files
from spacy_hosemi.features.gazetteers import readers
from spacy_hosemi.features.gazetteers.gazetteers import Gazetteers, make_gazetteer
from spacy_hosemi.hierarchy.level_weights import LevelWeights
from spacy_hosemi.model.weights.packing import pack_floats, unpack_floats
from spacy_hosemi.msgpack import inflate, read_msgpack

from ..helpers import make_nlp, make_trained, peak_of

MB = 1_000_000


def packed_model(nlp):
    """The weights of a component, unpacked so that they can be changed."""
    whole = srsly.msgpack_loads(nlp.get_pipe("hosemi").to_bytes(exclude=["vocab"]))
    model = srsly.msgpack_loads(whole["model"])
    return whole, model, read_msgpack(model["shims"][0][0])


def with_weights(whole, model, weights):
    """RETURNS (bytes): A component with other weights, and digests that fit."""
    model = {**model, "shims": [[srsly.msgpack_dumps(weights)]]}
    data = srsly.msgpack_dumps(model)
    cfg, _ = saved_files.unsealed(whole["cfg"])
    parts = {"model": {"sha256": saved_files.digest_of(data)}}
    return srsly.msgpack_dumps({"cfg": saved_files.sealed(cfg, parts), "model": data})


def changed(nlp, **parts):
    """RETURNS (bytes): A component with other parts of its weights, as a file has
    them."""
    whole, model, weights = packed_model(nlp)
    return with_weights(whole, model, {**weights, **parts})


def load(data):
    return make_nlp().get_pipe("hosemi").from_bytes(data, exclude=["vocab"])


@pytest.fixture(scope="module")
def trained():
    return make_trained()


def zeros(*shape):
    size = int(np.prod(shape))
    bits = zlib.compress(bytes((size + 7) // 8))
    return {"shape": [*shape], "is_stored": bits, "values": np.zeros(0, "f")}


# --- arrays of a saved model ----------------------------------------------------------


@pytest.mark.parametrize(
    "name, shape",
    [
        ("matrix", (800 * MB,)),
        ("matrix", (4_000, 100_000)),
        ("pattern", (800 * MB,)),
        ("length", (3, 200 * MB)),
        ("tail", (800 * MB,)),
    ],
)
def test_an_array_is_not_made_before_its_size_is_checked(trained, name, shape):
    data = changed(trained, **{name: zeros(*shape)})
    assert len(data) < 2 * MB

    def refused():
        with pytest.raises(ValueError, match="HS062"):
            load(data)

    assert peak_of(refused) < 100 * MB


@pytest.mark.parametrize("shape", [(-1, 2), (2, "2"), (1, 1, 1), (True, 4), (2.0, 2)])
def test_a_shape_is_one_or_two_whole_numbers(shape):
    packed = {**pack_floats(np.ones((2, 2))), "shape": list(shape)}
    with pytest.raises((ValueError, TypeError)):
        unpack_floats(packed)


def test_zeros_take_no_memory_of_bits():
    packed = zeros(30, 100_000)  # its bits come in portions
    assert (unpack_floats(packed) == 0).all()
    values = np.arange(9 * MB, dtype=float).reshape(-1, 9) % 7
    assert (unpack_floats(pack_floats(values)) == values).all()


LINES = zlib.compress(b"\n" * 60 * MB)  # each would be a text
BYTES = {b"planes": [b""], "type": "|u1", "size": 60 * MB, "adds": False}
NUMBERS = dict.fromkeys(("template", "value"), srsly.msgpack_dumps(BYTES))
NUMBERS |= dict.fromkeys(("templates", "values"), zlib.compress(b""))


@pytest.mark.parametrize(
    "name, packed",
    [
        *((name, zlib.compress(bytes(200 * MB))) for name in ("names", "family")),
        *(("names", x) for x in (LINES, {"templates": LINES}, NUMBERS)),
        *((name, BYTES) for name in ("counts", "first_pair")),
    ],
)
def test_text_that_grows_without_end(trained, name, packed):
    pipe = make_nlp().get_pipe("hosemi")
    data = changed(trained, **{name: packed})

    def read():
        pipe.from_bytes(data, exclude=["vocab"])
        pipe.model.shims[0].state.names[0]  # names are read when they are asked for

    def refused():
        with pytest.raises(ValueError, match="HS062"):
            read()

    assert peak_of(refused) < 250 * MB


@pytest.mark.parametrize("size", [200 * MB, 10**12])
def test_a_column_that_grows_without_end(size):
    plane = zlib.compress(bytes(200 * MB))
    stored = {b"planes": [plane] * 8, "type": "<u8", "size": size, "adds": False}

    def refused():
        with pytest.raises(ValueError):
            read_msgpack(srsly.msgpack_dumps({"keys": stored}))

    assert peak_of(refused) < 250 * MB


@pytest.mark.parametrize("size", [None, 5])
def test_inflate(size):
    assert inflate(zlib.compress(b"12345"), size) == b"12345"
    for wrong in (b"", b"12345", zlib.compress(b"12345")[:-1], zlib.compress(bytes(7))):
        if size is not None or wrong != zlib.compress(bytes(7)):
            with pytest.raises((ValueError, zlib.error)):
                inflate(wrong, size)
    with pytest.raises(TypeError):
        inflate("12345", size)


# An array as MessagePack has it, which may not hold what Python would run.
OBJECT = {b"nd": True, b"kind": b"", b"shape": [1], b"data": bytes(8)}


@pytest.mark.parametrize(
    "change",
    [
        {"n_docs": "many"},
        {"is_trained": 1},
        {"learn_length": None},
        {"grows": "no"},
        {"n_observed": 1.0},
        {"keys": np.zeros((2, 2), np.uint64)},
        {"keys": np.zeros(3)},
        {"counts": [[1]]},
        {"extensions": {"topic": 3}},
        {"functions": 3},
        {"format": "5"},
        *({"names": x} for x in (["a"], 3, "a\nb", None)),  # not packed
        *({"keys": OBJECT | {b"type": x}} for x in ("O", "|O", "O8", "V8")),
    ],
    ids=str,
)
def test_parts_of_another_kind(trained, change):
    with pytest.raises(ValueError, match="HS062"):
        load(changed(trained, **change))


def test_lists_that_are_none():
    lists = Gazetteers({"names": make_gazetteer(fuzzy={})})
    good = {"keys": np.zeros(0, "u8"), "source": np.zeros(0, "u1")}
    with pytest.raises(ValueError, match="2 entries"):
        lists.load({"names": {**good, "texts": "a\nb", "from": np.zeros(1, "u8")}})


@pytest.mark.parametrize(
    "change", [{"matrix": [zeros(10**9)]}, {"pattern": []}], ids=str
)
def test_levels_of_a_tree(change):
    levels = {"format": 1, "first_pair": [np.zeros(1, "i4")], "patterns": [[]]}
    levels |= {"columns": [np.zeros(0, "i4")], "matrix": [zeros(0)]}
    LevelWeights().from_bytes(srsly.msgpack_dumps({**levels, "pattern": [zeros(0)]}))
    wrong = {**levels, "pattern": [zeros(0)], **change}
    with pytest.raises(ValueError, match="HS062"):
        LevelWeights().from_bytes(srsly.msgpack_dumps(wrong))


# --- numbers that are none ------------------------------------------------------------


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["matrix", "pattern", "length", "tail"])
def test_weights_that_are_not_finite(trained, name, number):
    values = unpack_floats(packed_model(trained)[-1][name])
    values.ravel()[-1] = number
    data = changed(trained, **{name: pack_floats(values)})
    if name != "matrix" and number == -np.inf:  # it forbids
        load(data)
        return
    with pytest.raises(ValueError, match=f"HS313.* the number {number} in {name}"):
        load(data)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, "f8", "i4", "S4"])
def test_mapped_weights_that_are_none(trained, tmp_path, wrong):
    trained.get_pipe("hosemi").to_disk(tmp_path)
    is_type, code = isinstance(wrong, str), f"HS313.*number {wrong} in weights-"
    change_mapped(
        tmp_path, lambda x: x.astype(wrong) if is_type else x.__setitem__((0, 0), wrong)
    )
    with pytest.raises(ValueError, match="HS062" if is_type else code):
        make_nlp().get_pipe("hosemi").from_disk(tmp_path)


def change_mapped(folder, change):
    """Change the weights of a saved component, and its digests."""
    cfg, parts = saved_files.unsealed((folder / "cfg").read_bytes())
    path = folder / parts["weights"]["file"]
    values = np.load(path)
    found = change(values)
    np.save(path, values if found is None else found)
    digest = saved_files.digest_of_file(path)
    parts["weights"]["sha256"] = digest
    (folder / "cfg").write_bytes(saved_files.sealed(cfg, parts))


def test_levels_that_are_not_finite():
    one = {"first_pair": [np.array([0, 1], "i4")], "columns": [np.zeros(1, "i4")]}
    matrix = [pack_floats(np.array([np.nan]))]
    levels = {"format": 1, **one, "matrix": matrix, "patterns": [[]]}
    with pytest.raises(ValueError, match="HS313"):
        data = srsly.msgpack_dumps({**levels, "pattern": [zeros(0)]})
        LevelWeights().from_bytes(data)


# --- garbage collection ---------------------------------------------------------------


def test_what_fails_leaves_garbage_collection_on():
    assert gc.isenabled()
    bad = b"\xc1"
    with pytest.raises(ValueError, match="HS062"):
        make_nlp().get_pipe("hosemi").from_bytes(bad)
    assert gc.isenabled()
    with pytest.raises(ValueError, match="HS155"):
        FieldTokenizer(spacy.blank("en").vocab).from_bytes(bad)
    assert gc.isenabled()


# --- lists ----------------------------------------------------------------------------


def entries(path, **how):
    return [*readers.make_gazetteer_reader(path, **how)()]


def test_a_list_that_grows_when_it_is_decompressed(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "MOST_BYTES", 2**16)
    path = tmp_path / "names.txt.gz"
    path.write_bytes(gzip.compress(b"Ada\n" * 100_000))
    with pytest.raises(ValueError, match=r"HS314.*names\.txt\.gz.*gunzip"):
        entries(path)
    plain = tmp_path / "names.txt"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert len(entries(plain)) == 100_000  # nobody is surprised by its size


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.csv", "a.jsonl", "a.tsv.gz"])
def test_a_line_that_is_no_entry(tmp_path, name):
    path, data = tmp_path / name, b"Ada\n" + b"a" * 100 * MB
    path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    del data

    def refused():
        with pytest.raises(ValueError, match="HS315.*line 2.*|HS085.*line 1"):
            entries(path)

    assert peak_of(refused) < 20 * MB


def test_entries_that_come_again_take_no_memory():
    lists, nlp = Gazetteers({"names": make_gazetteer(fuzzy={})}), spacy.blank("en")
    many = (f"Ada {k % 10}" for k in range(MB))
    assert peak_of(lambda: lists.compile("names", many, nlp)) < 5 * MB
    assert len(lists.tries["names"]) == len(lists.fuzzy["names"]) == 10


# --- archives -------------------------------------------------------------------------


@pytest.fixture()
def workers(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from spacy_hosemi import workers

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return workers


def tar(path, files):
    with tarfile.open(path, "w:gz") as whole:
        for name, data in files:
            one = tarfile.TarInfo(name)
            one.size = len(data)
            whole.addfile(one, io.BytesIO(data))


def pack_zip(path, files):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may be there twice
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
            for name, data in files:
                whole.writestr(name, data)


@pytest.mark.parametrize("pack, ending", [(tar, ".tar.gz"), (pack_zip, ".zip")])
def test_an_archive_of_too_much(tmp_path, workers, monkeypatch, pack, ending):
    path = tmp_path / f"model{ending}"
    monkeypatch.setattr(workers, "_MOST_BYTES", 2**16)
    pack(path, [("config.cfg", b""), ("a", bytes(MB)), ("b", bytes(MB))])
    with pytest.raises(ValueError, match=r"HS316.*model.*unpack it"):
        workers.unpacked(path)
    assert not [*Path(tempfile.gettempdir()).rglob("config.cfg")]
    monkeypatch.setattr(workers, "_MOST_BYTES", 2**22)
    monkeypatch.setattr(workers, "_MOST_FILES", 2)
    with pytest.raises(ValueError, match=r"HS316.*model.* in 3 files"):
        workers.unpacked(path)
    monkeypatch.setattr(workers, "_MOST_FILES", 3)
    assert (workers.unpacked(path) / "config.cfg").is_file()


@pytest.mark.parametrize("pack, ending", [(tar, ".tar.gz"), (pack_zip, ".zip")])
def test_a_damaged_archive(tmp_path, workers, pack, ending):
    path = tmp_path / f"model{ending}"
    pack(path, [("config.cfg", b"[nlp]" * 50)])
    data, n_refused = bytearray(path.read_bytes()), 0
    for at in range(len(data)):
        changed = data[:]
        changed[at] ^= 255
        path.write_bytes(changed)
        try:
            workers.unpacked(path)
        except ValueError as error:
            assert str(error).startswith(("[HS337]", "[HS316]"))
            n_refused += 1
    assert n_refused > 10
