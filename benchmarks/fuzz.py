"""What strangers' bytes do to readers and to loading.

    python benchmarks/fuzz.py --runs 20000 --loads 2000

- **Readers**: each gets `--runs` inputs of atheris (libFuzzer), which begins with tiny
  seeds and the words of a format (`fuzz_targets.py`) and keeps each input that takes a
  way through our Python code that none before has taken. Only refusals with a code may
  leave a reader; all else, and what takes more than ten seconds or 2 GB, is a find.
- **Loads**: tiny components of six kinds with something changed and digests that fit
  again (`fuzz_models.py`); what loads is asked for predictions, k-best and a copy. In
  processes of their own with at most 8 GB: "died" are those that a signal ended.

"Lines" is the share of the lines of all functions of ours that a reader entered, which
the inputs that were kept have run. The last line counts finds.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import harness
from arguments import number, script
from fuzz_models import Model, ask, changed, look_once, make_models
from fuzz_targets import Target, forget, is_refusal, place_of, targets

if sys.platform != "win32":
    import resource

READER = harness.ROOT / "benchmarks" / "fuzz_reader.py"
LONGEST = 4096  # bytes of an input
SECONDS = 10
MEGABYTES = 2000
BLOCK = 2000  # loads of one process
MEMORY = 8 * 2**30  # beside what the parent has taken

# What confuses readers of any format.
WORDS = (
    *b'\0|\xff|\n|\r| |-1|0|1e999|"|\\|\\ud83d|\x1c|\xc2\x85|\xe2\x80\xa8'.split(b"|"),
    *(b"\xed\xa0\x80", b"\xcc\x81", b"\xd9\xa3", b"\xf0\x9f\x98\x80"),
    *(b"9" * 20, b"9" * 5000, b"a" * 200, b"[" * 1000, b'{"a":' * 500),
)


def limit(seconds: float) -> None:
    """Raise a TimeoutError after this many seconds; 0: never."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


# readers


def read_all(
    args: argparse.Namespace, name: str, target: Target, finds: list[str]
) -> list[Any]:
    """Returns a row: inputs, a second, kept, accepted, lines, finds."""
    n_runs = int(args.runs * target.share)
    with tempfile.TemporaryDirectory() as folder:
        corpus, notes = Path(folder, "corpus"), Path(folder, "finds")
        last = _explore(name, target, n_runs, args.seed, Path(folder))
        found = notes.read_text("utf8").splitlines() if notes.exists() else []
        kept = [path.read_bytes() for path in sorted(corpus.iterdir())]
    if last["ended"]:
        found.append(last["ended"])
    finds += [f"{name}: {find[:1000]}" for find in found]
    n_accepted, share = _replay(target, kept)
    accepted = f"{100 * n_accepted / max(1, len(kept)):.0f} %"
    rate = f"{last['rate']:,}"
    return [name, last["runs"], rate, len(kept), accepted, share, len(found)]


def _explore(
    name: str, target: Target, n_runs: int, seed: int, folder: Path
) -> dict[str, Any]:
    """Run atheris on a reader; inputs that go where none before went are kept in
    folder/corpus, finds in folder/finds. Returns "runs", how many; "rate", a second;
    "ended", why libFuzzer stopped before it had all."""
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    for k, data in enumerate(target.seeds):
        (corpus / f"seed{k}").write_bytes(data)
    hexes = ("".join(f"\\x{x:02x}" for x in word) for word in (*target.words, *WORDS))
    words.write_text("".join(f'"{word}"\n' for word in hexes))
    limits = f"-max_len={LONGEST} -timeout={SECONDS} -rss_limit_mb={MEGABYTES}".split()
    given = [f"-runs={n_runs}", f"-seed={seed + 1}", f"-dict={words}", *limits]
    given.append(f"-artifact_prefix={folder}/")
    command = [sys.executable, str(READER), name, str(folder / "finds"), *given]
    done = subprocess.run([*command, str(corpus)], capture_output=True, text=True)
    told = re.findall(r"#(\d+)\t.*exec/s: (\d+)", done.stderr)
    runs, rate = map(int, told[-1]) if told else (0, 0)
    ended = done.stderr[-1000:] if done.returncode else ""
    return {"runs": runs, "rate": rate, "ended": ended}


def _replay(target: Target, kept: Sequence[bytes]) -> tuple[int, str]:
    """Returns how many inputs are accepted, and the share of lines that they run."""
    lines: set[tuple[CodeType, int]] = set()
    n_accepted, before = 0, sys.gettrace()
    sys.settrace(_tracer(lines))
    for data in kept:
        with suppress(Exception):
            target.run(data)
            n_accepted += 1
    sys.settrace(before)
    ran, total = _coverage(lines)
    return n_accepted, f"{100 * ran / max(1, total):.0f} % of {total}"


def _tracer(lines: set[tuple[CodeType, int]]) -> Callable[..., Any]:
    """Returns what collects the lines of readers that are run."""

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
    """Returns lines that were run, and all lines of the functions that they are in."""
    total = {
        (code, line)
        for code in {code for code, _ in lines}
        for _, _, line in code.co_lines()
        if line is not None and line != code.co_firstlineno
    }
    return len(lines & total), len(total)


# loads


def load_all(args: argparse.Namespace, finds: list[str]) -> list[list[Any]]:
    """Returns a row: loads, a second, answered, died, finds."""
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
    seed: int, numbers: range, models: dict[str, Model], shared: mmap.mmap, writer: int
) -> None:
    """Load, and write finds to a pipe, each place once."""
    warnings.simplefilter("ignore")
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
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


def measure(args: argparse.Namespace, folder: Path) -> int:
    """Returns 1 if anything was found."""
    finds: list[str] = []
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    if args.runs:
        if not find_spec("atheris"):
            sys.exit("--runs needs atheris: pip install atheris")
        chosen = {k: x for k, x in targets().items() if any(o in k for o in args.only)}
        rows = []
        for name, target in chosen.items():
            rows.append(read_all(args, name, target, finds))
            print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
        forget()
        n_kept = sum(row[3] for row in rows)
        total = sum(row[1] for row in rows)
        rows.append(["all", total, "", n_kept, "", "", len(finds)])
        header = ["reader", "inputs", "a second", "kept", "accepted", "lines", "finds"]
        print(harness.table(header, rows), "\n", flush=True)
    if args.loads:
        header = ["loads", "a second", "answered", "died", "finds"]
        print(harness.table(header, load_all(args, finds)), "\n", flush=True)
    for find in finds:
        print(f"- {find}")
    print(f"{len(finds)} finds")
    return int(bool(finds))


OPTIONS = {
    "--runs": number(20_000, "inputs of each reader", 0),
    "--loads": number(2_000, "of all components", 0),
    "--only": dict(nargs="*", default=[""], help="names of readers"),
    "--seed": number(harness.SEED, "", 0),
}
main = script(__doc__, measure, "", OPTIONS)

if __name__ == "__main__":
    main()
