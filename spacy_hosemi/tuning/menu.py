"""The settings that can be chosen, as changes to a config."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

# How spans are coded, and how many labels a label pattern has: a linear chain, and
# segments.
STRUCTURES: tuple[dict[str, Any], ...] = (
    {"encoding": "BIO", "max_order": 1, "decoding": "viterbi"},
    {"encoding": "segments", "max_order": 1},
    {"encoding": "segments", "max_order": 2},
    {"encoding": "segments", "max_order": 3},
)

FEATURES = "model.features."
PRESETS = ("default", "fields", "names")
# All words of 30 tokens to each side.
BAG = "LOWER{-30:30}"
MIN_COUNTS = (1, 2, 3)

# Values by dotted key below the component: those that differ from the config.
Changes = Mapping[str, Any]


def read_value(block: Mapping[str, Any], key: str) -> Any:
    """RETURNS (Any): The value of a dotted key in nested blocks; None: it has none."""
    found: Any = block
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def broad(block: Mapping[str, Any]) -> list[Changes]:
    """The settings that matter most: all structures with all sets of features, but no
    bag of words around each token of a chain, which is slow and lost wherever tried.

    block (Mapping[str, Any]): The component's block of a filled config.
    RETURNS (List[Changes]): Each once; the first one is empty: the config as it is.
    """
    found: list[dict[str, Any]] = [{}]
    for structure, preset, bag in product(STRUCTURES, _presets(block), _bags(block)):
        one = {**structure, **preset, **bag}
        start = one.get(FEATURES + "start", read_value(block, FEATURES + "start"))
        if one["encoding"] == "segments" or BAG not in (start or []):
            found.append(one)
    return _different(block, found)


def fine(block: Mapping[str, Any], changes: Changes) -> list[Changes]:
    """Settings that matter less.

    block (Mapping[str, Any]): The component's block of a filled config.
    changes (Changes): What is best of others.
    RETURNS (List[Changes]): The same with one other setting each.
    """
    if not _has_features(block):
        return []
    key = FEATURES + "pieces"
    values = [(FEATURES + "min_count", n) for n in MIN_COUNTS]
    values.append((key, not changes.get(key, read_value(block, key))))
    others = [{**changes, key: value} for key, value in values]
    return [x for x in _different(block, others) if x != changes]


def _has_features(block: Mapping[str, Any]) -> bool:
    return isinstance(read_value(block, "model.features"), Mapping)


def _presets(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Presets; where a config has none of these, as for Chinese, its own alone."""
    own = read_value(block, FEATURES + "preset")
    for preset in PRESETS if own in PRESETS else (own,):
        yield {FEATURES + "preset": preset} if _has_features(block) else {}


def _bags(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """With the bag of words and without it."""
    own = [*(read_value(block, FEATURES + "start") or [])]
    yield {}
    if _has_features(block):
        other = [x for x in own if x != BAG] if BAG in own else [*own, BAG]
        yield {FEATURES + "start": other}


def _different(block: Mapping[str, Any], found: list[dict[str, Any]]) -> list[Changes]:
    """Without what the config has already, and each once."""
    shorter = [
        {key: value for key, value in one.items() if value != read_value(block, key)}
        for one in found
    ]
    return [*{json.dumps(one, sort_keys=True): one for one in shorter}.values()]


def in_words(changes: Changes) -> str:
    """RETURNS (str): Changes as a table shows them; decoding has a column there."""
    said = []
    for key, value in changes.items():
        if key == "decoding":
            continue
        shown = value if isinstance(value, str) else json.dumps(value)
        said.append(f"{key.rpartition('.')[2]} {shown}")
    return ", ".join(said) or "as it is"
