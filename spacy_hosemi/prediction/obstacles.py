"""What forbids a span, or each segmentation without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..core import PatternAutomaton, compile_grammar
from ..features.instances import Instance
from ..labels.constraints import borders_of
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import NOTHING, PartialLabels
from .decoder import FlatDecoder
from .limits import make_problem
from .problem import Problem
from .rivals import Scored

CROSSES = "a sentence begins within it"
EXISTING = "entities or blocked tokens that were there before"

# Finds the best segmentation that has a span, or that does not have it.
Search = Callable[[Problem, Span, PatternAutomaton, LabelInventory], Scored]


def obstacles(
    decoder: FlatDecoder, problem: Problem, span: Span, search: Search
) -> list[str]:
    """Why nothing is found.

    decoder (FlatDecoder): Of the problem.
    problem (Problem): Nothing is found in it.
    span (Tuple[int, int, str]): In its tokens.
    search (Callable): `best_with` or `best_without`.
    RETURNS (List[str]): What is in force, each of which would have to go alone; all of
        the rules if no single one of these is enough.
    """
    inventory, grammar = decoder.inventory, decoder.automaton.grammar
    borders = borders_of(problem.instance.tokens, inventory)
    if borders is not None and ((span[0] < borders) & (borders < span[1])).any():
        return [CROSSES]
    found = [
        name
        for name, other, automaton in _without_one(decoder, problem, span)
        if search(other, span, automaton, inventory).segments
    ]
    if not found and grammar:
        free = decoder.automaton.without_grammar
        if search(problem, span, free, inventory).segments:
            return [f"label_rules: {'; '.join(grammar.rules)}"]
    return found or ["several limits together"]


def _without_one(
    decoder: FlatDecoder, problem: Problem, span: Span
) -> Iterator[tuple[str, Problem, PatternAutomaton]]:
    """Each limit by its name, with the problem and the automaton that lack it."""
    automaton, inventory = decoder.automaton, decoder.inventory
    tokens, scores = problem.instance.tokens, problem.potentials
    existing, matches = problem.existing, decoder.hard_matches(tokens)

    def limited(existing: PartialLabels | None, matches: Sequence[Span]) -> Problem:
        copied = replace(scores, start=scores.start.copy(), end=scores.end.copy())
        args = Instance(tokens, 0), copied, existing, NOTHING, matches
        return make_problem(*args, automaton, inventory)

    if existing is not None:
        yield EXISTING, limited(None, matches), automaton
    for label in dict.fromkeys(label for *_, label in matches):
        others = [x for x in matches if x[2] != label]
        yield f"a list of {label} in mode hard", limited(existing, others), automaton
    length = scores.length.shape[1]
    if not inventory.on_tokens and span[1] - span[0] > length:
        free = replace(scores, tail=np.zeros_like(scores.tail))
        yield f"max_length = {length}", replace(problem, potentials=free), automaton
    for rule in dict.fromkeys(automaton.grammar.rules if automaton.grammar else ()):
        yield f"label_rules: {rule}", problem, _without_rule(automaton, rule)


def _without_rule(automaton: PatternAutomaton, rule: str) -> PatternAutomaton:
    """RETURNS (PatternAutomaton): The same without one of its rules."""
    assert automaton.grammar is not None
    left = [one for one in automaton.grammar.rules if one != rule]
    return PatternAutomaton(
        automaton.labels,
        automaton.patterns,
        observed=automaton.observed,
        tied=automaton.tied,
        grammar=compile_grammar(automaton.labels, left) if left else None,
    )
