"""How long it takes to explain a span.

    python benchmarks/explain_time.py ../data/anystyle
    python benchmarks/explain_time.py ../data/anystyle --models DIR --tokens 20000

- "a document": one predicted span of each document of test.jsonl, drawn at random;
  "one of many": the same, if all spans of the document are explained in one call.
- "N tokens": documents of test.jsonl joined to one; ten of its spans are drawn.
- "not predicted": the same places with another label.

CPU milliseconds of this process for each span: the median, and the largest. Beside them
what the prediction of these documents takes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import harness
import spacy
from arguments import number, script
from spacy.tokens import Doc
from training import models_of

N_LONG = 10  # spans of the long document


def timed(call: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Returns CPU milliseconds, and what was returned."""
    began = time.process_time()
    found = call(*given)
    return 1e3 * (time.process_time() - began), found


def predicted(pipe: Any, docs: Iterable[Doc]) -> Iterator[tuple[float, Doc]]:
    """Yields milliseconds, and a document with entities."""
    for doc in docs:
        took, doc = timed(pipe, doc)
        if doc.ents:
            yield took, doc


def of_spans(pipe: Any, doc: Doc, n: int) -> dict[str, list[float]]:
    """Milliseconds for some of its spans."""
    ents = random.Random(harness.SEED).sample(doc.ents, min(n, len(doc.ents)))
    others = [
        (ent.start, ent.end, next(y for y in pipe.labels if y != ent.label_))
        for ent in (ents if len(pipe.labels) > 1 else ())
    ]
    return {
        "predicted": [timed(pipe.explain, doc, x)[0] for x in ents],
        "not predicted": [timed(pipe.explain, doc, x)[0] for x in others],
    }


def row_of(name: str, took: list[float]) -> list[Any]:
    """Returns a row of the table."""
    return [name, len(took), median(took), max(took)]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Explain, and print the table."""
    lines = harness.read_lines(args.data / "test.jsonl")
    words = [json.loads(line)["tokens"] for line in lines]
    for model in models_of(args, folder):
        nlp = spacy.load(model)
        pipe: Any = nlp.get_pipe("hosemi")
        few = [Doc(nlp.vocab, words=x) for x in islice(words, args.max_docs)]
        found = [*predicted(pipe, few)]
        short: dict[str, list[float]] = {"predicted": [], "not predicted": []}
        together = []
        for _, doc in found:
            for name, took in of_spans(pipe, doc, 1).items():
                short[name] += took
            together.append(timed(pipe.explain, doc)[0] / len(doc.ents))
        joined = [*islice(chain.from_iterable(cycle(words)), args.tokens)]
        ((long_took, long),) = predicted(pipe, [Doc(nlp.vocab, words=joined)])
        rows = [
            row_of("a document: prediction", [took for took, _ in found]),
            *(row_of(f"a document: {name}", took) for name, took in short.items()),
            row_of("a document: one of many", together),
            row_of(f"{args.tokens:,} tokens: prediction", [long_took]),
            *(
                row_of(f"{args.tokens:,} tokens: {name}", took)
                for name, took in of_spans(pipe, long, N_LONG).items()
            ),
        ]
        columns = ["ms", "n|,", "median|.1f", "largest|.1f"]
        title = f"{args.data.resolve().name}, {len(pipe.labels)} labels: explain"
        harness.report(args, title, harness.table(columns, rows), rows=rows)


OPTIONS = {"--tokens": number(20_000, "of the long document")}
SHARED = "data --config --overrides --max-train --max-docs --models --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_train=400, max_docs=200)

if __name__ == "__main__":
    sys.exit(main())
