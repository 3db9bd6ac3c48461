"""Pairs of rows and columns that have weights."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from spacy_hosemi.model.weights.pairs import WeightPairs

columns_R = st.lists(
    st.sets(st.integers(0, 4)) | st.just({0, 1, 2}) | st.just(set()), max_size=6
)


@given(columns_R)
def test_whole_rows_are_the_first_ones_with_all_columns(rows):
    sizes = [0, *map(len, rows)]
    pairs = WeightPairs(
        np.cumsum(sizes).astype(np.int32),
        np.array([c for row in rows for c in sorted(row)], np.int32),
    )
    expected = next((r for r, x in enumerate(rows) if x != {0, 1, 2}), len(rows))
    assert pairs.n_whole(3) == expected
