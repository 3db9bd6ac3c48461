"""How the time of prediction grows: with labels, lists, and words that come.

    python benchmarks/prediction_growth.py ../data/anystyle --lists ../data/gazetteers

- Labels: those of the spans of DATA are merged, or divided by the first word of a span,
  until there are N. What is learnt means little; the time is that of N labels.
- Lists: the first N of --lists, in the order of the alphabet.
- Stream: one pipeline, trained on DATA, reads the documents of test.jsonl of DATA and
  of train.jsonl of all folders of --more, shuffled, each once. A row has the tokens,
  documents and types (different tokens) so far, and the time of the tokens since the
  row before.

All are first sight: a pipeline that was just loaded meets each document once, after a
few of train. Figures are medians of the passes, in which the sizes take turns; the
stream is read once. "mbr" and "viterbi" are two settings of one model.
"""

from __future__ import annotations

import argparse
import json
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import harness
import spacy
from arguments import path_to, script, some_of
from predictors import pipeline
from processes import resident_mb
from spacy.tokens import Doc
from throughput import N_WARM, timed
from tqdm import tqdm
from training import config_lang, make_splits, read_splits, train, write_init

KINDS = ("labels", "lists", "stream")
N_LABELS, N_LISTS = (5, 10, 20, 40, 80, 140), (0, 1, 2, 4, 8, 12)
# Numbers of tokens after which a row of the stream is written.
STEPS = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000, 400_000, 800_000)
DECODINGS = ("viterbi", "mbr")


def relabelled(lines: Sequence[bytes], n_labels: int) -> list[bytes]:
    """Returns documents whose spans have at most N labels."""
    docs = [json.loads(line) for line in lines]
    labels = sorted({span[2] for doc in docs for span in doc["spans"]})
    parts = -(-n_labels // len(labels))
    for doc in docs:
        for span in doc["spans"]:
            number = labels.index(span[2])
            letters = sum(map(ord, doc["tokens"][span[0]]))
            span[2] = f"L{(number * parts + letters % parts) % n_labels}"
    return [json.dumps(doc).encode() for doc in docs]


def read(args: argparse.Namespace) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Lines of train and test."""
    lines = harness.read_lines(args.data / "train.jsonl")
    test = harness.read_lines(args.data / "test.jsonl")[: args.max_docs]
    return harness.draw(lines, args.max_train), test


def with_labels(args: argparse.Namespace, folder: Path) -> Iterator[tuple[int, Path]]:
    """Yields the number of labels, and a model."""
    for n in N_LABELS:
        train_, test = (relabelled(some, n) for some in read(args))
        lang = config_lang(args.config)
        splits = make_splits(folder / f"L{n}", lang, train_, None, test)
        model = train(args.config, splits, args.overrides)[0]
        yield len(spacy.load(model).get_pipe("hosemi").labels), model


def with_lists(args: argparse.Namespace, folder: Path) -> Iterator[tuple[int, Path]]:
    """The same, with the number of lists."""
    for n in N_LISTS:
        config = folder / f"{n}.cfg"
        write_init(config, args.kind, args.lists, n_lists=n)
        splits = read_splits(args, folder / f"G{n}", config, has_dev=False)
        yield n, train(config, splits, args.overrides)[0]


def sizes_table(
    args: argparse.Namespace, title: str, models: dict[int, Path]
) -> tuple[str, dict[str, Any]]:
    """Time models that take turns on the same documents."""
    warm, docs = ([json.loads(x)["tokens"] for x in lines] for lines in read(args))
    warm, docs = ([(x, [True] * len(x)) for x in y] for y in (warm[:N_WARM], docs))
    n_tokens = sum(len(words) for words, _ in docs)
    loaders = {
        f"{n:,} {decoding}": partial(pipeline, model, decoding=decoding)
        for n, model in models.items()
        for decoding in DECODINGS
    }
    seconds = timed(loaders, ["doc-pipe"], warm, docs, args.passes)
    us = {
        name: 1e6 * median(first for first, _ in found) / n_tokens
        for (name, _), found in seconds.items()
    }
    rows = [[f"{n:,}", *(us[f"{n:,} {x}"] for x in DECODINGS)] for n in models]
    columns = [title, *(f"{x}: us/token|.2f" for x in DECODINGS)]
    return harness.table(columns, rows), {f"{title} {x}": y for x, y in us.items()}


def cut(docs: Sequence[list[str]]) -> Iterator[Sequence[list[str]]]:
    """Yields documents in turn, until they have the tokens of each of STEPS, and those
    that are left."""
    totals = list(accumulate(map(len, docs)))
    ends = [bisect_left(totals, step) + 1 for step in STEPS if step <= totals[-1]]
    for start, end in pairwise(sorted({0, *ends, len(docs)})):
        yield docs[start:end]


def stream_table(args: argparse.Namespace, folder: Path) -> tuple[str, dict[str, Any]]:
    """One pipeline that reads documents of many kinds."""
    splits = read_splits(args, folder / "stream", args.config, has_dev=False)
    nlp = spacy.load(train(args.config, splits, args.overrides)[0])
    component: Any = nlp.get_pipe("hosemi")
    files = [args.data / "test.jsonl", *(x / "train.jsonl" for x in args.more)]
    lines = [line for path in files for line in harness.read_lines(path)]
    words = [json.loads(line)["tokens"] for line in harness.shuffled(lines)]
    types: set[str] = set()
    rows, total, n_docs = [], 0, 0
    for batch in tqdm(cut(words), desc="stream", total=len(STEPS) + 1, disable=None):
        docs = [Doc(nlp.vocab, words=of_doc) for of_doc in batch]
        began = time.process_time()
        for _ in component.pipe(docs):
            pass
        seconds = time.process_time() - began
        n_tokens = sum(map(len, batch))
        total, n_docs = total + n_tokens, n_docs + len(batch)
        types.update(word for of_doc in batch for word in of_doc)
        microseconds = 1e6 * seconds / n_tokens
        rows.append([f"{total:,}", n_docs, len(types), microseconds, resident_mb()])
    columns = ["tokens", "documents|,", "types|,", "us/token|.2f", "resident MB|,.0f"]
    return harness.table(columns, rows), {"stream": rows}


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure what is asked for, and print the tables."""
    tables, figures = [], {}
    for kind, make in (("labels", with_labels), ("lists", with_lists)):
        if kind in args.only and (kind == "labels" or args.lists):
            text, found = sizes_table(args, kind, dict(make(args, folder)))
            tables.append(text)
            figures.update(found)
    if "stream" in args.only:
        text, found = stream_table(args, folder)
        tables.append(text)
        figures.update(found)
    title = f"{args.data.resolve().name}, trained on {args.max_train} docs at most"
    harness.report(args, title, "\n\n".join(tables), seconds=figures)


OPTIONS = {
    "--only": some_of(KINDS),
    "--more": path_to("data that the stream has, too", nargs="+", default=[]),
}
SHARED = "data --config --overrides --kind --lists --max-train --max-docs --passes"
DEFAULTS = {"kind": "references", "max_train": 500}
main = script(__doc__, measure, f"{SHARED} --runs --json", OPTIONS, **DEFAULTS)

if __name__ == "__main__":
    main()
