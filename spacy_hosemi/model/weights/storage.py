"""A `WeightState` as bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ...features import Extensions, Extractor, Gazetteers, Tables
from ...msgpack import inflate, read_msgpack, write_msgpack
from .packing import (
    Names,
    check_finite,
    check_format,
    pack_floats,
    shape_of,
    truncated,
    unpack_floats,
)
from .pairs import WeightPairs
from .penalty_groups import PENALTY_GROUPS, TRANSITIONS
from .state import WeightState, with_rows
from .vector import as_vector

# 5 is read by `read_msgpack`, `unpack_names` and `Gazetteers.load`, too.
FORMAT, OLDER_FORMAT = 6, 5

# What an extractor must store besides its settings.
_PARTS = ("gazetteers", "tables", "extensions")
_FLOATS = ("pattern", "length", "tail")
_PLAIN = {"learn_length": bool, "is_trained": bool, "n_docs": int}
_PLAIN |= {"n_observed": int, "grows": bool}

# Of this thread: see `beside`.
_BESIDE: ContextVar[list[NDArray[np.float32]] | None] = ContextVar("_BESIDE")


@contextmanager
def beside(weights: list[NDArray[np.float32]]) -> Iterator[None]:
    """While it lasts, in this thread, `to_bytes` appends weights of features, unless
    most are 0, to a list instead of packing them, and `from_bytes` takes them from its
    front: so that they can have a file of their own, which can be mapped."""
    token = _BESIDE.set(weights)
    try:
        yield
    finally:
        _BESIDE.reset(token)


def to_bytes(state: WeightState) -> bytes:
    """Returns all of it, weights in single precision; see `beside`."""
    packed: dict[str, Any] = {x: pack_floats(getattr(state, x)) for x in _FLOATS}
    arrays, weights = _BESIDE.get(None), np.asarray(state.of_features, np.float32)
    if arrays is None or np.count_nonzero(weights) < weights.size / 2:
        packed["matrix"] = pack_floats(weights)
    else:
        arrays.append(weights)
    if state.pairs is not None:
        packed |= {"first_pair": state.pairs.first, "columns": state.pairs.columns}
    parts = {x: getattr(state.extractor, x).to_dict() for x in _PARTS}
    return write_msgpack(
        {
            "format": FORMAT,
            "keys": state.table.keys,
            "names": state.names.packed(),
            "family": zlib.compress(state.group.tobytes()),
            "counts": state.counts,
            "functions": state.extractor.features.functions.names,
            **{x: getattr(state, x) for x in _PLAIN},
            **packed,
            **{name: data for name, data in parts.items() if data},
        }
    )


def from_bytes(data: bytes, extractor: Extractor) -> WeightState:
    """Inverts `to_bytes`, given an extractor with the settings of the saved one, which
    stays as it is. Raises ValueError: HS062 if the bytes are truncated, HS063 if
    another version saved them, HS111 if functions of features are missing, HS313 if a
    weight is not finite."""
    functions = extractor.features.functions.names
    try:
        saved = read_msgpack(data)
        version, needed = saved["format"], {*saved.get("functions", ())}
    except Exception as e:
        raise truncated(repr(e)) from None
    check_format(version, FORMAT, OLDER_FORMAT)
    if not needed <= {*functions}:
        args = {"found": functions, "expected": sorted(needed)}
        raise ValueError(Errors.HS111.format(**args))
    try:
        state = _read(saved, extractor, len(data))
    except Exception as e:  # whatever somebody has put there
        raise truncated(repr(e)) from None
    for name in _FLOATS:
        check_finite(name, getattr(state, name), may_forbid=True)
    if "matrix" in saved:  # what is mapped may not be read yet
        check_finite("matrix", saved["matrix"]["values"])
    return state


def _read(saved: Mapping[str, Any], extractor: Extractor, n_bytes: int) -> WeightState:
    extractor = unread(extractor)
    for part in _PARTS:
        getattr(extractor, part).load(saved.get(part, {}))
    pairs, saved = None, {"n_observed": 0, "grows": "columns" not in saved, **saved}
    if "first_pair" in saved:
        pairs = WeightPairs.read(saved["first_pair"], saved["columns"], n_bytes)
    keys = saved["keys"]
    if not (isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim):
        raise ValueError("keys are no hashes")
    floats: dict[str, Any] = {x: unpack_floats(saved[x]) for x in _FLOATS}
    n_rows, n_labels = len(keys), len(floats["tail"])
    group = np.frombuffer(inflate(saved["family"], n_rows), np.uint8)
    if group.max(initial=0) >= len(PENALTY_GROUPS):
        raise ValueError(f"there is no penalty group {group.max()}")
    if not isinstance(saved["names"], (bytes, dict)):
        raise TypeError("names are not packed")
    names = Names(saved["names"], n_rows)
    counts = saved["counts"]
    # Arrays that do not fit together would be read out of bounds.
    _check(
        {
            "keys": (keys.shape, (n_rows,)),
            "pattern": (floats["pattern"].ndim, 1),
            "tail": (floats["tail"].ndim, 1),
            "length of": (floats["length"].ndim, 2),
            "counts": (counts.shape, (n_rows,)),
            "whether counts are whole": (counts.dtype.kind in "ui", True),
            "length": (len(floats["length"]), n_labels),
            **{x: (type(saved[x]), kind) for x, kind in _PLAIN.items()},
        }
    )
    shape = (n_rows, n_labels) if pairs is None else (len(pairs.columns), 1)
    if "matrix" in saved:
        _check({"matrix": (shape_of(saved["matrix"]), shape)})  # before memory is taken
        of_features = unpack_floats(saved["matrix"], np.float32)
    elif arrays := _BESIDE.get(None):
        of_features = arrays.pop(0)
        _check({"matrix": (of_features.shape, shape)})
    else:
        raise ValueError("its weights are in a file of their own")
    if pairs is not None:
        pairs.check(n_rows, n_labels + saved["n_observed"])
        is_transition = (group == TRANSITIONS).repeat(pairs.sizes)
        if ((pairs.columns >= n_labels) != is_transition).any():
            raise ValueError("weights in columns of another role")
    return WeightState(
        extractor=extractor,
        **with_rows(keys, names, pairs, n_labels, group),
        **floats,
        of_features=of_features,
        counts=counts.astype(np.int64),
        **{x: saved[x] for x in _PLAIN},
    )


def _check(values: Mapping[str, tuple[Any, Any]]) -> None:
    """Raises ValueError if a value is not the expected one."""
    for name, (value, expected) in values.items():
        if value != expected:
            raise ValueError(f"{name} is {value}, expected {expected}")


def unread(extractor: Extractor) -> Extractor:
    """Returns an extractor with the same settings, its lists and tables empty."""
    return Extractor(
        extractor.features,
        Gazetteers(extractor.gazetteers.settings),
        Tables(extractor.tables.settings),
        Extensions(),
    )


def size_of(state: WeightState) -> dict[str, float]:
    """Returns how many features, weights that are not 0 and label patterns there are,
    and MB (10^6 bytes) of all when saved."""
    return {
        "features": len(state.names),
        "weights": int(np.count_nonzero(as_vector(state))),
        "patterns": len(state.pattern),
        "mb": len(to_bytes(state)) / 1e6,
    }
