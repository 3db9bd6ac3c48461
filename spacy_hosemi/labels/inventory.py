"""The labels of spans, and the labels of segments that encode them.

With the encoding "segments" each span is one segment, and text outside of spans is
divided into segments, too. With "IO", "BIO" or "BILUO" each segment is one token, and
its label is a tag: a linear chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..arrays import Bools, Floats
from ..core.automaton.grammar import BEGIN, END
from ..errors import Errors

OUTSIDE = "O"
ANY = "*"  # in observed_patterns
Span = tuple[int, int, str]  # start, end, label; token offsets, half-open
Segment = tuple[int, int, int]  # start, end, index of an automaton label
Pattern = tuple[str, ...]

ENCODINGS = ("segments", "IO", "BIO", "BILUO")
OUTSIDES = ("run", "token", "none")


def _itself(label: str) -> Sequence[str]:
    return (label,)


class LabelInventory:
    """Has the labels of spans, and encodes spans by labels of segments, which are
    `names`, as in the automaton, outside first; ENCODINGS, OUTSIDES ("run": outside
    segments are maximal; "token": single tokens; "none": there are none). From a name
    to the labels that it stands for goes `labels_below`: a label, for itself; an inner
    node of a tree, for all leaves below. Raises HS040 for a reserved label."""

    def __init__(
        self,
        labels: Iterable[str],
        encoding: str = "segments",
        outside: str = "run",
        labels_below: Callable[[str], Sequence[str]] = _itself,
    ) -> None:
        self.labels = tuple(labels)
        check_names(self.labels)
        self.encoding, self.outside = encoding, outside
        self.labels_below = labels_below
        tags = {"segments": "", "IO": "I", "BIO": "BI", "BILUO": "BILU"}[encoding]
        prefixes = [f"{tag}-" for tag in tags] or [""]
        self.names = (OUTSIDE, *(p + label for label in self.labels for p in prefixes))
        self.index = {name: y for y, name in enumerate(self.names)}
        self.on_tokens = encoding != "segments"  # whether segments are single tokens

    def encode(self, spans: Iterable[Span], n_tokens: int) -> list[Segment]:
        """Returns the segmentation with exactly these sorted, disjoint spans."""
        segments: list[Segment] = []
        is_run, at = not self.on_tokens and self.outside != "token", 0
        for start, end, label in (*spans, (n_tokens, n_tokens, "")):
            if is_run and at < start:
                segments.append((at, start, 0))
            else:
                segments += [(i, i + 1, 0) for i in range(at, start)]
            if label and not self.on_tokens:
                segments.append((start, end, self.index[label]))
            elif label:
                segments += self._inside(start, end, label)
            at = end
        return segments

    def names_within(self, spans: Iterable[Span], n_tokens: int) -> Bools:
        """Returns the names that encode spans at tokens, bool [n, L]; else all."""
        names = np.ones((n_tokens, len(self.names)), bool)
        for start, end, name in spans:
            names[start:end] = False
            for label in self.labels_below(name):
                for i, j, y in self._inside(start, end, label):
                    names[i:j, y] = True
        return names

    def decode(self, segments: Iterable[Segment]) -> list[Span]:
        """Returns the spans of a segmentation."""
        if not self.on_tokens:
            return [(i, j, self.names[y]) for i, j, y in segments if y]
        spans: list[Span] = []
        for start, end, y in segments:
            if not y:
                continue
            prefix, label = self.names[y].split("-", 1)
            goes_on = prefix in ("I", "L") and spans and spans[-1][1] == start
            if goes_on and spans[-1][2] == label:
                spans[-1] = (spans[-1][0], end, label)
            else:
                spans.append((start, end, label))
        return spans

    def tags_that(self, prefixes: str) -> list[int]:
        """Returns tags with one of these prefixes, such as "IL"."""
        return [y for y, name in enumerate(self.names) if y and name[0] in prefixes]

    def forbidden(self) -> list[Pattern]:
        """Returns patterns that the encoding excludes."""
        if not self.on_tokens:
            return [(OUTSIDE, OUTSIDE)] if self.outside == "run" else []
        if self.encoding == "IO":
            return []
        closed = self.encoding == "BILUO"
        return [pair for pair in bigrams(self.names) if not _may_follow(*pair, closed)]

    def _inside(self, start: int, end: int, label: str) -> list[Segment]:
        if not self.on_tokens:
            return [(start, end, self.index[label])]
        n = end - start
        tags = {"IO": "I" * n, "BIO": "B" + "I" * (n - 1)}.get(self.encoding)
        if tags is None:  # BILUO
            tags = "U" if n == 1 else "B" + "I" * (n - 2) + "L"
        names = [f"{tag}-{label}" for tag in tags]
        return [(i, i + 1, self.index[x]) for i, x in enumerate(names, start)]


def bigrams(names: Sequence[str]) -> list[tuple[str, str]]:
    """Returns all pairs of names that may be adjacent, the ends of a text included."""
    pairs = product((BEGIN, *names), (*names, END))
    return [pair for pair in pairs if pair != (BEGIN, END)]


def _may_follow(left: str, right: str, closed: bool) -> bool:
    """Says whether a tag (^, $) may follow another; closed: spans end with L or U."""
    is_open = left[:2] in ("B-", "I-")
    if right[:2] in ("I-", "L-"):
        return is_open and left[2:] == right[2:]
    return not (closed and is_open)


def possible_lengths(
    inventory: LabelInventory, explicit_length: int, max_length: int | None
) -> tuple[Floats, Floats]:
    """Returns length potentials [L, D] and tail [L], -inf for impossible lengths and
    else 0; D is max_length, the longest span, or explicit_length."""
    n_labels = len(inventory.names)
    if inventory.on_tokens:
        length, tail = np.zeros((n_labels, 1)), np.full(n_labels, -np.inf)
    else:
        length = np.zeros((n_labels, max_length or explicit_length))
        tail = np.full(n_labels, 0.0 if max_length is None else -np.inf)
        # max_length limits spans, not outside text.
        tail[0] = 0.0
    if inventory.outside == "token":
        length[0, 1:], tail[0] = -np.inf, -np.inf
    if inventory.outside == "none":
        length[0], tail[0] = -np.inf, -np.inf
    return length, tail


def check_names(labels: Iterable[Any]) -> None:
    """Raises HS040 if one cannot be a label."""
    for label in labels:
        is_text = isinstance(label, str)
        if not is_text or label in (OUTSIDE, BEGIN, END, "") or label[0] == "!":
            raise ValueError(Errors.HS040.format(found=label))
