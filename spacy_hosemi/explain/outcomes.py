"""What any pipeline finds in documents whose spans are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..labels.alignment import (
    Characters,
    group_of,
    is_annotated,
    is_complete,
    scored_entities,
)


@dataclass(frozen=True)
class Answer:
    """What a pipeline finds in a document.

    text (str): The document.
    found, gold (FrozenSet[Tuple[int, int, str]]): Predicted and right spans, in
        characters; without those where annotation is missing.
    is_complete (bool): Whether no annotation is missing.
    confidence (Dict[Tuple[int, int, str], float]): Of the predicted spans whose
        probability the pipeline knows, if that was asked for.
    record_confidence (Optional[float]): Of all of them together, if that was asked for
        and is known.
    group (Optional[str]): Which documents belong together, if that was asked for.
    number (int): Of the document among those that were read, from 1.
    """

    text: str
    found: frozenset[Characters]
    gold: frozenset[Characters]
    is_complete: bool
    confidence: dict[Characters, float] = field(default_factory=dict, compare=False)
    record_confidence: float | None = field(default=None, compare=False)
    group: str | None = field(default=None, compare=False)
    number: int = field(default=0, compare=False)


def answers(
    nlp: Language,
    examples: Iterable[Example],
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    has_confidence: bool = False,
    group: str | None = None,
) -> list[Answer]:
    """What a pipeline finds, without documents that its error handler leaves out.

    nlp (Language): Any pipeline that sets `doc.ents`.
    examples (Iterable[Example]): Documents of that vocabulary, and their references;
        the ones without annotation are left out, the others have predictions then.
    progress (Callable): Called with the documents, yields them.
    has_confidence (bool): Whether confidences are asked for.
    group (Optional[str]): The key of groups, see `group_of`.
    RETURNS (List[Answer]): In the order of the documents.
    RAISES (ValueError): A component fails.
    """
    numbered = enumerate(examples, start=1)
    pairs = ((x.predicted, (k, x)) for k, x in numbered if is_annotated(x))
    found = []
    # The example goes along: an error handler may leave a document out.
    for doc, (number, example) in progress(nlp.pipe(pairs, as_tuples=True)):
        example.predicted = doc
        spans, gold = map(frozenset, scored_entities(example))
        known = confidences(doc) if has_confidence else {}
        whole = record_confidence(doc) if has_confidence else None
        key = None if group is None else group_of(example, group)
        args = doc.text, spans, gold, is_complete(example), known, whole, key
        found.append(Answer(*args, number))
    return found


def confidences(doc: Doc) -> dict[Characters, float]:
    """RETURNS (Dict[Tuple[int, int, str], float]): Of the entities of a document that
    have one."""
    if not Span.has_extension("confidence"):
        return {}
    pairs = (
        ((ent.start_char, ent.end_char, ent.label_), ent._.confidence)
        for ent in doc.ents
    )
    return {span: p for span, p in pairs if p is not None}


def record_confidence(doc: Doc) -> float | None:
    """RETURNS (Optional[float]): The probability of exactly the entities of a document,
    if it is known."""
    if not Doc.has_extension("record_confidence"):
        return None
    found: float | None = doc._.record_confidence
    return found
