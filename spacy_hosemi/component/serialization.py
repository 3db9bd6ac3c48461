"""What can be wrong with a saved component: each thing has its message."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import srsly

from ..core import PatternAutomaton
from ..errors import Errors
from ..model.weights.state import WeightState
from ..model.weights.storage import truncated

FORMAT = 1


@contextmanager
def unreadable() -> Iterator[None]:
    """Whatever goes wrong while a saved model is read gets one message."""
    try:
        yield
    except Exception as e:
        if str(e).startswith("[HS"):
            raise
        raise truncated(repr(e)) from e


def check_files(path: Path, exclude: Collection[str]) -> None:
    """RAISES (ValueError): HS061 a file is not there."""
    # spaCy passes over a missing cfg in silence; the labels are in it.
    for part in ("cfg", "model"):
        if part not in exclude and not (path / part).is_file():
            raise ValueError(Errors.HS061.format(path=path / part))


def check_readable(path: Path, exclude: Collection[str]) -> None:
    """Read what spaCy reads after the model has changed already."""
    if "cfg" not in exclude:
        srsly.read_json(path / "cfg")


def check_format(cfg: Mapping[str, Any]) -> None:
    """RAISES (ValueError): HS063 saved by a newer version."""
    version = cfg.get("format", 0)
    if version > FORMAT:
        raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))


def check_shapes(weights: WeightState, automaton: PatternAutomaton) -> None:
    """RAISES (ValueError): HS064 weights and settings are not of the same model."""
    expected = len(automaton.patterns), automaton.n_labels, len(automaton.observed)
    found = len(weights.pattern), len(weights.tail), weights.n_observed
    if found != expected:
        raise ValueError(
            Errors.HS064.format(
                found=f"{found} patterns, labels and observed patterns of weights, "
                f"{expected} in cfg"
            )
        )
