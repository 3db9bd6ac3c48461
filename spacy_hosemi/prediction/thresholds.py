"""From which confidence on an entity is kept: for all labels, or by label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from configparser import Error as ParserError
from typing import Any

from thinc.api import Config

from ..errors import Errors

Thresholds = float | dict[str, float]

# What a config may have: pairs, since its keys cannot be all labels.
ThresholdsConfig = Thresholds | list[list[Any]]


def least_of(thresholds: Thresholds, label: str) -> float:
    """RETURNS (float): The threshold of a label; 0 for one that is not named."""
    return thresholds.get(label, 0.0) if isinstance(thresholds, Mapping) else thresholds


def read_thresholds(found: ThresholdsConfig) -> Thresholds:
    """Check what a config has as min_confidence.

    found (Union[float, Dict[str, float], List[List]]): For all labels; or by label, as
        keys or in pairs.
    RETURNS (Union[float, Dict[str, float]]): The same, without pairs.
    RAISES (ValueError): HS043 not between 0 and 1; HS101 a label is no key.
    """
    if not isinstance(found, (Mapping, Sequence)):
        check_share("min_confidence", found)
        return found
    try:
        thresholds = {
            str(label): float(threshold) for label, threshold in dict(found).items()
        }
    except (TypeError, ValueError):
        expected = "a number, or [label, number] for each of some labels"
        raise ValueError(
            Errors.HS043.format(name="min_confidence", found=found, expected=expected)
        ) from None
    for label, threshold in thresholds.items():
        check_share(f"min_confidence of {label!r}", threshold)
    if isinstance(found, Mapping) and write_thresholds(thresholds) != thresholds:
        pairs = [[label, threshold] for label, threshold in thresholds.items()]
        raise ValueError(Errors.HS101.format(found=thresholds, expected=pairs))
    return thresholds


def write_thresholds(thresholds: Thresholds) -> ThresholdsConfig:
    """RETURNS (Union[float, dict, list]): As a config can have it: pairs, where a label
    such as "idno:DOI" would not be read again as a key."""
    if not isinstance(thresholds, Mapping):
        return thresholds
    config = Config({"min_confidence": thresholds})
    try:
        if Config().from_str(config.to_str()) == config:
            return thresholds
    except (ValueError, ParserError):
        pass
    return [[label, threshold] for label, threshold in thresholds.items()]


def check_labels(thresholds: Thresholds, labels: Iterable[str], name: str) -> None:
    """Whether all labels that are named exist: else theirs would never be in force.

    thresholds (Union[float, Dict[str, float]]): As of a component.
    labels (Iterable[str]): Of the component, which knows them now.
    name (str): Of the component, for messages.
    RAISES (ValueError): HS091 unknown label.
    """
    known = tuple(labels)
    for label in thresholds if isinstance(thresholds, Mapping) else ():
        if label not in known:
            raise ValueError(
                Errors.HS091.format(found=label, expected=known, name=name)
            )


def check_share(name: str, value: float) -> None:
    """RAISES (ValueError): HS043 if it is not between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(Errors.HS043.format(name=name, found=value, expected="0 to 1"))


def check_temperature(temperature: float) -> None:
    """RAISES (ValueError): HS043 if it is not a number above 0."""
    if not 0.0 < temperature < math.inf:
        raise ValueError(
            Errors.HS043.format(
                name="temperature", found=temperature, expected="a number above 0"
            )
        )
