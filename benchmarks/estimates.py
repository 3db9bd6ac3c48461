"""What `hosemi check` says a training will take, beside what it took.

    python benchmarks/estimates.py corpus ../data/cora ../data/anystyle

For each data set `hosemi check` says which kind of config fits, and estimates the time
and memory of a training with it; then `spacy train` is run with that config, dev.jsonl
(test.jsonl where there is none) as dev. Times are CPU seconds of the whole process,
memory its peak in MB. "Check" is what the check itself took.

How both grow is measured on data that are made, if --documents or --labels say of which
sizes, with the config for names, and for requests where labels grow:

- Documents: those of the first DATA, again and again until there are enough. In each
  copy the words that are in train once or twice are spelt with other letters, others in
  each copy, so that features grow as they do with documents that are really new.
- Labels: two examples of each in documents of four to eight random words: one word that
  tells the label, and often another one that it never has again.

--max-iter is for sizes that take hours: time and memory are those of so few iterations
then, estimated and measured.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import count, islice
from pathlib import Path
from typing import Any

import harness
import training
from arguments import number, script
from processes import measured
from thinc.api import Config

from spacy_hosemi.component.penalty_search import DEFAULT

COLUMNS = ["data", "kind", "documents|d", "tokens|d"]
COLUMNS += ["check, s|.1f", "estimate, s|.1f", "took, s|.1f", "ratio|.2f"]
COLUMNS += ["estimate, MB|.0f", "took, MB|.0f", "ratio|.2f"]
COLUMNS += ["evaluations|d", "weights|d"]


KINDS = "names", "requests"
CONSONANTS, VOWELS = "bcdfghklmnprstvwz", "aeiou"
# Words with fewer occurrences are spelt with other letters.
FREQUENT = 3
# Words of all documents with labels.
N_OTHERS = 300


def respelt(copy: int) -> dict[int, str]:
    """Returns another letter for each, by the number of a copy."""
    rng, table = random.Random(copy), {}
    for letters in (CONSONANTS, VOWELS):
        others = rng.sample(letters, len(letters))
        table |= str.maketrans(letters, "".join(others))
        table |= str.maketrans(letters.upper(), "".join(others).upper())
    return table


def documents(path: Path, n: int) -> Iterable[dict[str, Any]]:
    """Returns n documents, made of those of a file."""
    records = [json.loads(line) for line in harness.read_lines(path)]
    counts = Counter(word for record in records for word in record["tokens"])

    def copies() -> Iterable[dict[str, Any]]:
        for copy in count():
            table = respelt(copy) if copy else {}
            for record in records:
                words = [
                    word.translate(table) if counts[word] < FREQUENT else word
                    for word in record["tokens"]
                ]
                yield {**record, "tokens": words}

    return islice(copies(), n)


def labelled(n_labels: int) -> Iterable[dict[str, Any]]:
    """Yields two documents for each label."""
    rng = random.Random(0)

    def word() -> str:
        n = rng.randint(2, 4)
        return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(n))

    others = [word() for _ in range(N_OTHERS)]
    for label in range(n_labels):
        own = word() + word()
        for _ in range(2):
            words = [rng.choice(others) for _ in range(rng.randint(3, 6))]
            start = rng.randrange(len(words))
            span = [own, word() + word()][: rng.randint(1, 2)]
            words[start:start] = span
            end = start + len(span)
            yield {"tokens": words, "spans": [[start, end, f"L{label}"]]}


def config_of(path: Path, max_iter: int | None) -> Path:
    """Write a config for the kind of data that the path names, with one value of l2:
    how many fits "auto" takes depends on where scores fall. RETURNS (Path): It."""
    config = Config().from_disk(training.write_init(path, path.stem), interpolate=False)
    fit = config["initialize"]["components"]["hosemi"]["fit"]
    fit["l2"] = DEFAULT
    if max_iter:
        fit["max_iter"] = max_iter
    config.to_disk(path)
    return path


def write(folder: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write a data set; dev has the first documents, since nobody judges here. Returns
    its folder."""
    folder.mkdir(parents=True)
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "dev.jsonl").write_text("".join(lines[:20]), encoding="utf-8")
    return folder


def row_of(
    data: Path, folder: Path, max_train: int | None, config: Path | None = None
) -> list[Any]:
    """Returns a row of the table, with a config or with the one that `check` names;
    files are kept in a folder."""
    train = harness.draw(harness.read_lines(data / "train.jsonl"), max_train)
    other = data / "dev.jsonl"
    other = other if other.exists() else data / "test.jsonl"
    dev = harness.read_lines(other)
    splits = training.make_splits(folder, "en", train, dev, dev)
    command = [sys.executable, "-m", "spacy", "hosemi"]
    check = [*command, "check", str(splits.train), "--dev", str(splits.dev), "--json"]
    check += ["--config", str(config)] if config else []
    checking = measured(check, accepted=(0, 1))  # 1: the data have faults
    found = json.loads(checking.output[checking.output.index("{\n") :])
    kind = found["config"]["kind"] if config is None else config.stem
    config = config or training.write_init(folder / "config.cfg", kind)
    _, usage, _ = training.train(config, splits, [])
    cost = found["cost"]
    seconds, memory = cost["seconds"]["about"], cost["megabytes"]["about"]
    row = [kind, splits.n_docs["train"], splits.n_tokens["train"]]
    row += [checking.cpu_s, seconds, usage.cpu_s, seconds / usage.cpu_s]
    row += [memory, usage.peak_mb, memory / usage.peak_mb]
    return [*row, cost["n_evaluations"], cost["n_weights"]]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Estimate and train on what is there, or on what is made of it."""
    rows: list[list[Any]] = []
    todo = [(x.resolve().name, x, None) for x in args.datasets]
    if args.documents or args.labels:
        configs = [config_of(folder / f"{x}.cfg", args.max_iter) for x in KINDS]
        source = args.datasets[0] / "train.jsonl"
        sizes = [(f"{n} documents", documents(source, n), 0) for n in args.documents]
        sizes += [(f"{n} labels", labelled(n), 1) for n in args.labels]
        todo = [(x, write(folder / "data" / x, y), configs[k]) for x, y, k in sizes]
    for name, data, config in todo:
        rows.append([name, *row_of(data, folder / name, args.max_train, config)])
        print(*rows[-1], file=sys.stderr, flush=True)
    harness.report(args, "Estimates", harness.table(COLUMNS, rows), rows=rows)


OPTIONS = {
    "--documents": number([], "train on so many", nargs="*"),
    "--labels": number([], "train on so many", nargs="*"),
}
main = script(__doc__, measure, "datasets --max-train --max-iter --json", OPTIONS)

if __name__ == "__main__":
    main()
