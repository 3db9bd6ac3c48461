"""The Thinc shim that holds a `WeightState`: Thinc would update a parameter densely."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from thinc.api import Optimizer, Shim

from ...arrays import Counts, Floats, Keys
from ...core import Potentials
from ...features import Extractor
from ..active_features import Rows
from . import edits, storage, vector
from .online import OnlineSteps
from .state import WeightState, empty_state, freeze


class Weights(Shim):
    """The weights of a span scorer while they are trained.

    The extractor reads features; `l2`, by penalty group, and the scale of the learn
    rate are for online training. `state` is the present one: steps and fits may change
    its arrays in place, see `publish`.
    """

    def __init__(
        self, extractor: Extractor, l2: dict[str, float], learn_rate_scale: float
    ) -> None:
        super().__init__(None)
        self.l2 = l2
        self.learn_rate_scale = learn_rate_scale
        self.replace(empty_state(extractor))

    def replace(self, state: WeightState) -> None:
        """Takes other weights, and forgets the steps of the optimizer."""
        self.state = state
        self._steps: OnlineSteps | None = None

    def read_with(self, extractor: Extractor) -> None:
        """Reads features with another extractor."""
        self.state = replace(self.state, extractor=extractor)

    def publish(self) -> WeightState:
        """Returns the present weights for predictions, now read-only: training goes on
        with a copy of the arrays that it changes."""
        return freeze(self.state)

    def vector(self) -> Floats:
        """Returns all trained weights, see the module `vector`."""
        return vector.as_vector(self.state)

    def set_vector(self, values: Floats, *, copy: bool = True) -> None:
        """Inverts `vector`; without a copy the weights of features are a view of the
        values. Raises ValueError HS055 if there are more or fewer."""
        self.replace(vector.with_vector(self.state, values, copy=copy))

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """Returns for each weight the value of its penalty group."""
        return vector.vector_values(self.state, values)

    def round(self) -> None:
        """Makes all weights what they will be in a saved model."""
        self.replace(vector.rounded(self.state))

    def pruned_size(self, share: float) -> dict[str, float]:
        """Returns the size without features whose weights are all 0, and then with a
        share of the squares less: see `vector.without_least`."""
        state = edits.keep(self.state, self.state.matrix != 0.0)
        return storage.size_of(vector.without_least(state, share))

    def accumulate(self, rows: Rows, gradients: Sequence[Potentials]) -> None:
        """Adds the gradient of concatenated documents."""
        self._online().accumulate(self.state, rows, gradients)

    def add_features(self, keys: Keys, names: list[str], counts: Counts) -> None:
        """Adds features as `OnlineSteps.add_features` does; training goes on."""
        self.state = self._online().add_features(self.state, keys, names, counts)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Takes a step on all weights that documents have read since the last call."""
        if self._steps is None:
            return
        announce_averages(optimizer, self.id)
        rate = self.learn_rate_scale * float(optimizer.learn_rate)
        self.state = self._steps.step(self.state, self.l2, rate)

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """With our key in `params`, the weights are their averages for a while."""
        if (self.id, "hosemi") not in params or self._steps is None:
            yield
            return
        present = self.state
        self.state = self._steps.averaged(present)
        try:
            yield
        finally:
            self.state = present

    def _online(self) -> OnlineSteps:
        if self._steps is None:
            self._steps = OnlineSteps(self.state)
        return self._steps

    def to_device(self, device_type: str, device_id: int) -> None:
        """Does nothing: the weights stay in main memory."""

    def copy(self) -> Weights:
        """Returns the weights as a saved model has them, and no steps."""
        return _unpickle(*self.__reduce__()[1])

    def to_bytes(self) -> bytes:
        """Returns features and weights, those in single precision."""
        return storage.to_bytes(self.state)

    def from_bytes(self, data: bytes) -> Weights:
        """Reads what `to_bytes` returned; see `storage.from_bytes`. Returns itself."""
        self.replace(storage.from_bytes(data, self.state.extractor))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        args = self.state.extractor, self.l2, self.learn_rate_scale, self.to_bytes()
        return _unpickle, args


def announce_averages(optimizer: Optimizer, shim_id: int) -> None:
    """Tells an optimizer that a shim has averages: `nlp.use_params` asks only for keys
    that it knows. What `nlp.rehearse` passes for an optimizer has a rate only."""
    averages: dict[Any, Any] | None = getattr(optimizer, "averages", None)
    if averages is not None:
        averages[(shim_id, "hosemi")] = np.zeros(0, "f")


def _unpickle(
    extractor: Extractor, l2: dict[str, float], scale: float, data: bytes
) -> Weights:
    return Weights(extractor, l2, scale).from_bytes(data)
