"""What the scripts of the papers share: docs, fits, tests, their command line.

Each has a function `measure(args)` that returns its tables, in Markdown. results.md has
them, with what there is to be said of data, settings and figures, written by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# ruff: noqa: E402 - the other benchmarks are scripts, and no package
HERE = Path(__file__).resolve().parent  # where pictures are written
sys.path.insert(0, str(HERE.parent))

import arguments
from harness import SEED, Timed, read_lines, report, take_turns

# isort: split
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from spacy import blank
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi import core
from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.lbfgs import Fit, make_lbfgs
from spacy_hosemi.training.training_set import TrainingSet

QUICK_DOCS = 40
QUICK_ITERATIONS = 5

Spans = Sequence[tuple[int, int, str]]
Record = dict[str, Any]
Bools = NDArray[np.bool_]


def read_records(path: Path, quick: bool) -> list[Record]:
    """Read a file of JSON lines; if quick its first documents only."""
    records = list(map(json.loads, read_lines(path)))
    return records[:QUICK_DOCS] if quick else records


def spans_of(record: Record) -> Spans:
    """Start, end (exclusive) and label, as they stand in the file."""
    return record["spans"]


def make_docs(
    records: Iterable[Record], spans: Callable[[Record], Spans] = spans_of
) -> list[Doc]:
    """Docs of tokens with the entities of each record; the rest is outside. Their vocab
    is that of English: a bare one knows no attributes of words, such as LOWER."""
    vocab, docs = blank("en").vocab, []
    for record in records:
        doc = Doc(vocab, words=record["tokens"])
        doc.set_ents([Span(doc, i, j, label) for i, j, label in spans(record)])
        docs.append(doc)
    return docs


def read_docs(
    folder: Path, quick: bool, spans: Callable[[Record], Spans] = spans_of
) -> tuple[list[Doc], list[Doc]]:
    """Docs of train and of test."""
    parts = (read_records(folder / f"{x}.jsonl", quick) for x in ("train", "test"))
    train, test = (make_docs(part, spans) for part in parts)
    return train, test


# --------------------------------------------------------------------------------- fits


@dataclass
class Fitted:
    """A pipeline with the component alone, and what it cost, in CPU seconds.

    cpu_s (float): Of `initialize`: features are read, patterns mined, weights fitted.
    fit_s, inference_s (float): Of the fit alone; of its sums over segmentations alone.
    n_values (int): How often the objective of the whole corpus was computed.
    n_first (int): Label patterns that the fit began with.
    """

    nlp: Language
    cpu_s: float = 0.0
    fit_s: float = 0.0
    inference_s: float = 0.0
    n_values: int = 0
    n_first: int = 0

    @property
    def component(self) -> Any:
        """Returns the only component."""
        return self.nlp.get_pipe("hosemi")


def paper_settings(kind: str, order: int) -> dict[str, Any]:
    """The component as Nguyen et al. name it: "C", a chain, or "SC", segments."""
    encoding = "IO" if kind == "C" else "segments"
    more = {"max_order": order, "observed_order": 1}
    return {"encoding": encoding, "outside": "none", **more}


def config_of(settings: Mapping[str, Any], **features: Any) -> dict[str, Any]:
    """A config of the component, with what `model.features` has beside the defaults."""
    reader = {"@misc": "spacy_hosemi.features.v1", **features}
    scorer = {"@architectures": "spacy_hosemi.SpanScorer.v1", "features": reader}
    return {**settings, "model": scorer}


def fitted(docs: Sequence[Doc], config: Mapping[str, Any], fit: Fit) -> Fitted:
    """Train the component alone on docs of one vocab, with entities."""
    found = Fitted(Language(docs[0].vocab))
    component: Any = found.nlp.add_pipe("hosemi", config=dict(config))
    objective = component.objective

    def timed_objective(*args: Any) -> Any:
        began = time.process_time()
        values = objective(*args)
        found.inference_s += time.process_time() - began
        return values

    def timed_fit(batch: TrainingSet) -> None:
        compute = batch.value_and_gradient

        def counted() -> Any:
            found.n_values += 1
            return compute()

        batch.value_and_gradient = counted  # type: ignore[method-assign]
        found.n_first = len(component.automaton.patterns)
        began = time.process_time()
        fit(batch)
        found.fit_s = time.process_time() - began

    examples = [Example(*pair) for pair in zip(fresh(docs), docs)]
    component.objective = timed_objective
    began = time.process_time()
    component.initialize(lambda: examples, nlp=found.nlp, fit=timed_fit)
    found.cpu_s = time.process_time() - began
    component.objective = objective
    return found


def by_lbfgs(
    docs: Sequence[Doc],
    settings: Mapping[str, Any],
    features: Mapping[str, Any],
    fit: Mapping[str, Any],
    quick: bool = False,
) -> Fitted:
    """Train with settings of the component, of `model.features`, and of
    `spacy_hosemi.lbfgs.v1`; if quick, by a few iterations."""
    last = {"max_iter": QUICK_ITERATIONS} if quick else {}
    find = make_lbfgs(**{"progress": False, **fit, **last})
    return fitted(docs, config_of(settings, **features), find)


def by_perceptron(
    docs: Sequence[Doc],
    config: Mapping[str, Any],
    n_passes: int,
    rate: float | dict[str, float] = 1.0,
    seed: int = SEED,
) -> Fitted:
    """Train by the averaged perceptron, weights of long patterns 0 or more; the rate is
    that of all steps, or by family of features, the seed of the documents' order."""
    fit = make_averaged(n_passes, rate, seed, nonnegative=True, progress=False)
    return fitted(docs, config, fit)


# -------------------------------------------------------------------------------- tests


def fresh(docs: Iterable[Doc]) -> list[Doc]:
    """Copies of docs without their entities."""
    return [Doc(doc.vocab, [token.text for token in doc]) for doc in docs]


def entities(doc: Doc) -> set[tuple[int, int, str]]:
    """Start, end (exclusive) and label of each."""
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def label_sequences(component: Any, docs: Sequence[Doc]) -> list[list[str]]:
    """Labels of the segments of each document, outside too."""
    inventory = component.inventory
    known = set(inventory.labels)
    spans = (
        [(x.start, x.end, x.label_) for x in doc.ents if x.label_ in known]
        for doc in docs
    )
    return [
        [inventory.names[y] for *_, y in inventory.encode(x, len(doc))]
        for x, doc in zip(spans, docs)
    ]


def right_labels(component: Any, docs: Sequence[Doc]) -> Bools:
    """Which tokens get their label, where each token is an entity."""
    pairs = zip(component.pipe(fresh(docs)), docs)
    found = [x.label_ == y.label_ for a, b in pairs for x, y in zip(a.ents, b.ents)]
    return np.array(found, bool)


def parts(
    component: Any, docs: Sequence[Doc], methods: Sequence[str] = ()
) -> dict[str, Timed]:
    """What is timed of a prediction, by name: features and sums of their weights, the
    search for the best labels, in one call and by some methods with a call for each
    document, and all from `Doc` to `doc.ents`."""
    automaton, potentials = component.automaton, component.model.predict(fresh(docs))

    def by(method: str) -> Callable[[Any], object]:
        return lambda _: [core.viterbi(automaton, x, method=method) for x in potentials]

    runs = {
        "scores": component.model.predict,
        "decoding": lambda _: core.viterbi_many(automaton, potentials),
        "component": lambda fresh_docs: [*component.pipe(fresh_docs)],
        **{method: by(method) for method in methods},
    }
    return {name: Timed(run, lambda: fresh(docs)) for name, run in runs.items()}


def best_us(
    runs: Sequence[Mapping[str, Timed]], docs: Sequence[Doc]
) -> list[dict[str, float]]:
    """CPU us a token of each part of some models: the best of three passes in which all
    take turns."""
    flat = {(k, part): run for k, of in enumerate(runs) for part, run in of.items()}
    seconds, n_tokens = take_turns(flat), sum(map(len, docs))
    return [
        {part: 1e6 * min(seconds[k, part]) / n_tokens for part in of}
        for k, of in enumerate(runs)
    ]


def mc_nemar(before: Bools, after: Bools) -> tuple[int, int, float]:
    """McNemar's test, exact, of which cases (bool [cases]) two models have right.
    Returns how many only the first, only the second has right, and p of such a
    difference if both were as good."""
    only_before = int((before & ~after).sum())
    only_after = int((after & ~before).sum())
    n = only_before + only_after
    p = binomtest(only_before, n).pvalue if n else 1.0
    return only_before, only_after, float(p)


def script(
    description: str | None,
    measure: Callable[[argparse.Namespace], list[str]],
    options: Mapping[str, Any] | None = None,
) -> Callable[[], int]:
    """Returns the `main` of a script, which prints its tables."""
    data = arguments.path_to("folder with all data sets", required=True)
    return arguments.script(
        description,
        lambda args, folder: report(args, Path(sys.argv[0]).name, *measure(args)),
        "--quick --json",
        {"--data": data, **(options or {})},
    )


def tell(text: str) -> None:
    """Say what was just measured."""
    print(text, file=sys.stderr, flush=True)
