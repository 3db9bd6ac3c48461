"""Figure 2 of Sarawagi, "Sequence Segmentation Using Semi-Markov Conditional Random
Fields" (2019): the time of training by its size.

    python benchmarks/papers/running_time.py --data DATA [--quick]

The figure, a drawing without numbers, has three curves on each of three tasks: a chain
of tags for begin, continue, end and unique (SequenceBCEU), segments up to a longest
length whose scores are computed one by one (Segment), and segments of any length that
share what their tokens score (SegmentOpt). Ours read the same features of tokens:

- BILUO: the chain, `encoding = "BILUO"`. A tag has a weight for each feature that is
  read at the borders of segments or inside them.
- CRFsuite: the same chain, trained by python-crfsuite, where that is installed. Its
  time is without that of reading features.
- IO: the smallest chain, which does not tell borders.
- shared: segments of any length, as they come.
- one by one: segments up to the longest span of train, each summed for itself, with a
  weight for each length (`explicit_length = max_length`).
- one by one, unit: these, and each reads a feature as a unit (its number of tokens, in
  the role `whole`): the nearest to Segment, whose features are all of this kind.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import fitting
from harness import shuffled, table
from peers import open_crfsuite, train_crfsuite
from pictures import picture
from scores import Exactness, exactness
from spacy.tokens import Doc

from spacy_hosemi.model.weights.storage import size_of

SIZES = {
    "cora": (75, 150, 300),
    "anystyle": (75, 150, 300),
    "usaddress": (180, 365, 730),
}
FIT = {"l2": 0.1, "max_iter": 50, "tolerance": 0.0}
PEER = "CRFsuite"
PEER_FIT = {"feature.possible_states": True, "epsilon": 0.0, "delta": 0.0}


@dataclass(frozen=True)
class Measured:
    """One of `models`, or CRFsuite, trained on some documents of a data set: CPU s, how
    exact it is on test, and where they are known cost of the fit, and weights."""

    data: str
    size: int
    model: str
    cpu_s: float
    exact: Exactness
    cost: fitting.Fitted | None = None
    n_weights: int | None = None


def models(longest: int) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Settings of the component and of its features, by name."""
    bounded = {"explicit_length": longest, "max_length": longest}
    return {
        "BILUO": ({"encoding": "BILUO"}, {}),
        "IO": ({"encoding": "IO"}, {}),
        "shared": ({}, {}),
        "one by one": (bounded, {}),
        "one by one, unit": (bounded, {"whole": ["TOKENS"], "width": longest}),
    }


def compare(name: str, args: argparse.Namespace) -> Iterator[Measured]:
    """Train all models on all sizes of a data set. Yields models in the order of
    `models` for each size."""
    train, test = fitting.read_docs(args.data / name, args.quick)
    train = shuffled(train)
    is_covered = all(token.ent_type for doc in train for token in doc)
    common = {"max_order": 1, "outside": "none" if is_covered else "run"}
    fitting.by_lbfgs(
        train[: fitting.QUICK_DOCS], common, {}, FIT, quick=True
    )  # what is loaded once
    for size in sorted({min(size, len(train)) for size in SIZES[name]}):
        docs, chain = train[:size], None
        longest = max(len(ent) for doc in docs for ent in doc.ents)
        for model, (settings, features) in models(longest).items():
            fit = fitting.by_lbfgs(
                docs, {**common, **settings}, features, FIT, args.quick
            )
            chain = chain or fit.component
            own = map(fitting.entities, map(fit.nlp, fitting.fresh(test)))
            right = exactness(own, map(fitting.entities, test))
            n_weights = size_of(fit.component.weights)["weights"]
            fitting.tell(
                f"{name} {size} {model}: {fit.cpu_s:.2f} CPU s, F1 {right.f1:.2f}"
            )
            yield Measured(name, size, model, fit.cpu_s, right, fit, n_weights)
        if find_spec("pycrfsuite"):
            n_iterations = fitting.QUICK_ITERATIONS if args.quick else FIT["max_iter"]
            cpu_s, right = train_peer(chain, docs, test, n_iterations)
            fitting.tell(f"{name} {size} {PEER}: {cpu_s:.2f} CPU s, F1 {right.f1:.2f}")
            yield Measured(name, size, PEER, cpu_s, right)


def train_peer(
    component: Any, train: Sequence[Doc], test: Sequence[Doc], n_iterations: int
) -> tuple[float, Exactness]:
    """Train CRFsuite as the same chain (a component whose features and tags it reads):
    features that train has twice, all weights. Returns CPU s of training, without that
    of reading features, and how exact it is on test."""
    from pycrfsuite import ItemSequence

    inventory, read = component.inventory, component.token_features
    tags = fitting.label_sequences(component, train)
    features = [read(doc) for doc in fitting.fresh(train)]
    counts = Counter(name for doc in features for token in doc for name in token)
    items = [
        ItemSequence([[name for name in token if counts[name] > 1] for token in doc])
        for doc in features
    ]
    settings = {**PEER_FIT, "max_iterations": n_iterations}
    with TemporaryDirectory() as folder:
        path = f"{folder}/chain.crfsuite"
        began = time.process_time()
        train_crfsuite(items, tags, 0.0, FIT["l2"] / 2, path, **settings)
        cpu_s = time.process_time() - began
        tagger = open_crfsuite(path)

    def found(doc: Doc) -> set[Any]:
        names = map(inventory.names.index, tagger.tag(read(doc)))
        return set(inventory.decode((i, i + 1, y) for i, y in enumerate(names)))

    return cpu_s, exactness(
        map(found, fitting.fresh(test)), map(fitting.entities, test)
    )


COLUMNS = (
    *("data", "documents|,d", "model", "CPU s|.2f", "ratio|.2f", "inference|.2f"),
    *("ratio|.2f", "values|d", "weights|,d", "F1|.2f", "records|.2f"),
)


def row(x: Measured, chain: Measured) -> list[Any]:
    """Of the table; chain is that of BILUO tags, of the same size."""
    cells = [x.data, x.size, x.model, x.cpu_s, x.cpu_s / chain.cpu_s]
    if x.cost is None or chain.cost is None:
        return [*cells, None, None, None, None, *x.exact]
    seconds = x.cost.inference_s
    inference = [seconds, seconds / chain.cost.inference_s]
    return [*cells, *inference, x.cost.n_values, x.n_weights, *x.exact]


def ratios(found: Sequence[Measured]) -> list[list[Any]]:
    """Least and greatest ratio of CPU seconds of two models, over data and sizes."""
    cpu_s = {(x.model, x.data, x.size): x.cpu_s for x in found}
    rows = []
    for model, other in PAIRS:
        some = [
            seconds / cpu_s[(other, *which)]
            for (name, *which), seconds in cpu_s.items()
            if name == model and (other, *which) in cpu_s
        ]
        if some:
            rows.append([f"{model} / {other}", min(some), max(some)])
    return rows


PAIRS = (
    *(("shared", "BILUO"), ("shared", "IO"), ("one by one", "shared")),
    *(("one by one, unit", "shared"), (PEER, "BILUO"), ("shared", PEER)),
)


def measure(args: argparse.Namespace) -> list[str]:
    """Measure the figure."""
    found = [x for name in SIZES for x in compare(name, args)]
    chains = {(x.data, x.size): x for x in found if x.model == "BILUO"}
    parts = [
        "Sarawagi 2019, Figure 2: running time of training",
        table(COLUMNS, [row(x, chains[x.data, x.size]) for x in found]),
        table(["CPU s", "least|.2f", "greatest|.2f"], ratios(found)),
    ]
    if args.quick:
        return parts
    panels = []
    for name in SIZES:
        lines: dict[str, list[tuple[float, float]]] = {}
        for x in found:
            if x.data == name:
                lines.setdefault(x.model, []).append((x.size, x.cpu_s))
        axes = {"title": name, "xlabel": "training documents", "ylabel": "CPU s"}
        panels.append((lines, {**axes, "xlim": (0, None), "ylim": (0, None)}))
    return [*parts, picture(fitting.HERE / "running_time", panels, (9.6, 3.2))]


main = fitting.script(__doc__, measure)

if __name__ == "__main__":
    main()
