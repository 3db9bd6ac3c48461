"""The best segmentation that has a span, and the best one that does not have it."""

from __future__ import annotations

import math
from dataclasses import replace

from ..core import Constraints, score, viterbi
from ..labels.constraints import permits
from ..labels.inventory import LabelInventory, Segment, Span
from ..labels.partial import PartialLabels
from ..labels.whitespace import before_trimming
from .batch import Batch
from .permitted_tags import best_permitted

# A segmentation and its score; [] and -inf if none is possible.
ScoredSegments = tuple[list[Segment], float]
NONE: ScoredSegments = [], -math.inf


def best_with(batch: Batch, k: int, span: Span) -> ScoredSegments:
    """Returns the most probable segmentation of an instance that has a span, if any is
    possible. In a label tree the name of an inner node stands for all labels below
    it."""
    on_tokens, limits = batch.source.inventory.on_tokens, batch.constraints[k]
    spans = before_trimming(span, batch.is_space(k)) if on_tokens else [span]
    best = NONE
    for variant in spans:
        required = batch.requiring(k, [variant])
        scored = viterbi(batch.source.automaton, batch.potentials[k], required)
        # What is required may cross the starts of sentences, but this span may not.
        if scored[1] > best[1] and permits(limits, scored[0]):
            best = scored
    return best


def best_without(batch: Batch, k: int, span: Span) -> ScoredSegments:
    """Returns the most probable segmentation that does not have a span; see
    `best_with`."""
    automaton, inventory = batch.source.automaton, batch.source.inventory
    potentials = batch.potentials[k]
    if inventory.on_tokens:
        excluding = batch.alone(k, corrections=PartialLabels(excluded=(span,)))
        tags = best_permitted(excluding, 0)
        return (tags, score(automaton, potentials, tags)) if tags else NONE
    limits = batch.constraints[k] or Constraints()
    wrong = [(i, j, inventory.index[label]) for i, j, label in below(span, inventory)]
    limits = replace(limits, forbidden=[*limits.forbidden, *wrong])
    return viterbi(automaton, potentials, limits)


def below(span: Span, inventory: LabelInventory) -> list[Span]:
    """Returns the spans that a span stands for: if labels are in a tree, one for each
    label below its name."""
    start, end, name = span
    return [(start, end, label) for label in inventory.labels_below(name)]
