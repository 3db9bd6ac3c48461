"""Handwritten letters: Table 1, Figures 7 and 8 of Qian and Liu, "Sequence Labeling
with Non-Negative Weighted Higher Order Features".

    python benchmarks/papers/letters.py --data ../data
    python benchmarks/papers/letters.py --data ../data --quick

A word is a sequence of pictures of 16 x 8 pixels, each a letter. A model reads which
pixels are set, and which pairs that touch, and has label patterns up to an order:
for each order its accuracy, and what training and decoding cost.

Of the time at test three parts are told apart: the features of a picture and the sums
of their weights ("scores"), which are the same for all orders; the search for the best
labels ("decoding"); and all that the component does. CPU s on one thread.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from fitting import averaged, best_us, fresh, mc_nemar
from numpy.typing import NDArray
from pictures import GRID, draw
from sections import Options, Section

# isort: split
from convert import docs_from_jsonl
from measuring import SEED, environment, mean_and_spread
from spacy.tokens import Doc
from tqdm import tqdm

from spacy_hosemi import core

ORDERS = (1, 2, 3, 4, 5, 6, 7)
N_FOLDS = 10
N_TRAIN = 600  # words
PAPER = {1: 82.42, 7: 88.53}  # letters right, %
PAPER_RATIO = 0.390 / 0.319  # of the time, order 7 to order 1
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
    """What is set in a picture: pixels, and pairs of pixels that touch.

    picture (str): 32 hexadecimal digits, row by row; the leftmost pixel of a row is the
        highest bit.
    RETURNS (List[str]): A pixel by its row and column; "right" if the next one in the
        row is set too, and so on.
    """
    found = bits = int(picture, 16)
    for shift, has_neighbour in NEIGHBOURS.values():
        found = found << len(PLACES) | bits & bits << shift & has_neighbour
    return list(compress(NAMES, map(int, f"{found:0{len(NAMES)}b}")))


def list_pixels(doc: Doc) -> list[list[str]]:
    """A function of features: those of each picture."""
    return [set_pixels(token.text) for token in doc]


@spacy.registry.misc("letters.pixels.v1")
def make_pixels() -> Callable[[Doc], list[list[str]]]:
    """Registered for the config of the component."""
    return list_pixels


def config(order: int) -> dict[str, Any]:
    """Of a component that gives each token one of the labels."""
    return {
        "max_order": order,
        "pattern_min_count": 11,  # "frequency > 10"
        "outside": "none",
        "max_length": 1,
        "objective": {"@misc": "spacy_hosemi.perceptron.v1"},
        "model": {
            "@architectures": "spacy_hosemi.SpanScorer.v1",
            "features": {
                "@misc": "spacy_hosemi.features.v1",
                "preset": "none",
                "min_count": 1,
                "functions": {"pixels": {"@misc": "letters.pixels.v1"}},
            },
        },
    }


@dataclass
class Trained:
    """A model of one order, trained on one fold, and what was measured of it.

    order (int): Of its longest label patterns.
    component (Any): Is dropped when all is measured.
    fit_s (float): CPU s of training, without reading features once.
    n_met, n_kept (int): Label patterns before training; those with a weight other than
        0 after it.
    is_right (bool [letters]): Of the test.
    us (Dict[str, float]): CPU us a letter, by part of the time.
    """

    order: int
    component: Any
    fit_s: float
    n_met: int
    n_kept: int
    is_right: NDArray[np.bool_]
    us: dict[str, float] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """RETURNS (float): Letters right, in percent."""
        return 100 * float(self.is_right.mean())


def train(
    order: int, words: Sequence[Doc], test: Sequence[Doc], n_passes: int
) -> Trained:
    """Train on some words; see what is right of others.

    order (int): Of the model.
    words, test (Sequence[Doc]): With a label for each token.
    n_passes (int): Over the words.
    RETURNS (Trained): Without times of the test.
    """
    trained = averaged(words, config(order), n_passes)
    component = trained.component
    pairs = zip(component.pipe(fresh(test)), test)
    found = [(x.label_, y.label_) for a, b in pairs for x, y in zip(a.ents, b.ents)]
    is_right = np.array([x == y for x, y in found])
    n_kept = len(component.automaton.patterns)
    return Trained(
        order, component, trained.fit_s, trained.n_met, n_kept=n_kept, is_right=is_right
    )


def measure_times(models: Sequence[Trained], test: Sequence[Doc]) -> None:
    """Fill in what a letter costs."""
    scores = [x.component.model.predict(fresh(test)) for x in models]
    runs = {
        (k, part): run
        for k, (model, potentials) in enumerate(zip(models, scores))
        for part, run in parts(model.component, potentials, test).items()
    }
    for (k, part), us in best_us(runs, sum(map(len, test))).items():
        models[k].us[part] = us


def parts(
    component: Any, potentials: Sequence[core.Potentials], test: Sequence[Doc]
) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    automaton, docs, others = component.automaton, fresh(test), fresh(test)

    def by(method: str) -> Callable[[], object]:
        return lambda: [core.viterbi(automaton, x, method=method) for x in potentials]

    return {
        "scores": lambda: component.model.predict(docs),
        "decoding": lambda: core.viterbi_many(automaton, potentials),
        **{method: by(method) for method in METHODS},
        "component": lambda: [*component.pipe(others)],
    }


METHODS = ("auto", "nonnegative", "automaton")


# ------------------------------------------------------------------------------- tables


ByOrder = dict[int, list[Trained]]  # of each fold


def mean_us(of_order: Sequence[Trained], part: str) -> float:
    """CPU us a letter, mean of the folds."""
    return float(np.mean([x.us[part] for x in of_order]))


def row(found: ByOrder, order: int) -> list[str]:
    """Of the table: one order."""
    of_order, earlier = found[order], [x for x in found if x < order]
    mean, spread = mean_and_spread([x.accuracy for x in of_order])
    p = "-"
    if earlier:
        pairs = zip(found[max(earlier)], of_order)
        tests = (mc_nemar(a.is_right, b.is_right) for a, b in pairs)
        p = f"{max(p for *_, p in tests):.2g}"
    return [
        f"{order}",
        f"{mean:.2f}",
        f"{spread:.2f}" if len(of_order) > 1 else "-",
        f"{PAPER[order]:.2f}" if order in PAPER else "-",
        p,
        f"{np.mean([x.n_kept for x in of_order]):,.0f}",
        f"{np.mean([x.n_met for x in of_order]):,.0f}",
        f"{np.mean([x.fit_s for x in of_order]):.1f}",
        *(f"{mean_us(of_order, part):.2f}" for part in ("decoding", *METHODS)),
        *(f"{mean_us(of_order, part):.1f}" for part in ("scores", "component")),
    ]


HEADER = (
    "order",
    "right %",
    "+-",
    "paper",
    "p",
    "patterns",
    "of",
    "training",
    "decoding",
    *METHODS,
    "scores",
    "component",
)


def notes(found: ByOrder) -> list[str]:
    """What the table says, in sentences: the lowest order and the highest."""
    low, high = min(found), max(found)
    said = [
        '"p": McNemar\'s exact test against the row above, the largest of all folds; '
        "letters of one word are not independent of each other. "
        '"patterns": those with a weight other than 0 after training, "of" all that '
        'it began with. "training": CPU s of all passes. The rest is CPU us a letter: '
        '"decoding" of many words in one call, as the component does it; the next '
        f"three with one call for each word and the methods {', '.join(METHODS)}; "
        '"scores": features of the pictures and sums of their weights; "component": '
        "all of it, from `Doc` to `doc.ents`."
    ]
    if low == high:
        return said
    pairs = zip(found[low], found[high])
    tests = [mc_nemar(a.is_right, b.is_right) for a, b in pairs]
    only_low, only_high, _ = np.sum(tests, axis=0)
    said.append(
        f"Order {high} against order {low}, over all folds: {only_high:,.0f} letters "
        f"that only the first has right, {only_low:,.0f} that only the second has "
        f"(McNemar, the largest p of a fold: {max(p for *_, p in tests):.2g})."
    )

    def ratio(part: str) -> float:
        return mean_us(found[high], part) / mean_us(found[low], part)

    more = mean_us(found[high], "decoding") - mean_us(found[low], "decoding")
    fits = [float(np.mean([x.fit_s for x in found[order]])) for order in (high, low)]
    features = np.mean([mean_us(of_order, "scores") for of_order in found.values()])
    said.append(
        f"Order {high} takes {more:+.2f} us a letter more for decoding than order "
        f"{low}, {ratio('decoding'):.2f} times its time (with one call for each word "
        f"{ratio('auto'):.2f} times). Features take {features:.0f} us, whatever the "
        f"order; with them and all else it is {ratio('component'):.2f} times, training "
        f"{fits[0] / fits[1]:.2f} times. The paper has {PAPER_RATIO:.2f}."
    )
    return said


def sections(
    options: Options, orders: Sequence[int] = ORDERS, n_folds: int = N_FOLDS
) -> list[Section]:
    """Table 1, Figures 7 and 8.

    orders (Sequence[int]): Which ones are trained.
    n_folds (int): At most 10; the first ones.
    RETURNS (List[Section]): One.
    """
    n_passes = 50
    nlp = spacy.blank("en")
    paths = (options.data / "ocr_letters" / f"{x}.jsonl" for x in ("train", "test"))
    docs = [doc for path in paths for doc in docs_from_jsonl(path, nlp)]
    random.Random(SEED).shuffle(docs)
    if options.quick:
        docs, n_folds, n_passes = docs[: 2 * N_TRAIN], 1, 10
        orders = sorted({min(orders), max(orders)})
    found: ByOrder = {order: [] for order in sorted(orders)}
    with tqdm(total=n_folds * len(orders), unit="model", disable=None) as bar:
        for fold in range(n_folds):
            at = slice(fold * N_TRAIN, (fold + 1) * N_TRAIN)
            test = docs[: at.start] + docs[at.stop :]
            for order in found:
                found[order].append(train(order, docs[at], test, n_passes))
                bar.update()
            models = [of_order[-1] for of_order in found.values()]
            measure_times(models, test[:TIMED_WORDS])
            for model in models:
                model.component = None
    tested = sum(map(len, docs)) - sum(len(doc) for doc in docs[at])
    protocol = (
        f"{len(docs):,} words, shuffled; each of {n_folds} folds trains on {N_TRAIN} "
        f"of them and is tested on all others (about {tested:,} letters). Features: "
        "each pixel that is set, each pair of set pixels that touch, at corners too. "
        "All label pairs; of longer label patterns, up to the order, those that occur "
        "more than 10 times in the training words (the borders of a word count as "
        f"names). Averaged perceptron, {n_passes} passes (one without a mistake is "
        "the last), weights of longer patterns 0 or more; patterns with weight 0 "
        "are dropped. The paper has 6,100 words, and folds of its own. Times are of "
        f"the first {TIMED_WORDS} words of each test, with the features of each "
        "picture listed anew."
    )
    return [
        Section(
            "Qian and Liu, Table 1, Figures 7 and 8: handwritten letters",
            protocol,
            HEADER,
            [row(found, order) for order in found],
            notes(found),
            draw("letters", (8.4, 3.4), options, lambda x: fill(x, found)),
        )
    ]


def fill(drawn: Any, found: ByOrder) -> None:
    """Draw accuracy and time by order."""
    orders = list(found)
    left, right = drawn.subplots(1, 2)
    pairs = [mean_and_spread([x.accuracy for x in found[k]]) for k in orders]
    mean, spread = zip(*pairs)
    left.errorbar(orders, mean, spread, color="#d55e00", marker="s", capsize=3)
    known = [k for k in orders if k in PAPER]
    shown = {"color": "#999999", "marker": "o", "label": "the paper"}
    left.plot(known, [PAPER[k] for k in known], linestyle="", **shown)
    left.set(ylabel="letters right, %", title="Accuracy (Figure 7)")
    for part, colour in (("decoding", "#0072b2"), ("nonnegative", "#009e73")):
        us = [mean_us(found[k], part) for k in orders]
        right.plot(orders, us, color=colour, marker="o", label=part)
    seconds = [np.mean([x.fit_s for x in found[k]]) for k in orders]
    right.plot(orders, seconds, color="#d55e00", marker="s", label="training (s)")
    right.set(ylabel="CPU us a letter; CPU s", ylim=(0, None), title="Time (Figure 8)")
    right.legend(frameon=False)
    left.legend(frameon=False)
    for panel in (left, right):
        panel.set(xlabel="order", xticks=orders)
        panel.grid(**GRID)


def main() -> None:
    """Print the section."""
    parser = argparse.ArgumentParser(
        description="Recognise handwritten letters by label patterns of order 1 to 7.",
        epilog="Example: python benchmarks/papers/letters.py --data ../data --quick",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="has ocr_letters/")
    add("--quick", action="store_true", help="one fold, fewer words and passes")
    add(
        "--orders",
        nargs="+",
        type=int,
        choices=ORDERS,
        default=list(ORDERS),
        metavar="N",
        help="(default: 1 to 7)",
    )
    add(
        "--folds",
        type=int,
        choices=range(1, N_FOLDS + 1),
        default=N_FOLDS,
        metavar="N",
        help="so many of ten (default: %(default)s)",
    )
    add(
        "--pictures",
        type=Path,
        default=Path(__file__).resolve().parent,
        metavar="DIR",
        help="where letters.{png,svg} are written (default: beside the script)",
    )
    args = parser.parse_args()
    if not (args.data / "ocr_letters").is_dir():
        parser.error(f"there is no {args.data / 'ocr_letters'}")
    options = Options(args.data, args.quick, args.pictures)
    for section in sections(options, sorted(set(args.orders)), args.folds):
        print(section)
    where = environment()
    print(
        f"\n{where['date']}, {where['cpu']}, commit {where['commit']}: "
        f"`{where['command']}`"
    )


if __name__ == "__main__":
    main()
