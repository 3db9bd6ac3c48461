"""What training will take: how it is extrapolated, and beside a real training."""

from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hosemi.formats import read_docs
from spacy_hosemi.inspection import costs, sample_trainings
from spacy_hosemi.inspection.corpus import trainable
from spacy_hosemi.inspection.pipelines import pipeline_of_kind
from spacy_hosemi.inspection.sample_trainings import Minimized, SampleTrainings, Traced

from ..conftest import ROOT
from ..helpers import TRAIN, averaged, lbfgs, make_nlp, references


def minimized(n) -> Minimized:
    return Minimized(10, n)


def test_evaluations_of_one_sample_grow_as_usual():
    assert costs.evaluations([100], [minimized(50)], 100) == pytest.approx(50)
    found = costs.evaluations([100], [minimized(50)], 1600)
    assert found == pytest.approx(50 * 16**costs.POWER)


def test_evaluations_grow_as_on_the_samples():
    sizes = [1000, 2000, 4000, 8000]
    fits = [minimized(10 * (n / 1000) ** 0.5) for n in sizes]
    found = costs.evaluations(sizes, fits, 64_000)
    assert 10 * 64**0.4 < found < 10 * 64**0.5  # drawn to what is usual
    fits = [minimized(10 * (n / 1000) ** costs.POWER) for n in sizes]
    found = costs.evaluations(sizes, fits, 64_000)
    assert found == pytest.approx(10 * 64**costs.POWER)


TRACED = [
    Traced(1000, 500, 5000, documents=10_000, model=70_000, transient=50_000),
    Traced(4000, 1500, 15_000, documents=40_000, model=230_000, transient=150_000),
]


def test_the_model_takes_some_for_each_token_and_feature():
    # 20 a token, 100 a feature
    assert costs.of_model(TRACED, 10_000, 30_000) == pytest.approx(1_600_000)


def test_the_peak_is_in_the_fit_or_before(monkeypatch):
    monkeypatch.setattr(costs, "RESIDENT", 1.0)
    few = 1500, 2000, 2000
    fitting = 40_000 + 230_000 + 150_000
    assert costs.peak(TRACED, few, 15_000, 4000) == pytest.approx(fitting)
    many = 1500, 20_000, 900_000
    assert costs.peak(TRACED, many, 15_000, 4000) == 40_000 + 40 * 920_000
    monkeypatch.setattr(costs, "N_SUMMED", 30_000)
    assert costs.peak(TRACED, many, 15_000, 4000) == 40_000 + 40 * 50_000


def make_trainings(docs, block=None, **config):
    nlp = make_nlp(**config)
    block = block or {"fit": lbfgs(max_iter=20)}
    nlp.config["initialize"]["components"]["hosemi"] = block
    return SampleTrainings(docs, nlp, nlp.get_pipe("hosemi"))


def test_samples_hold_smaller_ones():
    found = make_trainings([*references(TRAIN), Doc(spacy.blank("en").vocab)])
    assert len(found.order) == 5  # none without tokens
    few, all_of_them = found.sample(1), found.sample(1e9)
    assert few == all_of_them[:1] and len(all_of_them) == 5
    some = found.sample(10)
    assert sum(map(len, some)) >= 10 > sum(map(len, some[:-1]))
    assert some == all_of_them[: len(some)]


def test_a_sample_is_a_training():
    found = make_trainings(references(TRAIN))
    sample = found.train(found.sample(1e9))
    (fit,) = sample.fits
    pipe = found.pipe
    assert fit.n_weights == len(pipe.get_weights()) and np.any(pipe.get_weights())
    assert 2 <= fit.n_evaluations <= 44
    assert fit.in_evaluations > 0 and fit.elsewhere > 0
    assert sample.n_tokens == 39
    short = found.train(found.sample(1e9), is_short=True)
    assert short.fits[0].n_evaluations < fit.n_evaluations
    assert found.predict(found.sample(1e9)) > 0


def test_levels_of_a_tree_are_fits():
    docs = references(["[A_x u] to [A_y v] in [B_z w]", "[B_z w] in [A_x t]"] * 2)
    tree = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "_"}
    found = make_trainings(docs, hierarchy=tree)
    sample = found.train(docs)
    assert len(sample.fits) == 2  # of A and B, and of what is below A


def test_nothing_is_written(tmp_path):
    names = {"log": "fit.jsonl", "checkpoint": "fit.npz"}
    paths = {key: str(tmp_path / name) for key, name in names.items()}
    found = make_trainings(references(TRAIN), {"fit": lbfgs(**paths)})
    found.train(found.sample(1e9))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("block, n_fits", [({}, 3.7), ({"dev": "reader"}, 1.9)])
def test_auto_is_so_many_fits(block, n_fits):
    block = {"fit": lbfgs(l2="auto", max_iter=3), **block}
    found = make_trainings(references(TRAIN), block)
    assert found.n_fits == n_fits
    assert len(found.train(found.sample(1e9)).fits) == 1


def test_other_fits_are_refused():
    for block in ({"dev": None}, {"fit": averaged()}):
        with pytest.raises(ValueError, match="HS254"):
            make_trainings([], block)


def test_features_are_those_of_a_training():
    found = make_trainings(references(TRAIN))
    found.train(found.sample(1e9))
    n_rows, n_distinct, n_by_document = found.count(found.sample(1e9))
    assert n_rows == n_distinct == len(found.pipe.weights.table)
    assert n_by_document == found.pipe.weights.counts.sum()


def test_memory_of_more_weights_is_larger(demo):
    found = demo[0]
    few, many = (found.trace(found.sample(n)) for n in (400, 1200))
    assert 400 <= few.n_tokens < 500 and 1200 <= many.n_tokens < 1300
    assert 2 < many.n_weights / few.n_weights < 3
    assert 2 < many.documents / few.documents < 3.5
    # L-BFGS keeps some 18 vectors of 8 bytes.
    more = many.transient - few.transient
    assert 120 < more / (many.n_weights - few.n_weights) < 300


def test_unreachable_spans_are_left_out():
    vocab = spacy.blank("en").vocab
    cut = Doc(vocab, ["1950;", "59"], [False, False], ents=["O", "B-A"])
    space = Doc(vocab, ["x", " "], [False, False], ents=["B-A", "I-A"])
    good = references(TRAIN)
    assert trainable([cut, *good, space], spacy.blank("en")) == good


@pytest.fixture(scope="module")
def demo():
    """An estimate for the demo's dev corpus, and the pipeline that made it."""
    nlp = pipeline_of_kind("fields")
    docs = read_docs(ROOT / "corpus" / "dev.jsonl", nlp)
    made = SampleTrainings(docs, nlp, nlp.get_pipe("hosemi"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "TRACED", (500, 1000))
        patch.setattr(costs, "SECONDS", 0.5)
        cost = costs.estimate(made, docs[:9], 1.0, 100.0)
    return made, docs, cost


def test_weights_are_those_of_the_training(demo):
    made, docs, cost = demo
    sample = made.train(docs)
    (fit,) = sample.fits
    assert cost.n_weights == fit.n_weights
    # Training forgets features all of whose weights are 0 in the end.
    assert 0 <= cost.n_features - len(made.pipe.weights.table) < 0.01 * cost.n_features
    n_evaluations = made.n_fits * fit.n_evaluations
    assert cost.n_evaluations == pytest.approx(n_evaluations, rel=0.3)
    took = made.n_fits * (fit.in_evaluations + fit.elsewhere) + sample.preparing
    # The machine may be busy with something else for a while.
    assert 0.3 * took < cost.seconds.about - 1.0 < 3 * took
    assert 100 < cost.megabytes.low < cost.megabytes.about < cost.megabytes.high < 400
    assert cost.n_sampled == sum(map(len, docs)) and not cost.is_limited


def test_features_of_more_documents_are_extrapolated(demo, monkeypatch):
    made = demo[0]
    exact = costs.count_all(made)
    assert exact == made.count(made.order)
    monkeypatch.setattr(costs, "COUNTED", 2000)
    found = costs.count_all(made)
    assert found != exact
    assert found[:2] == pytest.approx(exact[:2], rel=0.15)
    assert found[2] == pytest.approx(exact[2], rel=0.05)


def test_too_many_weights(demo, monkeypatch):
    made = demo[0]
    monkeypatch.setattr(costs, "MAX_WEIGHTS", 1000)
    monkeypatch.setattr(costs, "TRACED", (100, 200))
    monkeypatch.setattr(costs, "SECONDS", 0.1)
    cost = costs.estimate(made, [], 1.0, 100.0)
    assert cost.is_limited and cost.n_weights == 1000


def test_used():
    seconds, megabytes = costs.used()
    assert seconds > 0 and 20 < megabytes < 100_000


def test_max_iter_limits_evaluations():
    found = make_trainings(references(TRAIN))
    assert found.max_evaluations == pytest.approx(22)
    assert sample_trainings.MAX_ITER >= 200
    samples = [found.train(found.sample(1e9))]
    samples[0].fits = [replace(samples[0].fits[0], n_evaluations=40)]
    n, _ = costs.fit_all(found, samples, samples[0], 4000, 1.0)
    assert n == found.max_evaluations
