"""Attributes of whole segments that templates of the role "whole" read.

To add one, write a function that computes its values (in a kernel, if it takes a loop
over tokens), enter it in SEGMENT_ATTRIBUTES, and describe it in docs/features.md.
Attributes of matches with lists are in `gazetteers.matches`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .kernels.segment_keys import balance
from .kernels.word_forms import Spellings

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class SegmentAttribute:
    """One attribute of segments.

    values (Callable): (docs, start [K], end [K]), in tokens of concatenated documents,
        -> uint64 [K]: values from 10, or 0 where a segment has none.
    name (Callable): From a value to readable text.
    reads_docs (bool): Whether it reads more of documents than how many tokens they
        have, so that they must be made.
    """

    values: Callable[[Sequence[Doc], Ints, Ints], Keys]
    name: Callable[[int], str]
    reads_docs: bool = True


# TOKENS has one value for each of the lengths from one of these up to the next.
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 9, 13, 21)


def _length(docs: Sequence[Doc], start: Ints, end: Ints) -> Keys:
    return (np.searchsorted(_LENGTHS, end - start, side="right") + 10).astype(np.uint64)


def _length_name(value: int) -> str:
    k = value - 10
    if k == len(_LENGTHS):
        return f"{_LENGTHS[-1]}+"
    least, most = _LENGTHS[k - 1], _LENGTHS[k] - 1
    return str(least) if least == most else f"{least}-{most}"


_BALANCES = {10: "yes", 11: "brackets open", 12: "quotes open", 13: "both open"}


def _balance(docs: Sequence[Doc], start: Ints, end: Ints) -> Keys:
    words = []
    for doc in docs:
        before = ""  # the letter before an apostrophe, if "John's" is two tokens
        for token in doc:
            words.append(before + token.text)
            last = token.text[-1:]
            before = last if last.isalnum() and not token.whitespace_ else ""
    values: Keys = balance(start, end, *Spellings(words).marks())
    return values


SEGMENT_ATTRIBUTES = {
    "TOKENS": SegmentAttribute(_length, _length_name, reads_docs=False),
    "BALANCED": SegmentAttribute(_balance, _BALANCES.__getitem__),
}
