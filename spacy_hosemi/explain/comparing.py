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

from ..arrays import Floats
from ..component.judging import DocumentResult
from ..errors import Errors

# Draws that are worked on together: their counts take 8 bytes for each document.
_TOGETHER = 200


@dataclass(frozen=True)
class Difference:
    """A score of two pipelines, from 0 to 1. In 95 % of the draws second - first lies
    between `low` and `high`; `p`, from 2 / n_draws to 1, is twice the share of draws in
    which the pipeline with the lower score reaches or passes the other one."""

    first: float
    second: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class ChangedSpan:
    """A span in characters that one of two pipelines predicts; a gold one is right."""

    document: int
    start: int
    end: int
    label: str
    text: str
    is_gold: bool


@dataclass(frozen=True)
class Comparison:
    """Two pipelines on the same documents."""

    n_documents: int
    n_records: int  # documents whose annotation is complete
    n_spans: int  # of the gold
    f1: Difference  # of exact spans with exact labels, over all documents
    # The share of exact records; None if there are no complete documents.
    records: Difference | None
    labels: dict[str, Difference]  # F1 of each
    n_of_label: dict[str, int]  # spans of the gold
    # Right spans that only the second predicts, and wrong ones that only the first has.
    better: list[ChangedSpan]
    worse: list[ChangedSpan]  # the other way round


def compare_results(
    first: Sequence[DocumentResult],
    second: Sequence[DocumentResult],
    n_draws: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compares two pipelines on the same documents by the paired bootstrap. Raises
    ValueError: HS350 there is no span, HS351 the documents are not the same."""
    if [(x.text, x.gold) for x in first] != [(x.text, x.gold) for x in second]:
        raise ValueError(Errors.HS351.format(first=len(first), second=len(second)))
    if not any(x.gold or x.predicted or y.predicted for x, y in zip(first, second)):
        raise ValueError(Errors.HS350.format(found=len(first)))
    pairs = first, second
    spans = [span for x in (*first, *second) for span in x.gold | x.predicted]
    labels = sorted({label for *_, label in spans})
    is_record = np.array([x.is_complete for x in first])
    exact = np.array([[x.predicted == x.gold for x in results] for results in pairs])
    by_label = _counts(first, second, labels)
    of_records = np.stack([*(exact & is_record), is_record]).T.astype(float)
    scores = [(_f1, counts) for counts in (by_label.sum(axis=0), *by_label)]
    args = [*scores, (_share, of_records)], n_draws, seed
    f1, *of_labels, records = differences(*args)
    n_of_label = by_label[:, :, 4].sum(axis=1).astype(int).tolist()
    better, worse = _changes(first, second)
    return Comparison(
        len(first),
        int(is_record.sum()),
        sum(len(x.gold) for x in first),
        f1,
        records if is_record.any() else None,
        dict(zip(labels, of_labels)),
        dict(zip(labels, n_of_label)),
        better,
        worse,
    )


# From sums over documents [.., C] to the scores of both pipelines [.., 2].
_Score = Callable[[Floats], Floats]


def differences(
    scores: Sequence[tuple[_Score, Floats]], n_draws: int, seed: int
) -> list[Difference]:
    """Compares two pipelines by scores on the same draws of the paired bootstrap. Each
    score is a function of sums over documents, and what is summed, float64 [D, C]."""
    rng, n = np.random.default_rng(seed), len(scores[0][1])
    of_draws: list[list[Floats]] = [[] for _ in scores]
    for start in range(0, n_draws, _TOGETHER):
        size = min(_TOGETHER, n_draws - start)
        times = rng.multinomial(n, np.full(n, 1 / n), size).astype(float)
        for drawn, (score, counts) in zip(of_draws, scores):
            pair = score(times @ counts)
            drawn.append(pair[:, 1] - pair[:, 0])
    compared = []
    for parts, (score, counts) in zip(of_draws, scores):
        pair, of_score = score(counts.sum(axis=0)), np.concatenate(parts)
        low, high = np.percentile(of_score, [2.5, 97.5]).tolist()
        share = min((of_score <= 0).mean(), (of_score >= 0).mean())
        p = float(min(max(2 * share, 2 / len(of_score)), 1.0))
        compared.append(Difference(float(pair[0]), float(pair[1]), low, high, p))
    return compared


def _counts(
    first: Sequence[DocumentResult],
    second: Sequence[DocumentResult],
    labels: Sequence[str],
) -> Floats:
    """Returns float64 [L, D, 5]: by label and document the right and the predicted
    spans of the first, the same of the second, and the gold spans."""
    number = {label: y for y, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(first), 5))
    for d, (a, b) in enumerate(zip(first, second)):
        right = a.predicted & a.gold, b.predicted & a.gold
        columns = right[0], a.predicted, right[1], b.predicted, a.gold
        for k, spans in enumerate(columns):
            for *_, label in spans:
                counts[number[label], d, k] += 1
    return counts


def _f1(sums: Floats) -> Floats:
    """Returns 2 right / (predicted + gold); 0 where there is nothing."""
    right, predicted = sums[..., [0, 2]], sums[..., [1, 3]]
    return 2 * right / np.maximum(predicted + sums[..., [4]], 1.0)


def _share(sums: Floats) -> Floats:
    """Returns the share of exact records; 0 where there are none."""
    return np.asarray(sums[..., :2] / np.maximum(sums[..., [2]], 1.0))


def _changes(
    first: Sequence[DocumentResult], second: Sequence[DocumentResult]
) -> tuple[list[ChangedSpan], list[ChangedSpan]]:
    """Returns `better` and `worse`, see `Comparison`."""
    better: list[ChangedSpan] = []
    worse: list[ChangedSpan] = []
    for k, (a, b) in enumerate(zip(first, second)):
        for new, old, changes in ((b, a, better), (a, b, worse)):
            right = (new.predicted - old.predicted) & a.gold
            no_longer_wrong = (old.predicted - new.predicted) - a.gold
            for start, end, label in sorted(right | no_longer_wrong):
                is_gold = (start, end, label) in a.gold
                text = a.text[start:end]
                changes.append(ChangedSpan(k, start, end, label, text, is_gold))
    return better, worse
