"""Tasks that workers do: each once, whoever waits for which, and in whatever order."""

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
from spacy_hosemi.core.parallel.tasks import Task, Workers
from spacy_hosemi.training.kernels.token_sums import TokenSums

N_TOKENS = 50


def make_task() -> tuple[Task, np.ndarray]:
    """A task that adds 1 to each number: none is done twice unseen."""
    task, scores = TokenSums(0, 1), np.zeros((N_TOKENS, 1))
    first = np.arange(N_TOKENS + 1, dtype=np.int32)
    rows, none = np.zeros_like(first[1:]), first[:0]
    task.take([(first, rows, scores)], none, none, np.ones(1), 1, False)
    return task, scores


@pytest.mark.parametrize("n_threads", [0, 1, 2, 5])
@pytest.mark.parametrize("n_jobs", [1, 3, 300, 1000])
def test_each_is_done_once(n_threads, n_jobs):
    tasks = [make_task() for _ in range(n_jobs)]
    order = random.Random(n_jobs).sample(tasks, n_jobs)
    with Workers(n_threads) as workers:
        for task, _ in tasks:
            workers.add(task)
        for task, scores in order:
            workers.finish(task)
            assert (scores == 1.0).all()
            assert workers.forget_if_done(task)
    assert all((scores == 1.0).all() for _, scores in tasks)


def test_helpers_need_nobody_who_waits():
    with Workers(2) as workers:
        for k in range(200):
            task, scores = make_task()
            workers.add(task)
            if k % 10 == 0:
                time.sleep(0.001)  # they go to sleep
            until = time.monotonic() + 10
            while not workers.forget_if_done(task):
                assert time.monotonic() < until
            assert (scores == 1.0).all()


def test_a_job_may_come_again():
    task, scores = make_task()
    with Workers(1) as workers:
        for times in range(1, 100):
            workers.add(task)
            workers.finish(task)
            assert (scores == times).all()


def test_jobs_that_nobody_waits_for():
    """Those in work are finished, others forgotten; nothing of them is read later."""
    for n_threads in (0, 1, 3):
        tasks = [make_task() for _ in range(100)]
        with Workers(n_threads) as workers:
            for task, _ in tasks:
                workers.add(task)
        found = {float(x) for _, scores in tasks for x in scores.flat}
        assert found <= {0.0, 1.0}
        del tasks, task
        gc.collect()
    with Workers(3):
        pass


def n_workers() -> int:
    return sum(thread.name == "hosemi-worker" for thread in threading.enumerate())


def wait_until_none_is_left():
    until = time.monotonic() + 10
    while n_workers():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_threads_end():
    wait_until_none_is_left()  # of other tests
    with Workers(4):
        assert n_workers() == 4
    wait_until_none_is_left()


def test_python_ends_while_helpers_wait():
    """As after a stream that nobody has read to its end."""
    script = """
from spacy_hosemi.core.parallel.tasks import Workers
def stream():
    with Workers(2):
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
            task, scores = make_task()
            yield task
            total += scores.sum()
        return total

    assert finish(steps()) == 3 * N_TOKENS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_ends():
    """Its copy of the workers has no threads."""
    with Workers(2) as workers:
        for _ in range(10):
            task, _ = make_task()
            workers.add(task)
            workers.finish(task)
        time.sleep(0.01)  # they go to sleep
        child = os.fork()
        if child == 0:
            workers.__exit__(None, None, None)
            os._exit(7)
        until = time.monotonic() + 20
        while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < until
            time.sleep(0.001)
    assert os.waitstatus_to_exitcode(found[1]) == 7


@pytest.mark.parametrize("n", [0, 2])
def test_threads_that_the_system_does_not_give(n, monkeypatch):
    """It was "can't start new thread": `parse --threads 1024` in a container."""
    wait_until_none_is_left()
    start = threading.Thread.start

    def start_some(thread):
        if n_workers() == n:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    test_each_is_done_once(1024, 300)
    wait_until_none_is_left()
