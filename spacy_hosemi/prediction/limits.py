"""What limits the segmentations of an instance: corrections of a user, existing
entities, matches of hard lists, sentence starts and whitespace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..core import PatternAutomaton, Potentials, viterbi
from ..errors import Errors
from ..features.instances import Instance
from ..labels.constraints import borders_of, to_constraints, with_outside
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import Ints, PartialLabels
from ..labels.whitespace import whitespace
from .problem import Problem


def make_problem(
    instance: Instance,
    potentials: Potentials,
    existing: PartialLabels | None,
    corrections: PartialLabels,
    entities: Iterable[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Problem:
    """An instance with everything that limits what may be predicted.

    instance (Instance): n tokens.
    potentials (Potentials): Their scores; those of whitespace are changed.
    existing (Optional[PartialLabels]), corrections (PartialLabels): Of the whole
        document; corrections override existing entities already.
    entities (Iterable[Tuple[int, int, str]]): Matches of hard lists in the instance.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (Problem): Without the existing entities, blocked tokens and matches of
        lists that make a segmentation impossible, such as by rules.
    """
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
    known = corrections
    borders = borders_of(tokens, inventory)
    if borders is not None:
        known = known.merge(PartialLabels(borders=borders))
    if existing:
        known = _require(existing.required, known, potentials, automaton, inventory)
        blocked = replace(known, blocked=existing.blocked)
        known, potentials = _block(blocked, known, potentials, automaton, inventory)
    if matches := [span for span in entities if corrections.permits(span)]:
        chosen = choose_spans(matches, existing, borders, len(tokens))
        known = _require(chosen, known, potentials, automaton, inventory)
    constraints = to_constraints(known, inventory, len(tokens))
    return Problem(instance, potentials, constraints, existing, corrections)


def _require(
    spans: Sequence[Span],
    known: PartialLabels,
    potentials: Potentials,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> PartialLabels:
    """Also require these spans, except those that leave no segmentation beside earlier
    ones."""
    if not spans:
        return known
    # Usually all are possible together. Otherwise halving finds the few that are not.
    tried = PartialLabels(tuple(sorted(spans))).merge(known)
    if _is_possible(tried, potentials, automaton, inventory):
        return tried
    if len(spans) == 1:
        return known
    middle = len(spans) // 2
    for some in (spans[:middle], spans[middle:]):
        known = _require(some, known, potentials, automaton, inventory)
    return known


def _is_possible(
    known: PartialLabels,
    potentials: Potentials,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> bool:
    constraints = to_constraints(known, inventory, potentials.n_tokens)
    return bool(viterbi(automaton, potentials, constraints)[0])


def _block(
    blocked: PartialLabels,
    known: PartialLabels,
    potentials: Potentials,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> tuple[PartialLabels, Potentials]:
    """RETURNS (Tuple[PartialLabels, Potentials]): What is known with blocked tokens,
    and scores with which these can be outside. Both as before if rules leave nothing
    then: spans that cover blocked tokens are dropped after decoding."""
    if blocked.outside() is None:
        return known, potentials
    found = potentials
    if inventory.outside == "none":
        found = with_outside(potentials, inventory)
    if automaton.grammar and not _is_possible(blocked, found, automaton, inventory):
        return known, potentials
    return blocked, found


def impossible(
    problem: Problem,
    inventory: LabelInventory,
    rules: Sequence[str],
    max_length: int | None,
) -> ValueError:
    """RETURNS (ValueError): HS060, which names everything in force that can make a
    segmentation impossible."""
    keep, forbid = map(
        list, (problem.corrections.required, problem.corrections.excluded)
    )
    tokens = problem.instance.tokens
    is_in_force = {
        f"keep = {keep}": bool(keep),
        f"forbid = {forbid}": bool(forbid),
        "sentence starts": borders_of(tokens, inventory) is not None,
        f"max_length = {max_length}": max_length is not None,
        f"label_rules = {list(rules)}": bool(rules),
        'outside = "none"': inventory.outside == "none",
    }
    names = [name for name, holds in is_in_force.items() if holds]
    reasons = " and ".join(names) or "weights of -inf"
    return ValueError(Errors.HS060.format(text=tokens.text[:40], constraints=reasons))


def choose_spans(
    spans: Iterable[Span],
    existing: PartialLabels | None,
    borders: Ints | None,
    n_tokens: int,
) -> list[Span]:
    """Which matches of lists can be entities together.

    spans (Iterable[Tuple[int, int, str]]): The first ones are preferred.
    existing (Optional[PartialLabels]): No match covers a blocked token.
    borders (Optional[int [K]]): No match crosses these.
    n_tokens (int): n.
    RETURNS (List[Tuple[int, int, str]]): In the given order; no two overlap.
    """
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
