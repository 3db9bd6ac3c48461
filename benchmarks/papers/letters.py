"""Handwritten letters: Table 1, Figures 7 and 8 of Qian and Liu, "Sequence Labeling
with Non-Negative Weighted Higher Order Features".

    python benchmarks/papers/letters.py --data ../data

A word is a sequence of pictures of 16 x 8 pixels, each a letter. A model reads which
pixels are set, and which pairs that touch, and has label patterns up to an order:
for each order its accuracy, and what training and decoding cost.

The time at test is measured in parts: features of the pictures and sums of their
weights ("scores"), which are the same for all orders; the search for the best labels
("decoding" of all words in one call; "auto", "nonnegative" and "automaton" are methods
with one call for each word); and all that the component does, from `Doc` to `doc.ents`.
CPU us a letter on one thread; "training" in CPU s. "p": McNemar's exact test against
the row above, the largest of all folds; letters of one word are not independent of each
other. "patterns": those with a weight other than 0 after training, "of" all before it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from statistics import mean
from typing import Any

import fitting
import numpy as np

# isort: split
from harness import mean_and_spread, shuffled, table
from numpy.typing import NDArray
from pictures import picture
from spacy import registry
from spacy.tokens import Doc
from tqdm import tqdm

ORDERS = (1, 2, 3, 4, 5, 6, 7)
N_FOLDS = 10
N_TRAIN = 600  # words
PAPER = {1: 82.42, 7: 88.53}  # letters right, %
TIMED_WORDS = 500  # of each test

HEIGHT, WIDTH = 16, 8
PLACES = [(row, column) for row in range(HEIGHT) for column in range(WIDTH)]

# By how many bits another pixel is moved to the place of the first, and where it is in
# the picture.
NEIGHBOURS = {
    "right": (1, int("fe" * HEIGHT, 16)),
    "below": (WIDTH, int("ff" * HEIGHT, 16)),
    "below right": (WIDTH + 1, int("fe" * HEIGHT, 16)),
    "below left": (WIDTH - 1, int("7f" * HEIGHT, 16)),
}
NAMES = [f"{kind} {r},{c}" for kind in ("set", *NEIGHBOURS) for r, c in PLACES]


def set_pixels(picture: str) -> list[str]:
    """What is set in a picture of 32 hexadecimal digits, row by row, the leftmost pixel
    the highest bit: pixels, by row and column, and pairs of pixels that touch, such as
    "right" if the next one in the row is set, too."""
    found = bits = int(picture, 16)
    for shift, has_neighbour in NEIGHBOURS.values():
        found = found << len(PLACES) | bits & bits << shift & has_neighbour
    return list(compress(NAMES, map(int, f"{found:0{len(NAMES)}b}")))


def list_pixels(doc: Doc) -> list[list[str]]:
    """A function of features: those of each picture."""
    return [set_pixels(token.text) for token in doc]


registry.misc("letters.pixels.v1", func=lambda: list_pixels)


def config(order: int) -> dict[str, Any]:
    """Of a component that gives each token one of the labels."""
    settings = {
        "max_order": order,
        "pattern_min_count": 11,  # "frequency > 10"
        "outside": "none",
        "max_length": 1,
        "objective": {"@misc": "spacy_hosemi.perceptron.v1"},
    }
    functions = {"pixels": {"@misc": "letters.pixels.v1"}}
    return fitting.config_of(settings, preset="none", min_count=1, functions=functions)


@dataclass
class Trained:
    """A model of one order, trained on one fold, which is dropped when all is measured:
    CPU s of the fit, label patterns before it and after it, which letters of the test
    are right, CPU us a letter by part of the time."""

    component: Any
    fit_s: float
    n_first: int
    n_patterns: int
    is_right: NDArray[np.bool_]
    us: dict[str, float] = field(default_factory=dict)


METHODS = ("auto", "nonnegative", "automaton")
COLUMNS = (
    *("order", "right %", "paper", "p", "patterns|,.0f", "of|,.0f", "training|.1f"),
    *("decoding|.2f", *(f"{method}|.2f" for method in METHODS)),
    *("scores|.1f", "component|.1f"),
)


def train_folds(args: argparse.Namespace) -> dict[int, list[Trained]]:
    """Train models of all orders on each fold. RETURNS (dict): By order."""
    paths = (args.data / "ocr_letters" / f"{x}.jsonl" for x in ("train", "test"))
    records = [record for path in paths for record in fitting.read_records(path, False)]
    docs, orders, n_folds, n_passes = fitting.make_docs(records), ORDERS, N_FOLDS, 50
    docs = shuffled(docs)
    if args.quick:
        docs, orders, n_folds, n_passes = docs[: 2 * N_TRAIN], ORDERS[::6], 1, 10
    found: dict[int, list[Trained]] = {order: [] for order in orders}
    with tqdm(total=n_folds * len(found), unit="model", disable=None) as bar:
        for fold in range(n_folds):
            at = slice(fold * N_TRAIN, (fold + 1) * N_TRAIN)
            test = docs[: at.start] + docs[at.stop :]
            for order, of_order in found.items():
                fit = fitting.by_perceptron(docs[at], config(order), n_passes)
                is_right = fitting.right_labels(fit.component, test)
                sizes = fit.n_first, len(fit.component.automaton.patterns)
                of_order.append(Trained(fit.component, fit.fit_s, *sizes, is_right))
                bar.update()
            timed, models = test[:TIMED_WORDS], [x[-1] for x in found.values()]
            runs = [fitting.parts(x.component, timed, METHODS) for x in models]
            for model, us in zip(models, fitting.best_us(runs, timed)):
                model.us, model.component = us, None
    return found


def right(of_order: Sequence[Trained]) -> tuple[float, float]:
    """Letters right in per cent, mean and standard deviation of the folds."""
    return mean_and_spread([100 * float(x.is_right.mean()) for x in of_order])


def beside(
    before: Sequence[Trained], after: Sequence[Trained]
) -> tuple[int, int, float]:
    """Letters that only the one or the other has right, over all folds, and the largest
    p of McNemar's test of a fold."""
    tests = [fitting.mc_nemar(a.is_right, b.is_right) for a, b in zip(before, after)]
    only_before, only_after, ps = zip(*tests)
    return sum(only_before), sum(only_after), max(ps)


def measure(args: argparse.Namespace) -> list[str]:
    """Table 1, Figures 7 and 8."""
    found = train_folds(args)
    rows, before = [], None
    for order, of_order in found.items():
        keys = "n_patterns", "n_first", "fit_s"
        figures = [mean(getattr(x, key) for x in of_order) for key in keys]
        names = "decoding", *METHODS, "scores", "component"
        figures += [mean(x.us[name] for x in of_order) for name in names]
        p = f"{beside(before, of_order)[2]:.2g}" if before else None
        shown = "{:.2f} ± {:.2f}".format(*right(of_order))
        rows.append([f"{order}", shown, f"{PAPER.get(order, '')}", p, *figures])
        before = of_order
    first, *_, last = found.values()
    only_first, only_last, p = beside(first, last)
    said = [
        "Qian and Liu, Table 1, Figures 7 and 8: handwritten letters",
        table(COLUMNS, rows),
        f"The last order against the first: {only_last:,} letters that only the last "
        f"has right, {only_first:,} that only the first has; p {p:.2g} at most",
    ]
    return said if args.quick else [*said, draw_figures(found)]


def draw_figures(found: dict[int, list[Trained]]) -> str:
    """Draw accuracy and time by order."""
    ours = [(order, *right(of_order)) for order, of_order in found.items()]
    theirs = [(order, value) for order, value in PAPER.items() if order in found]
    times = {
        part: [(order, mean(x.us[part] for x in y)) for order, y in found.items()]
        for part in ("decoding", "nonnegative")
    }
    times["training (s)"] = [(k, mean(x.fit_s for x in y)) for k, y in found.items()]
    axes = {"xlabel": "order", "xticks": list(found)}
    left = {**axes, "ylabel": "letters right, %", "title": "Accuracy (Figure 7)"}
    label = "CPU us a letter; CPU s"
    right_ = {**axes, "ylabel": label, "title": "Time (Figure 8)", "ylim": (0, None)}
    lines = {"ours": ours, "the paper": theirs}
    panels = [({k: v for k, v in lines.items() if v}, left), (times, right_)]
    return picture(fitting.HERE / "letters", panels, (8.4, 3.4))


main = fitting.script(__doc__, measure)

if __name__ == "__main__":
    main()
