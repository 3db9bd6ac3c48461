"""Batches: the instances of documents with their scores and limits, as columns.

A document is a batch of one, and so is each of its sentences. Within a batch spans are
in tokens of instances; what leaves it is in tokens of documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Bools
from ..core import Constraints, Marginals, PatternAutomaton, Potentials, marginals
from ..core.potentials import ManyPotentials
from ..features.clean_docs import WordPlaces
from ..features.instances import Instance
from ..labels.constraints import require
from ..labels.inventory import Segment, Span
from ..labels.partial import NOTHING, PartialLabels
from ..labels.whitespace import trim_whitespace, whitespace

if TYPE_CHECKING:
    from .flat_decoder import FlatDecoder

# What the place of a word takes: two integers, each in a list.
_WORD_BYTES = 2 * (8 + 28)


class Batch:
    """Has N instances of D documents of one vocabulary, made by a decoder: `docs` [D]
    as they are read, `potentials` [N], `borders` [D + 1], the first instance of each
    document and N, `tokens` [N] and `starts` [N], where these begin (None: instances
    are documents), and by instance the places of clean `words`."""

    def __init__(
        self,
        source: FlatDecoder,
        docs: Sequence[Doc],
        potentials: Sequence[Potentials],
        borders: Sequence[int],
        tokens: Sequence[Doc] | None = None,
        starts: Sequence[int] | None = None,
        words: Mapping[int, WordPlaces] | None = None,
    ) -> None:
        self.source, self.docs = source, docs
        self.potentials, self.borders = potentials, borders
        self.tokens = docs if tokens is None else tokens
        self.starts, self.words = starts, words or {}
        # What limits each instance, in its own tokens.
        n = borders[-1]
        self.constraints: list[Constraints | None] = [None] * n
        self.existing: list[PartialLabels | None] = [None] * n
        self.corrections = [NOTHING] * n
        # Whether nothing limits any of them, and all scores are arrays.
        self.is_free = isinstance(potentials, ManyPotentials)
        # In tokens of the only document as it is read, with labels of documents.
        self.user_corrections = NOTHING
        # Of the instances where it is known; log P is of the predicted segmentation.
        self.log_z: dict[int, float] = {}
        self.log_prob: dict[int, float] = {}
        self._is_detached = False
        self._is_space: dict[int, Bools] = {}

    def rows(self, d: int) -> range:
        """Returns the instances of a document."""
        return range(self.borders[d], self.borders[d + 1])

    def instance(self, k: int) -> Instance:
        """Returns one instance as an `Instance`."""
        start = 0 if self.starts is None else self.starts[k]
        return Instance(self.tokens[k], start, self.words.get(k))

    def is_space(self, k: int) -> Bools:
        """Returns which tokens of an instance are whitespace, bool [n]; only asked for
        if segments are tags."""
        if self._is_detached:
            return self._is_space[k]
        is_space = np.zeros(len(self.tokens[k]), np.bool_)
        if (spaces := whitespace(self.tokens[k])) is not None:
            is_space[spaces] = True
        return is_space

    def spans(self, k: int, segments: Iterable[Segment]) -> list[Span]:
        """Returns the spans of a segmentation of an instance, from left to right."""
        inventory = self.source.inventory
        spans = inventory.decode(segments)
        if inventory.on_tokens:  # tags of a span may begin or end on whitespace
            spans = trim_whitespace(spans, self.is_space(k))
        return spans

    def scored(self, k: int) -> tuple[PatternAutomaton, Potentials, Constraints | None]:
        """Returns what the distribution over the segmentations of an instance is of."""
        return self.source.automaton, self.potentials[k], self.constraints[k]

    def requiring(self, k: int, spans: Sequence[Span]) -> Constraints:
        """Returns the constraints of an instance, and that it has some spans."""
        limits = self.constraints[k]
        return require(spans, self.source.inventory, limits, len(self.tokens[k]))

    def marginals(self, k: int) -> Marginals:
        return marginals(*self.scored(k))

    def alone(
        self,
        k: int,
        *,
        source: FlatDecoder | None = None,
        potentials: Potentials | None = None,
        constraints: Constraints | None = None,
        corrections: PartialLabels | None = None,
    ) -> Batch:
        """Returns one instance as a batch; what is given replaces what it has."""
        instance = self.instance(k)
        batch = Batch(
            source or self.source,
            self.docs,
            [potentials or self.potentials[k]],
            (0, 1),
            [instance.tokens],
            [instance.start],
            {} if instance.words is None else {0: instance.words},
        )
        batch.constraints = [constraints or self.constraints[k]]
        batch.existing = [self.existing[k]]
        batch.corrections = [corrections or self.corrections[k]]
        batch.is_free = False
        batch._is_detached = self._is_detached
        if k in self._is_space:
            batch._is_space[0] = self._is_space[k]
        return batch

    def detach(self) -> int:
        """Lets go of the documents; keeps the number of tokens of each instance and, if
        segments are tags, which tokens are whitespace. Returns how many bytes are
        left."""
        if not self._is_detached:
            if self.source.inventory.on_tokens:
                self._is_space = {k: self.is_space(k) for k in range(len(self.tokens))}
            self._is_detached = True
            sizes: Any = [range(len(tokens)) for tokens in self.tokens]
            self.docs = self.tokens = sizes
        is_joined = isinstance(self.potentials, ManyPotentials)
        scores: Any = [self.potentials] if is_joined else self.potentials
        n_bytes = 0
        for x in scores:  # start and end have the shape of inside
            n_bytes += 3 * x.inside.nbytes + x.cells.nbytes
            n_bytes += 0 if x.entries is None else x.entries.nbytes
        for limits in self.constraints:
            if limits is not None:
                arrays = limits.allowed, limits.boundary
                n_bytes += sum([x.nbytes for x in arrays if x is not None])
        for words in self.words.values():
            n_bytes += _WORD_BYTES * len(words.starts)
        return n_bytes
