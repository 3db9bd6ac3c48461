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

from ..arrays import Bools
from ..core import Constraints, log_partition, score
from ..core.algorithms.segment_probabilities import log_partition_as_asked
from ..labels.constraints import permits, restrict
from ..labels.exact_spans import exact_names, joining_names
from ..labels.inventory import Span
from .batch import Batch

# Sequences of tags with a smaller share together are not examined.
_TINY = 1e-13


def log_probability(batch: Batch, k: int, spans: Sequence[Span]) -> float:
    """Returns the log probability of the segmentations of an instance with exactly some
    spans, which are sorted, beside existing entities; -inf if there is none. Some
    segmentation is possible."""
    automaton, inventory = batch.source.automaton, batch.source.inventory
    n_tokens, existing = len(batch.tokens[k]), batch.existing[k]
    potentials, limits = batch.potentials[k], batch.constraints[k]
    is_space = batch.is_space(k) if inventory.on_tokens else np.zeros(n_tokens, bool)
    blocked = None if existing is None else existing.blocked
    is_known = inventory.on_tokens or all([x[2] in inventory.index for x in spans])
    has_space = inventory.on_tokens and is_space.any()
    if blocked is None and is_known and not has_space:
        segments = inventory.encode(spans, n_tokens)
        is_possible = permits(limits, segments)
        total = score(automaton, potentials, segments) if is_possible else -math.inf
    else:
        is_given = np.zeros(n_tokens, bool) if blocked is None else blocked
        names = exact_names(spans, inventory, is_given, is_space)
        total = _log_sum(batch, k, spans, names, is_space)
    if total == -math.inf:
        return total
    if k not in batch.log_z:
        log_z = log_partition if inventory.on_tokens else log_partition_as_asked
        batch.log_z[k] = log_z(automaton, potentials, limits)
    return min(total - batch.log_z[k], 0.0)


def _log_sum(
    batch: Batch, k: int, spans: Sequence[Span], names: Bools, is_space: Bools
) -> float:
    """Returns log Z of the segmentations that mean some spans."""
    inventory, limits = batch.source.inventory, batch.constraints[k]
    args = batch.source.automaton, batch.potentials[k]
    exact = restrict(names, spans, inventory, limits)
    log_exact = log_partition(*args, exact)
    if log_exact == -math.inf or not inventory.on_tokens:
        return log_exact

    def share(limits: Constraints, joins: Sequence[Bools]) -> float:
        """Returns the share of the sequences under these limits that join no spans."""
        rest = math.exp(log_partition(*args, limits) - log_exact)
        if rest < _TINY:
            return rest
        for n, names in enumerate(joins):
            rest -= share(restrict(names, (), inventory, limits), joins[:n])
        return rest

    joins = joining_names(spans, inventory, is_space)
    rest = share(exact, joins) if joins else 1.0
    return log_exact + math.log(rest) if rest > 0.0 else -math.inf
