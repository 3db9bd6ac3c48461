"""Names the constraints that forbid a span, or each segmentation without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..core import Constraints
from ..features.instances import Instance
from ..labels.constraints import borders_of
from ..labels.inventory import Span
from ..labels.partial import NOTHING, PartialLabels
from .batch import Batch
from .best_with_and_without import ScoredSegments
from .counterfactuals import with_rules
from .limits import limit_instance

CROSSES = "a sentence begins within it"
EXISTING = "entities or blocked tokens that were there before"

# Finds the best segmentation of an instance with a span, or without it.
Search = Callable[[Batch, int, Span], ScoredSegments]


def blocking_constraints(batch: Batch, k: int, span: Span, search: Search) -> list[str]:
    """Returns why no segmentation of an instance has a span, or does not have it: each
    constraint that blocks the span alone; all rules together if no single rule does.
    `search` is `best_with` or `best_without`, which finds nothing."""
    decoder = batch.source
    inventory, grammar = decoder.inventory, decoder.automaton.grammar
    borders = borders_of(batch.tokens[k], inventory)
    if borders is not None and ((span[0] < borders) & (borders < span[1])).any():
        return [CROSSES]
    names = [
        name
        for name, other in _without_one(batch, k, span)
        if search(other, 0, span)[0]
    ]
    if not names and grammar:
        if search(batch.alone(k, source=with_rules(decoder, [])), 0, span)[0]:
            return [f"label_rules: {'; '.join(grammar.rules)}"]
    return names or ["several limits together"]


def _without_one(batch: Batch, k: int, span: Span) -> Iterator[tuple[str, Batch]]:
    """Yields the name of each limit, and the instance without it."""
    decoder = batch.source
    automaton, inventory = decoder.automaton, decoder.inventory
    tokens, scores = batch.tokens[k], batch.potentials[k]
    existing, matches = batch.existing[k], decoder.hard_matches(tokens)

    def limited(existing: PartialLabels | None, matches: Sequence[Span]) -> Batch:
        copied = replace(scores, start=scores.start.copy(), end=scores.end.copy())
        args = Instance(tokens, 0), copied, existing, NOTHING, matches
        potentials, limits, *_ = limit_instance(*args, automaton, inventory)
        return batch.alone(
            k, potentials=potentials, constraints=limits or Constraints()
        )

    if existing is not None:
        yield EXISTING, limited(None, matches)
    for label in dict.fromkeys(label for *_, label in matches):
        rest = [x for x in matches if x[2] != label]
        yield f"a list of {label} in mode hard", limited(existing, rest)
    length = scores.length.shape[1]
    if not inventory.on_tokens and span[1] - span[0] > length:
        free = replace(scores, tail=np.zeros_like(scores.tail))
        yield f"max_length = {length}", batch.alone(k, potentials=free)
    rules = dict.fromkeys(automaton.grammar.rules if automaton.grammar else ())
    for rule in rules:
        source = with_rules(decoder, [other for other in rules if other != rule])
        yield f"label_rules: {rule}", batch.alone(k, source=source)
