"""Judges settings by cross-validation on documents of a corpus."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, registry

from ..component.penalty_search import PATH, TrialsOnly
from ..inspection.corpus import as_examples, labels_in
from ..inspection.rehearsal import settings_of
from ..labels.alignment import out_of_reach
from ..training.lbfgs import FitReport, Lbfgs
from .halving import Judgement
from .journal import Journal, identity_of
from .menu import Changes, in_words
from .written import changed

# Values of l2 for a candidate that has not been judged before: every second one. Later
# ones are its best one and the two beside it.
FIRST_PATH = PATH[1::2]


class Stopped(Exception):
    """The time is up, or Ctrl-C was hit: half a candidate is not judged."""


class Judging:
    """Trains and judges candidates.

    nlp (Language): The pipeline of the config as it is.
    name (str): Its component that is tuned.
    docs (Sequence[Doc]): All documents to train on.
    seed (int): Of their order, and of the folds.
    is_over (Callable[[], bool]): Whether the time is up; asked before each
        minimization.
    path (Optional[Path]): A file to go on from, see `Journal`.
    RAISES (ValueError): HS254 the config does not fit by L-BFGS; HS333 the file.

    docs (List[Doc]): In the order of the rounds: each has the first ones.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        docs: Sequence[Doc],
        seed: int,
        is_over: Callable[[], bool],
        path: Path | None = None,
    ) -> None:
        self._config, self._name = nlp.config.interpolate(), name
        self._seed, self._is_over = seed, is_over
        self._fit = _fit_settings(settings_of(nlp, name)["fit"])
        self._l2: dict[str, float] = {}  # the best one, by candidate
        self.docs = [doc for doc in docs if len(doc)]
        random.Random(seed).shuffle(self.docs)
        self._journal = Journal()
        if path is not None:
            self._journal.open(path, identity_of(nlp, self.docs, seed))

    def __call__(self, changes: Changes, n_documents: int) -> Judgement:
        """Judge a candidate.

        changes (Changes): The candidate.
        n_documents (int): How many documents.
        RETURNS (Judgement): The best l2 and decoding for it, or why it cannot be
            trained.
        RAISES (Stopped): Before it was judged.
        """
        found = self._journal.find(changes, n_documents)
        if found is None:
            found = self._judge(changes, n_documents)
            self._journal.add(found, n_documents)
        if found.trial is not None:
            self._l2[in_words(changes)] = found.trial.l2
        return found

    def _judge(self, changes: Changes, n_documents: int) -> Judgement:
        began = time.perf_counter()
        l2 = self._l2.get(in_words(changes))
        path = FIRST_PATH if l2 is None else _around(l2)
        fit = _Watched(self._is_over, path=path, seed=self._seed, **self._fit)
        reason = ""
        try:
            self._train(changes, self.docs[:n_documents], fit)
        except (ValueError, TypeError) as e:  # settings that do not go together
            reason = " ".join(str(e).split())
        if fit.best is None:
            reason = reason or "there is no span to judge by"
        return Judgement(changes, fit.best, time.perf_counter() - began, reason)

    def _train(self, changes: Changes, docs: Sequence[Doc], fit: TrialsOnly) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = changed(self._config, self._name, changes)
            nlp = load_model_from_config(config, auto_fill=True)
            block = {**settings_of(nlp, self._name)}
            block.pop("fit")
            block.pop("dev", None)  # is for judging the result
            examples = _with_labels_in_reach(as_examples(docs, nlp))
            nlp.get_pipe(self._name).initialize(  # type: ignore[attr-defined]
                lambda: examples, nlp=nlp, fit=fit, **registry.resolve(block)
            )


def _around(l2: float) -> Sequence[float]:
    """A value of PATH, and those beside it."""
    k = PATH.index(l2)
    return PATH[max(k - 1, 0) : k + 2]


def _fit_settings(fit: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a fit but its penalty and its files."""
    left_out = ("@misc", "l2", "log", "checkpoint", "checkpoint_every", "patience")
    settings = {key: value for key, value in fit.items() if key not in left_out}
    return {**settings, "progress": False}


def _with_labels_in_reach(examples: Sequence[Example]) -> list[Example]:
    """Without documents that have labels whose spans all begin or end inside a token:
    training refuses them, and a few documents may have one such span by chance."""
    annotations = labels_in(examples)
    reached = {label for known in annotations for *_, label in known.required}
    missed = [
        {span.label_ for span in out_of_reach(*pair)}
        for pair in zip(examples, annotations)
    ]
    return [x for x, labels in zip(examples, missed) if labels <= reached]


class _Watched(TrialsOnly):
    """Ends before a minimization if the time is up, and at Ctrl-C."""

    def __init__(self, is_over: Callable[[], bool], **settings: Any) -> None:
        super().__init__(**settings)
        self._is_over = is_over

    def at(self, l2: float, *, is_final: bool = False) -> Lbfgs:
        return _Minimization(super().at(l2, is_final=is_final), self._is_over)


class _Minimization(Lbfgs):
    def __init__(self, fit: Lbfgs, is_over: Callable[[], bool]) -> None:
        assert fit.l2 is not None
        super().__init__(fit.l2, fit.given, fit.records)
        self._is_over = is_over

    def __call__(self, batch: Any) -> FitReport:
        if self._is_over():
            raise Stopped
        try:
            report = super().__call__(batch)
        except KeyboardInterrupt:  # PenaltySearch would end with what it has
            raise Stopped from None
        if report.reason == "interrupted":
            raise Stopped
        return report
