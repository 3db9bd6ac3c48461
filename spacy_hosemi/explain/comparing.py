"""Whether one pipeline is better than another on the same documents, or it is chance.

The paired bootstrap (Efron and Tibshirani 1993, chapter 16; Koehn 2004;
Berg-Kirkpatrick et al. 2012) draws as many documents as there are, with replacement,
again and again, and looks at the difference of both pipelines on each draw. Documents,
not spans, are drawn: spans of a document depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .outcomes import Answer

# Draws that are worked on together: their counts take 8 bytes for each document.
_TOGETHER = 200


@dataclass(frozen=True)
class Difference:
    """A score of two pipelines, from 0 to 1.

    first, second (float): Of each.
    low, high (float): 95 % of all draws have a difference, second - first, between
        these.
    p (float): Twice the share of draws in which the worse one is not worse: at most
        so probable is a difference of this size if there is none. At least 2 divided by
        the number of draws, and 1.
    """

    first: float
    second: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Change:
    """A span that one pipeline has right and the other has not.

    document (int): Its number, from 0.
    start, end (int): In characters.
    label, text (str): What is right, or, for a wrong span, what was predicted.
    is_gold (bool): Whether the span is right; else only one of the two predicts it,
        and should not.
    """

    document: int
    start: int
    end: int
    label: str
    text: str
    is_gold: bool


@dataclass(frozen=True)
class Comparison:
    """Two pipelines on the same documents.

    n_documents, n_records, n_spans (int): Documents, those of them whose annotation is
        complete, and right spans.
    f1 (Difference): Of exact spans with exact labels, over all documents.
    records (Optional[Difference]): The share of records all of whose spans are exact,
        without other ones; None if there are no complete documents.
    labels (Dict[str, Difference]), n_of_label (Dict[str, int]): F1 of each label, and
        the number of its right spans.
    better, worse (List[Change]): What the second pipeline has right and the first has
        not, and the other way round: spans that are found or missed, and wrong spans
        that are not predicted any more or now.
    """

    n_documents: int
    n_records: int
    n_spans: int
    f1: Difference
    records: Difference | None
    labels: dict[str, Difference]
    n_of_label: dict[str, int]
    better: list[Change]
    worse: list[Change]


def compare_answers(
    first: Sequence[Answer],
    second: Sequence[Answer],
    n_draws: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two pipelines.

    first, second (Sequence[Answer]): Of each, for the same documents.
    n_draws (int), seed (int): Of the bootstrap.
    RAISES (ValueError): HS350 there is no document with a right or a predicted span;
        HS351 the documents are not the same.
    """
    if [(x.text, x.gold) for x in first] != [(x.text, x.gold) for x in second]:
        raise ValueError(Errors.HS351.format(first=len(first), second=len(second)))
    if not any(x.gold or x.found or y.found for x, y in zip(first, second)):
        raise ValueError(Errors.HS350.format(found=len(first)))
    labels = sorted({y for one in (*first, *second) for *_, y in one.gold | one.found})
    is_record = np.array([one.is_complete for one in first])
    exact = np.array([[x.found == x.gold for x in some] for some in (first, second)])
    draws = Draws(len(first), n_draws, seed)
    by_label = {y: _counts(first, second, y) for y in labels}
    of_all = np.sum([*by_label.values()], axis=0)
    of_records = np.stack([*(exact & is_record), is_record]).T.astype(float)
    differences = draws.differences(
        [
            (_f1, of_all),
            *((_f1, by_label[y]) for y in labels),
            (_share, of_records),
        ]
    )
    better, worse = _changes(first, second)
    return Comparison(
        len(first),
        int(is_record.sum()),
        sum(len(one.gold) for one in first),
        differences[0],
        differences[-1] if is_record.any() else None,
        dict(zip(labels, differences[1:-1])),
        {y: int(by_label[y][:, 4].sum()) for y in labels},
        better,
        worse,
    )


# From sums over documents [.., C] to the scores of both pipelines [.., 2].
_Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Draws:
    """Documents drawn with replacement.

    n_documents, n_draws, seed (int): How many documents, how often.
    """

    def __init__(self, n_documents: int, n_draws: int, seed: int) -> None:
        self._n_documents, self._n_draws = n_documents, n_draws
        self._rng = np.random.default_rng(seed)

    def differences(
        self, scores: Sequence[tuple[_Score, NDArray[np.float64]]]
    ) -> list[Difference]:
        """RETURNS (List[Difference]): Of each score, all of them on the same draws.

        scores (Sequence[Tuple[Callable, float64 [D, C]]]): What makes scores of sums
            over documents, and what is summed.
        """
        n, left = self._n_documents, self._n_draws
        of_draws: list[list[NDArray[np.float64]]] = [[] for _ in scores]
        while left > 0:
            size = min(_TOGETHER, left)
            times = self._rng.multinomial(n, np.full(n, 1 / n), size).astype(float)
            for found, (score, counts) in zip(of_draws, scores):
                pair = score(times @ counts)
                found.append(pair[:, 1] - pair[:, 0])
            left -= size
        return [
            _difference(score(counts.sum(axis=0)), np.concatenate(found))
            for found, (score, counts) in zip(of_draws, scores)
        ]


def _difference(pair: NDArray[np.float64], drawn: NDArray[np.float64]) -> Difference:
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    share = min((drawn <= 0).mean(), (drawn >= 0).mean())
    p = min(max(2 * share, 2 / len(drawn)), 1.0)
    return Difference(float(pair[0]), float(pair[1]), low, high, float(p))


def _counts(
    first: Sequence[Answer], second: Sequence[Answer], label: str
) -> NDArray[np.float64]:
    """RETURNS (float64 [D, 5]): Of each document the right and the predicted spans of
    the first, the same of the second, and the gold spans, with a label."""
    rows = []
    for pair in zip(first, second):
        row = []
        for one in pair:
            found = {span for span in one.found if span[2] == label}
            row += [len(found & one.gold), len(found)]
        rows.append([*row, sum(span[2] == label for span in pair[0].gold)])
    return np.array(rows, float)


def _f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """2 right / (predicted + gold); 0 where there is nothing."""
    right, predicted = sums[..., [0, 2]], sums[..., [1, 3]]
    return 2 * right / np.maximum(predicted + sums[..., [4]], 1.0)


def _share(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exact records / all records; 0 where there are none."""
    found: NDArray[np.float64] = sums[..., :2] / np.maximum(sums[..., [2]], 1.0)
    return found


def _changes(
    first: Sequence[Answer], second: Sequence[Answer]
) -> tuple[list[Change], list[Change]]:
    """RETURNS (Tuple[List[Change], List[Change]]): See `Comparison`."""
    found: tuple[list[Change], list[Change]] = ([], [])
    for k, (a, b) in enumerate(zip(first, second)):
        for one, other, changes in ((b, a, found[0]), (a, b, found[1])):
            right = (one.found - other.found) & a.gold
            no_longer_wrong = (other.found - one.found) - a.gold
            for start, end, label in sorted(right | no_longer_wrong):
                is_gold = (start, end, label) in a.gold
                text = a.text[start:end]
                changes.append(Change(k, start, end, label, text, is_gold))
    return found
