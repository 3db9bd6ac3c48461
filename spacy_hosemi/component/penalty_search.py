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
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from ..arrays import Floats
from ..errors import Warnings
from ..hierarchy.level_decodings import LEVEL_DECODINGS
from ..labels.alignment import labels_of
from ..prediction.decoder import DecodingOptions
from ..prediction.decodings import DECODINGS
from ..training.adaptation import Adaptation
from ..training.lbfgs import TRIAL_TOLERANCE, FitReport, Lbfgs
from ..training.progress import bar_of
from ..training.trainer import Trainer
from ..training.training_set import Trainable, TrainingSet
from .folds import Fold, make_folds, words_of
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

# A smaller dev is no judge: a document or two would decide.
LEAST_DEV = 10

# Of `adapt`, from strong to weak: the share of its documents that hold a weight.
STRENGTHS: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003)

# There each document is judged by weights of the others, up to this many; of more, this
# many parts.
N_ADAPTED = 10

# Up to this many are all learnt, if that may be: of 50 of LinkedBooks the last cost 1.2
# of the old F1, of 20 nothing.
MOST_LEARNT = 20

# Settings of the component: decoding, and expected_f1 where that counts.
Decoding = tuple[str, float | None]


def distance(l2: float) -> float:
    """Returns how far an l2 is from DEFAULT, in powers of e; 0 is infinitely far."""
    return abs(math.log(l2 / DEFAULT)) if l2 else math.inf


@dataclass(frozen=True)
class Trial:
    """The counts of each judged document at one value, of l2 or of the strength of
    `adapt`, with the decoding that was best at this value."""

    value: float
    decoding: str
    expected_f1: float | None
    counts: Counts

    @property
    def f1(self) -> float:
        """Returns F1 of all spans, 0 to 1."""
        return f1_of(self.counts)

    @property
    def record_accuracy(self) -> float | None:
        """Returns the share of documents with all spans right."""
        return record_accuracy_of(self.counts)

    @property
    def score(self) -> float:
        """Returns the mean of F1 and the share of exact documents, 0 to 1."""
        exact = self.record_accuracy
        return self.f1 if exact is None else (self.f1 + exact) / 2

    @property
    def in_words(self) -> str:
        """Returns the settings, as they are printed."""
        f1 = "null" if self.expected_f1 is None else self.expected_f1
        reads_f1 = DECODINGS[self.decoding].reads_expected_f1
        return f"l2 {self.value:g}, {self.decoding}" + (f" {f1}" if reads_f1 else "")

    @property
    def scores_in_words(self) -> str:
        """Returns F1 and, if there are such, the share of exact documents and the mean
        of both, in per cent."""
        if (exact := self.record_accuracy) is None:
            return f"F1 {100 * self.f1:.2f}"
        values = (100 * x for x in (self.f1, exact, self.score))
        return "F1 {:.2f}, exact records {:.2f}, mean {:.2f}".format(*values)

    def to_cfg(self) -> dict[str, Any]:
        """Returns the settings that were tried and their scores, for JSON."""
        settings = {"decoding": self.decoding, "expected_f1": self.expected_f1}
        scores = {"ents_f": self.f1, "ents_record_accuracy": self.record_accuracy}
        return {"l2": self.value, **settings, **scores}


class PenaltySearch:
    """Looks for the best l2 on a path from strong to weak by a fit for each, and for
    the best decoding, by `Trial.score`.

    It stops where the score has fallen by more than the standard error of that below
    the best one, and takes the value nearest to DEFAULT that is not so far below. The
    decoding is another than that of the component only where that wins SURE standard
    errors. Features and label patterns are those of all training documents in each
    fold; the same seed cuts the same documents into the same folds. Without a last fit
    of all documents no weights worth keeping are left, as where configs are compared.
    """

    def __init__(
        self,
        fit: Lbfgs,
        path: Sequence[float] = PATH,
        n_folds: int = N_FOLDS,
        seed: int = 0,
        has_last_fit: bool = True,
    ) -> None:
        self.fit, self._path, self._n_folds, self._seed = fit, path, n_folds, seed
        self._has_last_fit = has_last_fit
        self._docs: Sequence[GoldDoc] = ()
        self._dev: Sequence[GoldDoc] = ()
        self._first_report: FitReport | None = None
        # What was tried. Counts are by document that was judged, in their order, so
        # that those of two configs can be paired.
        self.trials: list[Trial] = []
        self.best: Trial | None = None  # None, too, if nothing could be judged

    def prepare(
        self,
        trainer: Trainer,
        options: DecodingOptions,
        docs: Sequence[GoldDoc],
        dev: Sequence[GoldDoc],
    ) -> None:
        """Judges what a trainer trains by dev; by folds of the training documents,
        which are in their order, if dev has fewer than LEAST_DEV and train more, and
        with a warning if most of dev are training documents (HSW76), or dev has no span
        with a label of train (HSW78)."""
        self._trainer, self._options = trainer, only_spans(options)
        has_all = self.fit.settings["choose_decoding"]
        self._decodings = decodings_of(options, trainer.schema.encoding, has_all)
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
        self._dev = dev if len(dev) >= min(LEAST_DEV, len(docs)) else []
        self._docs = () if self._dev else docs

    def __call__(self, batch: Any) -> FitReport:
        """Chooses l2, fits the weights for it, and returns the report of the last
        minimization. Warns if nothing can be judged (HSW70) or it was interrupted
        (HSW77). After the training documents come the levels below the top of a tree,
        for which the l2 was chosen before."""
        if not isinstance(batch, TrainingSet):
            return self._fit_last(batch)
        scope = self._options.scope
        if self._dev:
            held_out = read_held_out(self._trainer, self._dev, scope)
            places = [*range(len(self._dev))]
            folds = [Fold(batch, held_out, places, [batch.weights.vector()])]
        else:
            folds = make_folds(batch, self._docs, scope, self._n_folds, self._seed)
        golds = [gold for fold in folds for gold in fold.held_out.docs]
        if not any(gold.labels.required for gold in golds):
            warnings.warn(Warnings.HSW70.format(l2=DEFAULT), stacklevel=2)
            return self._fit_last(batch)
        weights, report = self._follow(folds)
        batch.weights.set_vector(weights)
        if self._has_last_fit and (report.reason != "interrupted" or not batch.is_last):
            try:
                return self._fit_last(batch)
            except KeyboardInterrupt:  # there has been no iteration yet
                if not batch.is_last:
                    raise
                report = replace(report, reason="interrupted", is_converged=False)
        batch.weights.round()  # a saved model predicts the same
        return report

    def _fit_last(self, batch: Any) -> FitReport:
        """Fits all documents with the best l2."""
        l2 = DEFAULT if self.best is None else self.best.value
        return self.fit.at(l2, is_final=True)(batch)

    @property
    def judged_by(self) -> str:
        """Returns by what is judged, in words, for messages."""
        return f"{len(self._dev)} documents of dev" if self._dev else "folds"

    def _follow(self, folds: list[Fold]) -> tuple[Floats, FitReport]:
        """Returns the weights of the best l2, averaged over the folds, and its last
        report; those of the first one if Ctrl-C came before anything was judged."""
        chosen: tuple[Floats, FitReport] | None = None
        n_fits = len(self._path) * len(folds)
        is_shown = self.fit.settings["progress"]
        with bar_of(n_fits, "Choosing l2", "fit", is_shown) as bar:
            try:
                for l2 in self._path:
                    trial, report = self._try(l2, folds, bar)
                    self.trials.append(trial)
                    self._say(f"{trial.in_words}: {trial.scores_in_words}")
                    if self._is_chosen(trial):
                        vectors = [fold.vectors[0] for fold in folds]
                        self.best = trial
                        chosen = np.mean(vectors, axis=0), report
                    if not self._is_within_chance(trial):
                        break
            except KeyboardInterrupt:
                if self._first_report is None or not self._has_last_fit:
                    raise
                weights, report = chosen or (folds[0].vectors[0], self._first_report)
                report = replace(report, reason="interrupted", is_converged=False)
                chosen = weights, report
                values = {"found": len(self.trials), "total": len(self._path)}
                message = Warnings.HSW77.format(kept=self._in_words(), **values)
                warnings.warn(message, stacklevel=2)
        assert chosen is not None
        by = f"{self.judged_by}, trials at {TRIAL_TOLERANCE:g} times the tolerance"
        self._say(f"Chosen by {by}: {self._in_words()}; {self._reason()}")
        return chosen

    def _in_words(self) -> str:
        best = self.best
        return f"l2 {self._path[0]:g}" if best is None else best.in_words

    def _reason(self) -> str:
        """Returns why the best is chosen, in words."""
        top, best = max(self.trials, key=lambda x: x.score), self.best
        if best is None or best.score == top.score:
            return "the best"
        scores = f"{100 * best.score:.2f}, is within chance of {100 * top.score:.2f}"
        return (
            f"its mean, {scores} of l2 {top.value:g}, which is farther from {DEFAULT:g}"
        )

    def _is_chosen(self, trial: Trial) -> bool:
        """Returns whether the last trial is the nearest to DEFAULT of those within
        chance: the rule of one standard error of Breiman et al. 1984, section 3.4.3."""
        if self.best is None or not self._is_within_chance(self.best):
            return True
        is_nearer = distance(trial.value) < distance(self.best.value)
        return is_nearer and self._is_within_chance(trial)

    def _is_within_chance(self, trial: Trial) -> bool:
        """Returns whether the best score is at most one standard error higher."""
        top = max(self.trials, key=lambda x: x.score)
        return not is_sure(top, trial)

    def _try(
        self, l2: float, folds: Sequence[Fold], bar: Any
    ) -> tuple[Trial, FitReport]:
        """Returns the best decoding for one l2, and the report of the last
        minimization; KeyboardInterrupt: half of one is not judged."""
        minimize, counts = self.fit.at(l2), dict[Decoding, list[Counts]]()

        def fit(fold: Fold, batch: Trainable) -> FitReport:
            """Goes on from the weights of the l2 before."""
            of_level = slice(batch.level - 1, batch.level)
            for vector in fold.vectors[of_level]:
                batch.weights.set_vector(vector)
            report = minimize(batch)
            fold.vectors[of_level] = [batch.weights.vector()]
            self._first_report = self._first_report or report
            if report.reason == "interrupted":
                raise KeyboardInterrupt
            return report

        for fold in folds:
            report = fit(fold, fold.batch)
            with fold.batch.with_levels(partial(fit, fold)):
                for decoding, f1 in self._decodings:
                    options = self._options._replace(decoding=decoding, expected_f1=f1)
                    of_folds = counts.setdefault((decoding, f1), [])
                    of_folds.append(fold.held_out.counts(self._trainer, options))
            bar.update()
        order = np.argsort([k for fold in folds for k in fold.places])
        by_decoding = {x: np.concatenate(parts)[order] for x, parts in counts.items()}
        trials = [Trial(l2, *x, of_docs) for x, of_docs in by_decoding.items()]
        best = max(trials, key=lambda trial: trial.score)
        return best if is_sure(best, trials[0]) else trials[0], report

    def _say(self, text: str) -> None:
        if self.fit.settings["progress"]:
            tqdm.write(text, file=sys.stderr)


def choose_strengths(
    adaptation: Adaptation, fit: Lbfgs, folds: list[Fold], options: DecodingOptions
) -> tuple[list[float], list[Trial]]:
    """Returns strengths to try, the first one again if none learns all, and what was
    judged: a path as that of `PenaltySearch`, behind the old weights, of infinite
    strength."""
    trials = list[Trial]()
    for strength in (math.inf, *STRENGTHS) if folds else ():
        parts = []
        for fold in folds:
            fold.batch.weights.set_vector(fold.vectors[0])
            if strength < math.inf:
                adaptation.fit(fit, strength)(fold.batch)
                fold.vectors = [fold.batch.weights.vector()]
            parts.append(fold.held_out.counts(adaptation.trainer, options))
        settings = options.decoding, options.expected_f1
        trials.append(Trial(strength, *settings, np.concatenate(parts)))
        best = max(trials[1:] or trials, key=lambda trial: trial.score)
        if is_sure(best, trials[-1]):
            break
    near = [x.value for x in trials[1:] if not is_sure(best, x)] or [*STRENGTHS]
    return near + near[:1] * (len(near) > 1), trials


def search_of(fit: Any) -> PenaltySearch | None:
    """Returns what chooses l2 if a fit leaves that open."""
    if isinstance(fit, PenaltySearch):
        return fit
    return PenaltySearch(fit) if isinstance(fit, Lbfgs) and fit.l2 is None else None


def decodings_of(
    options: DecodingOptions, encoding: str, has_all: bool
) -> list[Decoding]:
    """Returns the decoding of a component, and all others that its labels may have."""
    reads_f1 = DECODINGS[options.decoding].reads_expected_f1
    first = options.decoding, options.expected_f1 if reads_f1 else None
    others = [
        (rule.name, value)
        for rule in DECODINGS.values()
        if has_all
        if rule.decodes_tags or encoding == "segments"
        if rule.name in LEVEL_DECODINGS or options.hierarchy is None
        for value in (EXPECTED_F1 if rule.reads_expected_f1 else (None,))
    ]
    return [first, *(x for x in others if x != first)]


def is_sure(better: Trial, other: Trial) -> bool:
    """Returns whether one score is above another by more than SURE standard errors."""
    error = error_of_scores(better.counts, other.counts)
    return better.score - other.score > SURE * error
