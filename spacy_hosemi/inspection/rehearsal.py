"""Trainings on small samples of a corpus, timed and measured.

Each is a whole training by the component and fit function of the config: what it costs
to read documents, to choose features, and for each evaluation of the objective.
"""

from __future__ import annotations

import random
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..component.penalty_search import DEFAULT
from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..training import lbfgs
from ..training.feature_selection import count_features
from ..training.lbfgs import FitReport
from .corpus import as_examples

FIT = "spacy_hosemi.lbfgs.v1"
# Iterations after which L-BFGS has all the vectors that it keeps; those of a training
# that is short.
N_TRACED, N_SHORT = 8, 3
MAX_ITER = next(x.default for x in lbfgs.SETTINGS if x.name == "max_iter")

# The time of l2 = "auto", in fits with one number: see benchmarks/results/settings.md.
FITS_BY_DEV, FITS_BY_FOLDS = 1.9, 3.7

Fit = Callable[[Any], Any]


@dataclass
class Minimized:
    """One minimization: of all labels, or of one level of a tree.

    n_weights (int): Weights that were fitted.
    n_evaluations (int): Of objective and gradient.
    in_evaluations, elsewhere (float): CPU seconds.
    """

    n_weights: int
    n_evaluations: int = 0
    in_evaluations: float = 0.0
    elsewhere: float = 0.0


@dataclass
class Sample:
    """A training on some documents.

    n_documents, n_tokens (int): What it was trained on.
    fits (List[Minimized]): One, or of a tree one for each level that was trained.
    reading (float): CPU seconds for the documents.
    preparing (float): CPU seconds between documents and fits.
    """

    n_documents: int
    n_tokens: int
    fits: list[Minimized]
    reading: float
    preparing: float


@dataclass
class Traced:
    """Memory of a training on some documents, in bytes.

    n_tokens, n_rows, n_weights (int): Tokens; features; the weights of the largest fit.
    documents (int): Examples, and the words that they have.
    model (int): What there is beside the documents when the fit begins.
    transient (int): What the fit has beside these, at most.
    """

    n_tokens: int
    n_rows: int
    n_weights: int
    documents: int
    model: int
    transient: int


class Rehearsal:
    """Trainings on samples of documents.

    docs (Sequence[Doc]): All documents to train on; those of a sample are drawn in one
        order, so that a larger sample has the smaller one.
    nlp (Language), pipe (HighOrderSemiCRF): The pipeline, which is changed.
    RAISES (ValueError): HS254 the config does not fit by L-BFGS.
    """

    def __init__(self, docs: Sequence[Doc], nlp: Language, pipe: HighOrderSemiCRF):
        self.nlp, self.pipe = nlp, pipe
        self.order = [doc for doc in docs if len(doc)]
        random.Random(0).shuffle(self.order)
        self.labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
        block = settings_of(nlp, pipe.name)
        # What l2 = "auto" takes, in fits with one number.
        self.n_fits = 1.0
        if block["fit"].get("l2") == "auto":
            self.n_fits = FITS_BY_DEV if block.get("dev") else FITS_BY_FOLDS
            block["fit"] = {**block["fit"], "l2": DEFAULT}
        block.pop("dev", None)
        self._block = block["fit"]
        resolved = registry.resolve(block)
        self._fit: Fit = to_the_end(resolved.pop("fit"))
        self._settings = resolved
        # L-BFGS takes 1.1 evaluations an iteration.
        self.max_evaluations = 1.1 * self._block.get("max_iter", MAX_ITER)

    def sample(self, n_tokens: float) -> list[Doc]:
        """RETURNS (List[Doc]): So many that they have at least these tokens, or all."""
        found, n = [], 0
        for doc in self.order:
            if n >= n_tokens:
                break
            found.append(doc)
            n += len(doc)
        return found

    def train(self, docs: Sequence[Doc], is_short: bool = False) -> Sample:
        """RETURNS (Sample): What a training took; a short one has a few iterations."""
        fit = self._few(N_SHORT) if is_short else self._fit
        fits: list[Minimized] = []
        content = DocBin(docs=docs).to_bytes()
        began = time.process_time()
        read = [*DocBin().from_bytes(content).get_docs(self.nlp.vocab)]
        examples = as_examples(read, self.nlp)
        reading = time.process_time() - began
        began = time.process_time()
        in_fits = self._initialize(
            examples, lambda batch: self._timed(batch, fit, fits)
        )
        preparing = time.process_time() - began - in_fits
        n_tokens = sum(len(x.predicted) for x in examples)
        return Sample(len(docs), n_tokens, fits, reading, preparing)

    def predict(self, docs: Sequence[Doc]) -> float:
        """RETURNS (float): CPU seconds for the entities of documents, after `train`."""
        began = time.process_time()
        for _ in self.pipe.pipe(x.predicted for x in as_examples(docs, self.nlp)):
            pass
        return time.process_time() - began

    def trace(self, docs: Sequence[Doc]) -> Traced:
        """RETURNS (Traced): The memory of a training."""
        content = DocBin(docs=docs).to_bytes()
        vocab, few = Vocab(strings=self.labels), self._few(N_TRACED)
        tracemalloc.start()
        try:
            read = [*DocBin().from_bytes(content).get_docs(vocab)]
            examples = as_examples(read, self.nlp)
            documents = tracemalloc.get_traced_memory()[0]
            seen: list[tuple[int, int, int]] = []

            def fit(batch: Any) -> None:
                model, _ = tracemalloc.get_traced_memory()
                tracemalloc.reset_peak()
                few(batch)
                peak = tracemalloc.get_traced_memory()[1]
                seen.append((len(batch.weights.vector()), model, peak))

            self._initialize(examples, fit)
        finally:
            tracemalloc.stop()
        n_weights, model, peak = max(seen, key=lambda x: x[2])
        n_tokens = sum(len(x.predicted) for x in examples)
        args = n_tokens, len(self.pipe.weights.table), n_weights, documents
        return Traced(*args, model - documents, peak - model)

    def count(self, docs: Sequence[Doc]) -> tuple[int, int, int]:
        """Count features, after `train`.

        RETURNS (Tuple[int, int, int]): Different ones that are frequent enough for
            weights; all different ones; and summed by document.
        """
        extractor = self.pipe.weights.extractor
        made = [x.predicted for x in as_examples(docs, self.nlp)]
        _, in_tokens, in_docs = count_features(extractor, made)
        n_rows = int((in_tokens >= extractor.features.min_count).sum())
        return n_rows, len(in_tokens), int(in_docs.sum())

    def _initialize(self, examples: list[Example], fit: Fit) -> float:
        """Train anew. RETURNS (float): CPU seconds of all fits."""
        seconds = 0.0

        def timed(batch: Any) -> None:
            nonlocal seconds
            began = time.process_time()
            fit(batch)
            seconds += time.process_time() - began

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.pipe.initialize(
                lambda: examples,
                nlp=self.nlp,
                labels=self.labels,
                fit=timed,
                **self._settings,
            )
        return seconds

    def _timed(self, batch: Any, fit: Fit, fits: list[Minimized]) -> None:
        found = Minimized(len(batch.weights.vector()))
        evaluate = batch.value_and_gradient

        def evaluate_timed() -> Any:
            began = time.process_time()
            value = evaluate()
            found.in_evaluations += time.process_time() - began
            found.n_evaluations += 1
            return value

        batch.value_and_gradient = evaluate_timed
        began = time.process_time()
        fit(batch)
        found.elsewhere = time.process_time() - began - found.in_evaluations
        fits.append(found)

    def _few(self, max_iter: int) -> Fit:
        """A fit with few iterations."""
        fit: Fit = registry.resolve({"fit": {**self._block, "max_iter": max_iter}})[
            "fit"
        ]
        return to_the_end(fit)


def to_the_end(fit: Fit) -> Fit:
    """The same fit, where Ctrl-C ends what needs its weights, too. By itself a fit ends
    there with the weights that it has, and nothing is said of others by these."""

    def run(batch: Any) -> Any:
        report = fit(batch)
        if isinstance(report, FitReport) and report.reason == "interrupted":
            raise KeyboardInterrupt
        return report

    return run


def settings_of(nlp: Language, name: str) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): The block [initialize.components.NAME] of a pipeline,
    interpolated; its fit writes nothing.

    RAISES (ValueError): HS254 it has no fit by L-BFGS.
    """
    blocks = nlp.config.interpolate()["initialize"].get("components") or {}
    block = {**(blocks.get(name) or {})}
    fit = {**(block.get("fit") or {})}
    if fit.get("@misc") != FIT:
        found = fit.get("@misc", "none")
        raise ValueError(Errors.HS254.format(found=found, expected=FIT))
    block["fit"] = {**fit, "progress": False, "log": None, "checkpoint": None}
    return block
