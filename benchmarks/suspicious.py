"""Whether wrong gold is found, beside cleanlab's scores of tokens.

    python benchmarks/suspicious.py DATA ... --kind references

A part of the spans of each DATA is made wrong: a border moves by a token, the label is
another one, the span is gone, or there is one more where no span was. Records are then
ranked by

- hosemi: the evidence of `hosemi suspicious`, with the config that `init --for KIND`
  writes;
- cleanlab: the score of cleanlab's token classification (the lowest probability that a
  token of the record has its given label), of the marginals of the same models;
- record: log P(gold record) against that of the best one, of the same models.

Printed is the average precision of each, in per cent, by record, and of `hosemi` by the
kind of error, with the sound records as the others.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import spacy
from arguments import number, script
from cleanlab.token_classification.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi.component.folds import folds_of, words_of
from spacy_hosemi.component.pipe import HighOrderSemiCRF
from spacy_hosemi.explain.label_errors import cross_fitted, judge_labels
from spacy_hosemi.formats import read_docs
from spacy_hosemi.inspection.corpus import trainable
from spacy_hosemi.inspection.pipelines import pipeline_of_kind
from spacy_hosemi.labels.alignment import read_annotations

WRONG = "border", "label", "missing", "extra"
Triple = tuple[int, int, str]


def corrupted(doc: Doc, labels: Sequence[str], share: float, rng: random.Random) -> str:
    """Make some spans wrong. RETURNS (str): The kinds of what was done."""
    spans: list[Triple] = [(x.start, x.end, x.label_) for x in doc.ents]
    done = []
    for span in [*spans]:
        if rng.random() >= share:
            continue
        kind = rng.choice(WRONG)
        others = [x for x in spans if x != span]
        free = [
            x for x in _changes(kind, span, labels, len(doc), rng) if _fits(x, others)
        ]
        if kind == "missing":
            spans, done = others, [*done, kind]
        elif free:
            kept = spans if kind == "extra" else others
            new = rng.choice(free)
            if kind != "extra" or _fits(new, spans):
                spans, done = sorted([*kept, new]), [*done, kind]
    doc.ents = [Span(doc, *span) for span in spans]  # type: ignore[misc]
    return " ".join(sorted({*done}))


def _changes(
    kind: str, span: Triple, labels: Sequence[str], n: int, rng: random.Random
) -> list[Triple]:
    """What a span, or one more, can become."""
    start, end, label = span
    if kind == "border":
        moved = ((start - 1, end), (start + 1, end), (start, end - 1), (start, end + 1))
        return [(i, j, label) for i, j in moved if 0 <= i < j <= n]
    if kind == "label":
        return [(start, end, other) for other in labels if other != label]
    places = [rng.randrange(n) for _ in range(20)]
    sizes = [rng.choice((1, 1, 2, 3)) for _ in places]
    return [(i, min(i + size, n), rng.choice(labels)) for i, size in zip(places, sizes)]


def _fits(span: Triple, others: Sequence[Triple]) -> bool:
    return all(span[1] <= i or j <= span[0] for i, j, _ in others)


def scores_of(pipe: HighOrderSemiCRF, example: Example) -> tuple[float, float]:
    """Returns the score of cleanlab, and log P(best) - log P(gold); higher ones say
    that the gold is wrong."""
    doc, (known,) = example.predicted, read_annotations([example])
    tokens: Any = np.asarray(pipe.marginals(doc).tokens)
    given = np.zeros(len(doc), int)
    for start, end, label in known.required:
        given[start:end] = 1 + pipe.labels.index(label)
    probs = tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1e-300)
    (quality,) = get_label_quality_scores([given.tolist()], [probs])[0]
    (best,) = pipe.kbest(doc, 1)
    (found,) = judge_labels(pipe, [example])
    return -float(quality), best.log_probability - found.log_probability


def row_of(data: Path, args: argparse.Namespace) -> list[Any]:
    """Returns a row of the table."""
    rng = random.Random(args.seed)
    nlp = pipeline_of_kind(args.kind)
    docs = read_docs(data / "train.jsonl", spacy.blank(nlp.lang), "jsonl")
    docs = trainable([doc for doc in docs if len(doc)], nlp)
    rng.shuffle(docs)
    docs = docs[: args.max_docs]
    labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
    done = [corrupted(doc, labels, args.share, rng) for doc in docs]
    is_wrong = np.array([bool(x) for x in done])
    keys = [words_of(doc) for doc in docs]
    ours = np.zeros((args.rounds, len(docs)))
    peers = np.zeros((2, len(docs)))
    for k in range(args.rounds):
        numbers = folds_of(keys, args.folds, k)
        for pipe, places, examples in cross_fitted(nlp, "hosemi", docs, numbers):
            ours[k, places] = [x.evidence for x in judge_labels(pipe, examples)]
            if not k:
                peers[:, places] = np.transpose([scores_of(pipe, x) for x in examples])
    several = _precision(is_wrong, ours.mean(axis=0)) if args.rounds > 1 else "-"
    found = [_precision(is_wrong, x) for x in (ours[0], *peers)]
    by_kind = []
    for kind in WRONG:
        own = np.array([x in ("", kind) for x in done])
        by_kind.append(_precision(is_wrong[own], ours[0][own]))
    print(data.name, *found, several, sep="; ", file=sys.stderr, flush=True)
    counts = len(docs), int(is_wrong.sum())
    return [data.name, *counts, found[0], several, *found[1:], *by_kind]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Print a row for each data set."""
    warnings.simplefilter("ignore")
    rows = [row_of(data, args) for data in args.datasets]
    header = ["data", "documents", "wrong", "hosemi", f"{args.rounds} rounds"]
    header += ["cleanlab", "record", *WRONG]
    print(harness.table(header, rows))


def _precision(is_wrong: Any, scores: Any) -> str:
    if not is_wrong.any():
        return "-"
    finite = np.nan_to_num(scores, posinf=1e9, neginf=-1e9)
    return f"{100 * average_precision_score(is_wrong, finite):.1f}"


OPTIONS = {
    "--share": number(0.05, "of spans made wrong", 0.0),
    "--folds": number(5, "", 2),
    "--rounds": number(1),
    "--seed": number(harness.SEED, "", 0),
}
main = script(__doc__, measure, "datasets --kind --max-docs", OPTIONS)

if __name__ == "__main__":
    main()
