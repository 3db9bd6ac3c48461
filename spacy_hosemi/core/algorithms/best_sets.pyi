from collections.abc import Mapping, Sequence

LEAST: float

def best_set(
    spans: Sequence[tuple[int, int, int, float]],
    n_expected: float,
    expected_f1: float | None,
) -> tuple[list[tuple[int, int, int]], float]: ...
def best_apart(
    gains: Mapping[tuple[int, int, int], float],
) -> list[tuple[int, int, int]]: ...
def least_listed(expected_f1: float | None) -> float: ...
def next_listed(least: float, ratio: float) -> float: ...
