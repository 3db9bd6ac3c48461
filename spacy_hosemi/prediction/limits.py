"""From scores to spans: the limits on segmentations of an instance, and the best one.

Limits are the document's own (sentence starts, whitespace), what a user has fixed, the
preset entities, and the matches of hard lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core import Constraints, PatternAutomaton, Potentials, viterbi
from ..errors import Errors
from ..features.instances import Instance
from ..labels.constraints import block, constrain, exactly, limits, with_outside
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import Fixed, Preset
from ..labels.whitespace import whitespace
from .problem import Problem


def make_problem(
    instance: Instance,
    potentials: Potentials,
    preset: Preset | None,
    fixed: Fixed,
    entities: Iterable[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Problem:
    """An instance with everything that limits what may be predicted.

    instance (Instance): n tokens.
    potentials (Potentials): Their scores; those of whitespace are changed.
    preset (Optional[Preset]), fixed (Fixed): Of the whole document.
    entities (Iterable[Tuple[int, int, str]]): Matches of hard lists in the instance.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (Problem): Preset entities and matches of lists that make a segmentation
        impossible, such as by rules, are not in it.
    """
    if fixed:
        fixed = fixed.part(instance.start, instance.end)
    if preset:
        preset = preset.part(instance.start, instance.end).beside(fixed)
    spaces = whitespace(instance.tokens)
    if spaces is not None and inventory.outside != "none" and not inventory.on_tokens:
        # no span starts or ends on whitespace
        starts, ends = preset.borders() if preset else ([], [])
        potentials.start[np.setdiff1d(spaces, starts), 1:] = -np.inf
        potentials.end[np.setdiff1d(spaces, ends), 1:] = -np.inf
    base = limits(instance.tokens, inventory)
    if fixed:
        base = constrain(fixed, base, inventory, potentials.n_tokens)
    kept = base
    if preset:
        kept, spans = _with_spans(preset.spans, base, potentials, automaton, inventory)
        is_blocked = preset.is_taken.copy()
        for start, end, _ in spans:
            is_blocked[start:end] = False
        if is_blocked.any():
            potentials, kept = _with_blocked(
                is_blocked, kept, potentials, automaton, inventory
            )
    if matches := [span for span in entities if fixed.permits(span)]:
        is_taken = preset.is_taken if preset else np.zeros(potentials.n_tokens, bool)
        chosen = choose_spans(matches, is_taken, base)
        kept, _ = _with_spans(chosen, kept, potentials, automaton, inventory)
    return Problem(instance, potentials, kept, preset, fixed)


def _with_spans(
    spans: Sequence[Span],
    constraints: Constraints | None,
    potentials: Potentials,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> tuple[Constraints | None, list[Span]]:
    """Also with these spans as entities, but for those that make a segmentation
    impossible. RETURNS: those that are left, too."""
    kept: list[Span] = []
    n_tokens = len(potentials.inside)
    # All at once, as a rule; else one by one, those that go first are preferred.
    for some in (list(spans), *([span] for span in spans)):
        if not some:
            break
        tried = exactly(some, inventory, constraints, n_tokens)
        if viterbi(automaton, potentials, tried)[0]:
            constraints = tried
            kept += some
            if len(some) == len(spans):
                break
    return constraints, kept


def _with_blocked(
    is_blocked: NDArray[np.bool_],
    constraints: Constraints | None,
    potentials: Potentials,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> tuple[Potentials, Constraints | None]:
    """Potentials and constraints with these tokens outside; as they were if label rules
    leave no such segmentation, so that spans on these tokens are dropped afterwards."""
    blocked = block(is_blocked, inventory, constraints)
    found = potentials
    if inventory.outside == "none":
        found = with_outside(potentials, inventory)
    if automaton.grammar and not viterbi(automaton, found, blocked)[0]:
        return potentials, constraints
    return found, blocked


def impossible(
    problem: Problem,
    inventory: LabelInventory,
    rules: Sequence[str],
    max_length: int | None,
) -> ValueError:
    """RETURNS (ValueError): HS060, which names everything in force that can make a
    segmentation impossible."""
    fixed, tokens = problem.fixed, problem.instance.tokens
    is_in_force = {
        f"keep = {list(fixed.keep)}": bool(fixed.keep),
        f"forbid = {list(fixed.forbid)}": bool(fixed.forbid),
        "sentence starts": limits(tokens, inventory) is not None,
        f"max_length = {max_length}": max_length is not None,
        f"label_rules = {list(rules)}": bool(rules),
        'outside = "none"': inventory.outside == "none",
    }
    names = [name for name, holds in is_in_force.items() if holds]
    reasons = " and ".join(names) or "weights of -inf"
    return ValueError(Errors.HS060.format(text=tokens.text[:40], constraints=reasons))


def choose_spans(
    spans: Iterable[Span],
    is_taken: NDArray[np.bool_],
    constraints: Constraints | None,
) -> list[Span]:
    """Which matches of lists can be entities together.

    spans (Iterable[Tuple[int, int, str]]): Those that go first are preferred.
    is_taken (bool [n]): Tokens that no match may cover.
    constraints (Optional[Constraints]): From `limits`: no entity crosses these borders.
    RETURNS (List[Tuple[int, int, str]]): In the given order; no two overlap.
    """
    is_taken = is_taken.copy()
    crosses = np.zeros(len(is_taken) + 1, bool)
    if constraints is not None and constraints.boundary is not None:
        crosses = constraints.boundary > 0
    chosen = []
    for start, end, label in spans:
        if not is_taken[start:end].any() and not crosses[start + 1 : end].any():
            is_taken[start:end] = True
            chosen.append((start, end, label))
    return chosen
