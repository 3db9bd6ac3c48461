"""Training objectives: (automaton, potentials, gold) -> loss and its gradient.

The gradient has the shapes of the potentials. No weights and no Doc here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .core import PatternAutomaton, Potentials, marginals
from .errors import Errors
from .segmentation import Gold

Objective = Callable[[PatternAutomaton, Potentials, Gold], tuple[float, Potentials]]

_DENSE = ("inside", "start", "end", "length", "tail", "pattern")


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

    Annotation that breaks the rules of a grammar is learnt from as if there were none.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    gold (Gold): Segments or constraints.
    RETURNS (Tuple[float, Potentials]): The loss in nats, and its derivatives.
    RAISES (ValueError): HS056 if the gold is impossible under the model.
    """
    if gold.n_known == 0:
        return 0.0, no_counts(potentials)
    if breaks_rules(automaton, gold):
        automaton = automaton.without_grammar
    everything = marginals(automaton, potentials)
    gradient = everything.gradient
    counts = None
    if gold.segments is not None:
        score = everything.less(gold.segments)
    else:
        agreeing = marginals(automaton, potentials, gold.constraints)
        counts, score = agreeing.gradient, agreeing.log_z
    if score == -np.inf:
        raise ValueError(
            Errors.HS056.format(
                text=gold.text, reason="a label pattern or a length forbids it"
            )
        )
    if counts is not None:
        for mine, other in zip(_arrays(gradient), _arrays(counts)):
            mine -= other
    return everything.log_z - score, gradient


def divergence(
    automaton: PatternAutomaton, potentials: Potentials, before: Potentials
) -> tuple[float, Potentials]:
    """How far the distribution has moved from an earlier one.

        KL(before || now) = log Z - log Z' + sum of E'[count] (score' - score)

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; of now.
    before (Potentials): The same places with earlier scores.
    RETURNS (Tuple[float, Potentials]): In nats, and its derivatives by those of now.
    """
    now, then = marginals(automaton, potentials), marginals(automaton, before)
    loss = now.log_z - then.log_z
    for count, mine, other, gradient in zip(
        *map(_arrays, (then.gradient, potentials, before, now.gradient))
    ):
        is_seen = count > 0.0  # elsewhere scores may be -inf
        loss += float((count[is_seen] * (other[is_seen] - mine[is_seen])).sum())
        gradient -= count
    return max(loss, 0.0), now.gradient


def _arrays(potentials: Potentials) -> list[NDArray[np.float64]]:
    """Everything that has scores, or derivatives by them: views."""
    arrays = [getattr(potentials, name) for name in _DENSE]
    arrays.append(potentials.cells["score"])
    if potentials.entries is not None:
        arrays.append(potentials.entries["score"])
    return arrays


def breaks_rules(automaton: PatternAutomaton, gold: Gold) -> bool:
    """Whether the labels of a document, all known, are not as the rules say."""
    if gold.segments is None or automaton.grammar is None:
        return False
    return not automaton.grammar.permits([y for _, _, y in gold.segments])


def no_counts(potentials: Potentials) -> Potentials:
    """RETURNS (Potentials): Zeros in the shapes of the potentials."""
    counts = Potentials(
        **{name: np.zeros_like(getattr(potentials, name)) for name in _DENSE},
        cells=potentials.cells.copy(),
        entries=None if potentials.entries is None else potentials.entries.copy(),
    )
    counts.cells["score"] = 0.0
    if counts.entries is not None:
        counts.entries["score"] = 0.0
    return counts
