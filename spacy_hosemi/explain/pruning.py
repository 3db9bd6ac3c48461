"""How small a trained component can become, and what that costs in F1.

The smallest weights are set to 0 first, those of label patterns included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from spacy.language import Language
from spacy.training import Corpus

from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..model.weights.storage import size_of

# Shares of the weights that are kept; most models predict little with the last ones.
SHARES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)


@dataclass(frozen=True)
class Pruned:
    """What a component has left after weights up to the absolute value `below` became
    0: a share of the weights, and numbers of each. Its saved folder has `mb` MB (10^6
    bytes); `f1` is the micro-F1 of entities, 0 to 1, or None without data."""

    below: float
    share: float
    features: int
    weights: int
    patterns: int
    states: int
    mb: float
    f1: float | None


def find_threshold(pipe: HighOrderSemiCRF, keep: float) -> float:
    """Returns the threshold for `HighOrderSemiCRF.prune` that keeps a share, 0 to 1, of
    the weights that are not 0."""
    sizes = np.abs(pipe.get_weights())
    sizes = np.sort(sizes[sizes > 0.0])
    n_lost = min(round((1.0 - keep) * len(sizes)), len(sizes))
    return float(sizes[n_lost - 1]) if n_lost else 0.0


def try_pruning(
    nlp: Language,
    pipe: HighOrderSemiCRF,
    thresholds: Iterable[float],
    data: str | Path | None = None,
) -> list[Pruned]:
    """Returns what is left of a component at each threshold, with F1 on `data`, a
    .spacy file; it is restored. Raises ValueError HS120 if all of it has F1 0."""
    whole = pipe.to_bytes(exclude=["vocab"])
    n_before = int(np.count_nonzero(pipe.get_weights()))
    tried = []
    if data is not None and not _f1(nlp, data):
        raise ValueError(Errors.HS120.format(name=pipe.name, path=data))
    try:
        for below in thresholds:
            pipe.from_bytes(whole, exclude=["vocab"])
            pipe.prune(below)
            size = size_of(pipe.weights)
            share = size["weights"] / max(n_before, 1)
            counts = {x: int(size[x]) for x in ("features", "weights", "patterns")}
            states, mb = pipe.automaton.n_states, _megabytes(pipe)
            f1 = None if data is None else _f1(nlp, data)
            tried.append(Pruned(below, share, **counts, states=states, mb=mb, f1=f1))
    finally:
        pipe.from_bytes(whole, exclude=["vocab"])
    return tried


def choose(found: Iterable[Pruned], max_loss: float) -> Pruned:
    """Returns the smallest component that loses at most `max_loss` of F1, 0 to 1, of
    those from `try_pruning` with data; the first is the whole component."""
    components = [*found]
    least = (components[0].f1 or 0.0) - max_loss - 1e-9  # up to rounding
    return min((x for x in components if (x.f1 or 0.0) >= least), key=lambda x: x.mb)


def _megabytes(pipe: HighOrderSemiCRF) -> float:
    with TemporaryDirectory() as folder:
        pipe.to_disk(folder, exclude=["vocab"])
        return sum(x.stat().st_size for x in Path(folder).iterdir()) / 1e6


def _f1(nlp: Language, data: str | Path) -> float:
    return float(nlp.evaluate(list(Corpus(data)(nlp)))["ents_f"] or 0.0)
