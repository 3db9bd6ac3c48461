"""How exact spans are, for all scripts: by span, and by document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any, NamedTuple

from spacy.scorer import PRFScore
from spacy.training import Example

from spacy_hosemi.component.scorer import score_entities

WHOLE = "exact records"


def f1(found: Iterable[set[Any]], gold: Iterable[set[Any]]) -> float:
    """Micro-averaged F1 of sets, in per cent."""
    score = PRFScore()
    for pair in zip(found, gold):
        score.score_set(*pair)
    return 100 * score.fscore


class Exactness(NamedTuple):
    """How exact the spans of documents are, in per cent.

    f1 (float): Micro-averaged over spans: start, end and label are right.
    records (float): The share of documents all of whose spans are exact, with no other
        ones; NaN if there is no document.
    """

    f1: float
    records: float


def exactness(found: Iterable[set[Any]], gold: Iterable[set[Any]]) -> Exactness:
    """How exact the spans of each document are."""
    pairs = list(zip(found, gold))
    right = [100.0 * (own == spans) for own, spans in pairs]
    records = mean(right) if right else math.nan
    return Exactness(f1(*zip(*pairs)) if pairs else 0.0, records)


def scores_of(examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Score predicted documents beside their references, whatever the system: by the
    scorer of hosemi. Returns "p", "r" and "f", 0 to 1, by label and for all ("micro");
    "f" of WHOLE is the share of documents all of whose entities are exact, with no
    other ones, NaN if there is none without missing annotation."""
    found = score_entities(examples)
    micro = {figure: found[f"ents_{figure}"] or 0.0 for figure in "prf"}
    records = found["ents_record_accuracy"]
    whole = {"f": math.nan if records is None else records}
    return {**(found["ents_per_type"] or {}), "micro": micro, WHOLE: whole}


def exactness_of(scores: dict[str, dict[str, float]]) -> Exactness:
    """F1 and records of what `scores_of` returns, in per cent."""
    return Exactness(100 * scores["micro"]["f"], 100 * scores[WHOLE]["f"])
