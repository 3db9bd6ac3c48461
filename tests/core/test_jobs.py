"""Jobs that helpers do: each once, whoever waits for which, and in whatever order."""

import gc
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.core.parallel.tasks import Helpers, Job
from spacy_hosemi.model.kernels.token_scores import BlockScores, Scoring

N_TOKENS = 50


def make_job() -> tuple[Job, np.ndarray]:
    """A job that adds 1 to each number: none is done twice unseen."""
    borders = np.zeros((2, 1, 1), np.float32)
    blocks = BlockScores(borders, *np.zeros((3, 1), np.int32))
    scores = np.zeros((1, N_TOKENS, 1))
    first = np.array([0, N_TOKENS], np.int32)
    words, kept = np.zeros(N_TOKENS, np.int32), np.ones((1, 1, 1), np.float32)
    return Scoring(first, scores, blocks=blocks, words=words, kept=kept), scores


@pytest.mark.parametrize("n_threads", [0, 1, 2, 5])
@pytest.mark.parametrize("n_jobs", [1, 3, 300, 1000])
def test_each_is_done_once(n_threads, n_jobs):
    jobs = [make_job() for _ in range(n_jobs)]
    order = random.Random(n_jobs).sample(jobs, n_jobs)
    with Helpers(n_threads) as helpers:
        for job, _ in jobs:
            helpers.add(job)
        for job, scores in order:
            helpers.finish(job)
            assert (scores == 1.0).all()
            assert helpers.forget_if_done(job)
    assert all((scores == 1.0).all() for _, scores in jobs)


def test_helpers_need_nobody_who_waits():
    with Helpers(2) as helpers:
        for k in range(200):
            job, scores = make_job()
            helpers.add(job)
            if k % 10 == 0:
                time.sleep(0.001)  # they go to sleep
            until = time.monotonic() + 10
            while not helpers.forget_if_done(job):
                assert time.monotonic() < until
            assert (scores == 1.0).all()


def test_a_job_may_come_again():
    job, scores = make_job()
    with Helpers(1) as helpers:
        for times in range(1, 100):
            helpers.add(job)
            helpers.finish(job)
            assert (scores == times).all()


def test_jobs_that_nobody_waits_for():
    """Those in work are finished, others forgotten; nothing of them is read later."""
    for n_threads in (0, 1, 3):
        jobs = [make_job() for _ in range(100)]
        with Helpers(n_threads) as helpers:
            for job, _ in jobs:
                helpers.add(job)
        found = {float(x) for _, scores in jobs for x in scores.flat}
        assert found <= {0.0, 1.0}
        del jobs, job
        gc.collect()
    with Helpers(3):
        pass


def n_helpers() -> int:
    return sum(thread.name == "hosemi-helper" for thread in threading.enumerate())


def wait_until_none_is_left():
    until = time.monotonic() + 10
    while n_helpers():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_threads_end():
    wait_until_none_is_left()  # of other tests
    with Helpers(4):
        assert n_helpers() == 4
    wait_until_none_is_left()


def test_python_ends_while_helpers_wait():
    """As after a stream that nobody has read to its end."""
    script = """
from spacy_hosemi.core.parallel.tasks import Helpers
def stream():
    with Helpers(2):
        yield 1
        yield 2
kept = stream()
next(kept)
print("end")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_finish():
    def steps():
        total = 0.0
        for _ in range(3):
            job, scores = make_job()
            yield job
            total += scores.sum()
        return total

    assert finish(steps()) == 3 * N_TOKENS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_ends():
    """Its copy of the helpers has no threads."""
    with Helpers(2) as helpers:
        for _ in range(10):
            job, _ = make_job()
            helpers.add(job)
            helpers.finish(job)
        time.sleep(0.01)  # they go to sleep
        child = os.fork()
        if child == 0:
            helpers.__exit__(None, None, None)
            os._exit(7)
        until = time.monotonic() + 20
        while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < until
            time.sleep(0.001)
    assert os.waitstatus_to_exitcode(found[1]) == 7


def test_threads_that_cannot_start(monkeypatch):
    wait_until_none_is_left()
    start = threading.Thread.start

    def fail(thread):
        if n_helpers() == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="start"), Helpers(3):
        pass
    wait_until_none_is_left()
