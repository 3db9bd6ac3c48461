"""What is the best result, by what is known of each."""

import math

import numpy as np
import pytest

from spacy_hosemi.component.judging import error_of_scores
from spacy_hosemi.component.penalty_search import Trial
from spacy_hosemi.inspection.pipelines import pipeline_of_kind
from spacy_hosemi.tuning import search as module
from spacy_hosemi.tuning.search import CandidateResult, Search

from ..helpers import references


def result_of(f1, k=0, n=10):
    """100 n spans are gold and predicted; no annotation is complete."""
    counts = np.full((n, 4), 100)
    counts[:, 0], counts[:, 3] = np.round(100 * f1), 0
    return CandidateResult({"k": k}, Trial(1.0, "viterbi", None, counts), 0.0)


def search_of(docs, *results):
    nlp = pipeline_of_kind("fields")
    search = Search(nlp, nlp.get_pipe("hosemi"), docs)
    search.results = [*results]
    return search


def test_the_best_one():
    failed = CandidateResult({"k": 1}, None, 0.0, "no")
    first, best = result_of(0.5), result_of(0.7, 3)
    search = search_of(references(), first, failed, result_of(0.4, 2), best)
    assert search.best is best
    assert all(map(math.isnan, failed.gain(best))) and failed.shown == ("-", "-")


def test_a_gain_within_its_error_is_none():
    """Ten spans more in a document and eight fewer in another; one more in each."""
    first, second = result_of(0.5), result_of(0.5, 1)
    second.trial.counts[:2, 0] = 60, 42
    search = search_of(references(), first, second)
    assert second.score > first.score and search.best is first
    second.trial.counts[:, 0] = 51
    assert search.best is second


def test_the_gain_is_paired():
    first, second = result_of(0.5), result_of(0.7)
    gain, error = second.gain(first)
    assert gain == pytest.approx(0.2)
    assert error == error_of_scores(second.trial.counts, first.trial.counts)


def test_a_sample_of_many_documents(monkeypatch):
    docs = references()
    monkeypatch.setattr(module, "MAX_TOKENS", 10)
    search = search_of(docs)
    n_tokens = [len(doc) for doc in search.docs]
    assert 0 < len(search.docs) < search.n_documents == len(docs)
    assert sum(n_tokens) >= 10 > sum(n_tokens[:-1])
