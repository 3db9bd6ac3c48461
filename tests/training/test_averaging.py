"""Uniform averages against all iterates, and weights that must be 0 or more."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.model.active_features import read_docs
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


MARGIN = {**PERCEPTRON, "margin": 0.5}


@pytest.mark.parametrize(
    "objective, rate, start, nonnegative, names",
    [
        (PERCEPTRON, 1.0, None, False, ["plain", "whole", "tags"]),
        (PERCEPTRON, 1.0, 3, True, ["plain", "order 3", "pairs"]),
        (MARGIN, 0.3, 1, True, ["whole", "tags", "order 3"]),
        (LOG_LIKELIHOOD, 0.1, 2, False, ["plain", "whole", "pairs"]),
    ],
    ids=["perceptron", "nonnegative", "margin", "log_likelihood"],
)
def test_the_average_of_all_iterates(objective, rate, start, nonnegative, names):
    for name in names:
        assert_averaged(CONFIGS[name], objective, rate, start, nonnegative)


def assert_averaged(config, objective, rate, start, nonnegative):
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
        (potentials,) = score_rows(weights, read_docs(weights, [doc]))
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


@pytest.mark.parametrize(
    "name, kind",
    [
        ("order 3", "averaged"),
        ("order 3", "lbfgs"),
        ("pairs", "averaged"),
        ("pairs", "l1"),
    ],
)
def test_the_faster_decoder_is_valid(name, kind):
    config, fit = CONFIGS[name], FITS[kind]
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
