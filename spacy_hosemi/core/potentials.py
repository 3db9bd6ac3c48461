"""Potentials and constraints of one document: shapes and checks.

    segment(i, j, c) = sum_{k=i}^{j-1} inside[k, c] + start[i, c] + end[j-1, c]
                       + length(c, j - i) + sum of the cells (i, j, c)
    length(y, d)     = length[y, d-1]                          for d <= D
                     = length[y, D-1] + (d - D) * tail[y]      for d > D

The same dataclass holds scores and their gradients, which are expected counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .automaton.automaton import PatternAutomaton

CELLS = np.dtype(
    [("start", "i4"), ("end", "i4"), ("column", "i4"), ("score", "f8")], align=True
)

ENTRIES = np.dtype(
    [("position", "i4"), ("role", "u1"), ("column", "i4"), ("score", "f8")], align=True
)

# What an entry adds to: its role is an index of this.
ROLES = ("inside", "start", "end")

Floats = NDArray[np.float64]


@dataclass
class Potentials:
    """Log scores of everything that a segmentation of n tokens can contain.

    inside, start, end (float64 [n, L] or [n, C]): Added for each token of a segment,
        for its first, for its last. A segment reads the column of its label, and with
        C columns also those of the observed patterns that it completes.
    length (float64 [L, D]): Added for a segment of d = 1 .. D tokens.
    tail (float64 [L]): Added for each token above D; -inf: at most D tokens.
    cells (CELLS): Added for single segments (start, end, column), in any order;
        duplicates add.
    pattern (float64 [M]): Added each time a segment completes the pattern.
    entries (Optional[ENTRIES]): Added to single places of inside (role 0), start (1)
        and end (2), in any order; duplicates add. For observed columns: memory is what
        fires.

    Scores are finite or -inf, which forbids.
    """

    inside: Floats
    start: Floats
    end: Floats
    length: Floats
    tail: Floats
    cells: NDArray[Any]
    pattern: Floats
    entries: NDArray[Any] | None = field(default=None)

    @classmethod
    def zeros(
        cls, automaton: PatternAutomaton, n_tokens: int, max_length: int = 1
    ) -> Potentials:
        """All-zero potentials, with the tail at -inf: segments of 1 to max_length.

        automaton (PatternAutomaton): L labels, M patterns.
        n_tokens (int): n.
        max_length (int): D.
        RETURNS (Potentials): Writable, freshly allocated.
        RAISES (ValueError): HS014 max_length; HS015 n_tokens.
        """
        if max_length < 1:
            raise ValueError(Errors.HS014.format(found=max_length))
        if n_tokens < 0:
            raise ValueError(Errors.HS015.format(found=n_tokens))
        columns, n_labels = automaton.n_columns, automaton.n_labels
        return cls(
            inside=np.zeros((n_tokens, columns)),
            start=np.zeros((n_tokens, columns)),
            end=np.zeros((n_tokens, columns)),
            length=np.zeros((n_labels, max_length)),
            tail=np.full(n_labels, -np.inf),
            cells=np.zeros(0, CELLS),
            pattern=np.zeros(len(automaton.patterns)),
        )

    @property
    def n_tokens(self) -> int:
        return len(self.inside)

    def times(self, factor: float) -> Potentials:
        """All scores times a number above 0. RETURNS (Potentials): New arrays."""
        cells, entries = self.cells.copy(), self.entries
        cells["score"] *= factor
        if entries is not None:
            entries = entries.copy()
            entries["score"] *= factor
        dense = (*ROLES, "length", "tail", "pattern")
        scaled = {name: factor * getattr(self, name) for name in dense}
        return Potentials(cells=cells, entries=entries, **scaled)


def without_entries(potentials: Potentials, pattern: Floats) -> Potentials:
    """RETURNS (Potentials): The same scores, but for entries and patterns (`replace`
    takes longer)."""
    return Potentials(
        potentials.inside,
        potentials.start,
        potentials.end,
        potentials.length,
        potentials.tail,
        potentials.cells,
        pattern,
    )


@dataclass(frozen=True)
class Constraints:
    """What a segmentation may contain, whatever its score.

    allowed (bool [n, L]): Whether a segment of label y may cover token i.
    boundary (int8 [n + 1]): At each token border -1 no boundary, 0 free, 1 a boundary,
        2 no entity crosses, outside may.
    forbidden (Sequence[(start, end, label index)]): Exactly these segments may not
        occur; label -1 stands for any but outside.
    """

    allowed: NDArray[Any] | None = None
    boundary: NDArray[Any] | None = None
    forbidden: Sequence[tuple[int, int, int]] = ()


def check_automaton(automaton: object) -> PatternAutomaton:
    """RAISES (TypeError): HS019 if it is something else."""
    if not isinstance(automaton, PatternAutomaton):
        raise TypeError(Errors.HS019.format(found=type(automaton).__name__))
    return automaton


def check_potentials(automaton: PatternAutomaton, potentials: Potentials) -> Potentials:
    """Shapes, types and numbers, as C-contiguous float64; copies only what it must.

    RETURNS (Potentials): Ready for the kernels, which only read it.
    RAISES (ValueError): HS010 shape; HS011 NaN or +inf; HS013 cells.
    RAISES (TypeError): HS012 type.
    """
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    arrays = {
        name: _as_floats(name, getattr(potentials, name))
        for name in (*ROLES, "length", "tail", "pattern")
    }
    n_tokens = len(arrays["inside"]) if arrays["inside"].ndim else 0
    n_lengths = arrays["length"].shape[1] if arrays["length"].ndim == 2 else 0
    expected = {
        **{name: (n_tokens, _n_columns(arrays[name], automaton)) for name in ROLES},
        "length": (n_labels, max(n_lengths, 1)),
        "tail": (n_labels,),
        "pattern": (len(automaton.patterns),),
    }
    for name, array in arrays.items():
        if array.shape != expected[name]:
            raise ValueError(
                Errors.HS010.format(
                    name=name, found=array.shape, expected=expected[name]
                )
            )
        _check_numbers(name, array)
    cells = check_cells(potentials.cells, n_tokens, n_columns)
    entries = potentials.entries
    if entries is not None:
        entries = check_entries(entries, n_tokens, n_columns)
    return Potentials(cells=cells, entries=entries, **arrays)


def _n_columns(array: Floats, automaton: PatternAutomaton) -> int:
    """Those that an array has, if it may: one for each label, or all."""
    found = array.shape[1] if array.ndim == 2 else 0
    return found if found == automaton.n_labels else automaton.n_columns


def _as_floats(name: str, value: object) -> Floats:
    try:
        array = np.asarray(value)
        if array.dtype == np.float64 and array.flags.c_contiguous:
            return array
        if array.dtype.kind not in "fiub":
            raise TypeError(array.dtype)
        return np.ascontiguousarray(array, np.float64).reshape(array.shape)
    except (TypeError, ValueError) as e:
        raise TypeError(
            Errors.HS012.format(name=name, found=e, expected="an array of numbers")
        ) from None


def _check_numbers(name: str, array: Floats) -> None:
    # NaN and +inf are the values for which `x < inf` is false; max passes NaN on.
    if array.size and not array.max() < np.inf:
        bad = ~(array < np.inf)
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            Errors.HS011.format(name=name, found=array[where], where=list(where))
        )


def _as_records(name: str, value: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype == dtype and not array.size and array.ndim == 1:
        return array
    if array.dtype.names is None or set(array.dtype.names) != set(dtype.names or ()):
        raise TypeError(
            Errors.HS012.format(name=name, found=array.dtype, expected=dtype)
        )
    if array.ndim != 1:
        raise ValueError(
            Errors.HS010.format(name=name, found=array.shape, expected="(K,)")
        )
    _check_numbers(name, np.asarray(array["score"], np.float64))
    return array[list(dtype.names or ())]  # in this order


def check_entries(entries: object, n_tokens: int, n_columns: int) -> NDArray[Any]:
    array = _as_records("entries", entries, ENTRIES)
    position, role, column = array["position"], array["role"], array["column"]
    bad = (position < 0) | (position >= n_tokens) | (role < 0) | (role >= len(ROLES))
    bad |= (column < 0) | (column >= n_columns)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            Errors.HS025.format(
                position=position[k],
                role=role[k],
                column=column[k],
                n_tokens=n_tokens,
                n_columns=n_columns,
            )
        )
    return array


def check_cells(cells: object, n_tokens: int, n_columns: int) -> NDArray[Any]:
    array = _as_records("cells", cells, CELLS)
    if not array.size:
        return array
    start, end, column = array["start"], array["end"], array["column"]
    bad = (start < 0) | (end <= start) | (end > n_tokens)
    bad |= (column < 0) | (column >= n_columns)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            Errors.HS013.format(
                start=start[k],
                end=end[k],
                column=column[k],
                n_tokens=n_tokens,
                n_columns=n_columns,
            )
        )
    return array


def check_constraints(
    automaton: PatternAutomaton, constraints: Constraints, n_tokens: int
) -> Constraints:
    """RAISES (ValueError): HS016 shape; HS017 boundary; HS018 forbidden."""
    n_labels = automaton.n_labels
    allowed, boundary = constraints.allowed, constraints.boundary
    if allowed is not None:
        allowed = np.asarray(allowed, bool)
        _check_shape("allowed", allowed, (n_tokens, n_labels))
    if boundary is not None:
        boundary = np.asarray(boundary)
        _check_shape("boundary", boundary, (n_tokens + 1,))
        strange = ~np.isin(boundary, (-1, 0, 1, 2))
        if strange.any():
            found = boundary[int(np.argmax(strange))]
            raise ValueError(Errors.HS017.format(found=found))
    for segment in constraints.forbidden:
        start, end, label = segment if len(segment) == 3 else (-1, -1, -1)
        if not (0 <= start < end <= n_tokens and -1 <= label < n_labels):
            raise ValueError(
                Errors.HS018.format(found=segment, n_tokens=n_tokens, last=n_labels - 1)
            )
    return Constraints(allowed, boundary, constraints.forbidden)


def _check_shape(name: str, array: NDArray[Any], expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ValueError(
            Errors.HS016.format(name=name, found=array.shape, expected=expected)
        )
