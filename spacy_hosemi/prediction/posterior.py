"""Posteriors: the distribution over the segmentations of a document."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ..arrays import Bools
from ..core import Marginals, entropy, kbest, log_partition
from ..core.algorithms.marginals import marginal_steps
from ..core.algorithms.segment_probabilities import probability_steps
from ..core.parallel.coroutines import Steps, finish
from ..labels.constraints import names_of
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import NOTHING
from ..labels.whitespace import before_trimming
from .batch import Batch
from .marginals import document_marginals
from .record_probability import log_probability

# At most this many spans of a document are listed, for each token and at least in all.
LISTED_PER_TOKEN, LISTED = 20, 1000

Option = tuple[float, Any]  # a log probability, and what has it

# The names from the top of a label tree to a label, or a label without a tree, each
# with its probability; None: not computed.
Path = Sequence[tuple[str, float | None]]


def max_listed(n_tokens: int) -> int:
    """Returns how many spans of a document of n tokens are listed at most. With p >= 1
    / LISTED_PER_TOKEN there are never more: the probabilities of all spans that begin
    at one token sum up to 1 at most."""
    return max(LISTED, LISTED_PER_TOKEN * n_tokens)


class Posterior:
    """Answers for the distribution over the segmentations of the document at a place of
    a batch; spans are in its tokens. Its instances, `rows`, do not depend on each
    other: their probabilities multiply, their entropies add."""

    def __init__(self, batch: Batch, place: int) -> None:
        self.batch, self.place = batch, place
        self.rows = range(batch.borders[place], batch.borders[place + 1])

    @property
    def n_tokens(self) -> int:
        """Returns the number of tokens of the document as it is read."""
        return sum([len(self.batch.tokens[k]) for k in self.rows])

    @property
    def not_empty(self) -> list[int]:
        """Returns the instances that have tokens."""
        return [k for k in self.rows if len(self.batch.tokens[k])]

    def locate(
        self, spans: Iterable[Span], labels: Container[str] | None = None
    ) -> list[tuple[int, Span] | None]:
        """Returns the instance of each span, and the span in its tokens; None if no
        instance has all its tokens, or its label is not among `labels` (None: all are
        known)."""
        batch, rows = self.batch, self.rows
        starts = [0] if batch.starts is None else [batch.starts[k] for k in rows]
        words, places = batch.words.get(rows[0]), []
        for span in spans:
            place, read = None, span if words is None else words.to_words(span)
            if read is not None and (labels is None or span[2] in labels):
                at = bisect_right(starts, read[0]) - 1
                low = starts[at]
                if at >= 0 and read[1] <= low + len(batch.tokens[rows[at]]):
                    place = rows[at], (read[0] - low, read[1] - low, span[2])
            places.append(place)
        return places

    def split(self, spans: Iterable[Span]) -> list[list[Span]]:
        """Returns the spans within each instance, in its tokens."""
        of_rows: dict[int, list[Span]] = {k: [] for k in self.rows}
        for place in self.locate(spans):
            if place is not None:
                of_rows[place[0]].append(place[1])
        return [*of_rows.values()]

    def check(self) -> None:
        """Raises ValueError HS060 if no segmentation is possible."""
        for k in self.not_empty:
            if log_partition(*self.batch.scored(k)) == -np.inf:
                raise self.batch.source.impossible(self.batch, k)

    def options(self, k: int) -> list[list[Option]]:
        """Returns log probability and spans of the k most probable segmentations of
        each instance, best first; no two have the same spans. Raises ValueError HS060
        if no segmentation is possible."""
        return [self._most_probable(row, k) for row in self.not_empty]

    def entropy(self) -> float:
        """Returns the entropy in nats, with tags on tokens that over sequences of tags.
        Raises as `options`."""
        of_rows = []
        for k in self.not_empty:
            of_rows.append(entropy(*self.batch.scored(k)))
            if of_rows[-1] == -math.inf:
                raise self.batch.source.impossible(self.batch, k)
        return math.fsum(of_rows)

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """Returns spans with at least this probability, above 0, in any order: all, or
        more than `max_listed` with the most probable. Segments are no tags on tokens;
        with labels in a tree spans have leaves for labels."""
        names = self.batch.source.inventory.names
        listed: list[tuple[Span, float]] = []
        for k in self.not_empty:
            instance = self.batch.instance(k)
            most = max_listed(len(instance.tokens)) + 1
            segments, _ = self.batch.marginals(k).best_above(p, most)
            spans = [(i, j, names[y]) for i, j, y, _ in segments]
            probs = (min(q, 1.0) for *_, q in segments)
            listed += zip(instance.to_document(spans), probs)
        return listed

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """Returns the probability of each span, in [0, 1]; a name of an inner node
        stands for all leaves below it."""
        return [p or 0.0 for p in self._values(spans, confidence_steps)]

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        """Returns for each span the names from the top to its label; None if no
        instance has all its tokens, or its label is unknown."""
        if self.batch.source.tree is not None:
            return self._values(spans, tree_path_steps)
        pairs = zip(spans, self._values(spans, confidence_steps))
        return [None if p is None else [(span[2], p)] for span, p in pairs]

    def whole(self, spans: Sequence[Span]) -> float:
        """Returns the probability of the segmentations with exactly these spans,
        sorted, beside existing entities, which are given; 0 if an instance does not
        have all tokens of a span."""
        of_rows = dict(zip(self.rows, self.split(spans)))
        if sum(map(len, of_rows.values())) < len(spans):
            return 0.0
        log_probs = [log_probability(self.batch, k, of_rows[k]) for k in self.not_empty]
        return math.exp(math.fsum(log_probs))

    def marginals(self) -> Any:
        """Returns what `HighOrderSemiCRF.marginals` does."""
        parts = [self.batch.marginals(k) for k in self.rows]
        return document_marginals(parts, self.batch.words.get(self.rows[0]))

    def _values(self, spans: Iterable[Span], steps: Callable[..., Any]) -> list[Any]:
        """Returns what steps give for each span, from the instances that have some and
        the spans of each; None if no instance has all tokens of a span, or its label is
        unknown."""
        places = self.locate(spans, self.batch.source.inventory.labels)
        of_rows: dict[int, list[Span]] = {}
        for place in places:
            if place is not None:
                of_rows.setdefault(place[0], []).append(place[1])
        values = finish(steps(self.batch, [*of_rows], [*of_rows.values()]))
        by_row = dict(zip(of_rows, map(iter, values)))
        return [None if place is None else next(by_row[place[0]]) for place in places]

    def _most_probable(self, row: int, k: int) -> list[Option]:
        """Returns what `options` does of one instance; tags with equal spans are added
        up."""
        automaton, potentials, limits = self.batch.scored(row)
        log_z = log_partition(automaton, potentials, limits)
        if log_z == -math.inf:
            raise self.batch.source.impossible(self.batch, row)
        instance = self.batch.instance(row)
        merged: dict[tuple[Span, ...], float] = {}
        for segments, score in kbest(automaton, potentials, k, limits):
            here = tuple(instance.to_document(self.batch.spans(row, segments)))
            before = merged.get(here, -math.inf)
            merged[here] = float(np.logaddexp(before, score - log_z))
        pairs = ((log_prob, spans) for spans, log_prob in merged.items())
        return sorted(pairs, key=lambda pair: -pair[0])


def confidence_steps(
    batch: Batch, rows: Sequence[int], spans: Sequence[Sequence[Span]]
) -> Steps[list[list[float]]]:
    """Returns the probability of each of some spans of instances, in [0, 1]; log Z is
    given to the batch."""
    automaton, inventory = batch.source.automaton, batch.source.inventory
    potentials = [batch.potentials[k] for k in rows]
    limits = [batch.constraints[k] for k in rows]
    if inventory.on_tokens:
        probs: list[list[float]] = [[] for _ in rows]
        rows_with_spans = [n for n, of_row in enumerate(spans) if of_row]

        def answer(n: int, posterior: Marginals) -> list[float]:
            is_space, batch.log_z[rows[n]] = batch.is_space(rows[n]), posterior.log_z
            return [_of_tags(posterior, span, inventory, is_space) for span in spans[n]]

        first_end = {n: min(end for _, end, _ in spans[n]) for n in rows_with_spans}
        tags = automaton, potentials, limits, rows_with_spans, answer
        answers = yield from marginal_steps(*tags, first_end=first_end)
        for n, row_probs in zip(rows_with_spans, answers):
            probs[n] = row_probs
    else:
        index = inventory.index
        segments = [[(i, j, index[y]) for i, j, y in of_row] for of_row in spans]
        args = automaton, potentials, segments, limits
        probs, log_z = yield from probability_steps(*args)
        batch.log_z |= {k: z for k, z in zip(rows, log_z) if z is not None}
    if any([batch.corrections[k] is not NOTHING for k in rows]):
        # Kept spans have 1 up to rounding, which min_confidence = 1 would notice.
        for k, of_row, row_probs in zip(rows, spans, probs):
            required = {*batch.corrections[k].required}
            pairs = zip(of_row, row_probs)
            row_probs[:] = [1.0 if x in required else p for x, p in pairs]
    return [[min(p, 1.0) for p in of_row] for of_row in probs]


def tree_path_steps(
    batch: Batch, rows: Sequence[int], spans: Sequence[Sequence[Span]]
) -> Steps[list[list[Path]]]:
    """Returns the probabilities of all names above the spans of some instances. If a
    user gave a span a name, this name and those above it have probability 1."""
    tree = batch.source.tree
    families = [[tree.family(span) for span in of_row] for of_row in spans]
    leaves = [[*chain(*of_row)] for of_row in families]
    probs = iter(chain(*(yield from confidence_steps(batch, rows, leaves))))
    paths: list[list[Path]] = []
    for k, of_row, some in zip(rows, spans, families):
        required = {span[:2]: span[2] for span in batch.corrections[k].required}
        of_leaves = ([*islice(probs, len(family))] for family in some)
        triples = ((x[2], p, required.get(x[:2])) for x, p in zip(of_row, of_leaves))
        paths.append([tree.path(*triple) for triple in triples])
    return paths


def _of_tags(
    posterior: Marginals, span: Span, inventory: LabelInventory, is_space: Bools
) -> float:
    """Returns the probability of the tag sequences that have a span, whatever
    whitespace at its ends is tagged, too."""
    total = 0.0
    for start, end, label in before_trimming(span, is_space):
        # With the tokens beside it, whose tags may not extend it.
        low, high = max(start - 1, 0), min(end + 1, len(is_space))
        allowed = names_of([(start - low, end - low, label)], inventory, high - low)
        some = np.flatnonzero(~allowed.all(axis=1))
        first, last = int(some[0]), int(some[-1])
        total += posterior.labels_among(low + first, allowed[first : last + 1])
    return total
