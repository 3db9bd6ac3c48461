"""Saving and loading: what comes back, and what is refused."""

import copy
import pickle
import shutil

import pytest
import spacy
import srsly

from spacy_hosemi.component.saved_files import sealed, unsealed

from ..helpers import (
    SMALL,
    UNTRAINED,
    lbfgs,
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


def lengths(doc):
    """A feature function: texts and numbers."""
    return [[token.text[:1].lower(), ("size", len(token) / 4)] for token in doc]


spacy.registry.misc("hosemi_tests_lengths.v1", func=lambda: lengths)

LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}
SETTINGS = {"temperature": 1.5, "min_confidence": {"PER": 0.2}, "confidence": True}
MADE = {
    "plain": {},
    "tags": {"encoding": "BILUO", "outside": "token"},
    "lengths": {"explicit_length": 3, "max_length": 4},
    "rules": {"label_rules": ["PER at most twice"], **SETTINGS},
    "in some columns": {"features": {**SMALL, "all_labels": False}},
    "everything": {
        "features": {
            **SMALL,
            "within": ["LOWER[-1] & LOWER"],
            "whole": ["TOKENS", "LOWER*", "x:MATCH", "y:SIMILARITY"],
            "transition": ["LOWER"],
            "transition_inside": ["LOWER"],
            "functions": {"f": {"@misc": "hosemi_tests_lengths.v1"}},
        },
        "observed_order": 2,
        "model": {
            "gazetteers": {
                "x": {**LIST, "attr": "LOWER", "mode": "hard", "label": "LOC"},
                "y": {**LIST, "fuzzy": {"threshold": 0.4}},
            },
            "tables": {"t": {"@misc": "spacy_hosemi.table.v1"}},
        },
        **SETTINGS,
    },
}
READERS = {
    "gazetteers": {"x": lambda: ["Paris"], "y": lambda: ["Ada Lovelace", "New York"]},
    "tables": {"t": lambda: [("ada", "1"), ("london", "2"), ("paris", "2")]},
}


@pytest.fixture(scope="module", params=MADE)
def made(request):
    """A pipeline that reads all that can be read, or has some setting, and a fit."""
    nlp, has_readers = make_nlp(**MADE[request.param]), request.param == "everything"
    fit = spacy.registry.resolve({"fit": lbfgs(max_iter=15)})["fit"]
    readers = READERS if has_readers else {}
    examples = make_examples(nlp)
    nlp.get_pipe("hosemi").initialize(lambda: examples, nlp=nlp, fit=fit, **readers)
    return nlp


def answers(docs):
    return [(triples(doc.ents), [x._.confidence for x in doc.ents]) for doc in docs]


@pytest.mark.parametrize("through", THROUGH)
def test_round_trip(through, made, tmp_path):
    other = through(made, tmp_path)
    left, right = made.get_pipe("hosemi"), other.get_pipe("hosemi")
    assert right.cfg == left.cfg and right.settings == left.settings
    assert right.labels == left.labels
    assert right.automaton.patterns == left.automaton.patterns
    assert right.automaton.observed == left.automaton.observed
    assert right.automaton.grammar == left.automaton.grammar
    assert right.automaton.n_states == left.automaton.n_states
    assert right.weights.names == left.weights.names
    assert right.get_weights().tolist() == left.get_weights().tolist()
    assert right.model.to_bytes() == left.model.to_bytes()
    texts = [TEXT, *(eg.text for eg in make_examples(made))]
    assert answers(other.pipe(texts)) == answers(made.pipe(texts))
    assert made(TEXT).ents
    losses = [
        [x.get_pipe("hosemi").value_and_gradient([eg])[0] for eg in make_examples(x)]
        for x in (made, other)
    ]
    assert losses[0] == losses[1]


def test_several_processes(made):
    texts = [TEXT, *(eg.text for eg in make_examples(made))]
    assert answers(made.pipe(texts, n_process=2)) == answers(made.pipe(texts))


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


@pytest.mark.parametrize("cfg", [[], {}, "text", None, {"format": "one"}])
def test_another_cfg(folder, cfg):
    srsly.write_json(folder / "hosemi" / "cfg", cfg)
    with pytest.raises(ValueError, match="HS06[124]"):
        spacy.load(folder)


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
