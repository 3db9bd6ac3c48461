"""Reads gold annotation onto predicted documents; no other module reads gold."""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from operator import attrgetter

import numpy as np
from spacy.attrs import ENT_IOB, IS_SPACE  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan
from spacy.training import Example

from ..errors import Errors, Warnings
from ..features.clean_docs import are_clean, clean_doc
from .inventory import Span
from .partial import PartialLabels
from .whitespace import check_ends

# Start and end in characters, and label.
Characters = tuple[int, int, str]

Borders = tuple[list[int], list[int]]


def read_annotations(
    examples: Iterable[Example], incorrect_key: str | None = None
) -> list[PartialLabels]:
    """Returns the annotation of references on the tokens of predicted documents: tokens
    outside gold spans are blocked, those of a gold span that is not aligned with tokens
    unknown. Spans of the group `incorrect_key` of reference.spans are no entities."""
    return [_read_annotation(example, incorrect_key) for example in examples]


def _read_annotation(example: Example, incorrect_key: str | None) -> PartialLabels:
    tags = example.get_aligned_ner()
    spans: list[Span] = []
    start = 0
    for i, tag in enumerate(tags):
        if tag and tag[:2] in ("B-", "U-"):
            start = i
        if tag and tag[:2] in ("L-", "U-"):
            spans.append((start, i + 1, tag[2:]))
    is_missing = np.array([tag is None or tag == "-" for tag in tags], bool)
    # spaCy aligns some whitespace tokens to nothing and calls them outside: beside
    # unknown tokens they are unknown, too.
    for i in np.flatnonzero(example.predicted.to_array(IS_SPACE)).tolist():
        if tags[i] == "O":
            is_missing[i] = is_missing[max(i - 1, 0) : i + 2].any()
    is_outside = ~is_missing
    for start, end, _ in spans:
        is_outside[start:end] = False
    groups, aligned = example.reference.spans, list[DocSpan]()
    if incorrect_key is not None and incorrect_key in groups:
        group = groups[incorrect_key]
        aligned = example.get_aligned_spans_y2x(group, allow_overlap=True)
    excluded = tuple([(span.start, span.end, span.label_) for span in aligned])
    return PartialLabels(tuple(spans), excluded, is_outside)


def labels_of(annotations: Iterable[PartialLabels]) -> set[str]:
    """Returns the labels of required spans."""
    return {label for a in annotations for *_, label in a.required}


def with_clean_words(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    trims: bool = False,
) -> tuple[list[Example], list[PartialLabels]]:
    """Returns examples and annotations by words in a clean form, see `clean_doc`; those
    of clean documents are as before. No border of a gold span is within a word. Raises
    HS103 if a span begins or ends with whitespace, unless spans are trimmed."""
    by_words = [*zip(examples, annotations)]
    is_clean: list[bool] = []
    for _, of_vocab in groupby((x.predicted for x in examples), attrgetter("vocab")):
        is_clean += are_clean([*of_vocab])
    for k, (example, partial) in enumerate(by_words):
        doc = example.predicted
        if not is_clean[k]:
            if not trims:
                check_ends(partial.required, doc)
            spans = (*partial.required, *partial.excluded)
            clean, words = clean_doc(doc, {i for *both, _ in spans for i in both})
            example = Example(clean, example.reference)
            by_words[k] = example, partial.of_words(words)
    return [example for example, _ in by_words], [partial for _, partial in by_words]


def out_of_reach(example: Example, annotation: PartialLabels) -> list[DocSpan]:
    """Returns reference entities that begin or end inside a token of the prediction."""
    ents = example.reference.ents
    if len(ents) == len(annotation.required):
        return []
    (starts, ends), of_reference = _places(example)
    required = {(starts[i], ends[j - 1], y) for i, j, y in annotation.required}
    starts, ends = of_reference
    return [
        ent
        for ent in ents
        if (starts[ent.start], ends[ent.end - 1], ent.label_) not in required
    ]


def check_reach(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    named: set[str] | None = None,
) -> None:
    """Warns by HSW01 of gold spans that begin or end inside a token: they are neither
    learnt nor predicted. Raises ValueError HS156 if no span of a label can be reached,
    unless `named` is there: labels of earlier warnings, to which new ones are added."""
    missed: dict[str, list[DocSpan]] = {}
    for pair in zip(examples, annotations):
        for span in out_of_reach(*pair):
            missed.setdefault(span.label_, []).append(span)
    new = {*missed} - (named or set())
    if not new:
        return
    within = Counter(y for x in annotations for *_, y in x.required)
    lost = [label for label in missed if not within[label]]
    if named is None and lost:
        text = _quoted(missed[lost[0]])
        raise ValueError(Errors.HS156.format(label=lost[0], text=text, all=lost))
    if named is not None:
        named.update(new)
    texts = [
        f"{label}: {len(x)} of {len(x) + within[label]}, such as {_quoted(x)}"
        for label, x in missed.items()
    ]
    n_missed = sum(map(len, missed.values()))
    args = {"found": n_missed, "total": n_missed + within.total()}
    message = Warnings.HSW01.format(**args, labels="; ".join(texts))
    warnings.warn(message, stacklevel=3)


def _quoted(spans: Sequence[DocSpan]) -> str:
    """Returns the texts of up to three spans."""
    return ", ".join(repr(span.text[:40]) for span in spans[:3])


def as_scored(example: Example, annotation: PartialLabels) -> tuple[PartialLabels, int]:
    """Returns what a scorer counts of a document, and how many gold spans are out of
    reach: predictions beside these are wrong, so their tokens are blocked."""
    spans = out_of_reach(example, annotation)
    if not spans or annotation.blocked is None:
        return annotation, len(spans)
    (starts, ends), (firsts, lasts) = _places(example)
    blocked = annotation.blocked.copy()
    for span in spans:
        first = bisect_right(ends, firsts[span.start])
        blocked[first : bisect_left(starts, lasts[span.end - 1])] = True
    for start, end, _ in annotation.required:
        blocked[start:end] = False
    return replace(annotation, blocked=blocked), len(spans)


def with_separators(
    docs: Sequence[Doc],
    annotations: Sequence[PartialLabels],
    predicted: Sequence[Iterable[Span]],
) -> tuple[list[PartialLabels], list[set[str]]]:
    """Returns annotations whose spans have the borders of those predicted spans that
    differ from them by separators alone, and for each document how they differ."""
    moved, differences = [], []
    for doc, annotation, spans in zip(docs, annotations, predicted):
        of_core = {_core(doc, span): span for span in spans}
        required, of_doc, last = list[Span](), set[str](), 0
        blocked = None if annotation.blocked is None else annotation.blocked.copy()
        for span in annotation.required:
            start, end, label = of_core.get(_core(doc, span), span)
            pairs = ("begins", start, span[0]), ("ends", span[1], end)
            for verb, left, right in pairs:
                has = "with" if left > right else "without"
                text = doc[min(left, right) : max(left, right)]
                of_doc |= {f"{label} {verb} {has} {text}"} if left != right else set()
            start, last = max(start, last), end
            if blocked is not None:
                blocked[span[0] : span[1]] = True
                blocked[start:end] = False
            required += [(start, end, label)] * (start < end)
        moved.append(replace(annotation, required=tuple(required), blocked=blocked))
        differences.append(of_doc)
    return moved, differences


def _core(doc: Doc, span: Span) -> Span:
    """Returns a span without separators at its ends, unless it has nothing else."""
    words = [i for i in range(*span[:2]) if any(map(str.isalnum, doc[i].text))]
    return (words[0], words[-1] + 1, span[2]) if words else span


def given_tokens(example: Example) -> list[str] | None:
    """Returns the tokens of a document that came as tokens, without a text: nobody
    knows the spaces between them."""
    if not example.reference.has_unknown_spaces:
        return None
    return [token.text for token in example.reference]


def _places(example: Example) -> tuple[Borders, Borders]:
    """Returns where tokens of predicted and reference documents start and end in
    characters, without whitespace if the texts differ, which they may do there."""
    predicted, reference = example.predicted, example.reference
    is_same = predicted.text == reference.text
    return _borders(predicted, is_same), _borders(reference, is_same)


def _borders(doc: Doc, counts_whitespace: bool) -> Borders:
    if counts_whitespace:
        starts = [token.idx for token in doc]
        return starts, [token.idx + len(token) for token in doc]
    sizes = [sum(not c.isspace() for c in token.text) for token in doc]
    borders = [0, *accumulate(sizes)]
    return borders[:-1], borders[1:]


def compare(
    example: Example, spans: Iterable[Span]
) -> tuple[list[Characters | None], list[Characters]]:
    """Returns predicted spans, given in tokens, and the entities of the reference, both
    in characters (see `_places`), where equal spans have the same start, end and label;
    None for predicted spans with a character whose annotation is missing. A span within
    a token of the reference, or across several, stays what it is."""
    reference = example.reference
    of_predicted, (starts, ends) = _places(example)
    gold = [(starts[x.start], ends[x.end - 1], x.label_) for x in reference.ents]
    missing = [i for i, token in enumerate(reference) if not token.ent_iob]
    is_missing = np.zeros(ends[-1] + 1 if ends else 1, bool)
    for i in missing:
        is_missing[starts[i] : ends[i]] = True
    starts, ends = of_predicted
    predicted: list[Characters | None] = []
    for i, j, label in spans:
        start, end = starts[i], ends[j - 1]
        is_unknown = is_missing[start:end].any() or len(missing) == len(reference)
        predicted.append(None if is_unknown else (start, end, label))
    return predicted, gold


def judge(
    example: Example, spans: Iterable[Span]
) -> tuple[list[bool | None], list[str]]:
    """Returns whether each predicted span, in tokens, is an entity of the reference,
    None where annotation is missing, and the labels of entities; see `compare`."""
    predicted, gold = compare(example, spans)
    right = {*gold}
    verdicts = [None if span is None else span in right for span in predicted]
    return verdicts, [label for *_, label in gold]


def scored_entities(example: Example) -> tuple[list[Characters], list[Characters]]:
    """Returns predicted entities where annotation is not missing, and reference
    entities; see `compare`."""
    spans = [(ent.start, ent.end, ent.label_) for ent in example.predicted.ents]
    predicted, gold = compare(example, spans)
    return [span for span in predicted if span is not None], gold


def is_annotated(example: Example) -> bool:
    """Says whether the reference has entities, or says that it has none."""
    return bool(example.reference.has_annotation(ENT_IOB))


def is_complete(example: Example) -> bool:
    """Says whether the reference has tokens, and annotation of all of them."""
    reference = example.reference
    return len(reference) > 0 and bool((reference.to_array(ENT_IOB) != 0).all())


def group_of(example: Example, key: str) -> str | None:
    """Returns what the reference has under a key of `user_data`."""
    data = example.reference.user_data
    return str(data[key]) if key in data else None


def make_training_spans(
    labels: list[str] | None = None,
) -> Callable[[Iterable[Example]], Iterator[tuple[str, Doc]]]:
    """Registered as "spacy_hosemi.training_spans.v1" in `readers`: makes a gazetteer of
    the spans of the training data. Returns what yields, from the training examples, the
    text and document of each span. In training an entry is not found in its own
    document, where it would always be right. The reference of the config quotes:

    labels (Optional[List[str]]): Only spans with these labels; null: all spans.
    """

    def read(examples: Iterable[Example]) -> Iterator[tuple[str, Doc]]:
        for example in examples:
            for span in example.reference.ents:
                if labels is None or span.label_ in labels:
                    yield span.text, example.predicted

    return read
