"""Chooses l2, and with it the decoding, by documents that the weights do not know.

The minimizations follow a path from strong to weak penalties, each from the weights of
the one before (warm starts, as in Friedman, Hastie and Tibshirani 2010, section 2.5),
so that the whole path takes little more than one minimization from 0.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from ..errors import Warnings
from ..prediction.decoder import DecodingOptions
from ..training.batch import Batch, Floats, Trainable
from ..training.lbfgs import FitReport, Lbfgs, make_lbfgs
from ..training.progress import bar_of
from ..training.trainer import Trainer
from .dev_scores import (
    Annotated,
    Counts,
    Judged,
    only_spans,
    read_judged,
)
from .folds import Fold, WarmFit, make_folds, words_of
from .trial import Trial, error_of_scores

# From strong to weak: two values for each power of ten.
PATH: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

# Without documents for it: parts of the training documents, each judged by weights of
# the others. Three take twice the time of one path.
N_FOLDS = 3

# What is taken where nothing can be judged.
DEFAULT = 0.1

# Beside "viterbi": the values of expected_f1 for "mbr".
EXPECTED_F1 = (None, 0.2, 0.4, 0.6, 0.8, 1.0)

# A difference is no chance above this many standard errors. Where one document differs,
# the difference is as large as its error: that is chance.
SURE = 1.1

# A dev with a larger share of training documents has been made of these.
MOST_KNOWN = 0.5

# Settings of the component: decoding, and expected_f1.
Decoding = tuple[str, float | None]


def distance(l2: float) -> float:
    """How far an l2 is from DEFAULT, on a logarithmic scale; 0 is as far as can be."""
    return abs(math.log(l2 / DEFAULT)) if l2 else math.inf


def _labels_of(docs: Sequence[Annotated]) -> set[str]:
    return {label for one in docs for *_, label in one.known.required}


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
    best (Optional[Trial]): That of them which "auto" takes.
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
        self.best: Trial | None = None


class PenaltySearch:
    """A fit that looks for the best l2, and the best decoding, by `Trial.score`.

    It stops where the score has fallen by more than the standard error of that below
    the best one, and takes the value nearest to DEFAULT that is not so far below. The
    decoding is another than that of the component only where that wins SURE standard
    errors.

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
        is_mbr = options.decoding == "mbr"
        self._decodings: list[Decoding] = [
            (options.decoding, options.expected_f1 if is_mbr else None)
        ]
        if fit.choose_decoding and not is_on_tokens:
            others = [("viterbi", None), *(("mbr", value) for value in EXPECTED_F1)]
            self._decodings += [x for x in others if x != self._decodings[0]]
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
        WARNS (UserWarning): HSW76 most of dev are training documents: folds are taken.
            HSW78 likewise, where dev has no span with a label of train.
        """
        known = {words_of(one.doc) for one in docs}
        others = [one for one in dev if len(one.doc)]
        n_known = sum(words_of(one.doc) in known for one in others)
        # Short texts may well come again, and count as they will in use.
        if n_known > MOST_KNOWN * len(others):
            values = {"found": n_known, "total": len(others)}
            warnings.warn(Warnings.HSW76.format(**values), stacklevel=2)
            others = []
        if others and not _labels_of(others) & _labels_of(docs):
            warnings.warn(Warnings.HSW78.format(total=len(others)), stacklevel=2)
            others = []
        self._docs, self._dev = [*docs], others

    def __call__(self, batch: Any) -> FitReport:
        """Find the best l2, and the weights for it.

        batch (Trainable): The training documents; then the levels below the top of a
            tree, for which the l2 has been found.
        RETURNS (FitReport): Of the last minimization.
        WARNS (UserWarning): HSW70 nothing can be judged; HSW77 it was interrupted.
        """
        if not isinstance(batch, Batch):
            return self._last(batch)
        folds = self._folds(batch)
        if not any(one.known.required for x in folds for one in x.judged.docs):
            warnings.warn(Warnings.HSW70.format(l2=DEFAULT), stacklevel=2)
            return self._last(batch)
        weights, report = self._follow(folds)
        batch.weights.set_vector(weights)
        if self._only is not None:
            self._only.trials, self._only.best = tuple(self.trials), self.best
        elif report.reason != "interrupted" or batch.has_levels:
            try:
                return self._last(batch)
            except KeyboardInterrupt:  # there has been no iteration yet
                if batch.has_levels:
                    raise
                report = replace(report, reason="interrupted", is_converged=False)
        batch.weights.round()  # a saved model predicts the same
        return report

    def _last(self, batch: Any) -> FitReport:
        l2 = DEFAULT if self.best is None else self.best.l2
        return self._fit.at(l2, is_final=True)(batch)

    @property
    def judged_by(self) -> str:
        """RETURNS (str): In words, for messages."""
        return f"{len(self._dev)} documents of dev" if self._dev else "folds"

    def _folds(self, batch: Batch) -> list[Fold]:
        scope = self._options.scope
        if self._dev:
            judged = read_judged(self._trainer.weights.state, self._dev, scope)
            places = [*range(len(self._dev))]
            return [Fold(batch, judged, places, [batch.weights.vector()])]
        return make_folds(batch, self._docs, scope, self._n_folds, self._seed)

    def _follow(self, folds: list[Fold]) -> tuple[Floats, FitReport]:
        """Follow the path, to its end or to Ctrl-C.

        RETURNS (Tuple[float64 [N], FitReport]): The weights of the best l2, averaged
            over the folds, and the report of its last minimization. Where Ctrl-C was
            hit before anything was judged, those of the first one.
        RAISES (KeyboardInterrupt): There has been no iteration yet.
        """
        found, report = folds[0].vectors[0], None
        n_fits = len(self._path) * len(folds)
        with bar_of(n_fits, "Choosing l2", "fit", self._fit.progress) as bar:
            try:
                for l2 in self._path:
                    trial = self._try(l2, folds, bar)
                    self.trials.append(trial)
                    self._show(trial)
                    if self._is_chosen(trial):
                        self.best, report = trial, self._reports[-1]
                        found = np.mean([fold.vectors[0] for fold in folds], axis=0)
                    if not self._is_within_chance(trial):
                        break
            except KeyboardInterrupt:
                if not self._reports or self._only is not None:
                    raise
                if report is None:
                    report, found = self._reports[0], folds[0].vectors[0]
                report = replace(report, reason="interrupted", is_converged=False)
                self._warn_of_interruption()
        assert report is not None
        self._say(f"Chosen by {self.judged_by}: {self._in_words()}")
        return found, report

    def _in_words(self) -> str:
        best = self.best
        return f"l2 {self._path[0]:g}" if best is None else best.in_words

    def _warn_of_interruption(self) -> None:
        n, kept = len(self.trials), self._in_words()
        values = {"found": n, "total": len(self._path), "kept": kept}
        warnings.warn(Warnings.HSW77.format(**values), stacklevel=2)

    def _is_chosen(self, trial: Trial) -> bool:
        """Whether the last trial is chosen instead of the one before: of those that are
        within chance the nearest to DEFAULT (Breiman et al. 1984, section 3.4.3: the
        rule of one standard error, for a prior that is not the simplest model)."""
        if self.best is None or not self._is_within_chance(self.best):
            return True
        is_nearer = distance(trial.l2) < distance(self.best.l2)
        return is_nearer and self._is_within_chance(trial)

    def _is_within_chance(self, trial: Trial) -> bool:
        """Whether the best score is at most one standard error higher."""
        top = max(self.trials, key=lambda one: one.score)
        error = error_of_scores(top.counts, trial.counts)
        return top.score - trial.score <= SURE * error

    def _try(self, l2: float, folds: Sequence[Fold], bar: Any) -> Trial:
        """One l2. RAISES (KeyboardInterrupt): Ctrl-C was hit: half a minimization is
        not judged."""
        counts: dict[Decoding, list[Counts]] = {}

        def fit_and_note(batch: Trainable) -> FitReport:
            report = self._fit.at(l2)(batch)
            self._reports.append(report)
            return report

        for fold in folds:
            fit = WarmFit(fit_and_note, fold.vectors)
            fit(fold.batch)
            with fold.batch.with_levels(fit):
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
        best = max(trials, key=lambda trial: trial.score)
        gain = best.score - first.score
        is_sure = gain > SURE * error_of_scores(best.counts, first.counts)
        return best if is_sure else first

    def _judge(self, judged: Judged, decoding: Decoding) -> Counts:
        options = self._options._replace(decoding=decoding[0], expected_f1=decoding[1])
        return judged.counts(self._trainer, options)

    def _show(self, trial: Trial) -> None:
        exact = trial.record_accuracy
        records = "" if exact is None else f", exact records {100 * exact:.2f}"
        self._say(f"{trial.in_words}: F1 {100 * trial.f1:.2f}{records}")

    def _say(self, text: str) -> None:
        if self._fit.progress:
            tqdm.write(text, file=sys.stderr)
