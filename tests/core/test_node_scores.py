"""Scores of the children of nodes, against a dictionary of weights."""

import numpy as np
import pytest

from spacy_hosemi.hierarchy.tree import LabelTree
from spacy_hosemi.model.kernels.node_scores import ChildRows

from ..strategies import random_forest

N_TOKENS, N_ROWS, N_SCORES = 6, 5, 150


def random_case(seed):
    """The arguments by name; weights by row and node, and the inner nodes' segments."""
    rng = np.random.default_rng(seed)
    tree = LabelTree(*random_forest(rng, int(rng.integers(1, 14)), 4))
    n_nodes = len(tree.names)
    has_weight = rng.random((N_ROWS, n_nodes)) < 0.6
    pairs = np.argwhere(has_weight).astype(np.int32).reshape(-1, 2)
    n_fired = rng.integers(0, 4, N_TOKENS)
    size = int(n_fired.sum())
    n_segments = int(rng.integers(0, 8))
    begin = rng.integers(0, N_TOKENS + 1, n_segments)
    node = rng.integers(0, n_nodes, n_segments)
    counts = np.diff(tree.first_child)[node]
    return rng, {
        "begin": begin.astype(np.int32),
        "stop": rng.integers(begin, N_TOKENS + 1).astype(np.int32),
        "node": node.astype(np.int32),
        "at": starts_of(counts, rng),
        "first": np.concatenate([[0], np.cumsum(n_fired)]).astype(np.int32),
        "rows": rng.integers(0, N_ROWS, size).astype(np.int32),
        "strength": rng.normal(size=size) if rng.random() < 0.5 else None,
        "first_child": tree.first_child,
        "first_pair": np.concatenate([[0], np.cumsum(has_weight.sum(1))]).astype("i4"),
        "columns": np.ascontiguousarray(pairs[:, 1]),
    }


def starts_of(counts, rng):
    """Where the children of each begin, with gaps."""
    gaps = rng.integers(0, 2, len(counts))
    return (np.cumsum(counts + gaps) - counts).astype(np.intp)


def by_dictionary(given, weights):
    """The definition, one weight at a time."""
    of_row = np.repeat(np.arange(N_ROWS), np.diff(given["first_pair"]))
    weight = dict(zip(zip(of_row.tolist(), given["columns"].tolist()), weights))
    found = np.zeros(N_SCORES)
    for i, j, v, at in zip(*(given[x] for x in ("begin", "stop", "node", "at"))):
        for k, child in enumerate(range(*given["first_child"][v : v + 2])):
            total = 0.0
            for t in range(given["first"][i], given["first"][j]):
                much = 1.0 if given["strength"] is None else given["strength"][t]
                total += much * weight.get((int(given["rows"][t]), child), 0.0)
            found[at + k] = total
    return found


@pytest.mark.parametrize("first_seed", [0, 50, 100])
def test_children_read_their_weights(first_seed):
    for seed in range(first_seed, first_seed + 50):
        check_children(seed)


def check_children(seed):
    rng, given = random_case(seed)
    rows = ChildRows(**given)
    weights = rng.normal(size=len(given["columns"]))
    scores, scale = rng.normal(size=N_SCORES), float(rng.choice([1.0, 0.5]))
    expected = scores + scale * by_dictionary(given, weights)
    rows.gather(weights, scores, scale)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    # <d, G w> = <G' d, w>
    d_scores, d_weights = rng.normal(size=len(scores)), np.zeros(len(weights))
    rows.scatter(d_scores, d_weights)
    read = by_dictionary(given, weights)
    assert d_weights @ weights == pytest.approx(d_scores @ read, abs=1e-9)
    before = d_weights.copy()
    rows.scatter(d_scores, d_weights)  # adds
    np.testing.assert_allclose(d_weights, 2 * before, atol=1e-12)


def small(**changed):
    """Node 0 with the children 1 and 2; one row, with weights in both."""
    arrays = {
        "begin": [0],
        "stop": [1],
        "node": [0],
        "first": [0, 1],
        "rows": [0],
        "first_child": [1, 3, 3, 3],
        "first_pair": [0, 2],
        "columns": [1, 2],
    }
    given = {name: np.array(x, np.int32) for name, x in (arrays | changed).items()}
    given |= {"at": np.array(changed.get("at", [0]), np.intp)}
    given["strength"] = changed.get("strength")
    return ChildRows(**given)


@pytest.mark.parametrize(
    "changed",
    [
        {"begin": [-1]},
        {"begin": [1], "stop": [0]},
        {"stop": [2]},
        {"stop": [1, 1]},
        {"node": [-1]},
        {"node": [3]},
        {"first_child": [2, 1, 1, 1]},
        {"at": [0, 1]},
        {"at": []},
        {"rows": [0, 0]},
        {"rows": [1]},
        {"rows": [-1]},
        {"first": [0, 2]},
        {"first": [1, 1]},
        {"strength": np.ones(2)},
    ],
)
def test_rows_that_do_not_fit_are_named(changed):
    with pytest.raises(ValueError, match="HS114"):
        small(**changed)


def test_scores_and_weights_fit():
    rows, scores = small(), np.zeros(2)
    rows.gather(np.array([2.0, 3.0]), scores)
    assert scores.tolist() == [2.0, 3.0]
    for changed in (
        {"at": [-1]},
        {"at": [1]},
        {"first_pair": [0, 3]},
        {"first_pair": [0, -1]},
        {"first_pair": [-1, 2]},
    ):
        with pytest.raises(ValueError, match="HS114"):
            small(**changed).gather(np.zeros(2), np.zeros(2))
    for weights, of_children in ((1, 2), (2, 1)):
        with pytest.raises(ValueError, match="HS114"):
            rows.gather(np.zeros(weights), np.zeros(of_children))
        with pytest.raises(ValueError, match="HS114"):
            rows.scatter(np.zeros(of_children), np.zeros(weights))
