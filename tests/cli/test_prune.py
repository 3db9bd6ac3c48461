"""hosemi prune: what is left of a model, and how good that is."""

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Corpus

from spacy_hosemi.model.weights.storage import size_of

from ..helpers import as_json, hosemi, said
from .test_gazetteer import contents


def strengths(model, *args):
    return as_json("prune", model, *args)["strengths"]


def test_what_is_left_is_shown(model, dev):
    before = contents(model)
    pipe = spacy.load(model).get_pipe("hosemi")
    n_weights = np.count_nonzero(pipe.get_weights())
    n_features = np.count_nonzero(pipe.weights.matrix.any(axis=1))
    rows = strengths(model, "--data", dev)
    sizes = [x["weights"] for x in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == n_weights and sizes[-1] == round(0.01 * n_weights)
    assert rows[-1]["mb"] < rows[0]["mb"] and rows[-1]["f1"] < rows[0]["f1"] == 1.0
    assert not any(x["chosen"] for x in rows)
    assert contents(model) == before
    printed = said("prune", model)
    assert f"100.0% 0.0000 {n_features} {n_weights} " in printed
    assert "Saved" not in printed


@pytest.mark.parametrize("strength", [("--keep", "0.4"), ("--below", "0.05")])
def test_by_a_strength(model, strength, tmp_path):
    result = hosemi("prune", model, tmp_path / "small", *strength, "--json")
    assert result.stderr == f"Saved the pipeline to {tmp_path / 'small'}\n"
    rows = srsly.json_loads(result.stdout)["strengths"]
    (chosen,) = (x for x in rows if x["chosen"])
    pipe = spacy.load(tmp_path / "small").get_pipe("hosemi")
    assert size_of(pipe.weights)["weights"] == chosen["weights"]
    weights = spacy.load(model).get_pipe("hosemi").get_weights()
    if strength[0] == "--keep":
        n_wanted = round(0.4 * np.count_nonzero(weights))  # equal ones go together
        assert n_wanted - 2 <= chosen["weights"] <= n_wanted
    else:
        assert chosen["weights"] == (np.abs(weights) > 0.05).sum()


@pytest.mark.parametrize("loss", [0.0, 30.0])
def test_by_a_loss(model, dev, loss, tmp_path):
    small = tmp_path / "small"
    args = model, small, "--data", dev, "--max-loss", loss
    rows = as_json("prune", *args)["strengths"]
    (chosen,) = (x for x in rows if x["chosen"])
    good = [x for x in rows if x["f1"] >= 1.0 - loss / 100]
    assert chosen["mb"] == min(x["mb"] for x in good)
    nlp = spacy.load(small)
    scores = nlp.evaluate(list(Corpus(dev)(nlp)))
    assert scores["ents_f"] == pytest.approx(chosen["f1"])


@pytest.mark.parametrize(
    "args, message",
    [
        ("--keep 0.1 --below 0.1", "at most one"),
        ("small", "No strength is given"),
        ("--max-loss 0.1", "--max-loss needs --data"),
        ("small --data OUTSIDE.spacy --max-loss 0.1", "HS120"),
    ],
)
def test_what_is_refused(model, args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    docs = [spacy.blank("en")("Ada wrote.")]  # there is nothing to lose
    DocBin(docs=docs).to_disk("OUTSIDE.spacy")
    assert message in said("prune", model, *args.split(), code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["OUTSIDE.spacy"]
