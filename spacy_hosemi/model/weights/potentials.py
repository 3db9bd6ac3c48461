"""From scores of tokens to the three dense roles of potentials, and back."""

from __future__ import annotations

from ...core import Potentials
from .state import Floats


def _of_tokens(
    inside: Floats, start: Floats, end: Floats, within: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """RETURNS (Tuple[float64 [n, L], ..]): Inside, start and end. What is within a
    segment adds to all of its tokens but the first."""
    if within is None:
        return inside, start, end
    return inside + within, start - within, end


def role_gradient(gradient: Potentials, role: str) -> Floats:
    """RETURNS (float64 [n, L]): Derivatives by the scores of a role of tokens."""
    if role == "within":
        return gradient.inside - gradient.start
    found: Floats = getattr(gradient, role)
    return found
