"""Label inventory: the names that the automaton knows, and mined label patterns.

An *encoding* says what a label of the automaton stands for. With "segments" it is a
label of a span, and outside text is a segment too. With "IO", "BIO" or "BILUO" it is a
tag on one token, and all segments have length one: the linear-chain settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .core.automaton import BEGIN, END
from .errors import Errors

OUTSIDE = "O"
ANY = "*"  # in patterns that are asked for
Span = tuple[int, int, str]  # start, end, label; token offsets, half-open
Segment = tuple[int, int, int]  # start, end, index of an automaton label
Pattern = tuple[str, ...]

ENCODINGS = ("segments", "IO", "BIO", "BILUO")
OUTSIDES = ("run", "token", "none")
SELECTIONS = ("count", "gain")  # of patterns
SMOOTHINGS = (0, 1, 2)  # of lengths

# With more label bigrams than this only those seen in training become patterns.
ALL_BIGRAMS = 20_000


class LabelInventory:
    """Span labels and how they appear in a segmentation.

    labels (Iterable[str]): Labels of spans, without outside.
    encoding (str): "segments", "IO", "BIO" or "BILUO".
    outside (str): "run": outside segments are maximal; "token": they are single tokens;
        "none": there are none.
    RAISES (ValueError): HS040 reserved label; HS042 encoding or outside.
    """

    def __init__(
        self, labels: Iterable[str], encoding: str = "segments", outside: str = "run"
    ) -> None:
        check_choice("encoding", encoding, ENCODINGS)
        check_choice("outside", outside, OUTSIDES)
        self.labels = tuple(labels)
        check_names(self.labels)
        self.encoding = encoding
        self.outside = outside
        prefixes = {"segments": [""], "IO": ["I-"], "BIO": ["B-", "I-"]}.get(
            encoding, ["B-", "I-", "L-", "U-"]
        )
        self.names = (OUTSIDE, *(p + label for label in self.labels for p in prefixes))
        self._index = {name: y for y, name in enumerate(self.names)}

    @property
    def on_tokens(self) -> bool:
        """Whether every segment is one token."""
        return self.encoding != "segments"

    def encode(self, spans: Iterable[Span], n_tokens: int) -> list[Segment]:
        """The segmentation that stands for these spans.

        spans (Iterable[Tuple[int, int, str]]): Sorted, not overlapping.
        n_tokens (int): n.
        RETURNS (List[Tuple[int, int, int]]): Segments that cover all tokens.
        """
        segments: list[Segment] = []
        at = 0
        for start, end, label in spans:
            segments += self._outside(at, start) + self._inside(start, end, label)
            at = end
        return segments + self._outside(at, n_tokens)

    def names_within(self, span: Span) -> NDArray[np.bool_]:
        """RETURNS (bool [n, L]): Which names the n tokens of a span may have."""
        start, end, label = span
        found = np.zeros((end - start, len(self.names)), bool)
        for i, j, y in self._inside(0, end - start, label):
            found[i:j, y] = True
        return found

    def decode(self, segments: Iterable[Segment]) -> list[Span]:
        """The spans that a segmentation stands for."""
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
        """Indices of the tags with one of these prefixes, such as "IL"."""
        return [y for y, name in enumerate(self.names) if y and name[0] in prefixes]

    def forbidden(self) -> list[Pattern]:
        """Patterns that no segmentation may contain."""
        if not self.on_tokens:
            return [(OUTSIDE, OUTSIDE)] if self.outside == "run" else []
        if self.encoding == "IO":
            return []
        closed = self.encoding == "BILUO"
        return [
            (left, right)
            for left in (BEGIN, *self.names)
            for right in (*self.names, END)
            if (left, right) != (BEGIN, END) and not _may_follow(left, right, closed)
        ]

    def _outside(self, start: int, end: int) -> list[Segment]:
        if start == end:
            return []
        if self.on_tokens or self.outside == "token":
            return [(i, i + 1, 0) for i in range(start, end)]
        return [(start, end, 0)]

    def _inside(self, start: int, end: int, label: str) -> list[Segment]:
        if not self.on_tokens:
            return [(start, end, self._index[label])]
        tags = {
            "IO": ["I"] * (end - start),
            "BIO": ["B"] + ["I"] * (end - start - 1),
            "BILUO": ["B"] + ["I"] * (end - start - 2) + ["L"],
        }[self.encoding]
        if self.encoding == "BILUO" and end - start == 1:
            tags = ["U"]
        return [
            (start + i, start + i + 1, self._index[f"{tag}-{label}"])
            for i, tag in enumerate(tags)
        ]


def _may_follow(left: str, right: str, closed: bool) -> bool:
    """Whether a tag (or ^, $) may follow another; closed: L and U end every span."""
    goes_on = right[:2] in ("I-", "L-")
    is_open = left[:2] in ("B-", "I-")
    if goes_on:
        return is_open and left[2:] == right[2:]
    return not (closed and is_open)


def mine_patterns(
    inventory: LabelInventory,
    sequences: Iterable[Sequence[int]],
    *,
    max_order: int,
    min_count: int = 1,
    max_patterns: int | None = None,
    unseen: bool = True,
) -> tuple[list[Pattern], list[Pattern]]:
    """Label patterns for an automaton.

    inventory (LabelInventory): The labels.
    sequences (Iterable[Sequence[int]]): Label indices of gold segmentations.
    max_order (int): Longest pattern - 1; 0: none but forbidden ones.
    min_count (int): How often a pattern of three or more names must occur.
    max_patterns (Optional[int]): Keep the most frequent of those.
    unseen (bool): All label bigrams are patterns, not only those seen: that a bigram
        was not seen tells much, and without a weight it would cost nothing.
    RETURNS (Tuple[List[Pattern], List[Pattern]]): Patterns with weights to learn, and
        forbidden ones.
    """
    counts = _count_patterns(inventory, sequences, max_order)
    forbidden = inventory.forbidden()
    excluded = set(forbidden)
    bigrams = sorted(p for p in counts if len(p) == 2) if max_order > 0 else []
    if unseen and max_order > 0 and len(inventory.names) ** 2 <= ALL_BIGRAMS:
        bigrams = [
            (left, right)
            for left in (BEGIN, *inventory.names)
            for right in (*inventory.names, END)
            if (left, right) != (BEGIN, END)
        ]
    longer = [p for p, k in counts.items() if len(p) > 2 and k >= min_count]
    longer.sort(key=lambda p: (-counts[p], len(p), p))
    patterns = [p for p in bigrams if p not in excluded]
    return patterns + sorted(longer[:max_patterns]), forbidden


def mine_observed(
    inventory: LabelInventory,
    sequences: Iterable[Sequence[int]],
    *,
    max_order: int,
    min_count: int = 1,
    asked: Sequence[Sequence[str]] = (),
) -> list[Pattern]:
    """Label patterns for which transitions have weights: all of them are seen.

    inventory (LabelInventory): The labels.
    sequences (Iterable[Sequence[int]]): Label indices of gold segmentations.
    max_order (int): Longest pattern - 1; 0: none but those asked for.
    min_count (int): How often a pattern of three or more names must occur.
    asked (Sequence[Sequence[str]]): Longer ones too, see `matches`.
    RETURNS (List[Pattern]): Short before long; "^" may stand first, no "$" last.
    """
    longest = max([max_order, *(len(z) - 1 for z in asked)])
    counts = _count_patterns(inventory, sequences, longest)
    found = [
        p
        for p, k in counts.items()
        if (len(p) == 2 or k >= min_count)
        and p[-1] != END
        and (len(p) <= max_order + 1 or any(matches(p, z) for z in asked))
    ]
    return sorted(found, key=lambda p: (len(p), p))


def is_wildcard(name: str) -> bool:
    """Whether a name stands for any label: "*", "*1", .."""
    return name[:1] == ANY and (len(name) == 1 or name[1:].isdecimal())


def check_asked(asked: Iterable[Sequence[str]], inventory: LabelInventory) -> None:
    """RAISES (ValueError): HS112 a pattern that is asked for can never occur. Where no
    label is known yet, any name may be one."""
    is_open = len(inventory.names) == 1
    for names in asked:
        rest = names[1:] if names[0:1] == [BEGIN] else names
        is_known = is_open or all(x in inventory.names or is_wildcard(x) for x in rest)
        if len(names) < 2 or not is_known:
            raise ValueError(Errors.HS112.format(found=names, expected=inventory.names))


def matches(pattern: Pattern, asked: Sequence[str]) -> bool:
    """Whether a label pattern is one of those that are asked for.

    pattern (Pattern): Names of labels; "^" may stand first.
    asked (Sequence[str]): The same, or with "*" for any label; "*1", "*2" .. are the
        same label wherever they stand.
    """
    if len(pattern) != len(asked):
        return False
    known: dict[str, str] = {}
    for name, wanted in zip(pattern, asked):
        if not is_wildcard(wanted):
            if name != wanted:
                return False
        elif name == BEGIN:
            return False
        elif wanted != ANY and known.setdefault(wanted, name) != name:
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


def possible_lengths(
    inventory: LabelInventory, explicit_length: int, max_length: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Length potentials that say only which lengths are possible.

    inventory (LabelInventory): L labels.
    explicit_length (int): D, where there is no limit.
    max_length (Optional[int]): D, as a limit.
    RETURNS (Tuple[float64 [L, D], float64 [L]]): length and tail: 0 or -inf.
    """
    n_labels = len(inventory.names)
    if inventory.on_tokens:
        length, tail = np.zeros((n_labels, 1)), np.full(n_labels, -np.inf)
    else:
        length = np.zeros((n_labels, max_length or explicit_length))
        tail = np.full(n_labels, 0.0 if max_length is None else -np.inf)
        # The limit is one on spans. Outside text is as long as it is, unless:
        tail[0] = 0.0
    if inventory.outside == "token":
        length[0, 1:], tail[0] = -np.inf, -np.inf
    if inventory.outside == "none":
        length[0], tail[0] = -np.inf, -np.inf
    return length, tail


def check_names(labels: Iterable[Any]) -> None:
    """RAISES (ValueError): HS040 if one cannot be a label."""
    for label in labels:
        is_text = isinstance(label, str)
        if not is_text or label in (OUTSIDE, BEGIN, END, "") or label[0] == "!":
            raise ValueError(Errors.HS040.format(found=label))


def check_choice(name: str, found: Any, expected: Sequence[Any]) -> None:
    """RAISES (ValueError): HS042 if it is none of the expected ones."""
    if found not in expected:
        raise ValueError(
            Errors.HS042.format(name=name, found=found, expected=tuple(expected))
        )
