"""What a label tree brings: the same model with and without one.

    python benchmarks/hierarchy.py ../data/multiconer2_en --max-train 1500

Labels are paths, such as Person/Artist with --separator /, or stand in a tree: --tree
is a file of the data folder, child and parent in two columns; of a child with two
parents the first counts, and what has none stands under the class that the spans below
it have most often (in SemCor noun.person, under noun). --field names what has the
labels, if not the spans: a list beside them, where an empty one means that the span is
none.

Both systems are fitted in this process by L-BFGS (with --epochs by updates), with the
settings of configs/hierarchical.cfg, but for what is given here. Printed are:

- F1 of entities, exact span and label, in per cent: of all; the mean over labels; of
  labels with fewer than 50, and than 10, spans in training, as if there were no other;
- records: sentences all of whose spans are exact, with no other ones, in per cent; not
  with --every-token, where tokens has F1 of the labels of tokens, without outside;
- label, given the span: of those gold spans that were predicted with any label the
  share with the right one; beside it what the most frequent label of the same words in
  training would give, on the same spans;
- CPU s of `initialize`, the fit included; MB: the largest resident size so far, so the
  first system's own only;
- tokens per CPU s of the component alone, on fresh docs, in turns; the best pass.

Tested is on test.jsonl; with --dev on dev.jsonl; with --held-out N on the last N lines
of the shuffled train. With several --threshold the first is trained with, and each
predicts; "as the last" is the share of sentences in which it predicts what the last one
does: they differ level by level only (hierarchy.exact_up_to = 0). --every-token is the
paper's setting (Deschacht and Moens 2006): synsets of nouns are labels, and so are
NONE, ADJ, ADV and VERB, for each other token. `--growth` keeps the spans with the N
most frequent labels, and prints what training and tagging cost by N. `--draws N` with
--max-train and --held-out shuffles train in N ways, and prints F1 and records of both
systems for each, at each --expected-f1, and the means of the differences with their
standard errors. `--choose-on N` leaves the last N lines of the shuffled train out of
training: on them each system chooses l2, decoding and expected F1 (`fit.l2 = "auto"`).
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import harness
from arguments import flag, number, script, some_of
from pictures import picture
from processes import peak_mb
from spacy import blank
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_config, minibatch
from spacy.vocab import Vocab
from thinc.api import Adam
from tqdm import tqdm
from tree_data import Record, Spans, on_every_token, read, read_tree, with_labels
from tree_figures import RARE, exact_records, figures, label_f1, rare_f1

from spacy_hosemi.training.lbfgs import make_lbfgs

CONFIG = harness.ROOT / "configs" / "hierarchical.cfg"


@dataclass
class Found:
    """What was measured of one system."""

    predicted: list[Spans]
    speed: float
    cpu_s: float
    mb: float
    chosen: str


def make_docs(vocab: Vocab, records: Iterable[Record], *, gold: bool) -> list[Doc]:
    """Docs of tokens, with entities or without."""
    docs = []
    for record in records:
        doc = Doc(vocab, words=record.tokens, tags=record.tags)
        if gold:
            doc.ents = [Span(doc, i, j, label=label) for i, j, label in record.spans]
        docs.append(doc)
    return docs


def spans_of(docs: Iterable[Doc]) -> list[Spans]:
    """The entities of each doc."""
    return [[(x.start, x.end, x.label_) for x in doc.ents] for doc in docs]


def make_component(
    args: argparse.Namespace, tree: dict[str, str] | None, threshold: float | None
) -> tuple[Language, Any]:
    """A pipeline with the component alone; threshold None: without a tree."""
    overrides = parse_config_overrides([f"--{x}" for x in args.overrides])
    config = load_config(CONFIG, overrides, interpolate=False)
    settings = config["components"]["hosemi"]
    settings["expected_f1"] = args.expected_f1[0]
    if args.every_token:
        settings["outside"] = "none"
    if threshold is None:
        settings["hierarchy"] = None
    else:
        separator = None if tree else args.separator
        settings["hierarchy"] |= {"threshold": threshold, "separator": separator}
    nlp = blank("en")
    return nlp, nlp.add_pipe(settings.pop("factory"), config=settings)


def trained(
    args: argparse.Namespace,
    train: Sequence[Record],
    tree: dict[str, str] | None,
    threshold: float | None,
) -> tuple[Any, float, float, str]:
    """The component of one system, CPU s, MB, and what it has chosen."""
    nlp, component = make_component(args, tree, threshold)
    gold = make_docs(nlp.vocab, train, gold=True)
    docs = make_docs(nlp.vocab, train, gold=False)
    examples = [Example(*pair) for pair in zip(docs, gold)]
    given: dict[str, Any] = {}
    if tree and threshold is not None:
        given["hierarchy"] = lambda: tree
    l2: Any = 0.1
    if args.choose_on:
        dev, examples = examples[-args.choose_on :], examples[: -args.choose_on]
        given["dev"], l2 = lambda _: dev, "auto"
    fit = None
    if not args.epochs:
        fit = make_lbfgs(l2=l2, max_iter=args.max_iter, progress=False)
    began = time.process_time()
    component.initialize(lambda: examples, nlp=nlp, fit=fit, **given)
    if args.epochs:
        update(nlp, component, examples, args.epochs)
    return component, time.process_time() - began, peak_mb(), chosen_by(component)


def chosen_by(component: Any) -> str:
    """What l2 = "auto" has chosen, with its score, and what it has tried."""
    rows = [
        ["chosen" if x["is_chosen"] else "", f"{x['l2']:g}", x["decoding"]]
        + [x["expected_f1"] or "", 100 * x["ents_f"], 100 * x["ents_record_accuracy"]]
        for x in component.facts.trials
    ]
    names = ["", "l2", "decoding", "expected F1", "F1|.2f", "records|.2f"]
    return harness.table(names, rows) if rows else ""


def update(
    nlp: Language, component: Any, examples: list[Example], n_epochs: int
) -> None:
    """Train by updates, with the settings of configs/online.cfg; averages are left."""
    optimizer = Adam(0.001, use_averages=True)
    rng = random.Random(harness.SEED)
    for _ in tqdm(range(n_epochs), disable=None):
        rng.shuffle(examples)
        for batch in minibatch(examples, 8):
            component.update(batch, sgd=optimizer)
    with component.model.use_params(optimizer.averages):
        averaged = component.to_bytes()
    component.from_bytes(averaged)


def applied(
    components: Sequence[Any], test: Sequence[Record]
) -> list[tuple[list[Spans], float]]:
    """What each predicts, and tokens per CPU s: the best pass."""
    predicted: dict[int, list[Spans]] = {}

    def timed(k: int, component: Any) -> harness.Timed:
        return harness.Timed(
            lambda docs: list(component.pipe(docs)),
            partial(make_docs, component.vocab, test, gold=False),
            lambda docs: predicted.update({k: spans_of(docs)}),
        )

    calls = {k: timed(k, component) for k, component in enumerate(components)}
    seconds = harness.take_turns(calls, 2 * harness.N_PASSES)
    n_tokens = sum(len(record.tokens) for record in test)
    return [(predicted[k], n_tokens / min(seconds[k])) for k in calls]


def fitted(
    args: argparse.Namespace,
    train: Sequence[Record],
    test: Sequence[Record],
    tree: dict[str, str] | None,
    systems: Sequence[Sequence[float | None]],
) -> list[Found]:
    """Of each system, which is fitted with the first of its thresholds and applied with
    each; None: without a tree."""
    components, costs = [], []
    for thresholds in systems:
        component, *cost = trained(args, train, tree, thresholds[0])
        components.append(component)
        data = component.to_bytes() if thresholds[1:] else b""
        for threshold in thresholds[1:]:
            _, other = make_component(args, tree, threshold)
            components.append(other.from_bytes(data))
        costs += [cost] * len(thresholds)
    pairs = zip(applied(components, test), costs)
    return [Found(*found, *cost) for found, cost in pairs]


def corpora(
    args: argparse.Namespace, seed: int = harness.SEED
) -> tuple[list[Record], list[Record]]:
    """What is trained on, and what is tested on."""

    def part(name: str) -> list[Record]:
        records = read(args.data / f"{name}.jsonl", args.field)
        return list(map(on_every_token, records)) if args.every_token else records

    train = harness.shuffled(part("train"), seed)
    if args.held_out:
        return train[: -args.held_out][: args.max_train], train[-args.held_out :]
    is_dev = args.dev or not (args.data / "test.jsonl").exists()
    return train[: args.max_train], part("dev" if is_dev else "test")[: args.max_test]


# ------------------------------------------------------------------------------- tables


def compare(
    args: argparse.Namespace, tree: dict[str, str] | None, *parts: list[Record]
) -> list[str]:
    """All systems beside each other."""
    of_system = {"flat": [None], "tree": args.threshold}
    systems = [of_system[system] for system in args.systems]
    found = fitted(args, *parts, tree, systems)
    thresholds = [x for some in systems for x in some]
    rows = []
    for threshold, one in zip(thresholds, found):
        title = "flat" if threshold is None else f"tree, {threshold}"
        of_one = figures(one.predicted, *parts)
        rows.append([title, *of_one.values(), one.cpu_s, one.mb, one.speed])
    columns = ["CPU s|.0f", "MB|,.0f", "tokens per CPU s|,.0f"]
    said = [harness.table(["", *of_one, *columns], rows)]
    said += [f"{row[0]}:\n\n{x.chosen}" for row, x in zip(rows, found) if x.chosen]
    trees = [(x, y.predicted) for x, y in zip(thresholds, found) if x is not None]
    if len(trees) > 1:
        last = trees[-1][1]
        shares = [[f"{x}", mean(a == b for a, b in zip(y, last))] for x, y in trees]
        said.append(harness.table(["threshold", "as the last|.2%"], shares))
    return said


def compare_draws(args: argparse.Namespace, tree: dict[str, str] | None) -> list[str]:
    """Both systems on several draws of train, at each expected F1."""
    names = ["F1 flat", "tree", "records flat", "tree", "< 50 flat", "tree"]
    rows: list[list[Any]] = []
    for k in range(args.draws):
        train, test = corpora(args, harness.SEED + k)
        both = [trained(args, train, tree, x)[0] for x in (None, args.threshold[0])]
        for expected in args.expected_f1:
            found = []
            for component in both:
                component.expected_f1 = expected
                docs = make_docs(component.vocab, test, gold=False)
                found.append(spans_of(component.pipe(docs)))
            rare = [rare_f1(x, train, test, RARE[0]) for x in found]
            scores = [label_f1(x, test) for x in found]
            scores += [exact_records(x, test) for x in found]
            scores += [score for score, _ in rare]
            rows.append([str(k), str(expected), *scores, f"{rare[0][1]} spans"])
    means = []
    for expected in map(str, args.expected_f1):
        columns = list(zip(*(row[2:8] for row in rows if row[1] == expected)))
        gains = ([y - x for x, y in zip(*columns[i : i + 2])] for i in (0, 2, 4))
        means.append([expected, *map(mean, columns), *map(harness.difference, gains)])
    shown = [f"{name}|.2f" for name in names]
    gained = [f"{x} tree - flat" for x in ("F1", "records", "< 50")]
    return [
        harness.table(["draw", "expected F1", *shown, ""], rows),
        "Means over draws, and of the differences, with their standard errors:",
        harness.table(["expected F1", *shown, *gained], means),
    ]


def grow(
    args: argparse.Namespace,
    tree: dict[str, str] | None,
    train: list[Record],
    test: list[Record],
) -> list[str]:
    """What training and tagging cost by number of labels."""
    counts = Counter(label for record in train for *_, label in record.spans)
    titles = ["training, CPU s a thousand spans", "tagging, CPU us a token"]
    rows = []
    for n in args.growth:
        frequent = {label for label, _ in counts.most_common(n)}
        some, rest = (with_labels(part, frequent) for part in (train, test))
        (found,) = fitted(args, some, rest, tree, [args.threshold[:1]])
        n_spans = sum(len(record.spans) for record in some)
        rows.append((len(frequent), 1000 * found.cpu_s / n_spans, 1e6 / found.speed))
    said = [harness.table(["labels|,d", *(f"{x}|.2f" for x in titles)], rows)]
    if args.picture:
        axes = {"xscale": "log", "xlabel": "labels"}
        panels = [
            ({"tree": [(row[0], row[i]) for row in rows]}, {**axes, "title": title})
            for i, title in enumerate(titles, start=1)
        ]
        said.append(picture(args.picture, panels, (7, 3)))
    return said


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure what is asked for, and print the tables."""
    train, test = corpora(args)
    tree = read_tree(args.data / args.tree, [*train, *test]) if args.tree else None
    if args.draws:
        parts = compare_draws(args, tree)
    else:
        parts = (grow if args.growth else compare)(args, tree, train, test)
    title = (
        f"{args.data.resolve().name}: {len(train)} lines of train, {len(test)} to test"
    )
    harness.report(args, title, *parts)


OPTIONS = {
    "--systems": some_of(("flat", "tree")),
    "--separator": dict(default="/", help="in labels that are paths"),
    "--tree": dict(metavar="FILE", help="file of the data folder: child and parent"),
    "--field": dict(metavar="NAME", help="has the labels, beside the spans"),
    "--every-token": flag("see above"),
    "--max-test": number(None, "test lines, at most"),
    "--held-out": number(None, "test on N lines of train"),
    "--epochs": number(None, "train by updates"),
    "--draws": number(None, "compare on N draws of train"),
    "--choose-on": number(None, "lines of train to choose l2 and decoding on"),
    "--expected-f1": number([0.8], "", 0.0),
    "--threshold": number([0.001], "", 0.0),
    "--growth": number(None, "numbers of labels", nargs="+"),
    "--picture": dict(type=Path, help="of the growth, without ending"),
}
SHARED = "data --overrides --max-train --max-iter --dev --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_iter=200)

if __name__ == "__main__":
    main()
