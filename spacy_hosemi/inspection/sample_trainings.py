"""Trains on small samples of a corpus, and measures time and memory.

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
from spacy.util import minibatch, registry
from spacy.vocab import Vocab

from ..component.pipe import HighOrderSemiCRF
from ..model.tok2vec import encoder_of, set_output, vectors_of
from ..training import lbfgs
from ..training.feature_selection import count_features
from .corpus import as_examples, first_documents
from .pipelines import plain_fit, settings_of

# Iterations until L-BFGS has all the vectors that it keeps; of a short training.
N_TRACED, N_SHORT = 8, 3
MAX_ITER = next(x.default for x in lbfgs.SETTINGS if x.name == "max_iter")

# The time of l2 = "auto", in fits with one number: see benchmarks/results/settings.md.
FITS_BY_DEV, FITS_BY_FOLDS = 1.9, 3.7

Fit = Callable[[Any], Any]


@dataclass
class Minimized:
    """One minimization: of all labels, or of one level of a tree; the evaluations of
    objective and gradient, and CPU seconds in these and elsewhere."""

    n_weights: int
    n_evaluations: int = 0
    in_evaluations: float = 0.0
    elsewhere: float = 0.0

    @property
    def seconds(self) -> float:
        """Returns CPU seconds, all together."""
        return self.in_evaluations + self.elsewhere


@dataclass
class Sample:
    """A training on some documents: its fits (one, or one for each level of a label
    tree), and CPU seconds to read the documents, and to prepare the fits."""

    n_tokens: int
    fits: list[Minimized]
    reading: float
    preparing: float


@dataclass
class Traced:
    """Memory of a training on some documents, in bytes."""

    n_tokens: int
    n_rows: int  # features
    n_weights: int  # of the largest fit
    documents: int  # examples, and the words that they have
    model: int  # what there is beside the documents when the fit begins
    transient: int  # what the fit has beside these, at most


class SampleTrainings:
    """Trains on samples of documents, drawn in one order, so that a larger sample has
    the smaller one; this changes the pipeline. Raises ValueError HS254 if the config
    does not fit by L-BFGS. `order` has the documents with tokens in this order;
    `n_fits` is what l2 = "auto" takes, in fits with one number."""

    def __init__(self, docs: Sequence[Doc], nlp: Language, pipe: HighOrderSemiCRF):
        self.nlp, self.pipe = nlp, pipe
        self.order = [doc for doc in docs if len(doc)]
        random.Random(0).shuffle(self.order)
        self.labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
        block = settings_of(nlp, pipe.name)
        self._fit, dev = block.pop("fit"), block.pop("dev", None)
        is_auto = self._fit.get("l2") == "auto"
        self.n_fits = (FITS_BY_DEV if dev else FITS_BY_FOLDS) if is_auto else 1.0
        self._settings = registry.resolve(block)
        # L-BFGS takes 1.1 evaluations an iteration.
        self.max_evaluations = 1.1 * self._fit.get("max_iter", MAX_ITER)

    def encode(self, seconds: float, n_most: int) -> tuple[float, float, int]:
        """Encodes documents until that has taken `seconds` of CPU, or `n_most` tokens.
        Returns CPU seconds and megabytes for each token, and how many were encoded; 0,
        0 and `n_most` if the time cannot be told apart from the rest."""
        model = self.pipe.model
        if not model.layers or "digest" not in model.get_ref("tok2vec").attrs:
            return 0.0, 0.0, n_most
        model.get_ref("tok2vec").initialize(X=self._predicted(self.order[:1]))
        set_output(model, 1)
        began, spent, n = time.process_time(), 0.0, 0
        for docs in minibatch(self.order, 32):
            vectors_of(encoder_of(model), self._predicted(docs))
            n += sum(map(len, docs))
            spent = time.process_time() - began
            if spent > seconds or n >= n_most:
                break
        return spent / n, 4e-6 * model.get_ref("output").get_dim("nI"), n

    def _predicted(self, docs: Sequence[Doc]) -> list[Doc]:
        return [example.predicted for example in as_examples(docs, self.nlp)]

    def sample(self, n_tokens: float) -> list[Doc]:
        """Returns what `first_documents` does."""
        return first_documents(self.order, n_tokens)

    def train(self, docs: Sequence[Doc], is_short: bool = False) -> Sample:
        """Returns what a training took; a short one has a few iterations."""
        changes = {"max_iter": N_SHORT} if is_short else {}
        fit = plain_fit(self._fit, **changes)
        fits: list[Minimized] = []
        content = DocBin(docs=docs).to_bytes()
        began = time.process_time()
        examples = self._read(content, self.nlp.vocab)
        read = time.process_time()
        self._initialize(examples, lambda batch: fits.append(_minimized(batch, fit)))
        preparing = time.process_time() - read - sum(x.seconds for x in fits)
        n_tokens = sum(len(x.predicted) for x in examples)
        return Sample(n_tokens, fits, read - began, preparing)

    def _read(self, content: bytes, vocab: Vocab) -> list[Example]:
        return as_examples([*DocBin().from_bytes(content).get_docs(vocab)], self.nlp)

    def predict(self, docs: Sequence[Doc]) -> float:
        """Returns CPU seconds for the entities of documents, after `train`."""
        began = time.process_time()
        for _ in self.pipe.pipe(self._predicted(docs)):
            pass
        return time.process_time() - began

    def trace(self, docs: Sequence[Doc]) -> Traced:
        """Returns the memory of a training."""
        content = DocBin(docs=docs).to_bytes()
        vocab = Vocab(strings=self.labels)
        few = plain_fit(self._fit, max_iter=N_TRACED)
        tracemalloc.start()
        try:
            examples = self._read(content, vocab)
            documents = tracemalloc.get_traced_memory()[0]
            peaks: list[tuple[int, int, int]] = []

            def fit(batch: Any) -> None:
                model, _ = tracemalloc.get_traced_memory()
                tracemalloc.reset_peak()
                few(batch)
                peak = tracemalloc.get_traced_memory()[1]
                peaks.append((len(batch.weights.vector()), model, peak))

            self._initialize(examples, fit)
        finally:
            tracemalloc.stop()
        n_weights, model, peak = max(peaks, key=lambda x: x[2])
        n_tokens = sum(len(x.predicted) for x in examples)
        args = n_tokens, len(self.pipe.weights.table), n_weights, documents
        return Traced(*args, model - documents, peak - model)

    def count(self, docs: Sequence[Doc]) -> tuple[int, int, int]:
        """Returns, after `train`, how many features may have weights, how many there
        are, and the sum over documents of how many each has."""
        extractor = self.pipe.weights.extractor
        predicted = self._predicted(docs)
        _, in_tokens, in_docs = count_features(extractor, predicted)
        n_rows = int((in_tokens >= extractor.features.min_count).sum())
        return n_rows, len(in_tokens), int(in_docs.sum())

    def _initialize(self, examples: list[Example], fit: Fit) -> None:
        settings = {"labels": self.labels, "fit": fit, **self._settings}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.pipe.initialize(lambda: examples, nlp=self.nlp, **settings)


def _minimized(batch: Any, fit: Fit) -> Minimized:
    """Fits, and returns what that took."""
    minimized = Minimized(len(batch.weights.vector()))
    evaluate = batch.value_and_gradient

    def evaluate_timed() -> Any:
        began = time.process_time()
        value = evaluate()
        minimized.in_evaluations += time.process_time() - began
        minimized.n_evaluations += 1
        return value

    batch.value_and_gradient = evaluate_timed
    began = time.process_time()
    fit(batch)
    minimized.elsewhere = time.process_time() - began - minimized.in_evaluations
    return minimized
