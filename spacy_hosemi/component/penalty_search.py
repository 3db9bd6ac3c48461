"""Chooses l2, and with it the decoding, by documents that the weights do not know.

The minimizations follow a path from strong to weak penalties, each from the weights of
the one before (warm starts, as in Friedman, Hastie and Tibshirani 2010, section 2.5),
so that the whole path takes little more than one minimization from 0.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from tqdm import tqdm

from ..errors import Errors, Warnings
from ..features.instances import instances
from ..prediction.decoder import DecodingOptions
from ..training.batch import Batch
from ..training.lbfgs import FitReport, Lbfgs, make_lbfgs
from ..training.progress import bar_of
from ..training.trainer import Trainer
from .dev_scores import (
    Annotated,
    Counts,
    Judged,
    f1_of,
    only_spans,
    read_judged,
    record_accuracy_of,
)

# From strong to weak: two values for each power of ten.
PATH: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

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

# Settings of the component: decoding, and expected_f1.
Decoding = tuple[str, float | None]


@dataclass(frozen=True)
class Trial:
    """What one l2 has reached, with the decoding that was best for it.

    l2 (float): For all weights.
    decoding (str), expected_f1 (Optional[float]): As the settings of the component.
    counts (int64 [D, 4]): Of each document that was judged, see `Counts`.
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
    def record_accuracy(self) -> float | None:
        """The share of exact documents, see `record_accuracy_of`."""
        return record_accuracy_of(self.counts)

    def to_cfg(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): As JSON can have it."""
        settings = {"decoding": self.decoding, "expected_f1": self.expected_f1}
        scores = {"ents_f": self.f1, "ents_record_accuracy": self.record_accuracy}
        return {"l2": self.l2, **settings, **scores}


def error_of_difference(one: Counts, other: Counts) -> float:
    """The standard error of the difference of two F1 on the same documents.

    With right, found and gold spans r, p, g of document i, and S the sum of p + g,
    F1 = sum 2 r / S changes with document i by about (2 r - F1 (p + g)) / S (the delta
    method). The differences of these numbers are paired by document:

        e^2 = D / (D - 1)  sum_i (d_i - d'_i)^2
    """
    parts = [
        (2 * x[:, 0] - f1_of(x) * (x[:, 1] + x[:, 2])) / max(1, x[:, 1:3].sum())
        for x in (one, other)
    ]
    n = len(one)
    return float(np.sqrt(n / max(1, n - 1) * np.square(parts[0] - parts[1]).sum()))


@dataclass
class _Fold:
    """A batch to be trained on, others to be judged by, the weights on the path.

    places (List[int]): Where those others stand among those of all folds.
    """

    batch: Batch
    judged: Judged
    places: list[int]
    weights: NDArray[np.float64]


class TrialsOnly(Lbfgs):
    """A fit that scores each l2 and leaves no weights worth keeping: for programs that
    compare configs, such as `hosemi.fit(examples, nlp=nlp, fit=TrialsOnly())`.

    path (Sequence[float]): Values of l2 that are tried, from strong to weak.
    n_folds (int): Parts of the training documents, each judged by weights of the
        others.
    seed (int): The same seed cuts the same documents into the same folds.
    settings (Any): Those of `spacy_hosemi.lbfgs.v1`.

    trials (Tuple[Trial, ...]): After the fit: what was tried. Counts are by training
        document, in their order, so that those of two configs can be paired.
    """

    def __init__(
        self,
        path: Sequence[float] = PATH,
        n_folds: int = N_FOLDS,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        fit = make_lbfgs("auto", **settings)
        super().__init__(None, fit.given, fit.records)
        self.path, self.n_folds, self.seed = tuple(path), n_folds, seed
        self.trials: tuple[Trial, ...] = ()


class PenaltySearch:
    """A fit that looks for the best l2, and the best decoding, by F1 of spans.

    It stops where F1 has fallen by more than its standard error below the best one.
    The decoding is "mbr" only where that wins SURE standard errors of F1.

    Features and label patterns are those of all training documents in each fold.

    trainer (Trainer): Has the weights.
    fit (Lbfgs): The minimization, without l2. `TrialsOnly`: it ends without a fit to
        all documents.
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
        self._only = fit if isinstance(fit, TrialsOnly) else None
        self._path, self._n_folds, self._seed = PATH, N_FOLDS, 0
        if self._only is not None:
            self._path, self._n_folds = self._only.path, self._only.n_folds
            self._seed = self._only.seed
        self._options = only_spans(options)
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
        if self._only is not None:
            self._only.trials = tuple(self.trials)
            return report
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
            judged = read_judged(self._trainer.weights.state, self._dev, scope)
            return [_Fold(batch, judged, [*range(len(self._dev))], start)]
        docs = [one.doc for one in self._docs]
        numbers = _fold_numbers(docs, self._n_folds, self._seed)
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
                found.append(_Fold(part, judged, own, start))
        return found

    def _follow(self, folds: list[_Fold]) -> tuple[NDArray[np.float64], FitReport]:
        """Follow the path, to its end or to Ctrl-C.

        RETURNS (Tuple[float64 [N], FitReport]): The weights of the best l2, averaged
            over the folds, and the report of its last minimization. Where Ctrl-C was
            hit before anything was judged, those of the first one.
        RAISES (KeyboardInterrupt): There has been no iteration yet.
        """
        found, best_report = folds[0].weights, None
        n_fits = len(self._path) * len(folds)
        with bar_of(n_fits, "Choosing l2", "fit", self._fit.progress) as bar:
            try:
                for l2 in self._path:
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

    def _try(self, l2: float, folds: Sequence[_Fold], bar: Any) -> Trial:
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
        order = np.argsort([k for fold in folds for k in fold.places])
        by_doc = {x: np.concatenate(own)[order] for x, own in counts.items()}
        return self._choose(l2, by_doc)

    def _choose(self, l2: float, counts: dict[Decoding, Counts]) -> Trial:
        """The best decoding for one l2."""
        trials = [Trial(l2, *x, own) for x, own in counts.items()]
        first = trials[0]
        best = max(trials, key=lambda trial: trial.f1)
        gain = best.f1 - first.f1
        is_sure = gain > SURE * error_of_difference(best.counts, first.counts)
        return best if is_sure else first

    def _judge(self, judged: Judged, decoding: Decoding) -> Counts:
        options = self._options._replace(decoding=decoding[0], expected_f1=decoding[1])
        return judged.counts(self._trainer.publish(), options)

    def _show(self, trial: Trial) -> None:
        if self._fit.progress:
            value = "null" if trial.expected_f1 is None else trial.expected_f1
            more = "" if trial.decoding == "viterbi" else f", expected_f1 {value}"
            exact = trial.record_accuracy
            records = "" if exact is None else f", exact records {100 * exact:.2f}"
            tqdm.write(
                f"l2 {trial.l2:g}: F1 {100 * trial.f1:.2f}{records} "
                f"({trial.decoding}{more})",
                file=sys.stderr,
            )


def _fold_numbers(docs: Sequence[Doc], n_folds: int, seed: int) -> list[int]:
    """The fold of each document; documents with the same words share one. The same for
    the same documents in the same order."""
    groups: dict[bytes, int] = {}
    keys = [doc.to_array("ORTH").tobytes() for doc in docs]
    for key in keys:
        groups.setdefault(key, len(groups))
    order = [*range(len(groups))]
    random.Random(seed).shuffle(order)
    place = {group: k % n_folds for k, group in enumerate(order)}
    return [place[groups[key]] for key in keys]
