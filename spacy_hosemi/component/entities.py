"""Entities as spaCy keeps them: attributes of tokens.

No `Span` is made for them: that, and Doc.set_ents, takes about half as long again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import cast

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE  # type: ignore[import-not-found]
from spacy.tokens import Doc
from thinc.types import Ints2d

from ..labels.inventory import Span
from .token_labels import cover

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
    RAISES (IndexError): A span is not within its document, which was merged perhaps.
    """
    labels = {label for of_doc in spans for _, _, label in of_doc}
    vocabs = {doc.vocab for doc in docs}
    ids = {x: {label: x.strings.add(label) for label in labels} for x in vocabs}
    first = [0, *accumulate(map(len, docs))]
    columns = np.empty((first[-1], 2), np.uint64)
    of_docs = [ids[doc.vocab] for doc in docs]
    cover(list(spans), of_docs, first, _BEGIN, _INSIDE, _OUTSIDE, columns)
    return (cast(Ints2d, columns[i:j]) for i, j in zip(first, first[1:]))
