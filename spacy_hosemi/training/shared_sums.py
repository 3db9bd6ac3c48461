"""Scores of tokens from weights, and the transpose, by several threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..core.parallel.team import Team
from ..model.active_features import RoleRows
from ..model.weights.potentials import add_gradient, add_scores, dense_rows
from ..model.weights.state import Floats, WeightState
from .kernels.token_sums import TokenSums

_NONE = np.zeros(0, np.int32)


def add_token_scores(
    state: WeightState,
    rows: Mapping[str, RoleRows],
    scores: Mapping[str, Floats],
    team: Team,
) -> None:
    """Adds to the scores of each role, [n, L]."""
    if not _share(state, rows, scores, state.matrix, False, team):
        for role, of_role in rows.items():
            add_scores(state, of_role, scores[role])


def add_token_gradient(
    state: WeightState,
    rows: Mapping[str, RoleRows],
    d_scores: Mapping[str, Floats],
    d_matrix: Floats,
    team: Team,
) -> None:
    """Adds to the derivatives by weights of features, from those by scores."""
    if not _share(state, rows, d_scores, d_matrix, True, team):
        for role, of_role in rows.items():
            add_gradient(state, of_role, d_scores[role], d_matrix)


def _share(
    state: WeightState,
    rows: Mapping[str, RoleRows],
    scores: Mapping[str, Floats],
    matrix: Floats,
    is_transpose: bool,
    team: Team,
) -> bool:
    """Returns whether threads have done it: not one alone, nor where features have
    values."""
    if team.n == 1 or any(x.strength is not None for x in rows.values()):
        return False
    roles = [(x.first, x.row, scores[role]) for role, x in rows.items()]
    dense, pairs = dense_rows(state, matrix), (_NONE, _NONE)
    if dense is None and state.pairs is not None:
        pairs = state.pairs.first, state.pairs.columns
    weights = (matrix if dense is None else dense).reshape(-1)
    tasks = [TokenSums(k, team.n) for k in range(team.n)]
    for task in tasks:
        task.take(roles, *pairs, weights, len(state.tail), is_transpose)
    team.run(tasks)
    return True
