"""What is predicted in many texts as arrays, without an object for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.algorithms.segment_probabilities import best_path_steps
from ..core.parallel.coroutines import Steps
from ..features.doc_batch import DocBatch
from .clean_decoder import CleanDecoder
from .decoder import Decoder, FlatDecoder
from .problem import LazyProblems

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class SpanTable(NamedTuple):
    """The K spans of D documents, one document after the other.

    labels (Sequence[str]): Of all spans.
    n_spans (int32 [D]): Of each document.
    start, end (int32 [K]): Tokens of the document.
    label (int32 [K]): Indices in `labels`.
    confidence (float64 [K]), whole (float64 [D]): Probabilities of each span, and of
        each segmentation.
    """

    labels: Sequence[str]
    n_spans: Ints
    start: Ints
    end: Ints
    label: Ints
    confidence: Floats
    whole: Floats


def table_steps(decoder: Decoder, docs: DocBatch) -> Steps[SpanTable | None]:
    """What `Decoder.steps` predicts, with all probabilities.

    decoder (Decoder): Decodes the documents.
    docs (DocBatch): Documents of clean words, see `are_clean`.
    RETURNS (Optional[SpanTable]): None where the decoder has to make predictions.
    """
    if isinstance(decoder, CleanDecoder):
        decoder = decoder.decoder
    options: Any = decoder.options
    if (
        not isinstance(decoder, FlatDecoder)
        or not decoder.state.weights.is_trained
        or options.decoding == "mbr"
        or options.min_confidence
        or options.spans_threshold is not None
    ):
        return None
    problems = yield from decoder.problem_steps(docs)
    if not isinstance(problems.flat, LazyProblems):
        return None
    scores = problems.flat.scores
    found = yield from best_path_steps(decoder.automaton, scores)
    return found and SpanTable(decoder.inventory.names, *found)
