"""`fit.patience`: a fit ends by the scores of other documents, and keeps the best."""

import numpy as np
import pytest

from spacy_hosemi.training import fit_progress
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    PAIRS,
    TRAIN,
    TREE,
    first_batch,
    in_a_tree,
    interrupt_at,
    make_nlp,
    read_log,
)
from ..helpers import fit_pairs as fit


def assert_weights(batch, expected):
    np.testing.assert_allclose(batch.weights.vector(), expected, rtol=1e-6, atol=1e-7)


def watch(batch, scores):
    """Let a batch have these scores, one at a look; the last one stays."""
    seen = []

    def look(weights):
        seen.append(weights.vector().copy())
        return {"ents_f": scores[min(len(seen), len(scores)) - 1]}

    batch.watch = look
    return seen


@pytest.fixture(autouse=True)
def every_second(monkeypatch):
    monkeypatch.setattr(fit_progress, "WATCH_EVERY", 2)


@pytest.mark.parametrize(
    "scores, patience, n_iterations, kept",
    [
        ([0.5, 0.7, 0.6, 0.6, 0.9], 4, 8, 4),
        ([0.5, 0.7, 0.6, 0.6, 0.6], 3, 8, 4),
        ([0.5, 0.5, 0.5, 0.5], 1, 4, 2),
        ([0.0, 0.0], 2, 4, 2),
        ([0.5, 0.6, 0.7, 0.8], 2, 10, 8),
    ],
)
@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_the_best_weights_are_kept(scores, patience, n_iterations, kept, l1, tmp_path):
    batch, path = first_batch(), tmp_path / "fit.jsonl"
    seen = watch(batch, scores)
    fit = make_lbfgs(patience=patience, l1=l1, tolerance=0.0, log=path, progress=False)
    report = fit(batch)
    assert report.n_iterations == n_iterations and report.is_converged
    assert f"no better F1 on dev in {patience} iterations" in report.reason
    assert report.n_kept == kept
    assert_weights(batch, seen[kept // 2 - 1])
    start, *steps, end = read_log(path)
    assert start["patience"] == patience
    assert end["kept"] == kept and end["dev"]["ents_f"] == scores[kept // 2 - 1]
    assert end["objective"] == steps[kept - 1]["objective"] == report.loss


def test_a_fit_that_converges_keeps_the_best_too():
    plain, batch = first_batch(), first_batch()
    expected = make_lbfgs(progress=False)(plain).n_iterations
    seen = watch(batch, [0.5, 0.9, 0.8])
    report = make_lbfgs(patience=1000, progress=False)(batch)
    assert report.n_iterations == expected > 6
    assert_weights(batch, seen[1])
    assert "CONVERGENCE" in report.reason and report.n_kept == 4


def test_the_last_weights_are_looked_at():
    batch = first_batch()
    seen = watch(batch, [0.1, 0.2, 0.3])
    report = make_lbfgs(patience=9, max_iter=5, progress=False)(batch)
    assert len(seen) == 3 and report.n_kept == 5


def test_weights_that_a_fit_begins_with_count():
    batch = first_batch()
    make_lbfgs(progress=False, max_iter=20)(batch)
    before = batch.weights.vector().copy()
    watch(batch, [0.9, 0.1])
    report = make_lbfgs(patience=2, l2=5.0, progress=False)(batch)
    assert report.n_iterations == 2 and report.n_kept == 0
    np.testing.assert_array_equal(batch.weights.vector(), before)


@pytest.mark.parametrize("limits", [{"patience": 4}, {"patience": 9, "max_iter": 6}])
def test_a_file_to_resume_has_the_kept_weights(limits, tmp_path):
    how = {"checkpoint": str(tmp_path / "fit.npz"), "progress": False}
    how |= {"tolerance": 0.0, **limits}
    batch, again = first_batch(), first_batch()
    seen = watch(batch, [0.5, 0.9, 0.8])
    first = make_lbfgs(**how)(batch)
    watch(again, [0.0])
    report = make_lbfgs(**how)(again)
    assert report.reason.startswith("as in ") and report.loss == first.loss
    assert report.is_converged == ("max_iter" not in limits)
    np.testing.assert_array_equal(again.weights.vector(), batch.weights.vector())
    assert_weights(again, seen[1])


def test_without_what_watches_there_is_no_end():
    report = make_lbfgs(patience=1, progress=False)(first_batch())
    assert report.n_kept is None


@pytest.mark.filterwarnings("ignore:.*HSW76")  # dev is a part of train
@pytest.mark.parametrize("l2", [0.1, "auto"])
def test_in_a_pipeline(l2):
    nlp = make_nlp()
    result = fit(nlp, dev=PAIRS[:2], l2=l2, patience=2)
    assert "no better F1 on dev in 2 iterations" in result.reason
    text, spans = PAIRS[0]
    found = [(x.start_char, x.end_char, x.label_) for x in nlp(text).ents]
    assert found == list(spans)


def test_of_a_tree_the_last_level_ends_so():
    pairs = in_a_tree()
    result = fit(make_nlp(**TREE), pairs, dev=pairs[:2], patience=2)
    first, last = result.reports
    assert first.n_kept is None and last.n_kept is not None


def test_interrupted_fits_keep_the_best():
    nlp = make_nlp()
    interrupt_at(nlp.get_pipe("hosemi"), 12 * len(TRAIN))
    with pytest.warns(UserWarning, match="HSW60"):
        result = fit(nlp, dev=PAIRS[:2], tolerance=0.0, patience=1000)
    assert result.reason == "interrupted" and result.reports[0].n_kept


@pytest.mark.parametrize("dev", [None, [], [("Nobody was there.", [])]])
def test_without_documents_to_look_at(dev):
    with pytest.raises(ValueError, match=r"HS334.*fit\.patience is 5, and the \d doc"):
        fit(make_nlp(), dev=dev, patience=5)
