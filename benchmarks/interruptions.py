"""What Ctrl-C leaves of `spacy train` and of `hosemi tune`, and whether they go on.

    python benchmarks/interruptions.py corpus
    python benchmarks/interruptions.py corpus --moments 3 --max-train 40

Each command is run to its end, and then again, hit by SIGINT at random moments: within
the fit (from the first line of its log to the last one), or anywhere in tune. Then the
same command goes on, with `fit.checkpoint` or `--resume`. Printed are for each moment
the exit code, what was left, and how the result differs from that of the whole run:

- train: left is the loss of the weights that were kept, less that of the whole run, in
  per cent of it; then the same at the end, and dev F1. Both are 0 within the tolerance.
- tune: left is how many candidates were judged, and whether there is a config that can
  be read; then whether the config is that of the whole run, character by character.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness
import training
from spacy.util import load_config

from spacy_hosemi.configs import make_config

HOSEMI = [sys.executable, "-m", "spacy", "hosemi"]


def run(command: Sequence[str], log: Path, wait: float | None = None) -> int:
    """Run a command. RETURNS (int): Its exit code.

    wait (Optional[float]): Seconds after which it is hit by Ctrl-C.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            # A shell starts processes in the background with this signal ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            code = process.wait(wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            code = process.wait()
    return code


class Training:
    """`spacy train` with a log and a file to go on from."""

    def __init__(self, splits: training.Splits, kind: str) -> None:
        self._splits = splits
        self._config = splits.folder / "config.cfg"
        self._config.write_text(make_config(kind), encoding="utf8")

    def run(self, name: str, wait: float | None = None) -> int:
        """RETURNS (int): The exit code of a run whose files have a name."""
        folder, fit = self._splits.folder, "--initialize.components.hosemi.fit"
        command = [sys.executable, "-m", "spacy", "train", str(self._config)]
        command += ["--paths.train", str(self._splits.train)]
        command += ["--paths.dev", str(self._splits.dev)]
        command += ["--output", str(folder / name)]
        command += [f"{fit}.l2", "0.1"]  # a search for l2 begins anew
        command += [f"{fit}.log", f"{folder / name}.jsonl"]
        command += [f"{fit}.checkpoint", f"{folder / name}.npz"]
        return run(command, folder / f"{name}.log", wait)

    def loss(self, name: str) -> float | None:
        """RETURNS (Optional[float]): At the end of the last fit; None: it has none."""
        path = self._splits.folder / f"{name}.jsonl"
        lines = path.read_text("utf8").splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines]
        ends = [x["objective"] for x in events if x["event"] == "end"]
        return ends[-1] if ends else None

    def meta(self, name: str) -> Path:
        """RETURNS (Path): Of a saved model."""
        return self._splits.folder / name / "model-last" / "meta.json"

    def f1(self, name: str) -> float | None:
        """RETURNS (Optional[float]): On dev, as the saved model has it, in per cent;
        None: there is no model, or it was stopped before it was evaluated."""
        if not self.meta(name).exists():
            return None
        scores = json.loads(self.meta(name).read_text("utf8")).get("performance", {})
        return 100 * scores["ents_f"] if "ents_f" in scores else None

    def span(self, name: str) -> tuple[float, float]:
        """RETURNS (Tuple[float, float]): Seconds from the start of the program to the
        start and to the end of the fit, by the files that it wrote."""
        path = self._splits.folder / f"{name}.jsonl"
        lines = path.read_text("utf8").splitlines()
        seconds = [json.loads(line).get("seconds", 0.0) for line in lines]
        return path.stat().st_mtime - max(seconds), path.stat().st_mtime


def interrupt_training(
    args: argparse.Namespace, splits: training.Splits
) -> tuple[str, list[list[Any]]]:
    """RETURNS (Tuple[str, List[List]]): What the whole run gave, and a row for each
    moment."""
    of, draw = Training(splits, args.kind), random.Random(harness.SEED)
    began = time.time()
    of.run("whole")
    first, last = (x - began for x in of.span("whole"))
    loss, f1 = of.loss("whole"), of.f1("whole")
    assert loss is not None and f1 is not None
    rows = []
    for k in range(args.moments):
        moment, name = draw.uniform(first, last), f"fit{k}"
        code = of.run(name, moment)
        left = of.loss(name)
        has_model = of.meta(name).exists()
        end_code = of.run(name)
        end, end_f1 = of.loss(name), of.f1(name)
        assert end is not None and end_f1 is not None
        share = None if left is None else 100 * (left - loss) / loss
        what = "a model" if has_model else "the file of the fit" if left else "nothing"
        row = [f"{moment:.1f}", code, what, share, end_code]
        rows.append([*row, 100 * (end - loss) / loss, end_f1 - f1])
        print(*rows[-1], file=sys.stderr, flush=True)
    whole = f"train: {last:.1f} s, the fit from {first:.1f} s on; loss {loss:.2f}, F1 "
    return f"{whole}{f1:.2f}", rows


def interrupt_tune(
    args: argparse.Namespace, splits: training.Splits
) -> tuple[str, list[list[Any]]]:
    """The same for tune."""
    draw, folder = random.Random(harness.SEED), splits.folder
    command = [*HOSEMI, "tune", str(splits.folder / "train.jsonl")]

    def tune(name: str, wait: float | None = None) -> int:
        (folder / name).mkdir(exist_ok=True)
        files = [str(folder / name / "tuned.cfg"), "--overwrite", "--minutes", "60"]
        files += ["--resume", str(folder / name / "tune.jsonl")]
        return run([*command, *files], folder / f"{name}.log", wait)

    def config_of(name: str) -> str | None:
        path = folder / name / "tuned.cfg"
        if not path.exists():
            return None
        load_config(path)
        return path.read_text("utf8")

    began = time.time()
    tune("tune")
    seconds, whole = time.time() - began, config_of("tune")
    rows = []
    for k in range(args.moments):
        moment, name = draw.uniform(0, seconds), f"tune{k}"
        code = tune(name, moment)
        path = folder / name / "tune.jsonl"
        n_judged = len(path.read_bytes().splitlines()) - 1 if path.exists() else 0
        what = "nothing" if config_of(name) is None else "a config"
        end_code = tune(name)
        is_same = "yes" if config_of(name) == whole else "no"
        rows.append([f"{moment:.1f}", code, what, n_judged, end_code, is_same])
        print(*rows[-1], file=sys.stderr, flush=True)
    return f"tune: {seconds:.1f} s", rows


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Hit both, and print what was left."""
    dev = args.data / "dev.jsonl"
    held_out = harness.read_lines(dev if dev.exists() else args.data / "test.jsonl")
    lines = harness.read_lines(args.data / "train.jsonl")
    splits = training.make_splits(folder / "train", "en", lines, held_out, held_out)
    of_train = interrupt_training(args, splits)
    few = harness.draw(lines, args.max_train)
    splits = training.make_splits(folder / "tune", "en", few, held_out, held_out)
    of_tune = interrupt_tune(args, splits)
    columns = ["after, s", "exit code|d", "left", "its loss, %|+.2f", "then|d"]
    columns += ["loss, %|+.3f", "dev F1|+.2f"]
    first = harness.table(columns, of_train[1])
    columns = ["after, s", "exit code|d", "left", "judged|d", "then|d", "same config"]
    second = harness.table(columns, of_tune[1])
    title = f"Ctrl-C at random moments, {args.data.resolve().name}"
    parts = of_train[0], first, of_tune[0], second
    harness.report(args, title, *parts, train=of_train[1], tune=of_tune[1])


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(__doc__, "data", "--max-train", "--json")
    parser.set_defaults(max_train=40)
    parser.add_argument(
        "--moments",
        type=harness.at_least(1),
        default=10,
        metavar="N",
        help="for each command (default: %(default)s)",
    )
    parser.add_argument(
        "--kind", default="references", metavar="KIND", help="of hosemi init"
    )
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
