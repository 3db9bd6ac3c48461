"""`hosemi tune`: what it prints, writes and refuses."""

import re
import time
import warnings
from types import SimpleNamespace

import pytest
from spacy.tokens import DocBin
from spacy.util import load_config, load_config_from_str, load_model_from_config
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.configs import make_config
from spacy_hosemi.inspection.corpus import as_examples
from spacy_hosemi.training.training_set import TrainingSet
from spacy_hosemi.tuning import search
from spacy_hosemi.tuning.candidates import candidates

from ..helpers import TRAIN, hit_ctrl_c, references

pytestmark = pytest.mark.usefixtures("tokenizer_exceptions")


def tune(*args, code=0, **kwargs):
    args = ["tune", *map(str, args)]
    result = CliRunner().invoke(hosemi_cli, args, **kwargs)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def save(path, marked=TRAIN):
    DocBin(docs=references(marked)).to_disk(path)
    return path


@pytest.fixture
def train(tmp_path):
    return save(tmp_path / "train.spacy")


@pytest.fixture
def short(monkeypatch):
    """Four candidates."""
    first = candidates
    monkeypatch.setattr(search, "candidates", lambda *args: first(*args)[:4])


def trained(path, docs):
    """The component of a config that is trained as it is."""
    nlp = load_model_from_config(load_config(path), auto_fill=True)
    nlp.config["initialize"]["components"]["hosemi"]["fit"]["progress"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp.initialize(lambda: as_examples(docs, nlp))
    return nlp.get_pipe("hosemi")


def test_the_table_and_the_config(train, tmp_path):
    out = tmp_path / "tuned.cfg"
    result = tune(train, out)
    said = result.stderr
    assert "The config to begin with: hosemi init --for names" in said
    n = int(re.search(r"(\d+) candidates on 5 documents", said)[1])
    rows = re.findall(r"^[* ] +(\d+\.\d\d) .*$", said, re.M)
    assert 10 <= n <= 12 and len(rows) == n
    text = out.read_text("utf8")
    assert text.startswith("# Settings chosen by `python -m spacy hosemi tune`.\n")
    scores = re.search(r"on 5 documents: F1 (.*), exact records (.*)\.\n", text)
    words = re.findall(r"^# The best: (.*)$", text, re.M)[0]
    row = re.search(rf"^\* +(\d+\.\d\d) .*  {re.escape(words)} *$", said, re.M)
    mean = (float(scores[1]) + float(scores[2])) / 2
    assert mean == pytest.approx(float(row[1]), abs=0.01)
    assert "  python -m spacy train tuned.cfg" in text
    assert trained(out, references()).weights.is_trained
    assert result.stdout == ""


def test_the_same_seed_has_the_same_result(train, tmp_path, short):
    files = [tmp_path / f"{k}.cfg" for k in range(2)]
    said = [tune(train, file, "--seed", 3).stderr for file in files]
    without_seconds = [re.sub(r" +\d+\.\d  |\d\.cfg|-+", "", x) for x in said]
    assert without_seconds[0] == without_seconds[1]
    one, two = (load_config(file) for file in files)
    assert one == two


def test_a_config_of_ones_own(train, tmp_path, short):
    """Its settings, its name of the component and its comments stay."""
    text = make_config("fields").replace(
        "min_confidence = 0.0", "min_confidence = 0.01"
    )
    text = text.replace("components.hosemi", "components.own")
    text = text.replace('pipeline = ["hosemi"]', 'pipeline = ["own"]')
    (tmp_path / "own.cfg").write_text(text)
    result = tune(train, "-", "--config", tmp_path / "own.cfg")
    assert "min_confidence = 0.01" in result.stdout
    assert "# Label patterns have" in result.stdout
    assert "The config to begin with" not in result.stderr
    assert "Wrote" not in result.stderr


def test_the_time_is_up(train, tmp_path, monkeypatch):
    """The config as it is has been judged in any case."""
    out = tmp_path / "tuned.cfg"
    said = tune(train, out, "--minutes", 1e-6).stderr
    assert re.search(r"Judged: 1 of 1\d\. With more time another may win", said)
    assert "The best: as it is" in said and out.exists()
    clock = iter(range(10**6))
    clocks = {"perf_counter": time.perf_counter, "monotonic": lambda: next(clock)}
    monkeypatch.setattr(search, "time", SimpleNamespace(**clocks))
    out.unlink()
    assert "Judged: 3 of" in tune(train, out, "--minutes", 2.5 / 60).stderr


@pytest.mark.parametrize("n, code", [(1, 130), (20, 130), (200, 0), (300, 0)])
def test_ctrl_c(train, tmp_path, monkeypatch, n, code):
    """Anywhere: the best one so far is written as a whole, or nothing."""
    out, value_and_gradient, n_calls = (
        tmp_path / "a.cfg",
        TrainingSet.value_and_gradient,
        0,
    )

    def interrupted(self):
        nonlocal n_calls
        n_calls += 1
        if n_calls == n:
            hit_ctrl_c()
        return value_and_gradient(self)

    monkeypatch.setattr(TrainingSet, "value_and_gradient", interrupted)
    result = tune(train, out, code=code)
    assert out.exists() == (code == 0)
    if code:
        assert "Stopped before anything was judged" in result.stderr
    else:
        assert re.search(r"Judged: \d of 1\d\.", result.stderr)
        load_config(out)


def test_what_is_refused(train, tmp_path):
    out = tmp_path / "tuned.cfg"
    out.write_text("mine")
    assert "exists already" in tune(train, out, code=2).stderr
    assert out.read_text() == "mine"
    out.unlink()
    assert "--minutes is 0" in tune(train, out, "--minutes", 0, code=2).stderr
    said = tune(train, out, "--resume", tmp_path / "a.jsonl", code=2).stderr
    assert "There is no --resume. A search is short now" in said
    few = save(tmp_path / "few.spacy", TRAIN[:2] * 3)
    assert "HS331" in tune(few, out, code=2).stderr
    none = save(tmp_path / "none.spacy", ["Nobody wrote."])
    assert "HS331" in tune(none, out, code=2).stderr
    config = tmp_path / "a.cfg"
    text = make_config("fields").replace(
        "spacy_hosemi.lbfgs.v1", "spacy_hosemi.averaged.v1"
    )
    config.write_text(re.sub("^(l2|border_factor) = .*$", "", text, flags=re.M))
    assert "HS254" in tune(train, out, "--config", config, code=2).stderr
    text = make_config("fields").replace(
        "max_order = 2", "max_order = 2\nmax_length = 1"
    )
    config.write_text(text)
    assert "HS332" in tune(train, out, "--config", config, code=2).stderr
    assert not out.exists()


def test_ctrl_c_while_a_candidate_is_decoded(train, tmp_path, monkeypatch, short):
    """Nothing is judged by half of it."""
    from spacy_hosemi.component.judging import HeldOut

    counts, n_calls = HeldOut.counts, 0

    def interrupted(self, *args):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 30:
            hit_ctrl_c()
        return counts(self, *args)

    whole = tune(train, tmp_path / "whole.cfg").stderr
    monkeypatch.setattr(HeldOut, "counts", interrupted)
    said = tune(train, tmp_path / "a.cfg", code=130).stderr
    assert "Stopped before anything" in said and "as it is" in whole


def test_configs_that_cannot_be_changed_line_by_line(train, tmp_path, short):
    text = make_config("fields")
    config = load_config_from_str(text, interpolate=False)
    block = config["initialize"]["components"]["hosemi"]
    config["vars"] = {"fit": block["fit"]}
    block["fit"] = "${vars.fit}"
    variants = [
        text.replace("max_order = 2", "max_order=3"),
        "; a comment\n" + text,
        config.to_str(interpolate=False),
    ]
    for k, variant in enumerate(variants):
        path, out = tmp_path / f"{k}.cfg", tmp_path / f"out{k}.cfg"
        path.write_text(variant)
        tune(train, out, "--config", path)
        assert trained(out, references()).weights.is_trained
