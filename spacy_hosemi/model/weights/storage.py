"""A `WeightState` as bytes, and the formats of earlier versions."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import srsly

from ...errors import Errors
from ...features import Extensions, Extractor, Gazetteers, Tables
from .families import TRANSITIONS
from .packing import pack_counts, pack_floats, pack_names, unpack_floats, unpack_names
from .pairs import Pairs
from .state import WeightState, with_rows
from .vector import as_vector

# 2: features with weights in some columns only; 3: lists of names; 4: `packing`, and
# tables and extension attributes. Older ones are read, none of them is written.
FORMAT = 4

# What an extractor must store besides its settings.
_PARTS = ("gazetteers", "tables", "extensions")
_FLOATS = ("matrix", "pattern", "length", "tail")
_PLAIN = ("learn_length", "is_trained", "n_docs")


def to_bytes(state: WeightState) -> bytes:
    """RETURNS (bytes): All of it, weights in single precision."""
    packed: dict[str, Any] = {x: pack_floats(getattr(state, x)) for x in _FLOATS}
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
            "names": pack_names(state.names),
            "counts": pack_counts(state.counts),
            **{x: getattr(state, x) for x in _PLAIN},
            **packed,
            **{name: data for name, data in parts.items() if data},
        }
    )


def from_bytes(data: bytes, extractor: Extractor) -> WeightState:
    """Inverse of `to_bytes`.

    extractor (Extractor): With the settings of the saved one; it stays as it is.
    RAISES (ValueError): HS062 truncated; HS063 saved by a newer version; HS111
        features of functions that are not there.
    """
    functions = extractor.features.functions.functions
    try:
        loaded = srsly.msgpack_loads(data)
        version, needed = loaded["format"], {*loaded.get("functions", ())}
    except Exception as e:
        raise truncated(repr(e)) from None
    if not isinstance(version, int):
        raise truncated(f"format is {version!r}")
    if version > FORMAT:
        raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))
    _check_functions(needed, functions)
    try:
        return _read(loaded, extractor)
    except (KeyError, TypeError, ValueError, zlib.error) as e:
        raise truncated(repr(e)) from None


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
    floats: dict[str, Any] = {x: unpack_floats(loaded[x]) for x in _FLOATS}
    keys, names = loaded["keys"], unpack_names(loaded["names"])
    counts = np.array(loaded["counts"], np.int64)
    n_labels, n_observed = len(floats["tail"]), int(loaded.get("n_observed", 0))
    # Arrays that do not fit together would be read out of bounds.
    n_rows = len(keys)
    of_features = (n_rows, n_labels) if pairs is None else (len(pairs.columns), 1)
    shapes = {
        "matrix": (floats["matrix"].shape, of_features),
        "names": (len(names), n_rows),
        "counts": (len(counts), n_rows),
        "length": (len(floats["length"]), n_labels),
    }
    for name, (shape, expected) in shapes.items():
        if shape != expected:
            raise ValueError(f"{name} has shape {shape}, expected {expected}")
    if pairs is not None:
        pairs.check(n_rows, n_labels + n_observed)
    rows = with_rows(keys, names, pairs, n_labels)
    if pairs is not None:
        is_transition = (rows["family"] == TRANSITIONS).repeat(pairs.sizes)
        if ((pairs.columns >= n_labels) != is_transition).any():
            raise ValueError("weights in columns of another role")
    return WeightState(
        extractor=extractor,
        **rows,
        **floats,
        counts=counts,
        n_observed=n_observed,
        grows=loaded.get("grows", pairs is None),
        **{x: loaded[x] for x in _PLAIN},
    )


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


def truncated(found: str) -> ValueError:
    """RETURNS (ValueError): HS062."""
    return ValueError(Errors.HS062.format(found=found[:200]))
