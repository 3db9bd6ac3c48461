"""`span._.confidence`: the posterior probability of exactly that span;
`doc._.record_confidence`: that of the whole segmentation.

A probability that was not computed with the prediction is computed when it is read, and
then stored in the record: from what the prediction left, see `Memo`; for a copy of the
document by the component, if that still has the labels and weights it predicted with.
In a document that was saved before anybody asked there is none.
"""

from __future__ import annotations

from spacy.tokens import Doc, Span

from ..prediction.records import Reader
from .annotations import before_prediction


def register_extension() -> None:
    """Register `span._.confidence`, `span._.label_path` and `doc._.record_confidence`,
    never over a user's own."""
    reader = Reader(before_prediction)
    getters = {"confidence": reader.confidence, "label_path": reader.label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)
    if not Doc.has_extension("record_confidence"):
        Doc.set_extension("record_confidence", getter=reader.whole)
