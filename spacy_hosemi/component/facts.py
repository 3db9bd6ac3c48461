"""What is kept of the training corpus, and saved beside the weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from spacy.tokens import Doc

from ..labels.partial import PartialLabels
from ..prediction.existing_entities import preset_entities


@dataclass(frozen=True)
class TrainingFacts:
    """Numbers of the documents that a component was initialized with.

    n_documents, n_tokens (int): All of them.
    n_preset_tokens (int): Tokens that entities took before the component, set by other
        components or by people.
    n_spans (Mapping[str, int]): The annotated spans of each label.
    trials (Sequence[Mapping[str, Any]]): What l2 = "auto" has tried: settings, scores,
        and whether it was chosen; see `Trial`.
    judged_by (str): What the scores of the trials are of.
    """

    n_documents: int
    n_tokens: int
    n_preset_tokens: int
    n_spans: Mapping[str, int]
    trials: Sequence[Mapping[str, Any]] = field(default_factory=list)
    judged_by: str = ""

    @property
    def preset_share(self) -> float:
        """The share of tokens that entities took before the component."""
        return self.n_preset_tokens / max(1, self.n_tokens)

    def to_cfg(self) -> dict[str, Any]:
        """As JSON can have it."""
        return asdict(self)


def training_facts(
    docs: Sequence[Doc], annotations: Sequence[PartialLabels], name: str
) -> TrainingFacts | None:
    """Numbers of a training corpus.

    docs (Sequence[Doc]): The predicted documents, as they are before the component.
    annotations (Sequence[PartialLabels]): What is known of each.
    name (str): Of the component.
    RETURNS (Optional[TrainingFacts]): None if there are no documents.
    """
    if not docs:
        return None
    labels = Counter(label for x in annotations for *_, label in x.required)
    n_preset = sum(map(len, (x for doc in docs for x in preset_entities(doc, name))))
    return TrainingFacts(len(docs), sum(map(len, docs)), n_preset, dict(labels))


def read_facts(found: Any) -> TrainingFacts | None:
    """RETURNS (Optional[TrainingFacts]): Inverse of `to_cfg`; None if a model was saved
    without them.

    RAISES (ValueError, TypeError): They are none.
    """
    if not isinstance(found, Mapping):
        return None
    facts = TrainingFacts(**found)
    numbers = facts.n_documents, facts.n_tokens, facts.n_preset_tokens
    if not (
        isinstance(facts.n_spans, dict)
        and all(isinstance(label, str) for label in facts.n_spans)
        and all(type(n) is int and n >= 0 for n in (*numbers, *facts.n_spans.values()))
        and isinstance(facts.judged_by, str)
        and all(isinstance(trial, Mapping) for trial in facts.trials)
    ):
        raise ValueError("trained_on has no numbers of documents")
    return facts
