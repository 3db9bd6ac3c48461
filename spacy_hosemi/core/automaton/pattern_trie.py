"""The trie of label patterns, for decoding with observed patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .automaton import PatternAutomaton
from .grammar import BEGIN, END
from .suffix_sums import Key

Ints = NDArray[np.int32]


class PatternTrie:
    """The prefixes of patterns of three or more names and of observed patterns, with
    the labels and ^ as nodes of depth 1. Nodes are numbered by depth; `Histories` says
    what their arrays are."""

    def __init__(self, automaton: PatternAutomaton) -> None:
        n_labels = automaton.n_labels
        names = (*automaton.labels, BEGIN, END)
        self._ids = {name: y for y, name in enumerate(names)}
        found: set[Key] = {(y,) for y in range(n_labels + 1)}
        longer = [z for z in automaton.patterns if len(z) > 2]
        for pattern in (*automaton.observed, *longer):
            key = self._key(pattern)
            found.update(key[:k] for k in range(2, len(key) + 1))
        ordered = sorted(found, key=lambda key: (len(key), key))
        self.most_names = len(ordered[-1])
        self._nodes = nodes = {key: k for k, key in enumerate(ordered)}
        suffixes = [
            next((nodes[key[k:]] for k in range(1, len(key)) if key[k:] in nodes), -1)
            for key in ordered
        ]
        self.parent = np.array([nodes.get(key[:-1], -1) for key in ordered], np.int32)
        self.suffix = np.array(suffixes, np.int32)
        self.label = np.array([key[-1] for key in ordered], np.int32)
        self.depth = np.array([len(key) for key in ordered], np.int32)

    def _key(self, pattern: Sequence[str]) -> Key:
        """Without $."""
        return tuple(self._ids[name] for name in pattern if name != END)

    def observed(self, patterns: Sequence[Sequence[str]]) -> Ints:
        """RETURNS (int32 [M]): The node of each observed pattern."""
        return np.array([self._nodes[self._key(z)] for z in patterns], np.int32)

    def places(self, patterns: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """Returns where patterns are complete: nodes [M], of a pair that of its first
        name, and last names [M], L + 1 for $."""
        keys = [self._key(z[:1] if len(z) == 2 else z) for z in patterns]
        at = [self._nodes[key] for key in keys]
        return np.array(at, np.int32), np.array(
            [self._ids[z[-1]] for z in patterns], np.int32
        )
