"""benchmarks/opinion_pool.py: a model of the lists, one of all else, their product."""

import numpy as np
import pytest

from spacy_hosemi.core import score, viterbi
from spacy_hosemi.model.weights.storage import from_bytes, to_bytes
from spacy_hosemi.model.weights.vector import as_vector

from .. import oracles
from ..component.test_gazetteers import CITIES, MARKED, PLAIN, use_lists, write
from ..helpers import (
    as_problem,
    averaged,
    import_script,
    initialize,
    lbfgs,
    make_nlp,
)

opinion_pool = import_script("benchmarks/opinion_pool.py")
features_of_lists = opinion_pool.features_of_lists


def train(folder, fit, **lists):
    nlp = make_nlp(features=PLAIN, model={"gazetteers": use_lists(**lists)})
    readers = {name: write(folder / f"{name}.txt", CITIES) for name in lists}
    initialize(nlp, MARKED, gazetteers=readers, fit=fit)
    return nlp


def pool(weight):
    return {
        "@misc": "benchmarks.opinion_pool.v1",
        "weight": weight,
        "fit": lbfgs(max_iter=100),
    }


@pytest.fixture(scope="module")
def pooled(tmp_path_factory):
    """By weight of the model of the lists."""
    folder = tmp_path_factory.mktemp("lists")
    return {w: train(folder, pool(w), cities={}) for w in (0.0, 0.3, 1.0)}


def weights(nlp):
    return nlp.get_pipe("hosemi").weights


def by_name(nlp) -> dict[str, np.ndarray]:
    """The weights of each feature; those without are not in the model."""
    found = weights(nlp)
    if found.pairs is None:
        return dict(zip(found.names, found.matrix))
    rows = {name: np.zeros(len(found.tail)) for name in found.names}
    for r, name in enumerate(found.names):
        slots = slice(found.pairs.first[r], found.pairs.first[r + 1])
        rows[name][found.pairs.columns[slots]] = found.matrix[slots, 0]
    return rows


def test_the_weights_are_the_mixture(pooled):
    without, mixed, alone = map(by_name, pooled.values())
    zeros = np.zeros(len(weights(pooled[0.3]).tail))
    assert set(mixed) == set(without) | set(alone)
    for name, row in mixed.items():
        expected = 0.7 * without.get(name, zeros) + 0.3 * alone.get(name, zeros)
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5)


def test_the_saved_mixture_is_the_same(pooled):
    learnt = weights(pooled[0.3])
    saved = from_bytes(to_bytes(learnt), learnt.extractor)
    assert (as_vector(saved) == as_vector(learnt)).all()


def test_each_model_has_its_features(pooled):
    without, mixed, alone = (weights(nlp) for nlp in pooled.values())
    assert not features_of_lists(without).any()
    assert features_of_lists(alone).all()
    assert {"cities" in name for name in alone.names} == {True}
    assert set(features_of_lists(mixed).tolist()) == {False, True}


def test_without_lists_it_is_a_model_without_lists(pooled, tmp_path):
    plain = train(tmp_path, lbfgs(max_iter=100))
    text = "they saw Arvo again ."
    left, right = (
        nlp.get_pipe("hosemi").marginals(nlp.make_doc(text)).tokens
        for nlp in (plain, pooled[0.0])
    )
    np.testing.assert_allclose(left, right, atol=2e-3)


def test_distributions_are_multiplied(pooled):
    """P(s) of the pool against the normalised product, by enumeration."""
    found = []
    for nlp in pooled.values():
        pipe = nlp.get_pipe("hosemi")
        (potentials,) = pipe.model.predict([nlp.make_doc("they saw Bel Mar")])
        scores = oracles.scored(as_problem(pipe.automaton, potentials))
        best, value = viterbi(pipe.automaton, potentials)
        assert score(pipe.automaton, potentials, best) == pytest.approx(value)
        found.append(oracles.probabilities(scores))
    without, mixed, alone = found
    product = {s: without[s] ** 0.7 * alone[s] ** 0.3 for s in mixed}
    total = sum(product.values())
    for segmentation, p in mixed.items():
        assert p == pytest.approx(product[segmentation] / total, rel=1e-3, abs=1e-9)


def test_no_lists(tmp_path):
    with pytest.raises(ValueError, match="no feature reads a list"):
        train(tmp_path, pool(0.5))


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_steps_leave_the_other_features_alone(weight, tmp_path):
    fit = {**pool(weight), "fit": averaged(n_passes=3)}
    found = weights(train(tmp_path, fit, cities={}))
    of_lists = features_of_lists(found)
    assert len(of_lists) > 3
    assert (of_lists == (weight == 1.0)).all()
