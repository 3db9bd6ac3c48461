"""From examples to what is segmented, documents or sentences, and what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..features.instances import divide
from ..labels.gold import Gold, check_known, make_golds
from ..labels.label_schema import LabelSchema
from ..labels.partial import PartialLabels


class Corpus(NamedTuple):
    """Holds instances, one document after the other."""

    docs: list[Doc]  # what is segmented
    annotations: list[PartialLabels]  # what is known of each
    golds: list[Gold]  # the same, with the labels of the top and as segmentations


def read_corpus(
    docs: Sequence[Doc],
    annotations: Sequence[PartialLabels],
    schema: LabelSchema,
    scope: str,
    name: str,
) -> Corpus:
    """Returns instances, and what is known of each. Raises ValueError: HS041, HS094
    wrong annotations, HS067 no sentence starts, and those of `make_golds`."""
    projection, inventory = schema.projection, schema.inventory
    check_known(annotations, projection.labels, docs, name)
    tokens, parts = list(docs), list(annotations)
    if scope != "doc":
        tokens, parts = [], []
        for doc, annotation in zip(docs, annotations):
            for instance in divide(doc, scope):
                tokens.append(instance.tokens)
                parts.append(annotation.part(instance.start, instance.end))
    at_top = [*map(projection.project, parts)]
    golds = make_golds(at_top, inventory, tokens)
    # As in `make_golds`, whitespace is not outside then.
    if inventory.outside == "none":
        for k, part in enumerate(parts):
            if part.blocked is not None:
                spaces = tokens[k].to_array(IS_SPACE).astype(bool)
                parts[k] = replace(part, blocked=part.blocked & ~spaces)
    return Corpus(tokens, parts, golds)


def annotate(nlp: Language | None, examples: Sequence[Example]) -> None:
    """Runs the annotating components, which in `initialize` have not run yet."""
    names = nlp.config["training"].get("annotating_components", []) if nlp else []
    for name in names:
        proc = nlp.get_pipe(name)  # type: ignore[union-attr]
        for eg in examples:
            eg.predicted = proc(eg.predicted)
