"""Training objectives: (automaton, potentials, gold) -> loss and its gradient.

The gradient has the shapes of the potentials. No weights and no Doc here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .core import PatternAutomaton, Potentials, marginals
from .errors import Errors
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
        for name in ("inside", "start", "end", "length", "tail", "pattern"):
            array = getattr(gradient, name)
            array -= getattr(counts, name)
        gradient.cells["score"] -= counts.cells["score"]
        if gradient.entries is not None and counts.entries is not None:
            gradient.entries["score"] -= counts.entries["score"]
    return everything.log_z - score, gradient


def breaks_rules(automaton: PatternAutomaton, gold: Gold) -> bool:
    """Whether the labels of a document, all known, are not as the rules say."""
    if gold.segments is None or automaton.grammar is None:
        return False
    return not automaton.grammar.permits([y for _, _, y in gold.segments])


def no_counts(potentials: Potentials) -> Potentials:
    """RETURNS (Potentials): Zeros in the shapes of the potentials."""
    names = ("inside", "start", "end", "length", "tail", "pattern")
    counts = Potentials(
        **{name: np.zeros_like(getattr(potentials, name)) for name in names},
        cells=potentials.cells.copy(),
        entries=None if potentials.entries is None else potentials.entries.copy(),
    )
    counts.cells["score"] = 0.0
    if counts.entries is not None:
        counts.entries["score"] = 0.0
    return counts
