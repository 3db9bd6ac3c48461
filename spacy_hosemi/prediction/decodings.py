"""The rules of decoding: from scores to the segmentation that is predicted.

A rule is one entry of `DECODINGS`. Label trees refuse a rule that is not in
`LEVEL_DECODINGS` of `hierarchy`, too. The functions of a rule are generators: they
yield tasks that other threads can run without the GIL, and return segmentations, which
are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core import Constraints, PatternAutomaton, Potentials
from ..core.algorithms.mbr import mbr_steps
from ..core.algorithms.segment_probabilities import (
    PathAnswer,
    PathsFound,
    best_decision_steps,
    best_path_steps,
)
from ..core.algorithms.viterbi import viterbi_steps
from ..core.parallel.coroutines import Steps
from ..labels.inventory import Segment

Best = tuple[list[list[Segment]], list[PathAnswer | None]]


@dataclass(frozen=True)
class Decoding:
    """Decodes instances by a rule. `steps` takes (automaton, potentials, constraints),
    then expected_f1 if it counts, and gives the segments of each instance, and what is
    known of their probabilities by then. `free_steps` is a faster way for instances
    that nothing limits: (automaton, potentials), then expected_f1 if it counts, and
    has_probabilities, to the same, see `best_path_steps`; to None where an instance has
    to be done by `steps`."""

    name: str  # as the setting decoding has it
    meaning: str
    reads_expected_f1: bool  # whether the setting expected_f1 counts
    decodes_tags: bool  # whether segments may be tags on tokens
    steps: Callable[..., Steps[Best]]
    free_steps: Callable[..., Steps[PathsFound | None]] | None = None


def _viterbi_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
) -> Steps[Best]:
    scored = yield from viterbi_steps(automaton, [*potentials], [*constraints])
    return [segments for segments, _ in scored], [None] * len(potentials)


DECODINGS = {
    rule.name: rule
    for rule in (
        Decoding(
            "viterbi",
            "the most probable segmentation",
            reads_expected_f1=False,
            decodes_tags=True,
            steps=_viterbi_steps,
            free_steps=best_path_steps,
        ),
        Decoding(
            "mbr",
            "the spans with the highest expected F1, in 1.3 to 1.6 times the time",
            reads_expected_f1=True,
            decodes_tags=False,
            steps=mbr_steps,
            free_steps=best_decision_steps,
        ),
    )
}
