"""hosemi weights: the strongest weights of a model, and what is no model."""

import shutil

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin, Span
from spacy.training import Example
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.cli.streams import clean
from spacy_hosemi.explain import strongest_features, strongest_patterns

from ..helpers import as_json, hosemi, lbfgs, make_nlp, make_trained, references, said
from ..hierarchy.test_component import LABELS as LEAVES
from ..hierarchy.test_component import make_tree_nlp


def test_tables(model):
    printed = said("weights", model)
    pipe = spacy.load(model).get_pipe("hosemi")
    assert f"{len(pipe.weights.names)} features" in printed
    for label, features in strongest_features(pipe).items():
        assert f"= {label} =" in printed
        assert len(features) == 10
        for one in features:
            assert f"{one.weight:+.2f} {one.docs} {one.feature}" in printed
    for one in strongest_patterns(pipe):
        assert f"{one.weight:+.2f} {' '.join(one.pattern)}" in printed
    assert "Forbidden label patterns: 1" in printed
    for args in (["--no-patterns"], ["--role", "start"]):
        assert "label patterns =" not in said("weights", model, *args)


def test_json(model):
    answer = as_json("weights", model, "--top", 3)
    assert list(answer) == ["component", "labels", "patterns", "forbidden_patterns"]
    assert answer["component"] == "hosemi" and answer["forbidden_patterns"] == 1
    three = dict.fromkeys(("O", "LOC", "PER"), 3)
    assert {label: len(x) for label, x in answer["labels"].items()} == three
    assert set(answer["labels"]["LOC"][0]) == {"feature", "docs", "weight"}
    assert len(answer["patterns"]) == 3
    assert set(answer["patterns"][0]) == {"pattern", "weight"}


def test_some_features(model):
    answer = as_json("weights", model, "--top", 2, "--label", "PER", "--label", "O")
    assert [(y, len(x)) for y, x in answer["labels"].items()] == [("O", 2), ("PER", 2)]
    answer = as_json("weights", model, "--label", "PER", "--role", "end", "--negative")
    weights = [one["weight"] for one in answer["labels"]["PER"]]
    assert weights == sorted(weights, reverse=True) and weights[0] > 0 > weights[-1]
    assert {one["feature"][:4] for one in answer["labels"]["PER"]} == {"end:"}
    assert "patterns" not in answer


def test_one_feature(model):
    answer = as_json("weights", model, "--feature", "LOWER=london")
    names = {"inside:LOWER=london", "end:LOWER=london"}
    assert {one["feature"] for one in answer["features"]} == names
    assert answer["matching"] == len(answer["features"]) == 2
    # Those near 0 are 0.
    assert {"LOC"} <= set(answer["features"][0]["weights"]) <= {"O", "LOC", "PER"}
    printed = said("weights", model, "--feature", "LOWER=london", "--top", 1)
    assert "1 of 2 features with 'LOWER=london' in their name" in printed
    assert "LOC +" in printed and "PER -" in printed
    assert "nothing" in said("weights", model, "--feature", "LOWER=rome")


def test_families(model):
    families = as_json("weights", model, "--families")["families"]
    assert sum(one["share"] for one in families) == pytest.approx(1.0)
    names = {one["name"] for one in families}
    assert {"inside:LOWER", "start:SHAPE[-1]", "pattern:3"} <= names
    printed = said("weights", model, "--families")
    for one in families:
        size = f"{one['share']:.1%} {one['largest']:.2f} {one['rows']}"
        assert f"{size} {one['name']}" in printed
    ends = [one for one in families if one["name"].startswith("end:")]
    assert as_json("weights", model, "--families", "--role", "end")["families"] == ends


# --- labels in a tree -------------------------------------------------------------


def test_weights_of_a_tree(tmp_path, monkeypatch):
    """Each node has what it adds; the score of a leaf is the sum on its way."""
    nlp = make_tree_nlp()
    nlp.to_disk(tmp_path)

    def weights(*args):
        return as_json("weights", tmp_path, *args)

    every = weights("--top", 100, "--negative")
    below = [label for label in LEAVES if "/" in label]
    assert list(every["labels"]) == ["O", "LOC", "ORG", "PER", *below]
    (row,) = weights("--feature", "end:LOWER=london")["features"]
    assert {"LOC", "LOC/city", "LOC/land"} <= row["weights"].keys()
    for name, weight in row["weights"].items():
        of_label = every["labels"][name]
        ends = [x["weight"] for x in of_label if x["feature"] == "end:LOWER=london"]
        assert weight in ends
    levels = nlp.get_pipe("hosemi").level_weights
    n_weights = sum(map(np.count_nonzero, levels.matrix))
    of_levels = [levels.column(v)[1] for v in np.flatnonzero(levels.tree.level > 1)]
    assert sum(map(np.count_nonzero, of_levels)) == n_weights > 0
    patterns = {tuple(x["pattern"]) for x in every["patterns"]}
    assert ("PER", "O") in patterns and ("PER/first", "O") in patterns
    printed = said("weights", tmp_path)
    assert "below the top of the label tree: 5 labels" in printed
    assert "--label shows it" not in printed
    monkeypatch.setattr("spacy_hosemi.explain.weights.MAX_NODES", 3)
    assert list(weights()["labels"]) == ["O", "LOC", "ORG", "PER"]
    assert list(weights("--label", "LOC/city")["labels"]) == ["LOC/city"]
    assert "--label shows it" in said("weights", tmp_path)
    assert "HS042" in said("weights", tmp_path, "--label", "LOC/x", code=2)
    assert "HS118" in said("prune", tmp_path, code=2)


def test_a_label_that_has_others_below_it(tmp_path):
    nlp = make_tree_nlp(["[PER Ada] met [PER/last Mary] .", "[PER Mary] left ."])
    nlp.to_disk(tmp_path)
    labels = as_json("weights", tmp_path)["labels"]
    assert list(labels) == ["O", "PER", "PER itself", "PER/last"]


# --- control characters -----------------------------------------------------------

DIRTY = "\x1b[31mA\nB"


@pytest.fixture(scope="module")
def dirty(tmp_path_factory):
    """A pipeline whose labels have control characters, its documents, another document,
    and a pipeline without labels, by their names in the tests below."""
    folder = tmp_path_factory.mktemp("dirty")
    docs = references()
    for doc in docs:
        doc.ents = [Span(doc, e.start, e.end, f"{DIRTY}{e.label_}") for e in doc.ents]
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": lbfgs(max_iter=25)}
    nlp.initialize(lambda: [Example(doc.copy(), doc) for doc in docs])
    nlp.to_disk(folder / "MODEL")
    spacy.blank("en").to_disk(folder / "BLANK")
    DocBin(docs=docs).to_disk(folder / "DOCS.spacy")
    DocBin(docs=references(("[X Ada] was",))).to_disk(folder / "OTHER.spacy")
    return folder


@pytest.mark.parametrize(
    "args",
    [
        "weights MODEL",
        "weights MODEL --feature LOWER",
        "calibrate MODEL DOCS.spacy --per-label --no-temperature",
        "compare MODEL MODEL DOCS.spacy --draws 100",
        "errors BLANK DOCS.spacy",
        "check DOCS.spacy --quick",
        "check DOCS.spacy --dev OTHER.spacy --quick",
    ],
)
def test_labels_with_control_characters(dirty, args, monkeypatch):
    """Labels are never written to a terminal as they are."""
    monkeypatch.chdir(dirty)
    code = int("OTHER" in args)
    printed = hosemi(*args.split(), color=True, code=code).output
    assert "\\x1b[31mA\\nB" in printed.replace("\n", "")
    assert "\x1b[31mA" not in printed


def test_messages_with_control_characters(dirty, model):
    printed = said("weights", dirty / "MODEL", "--label", "x", code=2)
    assert "x1b[31mA" in printed and "\x1b" not in printed
    assert "\x1b" not in said("weights", model, "--component", DIRTY, code=2)
    assert clean("LOWER=\x1b[1m\u2028é“=") == "LOWER=\\x1b[1m\\u2028é“="


# --- what it refuses --------------------------------------------------------------


@pytest.mark.parametrize(
    "args, message",
    [
        ("--label loc", "label is 'loc'; expected one of ('O', 'LOC', 'PER')"),
        ("--role START", "role is 'START'; expected one of"),
        ("--component ner", "No hosemi component 'ner'"),
        ("--component ner", "components are: hosemi"),
    ],
)
def test_wrong_options(model, args, message):
    assert message in said("weights", model, *args.split(), code=2)


@pytest.mark.parametrize("name", ["vectors", "key2row", "lookups.bin", "strings.json"])
@pytest.mark.parametrize("content", [b"", bytes(40)])
def test_a_damaged_vocabulary(model, tmp_path, name, content):
    """spaCy's own files raise EOFError, AttributeError and others."""
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "model" / "vocab" / name).write_bytes(content)
    result = CliRunner().invoke(hosemi_cli, ["weights", str(tmp_path / "model")])
    assert result.exit_code in (0, 2)  # some are not looked at
    assert ("Cannot load the pipeline" in result.output) == (result.exit_code == 2)


def write_other_function(folder):
    make_nlp().to_disk(folder)
    config = folder / "config.cfg"
    text = config.read_text("utf8")
    config.write_text(text.replace("spacy_hosemi.features.v1", "mine.v1"), "utf8")


def write_below(folder):
    make_nlp().to_disk(folder / "model-last")


def write_blank(folder):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(folder)


@pytest.mark.parametrize(
    "write, messages",
    [
        (write_other_function, ["'mine.v1'", "--code FILE"]),
        (write_below, ["Did you mean", "model-last?"]),
        (write_blank, ["No hosemi component in", "components are: sentencizer"]),
    ],
)
def test_what_is_no_model(tmp_path, write, messages):
    folder = tmp_path / "pipeline"
    folder.mkdir()
    write(folder)
    printed = said("weights", folder, code=2)
    assert all(message in printed for message in messages)
    assert "spacy_hosemi.lbfgs.v1" not in printed


def test_several_components(tmp_path):
    nlp = make_trained()
    nlp.add_pipe("hosemi", "second", source=make_trained(encoding="BIO"))
    nlp.to_disk(tmp_path)
    printed = said("weights", tmp_path, code=2)
    assert "2 hosemi components" in printed and "--component: hosemi, second" in printed
    answer = as_json("weights", tmp_path, "--component", "second", "-n", 1)
    assert answer["component"] == "second"
    assert list(answer["labels"]) == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
