"""How exact spans are, for all scripts: by span, and by document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any, NamedTuple

from harness import SEED

# isort: split
import numpy as np
from numpy.typing import NDArray
from spacy.scorer import PRFScore
from spacy.training import Example

from spacy_hosemi.component.scorer import score_entities
from spacy_hosemi.labels.alignment import is_complete, scored_entities

WHOLE = "exact records"
N_DRAWS = 1000

# Of each document, or sums of documents: right spans, predicted ones, gold ones, right
# borders, whether all tokens are annotated, and whether all spans are right then.
Counts = NDArray[np.int64]


def f1(found: Iterable[set[Any]], gold: Iterable[set[Any]]) -> float:
    """Micro-averaged F1 of sets, in per cent."""
    score = PRFScore()
    for pair in zip(found, gold):
        score.score_set(*pair)
    return 100 * score.fscore


class Exactness(NamedTuple):
    """In per cent: micro-averaged F1 of spans whose start, end and label are right, and
    the share of documents all of whose spans are exact, with no other ones; NaN without
    a document."""

    f1: float
    records: float


def exactness(found: Iterable[set[Any]], gold: Iterable[set[Any]]) -> Exactness:
    """How exact the spans of each document are."""
    pairs = list(zip(found, gold))
    right = [100.0 * (own == spans) for own, spans in pairs]
    records = mean(right) if right else math.nan
    return Exactness(f1(*zip(*pairs)) if pairs else 0.0, records)


def scores_of(examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Score predicted documents by the scorer of hosemi, whatever the system. Returns
    "p", "r" and "f", 0 to 1, by label and for all ("micro"); "f" of WHOLE is the share
    of exact documents, NaN if all miss annotation."""
    found = score_entities(examples)
    micro = {figure: found[f"ents_{figure}"] or 0.0 for figure in "prf"}
    records = found["ents_record_accuracy"]
    whole = {"f": math.nan if records is None else records}
    return {**(found["ents_per_type"] or {}), "micro": micro, WHOLE: whole}


def exactness_of(scores: dict[str, dict[str, float]]) -> Exactness:
    """F1 and records of what `scores_of` returns, in per cent."""
    return Exactness(100 * scores["micro"]["f"], 100 * scores[WHOLE]["f"])


# ------------------------------------------------------------------------------- counts


def count(examples: Iterable[Example]) -> Counts:
    """Returns int64 [documents, 6], see `Counts`; spans are compared by characters."""
    rows = []
    for example in examples:
        found, gold = map(set, scored_entities(example))
        borders = {span[:2] for span in found} & {span[:2] for span in gold}
        is_whole = is_complete(example)
        sizes = len(found & gold), len(found), len(gold), len(borders)
        rows.append([*sizes, is_whole, is_whole and found == gold])
    return np.array(rows, np.int64).reshape(-1, 6)


def counted(counts: Counts) -> Exactness:
    """F1 and records of [.., 6] sums, in per cent."""
    right, n_found, n_gold, _, n_whole, n_exact = np.moveaxis(counts, -1, 0)
    with np.errstate(invalid="ignore"):
        records = np.true_divide(100 * n_exact, n_whole)
    return Exactness(200 * right / np.maximum(1, n_found + n_gold), records)


def differences(one: Counts, other: Counts) -> NDArray[np.float64]:
    """Returns [2, draws]: of F1 and of records, of the same documents drawn with
    replacement."""
    rng = np.random.default_rng(SEED)
    draws = rng.multinomial(len(one), np.full(len(one), 1 / len(one)), size=N_DRAWS)
    return np.subtract(counted(draws @ one), counted(draws @ other))


def interval(values: NDArray[np.float64]) -> str:
    """Writes the range of 95 % of some values."""
    low, high = np.percentile(values, (2.5, 97.5))
    return f"{low:+.2f} to {high:+.2f}"
