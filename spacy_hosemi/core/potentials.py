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
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .arguments import check_kind, check_list, check_whole, shown
from .automaton.automaton import PatternAutomaton

CELLS = np.dtype(
    [("start", "i4"), ("end", "i4"), ("column", "i4"), ("score", "f8")], align=True
)

ENTRIES = np.dtype(
    [("position", "i4"), ("role", "u1"), ("column", "i4"), ("score", "f8")], align=True
)

# An entry has the index of its role.
ROLES = ("inside", "start", "end")

Floats = NDArray[np.float64]

# No sum of scores overflows, and small scores are not lost beside large positive ones;
# simd.h has the same numbers.
LOWEST, HIGHEST = -1e200, 1e12

# Beyond that the log of a sum is rounded by more than 1e-4, and so is a probability.
LARGEST_SUM = 1e12

# Numbers in one array of `Potentials.zeros`: 2 GiB.
MOST_NUMBERS = 2**28


def _are_equal(self: Any, other: object) -> bool:
    """Says whether all arrays have the same shapes and values."""
    if type(self) is not type(other):
        return NotImplemented
    pairs = ((value, getattr(other, name)) for name, value in vars(self).items())
    return all(np.array_equal(*pair) for pair in pairs)


@dataclass(eq=False)
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
        and end (2), in any order; duplicates add. For observed columns: they take
        memory where there is an entry, not for each token and column.

    Scores are numbers from -1e200 to 1e12, or -inf, which forbids.
    """

    inside: Floats
    start: Floats
    end: Floats
    length: Floats
    tail: Floats
    cells: NDArray[Any]
    pattern: Floats
    entries: NDArray[Any] | None = field(default=None)

    __eq__ = _are_equal

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
        RAISES (TypeError): HS019 automaton; HS014, HS015 no whole number.
        """
        check_kind("automaton", automaton, PatternAutomaton)
        columns, n_labels = automaton.n_columns, automaton.n_labels
        check_whole("", n_tokens, 0, MOST_NUMBERS // columns, Errors.HS015)
        check_whole("", max_length, 1, MOST_NUMBERS // n_labels, Errors.HS014)
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
        """RETURNS (Potentials): New arrays: all scores times a number above 0."""
        cells, entries = self.cells.copy(), self.entries
        cells["score"] *= factor
        if entries is not None:
            entries = entries.copy()
            entries["score"] *= factor
        dense = (*ROLES, "length", "tail", "pattern")
        scaled = {name: factor * getattr(self, name) for name in dense}
        return Potentials(cells=cells, entries=entries, **scaled)


_NO_CELLS = np.zeros(0, CELLS)


@dataclass(eq=False)
class ManyPotentials(Sequence[Potentials]):
    """Potentials of D documents without entries in the same arrays, made on demand;
    document d has tokens borders[d] to borders[d + 1] - 1, and likewise cells."""

    inside: Floats
    start: Floats
    end: Floats
    length: Floats
    tail: Floats
    pattern: Floats
    borders: list[int]
    cells: NDArray[Any] = field(default_factory=_NO_CELLS.view)
    cell_borders: list[int] | None = None

    entries = None

    def __len__(self) -> int:
        return len(self.borders) - 1

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[d] for d in range(*k.indices(len(self)))]
        k = range(len(self.borders) - 1)[k]
        i, j = self.borders[k : k + 2]
        scored = self.inside[i:j], self.start[i:j], self.end[i:j]
        cells = self.cells
        if self.cell_borders is not None:
            cells = cells[self.cell_borders[k] : self.cell_borders[k + 1]]
        return Potentials(*scored, self.length, self.tail, cells, self.pattern)


def without_entries(given: Potentials, pattern: Floats) -> Potentials:
    """Without entries and with other weights of patterns; `replace` is slower."""
    tokens, lengths = (given.inside, given.start, given.end), (given.length, given.tail)
    return Potentials(*tokens, *lengths, given.cells, pattern)


@dataclass(frozen=True, eq=False)
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

    __eq__ = _are_equal


def check_document(automaton: object, potentials: object) -> None:
    """Raises HS019 for other classes; called by the functions that `core` exports."""
    check_kind("automaton", automaton, PatternAutomaton)
    check_kind("potentials", potentials, Potentials)


def check_potentials(automaton: PatternAutomaton, potentials: Potentials) -> Potentials:
    """Returns potentials as C-contiguous float64, copying only what it must. Raises
    HS010 for a shape, HS011 for a score out of range, HS013 for cells, HS012 for a
    type."""
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    arrays = {
        name: _as_floats(f"potentials.{name}", getattr(potentials, name))
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
        check_shape(f"potentials.{name}", array, expected[name])
        _check_scores(f"potentials.{name}", array)
    cells = check_cells(potentials.cells, n_tokens, n_columns)
    entries = potentials.entries
    if entries is not None:
        entries = check_entries(entries, n_tokens, n_columns)
    return Potentials(cells=cells, entries=entries, **arrays)


def _n_columns(array: Floats, automaton: PatternAutomaton) -> int:
    """The columns that an array has, if it may: one for each label, or all."""
    found = array.shape[1] if array.ndim == 2 else 0
    return found if found == automaton.n_labels else automaton.n_columns


def _as_floats(name: str, value: object) -> Floats:
    array = as_array(name, value, "fiub", "an array of numbers")
    return np.ascontiguousarray(array, np.float64).reshape(array.shape)


def as_array(name: str, value: object, kinds: str, expected: object) -> NDArray[Any]:
    """RAISES (TypeError): HS012 no array of the kinds of `numpy.dtype.kind`."""
    try:
        array = np.asarray(value)
    except Exception as e:  # whatever the object does when it is read
        raise TypeError(
            Errors.HS012.format(name=name, found=shown(e), expected=expected)
        ) from None
    is_masked, found = np.ma.is_masked(value), str(array.dtype)
    if array.dtype.kind not in kinds or is_masked:
        if is_masked:
            found, expected = f"masked {found}", f"{expected}, as .filled(0.0) makes it"
        raise TypeError(Errors.HS012.format(name=name, found=found, expected=expected))
    return array


def _check_scores(name: str, array: Floats) -> None:
    if not array.size:
        return
    fits = (array <= HIGHEST) & ((array >= LOWEST) | np.isneginf(array))  # not NaN
    if not fits.all():
        where = tuple(int(i) for i in np.argwhere(~fits)[0])
        found = {"found": array[where], "where": list(where)}
        limits = {"lowest": LOWEST, "highest": HIGHEST}
        raise ValueError(Errors.HS011.format(name=name, **found, **limits))


def check_shape(name: str, array: NDArray[Any], expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        message = Errors.HS010.format(name=name, found=array.shape, expected=expected)
        raise ValueError(message)


def _as_records(name: str, value: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    array = as_array(name, value, "V", dtype)
    if array.dtype.names is None or set(array.dtype.names) != set(dtype.names or ()):
        message = Errors.HS012.format(name=name, found=array.dtype, expected=dtype)
        raise TypeError(message)
    check_shape(name, array, (array.size,))
    for x in array.dtype.names:
        kinds, where = "fiu" if x == "score" else "iu", f"{name}[{x!r}]"
        column = as_array(where, array[x], kinds, dtype)
        check_shape(where, column, (array.size,))
    _check_scores(name, np.asarray(array["score"], np.float64))
    return array


def check_entries(entries: object, n_tokens: int, n_columns: int) -> NDArray[Any]:
    """RETURNS (ENTRIES): Contiguous. RAISES: HS010 to HS012; HS025 places."""
    array = _as_records("potentials.entries", entries, ENTRIES)
    position, role, column = array["position"], array["role"], array["column"]
    bad = (position < 0) | (position >= n_tokens) | (role < 0) | (role >= len(ROLES))
    bad |= (column < 0) | (column >= n_columns)
    sizes = {"n_tokens": n_tokens, "n_columns": n_columns}
    return _as_type(array, ENTRIES, bad, Errors.HS025, **sizes)


def check_cells(cells: object, n_tokens: int, n_columns: int) -> NDArray[Any]:
    """RETURNS (CELLS): Contiguous. RAISES: HS010 to HS012; HS013 places."""
    array = _as_records("potentials.cells", cells, CELLS)
    start, end, column = array["start"], array["end"], array["column"]
    bad = (start < 0) | (end <= start) | (end > n_tokens)
    bad |= (column < 0) | (column >= n_columns)
    sizes = {"n_tokens": n_tokens, "n_columns": n_columns}
    return _as_type(array, CELLS, bad, Errors.HS013, **sizes)


def _as_type(
    array: NDArray[Any],
    dtype: np.dtype[Any],
    bad: NDArray[np.bool_],
    error: str,
    **n: int,
) -> NDArray[Any]:
    """Records with these fields, in this order, one after the other in memory. Raises
    the error of the first one that is bad."""
    names = list(dtype.names or ())
    if bad.any():
        place = dict(zip(names, array[names][int(np.argmax(bad))].tolist()))
        raise ValueError(error.format(**place, **n))
    return np.ascontiguousarray(array[names], dtype)


def check_constraints(
    automaton: PatternAutomaton, constraints: Constraints, n_tokens: int
) -> Constraints:
    """RAISES (ValueError): HS016 shape; HS017 boundary; HS018 forbidden.
    RAISES (TypeError): HS012 type; HS019 another object."""
    check_kind("constraints", constraints, Constraints)
    forbidden = check_list("constraints.forbidden", constraints.forbidden, "a list")
    n_labels = automaton.n_labels
    allowed, boundary = constraints.allowed, constraints.boundary
    if allowed is not None:
        kind, shape = ("biu", "an array of bool"), (n_tokens, n_labels)
        allowed = _as_constraint("allowed", allowed, kind, shape).astype(bool)
    if boundary is not None:
        kind = "biuf", "an array of int8"
        boundary = _as_constraint("boundary", boundary, kind, (n_tokens + 1,))
        strange = ~np.isin(boundary, (-1, 0, 1, 2))
        if strange.any():
            found = boundary[int(np.argmax(strange))]
            raise ValueError(Errors.HS017.format(found=found))
    for k, segment in enumerate(forbidden):
        try:
            start, end, label = map(index, segment)
            is_sound = 0 <= start < end <= n_tokens and -1 <= label < n_labels
        except (TypeError, ValueError):  # no three whole numbers
            is_sound = False
        if not is_sound:
            limits = {"n_tokens": n_tokens, "last": n_labels - 1}
            raise ValueError(Errors.HS018.format(found=shown(segment), **limits))
        forbidden[k] = start, end, label
    return Constraints(allowed, boundary, forbidden)


def _as_constraint(
    name: str, value: object, kind: tuple[str, str], shape: tuple[int, ...]
) -> NDArray[Any]:
    array = as_array(f"constraints.{name}", value, *kind)
    if array.shape != shape:
        found = {"name": name, "found": array.shape, "expected": shape}
        raise ValueError(Errors.HS016.format(**found))
    return array
