"""What the settings of a component may be, each for itself and beside the others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import Errors, Warnings
from ..features.instances import SCOPES
from ..labels.inventory import SELECTIONS, SMOOTHINGS, check_choice
from ..prediction.thresholds import check_share, check_temperature

DECODINGS = ("viterbi", "mbr")


def check_arguments(settings: Mapping[str, Any]) -> None:
    """Whether a component can be made.

    settings (Mapping[str, Any]): See `HighOrderSemiCRF`.
    RAISES (ValueError): HS042, HS043 if one is out of range; HS046 label_rules, HS047
        decoding, HS093 incorrect_spans_key with tags on tokens; HS099 spans_threshold.
    """
    pattern_max, max_length = settings["pattern_max"], settings["max_length"]
    observed_max = settings["observed_max"]
    at_least = {
        "max_order": (settings["max_order"], 0),
        "pattern_min_count": (settings["pattern_min_count"], 1),
        "pattern_max": (0 if pattern_max is None else pattern_max, 0),
        "observed_order": (settings["observed_order"], 0),
        "observed_min_count": (settings["observed_min_count"], 1),
        "observed_max": (1 if observed_max is None else observed_max, 1),
        "explicit_length": (settings["explicit_length"], 1),
        "max_length": (1 if max_length is None else max_length, 1),
        "collective": (settings["collective"], 0),
        "threads": (settings["threads"], 1),
    }
    for key, (value, least) in at_least.items():
        if value < least:
            raise ValueError(
                Errors.HS043.format(name=key, found=value, expected=f">= {least}")
            )
    f1, encoding = settings["expected_f1"], settings["encoding"]
    check_share("expected_f1", 0.0 if f1 is None else f1)
    check_temperature(settings["temperature"])
    _check_threshold(settings["spans_threshold"], settings["spans_key"], encoding)
    if settings["label_rules"] and encoding != "segments":
        raise ValueError(Errors.HS046.format(found=encoding))
    check_choice("scope", settings["scope"], SCOPES)
    check_choice("decoding", settings["decoding"], DECODINGS)
    check_choice("length_smoothing", settings["length_smoothing"], SMOOTHINGS)
    check_choice("pattern_selection", settings["pattern_selection"], SELECTIONS)
    if settings["decoding"] == "mbr" and encoding != "segments":
        raise ValueError(Errors.HS047.format(found=encoding))
    incorrect = settings["incorrect_spans_key"]
    if incorrect is not None and encoding != "segments":
        raise ValueError(Errors.HS093.format(key=incorrect, found=encoding))


def _check_threshold(
    threshold: float | None, spans_key: str | None, encoding: str
) -> None:
    """RAISES (ValueError): HS043, HS099 spans_threshold."""
    if threshold is None:
        return
    if not 0.0 < threshold <= 1.0:
        expected = "above 0 and at most 1, or null"
        raise ValueError(
            Errors.HS043.format(
                name="spans_threshold", found=threshold, expected=expected
            )
        )
    if spans_key is None or encoding != "segments":
        raise ValueError(Errors.HS099.format(key=spans_key, encoding=encoding))


def check_beside_tree(
    settings: Mapping[str, Any], gazetteers: Mapping[str, Any]
) -> None:
    """RAISES (ValueError): HS118 settings of the component that have no meaning for
    labels in a tree."""
    expected = {
        "encoding": "segments",
        "label_rules": [],
        "observed_order": 0,
        "observed_patterns": [],
        "pattern_selection": "count",
    }
    for name, value in expected.items():
        found = settings[name]
        if found != value and not (value == [] and not found):
            raise ValueError(
                Errors.HS118.format(
                    expected=f"{name} = {value!r}", found=f"it is {found!r}"
                )
            )
    if not settings["smooth"]:
        objective = 'objective "spacy_hosemi.log_likelihood.v1"'
        found = "it is that of the perceptron"
        raise ValueError(Errors.HS118.format(expected=f"the {objective}", found=found))
    hard = [name for name, x in gazetteers.items() if x.label is not None]
    if hard:
        raise ValueError(
            Errors.HS118.format(
                expected='gazetteers without mode = "hard"', found=f"{hard} have it"
            )
        )


def check_trainable(settings: Mapping[str, Any], name: str) -> None:
    """RAISES (ValueError): HS079, HS042 settings with which saved models predict, but
    which no training has any more."""
    if settings["pattern_selection"] != "count":
        raise ValueError(Errors.HS079.format(name=name))
    check_choice("length_smoothing", settings.get("length_smoothing", 0), (0,))


def warn_untrainable(settings: Mapping[str, Any], name: str) -> None:
    """HSW10: a model that was trained with such a setting."""
    for key, expected in (("pattern_selection", "count"), ("length_smoothing", 0)):
        if (found := settings.get(key, expected)) != expected:
            found = f"{key} = {found!r}"
            args = {"name": name, "found": found, "key": key, "expected": expected}
            warnings.warn(Warnings.HSW10.format(**args), stacklevel=2)
