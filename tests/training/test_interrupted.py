"""Ctrl-C in a fit: the best weights are kept, and training goes on from them."""

import os

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin

from spacy_hosemi.training import fit_progress
from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.checkpoint import Checkpoint
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    PAIRS,
    TRAIN,
    TREE,
    find,
    first_batch,
    hit_ctrl_c,
    in_a_tree,
    interrupt_at,
    lbfgs,
    make_examples,
    make_nlp,
    read_log,
    run_spacy,
)
from ..helpers import fit_pairs as fit
from ..strategies import n_of

NEW = "Ada Lovelace lived in Paris."


def loss_at(nlp, l2=0.1):
    hosemi = nlp.get_pipe("hosemi")
    value, _ = hosemi.value_and_gradient(make_examples(nlp))
    return value + l2 / 2 * (hosemi.get_weights() ** 2).sum()


@pytest.fixture(scope="module")
def whole():
    nlp = make_nlp()
    return fit(nlp), find(nlp, NEW), nlp.get_pipe("hosemi").get_weights()


@pytest.mark.parametrize("seed", range(n_of(25)))
def test_random_moments(seed, tmp_path, whole):
    result, expected, _ = whole
    n = int(np.random.default_rng(seed).integers(4, 3 * result.n_iterations))
    n = n * len(TRAIN) // 3 + len(TRAIN) + seed % len(TRAIN)
    nlp, path = make_nlp(), tmp_path / "fit.npz"
    interrupt_at(nlp.get_pipe("hosemi"), n)
    with pytest.warns(UserWarning, match=rf"HSW60.*checkpoint goes on from {path}"):
        first = fit(nlp, checkpoint=str(path), prune=0.0)
    assert first.reason == "interrupted" and not first.is_converged
    assert first.n_iterations > 0
    assert first.loss == pytest.approx(loss_at(nlp), rel=1e-4)
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    assert find(saved, NEW) == find(nlp, NEW)
    # in another process it would be another component
    nlp = make_nlp()
    second = fit(nlp, checkpoint=str(path))
    assert second.is_converged and second.n_iterations > first.n_iterations
    assert second.loss == pytest.approx(result.loss, rel=1e-3)
    assert find(nlp, NEW) == expected


@pytest.mark.parametrize("patience", [None, 4])
def test_from_each_file_that_a_fit_has_written(tmp_path, monkeypatch, patience):
    """Killed at any moment, a fit leaves one of these."""
    monkeypatch.setattr(fit_progress, "WATCH_EVERY", 3)
    path, files = tmp_path / "fit.npz", []
    write = Checkpoint.write

    def copying(self, *args):
        write(self, *args)
        files.append(path.read_bytes())

    def minimize_once():
        batch = first_batch()
        files = {"checkpoint": str(path), "checkpoint_every": 0.0}
        fit = make_lbfgs(**files, progress=False, patience=patience)
        if patience is not None:
            batch.watch = lambda weights: {"ents_f": -np.abs(weights.vector()).sum()}
        fit.check(batch.objective)
        return fit(batch), batch.weights.vector()

    monkeypatch.setattr(Checkpoint, "write", copying)
    report, weights = minimize_once()
    written = [*files]
    assert len(written) > 6
    for n, content in list(enumerate(written[:-1], 1))[::4]:
        path.write_bytes(content)
        again, found = minimize_once()
        assert again.is_converged and again.n_iterations > n
        if patience is None:
            assert again.loss == pytest.approx(report.loss, rel=1e-3)
    path.write_bytes(written[-1])
    again, found = minimize_once()
    assert again.loss == report.loss and "fit.npz" in again.reason
    np.testing.assert_allclose(found, weights, rtol=1e-6)


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_the_kept_weights_are_those_of_the_last_iteration(l1):
    longer, shorter = make_nlp(), make_nlp()
    interrupt_at(longer.get_pipe("hosemi"), 12 * len(TRAIN))
    with pytest.warns(UserWarning, match=r"HSW60.*iterations, at a loss of [\d.]+\. "):
        n = fit(longer, l1=l1).n_iterations
    fit(shorter, l1=l1, max_iter=n)
    found, expected = (x.get_pipe("hosemi").get_weights() for x in (longer, shorter))
    assert found.tolist() == expected.tolist()


def test_before_the_first_iteration_there_is_nothing_to_keep(tmp_path):
    nlp = make_nlp()
    interrupt_at(nlp.get_pipe("hosemi"), 2)
    with pytest.raises(KeyboardInterrupt):
        fit(nlp, checkpoint=str(tmp_path / "fit.npz"))
    assert list(tmp_path.iterdir()) == []


def test_while_the_file_is_written(tmp_path, monkeypatch, whole):
    """The file is as it was before, and no other is left."""
    path, n_written = tmp_path / "fit.npz", 0
    replace = os.replace

    def interrupted(*args):
        nonlocal n_written
        n_written += 1
        if n_written == 3:
            hit_ctrl_c()
        replace(*args)

    monkeypatch.setattr(os, "replace", interrupted)
    nlp = make_nlp()
    with pytest.warns(UserWarning, match="HSW60"):
        first = fit(nlp, checkpoint=str(path), checkpoint_every=0.0)
    assert first.n_iterations == 3 and [*tmp_path.iterdir()] == [path]
    nlp = make_nlp()
    assert fit(nlp, checkpoint=str(path)).loss == pytest.approx(whole[0].loss, rel=1e-3)


def test_a_converged_fit_is_not_made_again(tmp_path, whole):
    settings = {"checkpoint": str(tmp_path / "fit.npz")}
    nlp, again = make_nlp(), make_nlp()
    first, second = fit(nlp, **settings), fit(again, **settings)
    assert first.is_converged and second.is_converged
    assert second.n_iterations == first.n_iterations == whole[0].n_iterations
    assert second.loss == first.loss and "fit.npz" in second.reason
    found, expected = (x.get_pipe("hosemi").get_weights() for x in (again, nlp))
    assert found.tolist() == expected.tolist()


def test_more_iterations_than_before(tmp_path, whole):
    path = str(tmp_path / "fit.npz")
    with pytest.warns(UserWarning, match=r"HSW61.* 6 iterations.*max_iter = 12"):
        fit(make_nlp(), checkpoint=path, max_iter=6)
    with pytest.warns(UserWarning, match="HSW61"):
        assert fit(make_nlp(), checkpoint=path, max_iter=6).n_iterations == 6
    result = fit(make_nlp(), checkpoint=path)
    assert result.is_converged
    assert result.loss == pytest.approx(whole[0].loss, rel=1e-3)


def test_other_penalties_start_from_the_weights(tmp_path):
    path = str(tmp_path / "fit.npz")
    fit(make_nlp(), checkpoint=path)
    nlp, expected = make_nlp(), fit(make_nlp(), l2=0.5)
    result = fit(nlp, checkpoint=path, l2=0.5)
    assert result.loss == pytest.approx(expected.loss, rel=1e-3)


def test_each_level_of_a_tree_is_a_part(tmp_path):
    path = str(tmp_path / "fit.npz")
    expected = fit(make_nlp(**TREE), in_a_tree())
    nlp = make_nlp(**TREE)
    interrupt_at(nlp.get_pipe("hosemi"), 8 * len(TRAIN))
    with pytest.warns(UserWarning, match="HSW60"):
        first = fit(nlp, in_a_tree(), checkpoint=path)
    assert [x.reason == "interrupted" for x in first.reports] == [True, False]
    nlp = make_nlp(**TREE)
    # the weights at the top are others, but the weights below have the same meaning
    second = fit(nlp, in_a_tree(), checkpoint=path)
    assert second.loss == pytest.approx(expected.loss, rel=1e-3)
    assert find(nlp, NEW) == [("Ada Lovelace", "N/PER"), ("Paris", "N/LOC")]
    third = fit(make_nlp(**TREE), in_a_tree(), checkpoint=path)
    assert third.loss == second.loss


def test_the_average_so_far():
    config = {"objective": {"@misc": "spacy_hosemi.perceptron.v1"}}
    nlp, expected = make_nlp(**config), make_nlp(**config)
    interrupt_at(nlp.get_pipe("hosemi"), 2 * len(TRAIN) + 1)
    with pytest.warns(UserWarning, match="HSW60.* 10 steps of 50"):
        fit_averaged(nlp, 10)
    fit_averaged(expected, 2)
    found = [x.get_pipe("hosemi").get_weights().tolist() for x in (nlp, expected)]
    assert found[0] == found[1]
    nlp = make_nlp(**config)
    interrupt_at(nlp.get_pipe("hosemi"), 1)
    with pytest.raises(KeyboardInterrupt):
        fit_averaged(nlp, 10)


def fit_averaged(nlp, n_passes):
    function = make_averaged(n_passes, progress=False)
    nlp.get_pipe("hosemi").fit(PAIRS, nlp=nlp, fit=function)


def test_spacy_train_saves_what_was_interrupted(tmp_path, monkeypatch):
    nlp = make_nlp()
    docs = [eg.reference for eg in make_examples(nlp)]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    log, checkpoint = tmp_path / "log.jsonl", tmp_path / "fit.npz"
    # It would go on for minutes.
    long = {"tolerance": 0.0, "l2": 0.001}
    block = lbfgs(**long, log=str(log), checkpoint=str(checkpoint))
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": block}
    corpus = {"@readers": "spacy.Corpus.v1", "path": str(tmp_path / "train.spacy")}
    nlp.config["corpora"] = {"train": corpus, "dev": corpus}
    nlp.config["training"] |= {"max_steps": 1, "eval_frequency": 1}
    nlp.config.to_disk(tmp_path / "config.cfg")
    step = fit_progress.FitProgress.step

    def interrupted(self, x):
        step(self, x)
        if self.n_steps == 8:
            hit_ctrl_c()

    monkeypatch.setattr(fit_progress.FitProgress, "step", interrupted)
    with pytest.warns(UserWarning, match="HSW60"):
        run_spacy("train", tmp_path / "config.cfg", "--output", tmp_path / "out")
    saved = spacy.load(tmp_path / "out" / "model-last")
    assert find(saved, NEW) == [("Ada Lovelace", "PER"), ("Paris", "LOC")]
    last = read_log(log)[-1]
    assert last["event"] == "end" and last["reason"] == "interrupted"
    again = fit(make_nlp(), checkpoint=str(checkpoint), max_iter=1000, l2=0.001)
    assert again.is_converged and again.n_iterations > last["iteration"] == 8
