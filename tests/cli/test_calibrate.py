"""hosemi calibrate: how far confidences can be trusted."""

import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Corpus

from ..helpers import as_json, hosemi, initialize, make_nlp, randomize, said
from ..hierarchy.test_component import examples_of, make_tree_nlp
from .test_gazetteer import contents


@pytest.fixture(scope="module")
def unsure(tmp_path_factory) -> Path:
    """A folder with a pipeline that makes mistakes."""
    folder = tmp_path_factory.mktemp("unsure")
    nlp = make_nlp()
    initialize(nlp)
    randomize(nlp.get_pipe("hosemi"), seed=3)
    nlp.to_disk(folder)
    return folder


calibrate = partial(as_json, "calibrate")


def scores_of(model, dev) -> dict:
    nlp = spacy.load(model)
    return nlp.evaluate(list(Corpus(dev)(nlp)))


def test_it_shows_and_saves(unsure, dev, tmp_path):
    before = contents(unsure)
    answer = calibrate(unsure, dev)
    assert answer["reliability"][0]["temperature"] == 1.0
    n = sum(b["n"] for b in answer["reliability"][0]["bins"])
    assert n == answer["entities"]["predicted"] == answer["thresholds"][0]["n"]
    output = tmp_path / "new" / "sure"
    printed = said("calibrate", unsure, dev, "-o", output)
    assert "Expected calibration error" in printed and "Saved the pipeline" in printed
    limit = answer["chosen"]["min_confidence"]
    assert f"min_confidence = {limit:.15g}" in printed
    assert f"temperature = {answer['chosen']['temperature']}" in printed
    assert contents(unsure) == before
    best = max(x["f1"] for x in answer["thresholds"])
    assert scores_of(output, dev)["ents_f"] == pytest.approx(best)
    pipe = spacy.load(output).get_pipe("hosemi")
    chosen = {"min_confidence": pipe.min_confidence, "temperature": pipe.temperature}
    assert answer["chosen"] == pytest.approx(chosen, abs=1e-9)


def test_in_place(unsure, dev, tmp_path):
    model = shutil.copytree(unsure, tmp_path / "model")
    args = model, dev, "--no-temperature", "--precision", 0.5
    assert calibrate(*args)["chosen"].keys() == {"min_confidence"}
    hosemi("calibrate", *args, "-o", model, "--overwrite")
    before, after = (scores_of(x, dev)["ents_p"] for x in (unsure, model))
    assert after >= 0.5 > before
    limit = spacy.load(model).get_pipe("hosemi").min_confidence
    hosemi("calibrate", model, dev, "--no-min-confidence", "-o", model, "-f")
    pipe = spacy.load(model).get_pipe("hosemi")
    assert pipe.min_confidence == limit > 0.0 and pipe.temperature != 1.0
    answer = calibrate(model, dev, "--no-temperature", "--no-min-confidence")
    assert answer["notes"] == []


def test_an_expected_f1_is_chosen(unsure, dev, tmp_path):
    model = shutil.copytree(unsure, tmp_path / "model")
    path = tmp_path / "model" / "config.cfg"
    config = path.read_text("utf8")
    path.write_text(config.replace('decoding = "viterbi"', 'decoding = "mbr"'))
    args = model, dev, "--no-temperature", "--no-min-confidence"
    answer = calibrate(*args)
    value = answer["chosen"]["expected_f1"]
    printed = said("calibrate", *args, "-o", model, "-f")
    assert f"expected_f1 = {srsly.json_dumps(value)}" in printed
    assert "by expected_f1" in printed
    best = max(x["f1"] for x in answer["expected"])
    assert scores_of(model, dev)["ents_f"] == pytest.approx(best)
    assert spacy.load(model).get_pipe("hosemi").expected_f1 == value
    answer = calibrate(*args[:3], "--no-expected-f1")
    assert answer["expected"] == [] and "expected_f1" not in answer["chosen"]


def test_by_label(unsure, dev, tmp_path):
    args = unsure, dev, "--per-label", "--precision", 1.0, "--bins", 3
    answer = calibrate(*args)
    limits = answer["chosen"]["min_confidence"]
    assert answer["labels"].keys() == {"LOC", "PER"}
    assert answer["thresholds"][-1]["min_confidence"] == limits
    assert len(answer["reliability"][0]["bins"]) <= 3
    printed = said("calibrate", *args, "-o", tmp_path / "sure")
    assert "by label" in printed and "what is left of each label" in printed
    assert all(note in printed for note in answer["notes"])
    pipe = spacy.load(tmp_path / "sure").get_pipe("hosemi")
    assert pipe.min_confidence == pytest.approx(limits, abs=1e-9)
    scores = scores_of(tmp_path / "sure", dev)["ents_per_type"]
    for label, point in answer["labels"].items():
        assert point["f1"] == pytest.approx(scores.get(label, {"f": 0.0})["f"])


def test_a_picture(unsure, dev, tmp_path, monkeypatch):
    path = tmp_path / "dev.svg"
    args = "calibrate", unsure, dev, "--no-temperature", "--plot"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        assert "pip install matplotlib" in said(*args, path, code=2)
    pytest.importorskip("matplotlib")
    hosemi(*args, path)
    assert path.read_text("utf8").startswith("<?xml")
    assert "Cannot draw" in said(*args, tmp_path / "none" / "dev.png", code=2)


def test_what_a_tree_does_not_drop(tmp_path):
    nlp, dev = make_tree_nlp(), tmp_path / "dev.spacy"
    nlp.to_disk(tmp_path / "tree")
    DocBin(docs=[eg.reference for eg in examples_of(nlp)]).to_disk(dev)
    for options, is_said in (([], True), (["--no-min-confidence"], False)):
        answer = calibrate(tmp_path / "tree", dev, "--no-expected-f1", *options)
        assert ("Labels are in a tree" in str(answer["notes"])) == is_said


@pytest.mark.parametrize(
    "args, message",
    [
        ("--precision 0.9 --recall 0.9", "at most one of them"),
        ("--recall 0.9 --no-min-confidence", "Leave out --no-min-confidence"),
        ("--no-temperature --no-min-confidence -o x", "Nothing is chosen"),
        ("--expected-f1", "no expected_f1 to choose with decoding = 'viterbi'"),
        ("--plot x.bmp", "Expected one of: .png, .svg, .pdf"),
        ("--component x", "No hosemi component 'x'"),
    ],
)
def test_what_is_refused(unsure, dev, args, message):
    assert message in said("calibrate", unsure, dev, *args.split(), code=2)
