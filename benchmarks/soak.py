"""Whether memory stays as it is while an endless stream is read.

    python benchmarks/soak.py DATA --documents 5000000

Documents are those of train.jsonl, in turn, with three of ten words replaced by words
that have never been there; every 100,000th has 200,000 tokens. The component is trained
on DATA with a list of a third of its spans. Each row of `WAYS` reads the stream in a
process of its own, with each number of threads:

- extract: `spacy_hosemi.extract`, called with 10,000 texts at a time;
- small: the same, called with 100 texts at a time;
- pipe: `nlp.pipe` with `confidence = true`, in a `memory_zone` for each 1,000 texts;
- collective: `extract` with `collective = 1`, which makes documents.

The table has the resident memory, in MB, by thousands of documents, and its growth: the
largest value after the first 200,000 documents, above the value there, in percent.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import harness
import spacy
from arguments import number, script, some_of
from processes import in_process, resident_mb
from spacy.language import Language

import spacy_hosemi

# Documents after which there is a figure, those before the first one that counts, and
# those from one long document to the next.
EVERY, FIRST, LONG_EVERY = 50_000, 200_000, 100_000
N_LONG = 200_000
NEW = 0.3
WAYS = {"extract": 10_000, "small": 100, "pipe": 1000, "collective": 10_000}


def train(data: Path, folder: Path, max_iter: int, *, lists: bool = True) -> Path:
    """Returns a trained pipeline with the field tokenizer and, if asked, with a list of
    a third of the spans."""
    nlp = spacy_hosemi.use_field_tokenizer(spacy.blank("en"))
    config, given = {}, {}
    pairs = harness.read_marked(data / "train.jsonl")
    if lists:
        config = {"names": {"@misc": "spacy_hosemi.gazetteer.v1"}}
        found = {text[i:j] for text, spans in pairs for i, j, _ in spans}
        entries = sorted(found)[::3]
        given = {"gazetteers": {"names": lambda: iter(entries)}}
    pipe: Any = nlp.add_pipe("hosemi", config={"model": {"gazetteers": config}})
    pipe.fit(pairs, nlp=nlp, progress=False, max_iter=max_iter, **given)
    spacy_hosemi.save(nlp, folder / "model")
    return folder / "model"


def stream(texts: Sequence[str], n: int, long_every: int) -> Iterator[str]:
    """Yields n texts with ever new words, and some long ones among them."""
    rng, n_new = random.Random(0), 0
    words_of = [text.split() for text in texts]
    for k in range(n):
        if long_every and k % long_every == long_every // 2:
            yield " ".join(f"{n_new + i:x}"[-4:] for i in range(N_LONG))
        words = words_of[k % len(words_of)].copy()
        for i in range(len(words)):
            if rng.random() < NEW:
                n_new += 1
                words[i] = f"{words[i][:3]}{n_new:x}"
        yield " ".join(words)


def read_all(nlp: Language, texts: Iterator[str], way: str, threads: int) -> None:
    """Read the texts, and forget what is found."""
    size = WAYS[way]
    while some := [*islice(texts, size)]:
        if way != "pipe":
            spacy_hosemi.extract(nlp, some, threads=threads)
            continue
        with nlp.memory_zone():
            for doc in nlp.pipe(some):
                sum(ent._.confidence for ent in doc.ents)


def soak(
    model: str, data: str, way: str, threads: int, n: int, every: int, long_every: int
) -> dict[str, Any]:
    """Returns "mb": after every N documents; "seconds": CPU."""
    nlp = spacy.load(model)
    pipe: Any = nlp.get_pipe("hosemi")
    pipe.threads, pipe.confidence = threads, True
    if way == "collective":
        pipe.collective = 1.0
    found = []
    texts = [text for text, _ in harness.read_marked(Path(data) / "train.jsonl")]
    began, source = time.process_time(), stream(texts, n, long_every)
    for _ in range(-(-n // every)):
        read_all(nlp, islice(source, every), way, threads)
        gc.collect()
        found.append(resident_mb())
    return {"mb": found, "seconds": time.process_time() - began}


def growth(found: Sequence[float], first: int) -> float:
    """Returns percent of what is there after the first documents, by which the largest
    figure after that is above it."""
    base = found[min(first, len(found)) - 1]
    return 100 * (max(found[first - 1 :] or [base]) / base - 1)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Let all ways read the stream."""
    model = train(args.data, folder, args.max_iter)
    rows, curves = [], {}
    every = min(EVERY, args.documents)
    for way in args.ways:
        for threads in args.threads:
            how = way, threads, args.documents, every, args.long_every
            found, _ = in_process(soak, model, args.data.resolve(), *how)
            mb = found["mb"]
            curves[f"{way}, {threads}"] = mb
            speed = args.documents / found["seconds"]
            rows.append([way, threads, growth(mb, FIRST // every), speed, *mb])
            print(rows[-1], flush=True)
    n = -(-args.documents // every)
    columns = ["way", "threads|d", "growth %|.1f", "texts a CPU s|,.0f"]
    columns += [f"{every * k / 1000:,.0f}|,.0f" for k in range(1, n + 1)]
    text = f"{args.documents:,} documents; resident MB by thousands of them."
    table = harness.table(columns, rows)
    path = args.output / "soak.md"
    harness.report(args, "Memory over a stream", text, table, path=path, curves=curves)


OPTIONS = {
    "--documents": number(5_000_000),
    "--threads": number([1, 2]),
    "--long-every": number(LONG_EVERY, "documents, one is long; 0: none", 0),
    "--ways": some_of(WAYS),
}
SHARED = "data --max-iter --output --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_iter=100)

if __name__ == "__main__":
    main()
