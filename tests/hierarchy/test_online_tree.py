"""Labels in a tree, trained by updates."""

import copy
import pickle
import re

import numpy as np
import pytest
import spacy
from thinc.api import Adam

from spacy_hosemi.hierarchy import mining
from spacy_hosemi.hierarchy.level_weights import level_weights_of
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.weights.online import SparseAdagrad
from spacy_hosemi.model.weights.pairs import WeightPairs

from ..helpers import lbfgs, make_doc, make_nlp
from .test_component import (
    LABELS,
    MARKED,
    TREE,
    assert_learnt,
    example,
    examples_of,
    fit_on,
    make_tree_nlp,
    predicted,
)

RATE = 0.5


def make_online(lines=MARKED, *, l2=0.0, labels=None, model=None, **config):
    """Initialized, not trained."""
    model = {"l2": l2, "learn_rate_scale": 1.0, **(model or {})}
    nlp = make_nlp(**{"hierarchy": TREE, "max_order": 1, "model": model, **config})
    nlp.config["initialize"]["components"]["hosemi"] = {"labels": labels}
    optimizer = nlp.initialize(lambda: examples_of(nlp, lines))
    return nlp, optimizer


def levels_of(nlp):
    return nlp.get_pipe("hosemi").level_weights


def matrices(nlp):
    return [matrix.tolist() for matrix in levels_of(nlp).matrix]


def train(nlp, lines=MARKED, n_passes=12, sgd=None):
    sgd, examples = sgd or Adam(0.3), examples_of(nlp, lines)
    for _ in range(n_passes):
        for eg in examples:
            nlp.update([eg], sgd=sgd)


@pytest.fixture(scope="module")
def online():
    nlp, _ = make_online()
    train(nlp)
    return nlp


def test_the_training_documents(online, tmp_path):
    assert_learnt(online)
    online.to_disk(tmp_path)
    same(predicted(spacy.load(tmp_path)), predicted(online), 1e-6)


PARTIAL = (
    *MARKED,
    "[? Ada met] [PER/last Babbage] [? in London .]",
    "Nobody [? met Ada] in [LOC/city London] .",
)
PLAIN = [re.sub(r"\[\S+ ([^]]*)\]", r"\1", line) for line in MARKED]
LATER = [f"[? {line}]" for line in PLAIN]


@pytest.mark.parametrize(
    "lines, labels, trained",
    [
        (PARTIAL, None, PARTIAL),
        # All comes with the updates, in steps of any size.
        (MARKED[-1:], LABELS, MARKED),
        # Documents are known from the beginning, without a span.
        (LATER, LABELS, MARKED),
    ],
)
def test_what_initialization_does_not_have(lines, labels, trained):
    nlp, _ = make_online(lines, labels=labels)
    assert any(map(len, matrices(nlp))) == (labels is None)
    train(nlp, trained)
    assert_learnt(nlp)


def test_by_updates_as_by_a_fit():
    """Both minimise the same sums of losses."""
    nlp, _ = make_online(l2=0.1)
    sgd, examples, losses = Adam(0.3), examples_of(nlp), []
    for step in range(150):
        sgd.learn_rate = 0.3 / (1 + step / 10)
        losses.append(nlp.update(examples, sgd=sgd)["hosemi"])
    fit = lbfgs(l2=0.1, tolerance=1e-9)
    fitted = fit_on(make_nlp(hierarchy=TREE, max_order=1), fit=fit)
    assert losses[-1] < losses[0] / 5
    same(predicted(nlp), predicted(fitted), 0.02)


def same(found, expected, tolerance):
    """Spans, and nearly their probabilities: in single precision, or after training."""
    for of_doc, other in zip(found, expected, strict=True):
        for (span, path), (wanted, p_expected) in zip(of_doc, other, strict=True):
            assert span == wanted
            for (_, p), (_, q) in zip(path, p_expected, strict=True):
                assert p == pytest.approx(q, abs=tolerance)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_step_is_that_of_adagrad(l2):
    """From the second one on l2 counts: as often as a row fires, once a pass."""
    nlp, _ = make_online(l2=l2)
    weights = level_weights_of(nlp.get_pipe("hosemi").model)
    (level,) = weights.state.pairs
    found = []
    for line in MARKED[:2]:
        nlp.get_pipe("hosemi").update([example(nlp, line)], sgd=None)
        found.append(weights._levels[0].gradient[: len(level.columns)].copy())
        nlp.get_pipe("hosemi").finish_update(Adam(RATE))
        assert not weights._levels[0].gradient.any()
    top = nlp.get_pipe("hosemi").weights
    counts = top.counts.repeat(level.sizes)
    w, squares = np.zeros(len(counts)), np.zeros(len(counts))
    for line, gradient in zip(MARKED, found):
        rows = read_docs(top, [example(nlp, line).predicted], is_train=True)
        fires = np.isin(np.arange(len(level.sizes)), np.concatenate(rows.active))
        gradient = gradient + l2 / counts * w * fires.repeat(level.sizes)
        squares += gradient * gradient
        w -= RATE * gradient / (1e-8 + np.sqrt(squares))
    np.testing.assert_allclose(weights.state.matrix[0], w, atol=1e-12)
    assert np.count_nonzero(w) > 10


def test_several_updates_are_one_step():
    found = []
    for sizes in ([6], [1, 2, 3], [1] * 6):
        nlp, _ = make_online(l2=0.1)
        pipe, examples = nlp.get_pipe("hosemi"), examples_of(nlp)
        for _ in range(2):
            rest = iter(examples)
            for size in sizes:
                pipe.update([next(rest) for _ in range(size)], sgd=None)
            pipe.finish_update(Adam(RATE))
        found.append([*levels_of(nlp).matrix, *levels_of(nlp).pattern])
    for other in found[1:]:
        for left, right in zip(found[0], other, strict=True):
            np.testing.assert_allclose(left, right, atol=1e-9)


@pytest.mark.parametrize("threshold", [0.9, 1.0])
def test_the_gold_is_always_left(threshold):
    """What is uncertain of it, and is nothing of the best segmentation, too."""
    lines = ["[A/x/2 Carl Ann] met"] * 4
    lines += ["[A/x/1 Carl] met [B Bob]", "[A/y/1 Carl] met [B Bob]", "[A/y/2 Carl] ."]
    partial = "[? Carl] [A/x/1 Ann] met ."
    nlp, _ = make_online(lines, hierarchy={**TREE, "threshold": threshold})
    train(nlp, lines)
    losses = nlp.update([example(nlp, partial)], sgd=Adam(0.3))
    assert np.isfinite(losses["hosemi"])


def test_what_says_nothing_changes_nothing():
    nlp, _ = make_online(l2=0.1)
    train(nlp, n_passes=1)
    before = matrices(nlp)
    losses = {}
    for line in ("[? Ada met Babbage .]", ""):
        nlp.update([example(nlp, line)], sgd=Adam(RATE), losses=losses)
    assert losses["hosemi"] == 0.0 and matrices(nlp) == before


def test_averages():
    nlp, _ = make_online()
    sgd = Adam(RATE, use_averages=True)
    found = []
    for line in MARKED:
        nlp.update([example(nlp, line)], sgd=sgd)
        found.append(np.array(levels_of(nlp).matrix[0]))
    expected, last = np.zeros_like(found[0]), np.zeros_like(found[0])
    for t, w in enumerate([last, *found[:-1]], start=0):
        # w held between two updates, with the decay of the later one
        decay = min((1.0 + t) / (10.0 + t), 0.9999) if t else 1.0
        expected = decay * expected + (1.0 - decay) * w
    decay = (1.0 + len(found)) / (10.0 + len(found))
    expected = decay * expected + (1.0 - decay) * found[-1]
    with nlp.use_params(sgd.averages):
        np.testing.assert_allclose(levels_of(nlp).matrix[0], expected, atol=1e-9)
        averaged = copy.deepcopy(nlp)
    assert levels_of(nlp).matrix[0].tolist() == found[-1].tolist()
    np.testing.assert_allclose(levels_of(averaged).matrix[0], expected, atol=1e-6)


# --- what is met first ------------------------------------------------------------


def test_words_that_are_met_first(online):
    """A saved model goes on with documents that it does not know."""
    nlp = pickle.loads(pickle.dumps(online))
    new = ["[LOC/land Erewhon] and [LOC/city Zembla] .", "In [LOC/land Erewhon] ."]
    train(nlp, new)
    assert_learnt(nlp, new)
    weights = levels_of(nlp)
    for pairs, matrix in zip(weights.pairs, weights.matrix):
        pairs.check(len(nlp.get_pipe("hosemi").weights.table), len(weights.tree.names))
        assert len(matrix) == len(pairs.columns)
    copied = pickle.loads(pickle.dumps(nlp))
    same(predicted(copied, new), predicted(nlp, new), 1e-6)


def test_a_fitted_model_goes_on_once_it_is_copied():
    nlp = fit_on(make_nlp(hierarchy=TREE, max_order=1))
    before = predicted(nlp)
    train(nlp, n_passes=1)
    assert predicted(nlp) == before
    other = copy.deepcopy(nlp)
    train(other, n_passes=2, sgd=Adam(0.0005))
    assert predicted(other) != before
    assert_learnt(other)


def test_levels_of_a_fit_begin_at_a_quarter_of_their_documents():
    for is_fitted in (True, False):
        nlp = make_tree_nlp() if is_fitted else make_online()[0]
        weights = nlp.get_pipe("hosemi").trainer.weights
        level = level_weights_of(nlp.get_pipe("hosemi").model).level(2, weights, 1.0)
        of_pairs = weights.state.counts.repeat(level.pairs.sizes) / 4
        n_patterns = len(level.vector()) - len(of_pairs)
        rest = [weights.state.n_docs / 4] * n_patterns
        expected = (
            [*of_pairs, *rest] if is_fitted else [0.0] * (len(of_pairs) + len(rest))
        )
        is_zero = level.vector() == 0.0
        found = level._steps._squares[:, 0]
        assert found.tolist() == np.where(is_zero, 0.0, expected).tolist()
        assert is_zero.all() == (not is_fitted) and (not is_fitted or not is_zero.any())


def test_known_documents_change_nothing_in_a_tree():
    nlp = copy.deepcopy(make_tree_nlp())
    before = predicted(nlp)
    train(nlp, n_passes=3, sgd=nlp.resume_training())
    same(predicted(nlp), before, 0.02)


def test_siblings_have_weights_while_all_are_few(monkeypatch):
    """However few a document brings."""
    monkeypatch.setattr(mining, "MAX_WEIGHTS", 40)
    nlp, _ = make_online()
    size = len(levels_of(nlp).matrix[0])
    assert size > 40  # the gold's own
    train(nlp, ["Nobody met [ORG Erewhon] .", *MARKED], n_passes=2)
    assert len(levels_of(nlp).matrix[0]) == size


@pytest.mark.parametrize("seed", range(10))
def test_pairs_of_both(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(0, 5)), 4
    n_more = n_rows + int(rng.integers(0, 3))
    old, new = rng.random((2, n_more, n_columns)) < 0.4
    old[n_rows:] = False
    found, at = as_pairs(old[:n_rows]).merged(as_pairs(new), n_columns)
    both = as_pairs(old | new)
    assert found.first.tolist() == both.first.tolist()
    assert found.columns.tolist() == both.columns.tolist()
    values = rng.random((n_more, n_columns)) * old
    inserted = np.insert(values[old], at, 0.0)
    assert inserted.tolist() == values[old | new].tolist()


def as_pairs(has_weight) -> WeightPairs:
    first = np.concatenate([[0], np.cumsum(has_weight.sum(axis=1))]).astype(np.int32)
    return WeightPairs(first, np.nonzero(has_weight)[1].astype(np.int32))


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_come_between(seed):
    """As if they had been there from the beginning, and had not fired; also where some
    gradients of a step come before them, others behind."""
    rng = np.random.default_rng(seed)
    n, at = 5, np.sort(rng.integers(0, 6, size=3))
    places = np.insert(np.full(n, True), at, False)
    part, whole = (
        SparseAdagrad(np.zeros((k, 1)), np.zeros((k, 1))) for k in (n, n + 3)
    )
    of_part = np.flatnonzero(places).astype(np.int32)
    for step in range(12):
        if step == 5:
            part.insert(at)
            of_part = np.arange(n + 3, dtype=np.int32)
        rows = rng.choice(len(of_part), size=3, replace=False).astype(np.int32)
        gradient = rng.normal(size=(3, 1))
        for adagrad, touched in ((part, rows), (whole, of_part[rows])):
            adagrad.gradient[touched] += gradient
            adagrad.touched.append(touched)
            if step % 2:
                adagrad.step(np.full(len(adagrad.weights), 0.1), 0.3)
    assert part.weights.tolist() == whole.weights.tolist()
    np.testing.assert_allclose(part.averages(), whole.averages(), atol=1e-12)


def test_new_labels_are_refused(online):
    nlp = copy.deepcopy(online)
    with pytest.raises(ValueError, match="HS118.*new one"):
        nlp.update([example(nlp, "[PER/middle Ada] wrote .")], sgd=Adam(RATE))
    assert nlp.get_pipe("hosemi")(make_doc(nlp, "Ada")).ents
