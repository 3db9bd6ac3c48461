"""The setting min_confidence: for all labels, or by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from configparser import Error as ParserError
from typing import Any

from thinc.api import Config

from ..errors import Errors
from ..values import TEXT, Kind, Unfit, number


class LabelThresholds(dict[str, float]):
    """Thresholds by label. They never change: a change would not be checked, and the
    settings that are shown would not have it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelThresholds, (dict(self),)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(Errors.HS151.format(found=(*args, *kwargs.items())))

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


Thresholds = float | dict[str, float]

# As a config has them: pairs, since its keys cannot be all labels.
ThresholdsConfig = Thresholds | list[list[Any]]

_SHARE = number(0.0, 1.0)


def least_of(thresholds: Thresholds, label: str) -> float:
    """Returns the threshold of a label; 0 for one that is not named."""
    return thresholds.get(label, 0.0) if isinstance(thresholds, Mapping) else thresholds


def _read_thresholds(value: Any) -> Thresholds:
    """Returns a number, or `LabelThresholds`; raises ValueError HS101 if a label cannot
    be a key of a config, for which there are pairs."""
    if isinstance(value, LabelThresholds):
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        return _SHARE.read(value)
    pairs = [*value.items()] if isinstance(value, Mapping) else value
    if not all(isinstance(x, (list, tuple)) and len(x) == 2 for x in pairs):
        raise Unfit
    read_pairs = ((TEXT.read(y), _SHARE.read(least)) for y, least in pairs)
    thresholds = LabelThresholds(read_pairs)
    if isinstance(value, Mapping) and write_thresholds(thresholds) != thresholds:
        expected = [[label, least] for label, least in thresholds.items()]
        raise ValueError(Errors.HS101.format(found=thresholds, expected=expected))
    return thresholds


# The kind of the setting min_confidence.
THRESHOLDS = Kind(
    "a number from 0 to 1, or [label, number] for each of some labels", _read_thresholds
)


def write_thresholds(thresholds: Thresholds) -> ThresholdsConfig:
    """Returns thresholds as a config can have them: by label, or as pairs, where a
    label such as "idno:DOI" would not be read again as a key."""
    if not isinstance(thresholds, Mapping):
        return thresholds
    pairs = [[label, threshold] for label, threshold in thresholds.items()]
    # A block with a key such as @misc would be taken for a registered function.
    if any(label.startswith(("@", "*")) for label in thresholds):
        return pairs
    config = Config({"min_confidence": dict(thresholds)})
    try:
        is_same = Config().from_str(config.to_str()) == config
    except (ValueError, ParserError):
        is_same = False
    return dict(thresholds) if is_same else pairs


def check_labels(thresholds: Thresholds, labels: Iterable[str], name: str) -> None:
    """Raises ValueError HS091 if a label of the thresholds of a component of this name
    is none of its labels: its threshold would never be in force."""
    expected = tuple(labels)
    for label in thresholds if isinstance(thresholds, Mapping) else ():
        if label not in expected:
            message = Errors.HS091.format(found=label, expected=expected, name=name)
            raise ValueError(message)
