"""Objects that never change, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

Found = TypeVar("Found")

# One lock for all objects, because a lock in an object could not be pickled.
_COMPUTING = RLock()


@dataclass(frozen=True, eq=False)
class Cached:
    """Computes what follows from a frozen object once for all threads."""

    _found: dict[Callable[[Any], Any], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    def cached(self, make: Callable[[Any], Found]) -> Found:
        """The first thread that asks computes the result, others wait.

        make (Callable): A function of a module, called with this object.
        RETURNS (Any): What it returned.
        """
        if make not in self._found:
            with _COMPUTING:
                if make not in self._found:
                    self._found[make] = make(self)
        found: Found = self._found[make]
        return found
