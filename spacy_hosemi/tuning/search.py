"""Judges candidates by cross-validation, one after the other."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spacy.language import Language
from spacy.tokens import Doc

from ..component.judging import error_of_scores
from ..component.penalty_search import PATH, SURE, PenaltySearch, Trial
from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..inspection.corpus import first_documents, trainable
from ..inspection.pipelines import settings_of, train
from ..training.lbfgs import make_lbfgs
from .candidates import Changes, candidates
from .tuned_config import changed

# Of more tokens a sample of documents is taken: a candidate takes minutes then.
MAX_TOKENS = 30_000
# Each fold needs a document.
MIN_DOCUMENTS = 3
# Every second value of l2; training with the config that is written tries all of them.
TUNING_PATH = PATH[1::2]


@dataclass(frozen=True)
class CandidateResult:
    """What a candidate has reached."""

    changes: Changes
    trial: Trial | None  # the best l2 and decoding; None: it cannot be trained
    seconds: float
    reason: str = ""  # why it cannot be trained

    @property
    def score(self) -> float:
        """Returns the mean of F1 and the share of exact documents; -1: not trained."""
        return -1.0 if self.trial is None else self.trial.score

    @property
    def shown(self) -> tuple[str, str]:
        """Returns F1 and the share of exact documents, in per cent; "-": none."""
        if self.trial is None:
            return "-", "-"
        records = self.trial.record_accuracy
        shown = "-" if records is None else f"{100 * records:.2f}"
        return f"{100 * self.trial.f1:.2f}", shown

    def gain(self, other: CandidateResult) -> tuple[float, float]:
        """Returns by how much the score is above another one, and the standard error of
        this difference, paired by document; NaN where one cannot be trained."""
        if self.trial is None or other.trial is None:
            return math.nan, math.nan
        error = error_of_scores(self.trial.counts, other.trial.counts)
        return self.score - other.score, error


class Search:
    """Looks for the best settings on annotated documents, from those of a pipeline and
    its component. `candidates` has all to judge, of which the first changes nothing,
    `results` those judged so far, `docs` the sample of `n_documents` that judges.
    Raises ValueError: HS254 no fit by L-BFGS, HS331 too few documents."""

    def __init__(
        self,
        nlp: Language,
        pipe: HighOrderSemiCRF,
        docs: Sequence[Doc],
        kind: str = "",
        seed: int = 0,
    ) -> None:
        self._config, self._name, self._seed = nlp.config.interpolate(), pipe.name, seed
        self._vocab = nlp.vocab
        fit = settings_of(nlp, pipe.name)["fit"]
        skipped = ("@misc", "l2", "log", "checkpoint", "checkpoint_every", "patience")
        self._fit = {key: value for key, value in fit.items() if key not in skipped}
        n = len({doc.text for doc in docs if doc.ents})
        if n < MIN_DOCUMENTS:
            raise ValueError(Errors.HS331.format(found=n, expected=MIN_DOCUMENTS))
        docs = [doc for doc in trainable(docs, nlp) if len(doc)]
        random.Random(seed).shuffle(docs)
        self.n_documents, self.docs = len(docs), first_documents(docs, MAX_TOKENS)
        self.candidates = candidates(self._config, pipe.name, kind)
        self.results: list[CandidateResult] = []

    def steps(self, seconds: float) -> Iterator[CandidateResult]:
        """Judges candidates, the first one in any case, and begins none after this
        time. Raises ValueError HS332 if the config itself cannot be trained."""
        end = time.monotonic() + seconds
        for changes in self.candidates:
            if self.results and time.monotonic() >= end:
                return
            result = self._judge(changes)
            if not self.results and result.trial is None:
                raise ValueError(Errors.HS332.format(reason=result.reason))
            self.results.append(result)
            yield result

    @property
    def best(self) -> CandidateResult:
        """Returns the best result so far: the config as it is unless another one has
        gained SURE standard errors, for that is the best of several."""
        first, best = self.results[0], max(self.results, key=lambda x: x.score)
        gain, error = best.gain(first)
        return best if gain > SURE * error else first

    def _judge(self, changes: Changes) -> CandidateResult:
        began, reason = time.perf_counter(), ""
        fit = make_lbfgs("auto", **self._fit)
        search = PenaltySearch(fit, TUNING_PATH, seed=self._seed, has_last_fit=False)
        try:
            config = changed(self._config, changes)
            train(config, self._name, self.docs, self._vocab, search)
        except (ValueError, TypeError) as e:  # settings that do not go together
            reason = " ".join(str(e).split())
        if search.best is None:
            reason = reason or "there is no span to judge by"
        seconds = time.perf_counter() - began
        return CandidateResult(changes, search.best, seconds, reason)
