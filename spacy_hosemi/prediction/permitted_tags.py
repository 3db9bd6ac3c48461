"""The best tags on tokens that mean none of the spans that a user has excluded.

Dynamic programming over pairs of a state of the automaton and a *tracker*, which says
what the tokens so far have left open:

    0                  no span
    1 .. Y             a span of label y, which cannot become an excluded one any more
    Y + 1 .. Y + K     a span of label y from token i on, where spans (i, j, y) are
                       excluded for one or more j still to come

A span is checked where it is closed. Pairs that cannot be reached are not visited, so
the time is at most that of all states with all excluded spans open, for each token.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Places
from ..core import PatternAutomaton, Potentials, viterbi
from ..core.algorithms.lattice_graph import StateTable
from ..core.potentials import ROLES
from ..labels.inventory import LabelInventory, Segment
from ..labels.partial import PartialLabels
from .batch import Batch


def best_permitted(batch: Batch, k: int) -> list[Segment]:
    """Returns the most probable tags of an instance that do not mean an excluded span,
    with the rule of `viterbi` for ties; [] if nothing is possible. Segments are tags on
    tokens."""
    automaton, inventory = batch.source.automaton, batch.source.inventory
    corrections, potentials = batch.corrections[k], batch.potentials[k]
    constraints = batch.constraints[k]
    free, _ = viterbi(automaton, potentials, constraints)
    if not any(map(corrections.excludes, batch.spans(k, free))):
        return free
    n_tokens = potentials.n_tokens
    trackers = _Trackers(batch.is_space(k), corrections, inventory)
    steps = StateTable(automaton)
    on_step, at_end = steps.weights(potentials.pattern)
    scores = _scores_of_groups(potentials, automaton)
    allowed = None if constraints is None else constraints.allowed
    every = np.ones((n_tokens, automaton.n_labels), bool)
    is_allowed = every if allowed is None else np.asarray(allowed, bool)

    def arcs(p: int, pairs: Places) -> tuple[Places, Floats]:
        """Returns where each tag at token p leads from each pair, -1: nowhere; and its
        score."""
        state, tracker = np.divmod(pairs, trackers.n)
        after = steps.next[state]
        then, is_possible = trackers.after(p, tracker)
        score = on_step[state] + scores[p][automaton.state_group[after]]
        is_possible &= (after >= 0) & is_allowed[p] & (score > -np.inf)
        return np.where(is_possible, after * trackers.n + then, -1), score

    # From left to right what can be reached, from right to left its best score.
    reached = [np.zeros(1, np.intp)]  # state 0 is the beginning
    for p in range(n_tokens):
        reached.append(np.setdiff1d(arcs(p, reached[-1])[0], -1))
    state, tracker = np.divmod(reached[-1], trackers.n)
    is_excluded = trackers.closes_excluded(n_tokens, tracker)
    best = np.where(is_excluded, -np.inf, at_end[state])
    choices: list[tuple[Places, Places]] = []
    for p in range(n_tokens - 1, -1, -1):
        to, score = arcs(p, reached[p])
        at = np.searchsorted(reached[p + 1], to.clip(min=0)).clip(max=len(best) - 1)
        total = np.where(to < 0, -np.inf, score + best[at] if len(best) else -np.inf)
        chosen = total.argmax(axis=1)  # of equal ones the first
        here = np.arange(len(chosen)), chosen
        best = total[here]
        choices.append((chosen, to[here]))
    if not len(best) or best[0] == -np.inf:
        return []
    tags, pair = [], 0
    for p, (chosen, to) in enumerate(reversed(choices)):
        where = int(np.searchsorted(reached[p], pair))
        tags.append((p, p + 1, int(chosen[where])))
        pair = int(to[where])
    return tags


class _Trackers:
    """Says what tokens so far have left open, and how each tag changes that; n: the
    number of trackers."""

    def __init__(
        self, is_space: Bools, corrections: PartialLabels, inventory: LabelInventory
    ) -> None:
        n_tokens = len(is_space)
        index = {label: y for y, label in enumerate(inventory.labels, start=1)}
        # Where a span from token i on, or up to i, begins or ends without whitespace.
        first = np.append(np.where(is_space, n_tokens, np.arange(n_tokens)), n_tokens)
        last = np.append(0, np.where(is_space, 0, np.arange(1, n_tokens + 1)))
        self._first = np.minimum.accumulate(first[::-1])[::-1]
        self._last = np.maximum.accumulate(last)
        ends: dict[tuple[int, int], set[int]] = {}
        for i, j, name in corrections.excluded:
            if is_space[i] or is_space[j - 1]:
                continue  # what is predicted has no whitespace at its ends
            for y in index.values() if name is None else [index[name]]:
                ends.setdefault((i, y), set()).add(j)
        n_labels = len(index)
        self.n = 1 + n_labels + len(ends)
        self._ends: list[set[int]] = [set()] * (1 + n_labels) + [*ends.values()]
        self._longest = np.array([max(x, default=-1) for x in self._ends])
        self._of_start = {key: 1 + n_labels + k for k, key in enumerate(ends)}
        self._label = np.array([*range(1 + n_labels), *(y for _, y in ends)])
        # By tag: the label, and whether the tag goes on with a span of that label.
        pairs = [name.split("-", 1) for name in inventory.names[1:]]
        self._tag_label = np.array([0, *(index[label] for _, label in pairs)])
        goes_on = np.array([False, *(prefix in ("I", "L") for prefix, _ in pairs)])
        self._goes_on = goes_on & (self._label[:, None] == self._tag_label)

    def closes_excluded(self, p: int, tracker: Places) -> Bools:
        """Returns whether a span that ends before token p is excluded, bool [K], for
        each tracker of what the tokens before p have left open."""
        end = int(self._last[p])
        return np.array([end in self._ends[k] for k in tracker.tolist()], bool)

    def after(self, p: int, tracker: Places) -> tuple[Places, Bools]:
        """Returns the tracker behind each tag at token p, int [K, L], and whether the
        tag is possible, from the trackers before the token."""
        goes_on = self._goes_on[tracker]
        is_possible = goes_on | ~self.closes_excluded(p, tracker)[:, None]
        # A span that is longer than all excluded ones need not be tracked any more.
        is_open = self._longest[tracker] >= self._last[p + 1]
        stays = np.where(is_open, tracker, self._label[tracker])
        first = int(self._first[p])
        begins = [self._of_start.get((first, y), y) for y in self._tag_label.tolist()]
        then = np.where(goes_on, stays[:, None], np.array(begins))
        return then, is_possible


def _scores_of_groups(potentials: Potentials, automaton: PatternAutomaton) -> Floats:
    """Returns the score of each token as a segment that enters a state of each group,
    float64 [n, G + 1]; 0 for the beginning, which has none."""
    n_tokens, n_labels = potentials.n_tokens, automaton.n_labels
    columns = np.zeros((n_tokens, automaton.n_columns))
    columns[:, :n_labels] = potentials.length[:, 0]
    for role in ROLES:
        dense = getattr(potentials, role)
        columns[:, : dense.shape[1]] += dense
    if (entries := potentials.entries) is not None:
        where = entries["position"], entries["column"]
        np.add.at(columns, where, entries["score"])
    cells = potentials.cells[potentials.cells["end"] == potentials.cells["start"] + 1]
    np.add.at(columns, (cells["start"], cells["column"]), cells["score"])
    first = automaton.first_column[:-1]
    sums = np.add.reduceat(columns[:, automaton.group_column], first, axis=1)
    return np.hstack([sums, np.zeros((n_tokens, 1))])
