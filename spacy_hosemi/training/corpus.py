"""From examples to what is segmented, documents or sentences, and what is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..features.instances import instances
from ..labels.gold import Gold, make_gold
from ..labels.inventory import LabelInventory
from ..labels.partial import PartialLabels
from ..labels.projection import Projection


class Corpus(NamedTuple):
    """Instances, one document after the other.

    docs (List[Doc]): What is segmented.
    annotations (List[PartialLabels]): What is known of each.
    golds (List[Gold]): The same, with the labels of the top and as segmentations.
    """

    docs: list[Doc]
    annotations: list[PartialLabels]
    golds: list[Gold]


def read_corpus(
    examples: Iterable[Example],
    annotations: Iterable[PartialLabels],
    inventory: LabelInventory,
    projection: Projection,
    scope: str,
    name: str,
) -> Corpus:
    """What there is to learn from.

    examples (Iterable[Example]), annotations (Iterable[PartialLabels]): Documents.
    inventory (LabelInventory), projection (Projection), scope (str), name (str): Of the
        component.
    RETURNS (Corpus): Of all of them.
    RAISES (ValueError): HS067 sentence starts are not set; see `make_gold`.
    """
    found = Corpus([], [], [])
    for eg, known in zip(examples, annotations):
        projection.check(known, eg.predicted, name)
        for instance in instances(eg.predicted, scope):
            part, tokens = known.part(instance.start, instance.end), instance.tokens
            at_top = projection.project(part)
            found.golds.append(make_gold(at_top, inventory, tokens))
            # As in `make_gold`: whitespace is not outside where nothing is.
            if inventory.outside == "none" and part.blocked is not None:
                spaces = tokens.to_array(IS_SPACE).astype(bool)
                part = replace(part, blocked=part.blocked & ~spaces)
            found.docs.append(tokens)
            found.annotations.append(part)
    return found


def annotate(nlp: Language | None, examples: Sequence[Example]) -> None:
    """Run the annotating components, which in `initialize` have not run yet."""
    names = nlp.config["training"].get("annotating_components", []) if nlp else []
    for name in names:
        proc = nlp.get_pipe(name)  # type: ignore[union-attr]
        for eg in examples:
            eg.predicted = proc(eg.predicted)
