"""Many documents at once, on several threads.

The kernels run without the GIL, and one thread works on one document. So the results
are the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ...errors import Errors
from ..arguments import MOST_THREADS, check_list, check_whole
from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials, check_document
from .marginals import Marginals, marginals_of
from .viterbi import viterbi_each

Result = TypeVar("Result")

# Documents that a thread takes at a time.
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
    threads (int): 1 to 1,024; each works on one document at a time.
    RETURNS (List[Tuple[segments, score]]): In the order of the documents.
    RAISES (ValueError): HS026 threads, at most 1,024; HS028 constraints; and as
        `viterbi`.
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
    return [marginals_of(automaton, *pair) for pair in pairs]


def _map(
    solve: Callable[..., list[Result]],
    automaton: PatternAutomaton,
    potentials_list: Sequence[Potentials],
    constraints: Sequence[Constraints | None] | None,
    threads: int,
) -> list[Result]:
    check_whole("threads", threads, 1, MOST_THREADS)
    documents = check_list("potentials_list", potentials_list, "a list of Potentials")
    limits: list[Any] = [None] * len(documents)
    if constraints is not None:
        limits = check_list("constraints", constraints, "a list of Constraints")
    if len(limits) != len(documents):
        message = Errors.HS028.format(found=len(limits), expected=len(documents))
        raise ValueError(message)
    for one in documents:
        check_document(automaton, one)
    if threads == 1:
        return solve(automaton, documents, limits)

    def solve_some(at: int) -> list[Result]:
        some = slice(at, at + PORTION)
        return solve(automaton, documents[some], limits[some])

    with ThreadPoolExecutor(threads) as pool:
        portions = pool.map(solve_some, range(0, len(documents), PORTION))
        return [result for portion in portions for result in portion]
