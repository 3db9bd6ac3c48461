"""`hosemi tune`: what it prints, writes and refuses."""

import re
import time
import warnings
from functools import partial
from types import SimpleNamespace

import pytest
from spacy.util import load_config, load_model_from_config

from spacy_hosemi.component.judging import HeldOut
from spacy_hosemi.configs import make_config
from spacy_hosemi.inspection.corpus import as_examples
from spacy_hosemi.training.training_set import TrainingSet
from spacy_hosemi.tuning import search
from spacy_hosemi.tuning.candidates import candidates

from ..helpers import TRAIN, count_encoded, hit_ctrl_c, hosemi, references, write_config
from .conftest import save

tune = partial(hosemi, "tune")


@pytest.fixture
def short(monkeypatch):
    """Three candidates."""
    monkeypatch.setattr(search, "candidates", lambda *args: candidates(*args)[:3])


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
    args = train, "--seed", 3, "--minutes", 1e-6
    said = [tune(*args, file).stderr for file in files]
    without_seconds = [re.sub(r" +\d+\.\d  |\d\.cfg|-+", "", x) for x in said]
    assert without_seconds[0] == without_seconds[1]
    one, two = (load_config(file) for file in files)
    assert one == two


def config_of(folder, *changes):
    """A file with another config for the fields of records."""
    text = make_config("fields")
    for pattern, new in changes:
        text = re.sub(pattern, new, text, flags=re.M)
    path = folder / "own.cfg"
    path.write_text(text)
    return path


def test_a_config_of_ones_own(train, tmp_path, short):
    """Its settings, its name of the component and its comments stay."""
    path = config_of(
        tmp_path,
        ("min_confidence = 0.0", "min_confidence = 0.01"),
        ("components.hosemi", "components.own"),
        (r'\["hosemi"\]', '["own"]'),
    )
    result = tune(train, "-", "--config", path, "--minutes", 1e-6)
    assert "min_confidence = 0.01" in result.stdout
    assert "# Label patterns have" in result.stdout
    assert "The config to begin with" not in result.stderr
    assert "Wrote" not in result.stderr


def test_with_and_without_vectors(train, tmp_path, monkeypatch, short):
    """Each document is encoded once, by whatever candidates."""
    encoded = count_encoded(monkeypatch)
    path, out = write_config(tmp_path / "a.cfg"), tmp_path / "tuned.cfg"
    said = tune(train, out, "--config", path).stderr
    assert re.search(r"as it is *\n.* tok2vec none *\n", said)
    assert len(encoded) == encoded.total() == len(TRAIN)
    assert load_config(out)["initialize"]["vectors"] in ("${paths.vectors}", None)


@pytest.mark.parametrize("minutes, n", [(1e-6, 1), (1.5 / 60, 2)])
def test_the_time_is_up(train, tmp_path, monkeypatch, short, minutes, n):
    """The config as it is has been judged in any case."""
    seconds = iter(range(10**6))  # one passes with each look at the clock
    clocks = {"perf_counter": time.perf_counter, "monotonic": lambda: next(seconds)}
    monkeypatch.setattr(search, "time", SimpleNamespace(**clocks))
    said = tune(train, tmp_path / "tuned.cfg", "--minutes", minutes).stderr
    assert f"Judged: {n} of 3. With more time another may win" in said
    assert ("The best: as it is" in said) or n > 1
    assert (tmp_path / "tuned.cfg").exists()


@pytest.mark.parametrize(
    "where, n, code",
    [
        (TrainingSet.value_and_gradient, 1, 130),
        (TrainingSet.value_and_gradient, 20, 130),
        (HeldOut.counts, 30, 130),  # nothing is judged by half of it
        (TrainingSet.value_and_gradient, 200, 0),
    ],
)
def test_ctrl_c(train, tmp_path, monkeypatch, short, where, n, code):
    """Anywhere: the best one so far is written as a whole, or nothing."""
    out, n_calls = tmp_path / "a.cfg", 0

    def interrupted(*args):
        nonlocal n_calls
        n_calls += 1
        if n_calls == n:
            hit_ctrl_c()
        return where(*args)

    owner, name = where.__qualname__.split(".")
    monkeypatch.setattr(where.__globals__[owner], name, interrupted)
    said = tune(train, out, code=code).stderr
    assert out.exists() == (code == 0)
    if code:
        assert "Stopped before anything was judged" in said
    else:
        assert re.search(r"Judged: \d of 3\.", said)
        load_config(out)


def test_what_is_refused(train, tmp_path):
    out = tmp_path / "tuned.cfg"
    few = save(tmp_path / "few.spacy", TRAIN[:2] * 3)
    none = save(tmp_path / "none.spacy", ["Nobody wrote."])
    averaged = ("hosemi.lbfgs", "hosemi.averaged"), ("^(l2|border_factor) .*$", "")
    short = [("max_order = 2", "max_order = 2\nmax_length = 1")]
    resumed = "--resume", tmp_path / "a.jsonl"
    for corpus, args, message in (
        (train, ("--minutes", 0), "--minutes is 0"),
        (train, resumed, "There is no --resume. A search is short now"),
        (few, (), "HS331"),
        (none, (), "HS331"),
        (train, averaged, "HS254"),
        (train, short, "HS332"),
    ):
        if args and not isinstance(args[0], str):
            args = "--config", config_of(tmp_path, *args)
        assert message in tune(corpus, out, *args, code=2).stderr
    assert not out.exists()
