"""Saving and loading: what comes back, and what is refused."""

import copy
import pickle
import shutil

import pytest
import spacy
import srsly

from spacy_hosemi.component.saved_files import sealed, unsealed

from ..helpers import (
    UNTRAINED,
    make_examples,
    make_nlp,
    make_trained,
    part_of,
    triples,
)

PARTS = ["cfg", "model", "weights"]

TEXT = "Ada Lovelace wrote to Mary Somerville in Paris."


def through_disk(nlp, folder):
    nlp.to_disk(folder)
    return spacy.load(folder)


def through_bytes(nlp, folder):
    fresh = spacy.util.load_model_from_config(nlp.config)
    return fresh.from_bytes(nlp.to_bytes())


def through_pickle(nlp, folder):
    return pickle.loads(pickle.dumps(nlp))


def through_deepcopy(nlp, folder):
    return copy.deepcopy(nlp)


THROUGH = [through_disk, through_bytes, through_pickle, through_deepcopy]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"encoding": "BILUO"},
        {"explicit_length": 3},
        {"explicit_length": 3},
    ],
)
@pytest.mark.parametrize("through", THROUGH)
def test_round_trip(through, config, tmp_path):
    nlp = make_trained(**config)
    other = through(nlp, tmp_path)
    left, right = nlp.get_pipe("hosemi"), other.get_pipe("hosemi")
    assert right.labels == left.labels
    assert right.automaton.patterns == left.automaton.patterns
    assert right.cfg == left.cfg
    assert right.get_weights().tolist() == left.get_weights().tolist()
    assert right.model.to_bytes() == left.model.to_bytes()
    assert triples(other(TEXT).ents) == triples(nlp(TEXT).ents) != []
    for eg, other_eg in zip(make_examples(nlp), make_examples(other), strict=True):
        assert (
            left.value_and_gradient([eg])[0] == right.value_and_gradient([other_eg])[0]
        )


@UNTRAINED
@pytest.mark.parametrize("through", THROUGH)
def test_round_trip_of_an_untrained_component(through, tmp_path):
    nlp = through(make_nlp(), tmp_path)
    assert nlp(TEXT).ents == ()
    assert nlp.get_pipe("hosemi").add_label("PER") == 1
    nlp.initialize(lambda: make_examples(nlp))
    initialized = through(nlp, tmp_path / "again")
    assert initialized(TEXT).ents == ()
    initialized.update(make_examples(initialized), sgd=initialized.create_optimizer())


def test_the_settings_of_the_saved_model_hold(tmp_path):
    nlp = through_disk(make_trained(max_length=2, outside="token"), tmp_path)
    assert nlp.get_pipe("hosemi").cfg["max_length"] == 2
    assert nlp.get_pipe("hosemi").inventory.outside == "token"


def test_exclude(tmp_path):
    pipe = make_trained().get_pipe("hosemi")
    pipe.to_disk(tmp_path, exclude=["vocab", "model"])
    assert not (tmp_path / "model").exists()
    fresh = make_nlp().get_pipe("hosemi")
    fresh.from_disk(tmp_path, exclude=["vocab", "model"])
    assert fresh.labels == pipe.labels


# --- what is refused --------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    make_trained().to_disk(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """A saved pipeline of one's own, to be damaged."""
    return shutil.copytree(saved, tmp_path / "model")


@pytest.mark.parametrize("part", PARTS)
def test_missing_file(folder, part):
    path = part_of(folder / "hosemi", part)
    path.unlink()
    with pytest.raises(ValueError, match=f"HS061.*{path.name} is missing"):
        spacy.load(folder)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_truncated_file(folder, part, share):
    path = part_of(folder / "hosemi", part)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="HS062"):
        spacy.load(folder)


@pytest.mark.parametrize("part", PARTS)
def test_another_file(folder, part):
    part_of(folder / "hosemi", part).write_bytes(b"[1, 2]")
    with pytest.raises(ValueError, match="HS062"):
        spacy.load(folder)


@pytest.mark.parametrize("cfg", [[], {}, "text", None, {"format": "one"}])
def test_another_cfg(folder, cfg):
    srsly.write_json(folder / "hosemi" / "cfg", cfg)
    with pytest.raises(ValueError, match="HS06[124]"):
        spacy.load(folder)


def test_truncated_bytes():
    data = make_trained().get_pipe("hosemi").to_bytes()
    with pytest.raises(ValueError, match="HS062"):
        make_nlp().get_pipe("hosemi").from_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("version", [1, 3])
def test_another_format_of_cfg(folder, version):
    path = folder / "hosemi" / "cfg"
    srsly.write_json(path, {**srsly.read_json(path), "format": version})
    with pytest.raises(ValueError, match=f"HS063.*format {version}.*trained anew"):
        spacy.load(folder)


@pytest.mark.parametrize(
    "setting", [{"pattern_selection": "gain"}, {"length_smoothing": 2}]
)
def test_settings_that_only_older_models_have(folder, setting):
    path = folder / "hosemi" / "cfg"
    cfg, parts = unsealed(path.read_bytes())
    path.write_bytes(sealed({**cfg, **setting}, parts))
    with pytest.raises(ValueError, match=f"HS342.*{next(iter(setting))}.*train anew"):
        spacy.load(folder)


@pytest.mark.parametrize("config", [{"max_order": 1}, {"encoding": "BIO"}])
def test_parts_of_different_models(folder, tmp_path_factory, config):
    other = tmp_path_factory.mktemp("other")
    make_trained(**config).to_disk(other)
    cfg, _ = unsealed((other / "hosemi" / "cfg").read_bytes())
    _, parts = unsealed((folder / "hosemi" / "cfg").read_bytes())
    (folder / "hosemi" / "cfg").write_bytes(sealed(cfg, parts))
    with pytest.raises(ValueError, match="HS064"):
        spacy.load(folder)
