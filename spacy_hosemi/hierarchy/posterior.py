"""The posterior of documents with labels in a tree, and the probability of whole
segmentations, at the last level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..labels.inventory import Span
from ..prediction.posterior import Path, by_instance, split
from .answers import LeafMarginals, LeafPosterior
from .candidates import PartialNodes, Place


def whole_probabilities(
    of_docs: Sequence[Sequence[LeafPosterior]], spans: Sequence[Sequence[Span]]
) -> list[float]:
    """The probability of the segmentations of documents with exactly some spans.

    of_docs (Sequence[Sequence[LeafPosterior]]): The instances of each document; all
        were solved together.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Of each document, sorted; the name
        of an inner node stands for all leaves below.
    RETURNS (List[float]): In [0, 1], see `Posterior.whole`.
    """
    parts = [part for of_doc in of_docs for part in of_doc]
    if not parts:
        return [1.0] * len(of_docs)
    solved, tree = parts[0].solved, parts[0].tree
    sizes = solved.candidates.sizes
    places: list[list[Place]] = [[] for _ in sizes]
    is_given = [np.zeros(n, bool) for n in sizes]
    is_within = []
    for own, of_doc in zip(of_docs, spans):
        asked = split(of_doc, own)
        is_within.append(sum(map(len, asked)) == len(of_doc))
        for part, some in zip(own, asked):
            low = part.instance.start
            for start, end, name in some:
                node = tree.node_of(name)
                assert node is not None
                places[part.index].append((start - low, end - low, node))
            if part.existing and part.existing.blocked is not None:
                is_given[part.index] |= part.existing.blocked
    exact = PartialNodes(places, is_given, [[] for _ in sizes])
    agrees = exact.agrees(solved.candidates, tree)
    score = np.where(agrees, solved.candidates.score, -np.inf)
    log_share = np.minimum(solved.lattice.sums(score)[0] - solved.log_z, 0.0)
    return [
        math.exp(math.fsum(log_share[x.index] for x in own)) if has_all else 0.0
        for own, has_all in zip(of_docs, is_within)
    ]


@dataclass(frozen=True)
class LevelPosterior:
    """See `Posterior`.

    parts (Sequence[LeafPosterior]): The posteriors of the instances of a document.
    labels (Sequence[str]): All leaves.
    n_tokens (int): n.
    """

    parts: Sequence[LeafPosterior]
    labels: Sequence[str]
    n_tokens: int

    def instances(self) -> Sequence[LeafPosterior]:
        return self.parts

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        labels = frozenset(self.labels)

        def of_instances(some: Sequence[Sequence[Span]]) -> list[list[Path]]:
            return [[*map(part.path, x)] for part, x in zip(self.parts, some)]

        return by_instance(spans, self.parts, labels, of_instances)

    def whole(self, spans: Sequence[Span]) -> float:
        return whole_probabilities([self.parts], [spans])[0]

    def marginals(self) -> LeafMarginals:
        return LeafMarginals(self.parts, self.labels, self.n_tokens)
