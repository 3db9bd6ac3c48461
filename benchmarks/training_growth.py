"""How the time and memory of batch training grow with documents and with labels.

    python benchmarks/training_growth.py ../data/ncbi_disease

- Documents: those of train.jsonl, again and again until there are enough. In each copy
  the words that are in train once or twice are spelt with other letters, others in each
  copy, so that features grow as they do with documents that are really new.
- Labels: two examples of each in documents of four to eight random words: one word that
  tells the label, and often another one that it never has again.

For each size `hosemi check` says what training takes; then `spacy train` is run. The
columns are those of `estimates.py`; the config is that for names, or for requests where
labels grow. --max-iter is for sizes that take hours: time and memory are those of so
few iterations then, estimated and measured.
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

import estimates
import harness
from arguments import number, script
from thinc.api import Config
from training import write_init

from spacy_hosemi.component.penalty_search import DEFAULT

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
    config = Config().from_disk(write_init(path, path.stem), interpolate=False)
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


def measure(args: argparse.Namespace, folder: Path) -> None:
    data = folder / "data"
    configs = [config_of(folder / f"{x}.cfg", args.max_iter) for x in KINDS]
    source = args.data / "train.jsonl"
    made = [
        (f"{n} documents", documents(source, n), configs[0]) for n in args.documents
    ]
    made += [(f"{n} labels", labelled(n), configs[1]) for n in args.labels]
    rows = []
    for name, records, config in made:
        path = write(data / name.replace(" ", "-"), records)
        row = estimates.row_of(path, folder / path.name, None, config)
        rows.append([name, *row[2:]])
        print(*rows[-1], file=sys.stderr, flush=True)
    columns = ["size", *estimates.COLUMNS[2:]]
    title = f"{args.data.resolve().name}: growth of training"
    harness.report(args, title, harness.table(columns, rows), rows=rows)


OPTIONS = {
    "--documents": number([1_000, 5_000, 20_000, 50_000], "how many", nargs="*"),
    "--labels": number([10, 100, 600], "how many", nargs="*"),
}
main = script(__doc__, measure, "data --max-iter --json", OPTIONS)

if __name__ == "__main__":
    sys.exit(main())
