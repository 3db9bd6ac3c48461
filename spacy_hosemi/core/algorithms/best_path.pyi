from ..automaton.automaton import PatternAutomaton
from ..parallel.tasks import Task
from ..potentials import Constraints, Potentials

N_TOGETHER: int

class BestOfEach(Task):
    def __init__(
        self,
        automaton: PatternAutomaton,
        potentials: list[Potentials],
        constraints: list[Constraints | None],
        method: str = "auto",
    ) -> None: ...
    def found(self) -> list[tuple[list[tuple[int, int, int]], float]]: ...
