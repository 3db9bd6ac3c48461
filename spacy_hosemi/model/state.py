"""The state that a prediction reads: labels and weights, which change as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Condition, RLock, get_ident
from typing import Any, Protocol

from thinc.api import Model

from ..labels.label_schema import LabelSchema
from .tok2vec import TURNS, Encoder, is_frozen
from .weights.state import Cached, WeightState


@dataclass(frozen=True, eq=False)
class ModelState(Cached):
    """The labels and weights of one component, which training only replaces."""

    schema: LabelSchema
    weights: WeightState  # of the labels that segments have
    encoder: Encoder | None = None
    levels: Any = None  # the LevelState, of the names below the top of a label tree


class StateSource(Protocol):
    """The labels and weights that training changes, with the span scorer."""

    model: Model[Any, Any]

    def is_current(self, state: ModelState) -> bool:
        """Whether a state has the present labels and weights."""
        ...

    def publish(self) -> ModelState:
        """Returns the present labels and weights, read-only: training takes copies."""
        ...


class Published:
    """The state of one component that predictions read, and the order of its changes.

    A change lasts from the first thing that training does to the labels or weights
    until all of them fit each other again. Readers get the last state before it, or,
    where that was never asked for, wait until it ends. So every reader gets a state
    that was the present one at some time during the call, and as long as nobody reads
    while training goes on, no state is made: nothing is copied.
    """

    def __init__(self, source: StateSource) -> None:
        self._source = source
        # The decoder that the component has made last, behind its settings and its name
        # then, and what is held while it is made; not copied with the component.
        self.made: tuple[Any, Any, Any] = None, None, None
        self.making = RLock()
        self.owner: int | None = None  # the thread of the change that goes on
        self._state: ModelState | None = None
        self._changing = RLock()
        self._news = Condition(RLock())
        self._depth = 0
        self._is_awaited = False
        # While a change goes on: the state before it, if that was made, and what the
        # thread of the change has read since.
        self._before: ModelState | None = None
        self._within: ModelState | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy of the component makes its own state.
        return Published, (self._source,)

    def read(self) -> ModelState:
        """Returns the present state; within a change, for the thread that makes it,
        what has become of the labels and weights so far."""
        source = self._source
        if self.owner == get_ident():
            if self._within is None or not source.is_current(self._within):
                self._within = source.publish()
            return self._within
        if (before := self._before) is not None:
            return before
        if (state := self._state) is not None and source.is_current(state):
            return state
        with self._news:
            while self.owner is not None:
                if self._before is not None:
                    return self._before
                self._is_awaited = True
                self._news.wait()
            if self._state is None or not source.is_current(self._state):
                self._state = source.publish()
            return self._state

    @contextmanager
    def change(self, *, is_long: bool = False) -> Iterator[None]:
        """Makes one change of what is done within; other threads wait with theirs. If
        it is long, the state before it is published, so that readers need not wait."""
        source = self._source
        layers = source.model.layers
        is_free = not layers or (is_long and is_frozen(source.model))
        with self._changing:
            with self._news:
                if not self._depth:
                    state = self._state
                    if state is None or not source.is_current(state):
                        state = source.publish() if is_long else None
                    self._state = self._before = state
                    self.owner = get_ident()
                self._depth += 1
            try:
                with nullcontext() if is_free else TURNS:
                    yield
            finally:
                with self._news:
                    self._depth -= 1
                    if not self._depth:
                        if self._is_awaited:
                            self._state, self._is_awaited = source.publish(), False
                        self.owner = self._before = self._within = None
                        self._news.notify_all()
