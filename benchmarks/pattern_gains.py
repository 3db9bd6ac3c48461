"""What a label pattern would add to a model that has no weight for it.

To second order, a weight for the pattern m can lower the penalised loss by

    gain[m] = (observed[m] - expected[m])^2 / (2 (variance[m] + l2))

where its count in a document is observed in the gold, and has this mean and variance
under the model: the score test, and the gain of Della Pietra, Della Pietra and Lafferty
1997 and of Perkins, Lacker and Theiler 2003 (grafting). Both are estimated from
segmentations drawn from the model, so that their automaton need not tell all candidates
apart; the noise has 1 / DRAWS of the variance. Not taken into account: that the other
weights change too, and that one pattern may take the gain of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spacy_hosemi.core import Constraints, PatternAutomaton, Potentials, sample
from spacy_hosemi.labels.gold import Gold
from spacy_hosemi.labels.inventory import Pattern, Segment

DRAWS = 20

Floats = NDArray[np.float64]


def pattern_gains(
    automaton: PatternAutomaton,
    patterns: Sequence[Pattern],
    documents: Iterable[tuple[Potentials, Gold]],
    l2: float = 0.1,
) -> Floats:
    """By how much weights for patterns would lower the loss, each alone.

    automaton (PatternAutomaton): Of the model.
    patterns (Sequence[Pattern]): M candidates.
    documents (Iterable[Tuple[Potentials, Gold]]): Training documents.
    l2 (float): Weight of half the squared norm.
    RETURNS (float64 [M]): In nats.
    """
    counter = PatternAutomaton(automaton.labels, patterns)
    excess, variance = np.zeros((2, len(patterns)))
    for seed, (potentials, gold) in enumerate(documents):
        if not gold.n_known:
            continue

        counts = _draw(automaton, potentials, None, seed, counter)
        if gold.segments is not None:
            excess += _count(gold.segments, counter)
        else:
            agreeing = _draw(automaton, potentials, gold.constraints, seed, counter)
            excess += agreeing.mean(axis=0)
        excess -= counts.mean(axis=0)
        variance += counts.var(axis=0, ddof=1)
    return excess**2 / (2.0 * (variance + l2))


def _draw(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None,
    seed: int,
    counter: PatternAutomaton,
) -> Floats:
    """Counts of the counter's patterns in segmentations: [DRAWS, M]."""
    drawn = sample(automaton, potentials, DRAWS, seed, constraints)
    return np.stack([_count(segments, counter) for segments in drawn])


def _count(segments: Sequence[Segment], counter: PatternAutomaton) -> Floats:
    completed = np.array(counter.completed(y for _, _, y in segments), np.intp)
    return np.bincount(completed, minlength=len(counter.patterns)).astype(np.float64)
