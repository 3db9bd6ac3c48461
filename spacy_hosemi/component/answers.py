"""Answers of a component to questions about single documents; HS230 says that it is
none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc, Span

from ..core.parallel.coroutines import finish
from ..errors import Errors
from ..features import naming
from ..features.clean_docs import WordPlaces, are_clean, clean_doc
from ..features.instances import check_doc, divide
from ..hierarchy.decoder import segment_decoder
from ..labels.inventory import Span as SpanTriple
from ..labels.partial import AnySpan, PartialLabels
from ..prediction.answers import Alternative, most_probable
from ..prediction.corrections import (
    read_corrections,
    read_span,
    read_spans,
    unknown_label,
    unseen_end,
)
from ..prediction.existing_entities import (
    as_predicted,
    entities_by_origin,
    is_predicted,
    preset_entities,
)
from ..prediction.explanation import Progress, unseen
from ..prediction.explanation import explain as explain_spans
from ..prediction.guarantee import Verdict
from ..prediction.ranked import RankedSegmentation, make_rows
from ..prediction.ranked import ranked as rank
from .annotations import remove_excluded

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def token_features(
    pipe: HighOrderSemiCRF, doc: Doc, is_train: bool = False
) -> list[list[str]]:
    """List what the model reads at each token, in any role, without minimum count.

    is_train (bool): Whether lists of names are read as in training: without the
        entries that come from this document alone, and with dropout.
    RETURNS (List[List[str]]): Names such as "LOWER[-1]=the" for each token; none
        for whitespace, if clean_text is set.
    """
    check_doc(doc)
    (words, places), extractor = as_read(pipe, doc), pipe.weights.extractor
    names = [
        of_word
        for instance in divide(words, pipe.settings.scope)
        for of_word in naming.token_features(extractor, instance.tokens, is_train)
    ]
    return places.by_token(names)


def as_read(pipe: HighOrderSemiCRF, doc: Doc) -> tuple[Doc, WordPlaces]:
    """Returns the document as features read it, and where its words stand: all tokens
    as they are, or with `clean_text` their words in a clean form."""
    if pipe.reads_clean and not are_clean([doc])[0]:
        return clean_doc(doc)
    starts, ends = [*range(len(doc))], [*range(1, len(doc) + 1)]
    return doc, WordPlaces(starts, ends, len(doc))


def marginals(pipe: HighOrderSemiCRF, doc: Doc) -> Any:
    """Compute the distribution over segmentations of a document.

    RETURNS (Marginals): Columns are those of `automaton.labels`. In the scope "sents"
        with the same attributes, but for all sentences together. With labels in a tree
        that of the leaves, level by level without a gradient, else with one that for
        label patterns of the same weight is right in sum.
    """
    check_doc(doc)
    return pipe.decoder.posterior(doc).marginals()


def kbest(pipe: HighOrderSemiCRF, doc: Doc, k: int) -> list[Alternative]:
    """Find the k most probable segmentations of a document.

    The most probable one is not what decoding = "mbr" predicts, and min_confidence
    drops nothing. In the scope "sents" they are the best combinations of those of
    the sentences. With tags on tokens, where whitespace at the ends of spans is cut
    off, several of the k best may mean the same spans; they are one alternative
    then, with the sum of their probabilities.

    RETURNS (List[Alternative]): Spans in tokens, probability; best first, fewer
        than k if no more are possible. Of an untrained model no spans, with
        probability 1.
    RAISES (ValueError): HS043 k; HS060 if no segmentation is possible.
    """
    check_doc(doc)
    return most_probable(pipe.decoder.posterior_if_trained(doc), k)


def probability(
    pipe: HighOrderSemiCRF, doc: Doc, spans: Iterable[Span | SpanTriple]
) -> float:
    """Compute the probability of a given segmentation: exactly these spans.

    exp(score - log Z), with the rules, lists and temperature of now. Entities that were
    there before the prediction are given, and may be among the spans.

    spans (Iterable[Union[Span, Tuple[int, int, str]]]): In tokens, in any order, not
        overlapping. In a label tree the name of an inner node stands for all labels
        below it.
    RETURNS (float): In [0, 1]; 0 if they are no segmentation that the model may
        predict, such as with a span that begins with whitespace.
    RAISES (ValueError): HS095 to HS097 spans. RAISES (TypeError): HS043 spans.
    """
    check_doc(doc)
    decoder = pipe.decoder
    schema = decoder.state.schema
    names = schema.projection.names()
    preset = {(x.start, x.end, x.label_) for x in preset_entities(doc, pipe.name)}
    labels = {*names, *(label for *_, label in preset)}
    given = read_spans("spans", spans, doc, schema.inventory, labels)
    free: list[Any] = [span for span in given if span not in preset]
    args = doc, schema.inventory, pipe.reads_clean
    if any(x[2] not in names or unseen_end(x, *args) for x in free):
        return 0.0
    if not all(map(PartialLabels(tuple(preset)).permits, free)):
        return 0.0
    if (posterior := decoder.posterior_if_trained(doc)) is None:
        return float(not free)
    words = posterior.batch.words.get(posterior.rows[0])
    if words and any(words.to_tokens(words.to_words(x) or x) != x for x in free):
        return 0.0  # within a word that is divided at the end of a line
    return posterior.whole(free)


def entropy(pipe: HighOrderSemiCRF, doc: Doc) -> float:
    """Compute how uncertain the segmentation of a document is.

    RETURNS (float): Entropy of the distribution over segmentations (with tags on
        tokens: over tag sequences) in nats, at least 0; in the scope "sents" the
        sum over the sentences; 0 for an untrained model.
    RAISES (ValueError): HS060 if no segmentation is possible.
    """
    check_doc(doc)
    posterior = pipe.decoder.posterior_if_trained(doc)
    return 0.0 if posterior is None else posterior.entropy()


def redecode(
    pipe: HighOrderSemiCRF,
    doc: Doc,
    keep: Iterable[Span | SpanTriple] = (),
    forbid: Iterable[Span | AnySpan] = (),
) -> Doc:
    """Predict again under a user's corrections.

    The best segmentation with all spans of `keep` and none of `forbid`; confidences
    are conditional on the corrections (with tags on tokens on `keep` alone).
    Corrections override hard lists; `keep` overrides sentence starts in the scope
    "doc"; with `collective` a kept span also counts for its words elsewhere. A call
    does not remember earlier ones: pass all corrections each time. In a label tree
    the name of an inner node stands for all labels below it.

    keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
    forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are
        no entities; label None: whatever their label.
    RETURNS (Doc): The same document, with entities as the component writes them.
    RAISES (ValueError): HS095 to HS098 keep or forbid; HS060 if no segmentation is
        possible; the document is as it was then.
    """
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
    span: Span | SpanTriple | None = None,
    *,
    label: str | None = None,
    changes: bool = False,
    progress: Progress = unseen,
) -> Any:
    """Explain why a span was predicted, or why it was not: compare the most
    probable segmentation with the span and the most probable one without it.

    log P(best with the span) / P(best without it) is a sum: of features, with their
    values and weights, entries of lists, label patterns, lengths and scores of a
    tok2vec. Other spans are free in both, whatever `decoding` is. Weights and
    settings are those of now; corrections of `redecode` are not remembered.

    doc (Doc): As predicted by the component.
    span (Optional[Union[Span, Tuple[int, int, str]]]): Any, predicted or not; None:
        each entity that the component found. In a label tree the name of an inner
        node stands for all labels below it.
    label (Optional[str]): Without a span: explain only entities with this label, or
        in a label tree with one below this name.
    changes (bool): Whether to look for what would change the answer: an entry more
        or less of a list, a rule more or less. Each is tried by a prediction.
    progress (Callable): Shows how far it is, such as `tqdm.tqdm`: called with the
        explanations as they are made, and `total`, their number; yields the same.
    RETURNS (Union[Explanation, List[Explanation]]): Of the span; of each entity.
    RAISES (ValueError): HS060 no segmentation is possible; HS095 no span of the
        document; HS096 unknown label; HS317 labels in a tree have a tok2vec or
        too many weights; HS318 the component has not predicted the document.
    """
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
    explanations = explain_spans(flat, before, triples, {*predicted}, changes, progress)
    return explanations if span is None else explanations[0]


def ranked(pipe: HighOrderSemiCRF, doc: Doc, k: int = 1) -> list[RankedSegmentation]:
    """List the segmentation that `doc.ents` gets, then the most probable others.

    The first one is as `decoding` and `min_confidence` say, and need not be the
    most probable one. Corrections of `redecode` are not remembered. Sentence starts
    and entities that came after the prediction have no influence on it, unless they
    have replaced one of its entities: then all that is in the document counts as
    given. An entity that was removed is predicted again.

    k (int): How many, with the first one; fewer if no more are possible.
    RETURNS (List[RankedSegmentation]): With `spans` in tokens, existing entities
        included, the `confidences` of these spans (None: an existing one), and the
        `probability` of the whole.
    RAISES (ValueError): As `kbest`.
    """
    check_doc(doc)
    return rank(pipe.decoder, *as_predicted(doc, pipe.name), k)


def verdicts(pipe: HighOrderSemiCRF, doc: Doc) -> list[Verdict]:
    """Say of a predicted document what `parse` says: which answers need no eye. Whether
    the model is still that of the promise, see `guarantee_in_force`.

    RETURNS (List[str]): "accept" or "review": of the record, or of each of `doc.ents`;
        none without a guarantee, or without text.
    """
    guarantee, spans = pipe.settings.guarantee, doc.ents
    if guarantee is None or not doc.text.strip():
        return []
    labels, facts = [span.label_ for span in spans], pipe.facts
    is_unusual = facts is not None and facts.is_unusual(labels, doc.text)
    scored = [(span.label_, span._.confidence) for span in spans]
    scored = [*guarantee.judged(scored, doc._.record_confidence, is_unusual)]
    if guarantee.is_of_records:
        return [guarantee.of_record(p) for _, p in scored]
    return guarantee.of_spans(scored)


def to_rows(pipe: HighOrderSemiCRF, doc: Doc, k: int = 1) -> list[dict[str, Any]]:
    """List the spans of what `ranked` returns as rows of a table.

    RETURNS (List[Dict[str, Any]]): Plain values by column: "rank" of the
        segmentation from 1, which `doc.ents` has, and its "probability"; of the
        span "start" and "end" in tokens, "start_char" and "end_char", "label",
        "text", and as "confidence" the probability of the span itself, in whatever
        segmentation; None for an entity of another component or a person. A
        segmentation without spans has no row.
    RAISES (ValueError): As `kbest`.
    """
    return make_rows(doc, pipe.ranked(doc, k))
