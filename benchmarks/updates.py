"""Does `nlp.update` learn new documents, and does it keep what a model knows?

    python benchmarks/updates.py ../data/anystyle --new ../data/cora --kind references

A model is trained on DATA. Then it is loaded again for each number of documents, which
are drawn from train of NEW, or, "known", of DATA; "mixed" are as many of each.
`nlp.update` sees them in batches, in another order in each pass, with the optimizer of
`nlp.resume_training`. "Anew" is what training on DATA and the new documents together
gives. With --label, documents that have this label are new, the others old, and there
are --mix old ones for each new one among the mixed. F1 and exact records, in per cent,
on test of DATA ("old") and of NEW; CPU seconds are those of all updates.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import harness
from arguments import number, path_to, script
from spacy.training import Corpus
from spacy.util import load_model, minibatch
from training import config_lang, make_splits, tested, train, write_init


def has(line: bytes, label: str) -> bool:
    """Whether a document has a span with a label."""
    return any(span[2] == label for span in json.loads(line)["spans"])


def updated(model: Path, docs: Path, batch: int, passes: int) -> tuple[Any, float]:
    """Returns a saved pipeline after its updates, and their CPU seconds."""
    nlp = load_model(model)
    optimizer, rng = nlp.resume_training(), random.Random(harness.SEED)
    seconds = -time.process_time()
    for _ in range(passes):
        examples = list(Corpus(docs)(nlp))
        rng.shuffle(examples)
        for some in minibatch(examples, batch):
            nlp.update(some, sgd=optimizer)
    return nlp, seconds + time.process_time()


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, update with each number of documents, print everything."""
    config = write_init(folder / "init.cfg", args.kind)
    old, new, of_new = (
        harness.read_lines(data / f"{part}.jsonl")[: args.max_docs]
        for data, part in ((args.data, "test"), (args.new, "test"), (args.new, "train"))
    )
    known = harness.read_lines(args.data / "train.jsonl")
    if args.label:
        old, known = ([x for x in y if not has(x, args.label)] for y in (old, known))
        new, of_new = ([x for x in y if has(x, args.label)] for y in (new, of_new))
    known = harness.draw(known, args.max_train)

    def splits_of(name: str, lines: harness.Lines, test: harness.Lines) -> Any:
        return make_splits(folder / name, config_lang(config), lines, None, test)

    def scores(nlp: Any) -> list[float]:
        found = [tested(nlp, path) for path in tests]
        return [figure for pair in found for figure in pair]

    base = splits_of("old", known, old)
    tests = base.test, splits_of("new", of_new, new).test
    model, _, _ = train(config, base, args.overrides)
    rows: list[list[Any]] = [["as trained", 0, 0, *scores(load_model(model)), None]]
    pools = {"known": (0, 1), "new": (1, 0), "mixed": (1, args.mix)}
    for name, (n_new, n_known) in pools.items():
        for size in args.sizes:
            drawn = harness.shuffled(of_new)[: n_new * size]
            drawn += harness.shuffled(known)[: n_known * size]
            docs = splits_of(f"{name}-{size}", drawn, old).train
            for passes in args.passes:
                nlp, seconds = updated(model, docs, args.batch, passes)
                rows.append([name, size, passes, *scores(nlp), seconds])
            if name == "new":
                both = splits_of(f"anew-{size}", [*known, *drawn], old)
                path, _, _ = train(config, both, args.overrides)
                rows.append(["anew", size, None, *scores(load_model(path)), None])
    columns = ["documents", "number|d", "passes|d", "old F1|.1f", "old records|.1f"]
    columns += ["new F1|.1f", "new records|.1f", "CPU s|.2f"]
    names = args.data.resolve().name, args.new.resolve().name
    title = f"{names[0]}, updated with {names[1]}, batches of {args.batch}"
    harness.report(args, title, harness.table(columns, rows), rows=rows)


OPTIONS = {
    "--new": path_to("has {train,test}.jsonl of other documents", required=True),
    "--sizes": number([1, 8, 33, 128], "documents"),
    "--passes": number([1, 3, 10], "through them"),
    "--label": dict(help="that makes a document of DATA or NEW a new one"),
    "--mix": number(1, "old documents for each new one"),
    "--batch": number(8, "documents in an update"),
}
SHARED = "data --kind --max-train --max-docs --overrides --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS)

if __name__ == "__main__":
    main()
