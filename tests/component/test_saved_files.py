"""The files of a component: exchanged at once, checked, mapped."""

import errno
import mmap
import os
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import spacy

from spacy_hosemi.component import saved_files

from ..helpers import is_killed_at, make_nlp, make_trained, triples

TEXT = "Ada Lovelace wrote to Mary Somerville in Paris."


def make_two():
    """Two pipelines that find different spans."""
    one, other = make_trained(), make_trained()
    pipe = other.get_pipe("hosemi")
    pipe.set_weights(-pipe.get_weights())
    assert answer(one) != answer(other)
    return one, other


def answer(nlp):
    return triples(nlp(TEXT).ents), nlp.get_pipe("hosemi").get_weights().tolist()


def files_of(folder):
    return {path.name: path.read_bytes() for path in (folder / "hosemi").iterdir()}


def test_one_file_for_each_part(tmp_path):
    one, other = make_two()
    one.to_disk(tmp_path)
    other.to_disk(tmp_path)
    names = sorted(name.partition("-")[0] for name in files_of(tmp_path))
    assert names == ["cfg", "model", "weights"]
    assert answer(spacy.load(tmp_path)) == answer(other)


def test_saved_again_the_bytes_are_the_same(tmp_path):
    nlp = make_trained()
    nlp.to_disk(tmp_path)
    before = files_of(tmp_path)
    spacy.load(tmp_path).to_disk(tmp_path)
    assert files_of(tmp_path) == before


# weights in the file


def base_of(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array


def test_weights_are_mapped_and_stay_so_while_predicting(tmp_path):
    make_trained().to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    weights = nlp.get_pipe("hosemi").state.weights
    assert isinstance(base_of(weights.of_features), mmap.mmap)
    assert not weights.of_features.flags.writeable
    nlp(TEXT)
    assert nlp.get_pipe("hosemi").state.weights is weights
    of_words = [x for x in weights._results if x.__name__ == "_in_doubles"]
    assert not of_words  # nobody has made a copy in double precision


def test_mapped_weights_are_trained_on(tmp_path):
    nlp = make_trained()
    nlp.to_disk(tmp_path)
    before = files_of(tmp_path)
    loaded = spacy.load(tmp_path)
    pipe = loaded.get_pipe("hosemi")
    pipe.set_weights(2.0 * pipe.get_weights())
    loaded(TEXT)
    assert files_of(tmp_path) == before
    loaded.to_disk(tmp_path)
    assert answer(spacy.load(tmp_path)) == answer(loaded)


def test_a_pipeline_outlives_its_file(tmp_path):
    one, other = make_two()
    one.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    other.to_disk(tmp_path)
    assert answer(loaded) == answer(one)


# interrupted


OWNERS = {"fsync": os, "replace": os, "unlink": Path, "write": saved_files._Hashed}
STEPS = [(owner, name) for name, owner in OWNERS.items()]


def test_killed_at_any_step(tmp_path):
    one, other = make_two()
    save = other.get_pipe("hosemi").to_disk
    limit, is_killed, found = 0, True, []
    while is_killed:
        folder = tmp_path / f"{limit}"
        one.to_disk(folder)
        save_there = partial(save, folder / "hosemi", exclude=["vocab"])
        is_killed = is_killed_at(limit, STEPS, save_there)
        left = answer(spacy.load(folder))
        found.append([left == answer(x) for x in (one, other)])
        other.to_disk(folder)  # what was left goes
        assert len(files_of(folder)) == 3
        limit += 1
    assert limit > 8
    # First the old one, from some step on the new one
    assert found == sorted(found, reverse=True)
    assert [True, False] in found and [False, True] in found
    assert all(sum(x) == 1 for x in found)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, limit):
    one, other = make_two()
    one.to_disk(tmp_path)
    before, sync, calls = files_of(tmp_path), os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as m:
        m.setattr(saved_files.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            other.to_disk(tmp_path)
    assert before.items() <= files_of(tmp_path).items()
    assert answer(spacy.load(tmp_path)) == answer(one)


def test_without_the_model_the_one_that_is_there_stays(tmp_path):
    nlp = make_trained()
    nlp.to_disk(tmp_path)
    pipe = nlp.get_pipe("hosemi")
    pipe.min_confidence = 0.5
    pipe.to_disk(tmp_path / "hosemi", exclude=["vocab", "model"])
    fresh = make_nlp().get_pipe("hosemi")
    fresh.from_disk(tmp_path / "hosemi", exclude=["vocab"])
    assert fresh.min_confidence == 0.5
    assert fresh.get_weights().tolist() == pipe.get_weights().tolist()


def test_without_cfg(tmp_path):
    pipe = make_trained(max_length=2).get_pipe("hosemi")
    pipe.to_disk(tmp_path, exclude=["vocab", "cfg"])
    data = pipe.to_bytes(exclude=["vocab", "cfg"])
    for load in ("from_disk", "from_bytes"):
        fresh = make_trained().get_pipe("hosemi")
        source = tmp_path if load == "from_disk" else data
        getattr(fresh, load)(source, exclude=["vocab"])
        assert fresh.max_length is None
        assert fresh.get_weights().tolist() == pipe.get_weights().tolist()


# damaged


def flipped(data, rng):
    at = rng.randrange(len(data))
    changed = bytearray(data)
    changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("part", ["cfg", "model", "weights"])
def test_no_changed_bit_goes_unnoticed(tmp_path, part):
    make_trained().to_disk(tmp_path)
    (path,) = (tmp_path / "hosemi").glob(f"{part}*")
    whole, rng = path.read_bytes(), random.Random(0)
    fresh = make_nlp().get_pipe("hosemi")
    for _ in range(20):
        path.write_bytes(flipped(whole, rng))
        with pytest.raises(ValueError, match="HS06"):
            fresh.from_disk(tmp_path / "hosemi", exclude=["vocab"])


def test_no_changed_bit_in_bytes_goes_unnoticed():
    whole, rng = make_trained().get_pipe("hosemi").to_bytes(), random.Random(1)
    for _ in range(20):
        with pytest.raises(ValueError, match="HS06"):
            make_nlp().get_pipe("hosemi").from_bytes(flipped(whole, rng))


def test_cfg_leads_to_no_other_file(tmp_path):
    make_trained().to_disk(tmp_path)
    path = tmp_path / "hosemi" / "cfg"
    cfg, parts = saved_files.unsealed(path.read_bytes())
    other = tmp_path / "meta.json"
    part = {"file": "../meta.json", "sha256": saved_files.digest_of_file(other)}
    path.write_bytes(saved_files.sealed(cfg, {**parts, "model": part}))
    with pytest.raises(ValueError, match=r"HS062.*\.\./meta\.json"):
        spacy.load(tmp_path)


@pytest.mark.parametrize("change", ["a line twice", "a space", "an end of line"])
def test_cfg_is_what_was_saved_byte_by_byte(tmp_path, change):
    make_trained().get_pipe("hosemi").to_disk(tmp_path)
    data = (tmp_path / "cfg").read_bytes()
    line = data.splitlines(keepends=True)[1]
    changed = {
        "a line twice": data.replace(line, line + line, 1),
        "a space": data.replace(b": ", b":  ", 1),
        "an end of line": data + b"\n",
    }[change]
    (tmp_path / "cfg").write_bytes(changed)
    with pytest.raises(ValueError, match="HS062.*cfg is not what was saved"):
        make_trained().get_pipe("hosemi").from_disk(tmp_path)


def test_cfg_may_have_the_ends_of_lines_of_windows(tmp_path):
    make_trained().get_pipe("hosemi").to_disk(tmp_path)
    data = (tmp_path / "cfg").read_bytes()
    (tmp_path / "cfg").write_bytes(data.replace(b"\n", b"\r\n"))
    make_trained().get_pipe("hosemi").from_disk(tmp_path)
