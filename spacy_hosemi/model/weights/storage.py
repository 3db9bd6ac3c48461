"""A `WeightState` as bytes."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray

from ...errors import Errors
from ...features import Extensions, Extractor, Gazetteers, Tables
from ...msgpack import read_msgpack
from .families import FAMILIES, TRANSITIONS
from .names import Names
from .packing import (
    check_finite,
    check_format,
    inflate,
    pack_counts,
    pack_floats,
    shape_of,
    truncated,
    unpack_floats,
)
from .pairs import Pairs
from .state import WeightState, with_rows
from .vector import as_vector

FORMAT = 5

# What an extractor must store besides its settings.
_PARTS = ("gazetteers", "tables", "extensions")
_FLOATS = ("pattern", "length", "tail")
_PLAIN = ("learn_length", "is_trained", "n_docs")


# Of this thread: see `beside`.
_BESIDE: ContextVar[list[NDArray[np.float32]] | None] = ContextVar("_BESIDE")


@contextmanager
def beside(weights: list[NDArray[np.float32]]) -> Iterator[None]:
    """While it lasts, in this thread, `to_bytes` appends the weights of features to
    a list instead of packing them, and `from_bytes` takes them from its front: so that
    they can have a file of their own, which can be mapped."""
    token = _BESIDE.set(weights)
    try:
        yield
    finally:
        _BESIDE.reset(token)


def to_bytes(state: WeightState) -> bytes:
    """RETURNS (bytes): All of it, weights in single precision; see `beside`."""
    packed: dict[str, Any] = {x: pack_floats(getattr(state, x)) for x in _FLOATS}
    lying = _BESIDE.get(None)
    if lying is None:
        packed["matrix"] = pack_floats(state.of_features)
    else:
        lying.append(np.asarray(state.of_features, np.float32))
    if state.pairs is not None:
        packed["first_pair"] = pack_counts(state.pairs.first)
        packed["columns"] = pack_counts(state.pairs.columns)
    if state.n_observed:
        packed["n_observed"] = state.n_observed
    if state.grows != (state.pairs is None):
        packed["grows"] = state.grows
    if functions := state.extractor.features.functions.functions:
        packed["functions"] = sorted(functions)
    parts = {x: getattr(state.extractor, x).to_dict() for x in _PARTS}
    return srsly.msgpack_dumps(
        {
            "format": FORMAT,
            "keys": state.table.keys,
            "names": state.names.packed(),
            "family": zlib.compress(state.family.tobytes()),
            "counts": pack_counts(state.counts),
            **{x: getattr(state, x) for x in _PLAIN},
            **packed,
            **{name: data for name, data in parts.items() if data},
        }
    )


def from_bytes(data: bytes, extractor: Extractor) -> WeightState:
    """Inverse of `to_bytes`.

    extractor (Extractor): With the settings of the saved one; it stays as it is.
    RAISES (ValueError): HS062 truncated; HS063 another version saved it; HS111
        features of functions that are not there; HS313 a weight is not finite.
    """
    functions = extractor.features.functions.functions
    try:
        loaded = read_msgpack(data)
        version, needed = loaded["format"], {*loaded.get("functions", ())}
    except Exception as e:
        raise truncated(repr(e)) from None
    check_format(version, FORMAT)
    _check_functions(needed, functions)
    try:
        state = _read(loaded, extractor)
    except Exception as e:  # whatever somebody has put there
        raise truncated(repr(e)) from None
    for name in _FLOATS:
        check_finite(name, getattr(state, name), may_forbid=True)
    if "matrix" in loaded:  # what is mapped may not be read yet
        check_finite("matrix", state.of_features)
    return state


def _check_functions(needed: Collection[str], found: Collection[str]) -> None:
    if not {*needed} <= {*found}:
        raise ValueError(
            Errors.HS111.format(found=sorted(found), expected=sorted(needed))
        )


def _read(loaded: Mapping[str, Any], extractor: Extractor) -> WeightState:
    extractor = unread(extractor)
    for part in _PARTS:
        getattr(extractor, part).load(loaded.get(part, {}))
    pairs = None
    if "first_pair" in loaded:
        pairs = Pairs(
            np.array(loaded["first_pair"], np.int32),
            np.array(loaded["columns"], np.int32),
        )
    keys = loaded["keys"]
    if not (isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim):
        raise ValueError("keys are no hashes")
    floats: dict[str, Any] = {x: unpack_floats(loaded[x]) for x in _FLOATS}
    n_rows, n_labels = len(keys), len(floats["tail"])
    family, names = _families_and_names(loaded, n_rows)
    counts = np.array(loaded["counts"], np.int64)
    n_observed = loaded.get("n_observed", 0)
    # Arrays that do not fit together would be read out of bounds.
    shape = (n_rows, n_labels) if pairs is None else (len(pairs.columns), 1)
    of_features = _weights_of(loaded, shape)
    shapes = {
        "keys": (keys.shape, (n_rows,)),
        "pattern": (floats["pattern"].ndim, 1),
        "tail": (floats["tail"].ndim, 1),
        "length of": (floats["length"].ndim, 2),
        "names": (len(names), n_rows),
        "family": (len(family), n_rows),
        "counts": (len(counts), n_rows),
        "length": (len(floats["length"]), n_labels),
        "n_observed": (type(n_observed), int),
        "learn_length": (type(loaded["learn_length"]), bool),
        "is_trained": (type(loaded["is_trained"]), bool),
        "n_docs": (type(loaded["n_docs"]), int),
        "grows": (type(loaded.get("grows", True)), bool),
    }
    for name, (shape, expected) in shapes.items():
        if shape != expected:
            raise ValueError(f"{name} is {shape}, expected {expected}")
    if pairs is not None:
        pairs.check(n_rows, n_labels + n_observed)
    rows = with_rows(keys, names, pairs, n_labels, family)
    if pairs is not None:
        is_transition = (rows["family"] == TRANSITIONS).repeat(pairs.sizes)
        if ((pairs.columns >= n_labels) != is_transition).any():
            raise ValueError("weights in columns of another role")
    return WeightState(
        extractor=extractor,
        **rows,
        **floats,
        of_features=of_features,
        counts=counts,
        n_observed=n_observed,
        grows=loaded.get("grows", pairs is None),
        **{x: loaded[x] for x in _PLAIN},
    )


def _weights_of(loaded: Mapping[str, Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Returns the weights of features, float32 [R, L] or [N, 1]."""
    if "matrix" not in loaded:
        if not (arrays := _BESIDE.get(None)):
            raise ValueError("its weights are in a file of their own")
        weights = arrays.pop(0)
        _check_shape(weights.shape, shape)
        return weights
    _check_shape(shape_of(loaded["matrix"]), shape)  # before so much memory is taken
    return unpack_floats(loaded["matrix"], np.float32)


def _check_shape(shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    if shape != expected:
        raise ValueError(f"matrix is {shape}, expected {expected}")


def _families_and_names(
    loaded: Mapping[str, Any], size: int
) -> tuple[NDArray[np.uint8], Names]:
    """The family and the name of each feature."""
    packed = loaded["names"]
    if not isinstance(packed, bytes):
        raise TypeError("names are not packed")
    family = np.frombuffer(inflate(loaded["family"], size), np.uint8)
    if family.max(initial=0) >= len(FAMILIES):
        raise ValueError(f"there is no family {family.max()}")
    return family, Names(packed, size)


def unread(extractor: Extractor) -> Extractor:
    """RETURNS (Extractor): With the same settings, its lists and tables empty."""
    return Extractor(
        extractor.features,
        Gazetteers(extractor.gazetteers.settings),
        Tables(extractor.tables.settings),
        Extensions(),
    )


def size_of(state: WeightState) -> dict[str, float]:
    """RETURNS (Dict[str, float]): How many features, weights that are not 0 and label
    patterns there are, and MB (10^6 bytes) of all when saved."""
    return {
        "features": len(state.names),
        "weights": int(np.count_nonzero(as_vector(state))),
        "patterns": len(state.pattern),
        "mb": len(to_bytes(state)) / 1e6,
    }
