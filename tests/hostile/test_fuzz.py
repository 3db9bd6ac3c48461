"""A few seconds of what `benchmarks/fuzz.py` does for hours."""

import random
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


def changed(seed, rng):
    """A seed, and what it becomes by changed, lost and repeated bytes."""
    yield seed
    for _ in range(20):
        data = bytearray(seed)
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, len(data))
            part = data[at : at + rng.randint(1, 8)]
            data[at : at + rng.choice((0, 1, len(part)))] = rng.choice(
                (b"", part, 2 * part, rng.randbytes(1), rng.choice(ODD))
            )
        yield bytes(data)


ODD = (
    b"\0",
    b"\xff",
    b"\xc3",
    b'"',
    b"\\",
    b"\n",
    b"{",
    b"[",
    b"99999999999",
    b"-1",
    b"nan",
)


def test_readers(fuzz):
    """All of them with their seeds, and with seeds that were changed at random."""
    pytest.importorskip("pyarrow")
    rng = random.Random(1)
    for name, target in fuzz.targets().items():
        for seed in target.seeds:
            for data in changed(seed, rng):
                try:
                    target.run(data)
                except ValueError as error:
                    assert fuzz.is_refusal(error), (name, data)
    fuzz.forget()


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
