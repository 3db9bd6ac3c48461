"""Records of texts without documents of spaCy, where the pipeline is the component
alone, and nothing that it reads needs them.

The decoder is the same, and so are the answers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..features.clean_docs import are_clean_texts
from ..features.instances import Instances, Keys
from ..formats.records import Fields
from ..model.tok2vec import knows_words
from ..prediction.decoder import BATCH_TOKENS, batches
from ..prediction.predictions import Predictions
from ..text.pieces import read_texts
from ..text.tokenizer import FieldTokenizer
from .pipe import HighOrderSemiCRF
from .predict import predictions

Ints = NDArray[Any]


def obstacle(nlp: Language) -> str | None:
    """Returns why the texts of a pipeline with a trained component must become
    documents; None: they need not."""
    if [type(pipe) for _, pipe in nlp.pipeline] != [HighOrderSemiCRF]:
        return "the pipeline has more than one component"
    if type(nlp.tokenizer) is not FieldTokenizer:
        return "the tokenizer is not spacy_hosemi.FieldTokenizer.v1"
    if type(nlp).make_doc is not Language.make_doc:
        return "the pipeline makes documents in its own way"
    pipe = cast(HighOrderSemiCRF, nlp.pipeline[0][1])
    state, settings = pipe.state, pipe.settings
    if state.encoder and not knows_words(state.encoder):
        return "features read a tok2vec"
    if state.levels is not None:
        return "labels are in a tree"
    if settings.scope != "doc":
        return f"the scope is {settings.scope!r}"
    if settings.collective:
        return "collective is above 0"
    if settings.spans_threshold is not None:
        return "spans_threshold is set"
    if read := state.weights.extractor.read_of_docs():
        return f"features read {', '.join(read)}"
    return None


def predict_texts(
    nlp: Language, texts: list[str], threads: int | None
) -> Iterator[tuple[list[int], Fields]]:
    """Predicts the spans of texts by a pipeline without an `obstacle`: no document is
    annotated, and one is made only where words are not clean, or not separated by
    single spaces. Yields the places of some texts, and their fields; texts of a batch
    in which one fails are left out. threads: of the component; None: as in its
    settings."""
    pipe = cast(HighOrderSemiCRF, nlp.pipeline[0][1])
    tokens, borders, irregular = read_texts(texts, cast(FieldTokenizer, nlp.tokenizer))
    first = np.array(borders, np.int32)
    is_plain = np.ones(len(texts), bool)
    is_plain[irregular] = False
    is_plain[[k for k, x in enumerate(texts) if len(x) > nlp.max_length]] = False
    if pipe.reads_clean and tokens.size:
        is_plain &= are_clean_texts(nlp.vocab, tokens[0], first)
    if not is_plain.all():
        sizes = np.diff(first)
        tokens = tokens.compress(np.repeat(is_plain, sizes), axis=1)
        first = np.append(0, np.cumsum(sizes[is_plain])).astype(np.int32)
    plain = np.flatnonzero(is_plain).tolist()
    at = 0
    plain_batches = _batches(nlp.vocab, tokens[0], tokens[1], first)
    starts, ends = tokens[2].view(np.int32).reshape(-1, 2).T
    for batch, of_batch in _predicted(pipe, plain_batches, threads):
        low, high = first[at], first[at + len(batch)]
        here, at = plain[at : at + len(batch)], at + len(batch)
        if of_batch is not None:
            args = starts[low:high], ends[low:high], batch.first, of_batch
            yield here, _fields([texts[k] for k in here], *args)
    docs: dict[int, Doc] = {}
    for k in np.flatnonzero(~is_plain).tolist():
        with suppress(Exception):  # such as of half a surrogate pair
            docs[k] = nlp.make_doc(texts[k])
    places, instances = iter(docs), map(Instances, batches(docs.values()))
    for batch, of_batch in _predicted(pipe, instances, threads):
        here = [*islice(places, len(batch))]
        if of_batch is not None:
            args = *_characters(batch), batch.first, of_batch
            yield here, _fields([texts[k] for k in here], *args)


def _predicted(
    pipe: HighOrderSemiCRF, stream: Iterable[Instances], threads: int | None
) -> Iterator[tuple[Instances, Predictions | None]]:
    """Yields each batch with its predictions; None: it fails."""
    for batch, predict in predictions(pipe, stream, threads, True):
        of_batch = None
        with suppress(Exception):
            of_batch = predict()
        yield batch, of_batch


def _batches(
    vocab: Vocab, orths: Keys, spaces: Keys, first: Ints
) -> Iterator[Instances]:
    """Yields some texts, with their tokens."""
    i = 0
    while i < len(first) - 1:
        most = int(first[i]) + BATCH_TOKENS
        j = max(i + 1, int(np.searchsorted(first, most, "right")) - 1)
        borders = first[i : j + 1]
        low, high = int(borders[0]), int(borders[-1])
        columns = orths[low:high], spaces[low:high], borders - low
        yield Instances.of_texts(vocab, *columns)
        i = j


def _characters(docs: Instances) -> tuple[Ints, Ints]:
    """Returns where each of n tokens begins and ends in its document, int64 [n]."""
    spaces, lengths = docs.tokens[1:].astype(np.int64)
    after = np.append(0, np.cumsum(lengths + spaces))
    starts = after[:-1] - np.repeat(after[docs.first[:-1]], np.diff(docs.first))
    return starts, starts + lengths


def _fields(
    texts: Sequence[str], starts: Ints, ends: Ints, first: Ints, predicted: Predictions
) -> Fields:
    """Returns what is predicted in D texts, from the characters of their n tokens, int
    [n], and the first token of each, int32 [D + 1]."""
    assert predicted.confidence is not None
    of_spans = np.repeat(np.arange(len(texts)), predicted.n_spans)
    low, labels = first[of_spans], predicted.labels
    of_starts = starts[low + predicted.spans[:, 0]].tolist()
    of_ends = ends[low + predicted.spans[:, 1] - 1].tolist()
    triples = zip(of_spans.tolist(), of_starts, of_ends)
    return Fields(
        predicted.n_spans.tolist(),
        [*predicted.whole],
        (
            of_starts,
            of_ends,
            [labels[y] for y in predicted.spans[:, 2].tolist()],
            [texts[k][start:end] for k, start, end in triples],
            predicted.confidence.tolist(),
        ),
    )
