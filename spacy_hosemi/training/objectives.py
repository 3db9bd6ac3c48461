"""Training objectives: (automaton, potentials, gold) -> loss and its gradient.

The gradient has the shapes of the potentials. No weights and no Doc here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton, Potentials, viterbi
from ..core.algorithms.marginals import marginals_of
from ..core.algorithms.viterbi import add_all_counts
from ..errors import Errors
from ..labels.gold import Gold
from ..values import Setting, number, read_all

Objective = Callable[[PatternAutomaton, Potentials, Gold], tuple[float, Potentials]]

_DENSE = ("inside", "start", "end", "length", "tail", "pattern")


def make_log_likelihood() -> Objective:
    """Registered as "spacy_hosemi.log_likelihood.v1" in `misc`."""
    return log_likelihood


def log_likelihood(
    automaton: PatternAutomaton, potentials: Potentials, gold: Gold
) -> tuple[float, Potentials]:
    """Returns the negative log-likelihood of what is known of a document, in nats, and
    its derivatives. Raises ValueError HS056 if the gold is impossible under the model.

        loss = log Z - score(gold)             all tokens known
        loss = log Z - log Z(what agrees)      some missing

    For annotation that breaks the label rules, the rules are ignored.
    """
    if gold.n_known == 0:
        return 0.0, no_counts(potentials)
    if automaton.grammar is not None and breaks_rules(automaton, gold):
        automaton = automaton.without_grammar
    if gold.segments is None:
        agreeing = marginals_of(automaton, potentials, gold.constraints)
        if agreeing.log_z == -np.inf and automaton.grammar is not None:
            return log_likelihood(automaton.without_grammar, potentials, gold)
    everything = marginals_of(automaton, potentials)
    gradient = everything.gradient
    if gold.segments is not None:
        score = everything.less(gold.segments)
    else:
        score = agreeing.log_z
    if score == -np.inf:
        raise _impossible(gold)
    if gold.segments is None:
        for array, count in zip(_arrays(gradient), _arrays(agreeing.gradient)):
            array -= count
    return everything.log_z - score, gradient


def is_smooth(objective: Objective) -> bool:
    """Whether its gradient has no jumps, which L-BFGS cannot pass."""
    return getattr(objective, "func", objective) is not perceptron


# The block [components.hosemi.objective] of the perceptron.
SETTINGS = (
    Setting(
        "margin",
        number(least=0.0),
        0.0,
        "What each token with a wrong label adds to the score of another segmentation, "
        "so that the gold must win by that; 0: the perceptron.",
    ),
)


def make_perceptron(margin: float = 0.0) -> Objective:
    """Registered as "spacy_hosemi.perceptron.v1" in `misc`: see SETTINGS. Raises
    ValueError HS043 for a margin below 0 or without end."""
    return partial(perceptron, **read_all(SETTINGS, locals(), prefix="objective."))


def perceptron(
    automaton: PatternAutomaton, potentials: Potentials, gold: Gold, margin: float = 0.0
) -> tuple[float, Potentials]:
    """Returns how far the best segmentation is ahead of the gold (Collins 2002), 0 or
    more, and a subgradient, all 0 where it is the gold. Raises ValueError HS056 if the
    gold is impossible under the model.

        loss = max over s of (score(s) + margin * wrong tokens of s) - score(gold)
        gradient = counts(best s) - counts(gold)

    Where some gold is missing, the best segmentation that agrees with the rest stands
    for it, and a token is wrong if no such segmentation has its label. Among equals the
    best is that of `core.viterbi`: without any weights yet it need not be the gold, and
    then there is a gradient although the loss is 0.

    For annotation that breaks the label rules, the rules are ignored. With a margin it
    is the structured hinge loss of Taskar et al. (2003).
    """
    gradient = no_counts(potentials)
    if gold.n_known == 0:
        return 0.0, gradient
    if breaks_rules(automaton, gold):
        automaton = automaton.without_grammar
    rival = _with_costs(potentials, gold, margin) if margin else potentials
    predicted, best = viterbi(automaton, rival)
    right = gold.segments
    if right is None:
        right, score = viterbi(automaton, potentials, gold.constraints)
        if score == -np.inf and automaton.grammar is not None:
            return perceptron(automaton.without_grammar, potentials, gold, margin)
        if score == -np.inf:
            raise _impossible(gold)
    if predicted == right:
        return 0.0, gradient
    counted = [(right, -1.0), (predicted, 1.0)]
    score, _ = add_all_counts(automaton, potentials, counted, gradient)
    if score == -np.inf:
        raise _impossible(gold)
    return max(best - score, 0.0), gradient


def _with_costs(potentials: Potentials, gold: Gold, margin: float) -> Potentials:
    """Adds the margin wherever a token has a label that is known to be wrong."""
    n_labels = len(potentials.tail)
    is_wrong = np.zeros((potentials.n_tokens, n_labels), bool)
    if gold.segments is not None:
        is_wrong[:] = True
        for start, end, y in gold.segments:
            is_wrong[start:end, y] = False
    elif gold.constraints is not None and gold.constraints.allowed is not None:
        is_wrong[:] = ~gold.constraints.allowed
    inside = potentials.inside.copy()
    inside[:, :n_labels] += margin * is_wrong
    return replace(potentials, inside=inside)


def _impossible(gold: Gold) -> ValueError:
    """Returns HS056: the score of the gold is -inf."""
    remedy = "Mend the annotation, or raise max_length"
    reason = f"a label pattern or max_length forbids it. {remedy}"
    return ValueError(Errors.HS056.format(text=gold.text, reason=reason))


def divergence(
    automaton: PatternAutomaton, potentials: Potentials, before: Potentials
) -> tuple[float, Potentials]:
    """Returns how far the distribution has moved from an earlier one, in nats, and its
    derivatives by the present scores; 0 if either permits no segmentation.

        KL(before || now) = log Z - log Z' + sum of E'[count] (score' - score)

    Cells and entries that only one of the two has count as a score of 0 in the other.
    """
    present = _joined(potentials, before)
    earlier = _joined(before, potentials, after=False)
    now, then = marginals_of(automaton, present), marginals_of(automaton, earlier)
    loss = now.log_z - then.log_z
    if not np.isfinite(loss):
        return 0.0, no_counts(potentials)
    for count, x, y, gradient in zip(
        *map(_arrays, (then.gradient, present, earlier, now.gradient))
    ):
        is_seen = count > 0.0  # elsewhere scores may be -inf
        loss += float((count[is_seen] * (y[is_seen] - x[is_seen])).sum())
        gradient -= count
    records = {
        name: array[: len(getattr(potentials, name))]
        for name, array in _records(now.gradient).items()
    }
    return max(loss, 0.0), replace(now.gradient, **records)


def _joined(
    potentials: Potentials, more: Potentials, *, after: bool = True
) -> Potentials:
    """Adds the cells and entries of others with score 0, after or before the first."""
    joined = {}
    for name, records in _records(potentials).items():
        added = getattr(more, name).copy()
        added["score"] = 0.0
        joined[name] = np.concatenate([records, added] if after else [added, records])
    return replace(potentials, **joined)


def _arrays(potentials: Potentials) -> list[NDArray[np.float64]]:
    """Returns the dense arrays, and the column "score" of the sparse ones, as views:
    what is added to them is added to the potentials."""
    arrays = [getattr(potentials, name) for name in _DENSE]
    return [*arrays, *(x["score"] for x in _records(potentials).values())]


def _records(potentials: Potentials) -> dict[str, NDArray[Any]]:
    """Returns the sparse parts."""
    if potentials.entries is None:
        return {"cells": potentials.cells}
    return {"cells": potentials.cells, "entries": potentials.entries}


def is_zero(gradient: Potentials) -> bool:
    """Whether there is nothing to learn."""
    return not any(map(np.count_nonzero, _arrays(gradient)))  # faster than array.any()


def breaks_rules(automaton: PatternAutomaton, gold: Gold) -> bool:
    """Whether the labels of a document, all known, are not as the rules say."""
    if gold.segments is None or automaton.grammar is None:
        return False
    return not automaton.grammar.permits([y for _, _, y in gold.segments])


def no_counts(potentials: Potentials) -> Potentials:
    """Returns zeros in the shapes of the potentials."""
    entries = potentials.entries
    return Potentials(
        **{name: np.zeros(getattr(potentials, name).shape) for name in _DENSE},
        cells=_blank(potentials.cells),
        entries=None if entries is None else _blank(entries),
    )


def _blank(records: NDArray[Any]) -> NDArray[Any]:
    """Copies records without scores: numpy copies bytes faster than fields."""
    as_bytes = np.ascontiguousarray(records).view(np.uint8)
    blank = as_bytes.copy().view(records.dtype)
    blank["score"] = 0.0
    return blank
