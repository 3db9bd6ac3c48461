"""Chinese parts of speech: Table 3 of Qian and Liu, "Sequence Labeling with
Non-Negative Weighted Higher Order Features".

    python benchmarks/papers/chinese_pos.py --data ../data

A tag for each word. The model of order 1 reads, as theirs, the words around, pairs of
words, the first and last character of the word and its length, and has weights for
pairs of tags. The others have weights for longer patterns of tags too, 0 or more: for
the pattern alone, or where a word stands at its beginning, as "from A to B" in their
Figure 9. Theirs were designed by hand; these are mined, but for wildcards. Their data
are the Chinese Treebank, which is not public; these are those of Universal
Dependencies.

"fewer errors" and "p" (McNemar's exact test) are of the test, against order 1, both
trained once; "by five seeds" are fewer errors when both are trained five times, with
other orders of the documents. "patterns", "observed": those with a weight other than 0
after training, alone and given a word. CPU us a word: "training", all of it, the median
of five, "passes" those of the perceptron; "new words", from `Doc` to `doc.ents`, by a
model that was just loaded, so that no word is known; "component", the same when all
are, with its parts "scores" and "decoding"; "auto" and "automaton" decode with one call
for each document, the second through the states of all patterns.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fitting
import numpy as np
from harness import Timed, table
from spacy.language import Language
from spacy.tokens import Doc

# Over the corpus, chosen on held-out words: more passes gain nothing for order 1, and
# little for "words", whose passes cost more.
N_PASSES = {"order 1": 10, "order 2": 10, "words": 8, "wildcards": 10}
SEEDS = range(5)
QUICK_DOCS, QUICK_PASSES = 300, 2
PAPER = {"order 1": 94.04, "words": 94.41}

# Words two places away, more characters and shapes make more errors on dev.
INSIDE = [
    "ORTH[-1:1]",
    "ORTH[-1] & ORTH",
    "ORTH & ORTH[1]",
    "PREFIX1",
    "SUFFIX1",
    "LENGTH",
]

# Coordinated words are of one kind; what stands between "from" and "to"; a coverb and
# its verb. "*1" is one tag wherever it stands.
WILDCARDS = [
    ["*1", "PUNCT", "*1"],
    ["*1", "CONJ", "*1"],
    ["*1", "PUNCT", "*1", "PUNCT", "*1"],
    ["*1", "PUNCT", "*1", "CONJ", "*1"],
    ["ADP", "*", "ADP", "*"],
    ["ADP", "*", "VERB"],
    ["ADP", "*", "*", "VERB"],
    ["ADP", "*", "*", "*", "VERB"],
]

# What each model has beside that of order 1: settings, features of transitions.
MODELS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "order 1": ({}, []),
    "order 2": ({"max_order": 2, "pattern_min_count": 30}, []),
    "words": (
        {
            "observed_patterns": [["*", "*", "*"]],
            "observed_min_count": 5,
            "pattern_min_count": 20,
        },
        ["ORTH[-2]", "ORTH"],
    ),
    "wildcards": (
        {
            "observed_patterns": WILDCARDS,
            "observed_min_count": 5,
            "pattern_min_count": 5,
        },
        ["ORTH[-4:-1]"],
    ),
}

# Weights for patterns given words are rare: a smaller step is better on held-out words.
RATE = {"transition": 0.2}

# Of these weights the small ones are forgotten, as many as cost nothing on held-out
# words.
FORGOTTEN = {"transition": 0.5}


def config(name: str) -> dict[str, Any]:
    """Of a component that gives each word one of the tags."""
    settings, transition = MODELS[name]
    token = {
        "max_order": 1,
        "outside": "none",
        "max_length": 1,
        "objective": {"@misc": "spacy_hosemi.perceptron.v1"},
    }
    features = {"preset": "none", "inside": INSIDE, "transition": transition}
    return fitting.config_of({**token, **settings}, **features)


@dataclass
class Trained:
    """One of MODELS, and what was measured of it: CPU us a word of all training, and of
    its passes alone; which words are right, by corpus; CPU us a word of the test, by
    part of the time; words of the test that are wrong, all of SEEDS together."""

    name: str
    component: Any
    train_us: float
    fit_us: float
    is_right: dict[str, fitting.Bools] = field(default_factory=dict)
    us: dict[str, float] = field(default_factory=dict)
    n_wrong: int = 0


def train(name: str, docs: Sequence[Doc], n_passes: int, seed: int) -> Trained:
    """Train one of MODELS; without anything of a test."""
    found = fitting.by_perceptron(docs, config(name), n_passes, RATE, seed)
    found.component.prune(FORGOTTEN)
    us = 1e6 / sum(map(len, docs))
    return Trained(name, found.component, us * found.cpu_s, us * found.fit_s)


def train_again(
    models: Sequence[Trained],
    corpora: Mapping[str, Sequence[Doc]],
    n_passes: Mapping[str, int],
    seeds: Sequence[int],
) -> None:
    """Fill in what is wrong with other orders of the documents; of what training costs
    the median of all, for which the models take turns."""
    us: dict[str, list[tuple[float, float]]] = {x.name: [] for x in models}
    for seed in seeds:
        for model in models:
            name = model.name
            other = train(name, corpora["train"], n_passes[name], seed)
            us[name].append((other.train_us, other.fit_us))
            is_right = fitting.right_labels(other.component, corpora["test"])
            model.n_wrong += int((~is_right).sum())
    for model in models:
        model.train_us, model.fit_us = np.median(us[model.name], axis=0).tolist()


def first_pass(model: Trained, test: Sequence[Doc]) -> Timed:
    """Tags the test as a model that has just been loaded does: no word is known."""
    saved = model.component.to_bytes()

    def load() -> tuple[Any, list[Doc]]:
        nlp = Language(test[0].vocab)
        pipe: Any = nlp.add_pipe("hosemi", config=config(model.name))
        pipe.from_bytes(saved)
        [*pipe.pipe(fitting.fresh(test[:1]))]  # its automaton is made
        return pipe, fitting.fresh(test)

    return Timed(lambda loaded: [*loaded[0].pipe(loaded[1])], load)


# -------------------------------------------------------------------------------- table

NEW = "new words"
METHODS = ("auto", "automaton")
PARTS = ("component", "scores", "decoding", *METHODS)
COLUMNS = (
    *("model", "dev %|.2f", "test %|.2f", "paper", "fewer errors %", "p"),
    *("by five seeds", "patterns|,d", "observed|,d", "training|.0f", "passes|.0f"),
    *(f"{name}|.2f" for name in (NEW, *PARTS)),
)


def row(model: Trained, first: Trained) -> list[Any]:
    """Of the table: one model beside that of order 1."""
    right = [100 * model.is_right[corpus].mean() for corpus in ("dev", "test")]
    fewer = p = by_seeds = None
    if model is not first:
        before, after = (x.is_right["test"] for x in (first, model))
        errors = [int((~x).sum()) for x in (before, after)]
        fewer = f"{100 * (1 - errors[1] / max(errors[0], 1)):.1f}"
        p = f"{fitting.mc_nemar(before, after)[2]:.2g}"
        by_seeds = f"{100 * (1 - model.n_wrong / max(first.n_wrong, 1)):.1f}"
    automaton = model.component.automaton
    return [
        *(model.name, *right, f"{PAPER.get(model.name, '')}", fewer, p, by_seeds),
        *(len(automaton.patterns), len(automaton.observed)),
        *(model.train_us, model.fit_us, *(model.us[name] for name in (NEW, *PARTS))),
    ]


def measure(args: argparse.Namespace) -> list[str]:
    """Measure the table."""
    folder, corpora = args.data / "ud_chinese_gsd_pos", {}
    for part in ("train", "dev", "test"):
        records = fitting.read_records(folder / f"{part}.jsonl", False)
        records = records[:QUICK_DOCS] if args.quick else records
        corpora[part] = fitting.make_docs(records)
    n_passes = dict.fromkeys(MODELS, QUICK_PASSES) if args.quick else N_PASSES
    models = []
    for name in MODELS:
        model = train(name, corpora["train"], n_passes[name], SEEDS[0])
        for part in ("dev", "test"):
            model.is_right[part] = fitting.right_labels(model.component, corpora[part])
        models.append(model)
    test = corpora["test"]
    runs = [
        {NEW: first_pass(x, test), **fitting.parts(x.component, test, METHODS)}
        for x in models
    ]
    for model, us in zip(models, fitting.best_us(runs, test)):
        model.us = us
    train_again(models, corpora, n_passes, SEEDS[:1] if args.quick else SEEDS)
    return [
        "Qian and Liu, Table 3: Chinese parts of speech",
        table(COLUMNS, [row(model, models[0]) for model in models]),
    ]


main = fitting.script(__doc__, measure)

if __name__ == "__main__":
    main()
