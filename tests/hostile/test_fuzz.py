"""A few seconds of what `benchmarks/fuzz.py` does for hours."""

import signal
import sys
import warnings
from argparse import Namespace
from importlib import import_module

import pytest

from ..conftest import scripts_on_path

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the fuzzer needs POSIX"
)


@pytest.fixture(scope="module")
def fuzz():
    before = signal.getsignal(signal.SIGALRM)
    with scripts_on_path(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = import_module("fuzz")
        signal.signal(signal.SIGALRM, found._stop)
        yield found
    signal.signal(signal.SIGALRM, before)


# The others take as long, some seconds each to start a process and load all of spaCy.
GUIDED = ("list: txt", "format: columns", "automaton")


def test_readers(fuzz):
    """All of them with their seeds, some with some hundred inputs of the fuzzer."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("atheris")
    finds, targets = [], fuzz.targets()
    for name, target in targets.items():
        for seed in target.seeds:
            try:
                target.run(seed)
            except ValueError as error:
                assert fuzz.is_refusal(error), name
    for name in GUIDED:
        args = Namespace(runs=200, seed=1)
        row = fuzz.read_all(args, name, targets[name], finds)
        assert row[1] >= 10
    fuzz.forget()
    assert finds == []


def test_loads(fuzz):
    finds = []
    ((loads, _, answered, died, _),) = fuzz.load_all(
        Namespace(loads=120, seed=1), finds
    )
    assert finds == [] and (loads, died) == (120, 0) and answered != "0 %"


def test_a_find_is_found(fuzz):
    """An error without a code, and one that takes too long."""
    pytest.importorskip("atheris")

    def run(data):
        if data.startswith(b"b"):
            raise KeyError(data)

    finds, target = [], fuzz.Target(run, [b"b", b"c"])
    row = fuzz.read_all(Namespace(runs=100, seed=1), "broken", target, finds)
    assert row[-1] == len(finds) == 1 and "KeyError" in finds[0]
