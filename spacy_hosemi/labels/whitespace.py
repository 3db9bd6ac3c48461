"""Keeps whitespace off the ends of spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..arrays import Bools
from ..errors import Errors
from .inventory import Span


def whitespace(doc: Doc) -> NDArray[Any] | None:
    """Returns whitespace tokens, int [K], which end no span; None if there are none."""
    # Most documents have none, and this is the fastest test.
    if not doc.has_annotation(IS_SPACE):
        return None
    spaces = np.flatnonzero(doc.to_array(IS_SPACE))
    return spaces if len(spaces) else None


def trim_whitespace(spans: Iterable[Span], is_space: Bools) -> list[Span]:
    """Returns spans without whitespace tokens at their ends, and without spans of
    whitespace alone; is_space: of each token, bool [n]."""
    trimmed = []
    for start, end, label in spans:
        while start < end and is_space[start]:
            start += 1
        while start < end and is_space[end - 1]:
            end -= 1
        if start < end:
            trimmed.append((start, end, label))
    return trimmed


def before_trimming(span: Span, is_space: Bools) -> Iterator[Span]:
    """Yields the span, and all that `trim_whitespace` changes to it."""
    first, last, label = span
    while first > 0 and is_space[first - 1]:
        first -= 1
    while last < len(is_space) and is_space[last]:
        last += 1
    for start in range(first, span[0] + 1):
        for end in range(span[1], last + 1):
            yield start, end, label


def check_ends(spans: Iterable[Span], doc: Doc) -> None:
    """Raises HS103 if a span begins or ends with whitespace."""
    for start, end, label in spans:
        if doc[start].is_space or doc[end - 1].is_space:
            text = doc[start:end].text
            raise ValueError(Errors.HS103.format(text=text, label=label))
