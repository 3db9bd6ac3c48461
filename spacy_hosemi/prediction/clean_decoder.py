"""Decodes documents by their words in a clean form, see `features.clean_docs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from spacy.tokens import Doc

from ..core.parallel.coroutines import Steps
from ..features.clean_docs import CleanDoc, WordPlaces, are_clean, clean_doc
from ..features.doc_batch import DocBatch, TextBatch, as_batch
from ..features.instances import Instance
from ..labels.inventory import OUTSIDE, Span
from ..labels.partial import NOTHING, PartialLabels
from .decoder import Decoder, FlatDecoder, Prediction
from .existing_entities import read_existing
from .posterior import (
    BatchPosteriors,
    InstancePosterior,
    Option,
    Path,
    Posterior,
    StoredPosterior,
)
from .problem import Problem

# Segments that are less probable are not added up.
_LEAST = 1e-12

# Of the two numbers of a word in two lists.
_WORD_BYTES = 2 * (8 + 28)


class CleanDecoder(Decoder):
    """Another decoder, which sees clean documents alone.

    decoder (Decoder): Decodes them. A document that is clean is given to it as it is.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.state, self.options = decoder.state, decoder.options
        self.decoder = decoder

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[list[Prediction]]:
        """See `Decoder`."""
        docs = as_batch(docs)
        read, cleaned = self.clean(docs, corrections)
        if corrections and cleaned:
            corrections = corrections.of_words(cleaned[0])
        found = yield from self.decoder.steps(read, corrections)
        return in_tokens(found, cleaned)

    def clean(
        self, docs: DocBatch, corrections: PartialLabels | None = None
    ) -> tuple[DocBatch, dict[int, CleanDoc]]:
        """Documents as the other decoder sees them.

        docs (DocBatch), corrections (Optional[PartialLabels]): See `Decoder.steps`.
        RETURNS (Tuple[DocBatch, Dict[int, CleanDoc]]): All documents; and those of them
            that were made clean, by their place.
        """
        if isinstance(docs, TextBatch):  # of clean words, see `DirectReader`
            return docs, {}
        is_clean = are_clean(docs)
        if all(is_clean):
            return docs, {}
        name = self.options.name
        cleaned = {
            k: _clean(doc, name, corrections)
            for k, doc in enumerate(docs)
            if not is_clean[k]
        }
        read = [cleaned[k].doc if k in cleaned else doc for k, doc in enumerate(docs)]
        return DocBatch(read), cleaned

    def cleaned(self, doc: Doc) -> CleanDoc | None:
        """RETURNS (Optional[CleanDoc]): A document as the other decoder sees it; None:
        as it is."""
        return None if are_clean([doc])[0] else _clean(doc, self.options.name)

    def posterior(self, doc: Doc) -> Posterior:
        """See `Decoder`."""
        clean = self.cleaned(doc)
        if clean is None:
            return self.decoder.posterior(doc)
        return CleanPosterior(self.decoder.posterior(clean.doc), clean.places)


def _clean(doc: Doc, name: str, corrections: PartialLabels | None = None) -> CleanDoc:
    """RETURNS (CleanDoc): With existing entities, which the component of that name has
    not written; these and the spans of a user are not within words."""
    existing = read_existing(doc, name)
    if existing is None and corrections is None:  # as of most documents
        return clean_doc(doc)
    existing = existing or NOTHING
    ents = list(existing.required)
    if (blocked := existing.outside()) is not None:
        # As entities that the model does not know.
        ents += [(i, i + 1, OUTSIDE) for i in np.flatnonzero(blocked).tolist()]
    spans = [*ents]
    if corrections:
        spans += [*corrections.required, *corrections.excluded]  # type: ignore[list-item]
    borders = {i for start, end, _ in spans for i in (start, end)}
    return clean_doc(doc, borders, sorted(ents))


def in_tokens(
    found: Sequence[Prediction], cleaned: Mapping[int, CleanDoc]
) -> list[Prediction]:
    """Predictions for words as those for tokens.

    found (Sequence[Prediction]), cleaned (Mapping[int, CleanDoc]): Of the documents of
        `CleanDecoder.clean`.
    RETURNS (List[Prediction]): Of the original documents.
    """
    return [
        _in_tokens(one, cleaned[k]) if k in cleaned else one
        for k, one in enumerate(found)
    ]


def _in_tokens(prediction: Prediction, clean: CleanDoc) -> Prediction:
    left, listed = prediction.posterior, prediction.listed
    if listed is not None:
        listed = [(clean.to_tokens(span), p) for span, p in listed]
    return replace(
        prediction,
        spans=[*map(clean.to_tokens, prediction.spans)],
        listed=listed,
        posterior=left and StoredCleanPosterior(left, clean.places),
    )


# Not frozen, as what follows: one is made for each document.
@dataclass(slots=True)
class CleanPosterior:
    """See `Posterior`; spans are in tokens, probabilities are of words.

    posterior (Posterior): Of the clean document.
    clean (WordPlaces): Where its words stand.
    """

    posterior: Posterior
    clean: WordPlaces

    def instances(self) -> list[CleanInstance]:
        """See `Posterior`."""
        return [CleanInstance(x, self.clean) for x in self.posterior.instances()]

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        """See `Posterior`."""
        words = [self.clean.to_words(span) for span in spans]
        known = [span for span in words if span]
        found = iter(self.posterior.paths(known))
        return [next(found) if span else None for span in words]

    def whole(self, spans: Sequence[Span]) -> float:
        """See `Posterior`."""
        words = [self.clean.to_words(span) for span in spans]
        known = [span for span in words if span]
        return self.posterior.whole(known) if len(known) == len(words) else 0.0

    def marginals(self) -> Any:
        """See `Posterior`."""
        return CleanMarginals(self.posterior.marginals(), self.clean)


@dataclass(slots=True)
class StoredCleanPosterior(CleanPosterior):
    """See `CleanPosterior` and `StoredPosterior`.

    posterior (StoredPosterior): Of the clean document.
    """

    posterior: StoredPosterior

    @property
    def decoder(self) -> FlatDecoder:
        """See `StoredPosterior`."""
        return self.posterior.decoder

    @property
    def problems(self) -> Sequence[Problem]:
        """See `StoredPosterior`; of words."""
        return self.posterior.problems

    @property
    def n_bytes(self) -> int:
        """See `StoredPosterior`."""
        return _WORD_BYTES * len(self.clean.starts)

    def recompute(self) -> Callable[[Doc], StoredCleanPosterior]:
        """See `StoredPosterior`."""
        of_words, name = self.posterior.recompute(), self.decoder.options.name

        def make(doc: Doc) -> StoredCleanPosterior:
            clean = _clean(doc, name)
            return StoredCleanPosterior(of_words(clean.doc), clean.places)

        return make


class CleanBatchPosteriors(BatchPosteriors):
    """See `BatchPosteriors`; some of the documents were made clean.

    posteriors (BatchPosteriors): Of all documents as they were decoded.
    places (Mapping[int, WordPlaces]): Of those that were made clean.
    """

    def __init__(
        self, posteriors: BatchPosteriors, places: Mapping[int, WordPlaces]
    ) -> None:
        super().__init__(posteriors.decoder, posteriors.problems)
        self._places = places

    def __getitem__(self, k: Any) -> Any:
        found = super().__getitem__(k)
        if isinstance(k, slice) or k not in self._places:
            return found
        return StoredCleanPosterior(found, self._places[k])

    def detach(self) -> int:
        """See `BatchPosteriors`."""
        n_words = sum(len(one.starts) for one in self._places.values())
        return super().detach() + _WORD_BYTES * n_words

    def recompute(self) -> list[Callable[[Doc], StoredPosterior]]:
        """See `BatchPosteriors`."""
        found = super().recompute()
        for k in self._places:
            found[k] = self[k].recompute()
        return found


@dataclass(frozen=True)
class CleanInstance:
    """See `InstancePosterior`.

    words (InstancePosterior): Of the words of a clean document.
    clean (WordPlaces): Where its words stand.
    """

    words: InstancePosterior
    clean: WordPlaces

    @property
    def instance(self) -> Instance:
        """From its first to its last word, in tokens."""
        instance, clean = self.words.instance, self.clean
        start = clean.starts[instance.start]
        n_tokens = clean.ends[instance.end - 1] - start
        return Instance(cast(Doc, range(n_tokens)), start)

    def most_probable(self, k: int) -> list[Option]:
        """See `InstancePosterior`."""
        return [
            (log_prob, tuple(map(self.clean.to_tokens, spans)))
            for log_prob, spans in self.words.most_probable(k)
        ]

    def entropy(self) -> float:
        """See `InstancePosterior`."""
        return self.words.entropy()

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """See `InstancePosterior`."""
        found = self.words.spans_above(p)
        return [(self.clean.to_tokens(span), q) for span, q in found]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """See `InstancePosterior`."""
        words = [self.clean.to_words(span) for span in spans]
        found = iter(self.words.confidences([span for span in words if span]))
        return [next(found) if span else 0.0 for span in words]


class CleanMarginals:
    """The marginals of the words of a document, by its tokens.

    A token between two words, such as whitespace, is covered by a segment that has
    both; otherwise it is outside.

    words (Marginals): Of W words, see `HighOrderSemiCRF.marginals`.
    clean (WordPlaces): Of n tokens.

    log_z (float), gradient (Potentials): Those of the words, see `Marginals`; with
        labels in a tree there is no gradient, as there.
    """

    def __init__(self, words: Any, clean: WordPlaces) -> None:
        self.words, self._clean = words, clean
        self.log_z = words.log_z

    @property
    def gradient(self) -> Any:
        """RETURNS (Potentials): Of the words."""
        return self.words.gradient

    @cached_property
    def tokens(self) -> Any:
        """RETURNS (float64 [n, L]): P(token covered by label)."""
        of_words, clean = self.words.tokens, self._clean
        found = np.zeros((clean.n_tokens, of_words.shape[1]))
        found[:, 0] = 1.0
        for start, end, of_word in zip(clean.starts, clean.ends, of_words):
            found[start:end] = of_word
        ends = self._ends()[:, : found.shape[1]]
        # P(label at a word) - P(a segment of it ends there) = P(it goes on).
        goes_on = np.maximum(of_words - ends, 0.0)
        goes_on[:, 0] = 1.0 - goes_on[:, 1:].sum(axis=1)
        for k, (end, start) in enumerate(zip(clean.ends, clean.starts[1:])):
            found[end:start] = goes_on[k]
        return found

    def _ends(self) -> Any:
        """RETURNS (float64 [W, L]): P(a segment with the label ends with the word)."""
        if hasattr(self.words, "gradient"):
            return self.words.gradient.end
        found = np.zeros_like(self.words.tokens)
        for _, end, label, p in self.words.segments_above(_LEAST):
            found[end - 1, label] += p
        return found

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment of tokens; 0 if it begins or ends between
        words."""
        words = self._clean.to_words((start, end, label))
        if words is None or self._clean.to_tokens(words) != (start, end, label):
            return 0.0
        return float(self.words.segment(*words))

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability, in tokens."""
        return [
            (*self._clean.to_tokens((i, j, y)), q)
            for i, j, y, q in self.words.segments_above(p)
        ]
