"""Estimates time and memory of a training by trainings on small samples.

The objective costs the same for each token, so that one evaluation of it on all
documents is known from a sample; L-BFGS itself costs the same for each weight. How many
evaluations it takes grows slowly with the documents: as a power of their tokens, which
samples that double in size show. The number of weights follows from the features of all
documents; of a large corpus a part is counted, and the rest extrapolated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from math import exp, log

import numpy as np
from spacy.tokens import Doc

from ..training.feature_selection import MAX_WEIGHTS
from .sample_trainings import Minimized, Sample, SampleTrainings, Traced

# Samples that are trained on have FIRST tokens, twice as many, and so on up to MOST,
# until their trainings have taken SECONDS of CPU.
FIRST, MOST, SECONDS = 1_000, 64_000, 2.0
# Those of the two samples whose memory is measured.
TRACED = (1_000, 4_000)
# An encoder that is slow makes the samples smaller: it may take this long for them.
ENCODING = 5.0
# Features are counted in at most this many tokens.
COUNTED = 200_000
# Evaluations grow as this power of the tokens: the median of seven corpora. It counts
# as much as PRIOR samples would, of tokens that differ by a factor of e.
POWER, PRIOR = 0.28, 1.0
# Tokens on which some evaluations are timed: weights of fewer would fit in the caches.
TIMED = 16_000
# The time of a long fit over that of its evaluations one by one: its documents do not
# stay in the caches of the processor; see benchmarks/results/estimates.md.
SLOWER = 1.05
# Counting takes COUNT_BYTES for each different feature, and for each feature that is
# not summed yet, at most N_SUMMED.
COUNT_BYTES, N_SUMMED = 40, 2_000_000
# Resident memory for each byte that is asked for, of small objects.
RESIDENT = 1.15
# Of Python with spaCy, before documents are read.
USUAL_MB = 155.0
# The truth is within these factors: benchmarks/results/estimates.md.
TIME_RANGE, MEMORY_RANGE = (0.8, 1.25), (0.9, 1.15)


@dataclass(frozen=True)
class Range:
    """An estimate: about, at least, at most."""

    about: float
    low: float
    high: float


@dataclass(frozen=True)
class Cost:
    """What `spacy train` will take."""

    seconds: Range  # of CPU, all together
    megabytes: Range  # the peak of memory
    n_features: int  # of the model before those of weight 0 are left out
    n_weights: int
    n_evaluations: int  # of objective and gradient
    n_sampled: int  # tokens of the sample on which evaluations were timed
    # Rare features get no weights, which would be too many; the estimate is rough.
    is_limited: bool
    # Of the totals above, for the vectors of all tokens of train and dev.
    vector_seconds: float
    vector_megabytes: float


# How many features have weights, how many there are, and their sum by document.
Features = tuple[float, float, float]


def used() -> tuple[float, float]:
    """Returns CPU seconds of this program so far, and its peak of memory in MB, with
    what a fit imports; where nobody knows, the usual memory."""
    import_module("scipy.optimize")
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return time.process_time(), USUAL_MB
    unit = 1 if sys.platform == "darwin" else 1024
    return time.process_time(), getrusage(RUSAGE_SELF).ru_maxrss * unit / 1e6


def estimate(
    trainings: SampleTrainings, dev: Sequence[Doc], seconds: float, megabytes: float
) -> Cost:
    """Returns what a training will take, and one prediction of dev; `seconds` and
    `megabytes` the program took before it read documents."""
    peak_before = used()[1]
    encoding, size, most = trainings.encode(ENCODING, MOST)
    n_dev, n_tokens = (sum(map(len, docs)) for docs in (dev, trainings.order))
    encoded, in_vectors = (x * (n_tokens + n_dev) for x in (encoding, size))
    megabytes += max(0.0, used()[1] - peak_before - size * most)
    traced = [trainings.trace(trainings.sample(min(n, most))) for n in TRACED]
    samples = train_samples(trainings, most)
    few = trainings.sample(FIRST)
    predicting = trainings.predict(few) / sum(map(len, few))
    docs = trainings.sample(min(TIMED, most))
    timed = trainings.train(docs, is_short=True)
    features = count_all(trainings)
    n_rows, _, _ = features
    per_row = timed.fits[0].n_weights / max(trainings.count(docs)[0], 1)
    n_weights = min(n_rows * per_row, MAX_WEIGHTS)
    growth = n_weights / max(samples[-1].fits[0].n_weights, 1)
    ratio = n_tokens / timed.n_tokens
    total = seconds + ratio * (2 * timed.reading + timed.preparing)
    total += predicting * n_dev + encoded
    n_evaluations, of_fits = fit_all(trainings, samples, timed, n_tokens, growth)
    n_evaluations *= trainings.n_fits
    total += trainings.n_fits * of_fits
    megabytes += in_vectors + peak(traced, features, n_weights, n_tokens) / 1e6
    return Cost(
        _range(total, TIME_RANGE),
        _range(megabytes, MEMORY_RANGE),
        n_features=round(n_rows),
        n_weights=round(n_weights),
        n_evaluations=round(n_evaluations),
        n_sampled=timed.n_tokens,
        is_limited=n_rows * per_row > MAX_WEIGHTS,
        vector_seconds=encoded,
        vector_megabytes=in_vectors,
    )


def _range(about: float, factors: tuple[float, float]) -> Range:
    return Range(about, about * factors[0], about * factors[1])


def fit_all(
    trainings: SampleTrainings,
    samples: Sequence[Sample],
    timed: Sample,
    n_tokens: int,
    growth: float,
) -> tuple[float, float]:
    """Returns evaluations of all fits, and their CPU seconds, on all documents, which
    have `growth` times the weights of the last sample. `timed` is a short training."""
    n_evaluations = seconds = 0.0
    ratio = n_tokens / timed.n_tokens
    fits_of = zip_longest(*(sample.fits for sample in samples))
    for short, fits in zip(timed.fits, fits_of):
        pairs = [(x.n_tokens, fit) for x, fit in zip(samples, fits) if fit is not None]
        n = evaluations([x for x, _ in pairs], [fit for _, fit in pairs], n_tokens)
        n = min(n, trainings.max_evaluations)
        last = pairs[-1][1]
        beside = growth * last.elsewhere / max(last.n_evaluations, 1)
        evaluation = ratio * short.in_evaluations / max(short.n_evaluations, 1)
        seconds += SLOWER * n * (evaluation + beside)
        n_evaluations += n
    return n_evaluations, seconds


def train_samples(trainings: SampleTrainings, most: int = MOST) -> list[Sample]:
    """Trains on more and more documents, of `most` tokens at most."""
    samples, n, spent = [], FIRST, 0.0
    while True:
        docs = trainings.sample(n)
        samples.append(trainings.train(docs))
        spent += sum(x.seconds for x in samples[-1].fits)
        n *= 2
        if len(docs) == len(trainings.order) or n > most or spent > SECONDS:
            return samples


def evaluations(
    sizes: Sequence[int], fits: Sequence[Minimized], n_tokens: int
) -> float:
    """Returns evaluations of a fit on all documents, by those on samples."""
    x = np.log(np.array(sizes, float))
    y = np.log([max(fit.n_evaluations, 1) for fit in fits])
    dx, dy = x - x.mean(), y - y.mean()
    power = (dx @ dy + PRIOR * POWER) / (dx @ dx + PRIOR)
    # Of the line, not of the last sample alone.
    return float(exp(y.mean() + power * (log(n_tokens) - x.mean())))


def count_all(trainings: SampleTrainings) -> Features:
    """Counts features in COUNTED tokens and half of them; extrapolates logarithms."""
    n_tokens = sum(map(len, trainings.order))
    docs = trainings.sample(COUNTED)
    n = sum(map(len, docs))
    most = trainings.count(docs)
    if n >= n_tokens:
        return most
    half = trainings.count(trainings.sample(n / 2))
    doublings = log(n_tokens / n) / log(2)
    n_rows, n_distinct, n_by_document = (
        x * (x / max(y, 1)) ** doublings for x, y in zip(most, half)
    )
    return n_rows, n_distinct, n_by_document


def peak(
    traced: Sequence[Traced], features: Features, n_weights: float, n_tokens: int
) -> float:
    """Returns the peak in bytes: features are counted, or weights are fitted."""
    last, (n_rows, n_distinct, n_by_document) = traced[-1], features
    documents = RESIDENT * last.documents / last.n_tokens * n_tokens
    waiting = min(n_by_document, max(N_SUMMED, n_distinct))
    counting = COUNT_BYTES * (n_distinct + waiting)
    model = RESIDENT * of_model(traced, n_rows, n_tokens)
    fitting = model + last.transient / max(last.n_weights, 1) * n_weights
    return float(documents + max(counting, fitting))


def of_model(traced: Sequence[Traced], n_rows: float, n_tokens: int) -> float:
    """Returns bytes beside the documents when a fit begins, by tokens and features."""
    from scipy.optimize import nnls

    sizes = np.array([(x.n_tokens, x.n_rows) for x in traced], float)
    scale = sizes[-1]
    each, _ = nnls(sizes / scale, np.array([x.model for x in traced], float))
    return float(each @ (np.array([n_tokens, n_rows]) / scale))
