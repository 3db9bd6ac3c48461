"""Documents in blocks, and blocks in chunks, by position, and sums over a chunk: formed
block by block, they are the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arrays import Floats
from ..core.parallel.team import Team
from ..model.active_features import RoleRows
from ..model.weights.potentials import add_gradient, add_scores, of_tokens
from ..model.weights.state import WeightState
from .kernels.token_sums import TokenSums

# At most this many tokens have their scores in memory at the same time, in all roles,
# if a block of documents has not more; with these, the cost of a call does not count.
_CHUNK = 20_000

# At most this many documents and tokens are in a block, so that threads have many; and
# at most this many scores in a role, 16 MB: new memory takes longer, by 10 % of an
# evaluation with 3,000 labels. Sums are formed by block: other numbers, other bits.
_DOCS, _TOKENS, _SCORES = 64, 4_000, 2_000_000


def add_tokens(
    state: WeightState,
    rows: Mapping[str, RoleRows],
    scores: Mapping[str, Floats],
    matrix: Floats,
    is_transpose: bool,
    team: Team,
) -> None:
    """Adds scores by role, [n, L], from weights of features; transposed, derivatives by
    weights. Threads share it unless there is one alone, or features have values."""
    if team.n == 1 or any(x.strength is not None for x in rows.values()):
        if is_transpose:
            add_gradient(state, rows, scores, matrix)
        else:
            add_scores(state, rows, scores)
        return
    roles = [(x.first, x.row, scores[role]) for role, x in rows.items()]
    weights = of_tokens(state, matrix)
    tasks = [TokenSums(k, team.n) for k in range(team.n)]
    for task in tasks:
        task.take(roles, *weights, len(state.tail), is_transpose)
    team.run(tasks)


def cut_blocks(
    sizes: Sequence[int], n_labels: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """Returns `blocks` and `chunks` of documents with these numbers of tokens."""
    most = min(_TOKENS, _SCORES // max(n_labels, 1))
    borders, of_block = [0], [0]
    for k, size in enumerate(sizes):
        n_docs = k - borders[-1]
        if n_docs and (n_docs == _DOCS or of_block[-1] + size > most):
            borders.append(k)
            of_block.append(0)
        of_block[-1] += size
    chunks, begin, n_tokens = [], 0, 0
    most = min(_CHUNK, _SCORES // max(n_labels, 1))
    for b, size in enumerate(of_block):
        if n_tokens + size > most and b > begin:
            chunks.append((begin, b))
            begin, n_tokens = b, 0
        n_tokens += size
    if sizes:
        chunks.append((begin, len(of_block)))
    return [*borders, len(sizes)], chunks
