"""Early stopping: the weights that predict other documents best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Kept(NamedTuple):
    """The weights that a fit keeps.

    x (float64): As the optimizer has them.
    loss (float): The objective there, in nats.
    n_steps (int): Iterations before them.
    scores (Mapping[str, Any]): On the other documents, see `scores_of`.
    """

    x: Floats
    loss: float
    n_steps: int
    scores: Mapping[str, Any]


class Patience:
    """Says when a fit has gone on for too long (Prechelt 1998, "Early stopping - but
    when?": a number of looks without a better score).

    n_steps (int): Iterations without a better F1 after which a fit ends.
    kept (Optional[Kept]): Of an earlier run.

    kept (Optional[Kept]): The first of the weights with the best F1 so far.
    """

    def __init__(self, n_steps: int, kept: Kept | None = None) -> None:
        self.n_steps, self.kept = n_steps, kept

    def look(
        self, x: Floats, loss: float, n_steps: int, scores: Mapping[str, Any]
    ) -> bool:
        """Note the score of some weights, which are copied. RETURNS (bool): Whether
        the fit should end."""
        kept = self.kept
        if kept is None or scores["ents_f"] > kept.scores["ents_f"]:
            kept = self.kept = Kept(x.copy(), loss, n_steps, scores)
        return n_steps - kept.n_steps >= self.n_steps
