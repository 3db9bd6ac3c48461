"""Reads documents by their words in a clean form, see `features.clean_docs`."""

from __future__ import annotations

import numpy as np
from spacy.tokens import Doc

from ..features.clean_docs import WordPlaces, are_clean, clean_doc
from ..features.doc_batch import DocBatch
from ..labels.inventory import OUTSIDE
from ..labels.partial import NOTHING, PartialLabels
from .existing_entities import read_existing


def read_words(
    docs: DocBatch, name: str, corrections: PartialLabels | None = None
) -> tuple[DocBatch, dict[int, WordPlaces], PartialLabels | None]:
    """Makes the documents clean that are not.

    name (str): Of the component; existing entities that it has not written, and
        corrections of a user, are not within words.
    RETURNS (Tuple[DocBatch, Dict[int, WordPlaces], Optional[PartialLabels]]): All
        documents; where the words of those stand that were made clean; the corrections
        as spans of words.
    """
    if docs.is_clean or all(is_clean := are_clean(docs)):
        return docs, {}, corrections
    cleaned = {
        d: _clean(doc, name, corrections)
        for d, doc in enumerate(docs)
        if not is_clean[d]
    }
    if corrections:
        corrections = corrections.of_words(cleaned[0][1])
    read = [cleaned[d][0] if d in cleaned else doc for d, doc in enumerate(docs)]
    places = {d: words for d, (_, words) in cleaned.items()}
    return DocBatch(read), places, corrections


def _clean(
    doc: Doc, name: str, corrections: PartialLabels | None
) -> tuple[Doc, WordPlaces]:
    """RETURNS (Tuple[Doc, WordPlaces]): One document made clean, see `read_words`."""
    existing = read_existing(doc, name)
    if existing is None and corrections is None:  # as of most documents
        return clean_doc(doc)
    existing = existing or NOTHING
    ents = list(existing.required)
    if (blocked := existing.outside()) is not None:
        # As entities that the model does not know.
        ents += [(i, i + 1, OUTSIDE) for i in np.flatnonzero(blocked).tolist()]
    spans = [*ents]
    if corrections:
        spans += [*corrections.required, *corrections.excluded]  # type: ignore[list-item]
    borders = {i for start, end, _ in spans for i in (start, end)}
    return clean_doc(doc, borders, sorted(ents))
