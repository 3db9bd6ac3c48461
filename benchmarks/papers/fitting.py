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
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import SEED, Timed, make_parser, read_lines, report, take_turns

# isort: split
import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from spacy import blank
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hosemi.training.averaged import make_averaged
from spacy_hosemi.training.lbfgs import Fit, make_lbfgs
from spacy_hosemi.training.objectives import Objective
from spacy_hosemi.training.training_set import TrainingSet

QUICK_DOCS = 40
QUICK_ITERATIONS = 5

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
        """Returns the only component."""
        return self.nlp.get_pipe("hosemi")


def read_records(path: Path, quick: bool) -> list[Record]:
    """Read a file of JSON lines; if quick its first documents only."""
    records = list(map(json.loads, read_lines(path)))
    return records[:QUICK_DOCS] if quick else records


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

    def measured(batch: TrainingSet) -> None:
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
    n_first (int): Label patterns that it began with.
    """

    component: Any
    cpu_s: float
    fit_s: float = 0.0
    n_first: int = 0


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

    def timed_fit(batch: TrainingSet) -> None:
        found.n_first = len(found.component.automaton.patterns)
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


def entities(doc: Doc) -> set[tuple[int, int, str]]:
    """Start, end (exclusive) and label of each."""
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}


def best_us(
    runs: Mapping[Any, Callable[[], object] | Timed], n_tokens: int
) -> dict[Any, float]:
    """CPU us a token of the best of three passes in which all take turns."""
    timed = {
        name: run if isinstance(run, Timed) else Timed(lambda _, run=run: run())
        for name, run in runs.items()
    }
    return {name: 1e6 * min(s) / n_tokens for name, s in take_turns(timed).items()}


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


def run_script(
    measure: Callable[[argparse.Namespace], list[str]],
    description: str | None,
    *options: tuple[str, dict[str, Any]],
) -> int:
    """Print the tables of a script."""
    parser = make_parser(description, "--quick", "--json")
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with all data sets"
    )
    parser.add_argument(
        "--pictures",
        type=Path,
        default=Path(__file__).resolve().parent,
        metavar="DIR",
        help="where pictures are written (default: beside the script)",
    )
    for name, given in options:
        parser.add_argument(name, **given)
    args = parser.parse_args()
    report(args, parser.prog, *measure(args))
    return 0


def tell(text: str) -> None:
    """Say what was just measured."""
    print(text, file=sys.stderr, flush=True)
