"""Lists the settings that are tried, as changes to a config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

from ..configs import package_lists

MAX_CANDIDATES = 12
ORDERS = (1, 2, 3)
PRESETS = ("default", "fields", "names")
# All words of 30 tokens to each side.
BAG = "LOWER{-30:30}"

# Values by dotted key of the config: those that differ from it.
Changes = Mapping[str, Any]


def read_value(config: Mapping[str, Any], key: str) -> Any:
    """Returns the value of a dotted key in nested blocks; None if there is none."""
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def candidates(config: Mapping[str, Any], name: str, kind: str = "") -> list[Changes]:
    """Returns at most MAX_CANDIDATES, each once: the config as it is, then those with
    one change, then with two. `kind` is that of `hosemi init --for`, if any."""
    component = f"components.{name}"
    features = f"{component}.model.features"
    orders = [{}, *({f"{component}.max_order": order} for order in ORDERS)]
    presets: list[Changes] = [{}]
    others = [_no_vectors(config, name), _lists(config, name, kind)]
    if isinstance(read_value(config, features), Mapping):
        # A preset of a language, as of Chinese, has no other one beside it.
        if read_value(config, f"{features}.preset") in PRESETS:
            presets += [{f"{features}.preset": preset} for preset in PRESETS]
        start = [*(read_value(config, f"{features}.start") or [])]
        other = [x for x in start if x != BAG] if BAG in start else [*start, BAG]
        pieces = not read_value(config, f"{features}.pieces")
        others += [{f"{features}.start": other}, {f"{features}.pieces": pieces}]
    products = [{**order, **preset} for order, preset in product(orders, presets)]
    changes = [
        {key: value for key, value in x.items() if value != read_value(config, key)}
        for x in (*others, *products)
    ]
    distinct: dict[str, Changes] = {json.dumps(x): x for x in ({}, *changes)}

    def n_changes(changes: Changes) -> int:
        return sum(not key.startswith("initialize") for key in changes)

    return sorted(distinct.values(), key=n_changes)[:MAX_CANDIDATES]


def _no_vectors(config: Mapping[str, Any], name: str) -> Changes:
    """Returns features alone for a config with vectors."""
    key = f"components.{name}.model.tok2vec"
    if not read_value(config, key):
        return {}
    is_alone = len(read_value(config, "nlp.pipeline")) == 1  # others may read them
    return {key: None, **({"initialize.vectors": None} if is_alone else {})}


def _lists(config: Mapping[str, Any], name: str, kind: str) -> Changes:
    """Returns no lists for a config that has some, else those of installed packages."""
    keys = f"components.{name}.model.gazetteers", f"initialize.components.{name}"
    keys = keys[0], f"{keys[1]}.gazetteers"
    if read_value(config, keys[0]):
        return {key: {} for key in keys}
    lists = package_lists(kind, str(read_value(config, "nlp.lang")))
    setting = "spacy_hosemi.gazetteer.v1"
    settings = {x.name: {"@misc": setting, "attr": x.attr} for x in lists}
    readers = {x.name: x.reader() for x in lists}
    return dict(zip(keys, (settings, readers))) if lists else {}


def in_words(changes: Changes) -> str:
    """Returns changes as a table shows them."""
    words = []
    for key, value in changes.items():
        if key.startswith("initialize"):
            continue
        shown = value if isinstance(value, str) else json.dumps(value)
        if isinstance(value, Mapping) or value is None:
            shown = " ".join(value or ()) or "none"
        words.append(f"{key.rpartition('.')[2]} {shown}")
    return ", ".join(words) or "as it is"
