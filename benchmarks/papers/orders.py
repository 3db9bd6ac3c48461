"""What the order of label patterns is worth, and what it costs, on six kinds of data.

    python benchmarks/papers/orders.py --data DATA [--quick]

The papers differ in what they found: punctuation gains from order 2 on and letters up
to order 7, parts of references less. Here all is the same but the data and the order.

- F1: micro-averaged, exact span and label; on letters and parts of speech that is the
  share of tokens with the right label, on punctuation of words with a mark.
- records: documents all of whose spans are exact, with no other ones, in per cent;
  not where labels are on tokens.
- bits: what a label of test takes to tell if only the labels before it are known, up to
  the order: cross-entropy of a smoothed n-gram model of the labels of train.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fitting
import letters
import numpy as np
import punctuation
from harness import shuffled, table
from pictures import picture
from scores import exactness
from spacy.tokens import Doc

ORDERS = (1, 2, 3, 4, 5, 6, 7)
N_TEST = 2000  # documents
N_TIMED_DOCS = 300
COMMON = {"pattern_min_count": 2}
FIT = {"l2": 0.1, "max_iter": 100}
BEGIN, END = "^", "$"
SHOWN = (2, 3, 7)


@dataclass(frozen=True)
class Task:
    """A data set and how it is read: its labels, how many documents are learnt from,
    settings other than the defaults, the spans of a record, and what is right or wrong
    of a doc."""

    what: str
    n_train: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=lambda: FIT)
    spans: Callable[[fitting.Record], fitting.Spans] = fitting.spans_of
    counted: Callable[[Doc], set[Any]] = fitting.entities

    @property
    def has_records(self) -> bool:
        """Whether a document is a record of spans, not of tokens with labels."""
        return self.counted is fitting.entities and self.settings.get("max_length") != 1


COVERED = {"outside": "none"}
LABELS = {"outside": "none", "max_length": 1}
TASKS = {
    "anystyle": Task("fields of references", 400, COVERED),
    "grobid_affiliation": Task("parts of affiliations", 600),
    "snips_original": Task("slots of commands", 1200),
    "punctuation": Task(
        "clauses by their marks",
        1000,
        COVERED,
        {"preset": "none", "inside": punctuation.INSIDE, "within": punctuation.WITHIN},
        {**punctuation.FIT, "l2": 1.0},
        punctuation.segments,
        punctuation.marks,
    ),
    "ocr_letters": Task(
        "handwritten letters", 626, LABELS, letters.config(1)["model"]["features"]
    ),
    "ud_chinese_gsd_pos": Task("parts of speech", 400, LABELS),
}


@dataclass
class Measured:
    """A model of one order: bits of a label of test given the labels before it, F1 and
    records of test in per cent (None where labels are on tokens), which cases of test
    are right, label patterns with a weight, and costs as in the table."""

    order: int
    fit: fitting.Fitted
    bits: float
    f1: float
    records: float | None
    is_right: fitting.Bools
    n_patterns: int
    costs: dict[str, float]


# ------------------------------------------------------------------------------ history


class History:
    """Label n-grams of sequences, interpolated: that a label is new after a history of
    `order` labels is as probable as new ones were there, and which one it is tells a
    shorter history."""

    def __init__(self, sequences: Sequence[Sequence[str]], order: int) -> None:
        self.order = order
        self._after: dict[tuple[str, ...], Counter[str]] = {}
        for history, label in _events(sequences, order):
            for k in range(len(history) + 1):
                self._after.setdefault(history[k:], Counter())[label] += 1
        self._n_labels = len(self._after[()])

    def probability(self, history: tuple[str, ...], label: str) -> float:
        """Of a label, given those before it."""
        shorter = (
            self.probability(history[1:], label)
            if history
            else 1 / (self._n_labels + 1)
        )
        after = self._after.get(history)
        if after is None:
            return shorter
        return (after[label] + len(after) * shorter) / (after.total() + len(after))

    def bits(self, sequences: Sequence[Sequence[str]]) -> float:
        """Returns cross-entropy, mean of all labels and ends."""
        events = list(_events(sequences, self.order))
        return -float(
            np.mean([math.log2(self.probability(*event)) for event in events])
        )


def _events(
    sequences: Sequence[Sequence[str]], order: int
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each label and the end, with the labels before it."""
    for sequence in sequences:
        names = (BEGIN, *sequence, END)
        for i in range(1, len(names)):
            yield names[max(0, i - order) : i], names[i]


# ---------------------------------------------------------------------------- measuring


def compare(name: str, args: argparse.Namespace) -> list[Measured]:
    """Train a model of each order on a data set."""
    task = TASKS[name]
    docs = fitting.read_docs(args.data / name, args.quick, task.spans)
    train, test = (shuffled(x)[:n] for x, n in zip(docs, (task.n_train, N_TEST)))
    orders = (ORDERS[0], ORDERS[-1]) if args.quick else ORDERS
    found = [measure_one(task, order, train, test, args.quick) for order in orders]
    timed = test[:N_TIMED_DOCS]
    runs = [fitting.parts(x.fit.component, timed) for x in found]
    for x, us in zip(found, fitting.best_us(runs, timed)):
        x.costs |= {name: us[name] for name in ("component", "decoding")}
        fitting.tell(f"{name} {x.order}: F1 {x.f1:.2f}, {x.bits:.3f} bits")
    return found


def measure_one(
    task: Task, order: int, train: Sequence[Doc], test: Sequence[Doc], quick: bool
) -> Measured:
    """Train and test one model; its times at test are still to be measured."""
    settings = {**COMMON, **task.settings, "max_order": order}
    fit = fitting.by_lbfgs(train, settings, task.features, task.fit, quick)
    gold = [task.counted(doc) for doc in test]
    own = [task.counted(doc) for doc in map(fit.nlp, fitting.fresh(test))]
    is_right = [case in x for cases, x in zip(gold, own) for case in sorted(cases)]
    known, asked = (
        fitting.label_sequences(fit.component, docs) for docs in (train, test)
    )
    bits = History(known, order).bits(asked)
    found = exactness(own, gold)
    records = found.records if task.has_records else None
    right = np.array(is_right, bool)
    n_patterns = len(fit.component.automaton.patterns)
    costs = {"training": fit.cpu_s}
    return Measured(order, fit, bits, found.f1, records, right, n_patterns, costs)


# ------------------------------------------------------------------------------- tables

COLUMNS = (
    *("data", "order|d", "F1|.2f", "p", "records|.2f", "bits|.3f", "patterns|,d"),
    *("training|.1f", "component|.2f", "decoding|.2f"),
)


def p_value(before: Measured, after: Measured) -> str:
    """Of McNemar's test."""
    *_, p = fitting.mc_nemar(before.is_right, after.is_right)
    return f"{p:.2g}" if p else "<1e-300"


def rows(name: str, found: Sequence[Measured]) -> list[list[Any]]:
    """Of the table: one data set."""
    ps = [None, *(p_value(*pair) for pair in zip(found, found[1:]))]
    return [
        [name, x.order, x.f1, p, x.records, x.bits, x.n_patterns, *x.costs.values()]
        for p, x in zip(ps, found)
    ]


def summary(name: str, found: Sequence[Measured]) -> list[Any]:
    """Of the second table: a data set, higher orders against the first."""
    first, last = found[0], found[-1]
    shown = [x for x in found if x.order in SHOWN]
    return [
        f"{name}: {TASKS[name].what}",
        *(first.f1, *(x.f1 - first.f1 for x in shown), p_value(first, last)),
        *(first.bits, *(x.bits - first.bits for x in shown)),
        *(last.costs[name] / cost for name, cost in first.costs.items()),
    ]


def measure(args: argparse.Namespace) -> list[str]:
    """Measure both tables."""
    found = {name: compare(name, args) for name in TASKS}
    shown = [x.order for x in next(iter(found.values())) if x.order in SHOWN]
    gains = [f"at {order}|+.2f" for order in shown]
    costs = [f"{name}|.2f" for name in ("training", "component", "decoding")]
    columns = ["data", "F1|.2f", *gains, "p", "bits|.2f", *gains, *costs]
    said = [
        "Order of label patterns on six kinds of data",
        table(COLUMNS, [row for name in found for row in rows(name, found[name])]),
        "Higher orders against order 1; times are those of the last order to the first",
        table(columns, [summary(name, models) for name, models in found.items()]),
    ]
    return said if args.quick else [*said, draw_orders(found)]


def draw_orders(found: dict[str, list[Measured]]) -> str:
    """Draw what order is worth and what it costs."""
    values: dict[str, Callable[[Measured, Measured], float]] = {
        "F1, more than at order 1": lambda x, first: x.f1 - first.f1,
        "bits to tell a label from those before it": lambda x, first: x.bits,
    }
    for title, name in (("training", "training"), ("prediction", "component")):
        values[f"CPU time of {title}, to order 1"] = lambda x, first, name=name: (
            x.costs[name] / first.costs[name]
        )
    panels = []
    for title, value in values.items():
        lines = {
            name: [(x.order, value(x, models[0])) for x in models]
            for name, models in found.items()
        }
        panels.append((lines, {"title": title, "xlabel": "order", "xticks": ORDERS}))
    return picture(fitting.HERE / "orders", panels, (9.0, 6.6), 2)


main = fitting.script(__doc__, measure)

if __name__ == "__main__":
    main()
