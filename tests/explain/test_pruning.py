"""How small a component can be: what is tried leaves it as it was."""

import numpy as np
import pytest
from spacy.tokens import DocBin

from spacy_hosemi.explain import SHARES, Pruned, choose, find_threshold, try_pruning
from spacy_hosemi.model.weights.storage import size_of

from ..helpers import make_examples, make_trained


@pytest.fixture(scope="module")
def nlp():
    return make_trained(max_order=3)


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.999, 1.0])
def test_a_share_is_kept(nlp, keep):
    pipe = nlp.get_pipe("hosemi")
    weights = np.abs(pipe.get_weights())
    weights = weights[weights > 0.0]
    left = (weights > find_threshold(pipe, keep)).sum()
    assert left == round(keep * len(weights))


def test_what_is_tried_is_undone(nlp, tmp_path):
    docs = [eg.reference for eg in make_examples(nlp)]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    pipe = nlp.get_pipe("hosemi")
    before = pipe.to_bytes(exclude=["vocab"])
    thresholds = [find_threshold(pipe, share) for share in (1.0, 0.2, 0.0)]
    found = try_pruning(nlp, pipe, thresholds, tmp_path / "dev.spacy")
    assert pipe.to_bytes(exclude=["vocab"]) == before
    assert [x.f1 for x in found][::2] == [1.0, 0.0]
    assert found[0].states == pipe.automaton.n_states > found[2].states
    assert found[2].weights == found[2].features == 0
    assert try_pruning(nlp, pipe, thresholds[:1])[0].f1 is None
    pipe.prune(thresholds[1])
    assert size_of(pipe.weights)["weights"] == found[1].weights
    # More than `to_bytes` packs: the file of weights has the zeros of its rows.
    pipe.to_disk(tmp_path / "small", exclude=["vocab"])
    sizes = [x.stat().st_size for x in (tmp_path / "small").iterdir()]
    assert found[1].mb == sum(sizes) / 1e6 > len(pipe.to_bytes(exclude=["vocab"])) / 1e6
    assert SHARES[0] == 1.0


def test_the_smallest_that_loses_little():
    found = [
        Pruned(below, 0.0, 0, 0, 0, 0, mb, f1)
        for below, mb, f1 in ((0.0, 9, 0.9), (0.1, 5, 0.88), (0.2, 3, 0.899), (1, 2, 0))
    ]
    for loss, mb in ((0.0, 9), (0.001, 3), (0.02, 3), (0.9, 2)):
        assert choose(found, loss).mb == mb
