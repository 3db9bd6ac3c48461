"""Entities as spaCy keeps them: attributes of tokens.

No `Span` is made for them: that, and Doc.set_ents, takes about half as long again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE  # type: ignore[import-not-found]
from spacy.tokens import Doc
from thinc.types import Ints2d

from .labels import Span

# What Doc.from_array is to take `entity_columns` for.
ATTRIBUTES = [ENT_IOB, ENT_TYPE]

# Values of ENT_IOB.
_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3


def entity_columns(
    docs: Sequence[Doc], spans: Sequence[Sequence[Span]]
) -> Iterator[Ints2d]:
    """What the tokens of documents say of their entities.

    docs (Sequence[Doc]): Of n tokens each.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Of each document; no two overlap.
    YIELDS (uint64 [n, 2]): For each document `ATTRIBUTES` of its tokens.
    """
    labels = {label for of_doc in spans for _, _, label in of_doc}
    vocabs = {doc.vocab for doc in docs}
    ids = {y: vocab.strings.add(y) for vocab in vocabs for y in labels}
    first = [0, *np.cumsum([*map(len, docs)]).tolist()]
    places = [(low + i, low + j) for low, some in zip(first, spans) for i, j, _ in some]
    start, end = np.array(places, np.intp).reshape(-1, 2).T
    label = np.array([ids[y] for some in spans for _, _, y in some], np.uint64)
    sizes = end - start
    skipped = start - (np.cumsum(sizes) - sizes)
    covered = np.arange(sizes.sum()) + np.repeat(skipped, sizes)
    columns = np.zeros((first[-1], 2), np.uint64)
    columns[:, 0] = _OUTSIDE
    columns[covered, 0] = _INSIDE
    columns[start, 0] = _BEGIN
    columns[covered, 1] = np.repeat(label, sizes)
    return (cast(Ints2d, columns[i:j]) for i, j in zip(first, first[1:]))
