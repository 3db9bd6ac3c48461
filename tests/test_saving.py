"""`spacy_hosemi.save`: the old pipeline or the new one, whatever happens."""

import errno
import os
import shutil
from pathlib import Path

import pytest
import spacy

import spacy_hosemi
from spacy_hosemi import saving

from .helpers import make_trained


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


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch):
    if request.param == "two renames":
        monkeypatch.setattr(saving, "_exchange", lambda *_: False)
    return request.param


def test_a_new_folder(two, tmp_path):
    spacy_hosemi.save(two[1], tmp_path / "deep" / "model")
    assert setting_of(tmp_path / "deep" / "model") == 0.25
    assert os.listdir(tmp_path / "deep") == ["model"]


def test_over_an_old_one(two, tmp_path, way):
    one, other = two
    one.to_disk(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    spacy_hosemi.save(other, str(tmp_path / "model"))
    assert setting_of(tmp_path / "model") == 0.25
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]


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


class Killed(BaseException):
    """What ends a process."""


def save_until(monkeypatch, nlp, path, limit):
    """Save, and stop for good before step `limit`. RETURNS (bool): Whether it did."""
    steps = [0]

    def stopping(call):
        def stopped(*args, **kwargs):
            steps[0] += 1
            if steps[0] > limit:
                raise Killed
            return call(*args, **kwargs)

        return stopped

    with monkeypatch.context() as m:
        m.setattr(nlp, "to_disk", stopping(nlp.to_disk))
        m.setattr(saving, "flush_names", stopping(saving.flush_names))
        m.setattr(saving, "_exchange", stopping(saving._exchange))
        m.setattr(Path, "rename", stopping(Path.rename))
        m.setattr(shutil, "rmtree", stopping(shutil.rmtree))
        try:
            spacy_hosemi.save(nlp, path)
        except Killed:
            return True
    return False


def test_killed_at_any_step(two, tmp_path, monkeypatch, way):
    one, other = two
    limit, is_killed, found = 0, True, []
    while is_killed:
        folder = tmp_path / f"{limit}"
        folder.mkdir()
        one.to_disk(folder / "model")
        is_killed = save_until(monkeypatch, other, folder / "model", limit)
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
