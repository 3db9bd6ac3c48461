"""Two ways to use two cores: threads of the component, and processes of the pipeline.

    python benchmarks/parallel.py ../data/anystyle

Documents are those of train.jsonl, repeated until there are --documents of them; with
--joined N, each is N of them concatenated. They are made before the clock runs. What
runs:

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
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import harness
import spacy
from arguments import flag, number, script
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from training import entity_component, models_of

N_STEPS = 5_000_000  # of a bare loop: some tenths of a second

Entities = list[list[tuple[int, int, str]]]


def count_up(n_steps: int) -> int:
    """A bare loop."""
    total = 0
    for i in range(n_steps):
        total += i * i % 7
    return total


def loop_gain(n: int) -> float:
    """How much more n processes do than one, by medians of wall-clock time."""
    with ProcessPoolExecutor(n) as pool:

        def loops(k: int) -> harness.Timed:
            return harness.Timed(lambda _: list(pool.map(count_up, [N_STEPS] * k)))

        found = harness.take_turns({1: loops(1), n: loops(n)}, 7, time.perf_counter)
    return n * median(found[1]) / median(found[n])


def make_ways(
    nlp: Language, words: list[list[str]], counts: list[int], is_threads_only: bool
) -> dict[str, harness.Timed]:
    """What is measured, by name: each way on fresh documents of these words. All of
    hosemi must find what the first one has found."""
    component: Any = nlp.get_pipe(entity_component(nlp))
    sentences = spacy.blank(nlp.lang, vocab=nlp.vocab)
    sentences.add_pipe("sentencizer")
    first: Entities = []

    def in_threads(docs: list[Doc], n: int) -> list[Doc]:
        component.threads = n
        try:
            return list(component.pipe(docs))
        finally:
            component.threads = 1

    def in_processes(docs: list[Doc], n: int) -> list[Doc]:
        return list(nlp.pipe(docs, n_process=n))

    def split(docs: list[Doc], n: int) -> list[Doc]:
        return list(sentences.pipe(docs, n_process=n))

    def fresh() -> list[Doc]:
        return [Doc(nlp.vocab, words=some) for some in words]

    def check(docs: list[Doc]) -> None:
        found = [[(x.start, x.end, x.label_) for x in doc.ents] for doc in docs]
        first.extend(() if first else found)
        if found != first:
            sys.exit("not all ways find the same entities")

    ways: dict[str, Any] = {"hosemi, threads": (in_threads, check)}
    if not is_threads_only:
        ways["hosemi, processes"] = in_processes, check
        ways["sentencizer, processes"] = split, len
    return {
        f"{name} {n}": harness.Timed(partial(way, n=n), fresh, checked)
        for name, (way, checked) in ways.items()
        for n in counts
    }


def words_of(path: Path, nlp: Language, n_docs: int, joined: int) -> list[list[str]]:
    """Words of n_docs documents, each of `joined` documents of a file."""
    words = cycle([t.text for t in doc] for doc in harness.read_docs(path, nlp))
    return [
        [word for some in islice(words, joined) for word in some] for _ in range(n_docs)
    ]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, or load, measure, and print the table."""
    nlp = load_model(models_of(args, folder)[0])
    path = args.data / "train.jsonl"
    words = words_of(path, nlp, args.documents, args.joined)
    ways = make_ways(nlp, words, args.counts, args.threads_only)
    seconds = harness.take_turns(ways, args.passes, time.perf_counter)
    n_tokens, rows, one = sum(map(len, words)), [], 0.0
    for name, found in seconds.items():
        s = median(found)
        one = s if name.endswith(f" {args.counts[0]}") else one
        rows.append([name, len(words) / s, n_tokens / s, 1e6 * s / len(words), one / s])
    loops = {n: loop_gain(n) for n in args.counts if n > 1}
    columns = ["docs per s|,.0f", "tokens per s|,.0f", "us a doc|,.0f", "/ one|.2f"]
    harness.report(
        args,
        f"{args.data.resolve().name}: {len(words)} docs ({n_tokens} tokens), "
        f"{args.passes} passes, wall-clock time",
        harness.table(["", *columns], rows),
        *(f"bare loop, processes {n}: {x:.2f} times one" for n, x in loops.items()),
        seconds=seconds,
        bare_loops=loops,
    )


OPTIONS = {
    "--documents": number(20_000, "how many documents"),
    "--joined": number(1, "documents of the data in each of them"),
    "--counts": number([1, 2], "threads and processes, beside the first"),
    "--threads-only": flag("no processes"),
}
SHARED = "data --config --overrides --models --passes --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS, passes=5)

if __name__ == "__main__":
    main()
