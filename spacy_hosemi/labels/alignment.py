"""Reads gold annotation onto the tokens of the predicted document; no other module
reads gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.training import Example

from .inventory import Span
from .partial import PartialLabels


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


def count_misaligned(example: Example, annotation: PartialLabels) -> tuple[int, int]:
    """RETURNS (Tuple[int, int]): The number of reference spans that are not aligned
    with token borders, and of all."""
    n_all = len(example.reference.ents)
    return n_all - len(annotation.required), n_all


def judge(
    example: Example, spans: Iterable[Span]
) -> tuple[list[bool | None], list[str]]:
    """Whether predicted spans are right, by the rules of spaCy's scorer of entities.

    example (Example): Predicted and reference document.
    spans (Iterable[Tuple[int, int, str]]): Predicted spans.
    RETURNS (Tuple[List[Optional[bool]], List[str]]): Whether each is an entity of the
        reference, None where annotation is missing; the labels of these entities.
    """
    gold = {(ent.start, ent.end, ent.label_) for ent in example.reference.ents}
    found = on_reference(example, spans)
    verdicts = [None if span is None else span in gold for span in found]
    return verdicts, [ent.label_ for ent in example.reference.ents]


def on_reference(example: Example, spans: Iterable[Span]) -> list[Span | None]:
    """RETURNS (List[Optional[Tuple[int, int, str]]]): Spans of the predicted document
    on the tokens of the reference; None where annotation is missing."""
    reference, align = example.reference, example.alignment.x2y
    found: list[Span | None] = []
    for start, end, label in spans:
        places = align[start:end]
        known = len(places) and all(
            token.ent_iob for token in reference[places[0] : places[-1] + 1]
        )
        found.append((places[0], places[-1] + 1, label) if known else None)
    return found


def scored_entities(example: Example) -> tuple[list[Span], list[Span]]:
    """RETURNS (Tuple[List[Tuple[int, int, str]], List[Tuple[int, int, str]]]):
    Predicted entities where annotation is not missing, and reference entities; both in
    tokens of the reference."""
    found, gold = (
        [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        for doc in (example.predicted, example.reference)
    )
    return [span for span in on_reference(example, found) if span is not None], gold


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
