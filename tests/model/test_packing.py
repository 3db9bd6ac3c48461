"""How weights are stored: what comes back, and how large it is."""

import zlib

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from spacy_hosemi.model.weights.packing import (
    pack_counts,
    pack_floats,
    pack_names,
    to_single,
    unpack_floats,
    unpack_names,
)

singles = st.one_of(
    st.just(0.0), st.just(-np.inf), st.floats(-1e6, 1e6, allow_nan=False, width=32)
)
shapes = array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9)


def size_of(packed) -> int:
    return len(packed["is_stored"]) + packed["values"].nbytes


@given(arrays(np.float64, shapes, elements=singles))
def test_single_precision_comes_back(values):
    found = unpack_floats(pack_floats(values))
    assert found.dtype == np.float64 and found.shape == values.shape
    assert found.tolist() == values.tolist()


@given(arrays(np.float64, shapes, elements=st.floats(-1e30, 1e30)))
def test_other_values_come_back_rounded(values):
    found = unpack_floats(pack_floats(values))
    assert found.tolist() == to_single(values).tolist()
    np.testing.assert_allclose(found, values, rtol=6e-8, atol=1e-40)


def test_zeros_cost_a_bit_at_most():
    values = np.zeros((1000, 8))
    values[::10, 3] = 0.1
    packed = pack_floats(values)
    assert len(packed["values"]) == 100
    assert size_of(packed) <= 400 + 1000 + 20


@pytest.mark.parametrize(
    "change",
    [
        *({"shape": shape} for shape in ([3, 2], [4], [400])),
        {"values": np.ones(7, "f")},
        {"is_stored": zlib.compress(b"")},
    ],
)
def test_parts_that_do_not_fit(change):
    packed = {**pack_floats(np.ones((4, 2))), **change}
    with pytest.raises(ValueError):
        unpack_floats(packed)


@pytest.mark.parametrize(
    "numbers, dtype",
    [([], "uint8"), ([0, 255], "uint8"), ([256], "uint16"), ([70_000], "uint32")],
)
def test_counts_get_the_smallest_type(numbers, dtype):
    packed = pack_counts(np.array(numbers, np.int64))
    assert packed.dtype == np.dtype(dtype) and packed.tolist() == numbers


@given(st.lists(st.text(st.characters(exclude_characters="\n"), min_size=1)))
def test_names_come_back(names):
    assert unpack_names(pack_names(names)) == names
