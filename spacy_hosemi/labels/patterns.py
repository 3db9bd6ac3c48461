"""Label patterns, mined from gold segmentations or listed in the settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Bools
from ..core.automaton.grammar import BEGIN, END
from ..errors import Errors
from .inventory import ANY, LabelInventory, Pattern, bigrams
from .label_schema import LabelSchema
from .projection import Projection

# If there are more label bigrams than this, only those of training become patterns.
ALL_BIGRAMS = 20_000


def learn_patterns(
    schema: LabelSchema, sequences: Sequence[Sequence[int]], cfg: Mapping[str, Any]
) -> tuple[LabelSchema, int]:
    """Returns a schema with the label patterns of gold segmentations, as label indices,
    and the rules in force; and the number of forbidden patterns, which come first.
    Raises HS112 for observed_patterns."""
    patterns, forbidden = mine_patterns(
        schema.inventory,
        sequences,
        max_order=cfg["max_order"],
        min_count=cfg["pattern_min_count"],
        max_patterns=cfg["pattern_max"],
    )
    check_observed(cfg["observed_patterns"], schema.inventory)
    observed = mine_observed(
        schema.inventory,
        sequences,
        max_order=cfg["observed_order"],
        min_count=cfg["pattern_min_count"],
        listed=cfg["observed_patterns"],
    )
    rules = cfg.get("label_rules", [])
    schema = schema.with_patterns([*forbidden, *patterns], observed, rules)
    return schema, len(forbidden)


def with_label(
    schema: LabelSchema, label: str, cfg: Mapping[str, Any]
) -> tuple[LabelSchema, Bools]:
    """Returns a trained schema, not of a tree, with one more label and its bigrams, and
    whether each new pattern, the last ones, is forbidden. Raises HS040 for the name."""
    projection = Projection([*schema.labels, label])
    larger = replace(schema, projection=projection)
    new = {*larger.inventory.names[len(schema.inventory.names) :]}
    mined, forbidden = mine_patterns(larger.inventory, [], max_order=cfg["max_order"])
    more = [p for p in (*forbidden, *mined) if new.intersection(p)]
    excluded = {*forbidden}
    larger = larger.with_patterns(
        [*schema.patterns, *more], schema.observed, cfg.get("label_rules", [])
    )
    return larger, np.array([pattern in excluded for pattern in more], bool)


def mine_patterns(
    inventory: LabelInventory,
    sequences: Iterable[Sequence[int]],
    *,
    max_order: int,
    min_count: int = 1,
    max_patterns: int | None = None,
    unseen: bool = True,
) -> tuple[list[Pattern], list[Pattern]]:
    """Returns patterns whose weights are trained, of up to max_order + 1 names, and
    forbidden ones. Of those with three or more names the `max_patterns` most frequent;
    with `unseen` bigrams that do not occur, too, whose weights can become negative."""
    counts = _count_patterns(inventory, sequences, max_order)
    forbidden = inventory.forbidden()
    excluded = set(forbidden)
    pairs: Iterable[Pattern] = sorted(p for p in counts if len(p) == 2)
    if unseen and len(inventory.names) ** 2 <= ALL_BIGRAMS:
        pairs = bigrams(inventory.names)
    longer = [p for p, k in counts.items() if len(p) > 2 and k >= min_count]
    longer.sort(key=lambda p: (-counts[p], len(p), p))
    patterns = [p for p in pairs if p not in excluded] if max_order > 0 else []
    return patterns + sorted(longer[:max_patterns]), forbidden


def mine_observed(
    inventory: LabelInventory,
    sequences: Iterable[Sequence[int]],
    *,
    max_order: int,
    min_count: int = 1,
    listed: Sequence[Sequence[str]] = (),
) -> list[Pattern]:
    """Returns observed patterns, short ones first, which get weights for features of
    transitions; the first name may be "^". listed: patterns to add, see `matches`."""
    longest = max([max_order, *(len(z) - 1 for z in listed)])
    counts = _count_patterns(inventory, sequences, longest)
    patterns = [
        p
        for p, k in counts.items()
        if (len(p) == 2 or k >= min_count)
        and p[-1] != END
        and (len(p) <= max_order + 1 or any(matches(p, z) for z in listed))
    ]
    return sorted(patterns, key=lambda p: (len(p), p))


def is_wildcard(name: str) -> bool:
    """Says whether a name of observed_patterns stands for any label: "*", "*1", .."""
    return name[:1] == ANY and (len(name) == 1 or name[1:].isdecimal())


def check_observed(listed: Iterable[Sequence[str]], inventory: LabelInventory) -> None:
    """Raises HS112 if a pattern of observed_patterns can never occur. As long as there
    are no labels, any name may become one."""
    is_open = len(inventory.names) == 1
    for names in listed:
        rest = names[1:] if names[0:1] == [BEGIN] else names
        is_known = is_open or all(x in inventory.names or is_wildcard(x) for x in rest)
        if len(names) < 2 or not is_known:
            raise ValueError(Errors.HS112.format(found=names, expected=inventory.names))


def matches(pattern: Pattern, listed: Sequence[str]) -> bool:
    """Says whether a label pattern, the first name maybe "^", matches one of
    observed_patterns: "*" is any label, "*1", "*2" .. the same one where they occur."""
    if len(pattern) != len(listed):
        return False
    labels: dict[str, str] = {}
    for name, wanted in zip(pattern, listed):
        if not is_wildcard(wanted):
            if name != wanted:
                return False
        elif name == BEGIN:
            return False
        elif wanted != ANY and labels.setdefault(wanted, name) != name:
            return False
    return True


def _count_patterns(
    inventory: LabelInventory, sequences: Iterable[Sequence[int]], max_order: int
) -> Counter[Pattern]:
    counts: Counter[Pattern] = Counter()
    for sequence in sequences:
        names = (BEGIN, *(inventory.names[y] for y in sequence), END)
        for size in range(2, max_order + 2):
            counts.update(zip(*(names[i:] for i in range(size))))
    return counts
