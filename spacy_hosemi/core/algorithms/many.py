"""Many documents at once, on several threads.

The kernels run without the GIL and a document is never divided, so the results are the
same, bit for bit, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ...errors import Errors
from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials
from .marginals import Marginals, marginals
from .viterbi import viterbi_each

Result = TypeVar("Result")

# So many documents go to a thread at a time.
PORTION = 32


def viterbi_many(
    automaton: PatternAutomaton,
    potentials_list: Sequence[Potentials],
    constraints: Sequence[Constraints | None] | None = None,
    threads: int = 1,
) -> list[tuple[list[tuple[int, int, int]], float]]:
    """`viterbi` of each document.

    automaton (PatternAutomaton): Of all documents.
    potentials_list (Sequence[Potentials]): One for each document.
    constraints (Optional[Sequence[Optional[Constraints]]]): One for each document.
    threads (int): How many documents are worked on at a time.
    RETURNS (List[Tuple[segments, score]]): In the order of the documents.
    RAISES (ValueError): HS026 threads; HS028 constraints; and as `viterbi`.
    """
    return _map(viterbi_each, automaton, potentials_list, constraints, threads)


def marginals_many(
    automaton: PatternAutomaton,
    potentials_list: Sequence[Potentials],
    constraints: Sequence[Constraints | None] | None = None,
    threads: int = 1,
) -> list[Marginals]:
    """`marginals` of each document; see `viterbi_many`."""
    return _map(_marginals_each, automaton, potentials_list, constraints, threads)


def _marginals_each(
    automaton: PatternAutomaton,
    potentials_list: list[Potentials],
    constraints: list[Constraints | None],
) -> list[Marginals]:
    pairs = zip(potentials_list, constraints)
    return [marginals(automaton, *pair) for pair in pairs]


def _map(
    solve: Callable[..., list[Result]],
    automaton: PatternAutomaton,
    potentials_list: Sequence[Potentials],
    constraints: Sequence[Constraints | None] | None,
    threads: int,
) -> list[Result]:
    if threads < 1:
        raise ValueError(
            Errors.HS026.format(name="threads", found=threads, expected="1 or more")
        )
    documents = list(potentials_list)
    limits: list[Any] = (
        [None] * len(documents) if constraints is None else [*constraints]
    )
    if len(limits) != len(documents):
        raise ValueError(
            Errors.HS028.format(found=len(limits), expected=len(documents))
        )
    if threads == 1:
        return solve(automaton, documents, limits)

    def solve_some(at: int) -> list[Result]:
        some = slice(at, at + PORTION)
        return solve(automaton, documents[some], limits[some])

    with ThreadPoolExecutor(threads) as pool:
        portions = pool.map(solve_some, range(0, len(documents), PORTION))
        return [result for portion in portions for result in portion]
