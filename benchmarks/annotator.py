"""What the choice of documents saves an annotator.

    python benchmarks/annotator.py ../data/anystyle ../data/ncbi_disease \\
        ../data/ingredients --kind references names fields

A model is fitted on --first annotated documents, drawn from train at random. Then,
round by round, a strategy chooses documents of the rest, half as many as are annotated;
the annotator gets them with the fields that the model predicts, and touches those that
are wrong: a field that is corrected, added or deleted is one touch, a right one none.
The model is fitted anew on all annotated documents, and judged on test. A run ends when
at least --least documents are annotated and F1 is --share of that of all of --max-train
documents, or there are no more. All strategies of a seed have the same first documents.

The strategies are documents in random order, and those of `hosemi select`: per token
(--no-diverse), total (--total --no-diverse), diverse per token (the default), and
diverse total (--total).

"Touched", "documents" and "words" are the fields touched, and the documents and words
read, until F1 is --share of the full one, interpolated between rounds, without the
first documents. "Area" is the mean F1 from --first to --least documents. Each has the
mean over seeds; "to random" is the mean difference from random and its standard error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import harness
import numpy as np
import spacy
from arguments import number, script
from scores import f1
from spacy.language import Language
from spacy.tokens import Doc

from spacy_hosemi.component.judging import DocumentResult, judge_pipeline
from spacy_hosemi.component.penalty_search import DEFAULT
from spacy_hosemi.configs import KINDS
from spacy_hosemi.explain import uncertainty
from spacy_hosemi.explain.mistakes import mistakes_of
from spacy_hosemi.formats import read_docs
from spacy_hosemi.inspection.corpus import as_examples, trainable
from spacy_hosemi.inspection.pipelines import pipeline_of_kind, train

NAME = "hosemi"
RANDOM = "random"
# By strategy, is_total and is_diverse of `choose`.
CHOICES = {
    "per token": (False, False),
    "total": (True, False),
    "diverse per token": (False, True),
    "diverse total": (True, True),
}
STRATEGIES = RANDOM, *CHOICES
COSTS = {"n_touched": "touched", "n_docs": "documents", "n_words": "words"}


@dataclass(frozen=True)
class Round:
    """A model's F1 on test in per cent, and what was read and touched for it so far; of
    the first documents all fields were."""

    n_docs: int
    n_words: int
    n_touched: int
    f1: float


@dataclass(frozen=True)
class Task:
    """A data set with gold, and the config and labels that models are fitted with."""

    name: str
    config: Any
    labels: list[str]
    pool: list[Doc]
    test: list[Doc]

    def fit(self, docs: Sequence[Doc]) -> Language:
        """Returns a pipeline trained on some documents."""
        return train(self.config, NAME, docs, docs[0].vocab, labels=self.labels)

    def f1(self, nlp: Language) -> float:
        """Returns the F1 of a pipeline on test, in per cent."""
        found = judge_pipeline(nlp, as_examples(self.test, nlp))
        return f1([one.predicted for one in found], [one.gold for one in found])


def read_task(data: Path, kind: str, args: argparse.Namespace) -> Task:
    """Read a data set."""
    nlp = pipeline_of_kind(kind)

    def drawn(part: str, at_most: int) -> list[Doc]:
        docs = read_docs(data / f"{part}.jsonl", spacy.blank(nlp.lang), "jsonl")
        return harness.shuffled([doc for doc in docs if len(doc)])[:at_most]

    pool = trainable(drawn("train", args.max_train), nlp)
    labels = sorted({ent.label_ for doc in pool for ent in doc.ents})
    config = nlp.config.interpolate()
    block = config["initialize"]["components"][NAME]
    block["fit"] |= {"l2": DEFAULT, "tolerance": 1e-3}
    test = drawn("dev" if args.dev else "test", args.max_docs)
    return Task(data.name, config, labels, pool, test)


def simulate(
    task: Task, strategy: str, seed: int, n_first: int, n_least: int, enough: float
) -> list[Round]:
    """Annotate round by round, in an order by a seed, until there are n_least documents
    and F1 is enough; otherwise the last round has all documents."""
    order = harness.shuffled(task.pool, seed)
    done, rest = order[:n_first], order[n_first:]
    n_touched = sum(len(doc.ents) for doc in done)
    rounds: list[Round] = []
    while True:
        nlp = task.fit(done)
        n_words = sum(map(len, done))
        rounds.append(Round(len(done), n_words, n_touched, task.f1(nlp)))
        is_enough = len(done) >= n_least and rounds[-1].f1 >= enough
        if is_enough or not rest:
            return rounds
        places = chosen(nlp, rest, max(len(done) // 2, 1), strategy)
        batch = [rest[k] for k in places]
        n_touched += sum(map(n_touches, judge_pipeline(nlp, as_examples(batch, nlp))))
        done = done + batch
        rest = [doc for k, doc in enumerate(rest) if k not in {*places}]


def chosen(nlp: Language, docs: Sequence[Doc], n: int, strategy: str) -> list[int]:
    """Returns places of the next documents to annotate."""
    if strategy == RANDOM:  # they are in random order
        return [*range(min(n, len(docs)))]
    pipe: Any = nlp.get_pipe(NAME)
    found = uncertainty.measure(nlp, pipe, docs)
    return [x.index for x in uncertainty.choose(found, n, *CHOICES[strategy])]


def n_touches(answer: DocumentResult) -> int:
    """Returns how many fields of a document are corrected, added or deleted: where
    predicted and right ones overlap, one is made of the other."""
    return sum(max(len(x.gold), len(x.found)) for x in mistakes_of(answer))


def cost_until(rounds: Sequence[Round], cost: str, enough: float) -> float:
    """Returns what it takes after the first round until F1 is enough; if it never is,
    what all rounds take."""
    costs = [getattr(one, cost) - getattr(rounds[0], cost) for one in rounds]
    k = next((k for k, one in enumerate(rounds) if one.f1 >= enough), None)
    if k is None:
        return float(costs[-1])
    if k == 0:
        return 0.0
    before, after = rounds[k - 1].f1, rounds[k].f1
    share = (enough - before) / (after - before)
    return float(costs[k - 1] + share * (costs[k] - costs[k - 1]))


def area(rounds: Sequence[Round], n_docs: int) -> float:
    """Returns the mean F1 up to a number of documents."""
    at = np.arange(rounds[0].n_docs, n_docs + 1)
    f1s = np.interp(at, [one.n_docs for one in rounds], [one.f1 for one in rounds])
    return float(f1s.mean())


def rows_of(
    name: str, runs: dict[str, list[list[Round]]], enough: float, n_least: int
) -> Iterator[list[Any]]:
    """Yields the rows of a data set."""
    figures = {
        strategy: [
            *([cost_until(rounds, x, enough) for rounds in some] for x in COSTS),
            [area(rounds, n_least) for rounds in some],
        ]
        for strategy, some in runs.items()
    }
    for strategy, columns in figures.items():
        row: list[Any] = [name, strategy]
        for values, base in zip(columns, figures[RANDOM]):
            more = harness.difference([a - b for a, b in zip(values, base)])
            row += [mean(values), None if strategy == RANDOM else more]
        yield row


def measure(args: argparse.Namespace, _: Path) -> None:
    """Measure as the command line says."""
    kinds = args.kind * len(args.datasets) if len(args.kind) == 1 else args.kind
    if len(kinds) != len(args.datasets):
        raise ValueError(f"{len(args.datasets)} data sets, but {len(kinds)} kinds")
    warnings.simplefilter("ignore")
    tasks = [read_task(*pair, args) for pair in zip(args.datasets, kinds)]
    full = [simulate(x, RANDOM, 0, len(x.pool), len(x.pool), 0.0)[0].f1 for x in tasks]
    enough = [args.share * f1 for f1 in full]
    rows: list[list[Any]] = []
    for task, f1_enough in zip(tasks, enough):
        limits, seeds = (args.first, args.least, f1_enough), range(args.seeds)
        runs = {x: [simulate(task, x, k, *limits) for k in seeds] for x in STRATEGIES}
        rows += rows_of(task.name, runs, f1_enough, args.least)
    columns = ["data", "strategy"]
    for name, form in [*((name, ".0f") for name in COSTS.values()), ("area", ".2f")]:
        columns += [f"{name}|{form}", "to random"]
    of = ", ".join(f"{x.name} {f1:.2f}" for x, f1 in zip(tasks, full))
    note = f"{args.seeds} seed(s). F1 of {args.max_train} documents: {of}"
    report = harness.table(columns, rows)
    harness.report(args, "A simulated annotator", note, report, rows=rows)


NUMBERS = {"--seeds": number(10), "--first": number(20), "--least": number(150)}
OPTIONS = NUMBERS | {
    "--kind": dict(nargs="+", choices=KINDS, default=["fields"], help="of each DATA"),
    "--share": number(0.95, "of the F1 of all documents", 0.0),
}
SHARED = "datasets --max-train --max-docs --dev --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_train=500, max_docs=300)

if __name__ == "__main__":
    main()
