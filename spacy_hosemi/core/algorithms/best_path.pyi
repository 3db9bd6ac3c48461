from ..automaton.automaton import PatternAutomaton
from ..parallel.tasks import Job
from ..potentials import Constraints, Potentials

N_TOGETHER: int

class BestOfEach(Job):
    def __init__(
        self,
        automaton: PatternAutomaton,
        potentials: list[Potentials],
        constraints: list[Constraints | None],
        method: str = "auto",
    ) -> None: ...
    def found(self) -> list[tuple[list[tuple[int, int, int]], float]]: ...
