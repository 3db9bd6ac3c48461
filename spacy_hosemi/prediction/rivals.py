"""The best segmentation that has a span, and the best one that does not have it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from ..core import Constraints, PatternAutomaton, score, viterbi
from ..labels.constraints import permits, require
from ..labels.inventory import LabelInventory, Segment, Span
from ..labels.partial import PartialLabels
from ..labels.whitespace import before_trimming
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
    limits = problem.constraints or Constraints()
    wrong = [(i, j, inventory.index[label]) for i, j, label in below(span, inventory)]
    limits = replace(limits, forbidden=[*limits.forbidden, *wrong])
    return Scored(*viterbi(automaton, potentials, limits))


def below(span: Span, inventory: LabelInventory) -> list[Span]:
    """RETURNS (List[Tuple[int, int, str]]): The spans that a span stands for: with each
    label below its name, if labels are in a tree."""
    start, end, name = span
    return [(start, end, label) for label in inventory.labels_below(name)]
