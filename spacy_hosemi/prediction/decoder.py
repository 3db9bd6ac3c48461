"""Decoders: from documents to predictions, by a model state and options.

Neither a decoder nor anything that it reads changes: any number of threads may use it
while others train a new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc

from ..core.parallel.coroutines import Steps, finish
from ..features.instances import Instance, check_doc
from ..labels.inventory import Span
from ..labels.partial import PartialLabels
from ..model.state import ModelState
from .posterior import Path, Posterior
from .predictions import Prediction, Predictions
from .thresholds import Thresholds, least_of

# Documents, or tokens, that are decoded together: enough that the cost of a call does
# not count, and few enough that their scores stay in the cache of the processor.
BATCH, BATCH_TOKENS = 128, 2000


class DecodingOptions(NamedTuple):
    """Has the settings of a component that decide what it predicts, see
    `HighOrderSemiCRF`."""

    name: str  # of the component, which predicts its own entities again
    scope: str
    max_length: int | None
    decoding: str
    expected_f1: float | None
    collective: float
    spans_threshold: float | None
    min_confidence: Thresholds
    temperature: float
    has_scores: bool  # whether span probabilities are computed with the prediction
    has_whole: bool = False  # whether that of the whole segmentation is
    hierarchy: Any = None  # settings of a label tree
    # Identifies the state and the options that probabilities depend on; it stands in
    # records.
    number: int = 0
    clean_text: bool = False  # whether documents are read by words in a clean form


class Decoder(Protocol):
    """Predicts documents, as state and options say. A component compares these with the
    present ones before it uses a decoder again."""

    state: ModelState
    options: DecodingOptions

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Returns what is predicted in each document; an untrained model predicts
        nothing. Raises HS060 if no segmentation is possible, HS067 if sentence starts
        are not set."""
        return [
            prediction
            for batch in batches(docs)
            for prediction in finish(self.steps(batch))
        ]

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[Predictions]:
        """Does what `predict` does for documents of one vocabulary, and yields jobs
        that need no GIL. `corrections` are those of a user in the only document."""
        ...

    def posterior(self, doc: Doc) -> Posterior:
        """Returns the posterior of a document; the model is trained."""
        ...

    def posterior_if_trained(self, doc: Doc) -> Posterior | None:
        """Returns the posterior of a document; None if the model is untrained."""
        return self.posterior(doc) if self.state.weights.is_trained else None


def batches(docs: Iterable[Doc], size: int = BATCH) -> Iterator[list[Doc]]:
    """Yields documents of a stream that are decoded together: at most `size`, of one
    vocabulary and of at most BATCH_TOKENS tokens together, or one. Raises HS230 (a
    TypeError) if one is no document."""
    batch: list[Doc] = []
    n_tokens = 0
    for doc in docs:
        check_doc(doc)
        if batch and (
            len(batch) >= size
            or n_tokens + len(doc) > BATCH_TOKENS
            or doc.vocab is not batch[0].vocab
        ):
            yield batch
            batch, n_tokens = [], 0
        batch.append(doc)
        n_tokens += len(doc)
    if batch:
        yield batch


def untrained(docs: Sequence[Doc], corrections: PartialLabels | None) -> Predictions:
    """Returns what an untrained model predicts: the spans that a user gave."""
    spans = [*corrections.required] if corrections else []
    row = Prediction(spans, [1.0] * len(spans), whole=1.0)
    return Predictions.of([row] * len(docs))


def confident(
    of_instances: Iterable[tuple[Instance, Sequence[Span], Sequence[Path]]],
    options: DecodingOptions,
    corrections: PartialLabels,
) -> Prediction:
    """Returns the spans of a document that are probable enough, from the spans of each
    instance and their paths. A span gets the deepest name of its path that is probable
    enough and that no correction of a user excludes there."""
    prediction, paths, least = Prediction([], []), [], options.min_confidence
    assert prediction.scores is not None
    for instance, spans, of_spans in of_instances:
        confident_spans, low = [], instance.start
        for (start, end, _), path in zip(spans, of_spans):
            for name, probability in reversed(path):
                assert probability is not None
                is_sure = probability >= least_of(least, name)
                if is_sure and not corrections.excludes((start + low, end + low, name)):
                    confident_spans.append((start, end, name))
                    prediction.scores.append(probability)
                    paths.append(path)
                    break
        prediction.spans += instance.to_document(confident_spans)
    prediction.paths = paths
    return prediction
