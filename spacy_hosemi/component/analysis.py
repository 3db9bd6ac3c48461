"""What the component says of a document beside its entities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from spacy.tokens import Doc, Span

from ..core import Marginals
from ..core.parallel.coroutines import finish
from ..errors import Errors
from ..features import naming
from ..features.clean_docs import CleanDoc, are_clean, clean_doc
from ..features.instances import check_doc, instances
from ..hierarchy.answers import LeafMarginals
from ..hierarchy.decoder import segment_decoder
from ..labels.inventory import Span as SpanTriple
from ..labels.partial import AnySpan
from ..prediction.answers import (
    Alternative,
    most_probable,
    posteriors,
    total_entropy,
)
from ..prediction.clean_decoder import CleanDecoder, CleanMarginals
from ..prediction.corrections import read_corrections, read_span, unknown_label
from ..prediction.explanation import (
    Explanation,
    Progress,
    explain,
    explain_words,
    unseen,
)
from ..prediction.problem import JointMarginals
from ..prediction.ranked import Answer, make_rows, ranked
from ..prediction.records import entities_by_origin
from .annotations import as_predicted, is_predicted, remove_excluded
from .predicting import Predicting


class Analyzing(Predicting):
    """The part of the component that answers questions about single documents; HS230
    says of what is none."""

    def token_features(self, doc: Doc, is_train: bool = False) -> list[list[str]]:
        """What the model reads at each token, in any role, without minimum count.

        doc (Doc): n tokens.
        is_train (bool): Whether lists of names are read as in training: without the
            entries that come from this document alone, and with dropout.
        RETURNS (List[List[str]]): n lists of names such as "LOWER[-1]=the"; empty for
            whitespace, if clean_text is set.
        """
        check_doc(doc)
        clean, extractor = self.as_read(doc), self.state.weights.extractor
        found = [
            names
            for instance in instances(clean.doc, self.settings.scope)
            for names in naming.token_features(extractor, instance.tokens, is_train)
        ]
        return clean.by_token(found)

    def as_read(self, doc: Doc) -> CleanDoc:
        """RETURNS (CleanDoc): The document as features read it, and where its words
        stand: all tokens as they are, or with `clean_text` their words in a clean form.
        """
        if self.reads_clean and not are_clean([doc])[0]:
            return clean_doc(doc)
        n_tokens = len(doc)
        starts, ends = [*range(n_tokens)], [*range(1, n_tokens + 1)]
        return CleanDoc(starts, ends, n_tokens, doc)

    def marginals(
        self, doc: Doc
    ) -> Marginals | JointMarginals | LeafMarginals | CleanMarginals:
        """The distribution over segmentations of a document.

        doc (Doc): n tokens.
        RETURNS (Marginals): Label index 0 is outside, then as in `labels`. In the scope
            "sents" with the same attributes, but for all sentences together. With
            labels in a tree that of the leaves, level by level without a gradient, else
            with one that for label patterns of the same weight is right in sum.
        """
        check_doc(doc)
        return self.decoder.posterior(doc).marginals()

    def kbest(self, doc: Doc, k: int) -> list[Alternative]:
        """The k most probable segmentations of a document.

        What is most probable is not what decoding = "mbr" predicts, and min_confidence
        drops nothing. In the scope "sents" they are the best combinations of those of
        the sentences. With tags on tokens, where whitespace at the ends of spans is cut
        off, several of the k best may mean the same spans; they are one alternative
        then, with the sum of their probabilities.

        doc (Doc): n tokens.
        k (int): How many; fewer if no more are possible.
        RETURNS (List[Alternative]): Spans in tokens of the document, probability; best
            first. Of an untrained model no spans, with probability 1.
        RAISES (ValueError): HS043 k; HS060 if no segmentation is possible.
        """
        check_doc(doc)
        return most_probable(posteriors(self.decoder, doc), k)

    def entropy(self, doc: Doc) -> float:
        """How uncertain the segmentation of a document is.

        doc (Doc): n tokens.
        RETURNS (float): Entropy of the distribution over segmentations (with tags on
            tokens: over tag sequences) in nats, at least 0; in the scope "sents" the
            sum over the sentences; 0 for an untrained model.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        check_doc(doc)
        return total_entropy(posteriors(self.decoder, doc))

    def redecode(
        self,
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

        doc (Doc): n tokens.
        keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
        forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are
            no entities; label None: whatever their label.
        RETURNS (Doc): The same document, with entities as the component writes them.
        RAISES (ValueError): HS095 to HS098 keep or forbid; HS060 if no segmentation is
            possible; the document is as it was then.
        """
        check_doc(doc)
        decoder = self.decoder
        schema = decoder.state.schema
        projection = schema.projection
        args = schema.inventory, decoder.options.scope, projection.names()
        given = read_corrections(doc, keep, forbid, *args, self.reads_clean)
        corrections = projection.lift(given)
        (prediction,) = finish(decoder.steps([doc], corrections or None))
        remove_excluded(doc, corrections)
        self.set_annotations([doc], [prediction])
        return doc

    @overload
    def explain(
        self,
        doc: Doc,
        span: None = None,
        *,
        label: str | None = None,
        changes: bool = False,
        progress: Progress = unseen,
    ) -> list[Explanation]: ...
    @overload
    def explain(
        self,
        doc: Doc,
        span: Span | SpanTriple,
        *,
        changes: bool = False,
        progress: Progress = unseen,
    ) -> Explanation: ...
    def explain(
        self,
        doc: Doc,
        span: Span | SpanTriple | None = None,
        *,
        label: str | None = None,
        changes: bool = False,
        progress: Progress = unseen,
    ) -> Explanation | list[Explanation]:
        """Why a span was predicted, or why it was not: the most probable segmentation
        that has the span against the most probable one that does not have it.

        log P(best with the span) / P(best without it) is a sum: of features, with their
        values and weights, entries of lists, label patterns, lengths and scores of a
        tok2vec. Other spans are free in both, whatever `decoding` is. Corrections of
        `redecode` are not remembered.

        doc (Doc): n tokens, as predicted by the component. It is explained by the
            weights and settings of now.
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
        decoder = self.decoder
        schema = decoder.state.schema
        flat = segment_decoder(decoder, self.name)
        if not is_predicted(doc, self.name):
            raise ValueError(Errors.HS318.format(text=doc[:8].text, name=self.name))
        own, _ = entities_by_origin(doc, self.name)
        names = schema.projection.names()
        args = doc, schema.inventory, names, self.reads_clean
        spans: list[Any] = own if span is None else [span]
        if span is None and label is not None:
            if label not in names:
                raise unknown_label("explain", f"label = {label!r}", names)
            below = flat.inventory.labels_below(label)
            spans = [x for x in own if x[2] in below]
        if not spans:
            return []
        asked: list[Any] = [read_span("span", x, *args) for x in spans]
        before, _ = as_predicted(doc, self.name)
        clean = decoder.cleaned(before) if isinstance(decoder, CleanDecoder) else None
        if clean is None:
            found = explain(flat, before, asked, {*own}, changes, progress)
        else:
            found = explain_words(flat, before, clean, asked, {*own}, changes, progress)
        return found if span is None else found[0]

    def ranked(self, doc: Doc, k: int = 1) -> list[Answer]:
        """The segmentation that `doc.ents` gets, then the other most probable ones.

        The first one is as `decoding` and `min_confidence` say, and need not be the
        most probable one. Corrections of `redecode` are not remembered. Sentence starts
        and entities that came after the prediction have no influence on it, unless they
        have replaced one of its entities: then all that is in the document counts as
        given. An entity that was removed is predicted again.

        doc (Doc): n tokens.
        k (int): How many, with the first one; fewer if no more are possible.
        RETURNS (List[Answer]): With `spans` in tokens, existing entities included, the
            `confidences` of these spans (None: an existing one), and the `probability`
            of the whole.
        RAISES (ValueError): As `kbest`.
        """
        check_doc(doc)
        return ranked(self.decoder, *as_predicted(doc, self.name), k)

    def to_rows(self, doc: Doc, k: int = 1) -> list[dict[str, Any]]:
        """The spans of `doc.ents`, and of the other most probable segmentations, as
        rows of a table.

        doc (Doc): n tokens.
        k (int): How many segmentations, as for `ranked`.
        RETURNS (List[Dict[str, Any]]): Plain values by column: "rank" of the
            segmentation from 1, which `doc.ents` has, and its "probability"; of the
            span "start" and "end" in tokens, "start_char" and "end_char", "label",
            "text", and as "confidence" the probability of the span itself, in whatever
            segmentation; None for an entity of another component or a person. A
            segmentation without spans has no row.
        RAISES (ValueError): As `kbest`.
        """
        return make_rows(doc, self.ranked(doc, k))
