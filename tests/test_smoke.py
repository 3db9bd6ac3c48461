"""What must work wherever the package is installed; small enough to run anywhere."""

import subprocess
import sys
from importlib.metadata import distribution, version
from math import exp, log

import pytest
import spacy

import spacy_hosemi
from spacy_hosemi.core import PatternAutomaton, Potentials, log_partition


def test_version():
    assert spacy_hosemi.__version__ == version("spacy_hosemi")


def test_what_few_need_is_imported_when_it_is_asked_for():
    names = "pyarrow pyspark sklearn matplotlib onnxruntime"
    names += "".join(f" spacy_hosemi.formats.{x}" for x in ("readers", "writers"))
    code = f"import sys, spacy_hosemi; names = '{names}'"
    code += "; assert not {*names.split()} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="nothing"):
        _ = spacy_hosemi.nothing


def test_log_partition():
    # Two tokens are two segments, which may complete the pattern A A, or one segment.
    automaton = PatternAutomaton(["O", "A"], [("A", "A")])
    potentials = Potentials.zeros(automaton, 2, max_length=2)
    potentials.start[:] = [[0.1, 0.2], [0.3, 0.4]]
    potentials.pattern[:] = 0.5
    two = exp(0.1 + 0.3) + exp(0.1 + 0.4) + exp(0.2 + 0.3) + exp(0.2 + 0.4 + 0.5)
    one = exp(0.1) + exp(0.2)
    assert log_partition(automaton, potentials) == pytest.approx(log(two + one))


def test_untrained_component_predicts_nothing():
    nlp = spacy.blank("en")
    nlp.add_pipe("hosemi")
    assert nlp("Ada Lovelace wrote to Charles Babbage.").ents == ()


def test_files_beside_the_code():
    """Templates and configs are installed, too."""
    from spacy_hosemi.configs import make_config
    from spacy_hosemi.explain import Page

    nlp = spacy.blank("en")
    nlp.add_pipe("hosemi")
    assert "<!DOCTYPE html>" in str(Page(nlp.get_pipe("hosemi"), []))
    assert "[initialize.components.hosemi.fit]" in make_config("names")


def test_entry_points():
    entry_points = distribution("spacy_hosemi").entry_points
    assert len(entry_points) > 0
    for entry_point in entry_points:
        assert callable(entry_point.load()), entry_point
