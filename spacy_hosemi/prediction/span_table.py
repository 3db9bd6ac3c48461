"""What is predicted in many documents as arrays, without an object for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..core.parallel.coroutines import Steps
from ..features.clean_docs import CleanDoc
from ..features.doc_batch import DocBatch
from ..labels.inventory import Span
from .clean_decoder import CleanBatchPosteriors, CleanDecoder, in_tokens
from .decoder import Decoder, FlatDecoder, Prediction
from .posterior import BatchPosteriors
from .problem import LazyProblems

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class SpanTable(NamedTuple):
    """The K spans of D documents, one document after the other.

    posteriors (BatchPosteriors): What decoding the documents leaves.
    labels (Sequence[str]): Of all spans.
    n_spans (int32 [D]): Of each document.
    spans (int32 [K, 3]): Start and end, in tokens of the document, and index in
        `labels`.
    confidence (Optional[float64 [K]]), whole (Optional[float64 [D]]): Probabilities of
        each span, and of each segmentation; None: they were not needed.
    """

    posteriors: BatchPosteriors
    labels: Sequence[str]
    n_spans: Ints
    spans: Ints
    confidence: Floats | None
    whole: Floats | None

    def predictions(self) -> list[Prediction]:
        """RETURNS (List[Prediction]): The same, with an object for each document."""
        spans, scores, wholes = TableSpans(self), self.confidence, self.whole
        ends = np.cumsum(self.n_spans).tolist()
        return [
            Prediction(
                spans[k],
                None if scores is None else scores[end - size : end].tolist(),
                posterior=self.posteriors[k] if scores is None else None,
                whole=None if wholes is None else float(wholes[k]),
            )
            for k, (end, size) in enumerate(zip(ends, self.n_spans.tolist()))
        ]

    def in_tokens(self, cleaned: Mapping[int, CleanDoc]) -> SpanTable:
        """RETURNS (SpanTable): Of the original documents; cleaned: see
        `CleanDecoder.clean`."""
        spans, first = self.spans.copy(), np.append(0, np.cumsum(self.n_spans))
        for k, clean in cleaned.items():
            own = spans[first[k] : first[k + 1]]
            if len(own):
                own[:, 0] = np.array(clean.starts)[own[:, 0]]
                own[:, 1] = np.array(clean.ends)[own[:, 1] - 1]
        places = {k: clean.places for k, clean in cleaned.items()}
        posteriors = CleanBatchPosteriors(self.posteriors, places)
        return self._replace(posteriors=posteriors, spans=spans)


class TableSpans(Sequence[Sequence[Span]]):
    """The spans of each document of a table."""

    def __init__(self, table: SpanTable) -> None:
        self._names, self._spans = table.labels, table.spans
        self._n_spans = table.n_spans

    def __len__(self) -> int:
        return len(self._n_spans)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[d] for d in range(*k.indices(len(self)))]
        first = int(self._n_spans[:k].sum())
        some = self._spans[first : first + int(self._n_spans[k])].tolist()
        return [(i, j, self._names[y]) for i, j, y in some]


def prediction_steps(
    decoder: Decoder, docs: DocBatch
) -> Steps[SpanTable | list[Prediction]]:
    """What `Decoder.steps` predicts; as a table where that is possible.

    decoder (Decoder): Decodes the documents.
    docs (DocBatch): One or more.
    RETURNS (Union[SpanTable, List[Prediction]]): Of all documents.
    RAISES (ValueError): As `Decoder.predict`.
    """
    if isinstance(decoder, CleanDecoder):
        read, cleaned = decoder.clean(docs)
        found = yield from prediction_steps(decoder.decoder, read)
        if not cleaned:
            return found
        if isinstance(found, SpanTable):
            if not any(docs.has_ents) and not _have_sentences(docs[k] for k in cleaned):
                return found.in_tokens(cleaned)
            found = found.predictions()
        return in_tokens(found, cleaned)
    if not isinstance(decoder, FlatDecoder) or not _makes_tables(decoder, docs):
        return (yield from decoder.steps(docs))
    problems = yield from decoder.problem_steps(docs)
    if isinstance(problems.flat, LazyProblems):
        args = decoder.automaton, decoder.options, decoder.options.has_whole
        paths = yield from problems.flat.best_steps(*args)
        if paths is not None:
            posteriors = BatchPosteriors(decoder, problems.flat)
            return SpanTable(posteriors, decoder.inventory.names, *paths)
    return (yield from decoder.steps(docs, None, problems))


def _have_sentences(docs: Iterable[Doc]) -> bool:
    """Whether sentence starts are set; spaCy says so of each document of one token."""
    return any(len(doc) > 1 and doc.has_annotation(SENT_START) for doc in docs)


def _makes_tables(decoder: FlatDecoder, docs: DocBatch) -> bool:
    options: Any = decoder.options
    return not (
        not decoder.state.weights.is_trained
        or options.min_confidence
        or options.spans_threshold is not None
        or options.has_scores != options.has_whole
        or any(docs.has_ents)
        or any(docs.has_limits)
    )
