"""Examples for training: from texts with spans in characters, as features read them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ..errors import Errors, Warnings
from ..formats.checks import trimmed
from ..formats.documents import make_doc
from ..formats.texts import AnnotatedText, LabeledSpan, has_half
from ..labels.alignment import (
    check_reach,
    labels_of,
    read_annotations,
    with_clean_words,
    with_separators,
)
from ..labels.partial import PartialLabels
from ..training.corpus import Corpus, read_corpus
from ..values import choice, read, shown
from .folds import words_of

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

CharSpan = tuple[int, int, str]
Annotated = tuple[str, Sequence[CharSpan]]


def check_examples(examples: Any, method: str) -> list[Example]:
    """Returns all examples that a method of the component is given; raises HS231 if
    they are no iterable, E978 if there is something else among them."""
    expected = "a list of spaCy's examples, such as Example.from_dict makes"
    items: list[Example] = _list(examples, expected)
    validate_examples(items, f"HighOrderSemiCRF.{method}")
    return items


def read_examples(
    examples: Iterable[Example | Doc | Annotated],
    nlp: Language | None,
    pipe: HighOrderSemiCRF,
    name: str = "examples",
) -> list[Example]:
    """Makes spaCy's examples of an argument of `HighOrderSemiCRF.fit`, in order.

    Raises HS180 if nlp is None, and not all are spaCy's examples; HS182 for an item of
    another type, or spans that do not fit their text; HS231 for no iterable."""
    items = _list(
        examples,
        "a list of spaCy's examples, of documents with entities, or of pairs "
        "(text, [(start, end, label), ..])",
        name,
    )
    golds: dict[int, Doc | Annotated] = {
        k: item if isinstance(item, Doc) else check_pair(item, f"{name}[{k}]")
        for k, item in enumerate(items)
        if not isinstance(item, Example)
    }
    if not golds:
        return items
    if nlp is None:
        raise ValueError(Errors.HS180.format(found=f"{name}[{min(golds)}]"))
    check_pipeline(nlp)
    docs = [
        without_annotation(x, nlp) if isinstance(x, Doc) else nlp.make_doc(x[0])
        for x in golds.values()
    ]
    for (k, gold), doc in zip(golds.items(), _annotated_before(pipe, docs, nlp)):
        if isinstance(gold, Doc):
            items[k] = Example(doc, gold)
        else:
            items[k] = make_example(doc, gold[1], nlp)
    return items


def check_pipeline(nlp: Any) -> None:
    """Raises HS232 if this is neither a pipeline nor None."""
    if not (nlp is None or isinstance(nlp, Language)):
        raise TypeError(Errors.HS232.format(found=shown(nlp)))


def _list(examples: Any, expected: str, name: str = "examples") -> list[Any]:
    """Returns all items; raises HS231 for no iterable, or a single text."""
    if isinstance(examples, Iterable) and not isinstance(examples, (str, bytes)):
        return [*examples]
    args = {"name": name, "found": shown(examples), "expected": expected}
    raise TypeError(Errors.HS231.format(**args))


def without_annotation(doc: Doc, nlp: Language) -> Doc:
    """Returns a document as a pipeline meets it: tokenized anew, or where the spaces
    between its tokens are not known with the same tokens. Its labels, perhaps of
    another vocabulary, become known."""
    for ent in doc.ents:
        nlp.vocab.strings.add(ent.label_)
    if doc.has_unknown_spaces:
        return Doc(nlp.vocab, words=[token.text for token in doc])
    return nlp.make_doc(doc.text)


def _annotated_before(
    pipe: HighOrderSemiCRF, docs: list[Doc], nlp: Language
) -> list[Doc]:
    """Returns documents as the component will meet them: annotated by what is before
    it, except for entities."""
    names = [name for name, _ in nlp.pipeline]
    places = [k for k, (_, proc) in enumerate(nlp.pipeline) if proc is pipe]
    for name in names[: places[0]] if places else ():
        if "doc.ents" not in nlp.get_pipe_meta(name).assigns:
            docs = [nlp.get_pipe(name)(doc) for doc in docs]
    return docs


def make_example(doc: Doc, spans: Sequence[CharSpan], nlp: Language) -> Example:
    """Returns an example whose reference has exactly these spans, checked by
    `check_pair`; the tokenizer cuts the reference, as do the borders of spans."""
    labeled = tuple(LabeledSpan(*span) for span in spans)
    return Example(doc, make_doc(AnnotatedText(doc.text, labeled, "", 0), nlp)[0])


def check_pair(pair: Any, name: str) -> Annotated:
    """Returns a text and its spans, sorted, without what is not seen at their ends;
    raises HS182, which says the name of the argument, if it is something else."""

    def refuse(what: str) -> ValueError:
        return ValueError(Errors.HS182.format(name=name, found=what))

    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise refuse(repr(pair)[:80])
    text, items = pair
    if not isinstance(text, str) or isinstance(items, str):
        raise refuse(repr(pair)[:80])
    if has_half(text):
        raise refuse("half a surrogate pair in its text")
    spans = []
    try:
        for start, end, label in map(_triple, items):
            is_whole = isinstance(start, Integral) and isinstance(end, Integral)
            is_named = isinstance(label, str) and label != "" and not has_half(label)
            if not (is_whole and is_named and 0 <= start < end <= len(text)):
                raise refuse(f"the span {(start, end, label)}")
            span = trimmed(text, LabeledSpan(int(start), int(end), str(label)))
            spans.append((span.start, span.end, span.label))
    except (TypeError, ValueError) as error:
        if str(error).startswith("[HS"):
            raise
        raise refuse(repr(items)[:80]) from None
    spans = sorted(span for span in spans if span[0] < span[1])
    for first, second in pairwise(spans):
        if second[0] < first[1]:
            raise refuse(f"the spans {first} and {second}, which overlap")
    return text, spans


def _triple(span: Any) -> Any:
    """Returns start, end, label of a mapping or `LabeledSpan`; else `span` as it is."""
    if isinstance(span, Mapping):
        return span.get("start"), span.get("end"), span.get("label")
    return span[:3] if isinstance(span, LabeledSpan) else span


def read_corrections(
    pipe: HighOrderSemiCRF, examples: list[Example], labels: Sequence[str], trim: bool
) -> tuple[list[Example], list[PartialLabels]]:
    """Returns the last of the examples with the same words, and their annotation, for
    `adapt`; see there."""
    known, key = [*pipe.labels, *labels], pipe.incorrect_spans_key
    pairs = [*zip(examples, read_annotations(examples, key))]
    last = {words_of(x.predicted): (x, annotation) for x, annotation in pairs}
    counted = [last[words_of(x.predicted)][1] for x in examples]
    n_other = sum(x.required != y.required for x, (_, y) in zip(counted, pairs))
    items, annotations = [x for x, _ in last.values()], [x for _, x in last.values()]
    docs = [x.predicted for x in items]
    if all(x.unknown(len(doc)).all() for x, doc in zip(annotations, docs)):
        raise ValueError(Errors.HS368.format(found=len(examples)))
    found = labels_of(annotations)
    if unknown := sorted(found.difference(known)):
        by_lower = {label.lower(): label for label in known}
        near = get_close_matches(unknown[0].lower(), by_lower, 1) or by_lower
        args = {"found": unknown, "near": [by_lower[x] for x in near]}
        raise ValueError(Errors.HS370.format(name=pipe.name, **args))
    for k, label in enumerate(labels):
        read(f"labels[{k}]", choice(tuple(sorted({*found, *pipe.labels}))), label)
    if n_other:
        message = Warnings.HSW97.format(found=n_other, total=len(examples))
        warnings.warn(message, stacklevel=3)
    check_reach(items, annotations, set())
    spans = [x.spans for x in pipe.predict(docs)]
    trimmed, differences = with_separators(docs, annotations, spans)
    n_docs = sum(map(bool, differences))
    if not trim and n_docs > len(docs) / 2:
        n = Counter(chain.from_iterable(differences)).most_common(3)
        texts = "; ".join(f"{text}: {times}" for text, times in n)
        shown = {"name": pipe.name, "total": len(docs), "texts": texts}
        warnings.warn(Warnings.HSW96.format(found=n_docs, **shown), stacklevel=3)
    return items, trimmed if trim else annotations


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
