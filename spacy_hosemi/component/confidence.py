"""`span._.confidence`: the posterior probability of exactly that span.

A component leaves a record in `doc.user_data["hosemi"][name]`:

    {"component": id, "spans": {"start:end:label": probability or None}}

with character offsets; with labels in a tree under "paths" for each span the names from
the top with their probabilities. None means not computed yet: then the component, if it
still lives in this process, is asked when somebody reads an attribute; it finds under
"given" what limited the prediction, see `preset`. Plain numbers and strings only, so
that the record travels with Doc.to_bytes and DocBin.
"""

from __future__ import annotations

from spacy.tokens import Span

from ..prediction.records import _record_of, span_key


def get_confidence(span: Span) -> float | None:
    """Posterior of a predicted span; None for any other.

    If two components predicted it, the one that ran last has the word.

    span (Span): With its label.
    RETURNS (Optional[float]): In [0, 1].
    """
    key, record = span_key(span), _record_of(span)
    return None if record is None else record["spans"][key]


def get_label_path(span: Span) -> list[tuple[str, float | None]] | None:
    """The names from the top of the label tree to the label, and the posterior of
    exactly this span with a label below each; None for a span that was not predicted.

    span (Span): With its label.
    RETURNS (Optional[List[Tuple[str, float]]]): Of labels without a tree the label
        alone. Where min_confidence ended the way earlier, the rest of it comes too. A
        label that has others below it comes twice: with all of them, and as itself.
    """
    key, record = span_key(span), _record_of(span)
    if record is None:
        return None
    path = record.get("paths", {}).get(key, [(span.label_, record["spans"][key])])
    return [(name, p) for name, p in path]


def register_extension() -> None:
    """Register `span._.confidence` and `label_path`, never over a user's own."""
    getters = {"confidence": get_confidence, "label_path": get_label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)
