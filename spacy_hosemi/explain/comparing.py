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

from ..component.judging import DocumentResult
from ..errors import Errors

# Draws that are worked on together: their counts take 8 bytes for each document.
_TOGETHER = 200


@dataclass(frozen=True)
class Difference:
    """A score of two pipelines, from 0 to 1.

    first, second (float): Of each.
    low, high (float): The difference, second - first, lies between them in 95 % of the
        draws.
    p (float): Two-sided: twice the share of draws in which the pipeline with the lower
        score reaches or passes the other one. From 2 / n_draws to 1.
    """

    first: float
    second: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Change:
    """A span that one of two pipelines predicts.

    document (int): The number of its document, from 0.
    start, end (int): In characters.
    label, text (str): Of the span.
    is_gold (bool): Whether it is right.
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
    better (List[Change]): Right spans that only the second predicts, and wrong ones
        that only the first does.
    worse (List[Change]): The other way round.
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
    first: Sequence[DocumentResult],
    second: Sequence[DocumentResult],
    n_draws: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two pipelines by the paired bootstrap.

    first, second (Sequence[DocumentResult]): Of each, for the same documents.
    n_draws (int), seed (int): Of the bootstrap.
    RETURNS (Comparison): The same for the same seed.
    RAISES (ValueError): HS350 there is no document with a right or a predicted span;
        HS351 the documents are not the same.
    """
    if [(x.text, x.gold) for x in first] != [(x.text, x.gold) for x in second]:
        raise ValueError(Errors.HS351.format(first=len(first), second=len(second)))
    if not any(x.gold or x.predicted or y.predicted for x, y in zip(first, second)):
        raise ValueError(Errors.HS350.format(found=len(first)))
    labels = sorted(
        {y for one in (*first, *second) for *_, y in one.gold | one.predicted}
    )
    is_record = np.array([one.is_complete for one in first])
    exact = np.array(
        [[x.predicted == x.gold for x in some] for some in (first, second)]
    )
    by_label = _counts(first, second, labels)
    of_records = np.stack([*(exact & is_record), is_record]).T.astype(float)
    f1, *of_labels, records = differences(
        [
            (_f1, by_label.sum(axis=0)),
            *((_f1, counts) for counts in by_label),
            (_share, of_records),
        ],
        n_draws,
        seed,
    )
    better, worse = _changes(first, second)
    return Comparison(
        len(first),
        int(is_record.sum()),
        sum(len(one.gold) for one in first),
        f1,
        records if is_record.any() else None,
        dict(zip(labels, of_labels)),
        dict(zip(labels, by_label[:, :, 4].sum(axis=1).astype(int).tolist())),
        better,
        worse,
    )


# From sums over documents [.., C] to the scores of both pipelines [.., 2].
_Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def differences(
    scores: Sequence[tuple[_Score, NDArray[np.float64]]], n_draws: int, seed: int
) -> list[Difference]:
    """The paired bootstrap.

    scores (Sequence[Tuple[Callable, float64 [D, C]]]): What makes scores of sums over D
        documents, and what is summed.
    n_draws (int), seed (int): Of the bootstrap.
    RETURNS (List[Difference]): Of each score, all of them on the same draws.
    """
    rng, n = np.random.default_rng(seed), len(scores[0][1])
    of_draws: list[list[NDArray[np.float64]]] = [[] for _ in scores]
    for start in range(0, n_draws, _TOGETHER):
        size = min(_TOGETHER, n_draws - start)
        times = rng.multinomial(n, np.full(n, 1 / n), size).astype(float)
        for found, (score, counts) in zip(of_draws, scores):
            pair = score(times @ counts)
            found.append(pair[:, 1] - pair[:, 0])
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
    first: Sequence[DocumentResult],
    second: Sequence[DocumentResult],
    labels: Sequence[str],
) -> NDArray[np.float64]:
    """RETURNS (float64 [L, D, 5]): By label and document the right and the predicted
    spans of the first, the same of the second, and the gold spans."""
    number = {label: y for y, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(first), 5))
    for d, pair in enumerate(zip(first, second)):
        gold = pair[0].gold
        for k, one in enumerate(pair):
            for span in one.predicted:
                counts[number[span[2]], d, 2 * k] += span in gold
                counts[number[span[2]], d, 2 * k + 1] += 1
        for span in gold:
            counts[number[span[2]], d, 4] += 1
    return counts


def _f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """2 right / (predicted + gold); 0 where there is nothing."""
    right, predicted = sums[..., [0, 2]], sums[..., [1, 3]]
    return 2 * right / np.maximum(predicted + sums[..., [4]], 1.0)


def _share(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exact records / all records; 0 where there are none."""
    found: NDArray[np.float64] = sums[..., :2] / np.maximum(sums[..., [2]], 1.0)
    return found


def _changes(
    first: Sequence[DocumentResult], second: Sequence[DocumentResult]
) -> tuple[list[Change], list[Change]]:
    """RETURNS (Tuple[List[Change], List[Change]]): See `Comparison`."""
    found: tuple[list[Change], list[Change]] = ([], [])
    for k, (a, b) in enumerate(zip(first, second)):
        for one, other, changes in ((b, a, found[0]), (a, b, found[1])):
            right = (one.predicted - other.predicted) & a.gold
            no_longer_wrong = (other.predicted - one.predicted) - a.gold
            for start, end, label in sorted(right | no_longer_wrong):
                is_gold = (start, end, label) in a.gold
                text = a.text[start:end]
                changes.append(Change(k, start, end, label, text, is_gold))
    return found
