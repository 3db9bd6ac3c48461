from collections.abc import Sequence

LEAST: float

def best_set(
    spans: Sequence[tuple[int, int, int, float]],
    n_expected: float,
    expected_f1: float | None,
) -> tuple[list[tuple[int, int, int]], float]: ...
def least_listed(expected_f1: float | None) -> float: ...
def next_listed(least: float, ratio: float) -> float: ...
