"""Gold annotation, on the tokens of the predicted document: read here alone."""

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
    """Spans of references on the tokens of the predicted documents.

    examples (Iterable[Example]): Predicted and reference documents.
    incorrect_key (Optional[str]): The group in reference.spans whose spans are known
        not to be entities.
    RETURNS (List[PartialLabels]): Tokens outside of gold spans are blocked. Nothing is
        known of a token of a gold span that does not fall on token borders.
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
    # spaCy calls whitespace outside that it cannot align; beside missing tokens it may
    # as well be inside.
    for i in np.flatnonzero(example.predicted.to_array(IS_SPACE)).tolist():
        if tags[i] == "O":
            is_missing[i] = is_missing[max(i - 1, 0) : i + 2].any()
    is_outside = ~is_missing
    for start, end, _ in spans:
        is_outside[start:end] = False
    excluded = tuple(_incorrect_spans(example, incorrect_key))
    return PartialLabels(tuple(spans), excluded, is_outside)


def _incorrect_spans(example: Example, key: str | None) -> list[Span]:
    """RETURNS (List[Tuple[int, int, str]]): Those that fall on token borders."""
    if key is None or key not in example.reference.spans:
        return []
    group = example.reference.spans[key]
    aligned = example.get_aligned_spans_y2x(group, allow_overlap=True)
    return [(span.start, span.end, span.label_) for span in aligned]


def labels_of(annotations: Iterable[PartialLabels]) -> set[str]:
    """RETURNS (Set[str]): Labels of entities, not those of incorrect spans."""
    return {label for a in annotations for *_, label in a.required}


def count_misaligned(example: Example, annotation: PartialLabels) -> tuple[int, int]:
    """RETURNS (Tuple[int, int]): How many reference spans do not fall on token borders,
    and how many there are."""
    n_all = len(example.reference.ents)
    return n_all - len(annotation.required), n_all


def judge(
    example: Example, spans: Iterable[Span]
) -> tuple[list[bool | None], list[str]]:
    """Which predicted spans are right, by the rules of spaCy's scorer of entities.

    example (Example): Predicted and reference document.
    spans (Iterable[Tuple[int, int, str]]): Predicted ones.
    RETURNS (Tuple[List[Optional[bool]], List[str]]): Whether each is a reference
        entity, None where annotation is missing; the labels of the reference entities.
    """
    gold = {(ent.start, ent.end, ent.label_) for ent in example.reference.ents}
    found = on_reference(example, spans)
    verdicts = [None if span is None else span in gold for span in found]
    return verdicts, [ent.label_ for ent in example.reference.ents]


def on_reference(example: Example, spans: Iterable[Span]) -> list[Span | None]:
    """Spans of the predicted document on the tokens of the reference.

    RETURNS (List[Optional[Tuple[int, int, str]]]): None where annotation is missing.
    """
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
    """Predicted entities where annotation is not missing, and reference entities.

    RETURNS (Tuple[List[Tuple[int, int, str]], List[Tuple[int, int, str]]]): Both in
        tokens of the reference.
    """
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

    labels (Optional[List[str]]): Spans with these labels only; null: with any.
    RETURNS (Callable): Called with the training examples, yields the text of each span
        and its document. In training an entry is not found in the document that it came
        from: there it would always be right.
    """

    def read(examples: Iterable[Example]) -> Iterator[tuple[str, Doc]]:
        for example in examples:
            for span in example.reference.ents:
                if labels is None or span.label_ in labels:
                    yield span.text, example.predicted

    return read
