"""The menu of settings."""

import warnings

import pytest
from spacy.util import load_config_from_str, load_model_from_config

from spacy_hosemi.configs import KINDS, make_config
from spacy_hosemi.tuning.menu import BAG, broad, fine, in_words, read_value
from spacy_hosemi.tuning.written import changed


def config_of(kind):
    nlp = load_model_from_config(
        load_config_from_str(make_config(kind)), auto_fill=True
    )
    return nlp.config


@pytest.mark.parametrize("kind", KINDS)
def test_each_candidate_is_another_config_that_can_be_made(kind):
    if kind == "characters":
        pytest.importorskip("pkuseg", reason="a tokenizer for Chinese")
    config = config_of(kind)
    block = config["components"]["hosemi"]
    found = broad(block)
    assert found[0] == {} and len(found) >= 8
    found += fine(block, found[1])
    texts = {changed(config, "hosemi", one).to_str() for one in found}
    assert len(texts) == len(found)
    for one in found:
        for key, value in one.items():
            assert read_value(block, key) != value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            nlp = load_model_from_config(changed(config, "hosemi", one))
        pipe = nlp.get_pipe("hosemi")
        for key, value in one.items():
            if "." not in key:
                assert getattr(pipe, key) == value


def test_the_bag_is_left_out_where_it_is():
    block = config_of("affiliations")["components"]["hosemi"]
    assert block["model"]["features"]["start"] == [BAG]
    starts = [x.get("model.features.start") for x in broad(block)]
    assert [] in starts and [BAG] not in starts


def test_chinese_keeps_its_features():
    block = {"model": {"features": {"preset": "chinese", "start": []}}}
    assert all("model.features.preset" not in x for x in broad(block))


def test_without_features_there_are_structures_alone():
    block = {"encoding": "segments", "max_order": 2, "decoding": "viterbi"}
    found = broad({**block, "model": {"features": None}})
    assert sorted({key for one in found for key in one}) == ["encoding", "max_order"]
    assert fine({**block, "model": {"features": None}}, {}) == []


def test_variants_change_one_setting():
    block = config_of("fields")["components"]["hosemi"]
    changes = {"max_order": 3}
    for one in fine(block, changes):
        assert one["max_order"] == 3 and len(one) == 2
    key = "model.features.min_count"
    values = [x[key] for x in fine(block, {key: 3}) if key in x]
    assert sorted(values) == [1, 3]  # 2 is the config's: without the key


def test_in_words():
    changes = {"max_order": 3, "model.features.start": [BAG], "decoding": "mbr"}
    assert in_words(changes) == f'max_order 3, start ["{BAG}"]'
    assert in_words({}) == "as it is"
