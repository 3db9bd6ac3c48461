"""From scores to spans: what limits the segmentations of a unit, and the best of them.

Limits are the document's own (sentence starts, whitespace), what a user has fixed, the
preset entities, and the matches of hard lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .core import (
    Constraints,
    PatternAutomaton,
    Potentials,
    viterbi,
)
from .core.mbr import mbr_steps
from .core.steps import Steps
from .core.viterbi import viterbi_steps
from .errors import Errors
from .fixed import best_permitted, constrain
from .labels import LabelInventory, Segment, Span
from .preset import leave_free
from .problems import Fixed, Preset, Problem
from .segmentation import choose_spans, exactly, limits, read_segments, whitespace
from .units import Unit, shift


def make_problem(
    unit: Unit,
    potentials: Potentials,
    preset: Preset | None,
    fixed: Fixed,
    entities: Iterable[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Problem:
    """A unit with everything that limits what may be predicted.

    unit (Unit): n tokens.
    potentials (Potentials): Their scores; those of whitespace are changed.
    preset (Optional[Preset]), fixed (Fixed): Of the whole document.
    entities (Iterable[Tuple[int, int, str]]): Matches of hard lists in the unit.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (Problem): Preset entities and matches of lists that make a segmentation
        impossible, such as by rules, are not in it.
    """
    if fixed:
        fixed = fixed.part(unit.start, unit.end)
    if preset:
        preset = preset.part(unit.start, unit.end).beside(fixed)
    spaces = whitespace(unit.tokens)
    if spaces is not None and inventory.outside != "none" and not inventory.on_tokens:
        # no span starts or ends on whitespace
        starts, ends = preset.borders() if preset else ([], [])
        potentials.start[np.setdiff1d(spaces, starts), 1:] = -np.inf
        potentials.end[np.setdiff1d(spaces, ends), 1:] = -np.inf
    base = limits(unit.tokens, inventory)
    if fixed:
        base = constrain(fixed, base, inventory, potentials.n_tokens)
    kept = base
    if preset:
        kept, spans = _with_spans(preset.spans, base, potentials, automaton, inventory)
        is_free = preset.is_taken.copy()
        for start, end, _ in spans:
            is_free[start:end] = False
        kept = leave_free(is_free, inventory, kept)
    if matches := [span for span in entities if fixed.permits(span)]:
        is_taken = preset.is_taken if preset else np.zeros(potentials.n_tokens, bool)
        chosen = choose_spans(matches, is_taken, base)
        kept, _ = _with_spans(chosen, kept, potentials, automaton, inventory)
    return Problem(unit, potentials, kept, preset, fixed)


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


def best_spans(
    problems: Sequence[Problem],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
    decoding: str,
    expected_f1: float | None,
) -> Steps[list[list[Span] | None]]:
    """The spans of units, without the preset ones.

    problems (Sequence[Problem]): Units, of one document or several.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    decoding (str), expected_f1 (Optional[float]): See `HighOrderSemiCRF`.
    RETURNS (List[Optional[List[Tuple[int, int, str]]]]): In tokens of the document of
        each; None if no segmentation is possible.
    """
    given = [x.potentials for x in problems], [x.constraints for x in problems]
    if decoding == "mbr":
        found = yield from mbr_steps(automaton, *given, expected_f1)
    elif any(x.fixed.forbid for x in problems) and inventory.on_tokens:
        found = [best_permitted(x, automaton, inventory) for x in problems]
    else:
        scored = yield from viterbi_steps(automaton, *given)
        found = [segments for segments, _ in scored]
    return [_read(*pair, inventory) for pair in zip(problems, found)]


def _read(
    problem: Problem, segments: Sequence[Segment], inventory: LabelInventory
) -> list[Span] | None:
    tokens = problem.unit.tokens
    if not segments:
        return None if len(tokens) else []
    spans = read_segments(segments, inventory, tokens)
    if problem.preset:
        spans = [span for span in spans if problem.preset.is_free(span)]
    return shift(spans, problem.unit.start)


def impossible(
    problem: Problem, inventory: LabelInventory, cfg: Mapping[str, Any]
) -> ValueError:
    """RETURNS (ValueError): HS060, with all in force that can make a segmentation
    impossible."""
    rules, fixed, tokens = (
        cfg.get("label_rules", []),
        problem.fixed,
        problem.unit.tokens,
    )
    is_in_force = {
        f"keep = {list(fixed.keep)}": bool(fixed.keep),
        f"forbid = {list(fixed.forbid)}": bool(fixed.forbid),
        "sentence starts": limits(tokens, inventory) is not None,
        f"max_length = {cfg['max_length']}": cfg["max_length"] is not None,
        f"label_rules = {rules}": bool(rules),
        'outside = "none"': cfg["outside"] == "none",
    }
    names = [name for name, holds in is_in_force.items() if holds]
    reasons = " and ".join(names) or "weights of -inf"
    return ValueError(Errors.HS060.format(text=tokens.text[:40], constraints=reasons))
