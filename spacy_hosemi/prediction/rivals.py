"""The best segmentation that has a span, and the best one that does not have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..core import Constraints, PatternAutomaton, score, viterbi
from ..labels.constraints import permits, require
from ..labels.inventory import LabelInventory, Segment, Span
from ..labels.partial import PartialLabels
from ..labels.whitespace import before_trimming, read_segments
from .permitted_tags import best_permitted
from .problem import Problem


class Scored(NamedTuple):
    """A segmentation and its score; without segments and -inf: none is possible."""

    segments: list[Segment]
    score: float


NONE = Scored([], -math.inf)


def best_of_all(problem: Problem, automaton: PatternAutomaton) -> Scored:
    """RETURNS (Scored): The most probable segmentation."""
    return Scored(*viterbi(automaton, problem.potentials, problem.constraints))


def best_with(
    problem: Problem, span: Span, automaton: PatternAutomaton, inventory: LabelInventory
) -> Scored:
    """The most probable segmentation that has a span.

    problem (Problem): An instance of n tokens.
    span (Tuple[int, int, str]): In its tokens. In a label tree the name of an inner
        node stands for all labels below it.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the problem.
    RETURNS (Scored): Possible or not.
    """
    tokens, potentials = problem.instance.tokens, problem.potentials
    spans = before_trimming(span, tokens) if inventory.on_tokens else [span]
    found = NONE
    for some in spans:
        args = [some], inventory, problem.constraints, len(tokens)
        one = Scored(*viterbi(automaton, potentials, require(*args)))
        # What is required may cross the starts of sentences, but this span may not.
        if one.score > found.score and permits(problem.constraints, one.segments):
            found = one
    return found


def best_without(
    problem: Problem, span: Span, automaton: PatternAutomaton, inventory: LabelInventory
) -> Scored:
    """The most probable segmentation that does not have a span; see `best_with`."""
    potentials = problem.potentials
    if inventory.on_tokens:
        asked = replace(problem, corrections=PartialLabels(excluded=(span,)))
        tags = best_permitted(asked, automaton, inventory)
        return Scored(tags, score(automaton, potentials, tags)) if tags else NONE
    start, end, name = span
    limits = problem.constraints or Constraints()
    below = [inventory.index[label] for label in inventory.labels_below(name)]
    forbidden = [*limits.forbidden, *((start, end, y) for y in below)]
    limits = replace(limits, forbidden=forbidden)
    return Scored(*viterbi(automaton, potentials, limits))


def has_span(
    segments: Sequence[Segment], span: Span, problem: Problem, inventory: LabelInventory
) -> bool:
    """Whether a segmentation has a span; see `best_with`."""
    start, end, name = span
    spans = read_segments(segments, inventory, problem.instance.tokens)
    below = inventory.labels_below(name)
    return any((start, end, label) in spans for label in below)
