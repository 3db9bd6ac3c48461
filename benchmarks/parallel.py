"""Two ways to use two cores: threads of the component, and processes of the pipeline.

    python benchmarks/parallel.py ../data/anystyle
    python benchmarks/parallel.py ../data/anystyle --models MODEL --joined 12

Documents are those of train.jsonl, again and again until there are enough; with
--joined, so many of them in one. They are made before the clock runs. What runs:

- threads: `components.hosemi.threads`, in one process;
- processes: `nlp.pipe(docs, n_process=N)`, which sends documents to others and back;
- sentencizer: a pipeline of this component alone, for what sending costs by itself;
- bare loop: processes that only count, each as far as one alone, and share nothing. No
  threads can gain more than they do: cores may be halves of one.

Wall-clock time, not CPU time, for that is what more cores are to save; the machine must
be idle otherwise. Each row is the median of passes that take turns. All rows of hosemi
must find the same entities, or the script stops. Python's garbage collector does not
look through documents that were made before: in a stream they come and go.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from measuring import (
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    environment,
    make_splits,
    read_lines,
    run_folder,
    table,
)
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import load_model
from tqdm import tqdm
from training import config_lang, entity_component, train

# Steps of a bare loop: some tenths of a second.
N_STEPS = 5_000_000

Entities = list[list[tuple[int, int, str]]]


@dataclass
class Way:
    """One way to run a pipeline; its wall-clock seconds by pass."""

    name: str
    run: Callable[[list[Doc]], list[Doc]]
    seconds: list[float] = field(default_factory=list)


def count_up(n_steps: int) -> int:
    """A bare loop."""
    total = 0
    for i in range(n_steps):
        total += i * i % 7
    return total


def loop_seconds(n: int) -> float:
    """Wall-clock time that each of n processes takes for the same loop."""
    with ProcessPoolExecutor(n) as pool:
        list(pool.map(count_up, [1] * n))  # they begin
        began = time.perf_counter()
        list(pool.map(count_up, [N_STEPS] * n))
        return time.perf_counter() - began


def loop_gain(n: int) -> float:
    """How much more n processes do than one, by medians."""
    seconds = [(loop_seconds(1), loop_seconds(n)) for _ in range(7)]
    one, many = map(median, zip(*seconds, strict=True))
    return n * one / many


def ways_of(nlp: Language, counts: list[int], is_threads_only: bool) -> list[Way]:
    """All ways to be measured; the first of hosemi is one thread in one process."""
    name = entity_component(nlp)
    component: Any = nlp.get_pipe(name)

    def in_threads(docs: list[Doc], n: int) -> list[Doc]:
        component.threads = n
        try:
            return list(component.pipe(docs))
        finally:
            component.threads = 1

    def in_processes(pipeline: Language, docs: list[Doc], n: int) -> list[Doc]:
        return list(pipeline.pipe(docs, n_process=n))

    sentences = spacy.blank(nlp.lang, vocab=nlp.vocab)
    sentences.add_pipe("sentencizer")
    ways = []
    for n in counts:
        ways.append(Way(f"hosemi, threads {n}", lambda x, n=n: in_threads(x, n)))
    if is_threads_only:
        counts = []
    for what, pipeline in (("hosemi", nlp), ("sentencizer", sentences)):
        for n in counts:
            run = lambda x, n=n, p=pipeline: in_processes(p, x, n)  # noqa: E731
            ways.append(Way(f"{what}, processes {n}", run))
    return ways


def words_of(path: Path, nlp: Language, n_docs: int, joined: int) -> list[list[str]]:
    """Words of so many documents, each of so many of the file."""
    docs = DocBin().from_disk(path).get_docs(nlp.vocab)
    words = cycle([token.text for token in doc] for doc in list(docs))
    return [
        [word for some in islice(words, joined) for word in some] for _ in range(n_docs)
    ]


def entities(docs: list[Doc]) -> Entities:
    """What was found."""
    return [[(ent.start, ent.end, ent.label_) for ent in doc.ents] for doc in docs]


def run_passes(
    ways: list[Way], nlp: Language, words: list[list[str]], n_passes: int
) -> None:
    """Measure all ways in turns, after a first pass; stop if entities differ."""
    expected: Entities | None = None
    for turn in tqdm(range(1 + n_passes), desc="passes"):
        for way in ways:
            docs = [Doc(nlp.vocab, words=some) for some in words]
            gc.collect()
            gc.freeze()
            began = time.perf_counter()
            found = way.run(docs)
            seconds = time.perf_counter() - began
            gc.unfreeze()
            if turn:
                way.seconds.append(seconds)
            if way.name.startswith("hosemi"):
                expected = expected or entities(found)
                if entities(found) != expected:
                    sys.exit(f"{way.name} finds other entities")


def speed_table(ways: list[Way], n_docs: int, n_tokens: int) -> str:
    """Write the speeds, and how they compare with one of the same kind."""
    rows, one = [], 0.0
    for way in ways:
        seconds = median(way.seconds)
        one = seconds if way.name.endswith(" 1") else one
        rows.append(
            [
                way.name,
                f"{n_docs / seconds:,.0f}",
                f"{n_tokens / seconds:,.0f}",
                f"{1e6 * seconds / n_docs:,.0f}",
                f"{one / seconds:.2f}",
            ]
        )
    return table(["", "docs per s", "tokens per s", "us a doc", "/ one"], rows)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Measure threads and processes side by side.",
        epilog="Example: python benchmarks/parallel.py ../data/anystyle",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add(
        "--models",
        type=Path,
        metavar="DIR",
        help="a trained pipeline with hosemi (default: train --config)",
    )
    add(
        "--documents",
        type=int,
        default=20_000,
        metavar="N",
        help="how many documents (default: %(default)s)",
    )
    add(
        "--joined",
        type=int,
        default=1,
        metavar="N",
        help="documents of the data in each of them (default: %(default)s)",
    )
    add(
        "--counts",
        type=int,
        nargs="+",
        default=[1, 2],
        metavar="N",
        help="threads and processes (default: 1 2)",
    )
    add(
        "--passes",
        type=int,
        default=5,
        metavar="N",
        help="passes over them, after a first one (default: %(default)s)",
    )
    add("--threads-only", action="store_true", help="leave processes out")
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    add("--quiet", action="store_true", help="do not show what training prints")
    args = parser.parse_args()
    check_system(parser)
    check_overrides(parser, args.overrides)
    for path in (args.data / "train.jsonl", args.config, args.models):
        if path is not None and not path.exists():
            parser.error(f"there is no {path}")
    numbers = (args.documents, args.joined, args.passes, *args.counts)
    if min(numbers) < 1 or args.counts[0] != 1:
        parser.error("numbers are at least 1, and the first of --counts is 1")
    return args


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, or load, measure, and print the table."""
    lines = read_lines(args.data / "train.jsonl")
    splits = make_splits(folder, config_lang(args.config), lines, None, lines[:1])
    model = args.models
    if model is None:
        model, _, _ = train(args.config, splits, args.overrides, args.quiet)
    nlp = load_model(model)
    words = words_of(splits.train, nlp, args.documents, args.joined)
    ways = ways_of(nlp, args.counts, args.threads_only)
    run_passes(ways, nlp, words, args.passes)
    n_tokens, where = sum(map(len, words)), environment()
    print(
        f"{args.data.resolve().name}: {len(words)} docs ({n_tokens} tokens), "
        f"{args.passes} passes, wall-clock time\n"
        f"{where['date']}, {where['cpu']}, commit {where['commit']}, "
        f"spaCy {where['versions']['spacy']}\n"
    )
    print(speed_table(ways, len(words), n_tokens))
    loops = {n: loop_gain(n) for n in args.counts if n > 1}
    for n, gain in loops.items():
        print(f"bare loop, processes {n}: {gain:.2f} times as much as one")
    record = {
        "data": args.data.resolve().name,
        "n_docs": len(words),
        "n_tokens": n_tokens,
        "seconds": {way.name: way.seconds for way in ways},
        "bare_loops": loops,
    }
    append_json(args.json, record)


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    with run_folder(args) as folder:
        measure(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
