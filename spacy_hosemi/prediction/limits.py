"""Limits the segmentations of an instance by corrections of a user, existing entities,
matches of hard lists, sentence starts and whitespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Places
from ..core import Constraints, PatternAutomaton, Potentials, viterbi
from ..features.instances import Instance
from ..labels.constraints import borders_of, to_constraints, with_outside
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import PartialLabels
from ..labels.whitespace import whitespace


def limit_instance(
    instance: Instance,
    potentials: Potentials,
    existing: PartialLabels | None,
    corrections: PartialLabels,
    matches: Iterable[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> tuple[Potentials, Constraints | None, PartialLabels | None, PartialLabels]:
    """Limits what may be predicted in an instance. Existing entities and corrections
    are those of the document, and matches those of hard lists in the instance. Returns
    the scores, where those of whitespace are changed; constraints without the existing
    entities, blocked tokens and matches that make a segmentation impossible, such as by
    rules; the existing entities and the corrections of the instance."""
    tokens = instance.tokens
    if corrections:
        corrections = corrections.part(instance.start, instance.end)
    if existing:
        existing = existing.part(instance.start, instance.end)
    spaces = whitespace(tokens)
    if spaces is not None and inventory.outside != "none" and not inventory.on_tokens:
        # Only existing entities start or end with whitespace.
        spans = existing.required if existing else ()
        starts, ends = [i for i, _, _ in spans], [j - 1 for _, j, _ in spans]
        potentials.start[np.setdiff1d(spaces, starts), 1:] = -np.inf
        potentials.end[np.setdiff1d(spaces, ends), 1:] = -np.inf
    limits = corrections
    borders = borders_of(tokens, inventory)
    if borders is not None:
        limits = limits.merge(PartialLabels(borders=borders))

    def is_possible(limits: PartialLabels) -> bool:
        constraints = to_constraints(limits, inventory, len(tokens))
        return bool(viterbi(automaton, potentials, constraints)[0])

    if existing:
        limits = require_all(existing.required, limits, is_possible)
        blocked = replace(limits, blocked=existing.blocked)
        if blocked.outside() is not None:
            before = potentials
            if inventory.outside == "none":
                potentials = with_outside(potentials, inventory)
            if not automaton.grammar or is_possible(blocked):
                limits = blocked
            else:  # spans that cover blocked tokens are dropped after decoding
                potentials = before
    if permitted := [span for span in matches if corrections.permits(span)]:
        chosen = choose_spans(permitted, existing, borders, len(tokens))
        limits = require_all(chosen, limits, is_possible)
    constraints = to_constraints(limits, inventory, len(tokens))
    return potentials, constraints, existing, corrections


def require_all(
    spans: Sequence[Span],
    limits: PartialLabels,
    is_possible: Callable[[PartialLabels], bool],
) -> PartialLabels:
    """Returns the limits with these spans required, too, except those that leave no
    segmentation beside earlier ones."""
    if not spans:
        return limits
    # Usually all are possible together. Otherwise halving finds the few that are not.
    with_all = PartialLabels(tuple(sorted(spans))).merge(limits)
    if is_possible(with_all):
        return with_all
    if len(spans) == 1:
        return limits
    middle = len(spans) // 2
    for half in (spans[:middle], spans[middle:]):
        limits = require_all(half, limits, is_possible)
    return limits


def choose_spans(
    spans: Iterable[Span],
    existing: PartialLabels | None,
    borders: Places | None,
    n_tokens: int,
) -> list[Span]:
    """Returns the matches of lists that can be entities together: no two overlap, where
    the first ones are preferred; none covers a blocked token or crosses one of the
    borders, int [K]."""
    is_taken, crosses = np.zeros(n_tokens, bool), np.zeros(n_tokens, bool)
    if existing and existing.blocked is not None:
        is_taken |= existing.blocked
    if borders is not None:
        crosses[borders] = True
    chosen = []
    for start, end, label in spans:
        if not is_taken[start:end].any() and not crosses[start + 1 : end].any():
            is_taken[start:end] = True
            chosen.append((start, end, label))
    return chosen
