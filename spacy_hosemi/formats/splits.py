"""Divides texts in two parts; each group is in one of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..errors import Errors
from .texts import AnnotatedText, shown

Parts = tuple[list[AnnotatedText], list[AnnotatedText]]


def split(
    texts: Sequence[AnnotatedText], dev: float, group: str | None, seed: int
) -> Parts:
    """Returns the texts to train with, and a share `dev` of others, both in the order
    given. Equal texts, and those with the same `meta[group]`, are in the same part.
    Raises ValueError: HS166 if the share is bad, HS167 if no text has the key, HS168 if
    there is only one group."""
    if not 0.0 < dev < 1.0:
        raise ValueError(Errors.HS166.format(found=dev))
    if group is not None:
        check_group(texts, group)
    groups = _groups(texts, group)
    if len(groups) < 2:
        key = "equal texts" if group is None else f"{group!r} and equal texts"
        raise ValueError(Errors.HS168.format(found=len(groups), key=key))
    chosen = _choose(groups, dev * len(texts), seed)
    first = [text for i, text in enumerate(texts) if i not in chosen]
    return first, [texts[i] for i in sorted(chosen)]


def check_group(texts: Sequence[AnnotatedText], group: str) -> None:
    """Raises ValueError: HS167 if no text has the key."""
    if not any(group in text.meta for text in texts):
        keys = sorted({key for text in texts[:100] for key in text.meta})
        names = ", ".join(map(shown, keys[:12])) or "none"
        raise ValueError(Errors.HS167.format(name=group, found=names))


def _groups(texts: Sequence[AnnotatedText], group: str | None) -> list[list[int]]:
    """Returns the indices of texts that belong together, directly or through others."""
    parent = list(range(len(texts)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[tuple[str, str], int] = {}
    for i, text in enumerate(texts):
        keys = [("text", " ".join(text.text.split()))]
        if group is not None and group in text.meta:
            keys.append(("group", str(text.meta[group])))
        for key in keys:
            parent[root(i)] = root(first.setdefault(key, i))
    groups: dict[int, list[int]] = {}
    for i in range(len(texts)):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def _choose(groups: list[list[int]], n_wanted: float, seed: int) -> set[int]:
    """Returns random groups, none too large for what is left, but never all."""
    shuffled = list(groups)
    random.Random(seed).shuffle(shuffled)
    chosen: set[int] = set()
    for members in shuffled[:-1]:
        if len(chosen) + len(members) <= max(n_wanted, 1):
            chosen.update(members)
    return chosen or {*min(groups, key=len)}
