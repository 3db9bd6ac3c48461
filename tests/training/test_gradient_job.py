"""A fit whose gradients are jobs of Spark: the weights of a fit in one process."""

import pickle
import shutil
import subprocess
import sys
from functools import partial

import pytest
from spacy.tokens import Span

from spacy_hosemi.training import encoded_docs
from spacy_hosemi.training.batch import naming_features, sharing
from spacy_hosemi.training.gradient_job import _pack, _sum_of
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    TRAIN,
    initialize,
    lbfgs,
    make_batch,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
)
from .test_threads import CONFIGS

if not shutil.which("java"):
    pytest.skip("Spark needs Java", allow_module_level=True)
pytest.importorskip("pyspark")
pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def many_shards(monkeypatch):
    monkeypatch.setattr(encoded_docs, "_DOCS", 2)
    monkeypatch.setattr(encoded_docs, "_CHUNK", 20)
    monkeypatch.setattr(encoded_docs, "_SHARD", 1)


def make(**config):
    nlp = make_nlp(**config)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    return make_batch(pipe, 3 * make_examples(nlp, TRAIN))


@pytest.mark.parametrize("n", [1, 3, 100])
def test_gradients_are_the_same_bits(n):
    batch = make()
    assert batch.docs.n_shards == 8
    value, gradient = batch.value_and_gradient()
    with sharing(batch, 1, n):
        for _ in range(2):
            other, found = batch.value_and_gradient()
            assert other == value and found.tobytes() == gradient.tobytes()
    assert batch.sums is None


class Sent:
    """Weights as a worker has them."""

    def __init__(self, *arrays):
        self.value = arrays


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_what_a_worker_does(config):
    batch = make(**config)
    docs, state = batch.docs, batch.weights.state
    sent = Sent(state.matrix, state.pattern, state.length)
    value, gradient = batch.value_and_gradient()
    packed = [(k, _pack(docs, state, k)) for k in range(docs.n_shards)]
    sums = [_sum_of(sent, one) for one in packed]
    assert [k for k, _ in sums] == [*range(docs.n_shards)]
    batch.sums = lambda state: (found for _, found in sums)
    other, found = batch.value_and_gradient()
    assert other == value and found.tobytes() == gradient.tobytes()


@pytest.mark.parametrize("n", [1, 3, 7])
def test_weights_are_the_same_bits(n):
    def weights(**settings):
        fit = lbfgs(max_iter=5, tolerance=0.01, **settings)
        nlp = make_trained(3 * TRAIN, fit=fit, max_order=2)
        return nlp.get_pipe("hosemi").weights

    one, other = weights(), weights(spark_partitions=n)
    assert other.matrix.tobytes() == one.matrix.tobytes()
    assert other.pattern.tobytes() == one.pattern.tobytes()


@pytest.mark.parametrize("settings", [{"l1": 0.1}, {"threads": 2}])
def test_with_other_settings(settings):
    def saved(**others):
        fit = lbfgs(max_iter=3, tolerance=0.1, **settings, **others)
        nlp = make_trained(3 * TRAIN, fit=fit)
        return nlp.get_pipe("hosemi").to_bytes(exclude=["vocab"])

    assert saved(spark_partitions=2) == saved()


def test_trials_are_jobs_too():
    fit = make_lbfgs("auto", spark_partitions=3).at(0.1)
    assert fit.given["spark_partitions"] == 3


def wrong(text, *args):
    raise ValueError(text)


@pytest.mark.parametrize("text", ["[HS011] too large", "something else"])
def test_an_error_of_a_document(text):
    batch = make()
    batch.docs.objective = partial(wrong, text)
    expected = "HS057.*not a number" if text.startswith("[HS011]") else "^something"
    with pytest.raises(ValueError, match=expected), sharing(batch, 1, 2):
        with naming_features(batch, 0):
            batch.value_and_gradient()
    assert pickle.loads(pickle.dumps(batch.docs)).objective.args == (text,)


def test_labels_that_are_trained_level_by_level():
    tree = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "/", "exact_up_to": 0}
    nlp = make_nlp(hierarchy=tree)
    examples = make_examples(nlp, TRAIN)
    for example in examples:
        doc = example.reference
        doc.ents = [Span(doc, x.start, x.end, f"NAME/{x.label_}") for x in doc.ents]
    fit = make_lbfgs(progress=False, spark_partitions=2)
    with pytest.raises(ValueError, match="HS341.*spark_partitions = null"):
        nlp.get_pipe("hosemi").fit(examples, fit=fit)


def test_without_pyspark():
    code = """
import sys
sys.modules["pyspark"] = None
from spacy_hosemi.training.gradient_job import gradient_job
with gradient_job(None, None, 2):
    pass
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "[HS338]" in found.stderr
