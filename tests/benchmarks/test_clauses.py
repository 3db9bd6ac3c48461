"""What `benchmarks/clauses.py` changes and counts."""

import re
import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import spacy

from ..conftest import ROOT, scripts_on_path

CONFIG = "spacy_hosemi/configs/base.cfg"


@pytest.fixture(scope="module")
def clauses():
    with scripts_on_path():
        yield import_module("clauses")


def test_right_borders_count_without_labels(clauses):
    gold = {(0, 5, "A"), (6, 9, "B")}
    found = {(0, 5, "B"), (6, 9, "B"), (10, 12, "A")}
    assert clauses.count_spans(found, gold) == [1, 2, 3, 2]


def test_f1_of_counts(clauses):
    counts = np.array([[1, 2, 3, 2], [0, 0, 0, 0]])
    assert clauses.f1_of(counts).tolist() == [40.0, 0.0]


def test_interval_of_equal_and_of_better_counts(clauses):
    worse = np.array([[1, 1, 2, 2]] * 30)
    better = np.array([[2, 2, 2, 2]] * 30)
    assert clauses.interval(worse, worse) == "+0.00 (+0.00 to +0.00)"
    assert clauses.interval(better, worse) == "+50.00 (+50.00 to +50.00)"
    mixed = np.concatenate([better[:15], worse[:15] * [0, 0, 1, 1]])
    middle, low, high = map(
        float, re.findall(r"[+-][\d.]+", clauses.interval(mixed, worse))
    )
    assert low < middle < high and low < 0 < high


def test_tags_of_a_config_with_mbr(clauses):
    """There is no mbr of tags."""
    hosemi = spacy.blank("en").add_pipe("hosemi", config={"decoding": "mbr"})
    for change in clauses.changes(hosemi):
        if "BIO" in change.name:
            assert 'components.hosemi.decoding="viterbi"' in change.overrides


def test_a_change_that_does_not_exist(clauses, monkeypatch):
    argv = ["clauses", "corpus", "--variants", "windows", "winds"]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit, match="there is no winds"):
        clauses.main()


def test_windows_are_read_beside_what_was_read(clauses, tmp_path):
    """`make_pipeline` of `ablation` leaves out families of the same name."""
    args = SimpleNamespace(config=ROOT / CONFIG, overrides=[], max_iter=1)
    pipe = spacy.blank("en").add_pipe("hosemi")
    (change,) = (x for x in clauses.changes(pipe) if x.kind == "windows")
    nlp = clauses.pipeline_of(args, change)
    roles = nlp.get_pipe("hosemi").weights.extractor.features.roles
    assert roles["start"] == pipe.weights.extractor.features.roles["start"]
    assert {*roles["start"]} < {*roles["inside"]}


def test_the_chain_as_segments_reads_what_tags_read(clauses):
    nlp = spacy.blank("en")
    hosemi = nlp.add_pipe("hosemi")
    features = hosemi.weights.extractor.features
    (chain,) = (x for x in clauses.changes(hosemi) if x.kind == "chain")
    start = next(x for x in chain.overrides if ".start=" in x)
    read = {str(template) for template in features.on_tokens().roles["inside"]}
    assert read == {*spacy.util.srsly.json_loads(start.partition("=")[2])}
