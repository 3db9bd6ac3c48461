"""What `benchmarks/clauses.py` changes."""

import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
import spacy

from ..conftest import ROOT, scripts_on_path

CONFIG = "spacy_hosemi/configs/base.cfg"


@pytest.fixture(scope="module")
def clauses():
    with scripts_on_path():
        yield import_module("clauses")


@pytest.fixture(scope="module")
def features():
    return spacy.blank("en").add_pipe("hosemi").weights.extractor.features


@pytest.fixture(scope="module")
def changes(clauses):
    """RETURNS (dict): By kind."""
    nlp = spacy.blank("en")
    nlp.add_pipe("hosemi")
    return {variant.kind: variant for variant in clauses.variants(None, nlp)}


def test_a_change_that_does_not_exist(clauses, monkeypatch):
    argv = ["clauses", "corpus", "--variants", "windows", "winds"]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit, match="there is no winds"):
        clauses.main()


def test_windows_are_read_beside_what_was_read(changes, features):
    from comparison import features_of, make_pipeline

    args = SimpleNamespace(config=ROOT / CONFIG, overrides=[])
    roles = features_of(make_pipeline(args, changes["windows"])).roles
    assert roles["start"] == features.roles["start"]
    assert {*roles["start"]} < {*roles["inside"]}


def test_the_chain_as_segments_reads_what_tags_read(changes, features):
    start = next(x for x in changes["chain"].overrides if ".start=" in x)
    read = {str(template) for template in features.on_tokens().roles["inside"]}
    assert read == {*spacy.util.srsly.json_loads(start.partition("=")[2])}
