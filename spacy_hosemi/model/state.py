"""The state that a prediction reads: labels and weights, which change as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

Found = TypeVar("Found")

# Shared by all states, because a lock in an object cannot be pickled: the first thread
# that needs what follows from a state computes it, others wait.
_COMPUTING = RLock()


class Cached:
    """An object that never changes, with what follows from it."""

    _found: dict[Callable[[Any], Any], Any]

    def cached(self, make: Callable[[Any], Found]) -> Found:
        """What follows from this object, computed once for all threads.

        make (Callable): A function of a module, called with this object.
        RETURNS (Any): What it returned.
        """
        if make not in self._found:
            with _COMPUTING:
                if make not in self._found:
                    self._found[make] = make(self)
        found: Found = self._found[make]
        return found


@dataclass(frozen=True, eq=False)
class ModelState(Cached):
    """Labels and weights of one component. Training never changes it, but replaces it.

    schema (LabelSchema): Labels, label patterns and rules, with their automaton.
    weights (WeightState): Of the labels that segments have.
    levels (Optional[LevelState]): Of the names below the top of a label tree.
    """

    schema: Any
    weights: Any
    levels: Any = None
    _found: dict[Callable[[Any], Any], Any] = field(default_factory=dict, repr=False)
