"""`spacy_hosemi.save`: the old pipeline or the new one, whatever happens."""

import errno
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import spacy

import spacy_hosemi
from spacy_hosemi import saving
from spacy_hosemi.cli.common import load_pipeline
from spacy_hosemi.component import serialization

from .conftest import ROOT
from .helpers import is_killed_at, make_trained


@pytest.fixture(scope="module")
def two():
    """Two pipelines, told apart by a setting, which config.cfg has, too."""
    one, other = make_trained(), make_trained()
    other.get_pipe("hosemi").min_confidence = 0.25
    return one, other


def setting_of(folder):
    """What loading gives; in both places."""
    nlp = spacy.load(folder)
    found = nlp.get_pipe("hosemi").min_confidence
    assert nlp.get_pipe_config("hosemi")["min_confidence"] == found
    return found


@pytest.fixture(params=["beside", "in the folder"])
def place(request, monkeypatch):
    if request.param == "in the folder":
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "model")
    return request.param


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch):
    if request.param == "two renames":
        monkeypatch.setattr(saving, "_exchange", lambda *_: False)
    return request.param


def test_a_new_folder(two, tmp_path):
    spacy_hosemi.save(two[1], tmp_path / "deep" / "model")
    assert setting_of(tmp_path / "deep" / "model") == 0.25
    assert os.listdir(tmp_path / "deep") == ["model"]


def test_over_an_old_one(two, tmp_path, way, place):
    one, other = two
    one.to_disk(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    spacy_hosemi.save(other, str(tmp_path / "model"))
    assert setting_of(tmp_path / "model") == 0.25
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]
    assert not [*(tmp_path / "model").glob(".*")]


def test_the_working_folder_stays(two, tmp_path, way, monkeypatch):
    """Before, it was removed, and everything that the process did next failed."""
    two[0].to_disk(tmp_path / "model")
    (tmp_path / "model" / "sub").mkdir()
    for folder in (tmp_path / "model", tmp_path / "model" / "sub"):
        monkeypatch.chdir(folder)
        spacy_hosemi.save(two[1], "." if folder.name == "model" else "..")
        assert Path.cwd() == folder and setting_of(tmp_path / "model") == 0.25
        spacy_hosemi.save(two[0], tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


# What other paths have left, or is their only copy, beside "m-1".
OTHERS = [
    ".m-1.0.0123456789ab.old",
    ".m-1.0.0.0123456789ab.new",
    ".m-1.1.fedcba987654.old",
    ".m-1.mine.new",
    "m-1.0",
]


def test_what_belongs_to_other_paths_stays(two, tmp_path, way):
    """Before, saving m-1 removed the only copy of m-1.0."""
    for name in OTHERS:
        (tmp_path / name).mkdir()
    for kind in ("old", "new"):
        (tmp_path / f".m-1.0123456789ab.{kind}").mkdir()  # by 0.2.0, interrupted
    for _ in range(2):
        spacy_hosemi.save(two[0], tmp_path / "m-1")
    assert {*os.listdir(tmp_path)} == {*OTHERS, "m-1"}


@pytest.mark.parametrize("name", ["m" * 255, "é" * 127, "[*]? .", "m.new", ".m"])
def test_names_of_any_kind(two, tmp_path, way, name):
    for nlp, expected in zip(two, (0.0, 0.25)):
        spacy_hosemi.save(nlp, tmp_path / name)
        assert setting_of(tmp_path / name) == expected
        assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(os.name == "nt", reason="one process at a time may save there")
def test_one_at_a_time(two, tmp_path, place, monkeypatch):
    """The second is told, and harms nothing; the first ends."""
    path, errors = tmp_path / "model", []
    two[0].to_disk(path)

    def to_disk(folder):
        for save in (lambda: spacy_hosemi.save(two[0], path), in_a_process):
            with pytest.raises(OSError, match="HS367") as error:
                save()
            errors.append(str(error.value))
        original(folder)

    def in_a_process():
        patch = PATCH if place == "in the folder" else ""
        code = f"import spacy, spacy_hosemi; nlp = spacy.blank('en'); {patch}"
        code += f"spacy_hosemi.save(nlp, {str(path)!r})"
        args = [sys.executable, "-c", code]
        found = subprocess.run(args, capture_output=True, text=True, cwd=ROOT)
        raise OSError(found.stderr)

    original = two[1].to_disk
    monkeypatch.setattr(two[1], "to_disk", to_disk)
    spacy_hosemi.save(two[1], path)
    assert setting_of(path) == 0.25 and os.listdir(tmp_path) == ["model"]
    assert (
        all(f"number {os.getpid()}" in error for error in errors) and len(errors) == 2
    )


# A folder is a mount point for both processes, or for neither.
PATCH = "import os; os.path.ismount = lambda path: True; "


def test_threads_that_save_to_one_path(two, tmp_path):
    """Each succeeds or is told; what is there at the end is whole."""
    path = tmp_path / "model"

    def save(k):
        try:
            spacy_hosemi.save(two[k % 2], path)
        except BlockingIOError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        n_saved = sum(pool.map(save, range(24)))
    assert n_saved >= 1 and setting_of(path) in (0.0, 0.25)
    assert os.listdir(tmp_path) == ["model"]


def test_a_lock_of_a_process_that_was_killed(two, tmp_path):
    (tmp_path / ".model.lock").write_text("123")
    spacy_hosemi.save(two[1], tmp_path / "model")
    assert setting_of(tmp_path / "model") == 0.25
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_system_without_locks(two, tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(saving.fcntl, "flock", flock)
    spacy_hosemi.save(two[1], tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]
    monkeypatch.setattr(saving, "fcntl", None)  # Windows
    spacy_hosemi.save(two[0], tmp_path / "model")
    assert setting_of(tmp_path / "model") == 0.0


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_modes_and_groups_stay(two, tmp_path, way, place):
    path = tmp_path / "model"
    two[0].to_disk(path)
    path.chmod(0o2775)
    (path / "config.cfg").chmod(0o640)
    (path / "hosemi").chmod(0o2750)
    groups = (12345, 12346) if os.geteuid() == 0 else (os.getegid(),) * 2
    os.chown(path, -1, groups[0])
    os.chown(path / "config.cfg", -1, groups[1])
    os.chmod(path, 0o2775)  # a change of the group may take bits away
    spacy_hosemi.save(two[1], path)
    expected = [(".", 0o2775), ("config.cfg", 0o640), ("hosemi", 0o2750)]
    for name, mode in expected:
        assert stat.S_IMODE((path / name).stat().st_mode) == mode
    assert (path.stat().st_gid, (path / "config.cfg").stat().st_gid) == groups
    weights = next((path / "hosemi").glob("weights-*"))
    assert weights.stat().st_gid == (path / "hosemi").stat().st_gid


def test_the_pipeline_that_was_loaded_from_there(two, tmp_path, way):
    two[0].to_disk(tmp_path / "model")
    nlp = spacy.load(tmp_path / "model")
    nlp.get_pipe("hosemi").min_confidence = 0.5
    spacy_hosemi.save(nlp, tmp_path / "model")
    assert setting_of(tmp_path / "model") == 0.5


def test_a_link_leads_to_the_folder(two, tmp_path):
    one, other = two
    one.to_disk(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    spacy_hosemi.save(other, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert setting_of(tmp_path / "real") == 0.25


def test_a_file_is_refused(two, tmp_path):
    (tmp_path / "model").write_text("a file")
    with pytest.raises(NotADirectoryError, match="model is a file; expected a folder"):
        spacy_hosemi.save(two[0], tmp_path / "model")
    assert (tmp_path / "model").read_text() == "a file"


def test_a_full_disk(two, tmp_path, monkeypatch):
    one, other = two
    one.to_disk(tmp_path / "model")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as m:
        m.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            spacy_hosemi.save(other, tmp_path / "model")
    assert setting_of(tmp_path / "model") == 0.0
    assert os.listdir(tmp_path) == ["model"]


STEPS = [(saving, "flush_names"), (saving, "_exchange"), (Path, "rename")]
STEPS.append((shutil, "rmtree"))


def save_until(nlp, path, limit):
    steps = [(nlp, "to_disk"), *STEPS]
    return is_killed_at(limit, steps, lambda: spacy_hosemi.save(nlp, path))


def test_killed_at_any_step(two, tmp_path, way):
    one, other = two
    limit, is_killed, found = 0, True, []
    while is_killed:
        folder = tmp_path / f"{limit}"
        folder.mkdir()
        one.to_disk(folder / "model")
        is_killed = save_until(other, folder / "model", limit)
        if (folder / "model").exists():
            found.append(setting_of(folder / "model"))
        else:  # between two renames
            assert way == "two renames"
            (old,) = folder.glob(".model.*.old")
            assert setting_of(old) == 0.0
        spacy_hosemi.save(other, folder / "model")
        assert setting_of(folder / "model") == 0.25
        assert os.listdir(folder) == ["model"]
        limit += 1
    assert found == sorted(found) and {*found} == {0.0, 0.25}
    assert limit > 5


def test_killed_in_a_folder_that_cannot_be_renamed(two, tmp_path, monkeypatch, way):
    """Each component is the old or the new one; the next save is whole."""
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "model")
    path, limit, is_killed = tmp_path / "model", 0, True
    while is_killed:
        two[0].to_disk(path)
        is_killed = save_until(two[1], path, limit)
        if way == "exchange":
            assert spacy.load(path).get_pipe("hosemi").weights.is_trained
        spacy_hosemi.save(two[1], path)
        assert setting_of(path) == 0.25
        assert os.listdir(tmp_path) == ["model"] and not [*path.glob(".*")]
        limit += 1
    assert limit > 5


def test_load_verifies_unless_told(two, tmp_path):
    nlp = two[0]
    spacy_hosemi.save(nlp, tmp_path)
    text = "Ada Lovelace lived in Paris."
    expected = [(x.text, x.label_) for x in nlp(text).ents]
    (weights,) = (tmp_path / "hosemi").glob("weights-*.npy")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ValueError, match="HS062.*SHA-256"):
        spacy_hosemi.load(tmp_path)
    found = spacy_hosemi.load(tmp_path, verify=False, exclude=["nothing"])
    assert [(x.text, x.label_) for x in found(text).ents] == expected
    with pytest.raises(ValueError, match="HS062"):  # the choice was for one call
        spacy.load(tmp_path)


def test_load_without_verifying_still_finds_what_is_missing(two, tmp_path):
    spacy_hosemi.save(two[0], tmp_path)
    (weights,) = (tmp_path / "hosemi").glob("weights-*.npy")
    weights.write_bytes(b"cut short")
    with pytest.raises(ValueError, match="HS062"):
        spacy_hosemi.load(tmp_path, verify=False)
    weights.unlink()
    with pytest.raises(ValueError, match="HS061"):
        spacy_hosemi.load(tmp_path, verify=False)


@pytest.mark.parametrize("where", ["read_cfg", "read_parts", "_restore"])
@pytest.mark.parametrize("load", [spacy_hosemi.load, load_pipeline, spacy.load])
def test_a_save_in_the_midst_of_a_load(two, tmp_path, way, monkeypatch, where, load):
    """What is read is of the new folder alone; a component is, with spacy.load, too."""
    path, step, saves = tmp_path / "model", getattr(serialization, where), [*two[::-1]]
    spacy_hosemi.save(two[0], path)

    def save_and_step(*args):
        if saves:
            spacy_hosemi.save(saves.pop(), path)
        return step(*args)

    monkeypatch.setattr(serialization, where, save_and_step)
    nlp = load(str(path))
    assert not saves
    if load is not spacy.load:  # which has read config.cfg before
        assert nlp.get_pipe("hosemi").min_confidence == 0.25
    elif where == "read_parts":
        saves += two * 11
        with pytest.raises(OSError, match="HS367"):
            spacy.load(path)
