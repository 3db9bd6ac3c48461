"""The posterior of documents with labels in a tree that are decoded level by level.

It is the distribution at the last level, over all segmentations that consist of
candidates: with threshold 0 all segmentations; otherwise one with a pruned candidate
has probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..core.algorithms.marginals import check_segment
from ..errors import Errors
from ..labels.inventory import Segment, Span
from ..prediction.batch import Batch
from ..prediction.marginals import document_marginals
from ..prediction.posterior import Option, Path, Posterior
from .candidates import PartialNodes, Place
from .coarse_to_fine import ScoredLevel
from .projection import TreeProjection

# Two sums of the same numbers may differ by this share.
_ROUNDING = 1e-9


class LevelPosterior(Posterior):
    """Answers for the distribution at the last level, which is solved for all instances
    of a batch; these are as they are at the top."""

    def __init__(self, batch: Batch, place: int, solved: ScoredLevel) -> None:
        super().__init__(batch, place)
        projection = cast(TreeProjection, batch.source.state.schema.projection)
        self.solved, self.tree, self.labels = solved, projection.tree, projection.labels

    @cached_property
    def segments(self) -> list[dict[Segment, float]]:
        """Returns the probability of each candidate of each instance: start and end in
        its tokens, node (-1: outside)."""
        table, of_rows = self.solved.candidates, []
        columns = (table.start, table.end, table.node, self.solved.solution[0])
        for k in self.rows:
            here = slice(table.first[k], table.first[k + 1])
            values = zip(*(column[here].tolist() for column in columns))
            of_rows.append({(i, j, v): min(p, 1.0) for i, j, v, p in values})
        return of_rows

    def options(self, k: int) -> list[list[Option]]:
        table, names = self.solved.candidates, self.tree.names
        args = table.score, table.node + 1, k
        of_rows = []
        for row, segments in zip(self.rows, map(list, self.segments)):
            if not len(self.batch.tokens[row]):
                continue
            first, instance = int(table.first[row]), self.batch.instance(row)
            log_z, options = float(self.solved.log_z[row]), []
            for path, score in self.solved.lattice.kbest(row, *args):
                here = (segments[x - first] for x in path)
                spans = [(i, j, names[v]) for i, j, v in here if v >= 0]
                options.append((score - log_z, tuple(instance.to_document(spans))))
            of_rows.append(options)
        return of_rows

    def entropy(self) -> float:
        return math.fsum(float(self.solved.entropies[k]) for k in self.not_empty)

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        listed: list[tuple[Span, float]] = []
        for row, segments in zip(self.rows, self.segments):
            pairs = [
                ((i, j, self.tree.names[v]), prob)
                for (i, j, v), prob in segments.items()
                if v >= 0 and prob >= p * (1.0 - _ROUNDING)
            ]
            instance = self.batch.instance(row)
            spans = instance.to_document([span for span, _ in pairs])
            listed += zip(spans, (prob for _, prob in pairs))
        return listed

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        places = ((x, x and self.tree.node_of(x[1][2])) for x in self.locate(spans))
        return [
            0.0 if place is None or node is None else self._at_node(*place, node)
            for place, node in places
        ]

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        places = self.locate(spans, self.tree.leaf)
        return [None if place is None else self._path(*place) for place in places]

    def whole(self, spans: Sequence[Span]) -> float:
        return whole_probabilities([self], [spans])[0]

    def marginals(self) -> Any:
        words = self.batch.words.get(self.rows[0])
        return document_marginals([LeafMarginals(self)], words)

    def _path(self, row: int, span: Span) -> Path:
        """Returns the names above a span with a leaf."""
        nodes = self.tree.path(self.tree.leaf[span[2]])
        return [(name, self._at_node(row, span, node)) for name, node in nodes]

    def _at_node(self, row: int, span: Span, node: int) -> float:
        """Returns the probability of a label below a node at these tokens."""
        at = self.tree.at_level(int(self.tree.level[node]))
        below = (
            prob
            for (i, j, v), prob in self.segments[row - self.rows.start].items()
            if (i, j) == span[:2] and v >= 0 and at[v] == node
        )
        return min(math.fsum(below), 1.0)


def whole_probabilities(
    posteriors: Sequence[LevelPosterior], spans: Sequence[Sequence[Span]]
) -> list[float]:
    """Returns the probability of segmentations of documents of a batch with exactly
    some sorted spans, see `Posterior.whole`; inner nodes stand for all leaves below."""
    batch, solved, tree = posteriors[0].batch, posteriors[0].solved, posteriors[0].tree
    sizes = solved.candidates.sizes
    places: list[list[Place]] = [[] for _ in sizes]
    is_given = [np.zeros(n, bool) for n in sizes]
    has_all = []
    for posterior, of_doc in zip(posteriors, spans):
        located = posterior.locate(of_doc)
        has_all.append(None not in located)
        for k, (start, end, name) in (x for x in located if x is not None):
            node = tree.node_of(name)
            assert node is not None
            places[k].append((start, end, node))
        for k in posterior.rows:
            existing = batch.existing[k]
            if existing and existing.blocked is not None:
                is_given[k] |= existing.blocked
    exact = PartialNodes(places, is_given, [[] for _ in sizes])
    agrees = exact.agrees(solved.candidates, tree)
    score = np.where(agrees, solved.candidates.score, -np.inf)
    log_share = np.minimum(solved.lattice.sums(score)[0] - solved.log_z, 0.0)
    return [
        math.exp(math.fsum(log_share[k] for k in posterior.rows)) if is_within else 0.0
        for posterior, is_within in zip(posteriors, has_all)
    ]


class LeafMarginals:
    """Has the probabilities of all segments of one document, and of labels at tokens
    [n, L], see `Marginals`; label 0 is outside, then come the component's leaves."""

    def __init__(self, posterior: LevelPosterior) -> None:
        batch, rows, labels = posterior.batch, posterior.rows, posterior.labels
        self.log_z = math.fsum(float(posterior.solved.log_z[k]) for k in rows)
        self.tokens = np.zeros((posterior.n_tokens, len(labels) + 1))
        self._segments: dict[Segment, float] = {}
        index = {label: y for y, label in enumerate(labels, start=1)}
        for k, of_row in zip(rows, posterior.segments):
            low = batch.instance(k).start
            for (i, j, v), prob in of_row.items():
                start, end = i + low, j + low
                y = 0 if v < 0 else index[posterior.tree.names[v]]
                self._segments[start, end, y] = prob
                self.tokens[start:end, y] += prob

    def segment(self, start: int, end: int, label: int) -> float:
        """Returns the probability of exactly this segment, with the index of its label.
        Raises ValueError: HS024 offsets; HS021 label."""
        check_segment(start, end, label, *self.tokens.shape)
        return self._segments.get((start, end, label), 0.0)

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """Returns start, end, label index and probability of all segments with at least
        this probability, sorted. Raises ValueError HS022 unless 0 < p <= 1."""
        if not 0.0 < p <= 1.0:
            raise ValueError(Errors.HS022.format(found=p))
        least = p * (1.0 - _ROUNDING)
        return sorted((*x, q) for x, q in self._segments.items() if q >= least)
