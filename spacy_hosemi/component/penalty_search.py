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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from ..errors import Warnings
from ..labels.alignment import labels_of
from ..prediction.decoder import DecodingOptions
from ..prediction.decodings import DECODINGS
from ..training.lbfgs import FitReport, Lbfgs, make_lbfgs
from ..training.progress import bar_of
from ..training.trainer import Trainer
from ..training.training_set import Floats, Trainable, TrainingSet
from .folds import Fold, WarmFit, make_folds, words_of
from .judging import (
    Counts,
    GoldDoc,
    error_of_scores,
    f1_of,
    only_spans,
    read_held_out,
    record_accuracy_of,
)

# From strong to weak: two values for each power of ten.
PATH: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

# Without documents for it: parts of the training documents, each judged by weights of
# the others. Three take twice the time of one path.
N_FOLDS = 3

# What is taken where nothing can be judged.
DEFAULT = 0.1

# The values of expected_f1 that are tried.
EXPECTED_F1 = (None, 0.2, 0.4, 0.6, 0.8, 1.0)

# A difference is no chance above this many standard errors. Where one document differs,
# the difference is as large as its error: that is chance.
SURE = 1.1

# A dev with a larger share of training documents has been made of these.
MOST_TRAINED = 0.5

# Settings of the component: decoding, and expected_f1.
Decoding = tuple[str, float | None]


def distance(l2: float) -> float:
    """Returns how far an l2 is from DEFAULT, in powers of e; 0 is infinitely far."""
    return abs(math.log(l2 / DEFAULT)) if l2 else math.inf


@dataclass(frozen=True)
class Trial:
    """What one l2 has reached, with the decoding that was best for it, by document that
    was judged."""

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
        """Returns the share of documents with all spans right."""
        return record_accuracy_of(self.counts)

    @property
    def score(self) -> float:
        """The mean of F1 and the share of exact documents, 0 to 1."""
        exact = self.record_accuracy
        return self.f1 if exact is None else (self.f1 + exact) / 2

    @property
    def how(self) -> str:
        """The decoding, as it is printed, with its expected_f1 if it reads that."""
        value = "null" if self.expected_f1 is None else self.expected_f1
        reads_f1 = DECODINGS[self.decoding].reads_expected_f1
        return self.decoding + (f" {value}" if reads_f1 else "")

    @property
    def in_words(self) -> str:
        """The settings, as they are printed."""
        return f"l2 {self.l2:g}, {self.how}"

    def to_cfg(self) -> dict[str, Any]:
        """Returns settings and scores as JSON can have them."""
        settings = {"decoding": self.decoding, "expected_f1": self.expected_f1}
        scores = {"ents_f": self.f1, "ents_record_accuracy": self.record_accuracy}
        return {"l2": self.l2, **settings, **scores}


class TrialsOnly(Lbfgs):
    """A fit that scores each l2 and leaves no weights worth keeping: for programs that
    compare configs, such as `hosemi.fit(examples, nlp=nlp, fit=TrialsOnly())`. Settings
    are those of `spacy_hosemi.lbfgs.v1`; the path has the values of l2, from strong to
    weak; the same seed cuts the same documents into the same folds.

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
        super().__init__(None, fit.settings)
        self.path, self.n_folds, self.seed = tuple(path), n_folds, seed
        self.trials: tuple[Trial, ...] = ()
        self.best: Trial | None = None


class PenaltySearch:
    """A fit that looks for the best l2, and the best decoding, by `Trial.score`.

    It stops where the score has fallen by more than the standard error of that below
    the best one, and takes the value nearest to DEFAULT that is not so far below. The
    decoding is another than that of the component only where that wins SURE standard
    errors.

    Features and label patterns are those of all training documents in each fold. With
    the fit `TrialsOnly` it ends without a fit to all documents; for tags of tokens no
    decoding is chosen.

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
        reads_f1 = DECODINGS[options.decoding].reads_expected_f1
        self._decodings: list[Decoding] = [
            (options.decoding, options.expected_f1 if reads_f1 else None)
        ]
        if fit.settings["choose_decoding"] and not is_on_tokens:
            decodings = [
                (rule.name, value)
                for rule in DECODINGS.values()
                for value in (EXPECTED_F1 if rule.reads_expected_f1 else (None,))
            ]
            self._decodings += [x for x in decodings if x != self._decodings[0]]
        self._docs: list[GoldDoc] = []
        self._dev: list[GoldDoc] = []
        self._reports: list[FitReport] = []
        self.trials: list[Trial] = []
        self.best: Trial | None = None

    def use(self, docs: Sequence[GoldDoc], dev: Sequence[GoldDoc]) -> None:
        """Judges by dev; by folds of the training documents, which are in their order,
        if dev has none, and with a warning if most of dev are training documents
        (HSW76), or dev has no span with a label of train (HSW78)."""
        training_words = {words_of(gold.doc) for gold in docs}
        dev = [gold for gold in dev if len(gold.doc)]
        n_trained = sum(words_of(gold.doc) in training_words for gold in dev)
        # Short texts may well come again, and count as they will in use.
        if n_trained > MOST_TRAINED * len(dev):
            values = {"found": n_trained, "total": len(dev)}
            warnings.warn(Warnings.HSW76.format(**values), stacklevel=2)
            dev = []
        labels, dev_labels = (labels_of(x.labels for x in part) for part in (docs, dev))
        if dev and not labels & dev_labels:
            warnings.warn(Warnings.HSW78.format(total=len(dev)), stacklevel=2)
            dev = []
        self._docs, self._dev = [*docs], dev

    def __call__(self, batch: Any) -> FitReport:
        """Chooses l2, fits the weights for it, and returns the report of the last
        minimization. Warns if nothing can be judged (HSW70) or it was interrupted
        (HSW77). After the training documents come the levels below the top of a tree,
        for which the l2 was chosen before."""
        if not isinstance(batch, TrainingSet):
            return self._last(batch)
        folds = self._folds(batch)
        golds = [gold for fold in folds for gold in fold.held_out.docs]
        if not any(gold.labels.required for gold in golds):
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
        """Fits all documents with the best l2."""
        l2 = DEFAULT if self.best is None else self.best.l2
        return self._fit.at(l2, is_final=True)(batch)

    @property
    def judged_by(self) -> str:
        """By what is judged, in words, for messages."""
        return f"{len(self._dev)} documents of dev" if self._dev else "folds"

    def _folds(self, batch: TrainingSet) -> list[Fold]:
        scope = self._options.scope
        if self._dev:
            held_out = read_held_out(self._trainer.weights.state, self._dev, scope)
            places = [*range(len(self._dev))]
            return [Fold(batch, held_out, places, [batch.weights.vector()])]
        return make_folds(batch, self._docs, scope, self._n_folds, self._seed)

    def _follow(self, folds: list[Fold]) -> tuple[Floats, FitReport]:
        """Follows the path to its end or to Ctrl-C. Returns the weights of the best l2,
        averaged over the folds, and the report of its last minimization; those of the
        first one if Ctrl-C was hit before anything was judged. Raises KeyboardInterrupt
        if there has been no iteration yet."""
        weights, report = folds[0].vectors[0], None
        n_fits = len(self._path) * len(folds)
        is_shown = self._fit.settings["progress"]
        with bar_of(n_fits, "Choosing l2", "fit", is_shown) as bar:
            try:
                for l2 in self._path:
                    trial = self._try(l2, folds, bar)
                    self.trials.append(trial)
                    self._show(trial)
                    if self._is_chosen(trial):
                        self.best, report = trial, self._reports[-1]
                        weights = np.mean([fold.vectors[0] for fold in folds], axis=0)
                    if not self._is_within_chance(trial):
                        break
            except KeyboardInterrupt:
                if not self._reports or self._only is not None:
                    raise
                if report is None:
                    report, weights = self._reports[0], folds[0].vectors[0]
                report = replace(report, reason="interrupted", is_converged=False)
                values = {"found": len(self.trials), "total": len(self._path)}
                message = Warnings.HSW77.format(kept=self._in_words(), **values)
                warnings.warn(message, stacklevel=2)
        assert report is not None
        self._say(f"Chosen by {self.judged_by}: {self._in_words()}")
        return weights, report

    def _in_words(self) -> str:
        best = self.best
        return f"l2 {self._path[0]:g}" if best is None else best.in_words

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
        top = max(self.trials, key=lambda x: x.score)
        error = error_of_scores(top.counts, trial.counts)
        return top.score - trial.score <= SURE * error

    def _try(self, l2: float, folds: Sequence[Fold], bar: Any) -> Trial:
        """Judges one l2. Raises KeyboardInterrupt if Ctrl-C was hit: half a
        minimization is not judged."""
        counts: dict[Decoding, list[Counts]] = {}

        def fit_and_note(batch: Trainable) -> FitReport:
            report = self._fit.at(l2)(batch)
            self._reports.append(report)
            return report

        for fold in folds:
            fit = WarmFit(fit_and_note, fold.vectors)
            fit(fold.batch)
            with fold.batch.with_levels(fit):
                for decoding, expected_f1 in self._decodings:
                    options = self._options._replace(
                        decoding=decoding, expected_f1=expected_f1
                    )
                    of_folds = counts.setdefault((decoding, expected_f1), [])
                    of_folds.append(fold.held_out.counts(self._trainer, options))
            bar.update()
        order = np.argsort([k for fold in folds for k in fold.places])
        by_doc = {x: np.concatenate(parts)[order] for x, parts in counts.items()}
        return self._choose(l2, by_doc)

    def _choose(self, l2: float, counts: dict[Decoding, Counts]) -> Trial:
        """Returns the best decoding for one l2."""
        trials = [Trial(l2, *x, of_docs) for x, of_docs in counts.items()]
        first = trials[0]
        best = max(trials, key=lambda trial: trial.score)
        gain = best.score - first.score
        is_sure = gain > SURE * error_of_scores(best.counts, first.counts)
        return best if is_sure else first

    def _show(self, trial: Trial) -> None:
        exact = trial.record_accuracy
        records = "" if exact is None else f", exact records {100 * exact:.2f}"
        self._say(f"{trial.in_words}: F1 {100 * trial.f1:.2f}{records}")

    def _say(self, text: str) -> None:
        if self._fit.settings["progress"]:
            tqdm.write(text, file=sys.stderr)
