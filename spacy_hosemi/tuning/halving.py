"""Successive halving: many candidates are judged on a few documents, and those that do
best again on more of them (Jamieson and Talwalkar 2016, algorithm 1)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..component.judging import error_of_scores
from ..component.penalty_search import SURE, Trial
from .menu import Changes

# A round has a third of the candidates of the one before, on three times the documents.
RATIO = 3
# The best of so few candidates is taken.
FEW = 3


@dataclass(frozen=True)
class Judgement:
    """What a candidate has reached in a round.

    changes (Changes): The candidate.
    trial (Optional[Trial]): The best l2 and decoding for it, by cross-validation; None:
        it cannot be trained.
    seconds (float): That this took.
    reason (str): Why it cannot be trained.
    """

    changes: Changes
    trial: Trial | None
    seconds: float
    reason: str = ""

    @property
    def score(self) -> float:
        """The mean of F1 and the share of exact documents, 0 to 1; -1: it cannot be
        trained."""
        return -1.0 if self.trial is None else self.trial.score

    @property
    def shown(self) -> tuple[str, str]:
        """RETURNS (Tuple[str, str]): F1 and the share of exact documents, in per cent;
        "-": there is none."""
        if self.trial is None:
            return "-", "-"
        exact = self.trial.record_accuracy
        return (
            f"{100 * self.trial.f1:.2f}",
            "-" if exact is None else f"{100 * exact:.2f}",
        )

    def gain(self, other: Judgement) -> tuple[float, float]:
        """RETURNS (Tuple[float, float]): By how much the score is above that of another
        one on the same documents, and the standard error of this difference, paired by
        document; NaN where one of both cannot be trained."""
        one, two = self.trial, other.trial
        if one is None or two is None:
            return math.nan, math.nan
        return one.score - two.score, error_of_scores(one.counts, two.counts)


@dataclass
class Round:
    """Candidates that are judged on the same documents.

    number (int): From 1.
    n_documents (int): How many documents.
    candidates (List[Changes]): To be judged, in this order; first the config as it is,
        then from the best one of the round before.
    judged (List[Judgement]): So far.
    """

    number: int
    n_documents: int
    candidates: list[Changes]
    judged: list[Judgement] = field(default_factory=list)

    @property
    def ranked(self) -> list[Judgement]:
        """Those that are judged, the best one first; of equal ones, the first one."""
        return sorted(self.judged, key=lambda x: -x.score)

    @property
    def is_complete(self) -> bool:
        """Whether all candidates are judged."""
        return len(self.judged) == len(self.candidates)


Judge = Callable[[Changes, int], Judgement]


class Halving:
    """A contest of candidates.

    The first candidate, the config as it is, is judged in every round: what others gain
    over it is measured on the same documents.

    candidates (Sequence[Changes]): The first one is empty.
    n_documents (Sequence[int]): For each round, rising.
    variants (Callable[[Changes], List[Changes]]): Of the best one of round 1, which
        take part in round 2 as well.
    seed (int): Of the order in which candidates are judged in round 1.

    rounds (List[Round]): So far.
    """

    def __init__(
        self,
        candidates: Sequence[Changes],
        n_documents: Sequence[int],
        variants: Callable[[Changes], list[Changes]],
        seed: int = 0,
    ) -> None:
        self._n_documents, self._variants = n_documents, variants
        first, *others = candidates
        random.Random(seed).shuffle(others)
        self.rounds = [Round(1, n_documents[0], [first, *others])]

    @property
    def current(self) -> Round:
        """The last round that has begun."""
        return self.rounds[-1]

    @property
    def decisive(self) -> Round | None:
        """The round in which the best one was found; None: none is judged yet.

        A round that is not complete decides if the best one of the round before, which
        comes second, is judged in it.
        """
        for one in reversed(self.rounds):
            if len(one.judged) > (one.number > 1):
                return one
        return None

    @property
    def best(self) -> Judgement | None:
        """The best one so far; None: none is judged yet. It is the config as it is
        unless another one has gained SURE standard errors, for that is the best of
        many."""
        one = self.decisive
        if one is None:
            return None
        first, best = one.judged[0], one.ranked[0]
        gain, error = best.gain(first)
        return best if gain > SURE * error else first

    @property
    def is_last(self) -> bool:
        """Whether no round comes after this one."""
        is_largest = self.current.number == len(self._n_documents)
        return is_largest or len(self.current.candidates) <= FEW + 1

    def steps(self, judge: Judge) -> Iterator[Round]:
        """Judge candidates, one after the other.

        judge (Callable): (candidate, number of documents) -> Judgement.
        YIELDS (Round): When a round begins, and after each judgement.
        """
        while True:
            one = self.current
            yield one
            for changes in one.candidates:
                one.judged.append(judge(changes, one.n_documents))
                yield one
            if self.is_last:
                return
            self._begin()

    def _begin(self) -> None:
        """Begin the next round."""
        one = self.current
        ranked = [x.changes for x in one.ranked if x.trial is not None]
        n = max(1, math.ceil(len(one.candidates) / RATIO))
        kept = ranked[:n]
        if one.number == 1 and kept:
            kept += [x for x in self._variants(kept[0]) if x not in one.candidates]
        first = one.candidates[0]
        candidates = [first, *(x for x in kept if x != first)]
        n_documents = self._n_documents[one.number]
        self.rounds.append(Round(one.number + 1, n_documents, candidates))


def sizes(
    n_tokens: Sequence[int], n_spans: Sequence[int], least_tokens: int, least_docs: int
) -> list[int]:
    """How many documents each round has.

    n_tokens, n_spans (Sequence[int]): Of each document.
    least_tokens (int), least_docs (int): Tokens, and documents with spans, of the first
        round; if there are fewer, it has all documents.
    RETURNS (List[int]): The first documents, RATIO times as many, ..., all of them;
        at least two rounds.
    """
    n, seen, n_docs = 0, 0, 0
    while n < len(n_tokens) and (seen < least_tokens or n_docs < least_docs):
        seen += n_tokens[n]
        n_docs += n_spans[n] > 0
        n += 1
    found = []
    while n < len(n_tokens):
        found.append(n)
        n *= RATIO
    # A last step of less than a half more would cost more than it tells.
    if found and 2 * len(n_tokens) < 3 * found[-1]:
        found.pop()
    return [*(found or [len(n_tokens)]), len(n_tokens)]
