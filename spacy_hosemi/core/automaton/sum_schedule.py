"""Short sums, in an order in which a kernel can form four at the same time.

An automaton needs thousands of short sums of different lengths. Formed one by one, each
costs a mispredicted branch and waits for its own additions. So sums that do not need
each other are sorted by their number of terms and grouped by fours. Such a group is a
*quad*; the shorter sums in it are padded to the length of the longest one. A quad is
*shared* if its sums read about the same slots, in the same order, as over pairs of
labels: each slot is read once for all four.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 4

# The most slots of a shared quad, relative to its longest sum.
MOST_SHARED = 1.25

Ints = NDArray[np.int32]

# Slots and arcs.
Terms = list[tuple[int, int]]


class SumSchedule:
    """slot[output[i]] = sum over the terms k of sum i of slot[input[k]] * weight[k].

    output (Ints): [S] The slot of each sum; no sum reads what a later one writes.
    first (Ints): [S + 1] Terms first[i]:first[i + 1] belong to sum i.
    input, arc (Ints): [T] The slot of each term, and which arc's weight it has; n_arcs
        stands for no weight, n_arcs + 1 for padding.
    n_slots (int): Slots of the automaton. Slot n_slots is always zero, for padding;
        slot n_slots + 1 takes the results of sums that pad a quad.
    n_arcs (int): Arcs of the automaton.

    Its arrays have the four sums of a quad side by side: `fan` [Q] terms of each quad,
    below 0 if it is shared; `output` [4 Q]; `arc`, four for each term; `input`,
    likewise, but one for each term of a shared quad.
    """

    def __init__(
        self, output: Any, first: Any, input: Any, arc: Any, n_slots: int, n_arcs: int
    ) -> None:
        outputs, borders, slots, arcs_of = (
            np.asarray(x).tolist() for x in (output, first, input, arc)
        )
        sums = [[*zip(slots[i:j], arcs_of[i:j])] for i, j in pairwise(borders)]
        level = _levels(outputs, sums, n_slots)
        order = sorted(range(len(sums)), key=lambda i: (level[i], len(sums[i])))
        fan: list[int] = []
        written: list[int] = []
        read: list[int] = []
        arcs: list[int] = []
        for _, group in groupby(order, level.__getitem__):
            while quad := [*islice(group, WIDTH)]:
                n_pads = WIDTH - len(quad)
                written += [outputs[i] for i in quad] + [n_slots + 1] * n_pads
                rows = [sums[i] for i in quad] + [[]] * n_pads
                n = len(rows[len(quad) - 1])
                shared = _merged(rows, int(MOST_SHARED * n))
                fan.append(n if shared is None else -len(shared))
                if shared is None:
                    pad = [(n_slots, n_arcs + 1)]
                    padded = [row + pad * (n - len(row)) for row in rows]
                    terms = [term for column in zip(*padded) for term in column]
                    read += [slot for slot, _ in terms]
                    arcs += [arc for _, arc in terms]
                else:
                    arc_of = [dict(row) for row in rows]
                    read += shared
                    arcs += [x.get(slot, n_arcs + 1) for slot in shared for x in arc_of]
        self.fan, self.output = np.array(fan, np.int32), np.array(written, np.int32)
        self.input, self.arc = np.array(read, np.int32), np.array(arcs, np.int32)


def _merged(rows: Sequence[Terms], most: int) -> list[int] | None:
    """Returns the slots of all rows in an order that each of them has; None if there is
    none, or there are too many."""
    rows = [row for row in rows if row]
    slots = {slot: None for row in rows for slot, _ in row}
    if len(slots) > most:
        return None
    sorter = TopologicalSorter(dict.fromkeys(slots, ()))
    for row in rows:
        for (before, _), (slot, _) in pairwise(row):
            sorter.add(slot, before)
    try:
        return [*sorter.static_order()]
    except CycleError:
        return None


def _levels(outputs: Sequence[int], sums: Sequence[Terms], n_slots: int) -> list[int]:
    """Returns the length of the longest chain of sums that each needs first."""
    level = [0] * n_slots
    for output, terms in zip(outputs, sums):
        level[output] = 1 + max((level[slot] for slot, _ in terms), default=0)
    return [level[output] for output in outputs]
