"""Answers of a component to questions about single documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc, Span

from ..core.parallel.coroutines import finish
from ..errors import Errors
from ..features import naming
from ..features.clean_docs import CleanDoc, are_clean, clean_doc
from ..features.instances import check_doc, instances
from ..hierarchy.decoder import segment_decoder
from ..labels.inventory import Span as SpanTriple
from ..labels.partial import AnySpan
from ..prediction.clean_decoder import CleanDecoder
from ..prediction.corrections import read_corrections, read_span, unknown_label
from ..prediction.explanation import (
    Explanation,
    Progress,
    explain_words,
)
from ..prediction.explanation import explain as explain_spans
from ..prediction.records import entities_by_origin
from .annotations import as_predicted, is_predicted, remove_excluded

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def token_features(pipe: HighOrderSemiCRF, doc: Doc, is_train: bool) -> list[list[str]]:
    """Returns the names of the features of each token."""
    check_doc(doc)
    clean, extractor = as_read(pipe, doc), pipe.weights.extractor
    names = [
        names
        for instance in instances(clean.doc, pipe.settings.scope)
        for names in naming.token_features(extractor, instance.tokens, is_train)
    ]
    return clean.by_token(names)


def as_read(pipe: HighOrderSemiCRF, doc: Doc) -> CleanDoc:
    """Returns the document as features read it, and where its words stand: all tokens
    as they are, or with `clean_text` their words in a clean form."""
    if pipe.reads_clean and not are_clean([doc])[0]:
        return clean_doc(doc)
    n_tokens = len(doc)
    starts, ends = [*range(n_tokens)], [*range(1, n_tokens + 1)]
    return CleanDoc(starts, ends, n_tokens, doc)


def redecode(
    pipe: HighOrderSemiCRF,
    doc: Doc,
    keep: Iterable[Span | SpanTriple],
    forbid: Iterable[Span | AnySpan],
) -> Doc:
    """Returns the document, annotated under a user's corrections."""
    check_doc(doc)
    decoder = pipe.decoder
    schema = decoder.state.schema
    projection = schema.projection
    args = schema.inventory, decoder.options.scope, projection.names()
    of_leaves = read_corrections(doc, keep, forbid, *args, pipe.reads_clean)
    corrections = projection.lift(of_leaves)
    (prediction,) = finish(decoder.steps([doc], corrections or None))
    remove_excluded(doc, corrections)
    pipe.set_annotations([doc], [prediction])
    return doc


def explain(
    pipe: HighOrderSemiCRF,
    doc: Doc,
    span: Span | SpanTriple | None,
    label: str | None,
    changes: bool,
    progress: Progress,
) -> Explanation | list[Explanation]:
    """Returns the explanation of a span, or those of all entities of the component."""
    check_doc(doc)
    decoder = pipe.decoder
    schema = decoder.state.schema
    flat = segment_decoder(decoder, pipe.name)
    if not is_predicted(doc, pipe.name):
        raise ValueError(Errors.HS318.format(text=doc[:8].text, name=pipe.name))
    predicted, _ = entities_by_origin(doc, pipe.name)
    names = schema.projection.names()
    spans: list[Any] = predicted if span is None else [span]
    if span is None and label is not None:
        if label not in names:
            raise unknown_label("explain", f"label = {label!r}", names)
        below = flat.inventory.labels_below(label)
        spans = [x for x in predicted if x[2] in below]
    if not spans:
        return []
    args = doc, schema.inventory, names, pipe.reads_clean
    triples: list[Any] = [read_span("span", x, *args) for x in spans]
    before, _ = as_predicted(doc, pipe.name)
    clean = decoder.cleaned(before) if isinstance(decoder, CleanDecoder) else None
    how: Any = triples, {*predicted}, changes, progress
    if clean is None:
        explanations = explain_spans(flat, before, *how)
    else:
        explanations = explain_words(flat, before, clean, *how)
    return explanations if span is None else explanations[0]
