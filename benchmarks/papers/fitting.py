"""Docs, a fit of the component on them, and the command line of a script of a paper."""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sections  # noqa: F401 - it makes the other benchmarks importable
from measuring import SEED, shuffled
from numpy.typing import NDArray
from scipy.stats import binomtest
from sections import Options, Section
from spacy import blank
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.batch import Batch
from spacy_hosemi.training.lbfgs import Fit, make_lbfgs
from spacy_hosemi.training.objectives import Objective

# The fit of the paper's own code: 100 iterations at most, sigma = 1. On three folds of
# train the mean F1 of C1 to SC3 is 85.62, 85.69, 85.58 and 85.41 with tolerances of
# 3e-4, 5e-4, 7e-4 and 1e-3.
PAPER_FIT = {"l2": 1.0, "max_iter": 100, "tolerance": 5e-4}
QUICK_DOCS = 40
QUICK_ITERATIONS = 5
N_TIMED = 4  # passes

Spans = Sequence[tuple[int, int, str]]
Record = dict[str, Any]
Bools = NDArray[np.bool_]


@dataclass
class Cost:
    """What a fit cost, in CPU seconds.

    inference_s (float): Of the objective alone: sums over segmentations.
    fit_s (float): That, and what weights cost: scores, gradients, steps.
    n_values (int): How often the objective of the whole corpus was computed.
    """

    inference_s: float = 0.0
    fit_s: float = 0.0
    n_values: int = 0


@dataclass
class Fitted:
    """A pipeline, and what it cost.

    nlp (Language): With the component alone.
    cpu_s (float): Of `initialize`: features are read, patterns mined, weights fitted.
    cost (Cost): Of the fit alone.
    """

    nlp: Language
    cpu_s: float
    cost: Cost

    @property
    def component(self) -> Any:
        """RETURNS (HighOrderSemiCRF): The only one."""
        return self.nlp.get_pipe("hosemi")


def read_records(path: Path, quick: bool) -> list[Record]:
    """Read a file of JSON lines; if quick its first documents only."""
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return records[:QUICK_DOCS] if quick else records


def fold(records: Sequence[Record], k: int, n: int) -> tuple[list, list]:
    """The k-th of n folds: what is trained on, and what is tested on."""
    mixed = shuffled(records, SEED)
    rest = [record for i, record in enumerate(mixed) if i % n != k]
    return rest, mixed[k::n]


def make_docs(records: Iterable[Record], spans: Callable[[Record], Spans]) -> list[Doc]:
    """Docs of tokens with entities.

    records (Iterable[Record]): Each with its tokens.
    spans (Callable): The entities of each: start, end (exclusive), label.
    RETURNS (List[Doc]): What is in no span is outside. Their vocab is that of English:
        a bare one knows no attributes of words, such as LOWER.
    """
    vocab, docs = blank("en").vocab, []
    for record in records:
        doc = Doc(vocab, words=record["tokens"])
        doc.set_ents([Span(doc, i, j, label) for i, j, label in spans(record)])
        docs.append(doc)
    return docs


def fitted(
    docs: Sequence[Doc],
    settings: Mapping[str, Any],
    features: Mapping[str, Any],
    fit: Mapping[str, Any],
    quick: bool = False,
) -> Fitted:
    """Train the component alone.

    docs (Sequence[Doc]): With entities.
    settings (Mapping): Of the component, other than the defaults.
    features (Mapping): Of `model.features`.
    fit (Mapping): Of `spacy_hosemi.lbfgs.v1`.
    quick (bool): A few iterations.
    RETURNS (Fitted): The pipeline.
    """
    nlp = blank("en")
    reader = {"@misc": "spacy_hosemi.features.v1", **features}
    scorer = {"@architectures": "spacy_hosemi.SpanScorer.v1", "features": reader}
    component: Any = nlp.add_pipe("hosemi", config={**settings, "model": scorer})
    last = {"max_iter": QUICK_ITERATIONS} if quick else {}
    find = make_lbfgs(**{"progress": False, **fit, **last})
    examples = [Example(*pair) for pair in zip(fresh(docs), docs)]
    cost, objective = Cost(), component.objective
    component.objective = _timed(objective, cost)
    began = time.process_time()
    component.initialize(lambda: examples, nlp=nlp, fit=_measured(find, cost))
    cpu_s = time.process_time() - began
    component.objective = objective
    return Fitted(nlp, cpu_s, cost)


def _timed(objective: Objective, cost: Cost) -> Objective:
    """The same objective, whose time is added up."""

    def timed(*args: Any) -> Any:
        began = time.process_time()
        found = objective(*args)
        cost.inference_s += time.process_time() - began
        return found

    return timed


def _measured(find: Fit, cost: Cost) -> Fit:
    """The same fit; what it costs is written down."""

    def measured(batch: Batch) -> None:
        compute = batch.value_and_gradient

        def counted() -> Any:
            cost.n_values += 1
            return compute()

        batch.value_and_gradient = counted  # type: ignore[method-assign]
        began = time.process_time()
        find(batch)
        cost.fit_s += time.process_time() - began

    return measured


@dataclass
class Averaged:
    """A component that the averaged perceptron trained, and what it cost.

    component (HighOrderSemiCRF): Without weights of 0.
    cpu_s, fit_s (float): Of all training, and of the passes alone.
    n_met (int): Label patterns that it began with.
    """

    component: Any
    cpu_s: float
    fit_s: float = 0.0
    n_met: int = 0


def averaged(
    docs: Sequence[Doc],
    config: Mapping[str, Any],
    n_passes: int,
    rate: float | dict[str, float] = 1.0,
    seed: int = SEED,
) -> Averaged:
    """Train by the averaged perceptron, weights of long patterns 0 or more.

    docs (Sequence[Doc]): With entities, of one vocab.
    config (Mapping): Of the component.
    n_passes (int): Over the docs.
    rate (Union[float, Dict[str, float]]): Of all steps, or by family of features.
    seed (int): Of the order of the documents.
    RETURNS (Averaged): The component.
    """
    nlp = Language(docs[0].vocab)
    found = Averaged(nlp.add_pipe("hosemi", config=dict(config)), 0.0)
    fit = make_averaged(n_passes, rate, seed, nonnegative=True, progress=False)

    def timed_fit(batch: Batch) -> None:
        found.n_met = len(found.component.automaton.patterns)
        began = time.process_time()
        fit(batch)
        found.fit_s = time.process_time() - began

    examples = [Example(*pair) for pair in zip(fresh(docs), docs)]
    began = time.process_time()
    found.component.initialize(lambda: examples, nlp=nlp, fit=timed_fit)
    found.cpu_s = time.process_time() - began
    return found


def fresh(docs: Iterable[Doc], vocab: Vocab | None = None) -> list[Doc]:
    """Copies of docs without their entities.

    docs (Iterable[Doc]): Of tokens.
    vocab (Optional[Vocab]): Of the copies; None: that of each doc.
    RETURNS (List[Doc]): The copies.
    """
    return [Doc(vocab or doc.vocab, [token.text for token in doc]) for doc in docs]


def predicted(nlp: Language, docs: Iterable[Doc]) -> list[Doc]:
    """Copies of docs with the entities that a pipeline finds."""
    return [nlp(doc) for doc in fresh(docs, nlp.vocab)]


def span_f1(gold: Iterable[Doc], found: Iterable[Doc]) -> float:
    """Micro-averaged F1 of entities, exact span and label, in per cent."""
    return f1(map(entities, gold), map(entities, found))


def entities(doc: Doc) -> set[tuple[int, int, str]]:
    """Start, end (exclusive) and label of each."""
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def f1(gold: Iterable[set[Any]], found: Iterable[set[Any]]) -> float:
    """Micro-averaged F1 of sets, in per cent."""
    correct = n_gold = n_found = 0
    for expected, actual in zip(gold, found):
        correct += len(expected & actual)
        n_gold += len(expected)
        n_found += len(actual)
    return 200 * correct / max(1, n_gold + n_found)


def best_us(
    runs: Mapping[Any, Callable[[], object]], n_tokens: int
) -> dict[Any, float]:
    """Time what can be run again and again.

    runs (Mapping[Any, Callable]): What is timed, by name.
    n_tokens (int): In each run.
    RETURNS (Dict[Any, float]): CPU us a token of each: the best of `N_TIMED` passes in
        which all take turns, since the machine may be busy for a while. As in `timeit`
        garbage is not collected: that takes as long as there are objects of all runs.
    """
    best = dict.fromkeys(runs, math.inf)
    gc.collect()
    gc.disable()
    try:
        for _ in range(N_TIMED):
            for name, run in runs.items():
                began = time.process_time()
                run()
                us = 1e6 * (time.process_time() - began) / n_tokens
                best[name] = min(us, best[name])
    finally:
        gc.enable()
    return best


def mc_nemar(before: Bools, after: Bools) -> tuple[int, int, float]:
    """McNemar's test, exact, of two models on the same cases.

    before, after (bool [cases]): What each has right.
    RETURNS (Tuple[int, int, float]): Cases that only the first, only the second has
        right, and p of such a difference if both were as good.
    """
    only_before = int((before & ~after).sum())
    only_after = int((after & ~before).sum())
    n = only_before + only_after
    p = binomtest(only_before, n).pvalue if n else 1.0
    return only_before, only_after, float(p)


def main(measure: Callable[[Options], list[Section]], description: str) -> int:
    """Print the sections of a script."""
    parser = argparse.ArgumentParser(description=description)
    add_arguments(parser)
    args = parser.parse_args()
    options = Options(args.data, args.quick, Path(__file__).resolve().parent)
    print(*measure(options), sep="\n\n")
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What each script and `run.py` take."""
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with all data sets"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small: does it run? Says nothing of F1"
    )


def tell(text: str) -> None:
    """Say what was just measured."""
    print(text, file=sys.stderr, flush=True)
