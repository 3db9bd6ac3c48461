"""Gold annotation and preset limits of a Doc, in terms of segmentations.

The only reader of gold. What is not known (tokens without annotation, spans that do not
fall on token borders) stays open: the gold is then a constraint, and training sums over
all segmentations that agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE, SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.training import Example

from .core import Constraints
from .errors import Errors
from .labels import LabelInventory, Segment, Span
from .units import sentence_starts


@dataclass(frozen=True)
class Gold:
    """What is known of a document.

    segments (Optional[List[Segment]]): The segmentation, where all tokens are known.
    constraints (Optional[Constraints]): Else what the segmentations must agree with.
    n_known (int): Tokens with annotation, and spans known to be wrong.
    text (str): How the document begins, for messages.
    """

    segments: list[Segment] | None
    constraints: Constraints | None
    n_known: int
    text: str = ""


@dataclass(frozen=True)
class Annotation:
    """Aligned annotation: spans, and which tokens have none at all; and spans of which
    only that is known that they are wrong."""

    spans: list[Span]
    is_missing: NDArray[np.bool_]
    incorrect: Sequence[Span] = ()

    def part(self, start: int, end: int) -> Annotation:
        """That of the tokens from start to end, as if they were a document.

        Tokens of a span that crosses one of the two borders are missing: no span of the
        part is right, and outside would be wrong.
        """
        spans = []
        is_missing = self.is_missing[start:end].copy()
        for i, j, label in self.spans:
            if start <= i and j <= end:
                spans.append((i - start, j - start, label))
            elif i < end and start < j:
                is_missing[max(i - start, 0) : j - start] = True
        incorrect = [
            (i - start, j - start, label)
            for i, j, label in self.incorrect
            if start <= i and j <= end
        ]
        return Annotation(spans, is_missing, incorrect)


def read_annotation(example: Example, incorrect_key: str | None = None) -> Annotation:
    """Spans of the reference on the tokens of the predicted document.

    example (Example): Predicted and reference document.
    incorrect_key (Optional[str]): Of the wrong spans in reference.spans.
    RETURNS (Annotation): A token of a reference span that does not fall on token
        borders is missing, never outside.
    """
    tags = example.get_aligned_ner()
    spans: list[Span] = []
    start = 0
    for i, tag in enumerate(tags):
        if tag and tag[:2] in ("B-", "U-"):
            start = i
        if tag and tag[:2] in ("L-", "U-"):
            spans.append((start, i + 1, tag[2:]))
    is_missing = np.array([tag is None or tag == "-" for tag in tags], bool)
    # spaCy calls all whitespace outside that it cannot align; between missing tokens
    # it may as well be inside.
    for i in np.flatnonzero(example.predicted.to_array(IS_SPACE)).tolist():
        if tags[i] == "O":
            is_missing[i] = is_missing[max(i - 1, 0) : i + 2].any()
    return Annotation(spans, is_missing, _incorrect_spans(example, incorrect_key))


def _incorrect_spans(example: Example, key: str | None) -> list[Span]:
    """Those that fall on token borders: any other is no span of the document."""
    if key is None or key not in example.reference.spans:
        return []
    group = example.reference.spans[key]
    aligned = example.get_aligned_spans_y2x(group, allow_overlap=True)
    return [(span.start, span.end, span.label_) for span in aligned]


def labels_of(annotations: Iterable[Annotation]) -> set[str]:
    """RETURNS (Set[str]): Labels of entities; one that only incorrect spans have is a
    mistake."""
    return {label for a in annotations for *_, label in a.spans}


def count_misaligned(example: Example, annotation: Annotation) -> tuple[int, int]:
    """RETURNS (Tuple[int, int]): Reference spans that are lost to alignment in the
    annotation of an example, and all of them."""
    n_all = len(example.reference.ents)
    return n_all - len(annotation.spans), n_all


def judge(
    example: Example, spans: Iterable[Span]
) -> tuple[list[bool | None], list[str]]:
    """Which predicted spans are right, as spaCy's scorer of entities has it.

    example (Example): Predicted and reference document.
    spans (Iterable[Tuple[int, int, str]]): Of the predicted one.
    RETURNS (Tuple[List[Optional[bool]], List[str]]): Of each whether it is a reference
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
    """What is predicted, where annotation is not missing, and what is right.

    RETURNS (Tuple[List[Tuple[int, int, str]], List[Tuple[int, int, str]]]): On the
        tokens of the reference.
    """
    found, gold = (
        [(ent.start, ent.end, ent.label_) for ent in doc.ents]
        for doc in (example.predicted, example.reference)
    )
    return [span for span in on_reference(example, found) if span is not None], gold


def make_gold(
    annotation: Annotation, inventory: LabelInventory, doc: Doc, name: str
) -> Gold:
    """Annotation as a segmentation, or as constraints where some of it is missing.

    annotation (Annotation): From `read_annotation`.
    inventory (LabelInventory): Labels and encoding.
    doc (Doc): n tokens.
    name (str): Of the component, for messages.
    RETURNS (Gold): Segments or constraints.
    RAISES (ValueError): HS041 unknown label; HS044 outside token where there is none;
        HS094 a span is both an entity and incorrect; HS103 whitespace at its ends.
    """
    check_known(annotation, inventory.labels, doc, name)
    missing = annotation.is_missing.copy()
    if inventory.outside == "none":
        missing |= _check_covered(annotation, doc)
    if inventory.outside != "none":
        _check_ends(annotation.spans, doc)
    n_known = int((~missing).sum())
    if not missing.any():
        segments = inventory.encode(annotation.spans, len(doc))
        return Gold(segments, None, n_known, doc[:8].text)
    constraints = _agreeing(annotation.spans, missing, inventory)
    forbidden = [
        (i, j, inventory.names.index(label)) for i, j, label in annotation.incorrect
    ]
    constraints = replace(constraints, forbidden=forbidden)
    return Gold(None, constraints, n_known + len(forbidden), doc[:8].text)


def check_known(
    annotation: Annotation, labels: Collection[str], doc: Doc, name: str
) -> None:
    """RAISES (ValueError): HS041 unknown label; HS094 a span is both an entity and
    incorrect."""
    for _, _, label in (*annotation.spans, *annotation.incorrect):
        if label not in labels:
            raise ValueError(
                Errors.HS041.format(found=label, expected=tuple(labels), name=name)
            )
    for start, end, label in set(annotation.spans).intersection(annotation.incorrect):
        text = doc[start:end].text
        raise ValueError(Errors.HS094.format(text=text, label=label, name=name))


def _check_ends(spans: Iterable[Span], doc: Doc) -> None:
    for start, end, label in spans:
        if doc[start].is_space or doc[end - 1].is_space:
            text = doc[start:end].text
            raise ValueError(Errors.HS103.format(text=text, label=label))


def _check_covered(annotation: Annotation, doc: Doc) -> NDArray[np.bool_]:
    """Whitespace outside of spans counts as missing; no other token may be outside."""
    outside = ~annotation.is_missing
    for start, end, _ in annotation.spans:
        outside[start:end] = False
    for i in np.flatnonzero(outside):
        if not doc[int(i)].is_space:
            raise ValueError(Errors.HS044.format(index=i, text=doc[int(i)].text))
    return outside


def _agreeing(
    spans: Iterable[Span], missing: NDArray[np.bool_], inventory: LabelInventory
) -> Constraints:
    """All segmentations with these spans, outside where neither span nor missing."""
    n_tokens = len(missing)
    allowed = np.zeros((n_tokens, len(inventory.names)), bool)
    allowed[:, 0] = True
    allowed[missing] = True
    boundary = np.zeros(n_tokens + 1, np.int8)
    spans = list(spans)
    for span in spans:
        _close(span, inventory, allowed)
    for start, end, label in spans:
        allowed[start:end] = False
        for i, j, y in inventory.encode([(start, end, label)], end):
            if i >= start:
                allowed[i:j, y] = True
        if not inventory.on_tokens:
            boundary[start + 1 : end] = -1
            boundary[[start, end]] = 1
    return Constraints(allowed=allowed, boundary=boundary)


def _close(span: Span, inventory: LabelInventory, allowed: NDArray[np.bool_]) -> None:
    """Forbid the tags beside a span that would go on with it.

    Behind it, where no tag says that it ends (IO, BIO); before it, where none says that
    it begins (IO).
    """
    start, end, label = span
    if end < len(allowed) and inventory.encoding in ("IO", "BIO"):
        allowed[end, inventory.names.index(f"I-{label}")] = False
    if start > 0 and inventory.encoding == "IO":
        allowed[start - 1, inventory.names.index(f"I-{label}")] = False


def known_labels(gold: Gold, n_tokens: int) -> dict[str, NDArray[np.intp]]:
    """Which label is known to cover, begin at, end at and go on at each token.

    gold (Gold): What is known.
    n_tokens (int): n.
    RETURNS (Dict[str, int [n]]): By role "inside", "start", "end", "within"; -1 where
        there is none or it is not known.
    """
    label = np.full(n_tokens, -1, np.intp)
    is_border = np.zeros(n_tokens + 1, bool)
    if gold.segments is not None:
        for start, end, y in gold.segments:
            label[start:end] = y
            is_border[[start, end]] = True
    elif gold.constraints is not None and gold.constraints.allowed is not None:
        allowed = gold.constraints.allowed
        is_known = allowed.sum(axis=1) == 1
        label[is_known] = allowed[is_known].argmax(axis=1)
        before, behind = label[:-1], label[1:]
        is_border[1:-1] = (before >= 0) & (behind >= 0) & (before != behind)
        is_border[[0, n_tokens]] = True
        if gold.constraints.boundary is not None:
            is_border |= gold.constraints.boundary == 1
    return {
        "inside": label,
        "start": np.where(is_border[:-1], label, -1),
        "end": np.where(is_border[1:], label, -1),
        "within": np.where(is_border[:-1], -1, label),
    }


def limits(doc: Doc, inventory: LabelInventory) -> Constraints | None:
    """What no predicted segmentation may do, whatever its score.

    doc (Doc): n tokens.
    inventory (LabelInventory): Labels and encoding.
    RETURNS (Optional[Constraints]): No span crosses a sentence start that is set; None
        if none is.
    """
    if inventory.encoding == "IO" or not doc.has_annotation(SENT_START):
        return None
    starts = sentence_starts(doc)
    if not len(starts):
        return None
    if inventory.on_tokens:
        allowed = np.ones((len(doc), len(inventory.names)), bool)
        allowed[np.ix_(starts, np.array(inventory.tags_that("IL")))] = False
        return Constraints(allowed=allowed)
    boundary = np.zeros(len(doc) + 1, np.int8)
    boundary[starts] = 2
    return Constraints(boundary=boundary)


def whitespace(doc: Doc) -> NDArray[Any] | None:
    """Indices of whitespace tokens, where no span may start or end; None if none."""
    # As for most documents there is none, this is the fastest way to say so.
    if not doc.has_annotation(IS_SPACE):
        return None
    spaces = np.flatnonzero(doc.to_array(IS_SPACE))
    return spaces if len(spaces) else None


def trim_whitespace(spans: Iterable[Span], doc: Doc) -> list[Span]:
    """Spans without the whitespace tokens at their ends; none of whitespace only."""
    trimmed = []
    for start, end, label in spans:
        while start < end and doc[start].is_space:
            start += 1
        while start < end and doc[end - 1].is_space:
            end -= 1
        if start < end:
            trimmed.append((start, end, label))
    return trimmed


def read_segments(
    segments: Iterable[Segment], inventory: LabelInventory, doc: Doc
) -> list[Span]:
    """The spans that a segmentation stands for, as they are predicted.

    segments (Iterable[Tuple[int, int, int]]): They cover all tokens.
    inventory (LabelInventory): Labels and encoding.
    doc (Doc): n tokens.
    RETURNS (List[Tuple[int, int, str]]): From left to right.
    """
    spans = inventory.decode(segments)
    # Tags may run on over whitespace.
    return trim_whitespace(spans, doc) if inventory.on_tokens else spans


def before_trimming(span: Span, doc: Doc) -> Iterator[Span]:
    """All spans that `trim_whitespace` makes this one of, itself included."""
    first, last, label = span
    while first > 0 and doc[first - 1].is_space:
        first -= 1
    while last < len(doc) and doc[last].is_space:
        last += 1
    for start in range(first, span[0] + 1):
        for end in range(span[1], last + 1):
            yield start, end, label


def exactly(
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
    n_tokens: int,
) -> Constraints:
    """Constraints under which a segmentation has exactly these spans, among others.

    spans (Sequence[Tuple[int, int, str]]): Tokens and label; they do not overlap.
    inventory (LabelInventory): Labels and encoding.
    constraints (Optional[Constraints]): What holds anyway.
    n_tokens (int): n.
    RETURNS (Constraints): Both together.
    """
    given = constraints or Constraints()
    allowed = np.ones((n_tokens, len(inventory.names)), bool)
    if given.allowed is not None:
        allowed = given.allowed.copy()
    boundary = np.zeros(n_tokens + 1, np.int8)
    if given.boundary is not None:
        boundary = given.boundary.copy()
    for span in spans:
        start, end, _ = span
        _close(span, inventory, allowed)
        allowed[start:end] &= inventory.names_within(span)
        if not inventory.on_tokens:
            boundary[start + 1 : end] = -1
            boundary[[start, end]] = 1
    return replace(given, allowed=allowed, boundary=boundary)


def choose_spans(
    spans: Iterable[Span],
    is_taken: NDArray[np.bool_],
    constraints: Constraints | None,
) -> list[Span]:
    """Which matches of lists can be entities together.

    spans (Iterable[Tuple[int, int, str]]): Those that go first are preferred.
    is_taken (bool [n]): Tokens that no match may cover.
    constraints (Optional[Constraints]): From `limits`: no entity crosses these borders.
    RETURNS (List[Tuple[int, int, str]]): In the given order; no two overlap.
    """
    is_taken = is_taken.copy()
    crosses = np.zeros(len(is_taken) + 1, bool)
    if constraints is not None and constraints.boundary is not None:
        crosses = constraints.boundary > 0
    chosen = []
    for start, end, label in spans:
        if not is_taken[start:end].any() and not crosses[start + 1 : end].any():
            is_taken[start:end] = True
            chosen.append((start, end, label))
    return chosen


def make_training_spans(
    labels: list[str] | None = None,
) -> Callable[[Iterable[Example]], Iterator[tuple[str, Doc]]]:
    """Registered as "spacy_hosemi.training_spans.v1" in `readers`: a gazetteer of the
    spans of the training data.

    labels (Optional[List[str]]): Of which labels; null: of all.
    RETURNS (Callable): Called with the training examples, yields the text of each span
        and its document, in which it will not be found in training: an entry does not
        vote for the document that it came from.
    """

    def read(examples: Iterable[Example]) -> Iterator[tuple[str, Doc]]:
        for example in examples:
            for span in example.reference.ents:
                if labels is None or span.label_ in labels:
                    yield span.text, example.predicted

    return read
