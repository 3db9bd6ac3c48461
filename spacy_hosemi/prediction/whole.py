"""The probability of whole segmentations: exactly some spans, and no others.

    P(spans) = Z of the segmentations that mean exactly these spans / Z of all

Usually only one segmentation means these spans. Several do where labels are names above
others in a tree, where there are existing entities, and where tags on tokens cover
whitespace beside a span, which is cut off. But where tags cover all whitespace between
two spans with the same label, the two are one: those sequences are subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core import Constraints, PatternAutomaton, log_partition, score
from ..core.algorithms.segment_probabilities import log_partition_as_asked
from ..features.instances import shift
from ..labels.constraints import permits, restrict
from ..labels.exact_spans import exact_names, joining_names
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import Bools
from .problem import Problem

# Sequences of tags that together have less than this share are not looked into.
_TINY = 1e-13


def log_probability(
    problem: Problem,
    spans: Sequence[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> float:
    """Of the segmentations of an instance with exactly some spans.

    problem (Problem): Some segmentation is possible.
    spans (Sequence[Tuple[int, int, str]]): Sorted, in tokens of the document; without
        existing entities, which are given.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the problem.
    RETURNS (float): In nats, at most 0; -inf if there is none.
    """
    instance, limits = problem.instance, problem.constraints
    n_tokens = len(instance.tokens)
    spans = shift(spans, -instance.start) if instance.start else spans
    of_tokens = instance.tokens if inventory.on_tokens else ()
    spaces = [i for i in range(len(of_tokens)) if of_tokens[i].is_space]
    given = None if problem.existing is None else problem.existing.blocked
    is_known = inventory.on_tokens or all([x[2] in inventory.index for x in spans])
    if given is None and is_known and not spaces:
        segments = inventory.encode(spans, n_tokens)
        is_possible = permits(limits, segments)
        args = automaton, problem.potentials, segments
        found = score(*args) if is_possible else -math.inf
    else:
        is_given = np.zeros(n_tokens, bool) if given is None else given
        is_space = np.zeros(n_tokens, bool)
        is_space[spaces] = True
        names = exact_names(spans, inventory, is_given, is_space)
        found = _log_sum(problem, spans, automaton, inventory, names, is_space)
    if found == -math.inf:
        return found
    if problem.log_z is None:
        log_z = log_partition if inventory.on_tokens else log_partition_as_asked
        problem.log_z = log_z(automaton, problem.potentials, limits)
    return min(found - problem.log_z, 0.0)


def _log_sum(
    problem: Problem,
    spans: Sequence[Span],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
    names: Bools,
    is_space: Bools,
) -> float:
    """Log Z of the segmentations that mean some spans of an instance."""
    args = automaton, problem.potentials
    exact = restrict(names, spans, inventory, problem.constraints)
    log_exact = log_partition(*args, exact)
    if log_exact == -math.inf or not inventory.on_tokens:
        return log_exact

    def share(limits: Constraints, joins: Sequence[Bools]) -> float:
        """Of the sequences under these limits, those that join no spans."""
        found = math.exp(log_partition(*args, limits) - log_exact)
        if found < _TINY:
            return found
        for k, names in enumerate(joins):
            found -= share(restrict(names, (), inventory, limits), joins[:k])
        return found

    joins = joining_names(spans, inventory, is_space)
    rest = share(exact, joins) if joins else 1.0
    return log_exact + math.log(rest) if rest > 0.0 else -math.inf
