"""Batch training: the optimum, its conditions, what it says and what it refuses."""

import math

import numpy as np
import pytest
import scipy.optimize
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example
from threadpoolctl import threadpool_info, threadpool_limits

from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    SMALL,
    TRAIN,
    first_batch,
    fit_anew,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    run_spacy,
)

L2 = {"inside": 0.4, "start": 0.2, "end": 0.1, "pattern": 0.3, "length": 0.6}


def penalised(nlp, l2):
    """Weights, gradient of the loss with the l2 penalties, by plain loops."""
    pipe = nlp.get_pipe("hosemi")
    values = []
    for name in pipe.weights.names:
        values += [l2[name.split(":")[0]]] * len(pipe.inventory.names)
    values += [l2["pattern"]] * int(np.isfinite(pipe.weights.pattern).sum())
    w = pipe.get_weights()
    values += [l2["length"]] * (len(w) - len(values))
    _, gradient = pipe.value_and_gradient(make_examples(nlp))
    return w, gradient + np.array(values) * w


@pytest.mark.parametrize(
    "config, l2",
    [
        ({}, 0.3),
        ({}, L2),
        ({"explicit_length": 2}, L2),
        ({"explicit_length": 3}, L2),
        ({"encoding": "BILUO"}, L2),
        ({"max_order": 0}, L2),
    ],
)
def test_stationary_point(config, l2):
    fit = {"l2": l2, "tolerance": 0.0, "max_iter": 1000, "prune": 0.0}
    nlp = fit_anew(fit=fit, **config)
    _, gradient = penalised(nlp, l2 if l2 is L2 else dict.fromkeys(L2, l2))
    assert np.abs(gradient).max() < 1e-3


def test_missing_tokens_are_learnt_around():
    nlp = make_nlp()
    examples = make_examples(nlp)
    for eg in examples[3:]:
        eg.reference.set_ents([], default="missing")
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": lbfgs()}
    nlp.initialize(lambda: examples)
    doc = nlp("Ada Lovelace wrote to Mary Somerville.")
    assert [ent.text for ent in doc.ents] == ["Ada Lovelace", "Mary Somerville"]


@pytest.mark.parametrize(
    "make, name, values",
    [
        (make_lbfgs, "l2", [-0.1, {"end": -1.0}, math.nan]),
        (make_lbfgs, "l1", [-1e-9]),
        (make_lbfgs, "tolerance", [-1.0]),
        (make_lbfgs, "max_iter", [0]),
        (make_averaged, "n_passes", [0]),
        (make_averaged, "rate", [0.0, -1.0, math.nan, math.inf, {"transition": 0.0}]),
        (make_averaged, "seed", [-1]),
    ],
)
def test_numbers_out_of_range(make, name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"HS043.*{name}"):
            make(**{name: value})


def test_unknown_groups():
    for make, name in ((make_lbfgs, "l2"), (make_averaged, "rate")):
        with pytest.raises(ValueError, match=f"HS054.*{name}.*'words'"):
            make(**{name: {"words": 0.1}})


def test_a_fit_does_not_run_in_spark():
    make_lbfgs(spark_partitions=None)  # as configs of 0.2.0 have it
    with pytest.raises(ValueError, match="HS341.*is 64, .*fit.threads"):
        make_lbfgs(spark_partitions=64)
    fit = {**lbfgs(), "spark_partitions": 2}
    with pytest.raises(ValueError, match="HS341.*is 2, "):
        initialize(make_nlp(), fit=fit)
    with pytest.raises(ValueError, match="HS341"):
        make_nlp().get_pipe("hosemi").fit([], nlp=make_nlp(), spark_partitions=2)


def test_the_loss_must_stay_a_number():
    nlp = make_nlp()
    pipe = nlp.get_pipe("hosemi")
    objective = pipe.objective

    def not_a_number(*args):
        loss, gradient = objective(*args)
        return loss * float("nan"), gradient

    pipe.objective = not_a_number
    with pytest.raises(ValueError, match="HS057.* nan "):
        initialize(nlp, fit=lbfgs())


def test_it_says_why_it_stopped(capfd):
    fit_anew(fit={"progress": True, "max_iter": 3})
    out, err = capfd.readouterr()
    assert "iteration/s" not in err  # no bar: this is no terminal
    assert out == ""
    assert "L-BFGS stopped after 3 iterations" in err
    assert "ITERATIONS" in err.upper()


def test_without_progress_it_is_silent(capfd):
    fit_anew(fit={"progress": False})
    assert capfd.readouterr() == ("", "")


def test_no_text():
    nlp = make_nlp()
    examples = 2 * [Example.from_dict(make_doc(nlp), {"entities": []})]
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": lbfgs()}
    with pytest.raises(ValueError, match="HS050"):
        nlp.initialize(lambda: examples)


def test_max_epochs():
    nlp = make_nlp()
    nlp.config["training"]["max_epochs"] = -1
    with pytest.raises(ValueError, match=r"HS052.*components\.hosemi\.fit"):
        initialize(nlp, fit=lbfgs())
    nlp.config["training"]["max_epochs"] = 0
    initialize(nlp, fit=lbfgs())


# --- what has run before ----------------------------------------------------------


@Language.component("hosemi_tests_pos", assigns=["token.pos"])
def set_pos(doc):
    for token in doc:
        token.pos_ = "PROPN" if token.is_title else "X"
    return doc


@pytest.mark.parametrize("fit", [{"fit": lbfgs()}, {}])
def test_annotating_components_run_before_features_are_read(fit):
    features = {**SMALL, "inside": ["POS"]}
    nlp = make_nlp(features=features)
    nlp.add_pipe("hosemi_tests_pos", first=True)
    nlp.config["training"]["annotating_components"] = ["hosemi_tests_pos"]
    initialize(nlp, **fit)
    names = nlp.get_pipe("hosemi").weights.names
    assert {"inside:POS=PROPN", "inside:POS=X"} <= set(names)


def test_components_that_do_not_annotate_do_not_run():
    nlp = make_nlp(features={**SMALL, "inside": ["POS"]})
    nlp.add_pipe("hosemi_tests_pos", first=True)
    with pytest.warns(UserWarning, match="HSW09.*POS"):
        initialize(nlp, fit=lbfgs())
    assert not any("POS=" in name for name in nlp.get_pipe("hosemi").weights.names)


def test_init_labels_does_not_fit(tmp_path, capfd):
    nlp = make_nlp()
    docs = [eg.reference for eg in make_examples(nlp)]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    settings = lbfgs(progress=True)
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": settings}
    corpus = {"@readers": "spacy.Corpus.v1", "path": str(tmp_path / "train.spacy")}
    nlp.config["corpora"] = {"train": corpus, "dev": corpus}
    nlp.config.to_disk(tmp_path / "config.cfg")
    out = run_spacy("init", "labels", tmp_path / "config.cfg", tmp_path / "labels")
    path = tmp_path / "labels" / "hosemi.json"
    assert srsly.read_json(path) == ["LOC", "PER"]
    assert "L-BFGS" not in out + capfd.readouterr().err

    # and the labels can be read again
    labels = {"@readers": "spacy.read_labels.v1", "path": str(path)}
    nlp = make_nlp()
    initialize(nlp, TRAIN[:1], labels=labels)
    assert nlp.get_pipe("hosemi").labels == ("LOC", "PER")


def test_a_fitted_component_is_not_changed_by_the_training_loop():
    nlp = fit_anew()
    pipe = nlp.get_pipe("hosemi")
    before = pipe.get_weights()
    losses = nlp.update(make_examples(nlp), sgd=nlp.create_optimizer())
    assert losses == {"hosemi": 0.0}
    assert pipe.get_weights().tolist() == before.tolist()


def test_a_loaded_component_learns_on(tmp_path):
    fit_anew(fit={"max_iter": 2}).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)
    before, _ = pipe.value_and_gradient(examples)
    optimizer = nlp.resume_training()
    for _ in range(5):
        losses = nlp.update(examples, sgd=optimizer)
    assert losses["hosemi"] > 0.0
    assert pipe.value_and_gradient(examples)[0] < before


def test_no_threads_of_blas():
    """They would take all cores to add up vectors, and twice the time."""
    assert scipy.optimize  # whose BLAS is loaded with it
    batch, seen = first_batch(), set()
    without = batch.value_and_gradient

    def n_threads() -> set[int]:
        found = threadpool_info()  # OpenMP of other libraries is not used
        return {x["num_threads"] for x in found if x["user_api"] == "blas"}

    def value_and_gradient():
        seen.update(n_threads())
        return without()

    batch.value_and_gradient = value_and_gradient
    with threadpool_limits(2):
        make_lbfgs(max_iter=3, progress=False)(batch)
        assert n_threads() == {2}
    assert seen == {1}


@pytest.mark.parametrize(
    "config, l1",
    [
        ({}, 0.1),
        ({}, 10.0),
        ({"explicit_length": 2}, 1.0),
        ({"encoding": "BIO"}, 0.1),
        ({"encoding": "BIO"}, 1.0),
    ],
)
def test_conditions_of_an_optimum_with_l1(config, l1):
    """The gradient balances l1 where there is a weight, and is below it elsewhere: as
    the objective is convex, such weights are the best."""
    batch = first_batch(**config)
    make_lbfgs(l1=l1, l2=0.05, tolerance=0.0, max_iter=2000, progress=False)(batch)
    w = batch.weights.vector()
    gradient = batch.value_and_gradient()[1] + 0.05 * w
    zero = w == 0.0
    assert zero.any()
    assert np.abs(gradient[zero]).max() <= l1 + 2e-3
    assert np.abs(gradient + l1 * np.sign(w))[~zero].max(initial=0.0) < 4e-3


def test_l1_goes_on_from_the_weights_that_are_there():
    batch = first_batch()
    fit = make_lbfgs(l1=0.4, l2=0.05, tolerance=0.0, max_iter=2000, progress=False)
    fit(batch)
    first = batch.weights.vector()
    fit(batch)
    np.testing.assert_allclose(batch.weights.vector(), first, atol=1e-3)
