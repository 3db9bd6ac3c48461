"""Fewer weights: what is left is what was asked for, and says the same."""

import copy

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, given, settings

from spacy_hosemi.core import log_partition
from spacy_hosemi.model.weights.storage import size_of, to_bytes
from spacy_hosemi.model.weights.vector import as_vector
from spacy_hosemi.training.trainer import Trainer

from ..helpers import (
    change_weights,
    fit_anew,
    initialize,
    make_examples,
    make_nlp,
    make_trained,
    triples,
)

L1 = {"l1": 0.4, "l2": 0.05, "tolerance": 0.0, "max_iter": 500}


def weights_by_name(pipe) -> dict:
    """All weights that are not 0: by feature and label, or pattern."""
    weights, labels = pipe.weights, pipe.inventory.names
    found = {}
    for r, name in enumerate(weights.names):
        if weights.pairs is None:
            columns, values = range(len(labels)), weights.matrix[r]
        else:
            slots = slice(*weights.pairs.first[r : r + 2])
            columns, values = weights.pairs.columns[slots], weights.matrix[slots, 0]
        for y, value in zip(columns, values, strict=True):
            if value:
                found[name, labels[y]] = value
    for pattern, value in zip(pipe.automaton.patterns, weights.pattern, strict=True):
        found[pattern] = value
    return found


def log_zs(nlp) -> list[float]:
    pipe = nlp.get_pipe("hosemi")
    docs = [eg.predicted for eg in make_examples(nlp)]
    return [
        log_partition(pipe.automaton, found, None) for found in pipe.model.predict(docs)
    ]


@pytest.fixture(scope="module")
def trained():
    return make_trained(max_order=3, fit={"prune": 0.0})


@pytest.fixture(scope="module")
def trained_in_pairs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
        with pytest.warns(UserWarning, match="HSW03"):
            return fit_anew(max_order=3, fit={"prune": 0.0})


@pytest.mark.parametrize("name", ["trained", "trained_in_pairs"])
@given(share=st.floats(0.0, 1.0))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_large_weights_are_left(name, request, share):
    pipe = copy.deepcopy(request.getfixturevalue(name).get_pipe("hosemi"))
    below = float(np.quantile(np.abs(pipe.get_weights()), share))
    expected = {k: w for k, w in weights_by_name(pipe).items() if abs(w) > below}
    pipe.prune(below)
    assert weights_by_name(pipe) == expected
    assert pipe.cfg["patterns"] == [list(p) for p in pipe.automaton.patterns]
    assert set(pipe.weights.names) == {key[0] for key in expected if ":" in key[0]}


@pytest.mark.parametrize("below", [0.0, 0.02, 0.1, np.inf])
def test_scores_are_those_of_the_model_with_zeros(trained, below):
    zeroed, pruned = copy.deepcopy(trained), copy.deepcopy(trained)
    w = zeroed.get_pipe("hosemi").get_weights()
    zeroed.get_pipe("hosemi").set_weights(np.where(np.abs(w) > below, w, 0.0))
    pruned.get_pipe("hosemi").prune(below)
    np.testing.assert_allclose(log_zs(pruned), log_zs(zeroed), rtol=1e-12)
    for eg in make_examples(trained):
        assert triples(pruned(eg.text).ents) == triples(zeroed(eg.text).ents)


def test_without_weights_left():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    pipe.prune(np.inf)
    assert size_of(pipe.weights)["features"] == size_of(pipe.weights)["weights"] == 0
    assert pipe.automaton.patterns == (("O", "O"),)  # forbidden
    nlp("Ada Lovelace wrote.")


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("fit", [{}, L1], ids=["l2", "l1"])
def test_a_fit_drops_weights_by_their_squares(fit, share):
    """Against the weights of a fit that keeps all, one after the other."""
    whole = make_trained(fit={**fit, "prune": 0.0}, max_order=3).get_pipe("hosemi")
    nlp = fit_anew(fit={**fit, "prune": share}, max_order=3)
    # All features stay known, but those that L1 has emptied.
    assert nlp.get_pipe("hosemi").weights.names == whole.weights.names
    everything = weights_by_name(whole)
    of_features = {k: w for k, w in everything.items() if ":" in k[0]}
    rest, expected = share * sum(w**2 for w in of_features.values()), {**everything}
    for name, weight in sorted(of_features.items(), key=lambda item: abs(item[1])):
        if (rest := rest - weight**2) < -1e-9:
            break
        expected.pop(name)
    found = weights_by_name(nlp.get_pipe("hosemi"))
    assert found == pytest.approx(expected)
    assert share < 0.05 or len(found) < len(everything)


def test_a_checkpoint_has_all_weights(trained, tmp_path):
    for share in (0.5, 0.0):
        fit = {"prune": share, "checkpoint": str(tmp_path / "fit.npz")}
        nlp = fit_anew(fit=fit, max_order=3)
    expected = weights_by_name(trained.get_pipe("hosemi"))
    assert weights_by_name(nlp.get_pipe("hosemi")) == expected


def test_what_is_0_takes_no_place_in_a_file(trained, tmp_path):
    names = {}
    for share in (0.0, 0.2):
        nlp = fit_anew(fit={"prune": share}, max_order=3)
        nlp.to_disk(tmp_path / str(share))
        files = (tmp_path / str(share) / "hosemi").iterdir()
        names[share] = {path.name.split("-")[0] for path in files}
        other = spacy.load(tmp_path / str(share))
        pipes = [x.get_pipe("hosemi") for x in (nlp, other)]
        assert weights_by_name(pipes[0]) == weights_by_name(pipes[1])
        assert log_zs(other) == log_zs(nlp)
    assert names[0.0] - names[0.2] == {"weights"}


@pytest.mark.parametrize("name", ["trained", "trained_in_pairs"])
def test_a_pruned_model_is_saved_and_trained_on(name, request, tmp_path):
    nlp = copy.deepcopy(request.getfixturevalue(name))
    pipe = nlp.get_pipe("hosemi")
    large = size_of(pipe.weights)["mb"]
    pipe.prune(0.3)
    assert size_of(pipe.weights)["mb"] < large
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    loaded = other.get_pipe("hosemi")
    assert weights_by_name(loaded) == weights_by_name(pipe)
    examples = make_examples(other)
    before = loaded.value_and_gradient(examples)[0]
    optimizer = other.resume_training()
    for _ in range(3):
        other.update(examples, sgd=optimizer)
    assert loaded.value_and_gradient(examples)[0] < before


def test_pruning_amid_online_training():
    nlp = make_nlp()
    optimizer, pipe = initialize(nlp), nlp.get_pipe("hosemi")
    for below in (0.0, 0.0, 0.05):
        nlp.update(make_examples(nlp), sgd=optimizer)
        pipe.prune(below)
    before, names = weights_by_name(pipe), [*pipe.weights.names]
    nlp.update(make_examples(nlp), sgd=optimizer)
    # Features that were dropped come back; these documents are not new to the others.
    assert [*pipe.weights.names] == names
    assert weights_by_name(pipe).keys() >= before.keys()
    assert weights_by_name(pipe) != before
    # label patterns alone: no feature is so small
    smallest = np.abs(pipe.weights.matrix[pipe.weights.matrix != 0]).min()
    change_weights(pipe, pattern=np.full(len(pipe.weights.pattern), smallest / 4))
    pipe.prune(smallest / 2)
    assert len(pipe.weights.pattern) == len(pipe.automaton.patterns) == 0
    nlp.update(make_examples(nlp), sgd=optimizer)


@pytest.mark.parametrize("below", [-0.1, {"start": -0.1}, np.nan])
def test_below_is_not_negative(trained, below):
    with pytest.raises(ValueError, match="HS043.*below is "):
        trained.get_pipe("hosemi").prune(below)


def test_below_is_of_known_families(trained):
    with pytest.raises(ValueError, match="HS054.*below has .*'begin'"):
        trained.get_pipe("hosemi").prune({"begin": 0.1})


@pytest.mark.parametrize("name", ["trained", "trained_in_pairs"])
def test_families_lose_their_small_weights_alone(name, request):
    pipe = copy.deepcopy(request.getfixturevalue(name).get_pipe("hosemi"))
    before = weights_by_name(pipe)
    below = {"start": 0.1, "pattern": 0.2}
    expected = {}
    for key, weight in before.items():
        family = key[0].split(":")[0] if ":" in key[0] else "pattern"
        if abs(weight) > below.get(family, 0.0):
            expected[key] = weight
    assert {"inside:", "start:"} <= {key[0].split(":")[0] + ":" for key in expected}
    pipe.prune(below)
    assert weights_by_name(pipe) == expected != before


# --- after L1 ---------------------------------------------------------------------


def test_a_fit_leaves_no_weights_of_0(monkeypatch):
    pruned = fit_anew(fit=L1, max_order=3)
    monkeypatch.setattr(Trainer, "prune", lambda *args: None)
    full = fit_anew(fit=L1, max_order=3)
    left, right = pruned.get_pipe("hosemi"), full.get_pipe("hosemi")
    expected = {k: w for k, w in weights_by_name(right).items() if w}
    assert weights_by_name(left) == expected
    assert size_of(left.weights)["features"] < size_of(right.weights)["features"] / 2
    assert left.automaton.n_states < right.automaton.n_states
    np.testing.assert_allclose(log_zs(pruned), log_zs(full), rtol=1e-12)


def test_without_l1_all_is_left():
    nlp = make_nlp()
    initialize(nlp)
    expected = nlp.get_pipe("hosemi").weights.names
    assert make_trained().get_pipe("hosemi").weights.names == expected


def test_training_goes_on_after_l1(tmp_path):
    make_trained(fit=L1).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)
    before, names = pipe.value_and_gradient(examples)[0], pipe.weights.names
    optimizer = nlp.resume_training()
    for _ in range(5):
        nlp.update(examples, sgd=optimizer)
    assert pipe.value_and_gradient(examples)[0] < before
    assert {*pipe.weights.names} > {*names}


@pytest.mark.parametrize("fit", [{}, L1])
def test_the_size_is_said(fit, capfd):
    weights = fit_anew(fit={"progress": True, **fit}).get_pipe("hosemi").weights
    size = size_of(weights)
    left = f"{size['weights']} weights left by fit.prune, "
    assert f"\n{len(weights.names)} features, {left}" in capfd.readouterr().err
    assert size["mb"] == len(to_bytes(weights)) / 1e6
    assert size["weights"] == np.count_nonzero(as_vector(weights))
