"""min_confidence for all labels, and by label."""

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.cli.find_threshold import find_threshold
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_hosemi.prediction.thresholds import THRESHOLDS, least_of, write_thresholds

from ..helpers import (
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
    triples,
)

# It holds both labels, of all confidences.
TEXT = "Ada met Charles Babbage in Paris. Mary Somerville wrote to London, York, Ada."


def make_uncertain(seed=3, **config):
    nlp = make_nlp(**config)
    initialize(nlp)
    randomize(nlp.get_pipe("hosemi"), seed)
    return nlp


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
def test_each_label_has_its_own(decoding):
    nlp = make_uncertain(decoding=decoding)
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    spans = [(*x, ent._.confidence) for x, ent in zip(triples(doc.ents), doc.ents)]
    assert {label for *_, label, _ in spans} == {"LOC", "PER"}
    for thresholds in ({"PER": 0.5}, {"LOC": 0.2, "PER": 0.9}, {"LOC": 1.0}, {}, 0.4):
        by_label = (
            thresholds if isinstance(thresholds, dict) else {"LOC": 0.4, "PER": 0.4}
        )
        left = [x[:3] for x in spans if x[3] >= by_label.get(x[2], 0.0)]
        for found in (thresholds, list(map(list, by_label.items()))):
            pipe.min_confidence = found
            assert triples(nlp(TEXT).ents) == left


def test_a_section_of_a_config():
    text = """
    [nlp]
    lang = "en"
    pipeline = ["hosemi"]
    [components]
    [components.hosemi]
    factory = "hosemi"
    [components.hosemi.min_confidence]
    PER = 0.9
    """
    config = Config().from_str("\n".join(line.strip() for line in text.splitlines()))
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    assert nlp.get_pipe("hosemi").min_confidence == {"PER": 0.9}


def test_an_unknown_label():
    """It is seen before a fit, which takes long, and in a model whose config was
    edited; but labels may be unknown until there are data."""
    nlp = make_nlp(min_confidence={"PER": 0.5, "Per": 0.1})
    assert triples(nlp(TEXT).ents) == []
    with pytest.raises(ValueError, match=r"HS091.*'Per'.*\('LOC', 'PER'\).*hosemi"):
        initialize(nlp, fit=lbfgs())
    initialize(nlp, labels=["LOC", "PER", "Per"])


def test_an_unknown_label_in_a_saved_config(tmp_path):
    make_trained().to_disk(tmp_path / "model")
    path = tmp_path / "model" / "config.cfg"
    saved = path.read_text("utf8")
    new = 'min_confidence = {"ORG": 0.5}'
    path.write_text(saved.replace("min_confidence = 0.0", new), "utf8")
    with pytest.raises(ValueError, match="HS091.*'ORG'"):
        spacy.load(tmp_path / "model")


# --- in a config ------------------------------------------------------------------


@settings(max_examples=30)
@given(st.dictionaries(st.text(min_size=1, max_size=4), st.floats(0, 1), max_size=3))
def test_any_label_survives_a_config(thresholds):
    config = Config({"hosemi": {"min_confidence": write_thresholds(thresholds)}})
    loaded = Config().from_str(config.to_str())["hosemi"]["min_confidence"]
    assert THRESHOLDS.read(loaded) == thresholds
    for label, threshold in thresholds.items():
        assert least_of(thresholds, label) == threshold
    assert least_of(thresholds, "another") == 0.0


@pytest.mark.parametrize("label", ["idno:DOI", "a=b", "#a", "[a]", " a"])
def test_labels_that_are_no_keys(label):
    with pytest.raises(ValueError, match="HS101") as raised:
        make_nlp(min_confidence={"a": 0.1, label: 0.5})
    pairs = [["a", 0.1], [label, 0.5]]
    assert f"min_confidence = {pairs}" in str(raised.value)
    nlp = make_nlp(min_confidence=pairs)
    assert nlp.get_pipe("hosemi").min_confidence == {"a": 0.1, label: 0.5}
    config = Config().from_str(nlp.config.to_str())
    assert config["components"]["hosemi"]["min_confidence"] == pairs


# --- spaCy's command ----------------------------------------------------------------


def test_find_threshold(tmp_path, capsys):
    nlp = make_uncertain()
    nlp.to_disk(tmp_path / "model")
    examples = make_examples(nlp)
    DocBin(docs=[eg.reference for eg in examples]).to_disk(tmp_path / "dev.spacy")
    args = tmp_path / "model", tmp_path / "dev.spacy", "hosemi", "min_confidence"
    best, score, scores = find_threshold(*args, "ents_p", n_trials=6, silent=False)
    for threshold, found in scores.items():
        nlp.get_pipe("hosemi").min_confidence = float(threshold)
        assert found == nlp.evaluate(examples)["ents_p"]
    all_scores = scores.values()
    assert len(set(scores.values())) > 1 and score == scores[best] == max(all_scores)
    assert "Best threshold" in capsys.readouterr().out
