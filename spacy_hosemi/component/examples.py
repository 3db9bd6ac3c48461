"""Examples for training: from texts with spans in characters, as features read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..formats.checks import trimmed
from ..formats.documents import make_doc
from ..formats.texts import AnnotatedText, LabeledSpan, has_half
from ..labels.alignment import read_annotations, with_clean_words
from ..labels.partial import PartialLabels
from ..training.corpus import Corpus, read_corpus
from ..training.data_checks import check_reach
from .arguments import list_examples

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

_EXPECTED = (
    "a list of spaCy's examples, of documents with entities, or of pairs "
    "(text, [(start, end, label), ..])"
)

CharSpan = tuple[int, int, str]
Annotated = tuple[str, Sequence[CharSpan]]


def read_examples(
    examples: Iterable[Example | Doc | Annotated],
    nlp: Language | None,
    component: Any,
) -> list[Example]:
    """Examples as they are; documents, and pairs of a text and its spans, as examples.

    examples (Iterable[Union[Example, Tuple]]): See `HighOrderSemiCRF.fit`.
    nlp (Optional[Language]): For documents and pairs.
    component (Any): What is trained: the components before it annotate the texts.
    RETURNS (List[Example]): In their order.
    RAISES (ValueError): HS180 one of these without nlp; HS182 what is none of them, or
        spans that do not fit their text.
    RAISES (TypeError): HS231 examples.
    """
    items = list_examples(examples, _EXPECTED)
    others = [(k, x) for k, x in enumerate(items) if not isinstance(x, Example)]
    if not others:
        return items
    known = {
        k: x if isinstance(x, Doc) else check_pair(x, f"examples[{k}]")
        for k, x in others
    }
    if nlp is None:
        raise ValueError(Errors.HS180.format(found=f"examples[{others[0][0]}] is one"))
    docs = annotated([_predicted(x, nlp) for x in known.values()], nlp, component)
    made = {
        k: Example(doc, x) if isinstance(x, Doc) else make_example(doc, x[1], nlp)
        for (k, x), doc in zip(known.items(), docs)
    }
    return [x if isinstance(x, Example) else made[k] for k, x in enumerate(items)]


def _predicted(known: Doc | Annotated, nlp: Language) -> Doc:
    """The document to predict: raw text, or given tokens as they are."""
    if not isinstance(known, Doc):
        return nlp.make_doc(known[0])
    for ent in known.ents:  # of another vocabulary, perhaps
        nlp.vocab.strings.add(ent.label_)
    return without_annotation(known, nlp)


def without_annotation(doc: Doc, nlp: Language) -> Doc:
    """A document as a pipeline meets it.

    doc (Doc): n tokens.
    nlp (Language): Its tokenizer cuts the text.
    RETURNS (Doc): Of the same text, tokenized anew; of the same n tokens where their
        spaces are not known.
    """
    if doc.has_unknown_spaces:
        return Doc(nlp.vocab, words=[token.text for token in doc])
    return nlp.make_doc(doc.text)


def annotated(docs: list[Doc], nlp: Language, component: Any) -> list[Doc]:
    """RETURNS (List[Doc]): Documents as the component will meet them: annotated by what
    is before it, except for entities."""
    before = [name for name, proc in nlp.pipeline]
    places = [k for k, (_, proc) in enumerate(nlp.pipeline) if proc is component]
    for name in before[: places[0]] if places else ():
        if "doc.ents" not in nlp.get_pipe_meta(name).assigns:
            docs = [nlp.get_pipe(name)(doc) for doc in docs]
    return docs


def _triple(span: Any) -> Any:
    """A span as annotation tools and readers of files have it: start, end, label."""
    if isinstance(span, Mapping):
        return span.get("start"), span.get("end"), span.get("label")
    return span[:3] if isinstance(span, LabeledSpan) else span


def make_example(doc: Doc, spans: Sequence[CharSpan], nlp: Language) -> Example:
    """An example whose reference has exactly these spans.

    doc (Doc): The predicted document.
    spans (Sequence[Tuple[int, int, str]]): In characters, checked by `check_pair`.
    nlp (Language): Its tokenizer cuts the reference, as do the borders of spans.
    RETURNS (Example): Of the two.
    """
    named = tuple(LabeledSpan(*span) for span in spans)
    return Example(doc, make_doc(AnnotatedText(doc.text, named, "", 0), nlp).doc)


def check_pair(found: Any, name: str) -> Annotated:
    """A text and its spans.

    found (Any): What was given.
    name (str): Of the argument, for messages.
    RETURNS (Tuple[str, List[Tuple[int, int, str]]]): The spans sorted, without
        what is not seen at their ends.
    RAISES (ValueError): HS182.
    """

    def refuse(what: str) -> ValueError:
        return ValueError(Errors.HS182.format(name=name, found=what))

    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise refuse(repr(found)[:80])
    text, given = found
    if not isinstance(text, str) or isinstance(given, str):
        raise refuse(repr(found)[:80])
    if has_half(text):
        raise refuse("half a surrogate pair in its text")
    spans = []
    try:
        for start, end, label in map(_triple, given):
            is_whole = isinstance(start, Integral) and isinstance(end, Integral)
            is_named = isinstance(label, str) and label != "" and not has_half(label)
            if not (is_whole and is_named and 0 <= start < end <= len(text)):
                raise refuse(f"the span {(start, end, label)}")
            span = trimmed(text, LabeledSpan(int(start), int(end), str(label)))
            spans.append((span.start, span.end, span.label))
    except (TypeError, ValueError) as error:
        if str(error).startswith("[HS"):
            raise
        raise refuse(repr(given)[:80]) from None
    spans = sorted(span for span in spans if span[0] < span[1])
    for one, other in pairwise(spans):
        if other[0] < one[1]:
            raise refuse(f"the spans {one} and {other}, which overlap")
    return text, spans


def read_gold(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    warned_labels: set[str] | None = None,
) -> tuple[list[Doc], list[PartialLabels]]:
    """Returns documents as features read them, and what is known of each; with
    warned_labels warns of spans that no tokens can form."""
    annotations = read_annotations(examples, pipe.settings.incorrect_spans_key)
    if warned_labels is not None:
        check_reach(examples, annotations, warned_labels)
    examples, annotations = by_clean_words(pipe, examples, annotations)
    return [example.predicted for example in examples], annotations


def by_clean_words(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    annotations: list[PartialLabels],
) -> tuple[Sequence[Example], list[PartialLabels]]:
    """Returns both by clean words, if features read those."""
    if not pipe.reads_clean:
        return examples, annotations
    is_inside = pipe.settings.outside == "none"
    return with_clean_words(examples, annotations, is_inside)


def read_gold_corpus(pipe: HighOrderSemiCRF, examples: Sequence[Example]) -> Corpus:
    """Returns documents or sentences, and what is known of each."""
    docs, annotations = read_gold(pipe, examples)
    return read_corpus(docs, annotations, pipe.schema, pipe.settings.scope, pipe.name)
