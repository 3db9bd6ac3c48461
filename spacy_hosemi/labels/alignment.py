"""Reads gold annotation onto the tokens of the predicted document; no other module
reads gold."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from spacy.attrs import ENT_IOB, IS_SPACE  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan
from spacy.training import Example

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
    """The annotation of references on the tokens of the predicted documents.

    examples (Iterable[Example]): Predicted and reference documents.
    incorrect_key (Optional[str]): The group in reference.spans with spans that are no
        entities.
    RETURNS (List[PartialLabels]): Tokens outside gold spans are blocked. Tokens of a
        gold span that is not aligned with token borders are unknown.
    """
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
    excluded = tuple(_incorrect_spans(example, incorrect_key))
    return PartialLabels(tuple(spans), excluded, is_outside)


def _incorrect_spans(example: Example, key: str | None) -> list[Span]:
    """The spans of the group that are aligned with token borders."""
    if key is None or key not in example.reference.spans:
        return []
    group = example.reference.spans[key]
    aligned = example.get_aligned_spans_y2x(group, allow_overlap=True)
    return [(span.start, span.end, span.label_) for span in aligned]


def labels_of(annotations: Iterable[PartialLabels]) -> set[str]:
    """RETURNS (Set[str]): The labels of required spans."""
    return {label for a in annotations for *_, label in a.required}


def with_clean_words(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    trims: bool = False,
) -> tuple[list[Example], list[PartialLabels]]:
    """Examples and their annotations by words in a clean form, see `clean_doc`.

    annotations (Sequence[PartialLabels]): From `read_annotations`.
    trims (bool): Whether spans may begin or end with whitespace, which they lose.
    RETURNS (Tuple[List[Example], List[PartialLabels]]): Those whose documents are clean
        are as before. No border of a gold span is within a word.
    RAISES (ValueError): HS103 a span begins or ends with whitespace.
    """
    pairs = [*zip(examples, annotations)]
    for k, (example, known) in enumerate(pairs):
        doc = example.predicted
        if not are_clean([doc])[0]:
            if not trims:
                check_ends(known.required, doc)
            spans = (*known.required, *known.excluded)
            clean = clean_doc(doc, {i for *both, _ in spans for i in both})
            other = Example(clean.doc, example.reference)
            pairs[k] = other, known.of_words(clean)
    return [x for x, _ in pairs], [known for _, known in pairs]


def out_of_reach(example: Example, annotation: PartialLabels) -> list[DocSpan]:
    """RETURNS (List[Span]): Reference entities that begin or end inside a token of the
    predicted document.

    annotation (PartialLabels): From `read_annotations`.
    """
    ents = example.reference.ents
    if len(ents) == len(annotation.required):
        return []
    (starts, ends), of_reference = _places(example)
    known = {(starts[i], ends[j - 1], y) for i, j, y in annotation.required}
    starts, ends = of_reference
    return [
        ent
        for ent in ents
        if (starts[ent.start], ends[ent.end - 1], ent.label_) not in known
    ]


def as_scored(example: Example, annotation: PartialLabels) -> tuple[PartialLabels, int]:
    """What a scorer counts of a document: predictions beside a span that is out of
    reach are wrong, though training does not know what such tokens are.

    annotation (PartialLabels): From `read_annotations`.
    RETURNS (Tuple[PartialLabels, int]): With the tokens of such spans blocked; how many
        such spans there are.
    """
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


def given_tokens(example: Example) -> list[str] | None:
    """RETURNS (Optional[List[str]]): The tokens of a document that came as tokens,
    without a text: nobody knows the spaces between them."""
    if not example.reference.has_unknown_spaces:
        return None
    return [token.text for token in example.reference]


def _places(example: Example) -> tuple[Borders, Borders]:
    """Where the tokens of the predicted and of the reference document start and end.

    RETURNS (Tuple[Tuple[List[int], List[int]], ..]): For each document starts and ends
        in characters. If the two texts differ, which they may do in whitespace,
        whitespace is not counted.
    """
    predicted, reference = example.predicted, example.reference
    if predicted.text == reference.text:
        return _in_text(predicted), _in_text(reference)
    return _without_whitespace(predicted), _without_whitespace(reference)


def _in_text(doc: Doc) -> Borders:
    starts = [token.idx for token in doc]
    return starts, [token.idx + len(token) for token in doc]


def _without_whitespace(doc: Doc) -> Borders:
    sizes = [sum(not c.isspace() for c in token.text) for token in doc]
    borders = [0, *accumulate(sizes)]
    return borders[:-1], borders[1:]


def compare(
    example: Example, spans: Iterable[Span]
) -> tuple[list[Characters | None], list[Characters]]:
    """Predicted spans and the entities of the reference, character by character: equal
    spans have the same start, end and label.

    A span within a token of the reference, or across several, stays what it is.

    example (Example): Predicted and reference document.
    spans (Iterable[Tuple[int, int, str]]): Predicted spans, in tokens.
    RETURNS (Tuple[List[Optional[Tuple[int, int, str]]], List[Tuple[int, int, str]]]):
        Both in characters, see `_places`. None for predicted spans with a character
        whose annotation is missing.
    """
    reference = example.reference
    of_predicted, (starts, ends) = _places(example)
    gold = [(starts[x.start], ends[x.end - 1], x.label_) for x in reference.ents]
    missing = [i for i, token in enumerate(reference) if not token.ent_iob]
    is_missing = np.zeros(ends[-1] + 1 if ends else 1, bool)
    for i in missing:
        is_missing[starts[i] : ends[i]] = True
    starts, ends = of_predicted
    found: list[Characters | None] = []
    for i, j, label in spans:
        start, end = starts[i], ends[j - 1]
        is_unknown = is_missing[start:end].any() or len(missing) == len(reference)
        found.append(None if is_unknown else (start, end, label))
    return found, gold


def judge(
    example: Example, spans: Iterable[Span]
) -> tuple[list[bool | None], list[str]]:
    """Whether predicted spans are right, see `compare`.

    example (Example): Predicted and reference document.
    spans (Iterable[Tuple[int, int, str]]): Predicted spans, in tokens.
    RETURNS (Tuple[List[Optional[bool]], List[str]]): Whether each is an entity of the
        reference, None where annotation is missing; the labels of these entities.
    """
    found, gold = compare(example, spans)
    right = {*gold}
    verdicts = [None if span is None else span in right for span in found]
    return verdicts, [label for *_, label in gold]


def scored_entities(example: Example) -> tuple[list[Characters], list[Characters]]:
    """RETURNS (Tuple[List[Tuple[int, int, str]], List[Tuple[int, int, str]]]):
    Predicted entities where annotation is not missing, and reference entities; see
    `compare`."""
    spans = [(ent.start, ent.end, ent.label_) for ent in example.predicted.ents]
    found, gold = compare(example, spans)
    return [span for span in found if span is not None], gold


def is_annotated(example: Example) -> bool:
    """Whether the reference has entities, or says that it has none."""
    return bool(example.reference.has_annotation(ENT_IOB))


def is_complete(example: Example) -> bool:
    """Whether the reference has tokens, and annotation of all of them."""
    reference = example.reference
    return len(reference) > 0 and bool((reference.to_array(ENT_IOB) != 0).all())


def group_of(example: Example, key: str) -> str | None:
    """RETURNS (Optional[str]): What the reference has under a key of `user_data`."""
    data = example.reference.user_data
    return str(data[key]) if key in data else None


def make_training_spans(
    labels: list[str] | None = None,
) -> Callable[[Iterable[Example]], Iterator[tuple[str, Doc]]]:
    """Registered as "spacy_hosemi.training_spans.v1" in `readers`: a gazetteer of the
    spans of the training data.

    labels (Optional[List[str]]): Only spans with these labels; null: all spans.
    RETURNS (Callable): From the training examples to the text and document of each
        span. In training an entry is not found in its own document, where it would
        always be right.
    """

    def read(examples: Iterable[Example]) -> Iterator[tuple[str, Doc]]:
        for example in examples:
            for span in example.reference.ents:
                if labels is None or span.label_ in labels:
                    yield span.text, example.predicted

    return read


def with_prediction(example: Example, predicted: Doc) -> Example:
    """RETURNS (Example): With the same gold, and another predicted document."""
    return Example(predicted, example.reference)
