"""Probabilities of predicted spans, and of the segmentations that they are from.

Decoding by expected F1 computes them anyway; after Viterbi one more sweep does. They
are the same bits as those that a posterior gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.algorithms.segment_probabilities import PathAnswer, path_steps
from ..core.parallel.coroutines import Steps
from ..labels.inventory import Segment, Span
from .batch import Batch
from .posterior import confidence_steps


def path_confidence_steps(
    batch: Batch,
    spans: Sequence[Sequence[Span]],
    segments: Sequence[list[Segment]],
    answers: Sequence[PathAnswer | None],
) -> Steps[list[list[float]]]:
    """Returns the probabilities of the predicted spans of each instance. `segments` are
    the segmentations that have these spans, and maybe existing ones; `answers` what is
    known of them already. Gives the batch the probabilities of segmentations that a
    sweep finds."""
    rows = range(len(spans))
    if batch.source.inventory.on_tokens:  # several segmentations may have these spans
        return (yield from confidence_steps(batch, rows, spans))
    # Nor has every segment its span beside existing entities.
    is_free = [not (batch.existing[k] or batch.corrections[k]) for k in rows]
    of_paths = [x if free else None for x, free in zip(answers, is_free)]
    missing = [k for k in rows if is_free[k] and of_paths[k] is None]
    if missing:
        potentials = [batch.potentials[k] for k in missing]
        limits = [batch.constraints[k] for k in missing]
        args = potentials, [segments[k] for k in missing], limits
        answers_of_missing = yield from path_steps(batch.source.automaton, *args)
        for k, answer in zip(missing, answers_of_missing):
            of_paths[k] = answer
    probs: list[list[float]] = [[] for _ in rows]
    for k, answer in enumerate(of_paths):
        if answer is not None:
            _, of_row, score, log_z = answer
            batch.log_z[k], batch.log_prob[k] = log_z, min(score - log_z, 0.0)
            probs[k] = [min(p, 1.0) for p in of_row]
    if rest := [k for k in rows if of_paths[k] is None]:
        some = [spans[k] for k in rest]
        for k, of_row in zip(rest, (yield from confidence_steps(batch, rest, some))):
            probs[k] = of_row
    return probs


def joint_probability(batch: Batch, rows: range) -> float | None:
    """Returns the probability of the predicted segmentations of all instances of a
    document; None if it is not known of each."""
    log_probs = [batch.log_prob[k] for k in rows if k in batch.log_prob]
    return math.exp(math.fsum(log_probs)) if len(log_probs) == len(rows) else None
