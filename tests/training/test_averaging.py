"""Uniform averages against all iterates, and weights that must be 0 or more."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.kernels.sparse_steps import Freedom, step_rows
from spacy_hosemi.model.weights.potentials import score_rows
from spacy_hosemi.model.weights.vector import by_weight
from spacy_hosemi.training import averaged as training
from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    SMALL,
    averaged,
    initialize,
    initialized,
    lbfgs,
    make_batch,
    make_examples,
    make_nlp,
    randomize,
    triples,
)
from .test_perceptron import PERCEPTRON

LOG_LIKELIHOOD = {"@misc": "spacy_hosemi.log_likelihood.v1"}
MORE = {**SMALL, "whole": ["LOWER*"], "within": ["LOWER"]}
TRANSITIONS = {**MORE, "transition": ["BIAS", "LOWER"]}
CONFIGS = {
    "plain": {},
    "whole": {"features": MORE, "explicit_length": 3},
    "tags": {"encoding": "BILUO"},
    "order 3": {"max_order": 3},
    "pairs": {"features": TRANSITIONS, "observed_order": 2},
}


def first_batch(config, objective=PERCEPTRON, seed=None, part=slice(None)):
    """An initialized component, its examples, and these as a batch."""
    pipe, examples = initialized(**config, objective=objective)
    if seed is not None:
        randomize(pipe, seed)
    return pipe, examples[part], make_batch(pipe, examples[part])


def of_long_patterns(pipe):
    """Places in the vector of weights, by plain loops."""
    weights, cfg = pipe.weights, pipe.cfg
    found = []
    if weights.pairs is not None:
        for at, column in enumerate(weights.pairs.columns.tolist()):
            observed = column - len(pipe.inventory.names)
            if observed >= 0 and len(cfg["observed"][observed]) > 2:
                found.append(at)
    at = weights.matrix.size
    for pattern, weight in zip(cfg["patterns"], weights.pattern):
        if np.isfinite(weight):
            if len(pattern) > 2:
                found.append(at)
            at += 1
    return found


def all_iterates(pipe, examples, start, n_passes, rate, seed, nonnegative):
    """Every vector of weights that a fit goes through, and where it makes a step.

    rate: One for all weights, or for each.
    """
    bounded = of_long_patterns(pipe) if nonnegative else []
    rng = np.random.default_rng(seed)
    w = start.copy()
    w[bounded] = np.maximum(w[bounded], 0.0)
    iterates, moved = [], 0
    for _ in range(n_passes):
        for k in rng.permutation(len(examples)):
            pipe.set_weights(w)
            w = w - rate * pipe.value_and_gradient([examples[k]])[1]
            w[bounded] = np.maximum(w[bounded], 0.0)
            iterates.append(w)
            moved += len(iterates) < 2 or (w != iterates[-2]).any()
    return iterates, moved


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    "objective, rate, start, nonnegative",
    [
        (PERCEPTRON, 1.0, None, False),
        (PERCEPTRON, 1.0, 3, True),
        ({**PERCEPTRON, "margin": 0.5}, 0.3, 1, True),
        (LOG_LIKELIHOOD, 0.1, 2, False),
    ],
    ids=["perceptron", "nonnegative", "margin", "log_likelihood"],
)
def test_the_average_of_all_iterates(objective, rate, start, nonnegative, config):
    pipe, examples, batch = first_batch(config, objective, start)
    w = pipe.get_weights()
    settings = {"n_passes": 3, "rate": rate, "seed": 7, "nonnegative": nonnegative}
    make_averaged(**settings, progress=False)(batch)
    found = pipe.get_weights()
    iterates, moved = all_iterates(pipe, examples, w, **settings)
    assert 3 < moved <= 15
    expected = np.mean(iterates, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.abs(expected - iterates[-1]).max() > 0.01  # or it would tell nothing
    bounded = of_long_patterns(pipe)
    assert bool(bounded) == (pipe.cfg["max_order"] > 1 or bool(pipe.cfg["observed"]))
    assert not nonnegative or (found[bounded] >= 0.0).all()


@pytest.mark.parametrize("family", ["inside", "whole", "transition", "pattern"])
def test_rates_by_family(family):
    """Of each weight of the family, and of no other."""
    pipe, examples, batch = first_batch(CONFIGS["pairs"], LOG_LIKELIHOOD, 3)
    weights, w = pipe.weights, pipe.get_weights()
    names = np.array(weights.names)
    is_theirs = by_weight(weights, np.char.startswith(names, f"{family}:"))
    n_last = len(w) - len(is_theirs)
    is_theirs = np.concatenate([is_theirs, np.full(n_last, family == "pattern")])
    assert is_theirs.any() and not is_theirs.all()
    rate = np.where(is_theirs, 0.03, 1.0)
    make_averaged(n_passes=2, rate={family: 0.03}, progress=False)(batch)
    found = pipe.get_weights()
    iterates, _ = all_iterates(pipe, examples, w, 2, rate, 0, False)
    expected = np.mean(iterates, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_an_early_end_averages_all_passes(capfd):
    pipe, examples, batch = first_batch({})
    make_averaged(n_passes=30)(batch)
    found = pipe.get_weights()
    assert "stopped after 30" not in capfd.readouterr().err
    iterates, _ = all_iterates(pipe, examples, np.zeros(len(found)), 30, 1.0, 0, False)
    np.testing.assert_allclose(found, np.mean(iterates, axis=0), rtol=1e-6, atol=1e-6)


def test_a_right_prediction_costs_no_step_and_ends_the_fit(monkeypatch, capfd):
    pipe, examples, batch = first_batch({})
    make_averaged(n_passes=50, progress=False)(batch)
    touched = []
    monkeypatch.setattr(training, "add_gradients", lambda *args: touched.append(args))
    before = pipe.get_weights()
    make_averaged(n_passes=50)(batch)
    assert not touched
    assert (pipe.get_weights() == before).all()
    _, err = capfd.readouterr()
    assert "stopped after 1 passes" in err
    assert f"steps at 0 documents of {len(examples)}" in err


def test_without_progress_it_is_silent(capfd):
    make_averaged(progress=False)(first_batch({})[2])
    assert capfd.readouterr() == ("", "")


def test_nothing_to_learn_from():
    pipe, _, batch = first_batch({}, seed=3, part=slice(0))
    before = pipe.get_weights()
    make_averaged(n_passes=2, progress=False)(batch)
    np.testing.assert_allclose(pipe.get_weights(), before, rtol=1e-6)


@pytest.mark.parametrize("encoding", ["segments", "BIO"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_it_learns_a_corpus(encoding, nonnegative):
    nlp = make_nlp(objective=PERCEPTRON, encoding=encoding)
    initialize(nlp, fit=averaged(n_passes=30, nonnegative=nonnegative))
    for eg in make_examples(nlp):
        assert triples(nlp(eg.text).ents) == triples(eg.reference.ents)


def test_missing_tokens_are_learnt_around():
    nlp = make_nlp(objective=PERCEPTRON)
    examples = make_examples(nlp)
    for eg in examples[3:]:
        eg.reference.set_ents([], default="missing")
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": averaged(n_passes=30)}
    nlp.initialize(lambda: examples)
    doc = nlp("Ada Lovelace wrote to Charles Babbage.")
    assert [ent.text for ent in doc.ents] == ["Ada Lovelace", "Charles Babbage"]


def test_the_order_is_that_of_the_seed():
    found = []
    for seed in (0, 0, 1):
        pipe, _, batch = first_batch({})
        make_averaged(n_passes=2, seed=seed, progress=False)(batch)
        found.append(pipe.get_weights().tobytes())
    assert found[0] == found[1] != found[2]


def test_the_loss_must_stay_a_number():
    pipe, _, batch = first_batch({})
    objective = pipe.objective

    def not_a_number(*args):
        loss, gradient = objective(*args)
        return loss * float("nan"), gradient

    batch.objective = not_a_number
    with pytest.raises(ValueError, match=f"HS057.* nan after {len(batch)} steps"):
        make_averaged(progress=False)(batch)


# --- weights that must be 0 or more -------------------------------------------------


def decoders_agree(pipe, examples):
    """Whether the faster decoder is valid; then both must find the same."""
    weights = pipe.weights
    for eg in examples:
        doc = eg.predicted
        potentials = score_rows(weights, read_docs(weights, [doc]), len(doc))
        try:
            found = core.viterbi(pipe.automaton, potentials, method="nonnegative")
        except ValueError as error:
            assert "HS104" in str(error)
            return False
        for method in ("automaton", "auto"):
            assert found == core.viterbi(pipe.automaton, potentials, method=method)
    return True


FITS = {
    "averaged": averaged(n_passes=5),
    "lbfgs": lbfgs(l2=0.01, max_iter=30),
    "l1": lbfgs(l1=0.01, l2=0.01, max_iter=60),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("config", [CONFIGS["order 3"], CONFIGS["pairs"]])
def test_the_faster_decoder_is_valid(fit, config):
    objective = {} if "n_passes" not in fit else {"objective": PERCEPTRON}
    for nonnegative in (False, True):
        nlp = make_nlp(**config, **objective)
        initialize(nlp, fit={**fit, "nonnegative": nonnegative})
        pipe = nlp.get_pipe("hosemi")
        found = pipe.get_weights()[of_long_patterns(pipe)]
        assert (found > 0.0).any()
        assert (found < 0.0).any() == (not nonnegative)
        assert decoders_agree(pipe, make_examples(nlp)) == nonnegative


def test_bounded_optimum():
    """Where a bound holds the loss would only fall beyond it; else it is level."""
    l2 = 0.1
    pipe, examples, batch = first_batch(CONFIGS["pairs"], LOG_LIKELIHOOD)
    settings = {"l2": l2, "tolerance": 0.0, "max_iter": 2000, "progress": False}
    make_lbfgs(**settings, nonnegative=True)(batch)
    w, (_, gradient) = pipe.get_weights(), pipe.value_and_gradient(examples)
    gradient += l2 * w
    held = np.zeros(len(w), bool)
    held[of_long_patterns(pipe)] = True
    held &= w == 0.0
    assert held.any()
    assert (gradient[held] > -1e-3).all()
    assert gradient[held].max() > 0.01
    assert np.abs(gradient[~held]).max() < 1e-3


def test_weights_below_0_are_raised_first():
    pipe, *_, batch = first_batch(CONFIGS["order 3"], seed=5)
    bounded = of_long_patterns(pipe)
    assert (pipe.get_weights()[bounded] < 0.0).any()
    make_averaged(n_passes=1, rate=1e-9, nonnegative=True, progress=False)(batch)
    assert (pipe.get_weights()[bounded] >= 0.0).all()


# --- one step -------------------------------------------------------------------------


def test_step_by_hand():
    """Rows of 2 weights; row 1 twice, as often as it fires; row 2 does not."""
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    gradient = np.array([2.0, 0.5, 0.5, 2.0, 9.0, 9.0])
    moved = np.full(6, 10.0)
    freedom = np.full(6, Freedom.FREE, np.uint8)
    freedom[0], freedom[2] = Freedom.NONNEGATIVE, Freedom.FIXED
    rows = np.array([1, 0, 1], np.int32)
    none = np.zeros(0, np.int32)
    step_rows(rows, none, 2, weights, gradient, moved, freedom, np.ones(6), 3.0)
    assert weights.tolist() == [0.0, 0.5, 1.0, -1.0, 1.0, 1.0]
    assert gradient.tolist() == [0.0, 0.0, 0.0, 0.0, 9.0, 9.0]
    assert moved.tolist() == [7.0, 8.5, 10.0, 4.0, 10.0, 10.0]

    first_pair = np.array([0, 1, 3, 6], np.int32)  # rows of 1, 2 and 3 weights
    gradient[:] = 1.0
    rate = np.array([0.0, 0.5, 0.5, 0.0, 0.0, 0.0])
    step_rows(rows[:1], first_pair, 2, weights, gradient, moved, freedom, rate, 0.0)
    assert weights.tolist() == [0.0, 0.0, 1.0, -1.0, 1.0, 1.0]
    assert gradient.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
