"""The names that tokens may have in segmentations with exactly some spans.

Tags may cover whitespace at the ends of spans, and spans of whitespace alone, which are
cut off: several sequences of tags mean the same spans then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Bools
from .inventory import LabelInventory, Span

# The tags of a span at its first, its last and its other tokens, where no whitespace is
# beside it; a span of one token has the first string.
_TAGS = {
    "IO": ("I", "I", "I", "I"),
    "BIO": ("B", "B", "I", "I"),
    "BILUO": ("U", "B", "L", "I"),
}

# A tag that may stand in its place if the span goes on before it, and after it.
_BEFORE = {"B": "I", "U": "L", "L": "L", "I": "I"}
_AFTER = {"U": "B", "L": "I", "B": "B", "I": "I"}


def exact_names(
    spans: Sequence[Span], inventory: LabelInventory, is_given: Bools, is_space: Bools
) -> Bools:
    """Returns the names that each token may have in segmentations with exactly some
    sorted spans, bool [n, L]. Nothing is said about names of tokens that are given,
    bool [n]. Tags may still join two of the spans, see `joining_names`."""
    names = np.ones((len(is_given), len(inventory.names)), bool)
    names[~(is_given | is_space) if inventory.on_tokens else ~is_given, 1:] = False
    if not inventory.on_tokens:
        for start, end, _ in spans:
            names[start:end] = True
        return names & inventory.names_within(spans, len(names))
    for start, end, label in spans:
        names[start:end] = False
        for i, tags in _tags_of(start, end, inventory.encoding, is_space).items():
            names[i, [inventory.index[f"{tag}-{label}"] for tag in tags]] = True
    return names


def _tags_of(start: int, end: int, encoding: str, is_space: Bools) -> dict[int, str]:
    """Returns the tags that each token of a span may have."""
    single, first, last, inner = _TAGS[encoding]
    tags = dict.fromkeys(range(start, end), inner)
    tags[start], tags[end - 1] = first, last
    if end == start + 1:
        tags[start] = single
    if start > 0 and is_space[start - 1]:
        tags[start] += "".join(_BEFORE[tag] for tag in tags[start])
    # BIO does not mark the end of a span.
    if end < len(is_space) and is_space[end] and encoding != "BIO":
        tags[end - 1] += "".join(_AFTER[tag] for tag in tags[end - 1])
    return tags


def joining_names(
    spans: Sequence[Span], inventory: LabelInventory, is_space: Bools
) -> list[Bools]:
    """Returns the names with which two spans would be one, bool [n, L], for each pair
    of adjacent spans that have the same label and only whitespace between them."""
    by_pair = []
    for (_, left, label), (right, _, next_label) in zip(spans, spans[1:]):
        if label == next_label and left < right and is_space[left:right].all():
            names = np.ones((len(is_space), len(inventory.names)), bool)
            names[left : right + 1] = False
            names[left:right, inventory.index[f"I-{label}"]] = True
            for y in inventory.tags_that("IL"):
                names[right, y] = inventory.names[y][2:] == label
            by_pair.append(names)
    return by_pair
