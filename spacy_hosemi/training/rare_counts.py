"""Counts of features that are too rare for weights, in bounded memory.

A stream of documents with new words never ends to bring features that occur once. So
counts are forgotten in the end, but only those of features that have not come again
while a million others were new.
"""

from __future__ import annotations

import numpy as np

from ..model.weights.pairs import Counts, Keys

# A dict takes 150 bytes a feature, sorted arrays 16; but arrays are copied when they
# get other features, so this many are collected before.
_N_RECENT = 50_000

# Of features that are in sorted arrays; twice as many are there at most.
_N_FORGOTTEN = 1_000_000

_HALF = 32


class RareCounts:
    """For features by key: in how many tokens and documents each was seen."""

    def __init__(self) -> None:
        self.clear()

    def __len__(self) -> int:
        """How many features are known, at most."""
        return len(self._recent) + sum(len(part.keys) for part in self._parts)

    def clear(self) -> None:
        """Forget all counts."""
        # By key: tokens times 2^32, plus documents.
        self._recent: dict[int, int] = {}
        self._parts = _Sorted(), _Sorted()  # younger ones, older ones

    def pop(self, keys: Keys) -> Counts:
        """Take features out.

        keys (uint64 [K]): Distinct.
        RETURNS (int64 [K, 2]): Tokens and documents so far; 0 where nothing is known.
        """
        packed = [self._recent.pop(key, 0) for key in keys.tolist()]
        found = np.array(packed, np.int64)
        counts = np.stack([found >> _HALF, found & (2**_HALF - 1)], axis=1)
        for part in self._parts:
            counts += part.pop(keys)
        return counts

    def put(self, keys: Keys, counts: Counts) -> None:
        """Keep counts of features that were taken out.

        keys (uint64 [K]), counts (int64 [K, 2]): See `pop`.
        """
        packed = (counts[:, 0] << _HALF) + counts[:, 1]
        self._recent.update(zip(keys.tolist(), packed.tolist()))
        if len(self._recent) > _N_RECENT:
            self._sort()

    def _sort(self) -> None:
        """Move what is in the dict to sorted arrays."""
        n, (young, old) = len(self._recent), self._parts
        keys = np.fromiter(self._recent.keys(), np.uint64, n)
        packed = np.fromiter(self._recent.values(), np.int64, n)
        self._recent = {}
        is_left = young.packed > 0
        keys = np.concatenate([young.keys[is_left], keys])
        packed = np.concatenate([young.packed[is_left], packed])
        order = np.argsort(keys, kind="stable")
        young = _Sorted(keys[order], packed[order])
        if len(young.keys) > _N_FORGOTTEN:
            young, old = _Sorted(), young
        self._parts = young, old


class _Sorted:
    """Counts in arrays.

    keys (uint64 [K]): Ascending.
    packed (int64 [K]): As in the dict of `RareCounts`; 0: taken out.
    """

    def __init__(self, keys: Keys | None = None, packed: Counts | None = None) -> None:
        self.keys = np.zeros(0, np.uint64) if keys is None else keys
        self.packed = np.zeros(0, np.int64) if packed is None else packed

    def pop(self, keys: Keys) -> Counts:
        """See `RareCounts.pop`."""
        counts = np.zeros((len(keys), 2), np.int64)
        if not len(self.keys):
            return counts
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = np.flatnonzero(self.keys[at] == keys)
        packed = self.packed[at[known]]
        self.packed[at[known]] = 0
        counts[known, 0], counts[known, 1] = packed >> _HALF, packed & (2**_HALF - 1)
        return counts
