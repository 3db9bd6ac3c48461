"""Chooses what needs no eye, by what a pipeline finds in documents with gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..component.judging import DocumentResult
from ..errors import Errors
from ..prediction.guarantee import Guarantee, SpanLimit, Usual
from .guarantees import Chosen, choose_for_records, choose_for_spans, least_sample


class ErrorBound(NamedTuple):
    """At most a share `error` of what is accepted is wrong, but with P = `delta`."""

    error: float
    delta: float


def without_copies(results: Iterable[DocumentResult]) -> list[DocumentResult]:
    """Returns the results of the first document with each text. Copies are right or
    wrong together, and say no more than one of them."""
    first: dict[str, DocumentResult] = {}
    for result in results:
        first.setdefault(result.text, result)
    return [*first.values()]


def check_results(
    results: Sequence[DocumentResult],
    labels: Iterable[str],
    has_seen: Callable[[str], bool] | None,
    bound: ErrorBound,
    group: str | None = None,
) -> list[DocumentResult]:
    """Returns the results by which a threshold can be chosen. Raises ValueError: HS352
    too few documents or groups, HS353 training or calibration has seen some, HS354 no
    label that the pipeline has, HS355 no span, HS357 a document without a group."""
    if not any(x.gold for x in results):
        raise ValueError(Errors.HS355)
    of_pipeline = [*labels]
    of_gold = {label for x in results for *_, label in x.gold}
    if of_gold.isdisjoint(of_pipeline):
        names = ", ".join(sorted(of_gold)), ", ".join(of_pipeline)
        raise ValueError(Errors.HS354.format(found=names[0], expected=names[1]))
    seen = [x.text for x in results if has_seen is not None and has_seen(x.text)]
    if seen:
        args = {"found": len(seen), "total": len(results), "text": seen[0][:50]}
        raise ValueError(Errors.HS353.format(**args))
    usable = [x for x in results if x.is_complete and x.record_confidence is not None]
    if group is not None and (n := sum(x.group is None for x in results)):
        args = {"found": n, "total": len(results), "name": group}
        raise ValueError(Errors.HS357.format(**args))
    needed = least_sample(*bound)
    n, total = len({*_units(usable)}), len({*_units(results)})
    if n < needed:
        numbers = {"found": n, "total": total, "expected": needed}
        what = "documents" if group is None else "groups"
        raise ValueError(Errors.HS352.format(what=what, **numbers, **bound._asdict()))
    return usable


def _units(results: Sequence[DocumentResult]) -> list[int]:
    """Numbers the groups of results from 0; a result without a group is one."""
    numbers: dict[int | str, int] = {}
    keys = (k if x.group is None else x.group for k, x in enumerate(results))
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def guarantee_records(
    results: Sequence[DocumentResult], bound: ErrorBound, digest: str
) -> tuple[Guarantee, Chosen]:
    """Returns a threshold for whole records from `check_results`: a record is wrong if
    it has a wrong span, or lacks one. A group is tested as a record with its spans is.
    `digest`: see `fingerprint`. Raises ValueError HS356 without a threshold."""
    confidence = np.array([x.record_confidence for x in results], float)
    is_wrong = np.array([x.predicted != x.gold for x in results])
    units = np.array(_units(results))
    n = units.max() + 1
    if n == len(results):
        chosen = choose_for_records(confidence, is_wrong, *bound)
    else:
        chosen = choose_for_spans(units, confidence, is_wrong, n, *bound)
    if chosen.threshold is None:
        raise _unkept(chosen, bound)
    numbers, usual = (chosen.n_tested, chosen.n_accepted), _usual_of(confidence)
    return Guarantee(*bound, digest, *numbers, chosen.threshold, usual=usual), chosen


def guarantee_spans(
    results: Sequence[DocumentResult],
    bound: ErrorBound,
    digest: str,
    labels: Sequence[str] | None = None,
) -> tuple[Guarantee, dict[str, Chosen]]:
    """Returns thresholds for spans of `check_results`, and what was chosen for each
    label. The bound is kept for all spans together, or for each of `labels`, which
    share delta; without a threshold, spans of a label are not accepted. Raises
    ValueError HS356 if none has one."""
    names = [""] if labels is None else [*labels]
    shared = bound._replace(delta=bound.delta / len(names))
    chosen = {label: _choose(results, label, shared) for label in names}
    limits = tuple(
        SpanLimit(label, x.threshold, x.most)
        for label, x in chosen.items()
        if x.threshold is not None
    )
    if not limits:
        best = min(chosen, key=lambda y: chosen[y].n_needed or np.inf)
        raise _unkept(chosen[best], bound, f" for {best}" if best else "")
    n_tested = sum(x.n_tested for x in chosen.values())
    n_accepted = sum(x.n_accepted for x in chosen.values())
    usual = _usual_of([p for x in results for p in x.confidence.values()])
    return Guarantee(*bound, digest, n_tested, n_accepted, None, limits, usual), chosen


def _usual_of(confidence: ArrayLike) -> Usual:
    """Returns what is usual for at least one record or span."""
    values = np.asarray(confidence, float)
    quartile = np.quantile(values, 0.25, method="lower")
    limit = float(np.floor(1e6 * quartile) / 1e6)  # a config can be read
    n_below = sum(map(Usual(limit, 0, 0).is_low, values.tolist()))
    return Usual(limit, n_below, len(values))


def _choose(results: Sequence[DocumentResult], label: str, bound: ErrorBound) -> Chosen:
    """Chooses a threshold for the spans with a label, or for all: ""."""
    units = _units(results)
    rows = [
        (unit, p, span not in result.gold)
        for unit, result in zip(units, results)
        for span, p in sorted(result.confidence.items())
        if label in ("", span[2])
    ]
    record, confidence, is_wrong = zip(*rows) if rows else ((), (), ())
    columns = np.array(record, int), np.array(confidence, float)
    return choose_for_spans(*columns, np.array(is_wrong, bool), max(units) + 1, *bound)


def _unkept(chosen: Chosen, bound: ErrorBound, label: str = "") -> ValueError:
    """Returns the error that no threshold keeps the bound, with what would help."""
    hint = "More documents would not help: promise less, or train a better model."
    if chosen.n_needed is not None:
        n = f"{chosen.n_needed:,}"
        hint = f"About {n} documents like these would do; or promise less."
    numbers = {"found": chosen.n_tested, "label": label, "hint": hint}
    return ValueError(Errors.HS356.format(**bound._asdict(), **numbers))
