"""What all benchmarks share: data, time, tables, results."""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeVar

# Read by the numerical libraries when they are imported, here and in what is run.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
RESULTS = ROOT / "benchmarks" / "results"
SEED = 0
MB = 1e6
N_PASSES = 3

sys.path.insert(0, str(ROOT / "corpus"))

import spacy  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

from spacy_hosemi.formats import read_docs, write_docs  # noqa: E402

Lines = Sequence[bytes]  # of a file of JSON lines
Marked = tuple[str, list[tuple[int, int, str]]]  # a text, and spans in characters
Key = TypeVar("Key", bound=Hashable)


def convert(source: Path, target: Path, lang: str) -> list[Doc]:
    """Write the documents of a file of JSON lines to a .spacy file. Returns what was
    written; lang has the tokenizer for texts."""
    docs = read_docs(source, spacy.blank(lang), "jsonl")
    target.write_bytes(write_docs(docs))
    return docs


# --------------------------------------------------------------------------------- data


def read_lines(path: Path) -> list[bytes]:
    """Read the lines of a file that are not empty."""
    with open(path, "rb") as lines:
        return [line.rstrip(b"\n") for line in lines if line.strip()]


def read_marked(path: Path) -> list[Marked]:
    """Read texts, and their spans in characters; tokens have spaces between them."""
    found = []
    for record in map(json.loads, read_lines(path)):
        text, spans = record.get("text"), record["spans"]
        if "tokens" in record:
            text, ends = " ".join(record["tokens"]), [-1]
            for word in record["tokens"]:
                ends.append(ends[-1] + 1 + len(word))
            spans = [(ends[i] + 1, ends[j], label) for i, j, label in spans]
        found.append((text, [tuple(span) for span in spans]))
    return found


def spans_of(doc: Doc) -> list[tuple[int, int, str]]:
    """Returns the entities of a document, in characters."""
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def shuffled(lines: Sequence[Any], seed: int = SEED) -> list[Any]:
    """Shuffle a copy by a seed."""
    lines = list(lines)
    random.Random(seed).shuffle(lines)
    return lines


def draw(lines: Lines, at_most: int | None) -> Lines:
    """Draw some lines, the same ones for the same number; None: keep all."""
    if at_most is None or at_most >= len(lines):
        return lines
    return shuffled(lines)[:at_most]


def train_and_test(args: argparse.Namespace) -> tuple[Lines, Lines, str]:
    """Read what --dev says. Returns lines to train on, lines to test on, and how the
    latter are called."""
    lines, dev = read_lines(args.data / "train.jsonl"), args.data / "dev.jsonl"
    if not args.dev:
        return lines, read_lines(args.data / "test.jsonl"), "test"
    if dev.exists():
        return lines, read_lines(dev), "dev"
    lines = shuffled(lines)
    n_test = len(lines) // 5
    return lines[n_test:], lines[:n_test], "a fifth of train, held out"


def folds(
    lines: Sequence[Any], n_folds: int, seed: int = SEED
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Cut shuffled lines into parts. Yields, for each part, all others and the part."""
    lines = shuffled(lines, seed)
    for fold in range(n_folds):
        rest = [line for i, line in enumerate(lines) if i % n_folds != fold]
        yield rest, lines[fold::n_folds]


def repeated_folds(
    args: argparse.Namespace, lines: Sequence[Any]
) -> list[tuple[str, list[Any], list[Any]]]:
    """What --cv and --repeats say: the name of each fold, all others, and it."""
    return [
        (f"{repeat}-{fold}", *parts)
        for repeat in range(args.repeats)
        for fold, parts in enumerate(folds(lines, args.cv, SEED + repeat))
    ]


# --------------------------------------------------------------------------------- time


@dataclass
class Timed:
    """A function that is timed; what makes its argument and what looks at its result,
    which are not."""

    run: Callable[[Any], Any]
    inputs: Callable[[], Any] = lambda: None
    check: Callable[[Any], Any] = lambda found: None


def timed(
    run: Callable[[Any], Any],
    given: Any = None,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, Any]:
    """Call a function. Returns seconds of it, and its result; Python's collector does
    not look through what was there before."""
    gc.freeze()
    began = clock()
    result = run(given)
    seconds = clock() - began
    gc.unfreeze()
    return seconds, result


def take_turns(
    calls: Mapping[Key, Timed],
    n_passes: int = N_PASSES,
    clock: Callable[[], float] = time.process_time,
    least: float = 0.0,
) -> dict[Key, list[float]]:
    """Time calls that take turns, since the machine may be busy for a while; in each
    pass a call is repeated until its times add up to `least` seconds. Returns seconds
    of each call in all passes but a first one. Python's collector does not look through
    what was there before."""
    found: dict[Key, list[float]] = {name: [] for name in calls}
    names = list(calls)
    gc.collect()
    for turn in range(1 + n_passes):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            seconds: list[float] = []
            while not seconds or sum(seconds) < least:
                given = calls[name].inputs()
                took, result = timed(calls[name].run, given, clock)
                seconds.append(took)
                calls[name].check(result)
            if turn > 0:
                found[name] += seconds
    return found


# ------------------------------------------------------------------- figures and tables


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, 0 of a single value."""
    return mean(values), stdev(values) if len(values) > 1 else 0.0


def with_spread(values: Sequence[float], form: str = ".2f") -> str:
    """Write the mean, and the standard deviation if there are several values."""
    middle, spread = mean_and_spread(values)
    return f"{middle:{form}}" + (f" ± {spread:.2f}" if len(values) > 1 else "")


def difference(values: Sequence[float]) -> str:
    """Write the mean of differences, and its standard error if there are several."""
    middle, spread = mean_and_spread(values)
    error = spread / len(values) ** 0.5
    return f"{middle:+.2f}" + (f" ± {error:.2f}" if len(values) > 1 else "")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table in Markdown that can be read as it is. Columns are titles, and the
    format of numbers after "|": "F1|.2f"; None in a row becomes "-"."""
    titles, _, forms = zip(*(column.partition("|") for column in columns))
    lines = [list(titles)]
    for row in rows:
        cells = zip(("-" if x is None else x for x in row), forms)
        lines.append([x if isinstance(x, str) else f"{x:{y}}" for x, y in cells])
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * widths[0], *("-" * (x - 1) + ":" for x in widths[1:])])
    texts = []
    for first, *others in lines:
        aligned = [x.rjust(width) for x, width in zip(others, widths[1:])]
        texts.append(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    return "\n".join(texts)


# ----------------------------------------------------------------------------- results


def environment() -> dict[str, Any]:
    """Describe where and with what it was measured."""
    versions = {"python": platform.python_version()}
    for package in "spacy_hosemi spacy thinc numpy scipy python-crfsuite".split():
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_model(),
        "versions": versions,
        "commit": commit(),
        "command": shlex.join(["python", *sys.argv]),
    }


def where() -> str:
    """The same in one line."""
    found = environment()
    versions = ", ".join(f"{x} {y}" for x, y in found["versions"].items())
    return f"{found['date']}, {found['cpu']}, commit {found['commit']}, {versions}"


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
    with suppress(OSError):
        return (
            subprocess.run(git, capture_output=True, text=True).stdout.strip() or None
        )
    return None


def report(
    args: argparse.Namespace, title: str, *parts: str, path: Path | None = None, **all_
) -> None:
    """Print what was measured, and where: tables and paragraphs, also to a Markdown
    file `path`. All else is figures by name, for --json."""
    command = f"    {shlex.join(['python', *sys.argv])}"
    text = "\n\n".join([f"# {title}", where(), command, *filter(None, parts)])
    print(text, flush=True)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
        print(f"\nwritten: {path}")
    if getattr(args, "json", None):
        args.json.parent.mkdir(parents=True, exist_ok=True)
        record = {**environment(), "arguments": vars(args), **all_}
        with open(args.json, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(record, default=str) + "\n")
