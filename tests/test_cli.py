"""python -m spacy hosemi: what it prints, what it refuses, how spaCy finds it."""

import ast
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli._util import app
from typer.testing import CliRunner

from spacy_hosemi import cli
from spacy_hosemi.explain import strongest_features, strongest_patterns

from .helpers import initialize, make_nlp, make_trained


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A folder with a trained pipeline."""
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return str(folder)


def run(*args, code=0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, ["hosemi", *args])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def run_json(*args):
    return srsly.json_loads(run("weights", *args, "--json"))


def words(text) -> str:
    """With single spaces: messages are wrapped, tables aligned."""
    return " ".join(text.split())


# --- how spaCy finds it -----------------------------------------------------------


def test_only_typer_and_spacy_are_imported_at_the_top():
    names = set()
    for node in ast.parse(Path(cli.__file__).read_text("utf8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module)
    others = {
        name for name in names if name.split(".")[0] not in sys.stdlib_module_names
    }
    assert others == {"typer", "spacy.cli._util"}


def test_spacy_runs_it(model):
    args = ["hosemi", "weights", model, "--label", "LOC", "--no-patterns"]
    if not [e for e in entry_points(group="spacy_cli") if e.name == "hosemi"]:
        printed = run(*args[1:])  # installed before there was this command
    else:
        command = [sys.executable, "-m", "spacy", *args]
        found = subprocess.run(command, capture_output=True, encoding="utf8")
        assert found.returncode == 0, found.stderr
        printed = found.stdout
    assert "inside:LOWER=london" in printed


def test_help():
    assert "weights" in run("--help")
    printed = words(run("weights", "--help"))
    assert "python -m spacy hosemi weights model/model-last" in printed
    for option in ("--top", "--label", "--role", "--feature", "--negative", "--json"):
        assert option in printed
    assert "--no-patterns" in printed and "--families" in printed
    assert "--component" in printed and "--code" in printed


# --- what it prints ---------------------------------------------------------------


def test_tables(model):
    printed = words(run("weights", model))
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


def test_fewer_and_more(model):
    assert "label patterns =" not in run("weights", model, "--no-patterns")
    assert "label patterns =" not in run("weights", model, "--role", "start")
    found = run_json(model, "--top", "2", "--label", "PER", "--label", "O")
    assert {label: len(of) for label, of in found["labels"].items()} == {
        "O": 2,
        "PER": 2,
    }
    found = run_json(model, "--label", "PER", "--role", "end", "--negative")
    weights = [one["weight"] for one in found["labels"]["PER"]]
    assert weights == sorted(weights, reverse=True) and weights[0] > 0 > weights[-1]
    assert {one["feature"][:4] for one in found["labels"]["PER"]} == {"end:"}
    assert "patterns" not in found


def test_json(model):
    found = run_json(model, "--top", "3")
    assert list(found) == ["component", "labels", "patterns", "forbidden_patterns"]
    assert found["component"] == "hosemi" and found["forbidden_patterns"] == 1
    assert list(found["labels"]) == ["O", "LOC", "PER"]
    assert set(found["labels"]["LOC"][0]) == {"feature", "docs", "weight"}
    assert len(found["patterns"]) == 3
    assert set(found["patterns"][0]) == {"pattern", "weight"}


def test_one_feature(model):
    found = run_json(model, "--feature", "LOWER=london")
    assert found["matching"] == len(found["features"]) == 2
    assert {one["feature"] for one in found["features"]} == {
        "inside:LOWER=london",
        "end:LOWER=london",
    }
    assert set(found["features"][0]["weights"]) == {"O", "LOC", "PER"}
    printed = run("weights", model, "--feature", "LOWER=london", "--top", "1")
    assert "1 of 2 features with 'LOWER=london' in their name" in printed
    assert "LOC +" in printed and "O -" in printed
    assert "nothing" in run("weights", model, "--feature", "LOWER=rome")


def test_families(model):
    found = run_json(model, "--families")["families"]
    assert sum(one["share"] for one in found) == pytest.approx(1.0)
    assert {"inside:LOWER", "start:SHAPE[-1]", "pattern:3"} <= {
        x["name"] for x in found
    }
    printed = words(run("weights", model, "--families"))
    for one in found:
        assert (
            f"{one['share']:.1%} {one['largest']:.2f} {one['rows']} {one['name']}"
            in (printed)
        )
    assert run_json(model, "--families", "--role", "end")["families"] == (
        [one for one in found if one["name"].startswith("end:")]
    )


def test_control_characters_are_shown_as_escapes():
    assert cli._clean("LOWER=\x1b[1m\u2028é“=") == "LOWER=\\x1b[1m\\u2028é“="


# --- what it refuses --------------------------------------------------------------


@pytest.mark.parametrize(
    "args, expected",
    [
        (["--label", "loc"], "label is 'loc'; expected one of ('O', 'LOC', 'PER')"),
        (["--role", "START"], "role is 'START'; expected one of"),
        (["--component", "ner"], "No hosemi component 'ner'"),
        (["--component", "ner"], "components are: hosemi"),
    ],
)
def test_wrong_options(model, args, expected):
    assert expected in words(run("weights", model, *args, code=1))


def test_top_is_at_least_1(model):
    run("weights", model, "--top", "1")
    run("weights", model, "--top", "0", code=2)


def test_no_such_folder(tmp_path):
    printed = run("weights", str(tmp_path / "nowhere"), code=1)
    assert "Cannot load the pipeline" in printed and "nowhere" in printed


def test_the_folder_around_a_pipeline(tmp_path):
    make_nlp().to_disk(tmp_path / "model-last")
    printed = run("weights", str(tmp_path), code=1)
    assert "Did you mean" in printed and "model-last?" in printed


def test_a_damaged_model(tmp_path):
    make_trained().to_disk(tmp_path)
    (tmp_path / "hosemi" / "model").write_bytes(b"")
    assert "HS062" in run("weights", str(tmp_path), code=1)


def test_no_component(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    printed = words(run("weights", str(tmp_path), code=1))
    assert "No hosemi component in" in printed
    assert "components are: sentencizer" in printed


@pytest.mark.parametrize("is_initialized", [False, True])
def test_untrained(tmp_path, is_initialized):
    nlp = make_nlp()
    if is_initialized:
        initialize(nlp)
    nlp.to_disk(tmp_path)
    assert "is not trained" in words(run("weights", str(tmp_path), code=1))


def test_several_components(tmp_path):
    nlp = make_trained()
    nlp.add_pipe("hosemi", "second", source=make_trained(encoding="BIO"))
    nlp.to_disk(tmp_path)
    printed = words(run("weights", str(tmp_path), code=1))
    assert "2 hosemi components" in printed and "--component: hosemi, second" in printed
    found = run_json(str(tmp_path), "--component", "second", "-n", "1")
    assert found["component"] == "second"
    assert list(found["labels"]) == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
