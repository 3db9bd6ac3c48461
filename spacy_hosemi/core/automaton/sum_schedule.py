"""Short sums, in an order in which a kernel can form four at the same time.

An automaton needs thousands of short sums of different lengths. Formed one by one, each
costs a mispredicted branch and waits for its own additions. So sums that do not need
each other are sorted by their number of terms and grouped by fours. Such a group is a
*quad*; the shorter sums in it are padded to the length of the longest one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 4

Ints = NDArray[np.int32]


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
    `output` [4 Q], `input` and `arc` [4 times the sum of `fan`].
    """

    def __init__(
        self, output: Any, first: Any, input: Any, arc: Any, n_slots: int, n_arcs: int
    ) -> None:
        output, first = np.asarray(output, np.int32), np.asarray(first, np.int32)
        input, arc = np.asarray(input, np.int32), np.asarray(arc, np.int32)
        sizes = np.diff(first)
        level = _levels(output.tolist(), first.tolist(), input.tolist(), n_slots)
        order = np.lexsort((sizes, level))
        level, sizes = level[order], sizes[order]
        rank = np.arange(len(order)) - np.searchsorted(level, level)
        lane = rank % WIDTH
        quad = np.cumsum(lane == 0) - 1
        n_quads = int(quad[-1]) + 1 if len(quad) else 0
        fan = np.zeros(n_quads, np.int32)
        np.maximum.at(fan, quad, sizes)
        self.fan = fan
        self.output = np.full(n_quads * WIDTH, n_slots + 1, np.int32)
        self.output[quad * WIDTH + lane] = output[order]
        before = np.cumsum(fan) - fan
        # term number t of a sum stands t rows of four below the first one of its quad
        term = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = (np.repeat(before[quad], sizes) + term) * WIDTH + np.repeat(lane, sizes)
        source = np.repeat(first[order], sizes) + term
        self.input = np.full(int(fan.sum()) * WIDTH, n_slots, np.int32)
        self.arc = np.full(len(self.input), n_arcs + 1, np.int32)
        self.input[place], self.arc[place] = input[source], arc[source]


def _levels(
    output: list[int], first: list[int], input: list[int], n_slots: int
) -> NDArray[Any]:
    """The length of the longest chain of sums that each needs first."""
    level = [0] * n_slots
    for i, slot in enumerate(output):
        slots = input[first[i] : first[i + 1]]
        level[slot] = 1 + max(map(level.__getitem__, slots), default=0)
    return np.array([level[slot] for slot in output], np.int64)
