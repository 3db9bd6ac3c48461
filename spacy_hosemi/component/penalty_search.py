"""Chooses l2, and with it the decoding, by documents that the weights do not know.

The minimizations follow a path from strong to weak penalties, each from the weights of
the one before (warm starts, as in Friedman, Hastie and Tibshirani 2010, section 2.5),
so that the whole path takes little more than one minimization from 0.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from tqdm import tqdm

from ..core import Potentials
from ..core.parallel.coroutines import Steps
from ..errors import Errors, Warnings
from ..features.instances import instances
from ..labels.partial import PartialLabels
from ..model.active_features import Rows, read_docs
from ..model.weights.potentials import score_rows
from ..model.weights.state import WeightState
from ..prediction.decoder import DecodingOptions, FlatDecoder
from ..prediction.existing_entities import preset_entities
from ..training.batch import Batch
from ..training.lbfgs import FitReport, Lbfgs
from ..training.progress import bar_of
from ..training.trainer import Trainer

# From strong to weak: two values for each power of ten.
PATH = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

# Without documents for it: parts of the training documents, each judged by weights of
# the others. Three take twice the time of one path.
N_FOLDS = 3

# What is taken where nothing can be judged.
DEFAULT = 0.1

# Beside "viterbi": the values of expected_f1 for "mbr".
EXPECTED_F1 = (None, 0.2, 0.4, 0.6, 0.8, 1.0)

# "mbr" must win this many standard errors: it is the best of several, and has fewer
# exact records where both have the same F1.
SURE = 2.0

# By document: spans that are right, spans that were found, gold spans.
Counts = NDArray[np.int64]

# Settings of the component: decoding, and expected_f1.
Decoding = tuple[str, float | None]


@dataclass(frozen=True)
class Trial:
    """What one l2 has reached, with the decoding that was best for it.

    l2 (float): For all weights.
    decoding (str), expected_f1 (Optional[float]): As the settings of the component.
    counts (int64 [D, 3]): Of each document that was judged.
    """

    l2: float
    decoding: str
    expected_f1: float | None
    counts: Counts

    @property
    def f1(self) -> float:
        """F1 of all spans, 0 to 1."""
        return f1_of(self.counts)

    @property
    def record_accuracy(self) -> float:
        """The share of documents whose spans are all right."""
        return float((self.counts == self.counts[:, :1]).all(axis=1).mean())

    def to_cfg(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): As JSON can have it."""
        settings = {"decoding": self.decoding, "expected_f1": self.expected_f1}
        scores = {"ents_f": self.f1, "ents_record_accuracy": self.record_accuracy}
        return {"l2": self.l2, **settings, **scores}


def f1_of(counts: Counts) -> float:
    """F1 of all spans, 0 to 1; 0 if there are none."""
    right, found, gold = counts.sum(axis=0).tolist()
    return 2 * right / max(1, found + gold)


def error_of_difference(one: Counts, other: Counts) -> float:
    """The standard error of the difference of two F1 on the same documents.

    With right, found and gold spans r, p, g of document i, and S the sum of p + g,
    F1 = sum 2 r / S changes with document i by about (2 r - F1 (p + g)) / S (the delta
    method). The differences of these numbers are paired by document:

        e^2 = D / (D - 1)  sum_i (d_i - d'_i)^2
    """
    parts = [
        (2 * x[:, 0] - f1_of(x) * (x[:, 1] + x[:, 2])) / max(1, x[:, 1:].sum())
        for x in (one, other)
    ]
    n = len(one)
    return float(np.sqrt(n / max(1, n - 1) * np.square(parts[0] - parts[1]).sum()))


class Annotated(NamedTuple):
    """A document as features read it, and what a scorer counts of it.

    known (PartialLabels): Required spans, and tokens without annotation: not those of
        spans that no tokens can form, where each prediction is wrong.
    n_unreached (int): Such spans, which count as missed.
    """

    doc: Doc
    known: PartialLabels
    n_unreached: int


class Judged(NamedTuple):
    """Documents by which weights are judged.

    docs (List[Annotated]): Documents.
    rows (List[Rows]): Known features of their instances, one document after the other.
    """

    docs: list[Annotated]
    rows: list[Rows]


@dataclass
class _Fold:
    """A batch to be trained on, others to be judged by, the weights on the path."""

    batch: Batch
    judged: Judged
    weights: NDArray[np.float64]


class _RowScorer:
    """Scores instances, whose features have been read, in their order."""

    def __init__(self, state: WeightState, rows: Iterable[Rows]) -> None:
        self._state, self._rows = state, iter(rows)

    def steps(self, docs: Sequence[Doc]) -> Steps[list[Potentials]]:
        """RETURNS (List[Potentials]): Of the next instances."""
        yield from ()
        pairs = zip(docs, self._rows)
        return [score_rows(self._state, rows, len(doc)) for doc, rows in pairs]


class PenaltySearch:
    """A fit that looks for the best l2, and the best decoding, by F1 of spans.

    It stops where F1 has fallen by more than its standard error below the best one.
    The decoding is "mbr" only where that wins SURE standard errors of F1.

    Features and label patterns are those of all training documents in each fold.

    trainer (Trainer): Has the weights.
    fit (Lbfgs): The minimization, without l2.
    options (DecodingOptions): Of the component.
    is_on_tokens (bool): Whether labels are tags of tokens, which have no "mbr".

    trials (List[Trial]): What was tried, from the strongest l2.
    best (Optional[Trial]): Of these; None if nothing could be judged.
    """

    def __init__(
        self,
        trainer: Trainer,
        fit: Lbfgs,
        options: DecodingOptions,
        is_on_tokens: bool,
    ) -> None:
        self._trainer, self._fit = trainer, fit
        self._options = options._replace(
            has_scores=False, has_whole=False, spans_threshold=None
        )
        self._decodings: list[Decoding] = [(options.decoding, options.expected_f1)]
        if fit.choose_decoding:
            self._decodings = [("viterbi", None)]
            if not is_on_tokens:
                self._decodings += [("mbr", value) for value in EXPECTED_F1]
        self._docs: list[Annotated] = []
        self._dev: list[Annotated] = []
        self._reports: list[FitReport] = []
        self.trials: list[Trial] = []
        self.best: Trial | None = None

    def use(self, docs: Sequence[Annotated], dev: Sequence[Annotated]) -> None:
        """Judge by these documents.

        docs (Sequence[Annotated]): The training documents, in their order.
        dev (Sequence[Annotated]): Others; if there are none, folds of the training
            documents are taken.
        """
        self._docs, self._dev = [*docs], [one for one in dev if len(one.doc)]

    def __call__(self, batch: Any) -> FitReport:
        """Find the best l2, and the weights for it.

        batch (Batch): The training documents.
        RETURNS (FitReport): Of the last minimization.
        RAISES (ValueError): HS290 levels of a tree, which have no batch.
        WARNS (UserWarning): HSW70 nothing can be judged.
        """
        if not isinstance(batch, Batch) or batch.has_levels:
            raise ValueError(Errors.HS290)
        folds = self._folds(batch)
        if not any(one.known.required for x in folds for one in x.judged.docs):
            warnings.warn(Warnings.HSW70.format(l2=DEFAULT), stacklevel=2)
            return self._fit.at(DEFAULT, is_final=True)(batch)
        weights, report = self._follow(folds)
        batch.weights.set_vector(weights)
        is_writing = self._fit.records.is_writing
        if report.reason != "interrupted" and (is_writing or not self._dev):
            assert self.best is not None
            return self._fit.at(self.best.l2, is_final=True)(batch)
        batch.weights.round()  # a saved model predicts the same
        return report

    @property
    def judged_by(self) -> str:
        """RETURNS (str): In words, for messages."""
        return f"{len(self._dev)} documents of dev" if self._dev else "folds"

    def _folds(self, batch: Batch) -> list[_Fold]:
        start = batch.weights.vector()
        scope = self._options.scope
        if self._dev:
            parts = [x for one in self._dev for x in instances(one.doc, scope)]
            state = self._trainer.weights.state
            rows = [read_docs(state, [x.tokens]) for x in parts]
            return [_Fold(batch, Judged([*self._dev], rows), start)]
        numbers = _fold_numbers([one.doc for one in self._docs])
        sizes = [len(instances(one.doc, scope)) for one in self._docs]
        first = [0, *np.cumsum(sizes).tolist()]
        found = []
        for fold in range(max(numbers, default=-1) + 1):
            own = [k for k, number in enumerate(numbers) if number == fold]
            others = [k for k, number in enumerate(numbers) if number != fold]
            if own and others:
                part = batch.part([i for k in others for i in range(*first[k : k + 2])])
                rows = [batch.rows(i) for k in own for i in range(*first[k : k + 2])]
                judged = Judged([self._docs[k] for k in own], rows)
                found.append(_Fold(part, judged, start))
        return found

    def _follow(self, folds: list[_Fold]) -> tuple[NDArray[np.float64], FitReport]:
        """Follow the path, to its end or to Ctrl-C.

        RETURNS (Tuple[float64 [N], FitReport]): The weights of the best l2, averaged
            over the folds, and the report of its last minimization. Where Ctrl-C was
            hit before anything was judged, those of the first one.
        RAISES (KeyboardInterrupt): There has been no iteration yet.
        """
        found, best_report = folds[0].weights, None
        n_fits = len(PATH) * len(folds)
        with bar_of(n_fits, "Choosing l2", "fit", self._fit.progress) as bar:
            try:
                for l2 in PATH:
                    trial, best = self._try(l2, folds, bar), self.best
                    self.trials.append(trial)
                    self._show(trial)
                    if best is None or trial.f1 > best.f1:
                        self.best, best_report = trial, self._reports[-1]
                        found = np.mean([fold.weights for fold in folds], axis=0)
                    elif best.f1 - trial.f1 > error_of_difference(
                        best.counts, trial.counts
                    ):
                        break
            except KeyboardInterrupt:
                if not self._reports:
                    raise
                if best_report is None:
                    best_report, found = self._reports[0], folds[0].weights
                best_report = replace(
                    best_report, reason="interrupted", is_converged=False
                )
        assert best_report is not None
        return found, best_report

    def _try(self, l2: float, folds: Iterable[_Fold], bar: Any) -> Trial:
        """One l2. RAISES (KeyboardInterrupt): Ctrl-C was hit: half a minimization is
        not judged."""
        counts: dict[Decoding, list[Counts]] = {}
        for fold in folds:
            fold.batch.weights.set_vector(fold.weights)
            report = self._fit.at(l2)(fold.batch)
            fold.weights = fold.batch.weights.vector()
            self._reports.append(report)
            if report.reason == "interrupted":
                raise KeyboardInterrupt
            for decoding in self._decodings:
                own = counts.setdefault(decoding, [])
                own.append(self._judge(fold.judged, decoding))
            bar.update()
        return self._choose(l2, counts)

    def _choose(self, l2: float, counts: dict[Decoding, list[Counts]]) -> Trial:
        """The best decoding for one l2."""
        trials = [Trial(l2, *x, np.concatenate(own)) for x, own in counts.items()]
        first = trials[0]
        best = max(trials, key=lambda trial: trial.f1)
        gain = best.f1 - first.f1
        is_sure = gain > SURE * error_of_difference(best.counts, first.counts)
        return best if is_sure else first

    def _judge(self, judged: Judged, decoding: Decoding) -> Counts:
        options = self._options._replace(decoding=decoding[0], expected_f1=decoding[1])
        state = self._trainer.publish()
        decoder = FlatDecoder(state, options, _RowScorer(state.weights, judged.rows))
        predictions = decoder.predict(one.doc for one in judged.docs)
        name, counts = self._options.name, []
        for one, prediction in zip(judged.docs, predictions):
            before = [
                (x.start, x.end, x.label_) for x in preset_entities(one.doc, name)
            ]
            counts.append(_count(one, [*before, *prediction.spans]))
        return np.array(counts, np.int64)

    def _show(self, trial: Trial) -> None:
        if self._fit.progress:
            value = "null" if trial.expected_f1 is None else trial.expected_f1
            more = "" if trial.decoding == "viterbi" else f", expected_f1 {value}"
            tqdm.write(
                f"l2 {trial.l2:g}: F1 {100 * trial.f1:.2f}, exact records "
                f"{100 * trial.record_accuracy:.2f} ({trial.decoding}{more})",
                file=sys.stderr,
            )


def _count(
    one: Annotated, spans: Iterable[tuple[int, int, str]]
) -> tuple[int, int, int]:
    """Spans that are right, spans that are right or wrong, and gold spans; predictions
    where annotation is missing are neither."""
    gold = {*one.known.required}
    unknown = one.known.unknown(len(one.doc))
    found = [x for x in spans if x in gold or not unknown[x[0] : x[1]].any()]
    return sum(x in gold for x in found), len(found), len(gold) + one.n_unreached


def _fold_numbers(docs: Sequence[Doc]) -> list[int]:
    """The fold of each document; documents with the same words share one. The same for
    the same documents in the same order."""
    groups: dict[bytes, int] = {}
    keys = [doc.to_array("ORTH").tobytes() for doc in docs]
    for key in keys:
        groups.setdefault(key, len(groups))
    order = [*range(len(groups))]
    random.Random(0).shuffle(order)
    place = {group: k % N_FOLDS for k, group in enumerate(order)}
    return [place[groups[key]] for key in keys]
