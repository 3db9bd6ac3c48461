"""A digest of all that the predictions of a component depend on."""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import TYPE_CHECKING

from ..errors import Warnings
from ..prediction.guarantee import Guarantee
from ..values import map_values
from .settings import DECIDING_SPANS

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def fingerprint(pipe: HighOrderSemiCRF) -> str:
    """Returns another text if weights, lists, labels or settings are others. It takes
    about as long as saving the component. Other features are refused on loading."""
    settings = {name: pipe.settings.cfg[name] for name in DECIDING_SPANS}
    lists = pipe.trainer.weights.state.extractor.gazetteers.settings.items()
    if hard := {name: x.label for name, x in lists if x.mode == "hard"}:
        settings["hard"] = hard
    # Without the last digits of numbers, which a config file may change.
    values = map_values(
        lambda x: f"{x:.12g}" if isinstance(x, float) else x,
        {**settings, **pipe.schema.to_cfg()},
    )
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode("utf8"))
    digest.update(pipe.model.to_bytes())
    return digest.hexdigest()[:32]


def guarantee_in_force(pipe: HighOrderSemiCRF) -> Guarantee | None:
    """Returns the guarantee of a component; None, with HSW73, if it was given for other
    weights, lists or settings than the present ones."""
    guarantee = pipe.settings.guarantee
    if guarantee is not None and guarantee.digest != fingerprint(pipe):
        warnings.warn(Warnings.HSW73.format(name=pipe.name), stacklevel=2)
        return None
    return guarantee
