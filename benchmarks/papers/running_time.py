"""Figure 2 of Sarawagi, "Sequence Segmentation Using Semi-Markov Conditional Random
Fields" (2019): the time of training by its size.

    python benchmarks/papers/running_time.py --data DATA [--quick]

The figure, a drawing without numbers, has three curves on each of three tasks: a chain
of tags for begin, continue, end and unique (SequenceBCEU), segments up to a longest
length whose scores are computed one by one (Segment), and segments of any length that
share what their tokens score (SegmentOpt). Ours read the same features of tokens:

- BILUO: the chain, `encoding = "BILUO"`. A tag has a weight for each feature that is
  read at the borders of segments or inside them.
- IO: the smallest chain, which does not tell borders.
- shared: segments of any length, as they come.
- one by one: segments up to the longest span of train, each summed for itself, with a
  weight for each length (`explicit_length = max_length`).
- one by one, unit: these, and each reads a feature as a unit (its number of tokens, in
  the role `whole`): the nearest to Segment, whose features are all of this kind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fitting import (
    Fitted,
    fitted,
    main,
    make_docs,
    predicted,
    read_records,
    span_f1,
    tell,
)
from measuring import SEED, shuffled
from pictures import COLOURS, GRID, draw
from sections import Options, Section

SIZES = {
    "cora": (75, 150, 300),
    "anystyle": (150, 300, 600),
    "usaddress": (180, 730, 1466),
}
FIT = {"l2": 0.1, "max_iter": 50, "tolerance": 0.0}
N_ROUNDS = 2
AIM = 1.3


@dataclass(frozen=True)
class Measured:
    """One model, trained on some documents.

    data (str), size (int): On so many documents of this data set.
    model (str): One of `models`.
    fit (Fitted): In the fastest round.
    f1 (float): Of spans of test, in per cent.
    """

    data: str
    size: int
    model: str
    fit: Fitted
    f1: float


def models(longest: int) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Settings of the component and of its features, by name.

    longest (int): Of segments that are summed one by one, in tokens.
    """
    bounded = {"explicit_length": longest, "max_length": longest}
    return {
        "BILUO": ({"encoding": "BILUO"}, {}),
        "IO": ({"encoding": "IO"}, {}),
        "shared": ({}, {}),
        "one by one": (bounded, {}),
        "one by one, unit": (bounded, {"whole": ["TOKENS"], "width": longest}),
    }


def compare(name: str, options: Options) -> Iterator[Measured]:
    """Train all models on all sizes of a data set.

    YIELDS (Measured): Models in the order of `models` for each size.
    """
    folder = options.data / name
    train, test = (
        make_docs(read_records(folder / part, options.quick), lambda x: x["spans"])
        for part in ("train.jsonl", "test.jsonl")
    )
    train = shuffled(train, SEED)
    is_covered = all(token.ent_type for doc in train for token in doc)
    common = {"max_order": 1, "outside": "none" if is_covered else "run"}
    for size in sorted({min(size, len(train)) for size in SIZES[name]}):
        docs = train[:size]
        trained = models(max(len(ent) for doc in docs for ent in doc.ents))
        rounds = [
            [
                fitted(docs, {**common, **settings}, features, FIT, options.quick)
                for settings, features in trained.values()
            ]
            for _ in range(1 if options.quick else N_ROUNDS)
        ]
        for model, of_model in zip(trained, zip(*rounds)):
            best = min(of_model, key=lambda fit: fit.cpu_s)
            f1 = span_f1(test, predicted(best.nlp, test))
            tell(f"{name} {size} {model}: {best.cpu_s:.2f} CPU s, F1 {f1:.2f}")
            yield Measured(name, size, model, best, f1)


def row(x: Measured, chain: Measured) -> list[str]:
    """Of the table; chain is the first model of the same size."""
    cost = x.fit.cost
    return [
        x.data,
        f"{x.size:,}",
        x.model,
        f"{x.fit.cpu_s:.2f}",
        f"{ratio(x, chain):.2f}",
        f"{cost.inference_s:.2f}",
        f"{cost.inference_s / chain.fit.cost.inference_s:.2f}",
        f"{cost.n_values}",
        f"{x.fit.component.weights.size()['weights']:,}",
        f"{x.f1:.2f}",
    ]


HEADER = (
    "data",
    "documents",
    "model",
    "CPU s",
    "ratio",
    "inference",
    "ratio",
    "values",
    "weights",
    "F1",
)


def ratio(x: Measured, chain: Measured) -> float:
    """Of CPU seconds of training."""
    return x.fit.cpu_s / chain.fit.cpu_s


def notes(pairs: Sequence[tuple[Measured, Measured]]) -> list[str]:
    """What the table says, in sentences.

    pairs (Sequence[Tuple[Measured, Measured]]): Each row, and the chain beside it.
    """

    def between(model: str) -> str:
        found = [ratio(x, chain) for x, chain in pairs if x.model == model]
        return f"{min(found):.2f} to {max(found):.2f}"

    worst = max(ratio(x, chain) for x, chain in pairs if x.model == "shared")
    return [
        f"Segments of any length take {between('shared')} times the CPU time of the "
        f"BILUO chain; the aim was {AIM} at most, which is "
        f"{'reached' if worst <= AIM else 'missed'}. Segments that are summed one by "
        f"one take {between('one by one')} times, with a feature of each as a unit "
        f"{between('one by one, unit')} times, the chain of IO tags {between('IO')} "
        "times.",
        "The BILUO chain is slow for its four tags a label: 16 times as many pairs of "
        "labels, less those that cannot follow each other, and four weights for each "
        "feature. In our segments a border has weights for what is read at the borders "
        "and a token inside for what is read there, and label pairs cost at borders "
        "only. Segment of the paper computes features of every segment anew; here "
        "segments that are summed one by one still share sums of their tokens, so they "
        "are far less behind than in the figure.",
    ]


def fill(drawn: Any, found: Sequence[Measured]) -> None:
    """Draw time by size, a panel for each data set."""
    panels = drawn.subplots(1, len(SIZES))
    for panel, name in zip(panels, SIZES):
        of_data = [x for x in found if x.data == name]
        for colour, model in zip(COLOURS, models(1)):
            points = [(x.size, x.fit.cpu_s) for x in of_data if x.model == model]
            panel.plot(*zip(*points), color=colour, marker="o", label=model)
        panel.set(title=name, xlabel="training documents", xlim=(0, None))
        panel.set(ylim=(0, None))
        panel.grid(**GRID)
    panels[0].set(ylabel="CPU s of training")
    panels[0].legend(frameon=False)


def sections(options: Options) -> list[Section]:
    """Measure the figure."""
    found = [x for name in SIZES for x in compare(name, options)]
    pairs = []
    for _, group in groupby(found, key=lambda x: (x.data, x.size)):
        of_size = list(group)
        pairs += [(x, of_size[0]) for x in of_size]
    return [
        Section(
            title="Sarawagi 2019, Figure 2: running time of training",
            protocol="Cora, AnyStyle and US addresses, shuffled, the first documents "
            "of train; F1 on all of test. All models have label pairs as patterns and "
            "read the preset `default`, chains all of it at each token. "
            f"{FIT['max_iter']} iterations of L-BFGS, without a tolerance: "
            "these do not end the fit where accuracy is best, but as many for each. "
            '"BILUO" is SequenceBCEU of the figure, "shared" SegmentOpt. "One by one" '
            "are segments up to the longest span of the training documents, each "
            'summed for itself, with a weight for each length; with "unit" each has '
            "its number of tokens as a feature in the role `whole`: the nearest here "
            'to Segment. "CPU s" of reading features and fitting, the better of '
            f'{N_ROUNDS} rounds in one process, one thread; "inference" is the part '
            'of log Z and marginals; "values": how often the objective was computed.',
            header=HEADER,
            rows=[row(*pair) for pair in pairs],
            notes=notes(pairs),
            pictures=draw(
                "running_time", (9.6, 3.2), options, lambda x: fill(x, found)
            ),
        )
    ]


if __name__ == "__main__":
    sys.exit(main(sections, __doc__.partition("\n")[0]))
