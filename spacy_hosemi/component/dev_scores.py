"""Scores on other documents while a fit goes on, for its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacy.training import Example

from ..labels.alignment import with_prediction
from ..training.batch import Batch, Watch

# What the log has of the scores.
SCORES = ("ents_p", "ents_r", "ents_f", "ents_record_accuracy")


def watching(
    component: Any, fit: Callable[[Any], None], examples: Sequence[Example]
) -> Callable[[Any], None]:
    """RETURNS (Callable): The same fit, whose log has scores on other documents. Of
    labels in a tree it has none: what is between two levels cannot predict."""

    def fit_and_watch(batch: Any) -> None:
        if isinstance(batch, Batch) and not batch.has_levels:
            batch.watch = score_on(component, examples)
        fit(batch)

    return fit_and_watch


def score_on(component: Any, examples: Sequence[Example]) -> Watch:
    """What `Batch.watch` may be: scores at the weights that the fit has found so far.

    component (HighOrderSemiCRF): Trained by this thread.
    examples (Sequence[Example]): Not those that it is trained on. They stay as they
        are: copies are predicted.
    RETURNS (Callable): Called in the fit, gives SCORES.
    """

    def watch(_: Any) -> dict[str, Any]:
        docs = [example.predicted.copy() for example in examples]
        component.set_annotations(docs, component.predict(docs))
        predicted = [with_prediction(*pair) for pair in zip(examples, docs)]
        scores = component.score(predicted)
        return {name: scores[name] for name in SCORES if name in scores}

    return watch
