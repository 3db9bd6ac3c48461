"""Training objectives: (automaton, potentials, gold) -> loss and its gradient.

The gradient has the shapes of the potentials. No weights and no Doc here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .core import PatternAutomaton, Potentials, marginals
from .errors import Errors
from .labels import Segment
from .segmentation import Gold

Objective = Callable[[PatternAutomaton, Potentials, Gold], tuple[float, Potentials]]


def make_log_likelihood() -> Objective:
    """Registered as "spacy_hosemi.log_likelihood.v1" in `misc`.

    RETURNS (Callable): `log_likelihood`.
    """
    return log_likelihood


def log_likelihood(
    automaton: PatternAutomaton, potentials: Potentials, gold: Gold
) -> tuple[float, Potentials]:
    """Negative log-likelihood of what is known of a document.

        loss = log Z - score(gold)             all tokens known
        loss = log Z - log Z(what agrees)      some missing

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    gold (Gold): Segments or constraints.
    RETURNS (Tuple[float, Potentials]): The loss in nats, and its derivatives.
    RAISES (ValueError): HS056 if the gold is impossible under the model.
    """
    if gold.n_known == 0:
        return 0.0, no_counts(automaton, potentials)
    if gold.segments is not None and automaton.grammar is not None:
        if not automaton.grammar.permits([y for _, _, y in gold.segments]):
            reason = f"the rules {', '.join(automaton.grammar.rules)} forbid it"
            raise ValueError(Errors.HS056.format(text=gold.text, reason=reason))
    everything = marginals(automaton, potentials)
    gradient = everything.gradient
    if gold.segments is not None:
        counts = count_segments(automaton, gold.segments, potentials)
        score = score_counts(counts, potentials)
    else:
        agreeing = marginals(automaton, potentials, gold.constraints)
        counts, score = agreeing.gradient, agreeing.log_z
    if score == -np.inf:
        raise ValueError(
            Errors.HS056.format(
                text=gold.text, reason="a label pattern or a length forbids it"
            )
        )
    for name in ("inside", "start", "end", "length", "tail", "pattern"):
        array = getattr(gradient, name)
        array -= getattr(counts, name)
    gradient.cells["score"] -= counts.cells["score"]
    return everything.log_z - score, gradient


def count_segments(
    automaton: PatternAutomaton, segments: list[Segment], potentials: Potentials
) -> Potentials:
    """How often each potential is read by one segmentation.

    RETURNS (Potentials): Counts in the shapes of the potentials.
    """
    n_lengths = potentials.length.shape[1]
    counts = no_counts(automaton, potentials)
    if len(potentials.cells):
        known = set(segments)
        cells = (potentials.cells[name].tolist() for name in ("start", "end", "column"))
        counts.cells["score"] = [cell in known for cell in zip(*cells)]
    for start, end, y in segments:
        counts.inside[start:end, y] = 1.0
        counts.start[start, y] = 1.0
        counts.end[end - 1, y] = 1.0
        counts.length[y, min(end - start, n_lengths) - 1] += 1.0
        counts.tail[y] += max(end - start - n_lengths, 0)
    for m in automaton.completed(y for _, _, y in segments):
        counts.pattern[m] += 1.0
    return counts


def no_counts(automaton: PatternAutomaton, potentials: Potentials) -> Potentials:
    """RETURNS (Potentials): Zeros in the shapes of the potentials."""
    counts = Potentials.zeros(
        automaton, potentials.n_tokens, potentials.length.shape[1]
    )
    counts.tail[:] = 0.0
    counts.cells = potentials.cells.copy()
    counts.cells["score"] = 0.0
    return counts


def score_counts(counts: Potentials, potentials: Potentials) -> float:
    """Sum of the potentials that were counted; -inf only where one is counted."""
    total = 0.0
    for name in ("inside", "start", "end", "length", "tail", "pattern"):
        count, score = getattr(counts, name), getattr(potentials, name)
        read = count > 0
        total += float(count[read] @ score[read])
    read = counts.cells["score"] > 0
    return total + float(potentials.cells["score"][read].sum())
