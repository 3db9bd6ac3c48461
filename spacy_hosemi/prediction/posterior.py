"""Posterior probabilities of spans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core import PatternAutomaton, log_partition
from ..core.parallel.coroutines import Steps, finish
from ..core.sweeps.scaled_x4 import probability_steps
from ..features.instances import shift
from ..labels.constraints import exactly
from ..labels.inventory import LabelInventory
from ..labels.inventory import Span as SpanTriple
from ..labels.whitespace import before_trimming
from .problem import Problem


def span_probabilities(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[SpanTriple]],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> list[list[float]]:
    """Posterior probabilities of spans of instances, all work done by this thread; see
    `confidence_steps`."""
    return finish(confidence_steps(problems, spans, automaton, inventory))


def confidence_steps(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[SpanTriple]],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Steps[list[list[float]]]:
    """Posterior probabilities of spans of instances.

    problems (Sequence[Problem]): Instances, of one document or several.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Any of each instance, in tokens of
        its document.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (List[List[float]]): In [0, 1].
    """
    moved = [shift(some, -x.instance.start) for x, some in zip(problems, spans)]
    if inventory.on_tokens:
        pairs = zip(problems, moved)
        found = [_of_tags(*pair, automaton, inventory) for pair in pairs]
    else:
        index = {name: y for y, name in enumerate(inventory.names)}
        found = yield from probability_steps(
            automaton,
            [problem.potentials for problem in problems],
            [[(i, j, index[label]) for i, j, label in some] for some in moved],
            [problem.constraints for problem in problems],
        )
    for problem, some, probs in zip(problems, moved, found):
        # What is kept has 1 up to rounding, which min_confidence = 1 would see.
        if kept := problem.fixed.keep:
            probs[:] = [1.0 if x in kept else p for x, p in zip(some, probs)]
    return [[min(p, 1.0) for p in probs] for probs in found]


def _of_tags(
    problem: Problem,
    spans: Sequence[SpanTriple],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> list[float]:
    """P(span) = Z(tag sequences with it) / Z, summed over what is trimmed to it."""
    doc, potentials, limits = (
        problem.instance.tokens,
        problem.potentials,
        problem.constraints,
    )
    log_z = log_partition(automaton, potentials, limits) if spans else 0.0
    return [
        sum(
            math.exp(log_partition(automaton, potentials, given) - log_z)
            for raw in before_trimming(span, doc)
            for given in [exactly([raw], inventory, limits, len(doc))]
        )
        for span in spans
    ]
