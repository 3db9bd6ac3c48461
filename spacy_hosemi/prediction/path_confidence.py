"""Probabilities of predicted spans, and of the segmentations that they are from.

Decoding by expected F1 finds them in the sweep that it needs anyway; after Viterbi one
more sweep finds both. They are the same bits as those of `posterior` and `whole`, which
find them for any spans.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core import PatternAutomaton
from ..core.algorithms.segment_probabilities import PathAnswer, path_steps
from ..core.parallel.coroutines import Steps
from ..labels.inventory import LabelInventory, Segment, Span
from .posterior import confidence_steps
from .problem import Problem


def path_confidence_steps(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[Span]],
    segments: Sequence[list[Segment]],
    answers: Sequence[PathAnswer | None],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Steps[list[list[float]]]:
    """Posterior probabilities of predicted spans of instances. Where a sweep finds it,
    a problem is given the probability of its segmentation, too.

    problems (Sequence[Problem]): Instances, of one document or several.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Predicted in each, in tokens of
        its document.
    segments (Sequence[List[Tuple[int, int, int]]]): The segmentations that have these
        spans, and maybe existing ones.
    answers (Sequence[Optional[PathAnswer]]): What is known of these already.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the problems.
    RETURNS (List[List[float]]): In [0, 1].
    """
    labels = automaton, inventory
    if inventory.on_tokens:  # several segmentations may have these spans
        return (yield from confidence_steps(problems, spans, *labels))
    # Nor has every segment its span beside existing entities.
    is_free = [not (x.existing or x.corrections) for x in problems]
    known = [one if free else None for one, free in zip(answers, is_free)]
    if asked := [k for k, free in enumerate(is_free) if free and known[k] is None]:
        potentials = [problems[k].potentials for k in asked]
        constraints = [problems[k].constraints for k in asked]
        paths = [segments[k] for k in asked]
        found = yield from path_steps(automaton, potentials, paths, constraints)
        for k, one in zip(asked, found):
            known[k] = one
    if others := [k for k, one in enumerate(known) if one is None]:
        some = [problems[k] for k in others], [spans[k] for k in others]
        probs = iter((yield from confidence_steps(*some, *labels)))
    return [
        next(probs) if one is None else _read(problem, one)
        for problem, one in zip(problems, known)
    ]


def _read(problem: Problem, answer: PathAnswer) -> list[float]:
    """RETURNS (List[float]): The probabilities; the problem is given the rest."""
    _, probs, score, problem.log_z = answer
    problem.log_prob = min(score - problem.log_z, 0.0)
    return [min(p, 1.0) for p in probs]


def joint_probability(problems: Sequence[Problem]) -> float | None:
    """RETURNS (Optional[float]): Of the segmentations of all instances of a document;
    None if it is not known of each."""
    found = [x.log_prob for x in problems if x.log_prob is not None]
    return math.exp(math.fsum(found)) if len(found) == len(problems) else None
