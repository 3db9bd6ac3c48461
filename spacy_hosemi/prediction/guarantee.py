"""The setting guarantee: which predictions nobody needs to look at, and how many of
them are wrong at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from math import sqrt
from typing import Any, Literal

from ..values import TEXT, Kind, Unfit, choice, integer, list_of, number, or_null

# What the keys mean; another meaning gets another number.
VERSION = 1

# Two thresholds differ by more than this.
_NOISE = 5e-13

# Confidences and labels of the spans of a record.
Scored = Sequence[tuple[str, float | None]]

Verdict = Literal["accept", "review"]

# Departures as large as this, in standard errors, have a probability of .001.
_DEPARTURE = 3.29


@dataclass(frozen=True)
class SpanLimit:
    """Says which spans are accepted."""

    label: str  # their label; empty: any label
    threshold: float  # those that are at least so probable ..
    most: int  # .. and of these the `most` most probable ones of a record


@dataclass(frozen=True)
class Usual:
    """Says how probable records or spans of the calibration data are."""

    limit: float  # their lower quartile
    n_below: int  # how many are less probable than that
    n: int  # how many there are

    def is_low(self, confidence: float | None) -> bool:
        """Says whether a record or a span is less probable than three of four."""
        return confidence is None or confidence < self.limit - _NOISE


@dataclass(frozen=True)
class Guarantee:
    """Promises: with probability 1 - delta, over the choice of the calibration data, at
    most a share `error` of the accepted records or spans is wrong."""

    error: float
    delta: float
    digest: str  # identifies the weights, lists and settings for which this holds
    n_tested: int  # records or spans of the calibration data
    n_accepted: int  # those of them that are accepted
    # Records that are at least so probable are accepted; None: spans are.
    record_threshold: float | None = None
    span_limits: tuple[SpanLimit, ...] = ()  # none: records are accepted
    # Tells texts that differ from those of the calibration data; None: nobody looks.
    usual: Usual | None = None

    @property
    def is_of_records(self) -> bool:
        """Says whether records are accepted, not spans."""
        return self.record_threshold is not None

    @property
    def what(self) -> str:
        """Names what is accepted."""
        return "records" if self.is_of_records else "fields"

    def judged(
        self, spans: Scored, confidence: float | None, is_unusual: bool = False
    ) -> Scored:
        """Returns what gets verdicts, with its probability: each span of a text, or the
        record with the label "". The probability counts as 0, which no threshold
        accepts, if the text is no single record (is_unusual)."""
        scored = [("", confidence)] if self.is_of_records else spans
        return [(label, 0.0 if is_unusual else p) for label, p in scored]

    def of_record(self, confidence: float | None) -> Verdict:
        """Returns the verdict on a single record with this probability; whether a text
        is one, `HighOrderSemiCRF.verdicts` knows."""
        threshold = self.record_threshold
        if threshold is None or confidence is None:
            return "review"
        return "accept" if _is_above(confidence, threshold) else "review"

    def of_spans(self, spans: Scored) -> list[Verdict]:
        """Returns the verdict on each span of a record."""
        verdicts: list[Verdict] = ["review"] * len(spans)
        for limit in self.span_limits:
            candidates = [
                (-p, k)
                for k, (label, p) in enumerate(spans)
                if p is not None and limit.label in ("", label)
            ]
            for p, k in sorted(candidates)[: limit.most]:
                if _is_above(-p, limit.threshold):
                    verdicts[k] = "accept"
        return verdicts

    def departs(self, n: int, n_low: int) -> bool:
        """Returns whether the share of what has a low probability, `n_low` of n records
        or spans, differs more from that of the calibration data than chance explains:
        the normal test of two proportions, at the level .001."""
        if self.usual is None:
            return False
        total, below = n + self.usual.n, n_low + self.usual.n_below
        if not n or not self.usual.n or below in (0, total):
            return False
        share = below / total
        error = sqrt(share * (1 - share) * (1 / n + 1 / self.usual.n))
        departure = abs(n_low / n - self.usual.n_below / self.usual.n)
        return departure > _DEPARTURE * error

    def to_cfg(self) -> dict[str, Any]:
        """Returns the guarantee as a config can have it, where labels may be no
        keys."""
        limits = [[x.label, x.threshold, x.most] for x in self.span_limits]
        usual = None if self.usual is None else [*astuple(self.usual)]
        values = {**asdict(self), "span_limits": limits, "usual": usual}
        return {"version": VERSION, **values}


def _is_above(confidence: float, threshold: float) -> bool:
    """Returns whether something is accepted; what is impossible never is."""
    return 0.0 < confidence >= threshold - _NOISE


_SHARE, _COUNT = number(0.0, 1.0), integer()


def _read_limit(value: Any) -> SpanLimit:
    label, threshold, most = _triple(value)
    label = label if label == "" else TEXT.read(label)
    return SpanLimit(label, _SHARE.read(threshold), integer(1).read(most))


def _read_usual(value: Any) -> Usual:
    limit, n_below, n = _triple(value)
    usual = Usual(_SHARE.read(limit), _COUNT.read(n_below), _COUNT.read(n))
    if usual.n_below > usual.n:
        raise Unfit
    return usual


def _triple(value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise Unfit
    return value


_KEYS = {
    "error": number(above=0.0, below=1.0),
    "delta": number(above=0.0, below=1.0),
    "digest": TEXT,
    "n_tested": _COUNT,
    "n_accepted": _COUNT,
    "record_threshold": or_null(_SHARE),
    "span_limits": list_of(Kind("[label, threshold, most]", _read_limit)),
    "usual": or_null(Kind("[limit, n_below, n]", _read_usual)),
}


def _read_guarantee(value: Any) -> Guarantee:
    if isinstance(value, Guarantee):
        return value
    # Models of early 0.2.0 lack the key usual.
    if not isinstance(value, Mapping) or {"usual", *value} != {"version", *_KEYS}:
        raise Unfit
    choice((VERSION,)).read(value["version"])
    values = {name: kind.read(value.get(name)) for name, kind in _KEYS.items()}
    guarantee = Guarantee(**values)
    if guarantee.is_of_records == bool(guarantee.span_limits):
        raise Unfit
    return guarantee


# The kind of the setting guarantee.
GUARANTEE = Kind(
    f"what `hosemi guarantee` of this version writes (version {VERSION}), or null",
    _read_guarantee,
)
