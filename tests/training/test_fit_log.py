"""The log of a fit, and what it says loudly."""

import numpy as np
import pytest

from spacy_hosemi.training import fit_progress
from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.fit_log import iterations_left
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    SMALL,
    TREE,
    first_batch,
    fit_pairs,
    in_a_tree,
    initialize,
    lbfgs,
    make_nlp,
    read_log,
)


def test_one_line_for_each_iteration(tmp_path):
    path = tmp_path / "fit.jsonl"
    make_lbfgs(log=path, progress=False, max_iter=2)(first_batch())
    batch = first_batch()
    report = make_lbfgs(log=str(path), tolerance=1e-7, progress=False)(batch)
    start, *steps, end = read_log(path)
    assert [x["event"] for x in steps] == ["iteration"] * report.n_iterations
    assert [x["iteration"] for x in steps] == [*range(1, report.n_iterations + 1)]
    assert start["n_weights"] == report.n_weights and start["iteration"] == 0
    assert start["tolerance"] == 1e-7 and start["max_iter"] == 1000
    assert {x["part"] for x in (start, *steps, end)} == {0}
    objective = [x["objective"] for x in steps]
    assert objective == sorted(objective, reverse=True)
    assert end["objective"] == objective[-1] == report.loss
    assert end["is_converged"] and end["reason"] == report.reason
    first, last = steps[0], steps[-1]
    assert 0.0 < last["gradient_norm"] < first["gradient_norm"]
    assert first["seconds_left"] is None and last["seconds_left"] >= 0.0
    assert last["change"] <= 1e-7 < first["change"]
    changes = [(x - y) / max(x, 1.0) for x, y in zip(objective, objective[1:])]
    assert [x["change"] for x in steps[1:]] == pytest.approx(changes)
    # the gradient at the weights that were found, but for their rounding
    w = batch.weights.vector()
    gradient = batch.value_and_gradient()[1] + 0.1 * w
    norm = np.linalg.norm(gradient)
    assert last["gradient_norm"] == pytest.approx(norm, rel=1e-2, abs=1e-4)


def test_levels_of_a_tree_are_parts(tmp_path):
    path = tmp_path / "fit.jsonl"
    fit_pairs(make_nlp(**TREE), in_a_tree(), log=str(path))
    events = read_log(path)
    assert [x["part"] for x in events] == sorted(x["part"] for x in events)
    assert [x["part"] for x in events if x["event"] == "end"] == [0, 1]


def test_what_watches_the_weights_is_in_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(fit_progress, "WATCH_EVERY", 3)
    path, batch, seen = tmp_path / "fit.jsonl", first_batch(), []

    def watch(weights):
        seen.append(weights.vector())
        return {"ents_f": len(seen) / 100, "none": float("nan")}

    batch.watch = watch
    make_lbfgs(log=str(path), progress=False, max_iter=8)(batch)
    steps = [x for x in read_log(path) if x["event"] == "iteration"]
    scored = {x["iteration"]: x["dev"]["ents_f"] for x in steps if "dev" in x}
    assert scored == {3: 0.01, 6: 0.02}
    assert read_log(path)[-1]["dev"]["ents_f"] == 0.03
    assert seen[2] == pytest.approx(batch.weights.vector(), abs=1e-6)
    assert steps[2]["dev"]["none"] is None
    # the weights are those of that iteration
    shorter = first_batch()
    make_lbfgs(progress=False, max_iter=3)(shorter)
    np.testing.assert_allclose(seen[0], shorter.weights.vector(), atol=1e-6)


def test_a_fit_that_goes_on_adds_to_the_log(tmp_path):
    path = tmp_path / "fit.jsonl"
    files = {"log": str(path), "checkpoint": str(tmp_path / "fit.npz")}
    make_lbfgs(**files, progress=False, max_iter=4)(first_batch())
    make_lbfgs(**files, progress=False, max_iter=7)(first_batch())
    events = read_log(path)
    found = [x["iteration"] for x in events if x["event"] == "iteration"]
    assert found == [*range(1, 8)]
    assert [x["iteration"] for x in events if x["event"] == "start"] == [0, 4]


@pytest.mark.parametrize("text", ["my notes", '{"event": "click"}\n', "\xff\0"])
def test_another_file_is_not_replaced(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode("latin1"))
    with pytest.raises(ValueError, match=r"HS300.*notes\.txt', which begins with"):
        make_lbfgs(log=path)
    assert path.read_bytes() == text.encode("latin1")


@pytest.mark.parametrize("text", ["", '{"event": "st'])
def test_an_empty_file_or_a_log_that_was_cut_off_is_replaced(tmp_path, text):
    path = tmp_path / "fit.jsonl"
    path.write_text(text)
    make_lbfgs(log=path, progress=False, max_iter=2)(first_batch())
    assert [x["event"] for x in read_log(path)][::3] == ["start", "end"]


def test_a_file_that_cannot_be_read_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "fit.jsonl"
    path.write_text("my notes")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(ValueError, match="HS300.*cannot be read .Permission denied"):
        make_lbfgs(log=path)


def test_log_and_resume_are_one_file(tmp_path):
    path, link = tmp_path / "fit", tmp_path / "link"
    link.symlink_to(path)
    for other in (path, str(path), link):
        with pytest.raises(ValueError, match="HS301.*fit.log is .*fit.checkpoint is"):
            make_lbfgs(log=path, checkpoint=other)


@pytest.mark.parametrize("name", ["log", "checkpoint"])
@pytest.mark.parametrize("path", ["a\0b", b"a", 3, "", "\ud800"])
def test_what_is_no_path(name, path):
    with pytest.raises(ValueError, match=rf"HS043.*fit.{name} .*path of a file"):
        make_lbfgs(**{name: path})


def test_iterations_left():
    changes = [0.5 * 0.8**k for k in range(60)]
    for k in range(20, 40):
        n = next(i for i, x in enumerate(changes) if x <= 1e-4)
        assert iterations_left(changes[:k], 1e-4) == pytest.approx(n - k, abs=1.5)
    assert iterations_left(changes[:19], 1e-4) is None  # too few
    assert iterations_left(changes, 1e-4) == 1.0  # it is there
    assert iterations_left(changes[::-1], 1e-4) is None  # they grow
    assert iterations_left(changes, 0.0) is None  # it will never be


def test_the_limit_of_iterations():
    with pytest.warns(UserWarning, match=r"HSW61.* 5 iter.*fit\.max_iter = 10\.$"):
        report = make_lbfgs(max_iter=5, progress=False)(first_batch())
    assert not report.is_converged and report.n_iterations == 5


def test_more_iterations_than_needed_change_nothing():
    batches = first_batch(), first_batch()
    fits = [make_lbfgs(max_iter=n, progress=False) for n in (200, 1000)]
    reports = [fit(batch) for fit, batch in zip(fits, batches)]
    assert reports[0].is_converged and reports[0].loss == reports[1].loss
    first, second = (batch.weights.vector() for batch in batches)
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("make", [make_lbfgs, make_averaged])
def test_the_feature_with_the_largest_value_is_named(make):
    batch = first_batch()
    rows = batch.rows.tokens["inside"]
    strength = np.ones(len(rows.row))
    strength[7] = -1e200
    batch.rows.tokens["inside"] = rows._replace(strength=strength)
    name = batch.weights.state.names[rows.row[7]]
    with pytest.raises(ValueError, match="HS057") as found:
        make(progress=False)(batch)
    assert f"{name!r} has the value -1e+200" in str(found.value)


def test_the_feature_with_the_largest_weight_is_named():
    for all_labels in (True, False):
        batch = first_batch(features={**SMALL, "all_labels": all_labels})
        w = batch.weights.vector()
        w[20] = np.nan
        batch.weights.set_vector(w)
        state = batch.weights.state
        row = 20 // state.matrix.shape[1]
        if state.pairs is not None:
            row = int(np.flatnonzero(state.pairs.first[1:] > 20)[0])
        with pytest.raises(ValueError, match="HS057") as found:
            make_lbfgs(progress=False)(batch)
        assert f"{state.names[row]!r} has the weight nan" in str(found.value)


def test_the_settings_of_a_config(tmp_path):
    nlp = make_nlp()
    initialize(nlp, fit=lbfgs(log=str(tmp_path / "log"), checkpoint=None, max_iter=3))
    assert len(read_log(tmp_path / "log")) == 5
