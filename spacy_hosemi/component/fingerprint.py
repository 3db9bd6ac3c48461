"""A digest of all that the predictions of a component depend on."""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any

from ..errors import Warnings
from ..prediction.guarantee import Guarantee
from .configured import Configured

# Settings that change neither spans nor their probabilities.
_WITHOUT = {
    "confidence",
    "export_fields",
    "guarantee",
    "incorrect_spans_key",
    "spans_key",
    "spans_threshold",
    "threads",
}


def fingerprint(pipe: Configured) -> str:
    """RETURNS (str): Another one if weights, lists, labels or settings are others. It
    takes about as long as saving the component.

    pipe (Configured): A component.
    """
    settings = {k: v for k, v in pipe.settings.cfg.items() if k not in _WITHOUT}
    known = _rounded({**settings, **pipe.schema.to_cfg()})
    found = hashlib.sha256(json.dumps(known, sort_keys=True).encode("utf8"))
    found.update(pipe.model.to_bytes())
    return found.hexdigest()[:32]


def guarantee_in_force(pipe: Configured) -> Guarantee | None:
    """RETURNS (Optional[Guarantee]): That of a component; None, with HSW73, if it was
    given for other weights, lists or settings than the present ones."""
    found = pipe.settings.guarantee
    if found is not None and found.digest != fingerprint(pipe):
        warnings.warn(Warnings.HSW73.format(name=pipe.name), stacklevel=2)
        return None
    return found


def _rounded(value: Any) -> Any:
    """Without the last digits of numbers, which a config file may change."""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, dict):
        return {str(key): _rounded(one) for key, one in value.items()}
    return [*map(_rounded, value)] if isinstance(value, (list, tuple)) else value
