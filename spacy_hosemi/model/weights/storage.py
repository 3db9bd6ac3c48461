"""What is saved of weights, and the formats in which it once was."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray

from ...errors import Errors
from .families import TRANSITIONS, families_of
from .packing import pack_counts, pack_floats, pack_names, unpack_floats, unpack_names
from .pairs import Pairs

# 2: features with weights in some columns only; 3: lists of names; 4: `packing`, and
# tables and extension attributes. Older ones are read, none of them is written.
FORMAT = 4

Floats = NDArray[np.float64]

# What an extractor must keep besides its settings.
PARTS = ("gazetteers", "tables", "extensions")
FLOATS = ("matrix", "pattern", "length", "tail")
_COUNTS = ("n_observed", "length_smoothing")
_SETTINGS = ("learn_length", "is_trained", "n_docs")


@dataclass
class Stored:
    """Weights as they are saved.

    keys (uint64 [R]), names (List[str]), counts (int64 [R]): Of each feature.
    pairs, matrix, pattern, length, tail, learn_length, length_smoothing, n_observed,
        is_trained, n_docs, grows: As of `weights.Weights`.
    parts (Dict[str, Any]): Of PARTS, those that have anything to keep.
    functions (Collection[str]): Of the user, which must be there again.
    """

    keys: NDArray[np.uint64]
    names: list[str]
    counts: NDArray[np.int64]
    pairs: Pairs | None
    matrix: Floats
    pattern: Floats
    length: Floats
    tail: Floats
    learn_length: bool
    is_trained: bool
    n_docs: int
    grows: bool
    n_observed: int = 0
    length_smoothing: int = 0
    parts: dict[str, Any] = field(default_factory=dict)
    functions: Collection[str] = ()

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): All of it, weights in single precision."""
        packed: dict[str, Any] = {x: pack_floats(getattr(self, x)) for x in FLOATS}
        if self.pairs is not None:
            packed["first_pair"] = pack_counts(self.pairs.first)
            packed["columns"] = pack_counts(self.pairs.columns)
        packed |= {x: getattr(self, x) for x in _COUNTS if getattr(self, x)}
        if self.grows != (self.pairs is None):
            packed["grows"] = self.grows
        if self.functions:
            packed["functions"] = sorted(self.functions)
        return srsly.msgpack_dumps(
            {
                "format": FORMAT,
                "keys": self.keys,
                "names": pack_names(self.names),
                "counts": pack_counts(self.counts),
                **{x: getattr(self, x) for x in _SETTINGS},
                **packed,
                **self.parts,
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes, functions: Collection[str]) -> Stored:
        """Inverse of `to_bytes`.

        functions (Collection[str]): Those that are there.
        RAISES (ValueError): HS062 truncated; HS063 saved by a newer version; HS111
            features of functions that are not there.
        """
        try:
            loaded = srsly.msgpack_loads(data)
            version, needed = loaded["format"], {*loaded.get("functions", ())}
        except Exception as e:
            raise truncated(repr(e)) from None
        if not isinstance(version, int):
            raise truncated(f"format is {version!r}")
        if version > FORMAT:
            raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))
        if not needed <= {*functions}:
            raise ValueError(
                Errors.HS111.format(found=sorted(functions), expected=sorted(needed))
            )
        try:
            pairs = None
            if "first_pair" in loaded:
                pairs = Pairs(
                    np.array(loaded["first_pair"], np.int32),
                    np.array(loaded["columns"], np.int32),
                )
            others: dict[str, Any] = {x: unpack_floats(loaded[x]) for x in FLOATS}
            others |= {x: int(loaded.get(x, 0)) for x in _COUNTS}
            others |= {x: loaded[x] for x in _SETTINGS}
            stored = cls(
                keys=np.asarray(loaded["keys"], np.uint64),
                names=unpack_names(loaded["names"]),
                counts=np.array(loaded["counts"], np.int64),
                pairs=pairs,
                grows=loaded.get("grows", pairs is None),
                parts={x: loaded[x] for x in PARTS if x in loaded},
                functions=needed,
                **others,
            )
            stored._check()
        except (KeyError, TypeError, ValueError, zlib.error) as e:
            raise truncated(repr(e)) from None
        return stored

    def _check(self) -> None:
        """Arrays that do not fit together would be read out of bounds.

        RAISES (ValueError): They do not.
        """
        n_rows, n_labels = len(self.keys), len(self.tail)
        of_features = (n_rows, n_labels)
        if self.pairs is not None:
            of_features = (len(self.pairs.columns), 1)
        found = {
            "matrix": (self.matrix.shape, of_features),
            "names": (len(self.names), n_rows),
            "counts": (len(self.counts), n_rows),
            "length": (len(self.length), n_labels),
        }
        for name, (shape, expected) in found.items():
            if shape != expected:
                raise ValueError(f"{name} has shape {shape}, expected {expected}")
        if self.pairs is not None:
            self.pairs.check(n_rows, n_labels + self.n_observed)
            is_transition = families_of(self.names) == TRANSITIONS
            is_observed = self.pairs.columns >= n_labels
            if (is_observed != is_transition.repeat(self.pairs.sizes)).any():
                raise ValueError("weights in columns of another role")


def truncated(found: str) -> ValueError:
    """RETURNS (ValueError): HS062."""
    return ValueError(Errors.HS062.format(found=found[:200]))
