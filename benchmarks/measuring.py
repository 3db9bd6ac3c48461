"""What the benchmarks share: measured processes, data, figures, the command line."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Read by the numerical libraries when they are imported, here and in what is run.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

from convert import convert

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
SEED = 0
MB = 1e6
N_PASSES = 3


# ---------------------------------------------------------------------------- processes


@dataclass
class Usage:
    """What a process used, and what it printed."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    output: str


# A process starts with the peak memory of the one that started it (Linux). So a small
# interpreter stands between this one, which is large, and what is measured.
LAUNCHER = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as report:
    json.dump({
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": time.monotonic() - began,
        "peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }, report)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def measured(command: Sequence[str], quiet: bool = False) -> Usage:
    """Run a command and measure it.

    command (Sequence[str]): The program and its arguments.
    quiet (bool): Show what it prints only if it fails; else as it comes, on stderr.
    RETURNS (Usage): Of the process and those it waited for.
    RAISES (SystemExit): The command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "usage.json"
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(report)]
        process = subprocess.Popen(
            [*launcher, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        chunks = []
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            chunks.append(chunk)
            if not quiet:
                sys.stderr.buffer.write(chunk)
                sys.stderr.buffer.flush()
        output = b"".join(chunks).decode(errors="replace")
        if process.wait():
            print(output if quiet else "", file=sys.stderr)
            sys.exit(f"exit code {process.returncode}: {shown_command(command)}")
        usage = json.loads(report.read_text())
    return Usage(usage["cpu_s"], usage["wall_s"], usage["peak"] / MB, output)


def call(function: Callable[..., Any], *args: str | Path) -> list[str]:
    """Write the command that calls a function of a benchmark script by itself."""
    module = Path(sys.modules[function.__module__].__file__ or "")
    code = (
        f"import sys; sys.path.insert(0, sys.argv[1]); import {module.stem}; "
        f"{module.stem}.{function.__name__}(*sys.argv[2:])"
    )
    return [sys.executable, "-c", code, str(module.parent), *map(str, args)]


def shown_command(command: Sequence[str]) -> str:
    """Write a command as one would type it."""
    return shlex.join(["python", *command[1:]])


def reset_peak() -> None:
    """Set this process's peak of memory to what it has now, where that is possible.

    Elsewhere the peak of loading the model stays, and less is found to be added.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_mb() -> float:
    """The largest resident size of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / MB


# --------------------------------------------------------------------------------- data


@dataclass
class Splits:
    """One data set in spaCy's format, in a folder.

    `dev_is_train`: there was no dev; what stands there is a tenth of train, so that
    `spacy train` has something to print.
    """

    folder: Path
    train: Path
    dev: Path
    test: Path
    dev_is_train: bool
    n_docs: dict[str, int]
    n_tokens: dict[str, int]


def read_lines(path: Path) -> list[bytes]:
    """Read the lines of a file that are not empty."""
    with open(path, "rb") as lines:
        return [line.rstrip(b"\n") for line in lines if line.strip()]


def training_lines(lines: list[bytes], at_most: int | None) -> list[bytes]:
    """Keep some lines of train, the same ones for the same number."""
    if at_most is None or at_most >= len(lines):
        return lines
    return shuffled(lines, SEED)[:at_most]


def shuffled(lines: Sequence[bytes], seed: int) -> list[bytes]:
    """Shuffle by a seed, in a copy."""
    lines = list(lines)
    random.Random(seed).shuffle(lines)
    return lines


@dataclass
class Lines:
    """What is drawn from, what is tested on, and how that is called."""

    train: list[bytes]
    test: list[bytes]
    tested_on: str


def data_lines(data: Path, is_dev: bool) -> Lines:
    """Read train and test; with is_dev what stands for test in development."""
    lines, dev = read_lines(data / "train.jsonl"), data / "dev.jsonl"
    if not is_dev:
        return Lines(lines, read_lines(data / "test.jsonl"), "test")
    if dev.exists():
        return Lines(lines, read_lines(dev), "dev")
    lines = shuffled(lines, SEED)
    n_test = len(lines) // 5
    return Lines(lines[n_test:], lines[:n_test], "a fifth of train, held out")


def make_splits(
    folder: Path,
    lang: str,
    train: Sequence[bytes],
    dev: Sequence[bytes] | None,
    test: Sequence[bytes],
) -> Splits:
    """Write the lines and convert them.

    folder (Path): Is made.
    lang (str): Tokenizer for lines that hold texts.
    train, dev, test (Sequence[bytes]): JSON lines; dev may be None.
    RETURNS (Splits): The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": train, "dev": dev, "test": test}
    if dev is None:
        parts["dev"] = shuffled(train, SEED)[: max(1, len(train) // 10)]
    n_docs, n_tokens = {}, {}
    for name, lines in parts.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines or ()))
        docs = convert(path, folder / f"{name}.spacy", lang)
        n_docs[name], n_tokens[name] = len(docs), sum(map(len, docs))
    return Splits(
        folder,
        train=folder / "train.spacy",
        dev=folder / "dev.spacy",
        test=folder / "test.spacy",
        dev_is_train=dev is None,
        n_docs=n_docs,
        n_tokens=n_tokens,
    )


def folds(
    lines: Sequence[bytes], n_folds: int, seed: int
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Cut shuffled lines into parts.

    YIELDS (Tuple[List[bytes], List[bytes]]): For each part, the others and the part.
    """
    lines = shuffled(lines, seed)
    for fold in range(n_folds):
        rest = [line for i, line in enumerate(lines) if i % n_folds != fold]
        yield rest, lines[fold::n_folds]


# --------------------------------------------------------------------- speed and size


def tokens_per_second(
    predict: Callable[[Any], Any], passes: Iterable[Sequence[Any]], n_tokens: int
) -> float:
    """Time a function that is called document by document.

    predict (Callable): Called with each input.
    passes (Iterable): The inputs of each pass, fresh; the first is a warm-up.
    n_tokens (int): In one pass.
    RETURNS (float): Tokens per CPU second of the best pass.
    """
    seconds = []
    for inputs in passes:
        began = time.process_time()
        for document in inputs:
            predict(document)
        seconds.append(time.process_time() - began)
    return n_tokens / min(seconds[1:])


def size_mb(path: Path) -> float:
    """Size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [x for x in path.rglob("*") if x.is_file()]
    return sum(file.stat().st_size for file in files) / MB


# ------------------------------------------------------------------------------- scores


@dataclass
class Score:
    """Precision, recall and F1, 0 to 1."""

    p: float
    r: float
    f: float


Scores = dict[str, Score]  # by label; "micro" for all of them


@dataclass
class Figures:
    """All that is measured of one system; None where it does not apply."""

    scores: Scores
    training_cpu_s: float
    features_cpu_s: float | None
    fit_cpu_s: float | None
    training_wall_s: float
    training_peak_mb: float
    tokens_per_cpu_s: float
    tokens_per_cpu_s_features_ready: float | None
    model_mb: float
    settings: str


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    mean = sum(values) / len(values)
    spread = sum((x - mean) ** 2 for x in values) / max(1, len(values) - 1)
    return mean, spread**0.5


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, of independent values."""
    mean, spread = mean_and_spread(values)
    return mean, spread / len(values) ** 0.5


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, in columns that can be read as they are."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for line in (cells[0], rule, *cells[1:]):
        first, *others = line
        aligned = [x.rjust(width) for x, width in zip(others, widths[1:])]
        lines.append(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    return "\n".join(lines)


# -------------------------------------------------------------- where, and what is kept


def environment() -> dict[str, Any]:
    """Describe where and with what it was measured."""
    packages = "spacy_hosemi spacy thinc numpy scipy python-crfsuite".split()
    versions = {package: package_version(package) for package in packages}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_model(),
        "versions": {"python": platform.python_version(), **versions},
        "commit": commit(),
        "command": shlex.join(["python", *sys.argv]),
    }


def package_version(package: str) -> str | None:
    """Version of an installed package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    """Name the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":")[1] for line in lines if line.startswith("model n")]
        return names[0].strip()
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit that is checked out, "+" where files differ; None outside git."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(git, capture_output=True, text=True)
    except OSError:
        return None
    return found.stdout.strip() or None


def append_json(path: Path | None, record: dict[str, Any]) -> None:
    """Append one line to a JSONL file, if one is given."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps({**environment(), **record}) + "\n")


@contextmanager
def run_folder(args: argparse.Namespace) -> Iterator[Path]:
    """Give the folder of this run: one that is kept if --runs is given. What is wrong
    with the data ends the script with a message."""
    try:
        if args.runs is None:
            with tempfile.TemporaryDirectory() as folder:
                yield Path(folder)
        else:
            name = f"{args.data.resolve().name}-{args.config.stem}"
            yield args.runs / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    except ValueError as error:
        sys.exit(f"{error}")


def check_system(parser: argparse.ArgumentParser) -> None:
    """Make sure that processes can be measured."""
    if not hasattr(os, "wait4"):
        parser.error("this system does not tell what a process used (no os.wait4)")


def check_overrides(parser: argparse.ArgumentParser, overrides: Sequence[str]) -> None:
    """Make sure that overrides have the right form."""
    for override in overrides:
        if not re.fullmatch(r"\w+(\.[\w@*-]+)+=.*", override):
            parser.error(f"--overrides needs section.key=value, found {override!r}")


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """What is trained, on what."""
    add = parser.add_argument
    add("data", type=Path, metavar="DATA_DIR", help="has {train,dev,test}.jsonl")
    add(
        "--config",
        type=Path,
        default=ROOT / "configs" / "batch.cfg",
        help="config of hosemi for `spacy train` (default: %(default)s)",
    )
    add(
        "--overrides",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="settings other than the config's: components.hosemi.max_order=3",
    )
