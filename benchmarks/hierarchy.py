"""What a label tree brings: the same model with and without one.

    python benchmarks/hierarchy.py ../data/multiconer2_en --max-train 1500
    python benchmarks/hierarchy.py ../data/semcor --separator .
    python benchmarks/hierarchy.py ../data/semcor --field synsets \\
        --tree hypernyms.tsv --systems tree --max-iter 40 --threshold 0.01 \\
        --features inside=BIAS,LOWER,SUFFIX3 end=LOWER,LOWER[1],SUFFIX3 \\
            start=LOWER,LOWER[-1],LOWER[1],SHAPE,SUFFIX3[-1]
    python benchmarks/hierarchy.py ../data/semcor --field synsets \\
        --tree hypernyms.tsv --growth 100 1000 10000 --picture growth

Labels are paths, such as Person/Artist with --separator /, or stand in a tree: --tree
is a file of the data folder, child and parent in two columns; of a child with two
parents the first counts, and what has none stands under the class that the spans below
it have most often (in SemCor noun.person, under noun). --field names what has the
labels, if not the spans: a list beside them, where an empty one means that the span is
none.

Both systems are fitted in this process by L-BFGS with the settings of
configs/hierarchical.cfg, but for what is given here. Printed are:

- F1 of entities, exact span and label, in per cent: of all; the mean over labels; of
  labels with fewer than 50, and than 10, spans in training, as if there were no other;
- tokens: F1 of the labels of tokens, outside not counted;
- label, given the span: of those gold spans that were predicted with any label the
  share with the right one, NONE etc. left out; beside it what the most frequent label
  of the same words in training would give, on the same spans;
- CPU s of `initialize`, the fit included; MB: the largest resident size so far, so the
  first system's own only;
- tokens per CPU s: `pipe`, the component alone, on fresh docs; the best of some passes
  after a warm-up, in which the systems take turns. With --confidence both compute how
  probable each entity is at once, the tree on each level, and not when somebody asks.
  Level by level it always does.

Tested is on test.jsonl; with --dev on dev.jsonl; with --held-out N on the last N lines
of the shuffled train. With several --threshold the first is trained with, and each
predicts; "as the last" is the share of sentences in which it predicts what the last one
does, which should be 0 then. Only level by level they differ: --exact-up-to 0. --epochs
trains by updates. --every-token is the paper's setting (Deschacht and Moens 2006):
synsets of nouns are labels, and so are NONE, ADJ, ADV and VERB, for each other token.
`--growth` keeps the spans with the N most frequent labels, and prints what training and
tagging cost by N. `--draws N` with --max-train and --held-out shuffles train in N ways,
and prints F1 of both systems for each, of all labels and of those with fewer than 50
spans, at each --expected-f1, and the means over the draws, of the differences with
their standard errors.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import MB, N_PASSES, SEED, environment, shuffled, table

# isort: split
import numpy as np
from spacy import blank
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Adam, Config
from tqdm import tqdm
from tree_data import Record, Spans, on_every_token, read, read_tree, with_labels
from tree_figures import RARE, figures, label_f1, mean, rare_f1

from spacy_hosemi.training.lbfgs import make_lbfgs

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "hierarchical.cfg"
N_TURNS = 2 * N_PASSES


@dataclass
class Found:
    """What was measured of one system."""

    predicted: list[Spans]
    speed: float
    cpu_s: float
    mb: float


def make_docs(nlp: Language, records: Iterable[Record], *, gold: bool) -> list[Doc]:
    """Docs of tokens, with entities or without."""
    docs = []
    for record in records:
        doc = Doc(nlp.vocab, words=record.tokens, tags=record.tags)
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
    nlp = blank("en")
    settings = Config().from_disk(CONFIG, interpolate=False)["components"]["hosemi"]
    settings["max_order"] = args.max_order
    settings["outside"] = "none" if args.every_token else settings["outside"]
    features = settings["model"]["features"]
    given = dict(text.split("=", 1) for text in args.features or ())
    if given:
        features["preset"] = given.pop("preset", "none")
    features |= {role: templates.split(",") for role, templates in given.items()}
    features["min_count"] = args.min_count or features["min_count"]
    settings["model"]["l2"] = args.l2
    settings["confidence"] = args.confidence
    settings["decoding"] = args.decoding
    settings["expected_f1"] = args.expected_f1[0]
    if threshold is None:
        settings["hierarchy"] = None
    else:
        settings["hierarchy"]["threshold"] = threshold
        settings["hierarchy"]["separator"] = None if tree else args.separator
        settings["hierarchy"]["l2_growth"] = args.l2_growth
        settings["hierarchy"]["exact_up_to"] = args.exact_up_to
    return nlp, nlp.add_pipe(settings.pop("factory"), config=settings)


def trained(
    args: argparse.Namespace,
    train: Sequence[Record],
    tree: dict[str, str] | None,
    threshold: float | None,
) -> tuple[Any, float, float]:
    """The component of one system, CPU s, MB."""
    nlp, component = make_component(args, tree, threshold)
    gold = make_docs(nlp, train, gold=True)
    docs = make_docs(nlp, train, gold=False)
    examples = [Example(*pair) for pair in zip(docs, gold)]
    given = {"hierarchy": lambda: tree} if tree and threshold is not None else {}
    is_online, shows = args.epochs is not None, sys.stderr.isatty()
    fit = make_lbfgs(l2=args.l2, max_iter=args.max_iter, progress=shows)
    began = time.process_time()
    fit_or_none = None if is_online else fit
    component.initialize(lambda: examples, nlp=nlp, fit=fit_or_none, **given)
    if is_online:
        update(nlp, component, examples, args.epochs)
    cpu_s = time.process_time() - began
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    return component, cpu_s, mb


def update(
    nlp: Language, component: Any, examples: list[Example], n_epochs: int
) -> None:
    """Train by updates, with the settings of configs/online.cfg; averages are left."""
    optimizer = Adam(0.001, use_averages=True)
    rng = random.Random(SEED)
    for _ in tqdm(range(n_epochs), disable=not sys.stderr.isatty()):
        rng.shuffle(examples)
        for batch in minibatch(examples, 8):
            component.update(batch, sgd=optimizer)
    with component.model.use_params(optimizer.averages):
        averaged = component.to_bytes()
    component.from_bytes(averaged)


def applied(
    components: Sequence[Any], test: Sequence[Record]
) -> list[tuple[list[Spans], float]]:
    """What each predicts, and tokens per CPU s: they take turns."""
    languages = [blank("en", vocab=x.vocab) for x in components]
    seconds: list[list[float]] = [[] for _ in components]
    predicted: list[list[Spans]] = [[] for _ in components]
    for _ in range(1 + N_TURNS):
        for k, (nlp, component) in enumerate(zip(languages, components)):
            docs = make_docs(nlp, test, gold=False)
            began = time.process_time()
            docs = list(component.pipe(docs))
            seconds[k].append(time.process_time() - began)
            predicted[k] = spans_of(docs)
    n_tokens = sum(len(record.tokens) for record in test)
    speeds = [n_tokens / min(some[1:]) for some in seconds]
    return list(zip(predicted, speeds))


def measure(
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
        if len(thresholds) > 1:
            data = component.to_bytes()
        for threshold in thresholds[1:]:
            _, other = make_component(args, tree, threshold)
            components.append(other.from_bytes(data))
        costs += [cost] * len(thresholds)
    pairs = zip(applied(components, test), costs)
    return [Found(*found, *cost) for found, cost in pairs]


def draw(rows: Sequence[tuple[int, float, float]], path: Path) -> None:
    """Time by number of labels, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    titles = "training, CPU s a thousand spans", "tagging, CPU us a token"
    columns = list(zip(*rows))[1:]
    for axes, title, values in zip(figure.subplots(1, 2), titles, columns):
        axes.plot([n for n, *_ in rows], values, "o-")
        axes.set(xscale="log", xlabel="labels", title=title, ylim=(0, None))
    for ending in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{ending}"), dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with train.jsonl")
    parser.add_argument("--separator", default="/", help="in labels that are paths")
    parser.add_argument("--tree", help="file of the folder: child and parent")
    parser.add_argument("--field", help="has the labels, beside the spans")
    parser.add_argument("--systems", nargs="+", default=["flat", "tree"])
    parser.add_argument("--max-train", type=int, help="so many training lines")
    parser.add_argument("--max-test", type=int, help="so many test lines")
    parser.add_argument("--dev", action="store_true", help="test on dev")
    parser.add_argument("--held-out", type=int, help="test on so many lines of train")
    parser.add_argument("--every-token", action="store_true", help="see above")
    parser.add_argument(
        "--features",
        nargs="+",
        help="ROLE=TEMPLATE,TEMPLATE,.. instead of the preset; preset=NAME: beside it",
    )
    parser.add_argument("--min-count", type=int, help="how often a feature must occur")
    parser.add_argument("--max-order", type=int, default=1)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--l2", type=float, default=0.1)
    parser.add_argument(
        "--confidence", action="store_true", help="stored without a tree, too"
    )
    parser.add_argument("--l2-growth", type=float, default=1.0)
    parser.add_argument(
        "--exact-up-to", type=int, default=140, help="labels; 0: level by level"
    )
    parser.add_argument("--decoding", default="mbr", help="of both systems")
    parser.add_argument("--expected-f1", type=float, nargs="+", default=[0.8])
    parser.add_argument("--epochs", type=int, help="train by updates")
    parser.add_argument("--threshold", type=float, nargs="+", default=[0.001])
    parser.add_argument("--growth", type=int, nargs="+", help="numbers of labels")
    parser.add_argument("--draws", type=int, help="compare on so many draws of train")
    parser.add_argument("--picture", type=Path, help="of the growth, without ending")
    args = parser.parse_args()
    train, test = corpora(args)
    tree = read_tree(args.data / args.tree, [*train, *test]) if args.tree else None
    print(f"{len(train)} lines of train, {len(test)} to test; {environment()}")
    if args.growth:
        grow(args, train, test, tree)
        return
    if args.draws:
        compare_draws(args, tree)
        return
    of_system: dict[str, list[float | None]] = {"flat": [None], "tree": args.threshold}
    systems = [of_system[system] for system in args.systems]
    found = measure(args, train, test, tree, systems)
    titles = [x for thresholds in systems for x in thresholds]
    rows = []
    for threshold, one in zip(titles, found):
        row = figures(one.predicted, train, test)
        row["CPU s"], row["MB"] = f"{one.cpu_s:.0f}", f"{one.mb:,.0f}"
        row["tokens per CPU s"] = f"{one.speed:,.0f}"
        title = "flat" if threshold is None else f"tree, {threshold}"
        rows.append([title, *row.values()])
    print(table(["", *row], rows), flush=True)
    trees = [one for x, one in zip(titles, found) if x is not None]
    if len(trees) > 1:
        print(table(["threshold", "as the last"], compared(args.threshold, trees)))


def corpora(
    args: argparse.Namespace, seed: int = SEED
) -> tuple[list[Record], list[Record]]:
    """What is trained on, and what is tested on."""
    train = read(args.data / "train.jsonl", args.field)
    if args.every_token:
        train = [on_every_token(record) for record in train]
    train = shuffled(train, seed)
    if args.held_out:
        return train[: -args.held_out][: args.max_train], train[-args.held_out :]
    name = "dev" if args.dev or not (args.data / "test.jsonl").exists() else "test"
    test = read(args.data / f"{name}.jsonl", args.field)[: args.max_test]
    if args.every_token:
        test = [on_every_token(record) for record in test]
    return train[: args.max_train], test


def compare_draws(args: argparse.Namespace, tree: dict[str, str] | None) -> None:
    """Both systems on several draws of train."""
    rows: list[list[str]] = []
    by_f1: dict[float, list[list[float]]] = {x: [] for x in args.expected_f1}
    for draw in range(args.draws):
        train, test = corpora(args, SEED + draw)
        both = [trained(args, train, tree, x)[0] for x in (None, args.threshold[0])]
        for expected, of_draws in by_f1.items():
            found = [predicted_for(expected, x, test) for x in both]
            rare = [rare_f1(x, train, test, RARE[0]) for x in found]
            scores = [label_f1(x, test) for x in found] + [score for score, _ in rare]
            of_draws.append(scores)
            shown = (f"{x:.2f}" for x in scores)
            rows.append([str(draw), str(expected), *shown, f"{rare[0][1]} spans"])
        print(table(["draw", *DRAWS, ""], rows), flush=True)
    means = [[str(expected), *means_of(x)] for expected, x in by_f1.items()]
    print("means over draws, of the differences with their standard errors:")
    print(table([*DRAWS, "F1 tree - flat", "< 50 tree - flat"], means))


DRAWS = ["expected F1", "F1 flat", "tree", "< 50 flat", "tree"]


def predicted_for(
    expected_f1: float, component: Any, test: Sequence[Record]
) -> list[Spans]:
    """What a component predicts that decides for this F1."""
    component.expected_f1 = expected_f1
    docs = make_docs(blank("en", vocab=component.vocab), test, gold=False)
    return spans_of(component.pipe(docs))


def means_of(draws: Sequence[Sequence[float]]) -> list[str]:
    """Of the scores of draws: flat and tree of all labels, of rare ones; and of what a
    tree brings to both."""
    columns = np.array(draws).T
    gains = columns[[1, 3]] - columns[[0, 2]]
    errors = gains.std(axis=1, ddof=1) / len(draws) ** 0.5 if draws[1:] else np.zeros(2)
    shown = [f"{x:+.2f} +- {e:.2f}" for x, e in zip(gains.mean(axis=1), errors)]
    return [*(f"{x:.2f}" for x in columns.mean(axis=1)), *shown]


def compared(thresholds: Sequence[Any], found: Sequence[Found]) -> list[list[str]]:
    """How many sentences are predicted as with the last threshold."""
    last = found[-1].predicted
    shares = (mean([a == b for a, b in zip(one.predicted, last)]) for one in found)
    return [[str(x), f"{100 * share:.2f} %"] for x, share in zip(thresholds, shares)]


def grow(
    args: argparse.Namespace,
    train: Sequence[Record],
    test: Sequence[Record],
    tree: dict[str, str] | None,
) -> None:
    """What training and tagging cost by number of labels."""
    counts = Counter(label for record in train for *_, label in record.spans)
    rows = []
    for n in args.growth:
        kept = {label for label, _ in counts.most_common(n)}
        some, rest = with_labels(train, kept), with_labels(test, kept)
        (found,) = measure(args, some, rest, tree, [args.threshold[:1]])
        n_spans = sum(len(record.spans) for record in some)
        rows.append((len(kept), 1000 * found.cpu_s / n_spans, 1e6 / found.speed))
        print(table(GROWTH, [[f"{x:,.2f}" for x in row] for row in rows]), flush=True)
    if args.picture:
        draw(rows, args.picture)


GROWTH = ["labels", "training, CPU s a thousand spans", "tagging, CPU us a token"]


if __name__ == "__main__":
    main()
