"""The settings that tune tries."""

import warnings

import pytest
from spacy.util import load_config_from_str, load_model_from_config

from spacy_hosemi.configs import KINDS, find_lists, make_config
from spacy_hosemi.tuning import candidates as module
from spacy_hosemi.tuning.candidates import (
    BAG,
    MAX_CANDIDATES,
    candidates,
    in_words,
    read_value,
)
from spacy_hosemi.tuning.tuned_config import changed

FEATURES = "components.hosemi.model.features"
TOK2VEC = "components.hosemi.model.tok2vec"
LISTS = (
    "components.hosemi.model.gazetteers",
    "initialize.components.hosemi.gazetteers",
)


@pytest.fixture(autouse=True)
def no_packages(monkeypatch):
    monkeypatch.setattr(module, "package_lists", lambda kind, lang: [])


def config_of(kind, **more):
    text = make_config(kind, **more)
    return load_model_from_config(load_config_from_str(text), auto_fill=True).config


@pytest.mark.parametrize("kind", KINDS)
def test_each_candidate_is_another_config_that_can_be_made(kind):
    if kind == "characters":
        pytest.importorskip("pkuseg", reason="a tokenizer for Chinese")
    config = config_of(kind)
    found = candidates(config, "hosemi", kind)
    assert found[0] == {} and 8 <= len(found) <= MAX_CANDIDATES
    assert [len(x) for x in found] == sorted(len(x) for x in found)
    texts = {changed(config, one).to_str() for one in found}
    assert len(texts) == len(found)
    for one in found:
        for key, value in one.items():
            assert read_value(config, key) != value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pipe = load_model_from_config(changed(config, one)).get_pipe("hosemi")
        if order := one.get("components.hosemi.max_order"):
            assert pipe.max_order == order


def test_the_bag_is_left_out_where_it_is():
    config = config_of("affiliations")
    assert read_value(config, f"{FEATURES}.start") == [BAG]
    assert {f"{FEATURES}.start": []} in candidates(config, "hosemi")


def test_chinese_keeps_its_features():
    block = {"model": {"features": {"preset": "chinese", "start": []}}}
    found = candidates({"components": {"hosemi": block}}, "hosemi")
    assert all(f"{FEATURES}.preset" not in x for x in found)


def test_without_features_there_are_orders_alone():
    block = {"max_order": 2, "model": {"features": None}}
    found = candidates({"components": {"hosemi": block}}, "hosemi")
    key = "components.hosemi.max_order"
    assert found == [{}, {key: 1}, {key: 3}]


def test_lists(tmp_path, monkeypatch):
    """Without them where a config has some, else those of packages."""
    (tmp_path / "names.txt").write_text("Ada")
    lists, _ = find_lists(tmp_path)
    config = config_of("fields", lists=lists, folder=tmp_path)
    without = dict.fromkeys(LISTS, {})
    assert without in candidates(config, "hosemi")
    assert not changed(config, without)["components"]["hosemi"]["model"]["gazetteers"]
    seen = []
    monkeypatch.setattr(
        module, "package_lists", lambda *args: seen.append(args) or lists
    )
    found = next(
        x for x in candidates(config_of("fields"), "hosemi", "fields") if LISTS[0] in x
    )
    assert seen == [("fields", "en")] and in_words(found) == "gazetteers names"
    assert found[LISTS[1]]["names"] == lists[0].reader()


def test_vectors():
    """With and without; those of the vocabulary stay if others may read them."""
    block = {"model": {"tok2vec": {"@architectures": "any"}}}
    config = {"components": {"hosemi": block}, "nlp": {"pipeline": ["hosemi"]}}
    config["initialize"] = {"vectors": "any"}
    without = {TOK2VEC: None, "initialize.vectors": None}
    assert candidates(config, "hosemi")[1] == without
    assert in_words(without) == "tok2vec none"
    config["nlp"]["pipeline"].insert(0, "tok2vec")
    assert candidates(config, "hosemi")[1] == {TOK2VEC: None}


def test_in_words():
    changes = {"a.max_order": 3, f"{FEATURES}.start": [BAG]}
    assert in_words(changes) == f'max_order 3, start ["{BAG}"]'
    assert in_words(dict.fromkeys(LISTS, {})) == "gazetteers none"
    assert in_words({}) == "as it is"
