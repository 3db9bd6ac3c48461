"""Errors where the loss of a fit is not a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..errors import Errors
from ..model.active_features import RoleRows, SegmentRows
from .training_set import Trainable, TrainingSet


def check_finite(batch: Trainable, value: float, steps: int) -> None:
    """Raises ValueError HS057 if the loss after `steps` steps is not a number."""
    if not np.isfinite(value):
        raise ValueError(_not_a_number(batch, value, steps))


@contextmanager
def naming_features(batch: Trainable, steps: int) -> Iterator[None]:
    """Raises ValueError HS057, which names a feature, if inference refuses scores that
    are too large or not a number."""
    try:
        yield
    except ValueError as e:
        if not str(e).startswith(("[HS011]", "[HS124]")):
            raise
        raise ValueError(_not_a_number(batch, np.nan, steps)) from e


def _not_a_number(batch: Trainable, value: float, steps: int) -> str:
    extreme = _extreme(batch) if isinstance(batch, TrainingSet) else ""
    return Errors.HS057.format(found=value, steps=steps, extreme=extreme)


def _extreme(batch: TrainingSet) -> str:
    """Returns the feature with the largest value in a document, as part of a message;
    if all values are 1, that with the largest weight; or nothing."""
    largest, text, state = 1.0, "", batch.weights.state
    names, matrix = state.names, state.matrix
    all_rows: list[RoleRows | SegmentRows]
    all_rows = [*batch.rows.tokens.values(), batch.rows.segments]
    for rows in all_rows:
        if rows.strength is not None and len(rows.strength):
            values = np.nan_to_num(np.abs(rows.strength), nan=np.inf, posinf=np.inf)
            k = int(values.argmax())
            if values[k] > largest:
                shown = f"the value {rows.strength[k]:g} in a document"
                largest, text = values[k], f"{names[rows.row[k]]!r} has {shown}"
    if not text and matrix.size:
        k = int(np.nan_to_num(np.abs(matrix.ravel()), nan=np.inf).argmax())
        row = k // matrix.shape[1]
        if state.pairs is not None:
            row = int(np.searchsorted(state.pairs.first, row, side="right")) - 1
        text = f"{names[row]!r} has the weight {matrix.ravel()[k]:g}"
    return f" The feature {text}, the largest of all." if text else ""
