"""What strangers' bytes do to readers, to loading, and to calls in any order.

    python benchmarks/fuzz.py --runs 20000 --loads 2000 --sequences 200
    python benchmarks/fuzz.py --runs 300000 --only list format --loads 0

- **Readers**: each gets `--runs` inputs, made of tiny seeds and of what its format is
  made of (`fuzz_targets.py`). An input that ends as none before joins the seeds: by its
  code, or by the line that raised. Only refusals with a code may leave a reader; all
  else, and what takes more than ten seconds, is a find.
- **Loads**: tiny components of six kinds with something changed and digests that fit
  again (`fuzz_models.py`); what loads is asked for predictions, k-best and a copy. In
  processes of their own with at most 8 GB: "died" are those that a signal ended.
- **Sequences**: calls in any order, of one pipeline and of several, with the tests that
  do so (`tests/component/test_sequences.py`).

"Lines" is the share of the lines of all functions of ours that a reader entered, which
the last inputs, up to 3,000, have run. The last line counts finds.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

import harness
from fuzz_models import Model, ask, changed, look_once, make_models
from fuzz_targets import Target, forget, is_refusal, targets

if sys.platform != "win32":
    import resource

LONGEST = 4096  # bytes of an input
SECONDS = 10
N_TRACED = 3000
BLOCK = 2000  # loads of one process
MEMORY = 8 * 2**30

# What confuses readers of any format.
WORDS = (
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b" ",
    b"-1",
    b"0",
    b"9" * 20,
    b"9" * 5000,
    b"1e999",
    b"a" * 200,
    b'"',
    b"\\",
    b"\\ud83d",
    b"[" * 1000,
    b'{"a":' * 500,
    b"\x1c",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\xcc\x81",
    b"\xd9\xa3",
    b"\xf0\x9f\x98\x80",
)


class Inputs:
    """Inputs for a target, from its seeds and from what ended in a new way.

    target (Target): Gives seeds and words.
    rng (Random): Decides everything.
    """

    def __init__(self, target: Target, rng: random.Random) -> None:
        self._rng, self._words = rng, [*target.words, *WORDS]
        self._pool, self._ends = list(target.seeds), set[Any]()

    def make(self) -> bytes:
        """RETURNS (bytes): The next input."""
        data = bytearray(self._rng.choice(self._pool))
        for _ in range(self._rng.choice((1, 1, 1, 2, 2, 4, 8))):
            self._change(data)
        return bytes(data[:LONGEST])

    def note(self, data: bytes, end: Any) -> None:
        """Say how an input ended."""
        if end not in self._ends and len(self._pool) < 500:
            self._ends.add(end)
            self._pool.append(data)

    def _change(self, data: bytearray) -> None:
        rng, kind = self._rng, self._rng.randrange(8)
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16)))
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end] * rng.choice((1, 1, 2, 9))
        elif kind == 4:
            data[at:at] = rng.choice(self._words)
        elif kind == 5:
            data[at:end] = rng.choice(self._words)
        elif kind == 6:
            other = rng.choice(self._pool)
            start = rng.randrange(len(other) + 1)
            data[at:end] = other[start : start + rng.choice((1, 4, 16, 64))]
        else:
            del data[at:]


def limit(seconds: float) -> None:
    """Raise a TimeoutError after this many seconds; 0: never."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def place_of(error: BaseException) -> tuple[Any, ...]:
    """RETURNS (Tuple): Where an error was raised: finds of one place are one."""
    frames = [*traceback.walk_tb(error.__traceback__)][-3:]
    names = [(os.path.basename(x.f_code.co_filename), line) for x, line in frames]
    return type(error).__name__, *(f"{name}:{line}" for name, line in names)


# readers


def read_all(
    args: argparse.Namespace, name: str, target: Target, finds: list[str]
) -> list[Any]:
    """RETURNS (List): A row: inputs, a second, accepted, lines, finds."""
    inputs, found = Inputs(target, random.Random(f"{args.seed} {name}")), {}
    n_runs = int(args.runs * target.share)
    n_untraced = max(n_runs // 2, n_runs - N_TRACED)
    n_accepted, seconds, start = 0, 0.0, time.process_time()
    lines: set[tuple[CodeType, int]] = set()
    tracing = sys.gettrace()
    for k in range(n_runs):
        data = inputs.make()
        if k == n_untraced:
            seconds = time.process_time() - start
            sys.settrace(_tracer(lines))
        limit(SECONDS)
        try:
            target.run(data)
            n_accepted += 1
            inputs.note(data, "accepted")
        except Exception as error:
            at = place_of(error)
            inputs.note(data, (str(error)[:7], at))
            if not is_refusal(error):
                found.setdefault(at, (data, error))
        limit(0)
    sys.settrace(tracing)
    finds += [f"{name}: {e!r} {at}, of {x[:200]!r}" for at, (x, e) in found.items()]
    rate = n_untraced / seconds if seconds else 0.0
    ran, total = _coverage(lines)
    share = f"{100 * ran / max(1, total):.0f} % of {total}"
    accepted = f"{100 * n_accepted / max(1, n_runs):.0f} %"
    return [name, n_runs, f"{rate:,.0f}", accepted, share, len(found)]


def _tracer(lines: set[tuple[CodeType, int]]) -> Callable[..., Any]:
    """RETURNS (Callable): Collects lines of readers that are run."""

    def of_lines(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code, frame.f_lineno))
        return of_lines

    def of_calls(frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_globals.get("__name__", "")
        is_ours = name.startswith("spacy_hosemi.") and "values" not in name
        return of_lines if is_ours else None

    return of_calls


def _coverage(lines: set[tuple[CodeType, int]]) -> tuple[int, int]:
    """RETURNS (Tuple[int, int]): Lines that were run, and all lines of the functions
    that they are in."""
    total = {
        (code, line)
        for code in {code for code, _ in lines}
        for _, _, line in code.co_lines()
        if line is not None and line != code.co_firstlineno
    }
    return len(lines & total), len(total)


# loads


def load_all(args: argparse.Namespace, finds: list[str]) -> list[list[Any]]:
    """RETURNS (List[List]): A row: loads, a second, answered, died, finds."""
    look_once()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = make_models()
    shared = mmap.mmap(-1, 16)
    start, seed, answered = time.perf_counter(), 0, 0
    died, found = 0, set[str]()
    while seed < args.loads:
        n = min(BLOCK, args.loads - seed)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            with suppress(BaseException):
                _load_some(args.seed, range(seed, seed + n), models, shared, writer)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, encoding="utf8") as lines:
            found |= {*lines.read().splitlines()}
        status = os.waitpid(child, 0)[1]
        last, good = struct.unpack("qq", shared[:])
        answered += good
        seed += n
        if os.WIFSIGNALED(status):
            died += 1
            seed = last + 1
            finds.append(f"load {last} died of signal {os.WTERMSIG(status)}")
    finds += sorted(found)
    rate = args.loads / (time.perf_counter() - start)
    share = f"{100 * answered / max(1, args.loads):.0f} %"
    return [[args.loads, f"{rate:,.0f}", share, died, len(found)]]


def _load_some(
    seed: int,
    numbers: range,
    models: dict[str, Model],
    shared: mmap.mmap,
    writer: int,
) -> None:
    """Load, and write finds to a pipe, each place once."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    threading.stack_size(2**20)  # settings may ask for a thousand threads
    names, seen, answered = [*models], set[Any](), 0
    for k in numbers:
        shared[:] = struct.pack("qq", k, answered)
        rng, name = random.Random(f"{seed} {k}"), names[k % len(names)]
        model = models[name]
        data = changed(model, rng)
        limit(SECONDS)
        try:
            pipe: Any = model.nlp.get_pipe("hosemi")
            pipe.from_bytes(data, exclude=["vocab"])
            ask(model.nlp, rng)
            answered += 1
        except Exception as error:
            at = place_of(error)
            if not is_refusal(error) and at not in seen:
                seen.add(at)
                text = f"load {k} ({name}): {error!r:.200} {at}".replace("\n", " ")
                os.write(writer, f"{text}\n".encode("utf8", "replace"))
        limit(0)
    shared[:] = struct.pack("qq", numbers[-1], answered)


# sequences


def call_all(args: argparse.Namespace, finds: list[str]) -> list[list[Any]]:
    """RETURNS (List[List]): A row: sequences, a second, finds."""
    tests = harness.ROOT / "tests" / "component" / "test_sequences.py"
    environment = {**os.environ, "HOSEMI_SEQUENCES": str(args.sequences)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=line",
    ]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, str(tests)], env=environment, capture_output=True, text=True
    )
    rate = args.sequences / (time.perf_counter() - start)
    failed = [x for x in done.stdout.splitlines() if x.startswith("FAILED")]
    if done.returncode not in (0, 1):
        failed.append(done.stdout[-500:] + done.stderr[-500:])
    finds += failed
    return [[args.sequences, f"{rate:,.1f}", len(failed)]]


def main() -> int:
    """RETURNS (int): 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=harness.at_least(0), default=20_000)
    parser.add_argument("--loads", type=harness.at_least(0), default=2_000)
    parser.add_argument("--sequences", type=harness.at_least(0), default=0)
    parser.add_argument("--only", nargs="*", default=[""], help="names of readers")
    parser.add_argument("--seed", type=int, default=harness.SEED)
    args = parser.parse_args()
    finds: list[str] = []
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    if args.runs:
        chosen = {k: x for k, x in targets().items() if any(o in k for o in args.only)}
        rows = []
        for name, target in chosen.items():
            rows.append(read_all(args, name, target, finds))
            print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
        forget()
        rows.append(["all", sum(row[1] for row in rows), "", "", "", len(finds)])
        header = ["reader", "inputs", "a second", "accepted", "lines", "finds"]
        print(harness.table(header, rows), "\n", flush=True)
    if args.loads:
        header = ["loads", "a second", "answered", "died", "finds"]
        print(harness.table(header, load_all(args, finds)), "\n", flush=True)
    if args.sequences:
        header = ["sequences", "a second", "finds"]
        print(harness.table(header, call_all(args, finds)), "\n", flush=True)
    for find in finds:
        print(f"- {find}")
    print(f"{len(finds)} finds")
    return int(bool(finds))


if __name__ == "__main__":
    sys.exit(main())
