"""Promises on errors, chosen on what a pipeline finds in documents with gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..component.judging import DocumentResult
from ..errors import Errors
from ..prediction.guarantee import Guarantee, SpanLimit, Usual
from .guarantees import Chosen, choose_for_records, choose_for_spans, least_sample


@dataclass(frozen=True)
class Promise:
    """What is to be kept.

    error (float): At most this share of the accepted answers is wrong ..
    delta (float): .. but with this probability, over the choice of the documents.
    """

    error: float
    delta: float


def without_copies(answers: Iterable[DocumentResult]) -> list[DocumentResult]:
    """Returns the results of the first document with each text. Copies are right or
    wrong together, and say no more than one of them."""
    found: dict[str, DocumentResult] = {}
    for one in answers:
        found.setdefault(one.text, one)
    return [*found.values()]


def check_answers(
    answers: Sequence[DocumentResult],
    labels: Iterable[str],
    has_seen: Callable[[str], bool] | None,
    promise: Promise,
    group: str | None = None,
) -> list[DocumentResult]:
    """Returns the results by which a threshold can be chosen: of documents with
    complete annotation, and whose probability is known. Raises ValueError if there are
    too few documents or groups (HS352), training or calibration has seen some (HS353),
    the gold has labels that the pipeline does not have (HS354) or no span (HS355), or a
    document has no group (HS357)."""
    if not any(one.gold for one in answers):
        raise ValueError(Errors.HS355)
    known = [*labels]
    if others := {y for one in answers for *_, y in one.gold}.difference(known):
        names = {"found": ", ".join(sorted(others)), "expected": ", ".join(known)}
        raise ValueError(Errors.HS354.format(**names))
    seen = [one.text for one in answers if has_seen is not None and has_seen(one.text)]
    if seen:
        args = {"found": len(seen), "total": len(answers), "text": seen[0][:50]}
        raise ValueError(Errors.HS353.format(**args))
    found = [
        one for one in answers if one.is_complete and one.record_confidence is not None
    ]
    if group is not None and (n := sum(one.group is None for one in answers)):
        args = {"found": n, "total": len(answers), "name": group}
        raise ValueError(Errors.HS357.format(**args))
    needed = least_sample(promise.error, promise.delta)
    n, total = len({*_units(found)}), len({*_units(answers)})
    if n < needed:
        numbers = {"found": n, "total": total, "expected": needed}
        both = {"error": promise.error, "delta": promise.delta}
        what = "documents" if group is None else "groups"
        raise ValueError(Errors.HS352.format(what=what, **numbers, **both))
    return found


def _units(answers: Sequence[DocumentResult]) -> list[int]:
    """RETURNS (List[int]): Of each answer the number of its group, from 0; answers
    without one are groups of their own."""
    numbers: dict[int | str, int] = {}
    keys = (k if x.group is None else x.group for k, x in enumerate(answers))
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def promise_records(
    answers: Sequence[DocumentResult], promise: Promise, digest: str
) -> tuple[Guarantee, Chosen]:
    """A threshold for whole records: one is wrong if it has a wrong span, or lacks one.
    Those of a group are tested as the spans of a record are.

    answers (Sequence[DocumentResult]): From `check_answers`.
    promise (Promise): What is to be kept.
    digest (str): See `fingerprint`.
    RAISES (ValueError): HS356 no threshold keeps it.
    """
    confidence = np.array([one.record_confidence for one in answers], float)
    is_wrong = np.array([one.predicted != one.gold for one in answers])
    units = np.array(_units(answers))
    both, n = (promise.error, promise.delta), units.max() + 1
    if n == len(answers):
        found = choose_for_records(confidence, is_wrong, *both)
    else:
        found = choose_for_spans(units, confidence, is_wrong, n, *both)
    if found.threshold is None:
        raise _unkept(found, promise)
    numbers = found.n_tested, found.n_accepted
    usual = _usual_of(confidence)
    return Guarantee(*both, digest, *numbers, found.threshold, usual=usual), found


def promise_spans(
    answers: Sequence[DocumentResult],
    promise: Promise,
    digest: str,
    labels: Sequence[str] | None = None,
) -> tuple[Guarantee, dict[str, Chosen]]:
    """Thresholds for spans: one is wrong if none in the gold has the same borders and
    label. A span that is missed is not a wrong one.

    answers (Sequence[DocumentResult]): From `check_answers`.
    promise (Promise): What is to be kept.
    digest (str): See `fingerprint`.
    labels (Optional[Sequence[str]]): The promise is kept for each of these, delta being
        shared out among them: those for which no threshold keeps it are not accepted.
        None: it is kept for all spans together.
    RETURNS (Tuple[Guarantee, Dict[str, Chosen]]): And what was found for each label.
    RAISES (ValueError): HS356 no threshold keeps it, for any label.
    """
    names = [""] if labels is None else [*labels]
    delta = promise.delta / len(names)
    found = {y: _choose(answers, y, promise.error, delta) for y in names}
    limits = tuple(
        SpanLimit(label, one.threshold, one.most)
        for label, one in found.items()
        if one.threshold is not None
    )
    if not limits:
        best = min(found, key=lambda y: found[y].n_needed or np.inf)
        raise _unkept(found[best], promise, f" for {best}" if best else "")
    n_tested = sum(one.n_tested for one in found.values())
    n_accepted = sum(one.n_accepted for one in found.values())
    args = promise.error, promise.delta, digest, n_tested, n_accepted
    usual = _usual_of([p for one in answers for p in one.confidence.values()])
    return Guarantee(*args, None, limits, usual), found


def _usual_of(confidence: ArrayLike) -> Usual:
    """RETURNS (Usual): Of records or spans, at least one."""
    values = np.asarray(confidence, float)
    quartile = np.quantile(values, 0.25, method="lower")
    limit = float(np.floor(1e6 * quartile) / 1e6)  # a config can be read
    n_below = sum(map(Usual(limit, 0, 0).is_low, values.tolist()))
    return Usual(limit, n_below, len(values))


def _choose(
    answers: Sequence[DocumentResult], label: str, error: float, delta: float
) -> Chosen:
    """Of the spans with a label; "": of all."""
    units = _units(answers)
    rows = [
        (unit, p, span not in one.gold)
        for unit, one in zip(units, answers)
        for span, p in sorted(one.confidence.items())
        if label in ("", span[2])
    ]
    record, confidence, is_wrong = zip(*rows) if rows else ((), (), ())
    return choose_for_spans(
        np.array(record, int),
        np.array(confidence, float),
        np.array(is_wrong, bool),
        max(units) + 1,
        error,
        delta,
    )


def _unkept(found: Chosen, promise: Promise, label: str = "") -> ValueError:
    """RETURNS (ValueError): HS356, with what would help."""
    hint = "More documents would not help: promise less, or train a better model."
    if found.n_needed is not None:
        n = f"{found.n_needed:,}"
        hint = f"About {n} documents like these would do; or promise less."
    numbers = {"found": found.n_tested, "label": label, "hint": hint}
    both = {"error": promise.error, "delta": promise.delta}
    return ValueError(Errors.HS356.format(**both, **numbers))
