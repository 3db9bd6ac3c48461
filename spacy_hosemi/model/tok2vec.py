"""Scores from a tok2vec: a linear layer gives each token scores in three roles.

    inside[i, y], start[i, y], end[i, y] += W tok2vec[i] + b

They are added to those of the sparse features, and both are trained by the same
gradient. W and b begin with 0: without a step, nothing is changed.

Sparse weights are published as states that never change. The parameters of a tok2vec
are not: training and prediction take turns, see `taking_turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import replace_model_node
from thinc.api import Linear, Model, zero_init

from ..core import Potentials
from ..features.instances import documents

ROLES = ("inside", "start", "end")

Tok2Vec = Model[list[Doc], list[Any]]

# One for all models, because a lock in a model could not be copied.
_TURNS = RLock()


def taking_turns(model: Model[Any, Any]) -> AbstractContextManager[Any]:
    """Returns a lock, under which training changes the parameters of a tok2vec and
    prediction reads them; for a model without one, nothing is locked."""
    return _TURNS if model.layers else nullcontext()


def make_output(n_labels: int | None = None, width: int | None = None) -> Model:
    """Returns the linear layer, from vectors of a width to all scores."""
    n_scores = None if n_labels is None else len(ROLES) * n_labels
    return Linear(n_scores, width, init_W=zero_init)


def set_output(model: Model[Any, Any], n_labels: int | None) -> None:
    """Gives a span scorer with a tok2vec a new linear layer, for L labels, outside
    included; None: the number is not known yet."""
    if model.layers:
        old, tok2vec = model.get_ref("output"), model.get_ref("tok2vec")
        width = tok2vec.maybe_get_dim("nO")
        replace_model_node(model, old, make_output(n_labels, width))


def kept_output(model: Model[Any, Any]) -> Callable[[], None]:
    """Returns a function that gives a span scorer with a tok2vec its present linear
    layer back."""
    if not model.layers:
        return lambda: None
    output = model.get_ref("output")
    return lambda: replace_model_node(model, model.get_ref("output"), output)


def add_labels(model: Model[Any, Any], n_labels: int) -> None:
    """Appends labels to the output layer of a span scorer with a tok2vec, so that it
    has `n_labels`; their scores are its least bias at first."""
    if not model.layers:
        return
    old = model.get_ref("output")
    ops: Any = old.ops
    n_roles = len(ROLES)
    # [3 L, width] as [3, L, width]: the labels of each role stand together
    weights = ops.to_numpy(old.get_param("W")).reshape(n_roles, -1, old.get_dim("nI"))
    bias = ops.to_numpy(old.get_param("b")).reshape(n_roles, -1)
    more = (0, 0), (0, n_labels - bias.shape[1])
    weights = np.pad(weights, (*more, (0, 0)))
    bias = np.pad(bias, more, constant_values=bias.min(initial=0.0))
    # A new layer: the optimizer has state in the shape of the old one.
    new = make_output(n_labels, old.get_dim("nI"))
    new.set_param("W", ops.asarray2f(weights.reshape(-1, old.get_dim("nI"))))
    new.set_param("b", ops.asarray1f(bias.ravel()))
    replace_model_node(model, old, new)


def add_scores(
    model: Model[Any, Any],
    parts: Sequence[Doc],
    potentials: Sequence[Potentials],
    is_train: bool,
) -> Callable[[Sequence[Potentials]], None]:
    """Adds the scores of a tok2vec to the potentials of parts, which are documents, or
    all sentences of documents. Returns a function that takes gradients in the shapes of
    the potentials."""
    docs, borders = documents(parts)
    tok2vec, output = model.get_ref("tok2vec"), model.get_ref("output")
    lengths = np.array([len(doc) for doc in docs], np.int32)
    vectors, backprop_vectors = tok2vec(docs, is_train)
    if not borders[-1]:
        return lambda gradients: None
    ops: Any = output.ops
    scores, backprop_scores = output(ops.flatten(vectors), is_train)
    by_role = np.split(ops.to_numpy(scores), len(ROLES), axis=1)
    for i, j, part in zip(borders, borders[1:], potentials):
        for role, of_role in zip(ROLES, by_role):
            of_part = getattr(part, role)
            # The layer may have got more labels since the state was published.
            of_part += of_role[i:j, : of_part.shape[1]]

    def backprop(gradients: Sequence[Potentials]) -> None:
        rows = [np.hstack([getattr(g, role) for role in ROLES]) for g in gradients]
        d_vectors = backprop_scores(ops.asarray2f(np.concatenate(rows)))
        backprop_vectors(ops.unflatten(d_vectors, lengths))

    return backprop
