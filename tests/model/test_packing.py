"""How weights are stored: what comes back, and how large it is."""

import zlib

import hypothesis.strategies as st
import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from spacy_hosemi.model.weights.packing import (
    pack_floats,
    pack_names,
    to_single,
    unpack_floats,
    unpack_names,
)
from spacy_hosemi.msgpack import read_msgpack, write_msgpack

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


@given(st.lists(st.text(st.characters(exclude_characters="\n"), min_size=1)))
def test_names_come_back(names):
    assert unpack_names(pack_names(names), len(names)) == names
    older = zlib.compress("\n".join(names).encode("utf8", "surrogatepass"))
    assert unpack_names(older, len(names)) == names


# --- columns of numbers -------------------------------------------------------------


@given(
    st.sampled_from("u1 u2 u4 u8 i4 i8 f4 f8".split()).flatmap(
        lambda kind: arrays(kind, st.integers(0, 40))
    ),
    st.booleans(),
)
def test_columns_come_back(column, is_sorted):
    column = np.sort(column) if is_sorted else column
    data = {"a": [column, "b", {"c": column.reshape(1, -1)}], b"d": {}}
    found = read_msgpack(write_msgpack(data))
    assert found["a"][1] == "b" and found[b"d"] == {}
    for again in (found["a"][0], found["a"][2]["c"][0]):
        assert again.dtype == column.dtype and again.tobytes() == column.tobytes()
    assert found["a"][0].flags.writeable


def test_hashes_in_order_are_small():
    """And so they are if an update has put others behind them."""
    hashes = np.random.default_rng(0).integers(0, 2**64, 1020, np.uint64)
    hashes[:1000].sort()
    assert len(write_msgpack(hashes)) < 7.2 * len(hashes) + 100


def changed_column(**changes) -> bytes:
    stored = {b"planes": [b"abc", b""], "type": "<u2", "size": 3, "adds": True}
    assert read_msgpack(srsly.msgpack_dumps(stored)).tolist() == [97, 195, 294]
    return srsly.msgpack_dumps({**stored, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        *({"type": kind} for kind in ("O", "V2", "S2", "<u4", 3, "no type", "M8[s]")),
        *({"size": x} for x in (2, -3, 10**12, 3.5, "3", None, np.array(3, "u4"))),
        *({b"planes": x} for x in ([b"abc"], [b"ab", b""], [b"abc", 3], 3, None)),
        {b"planes": [b"abc", zlib.compress(b"ab")]},
        {b"planes": [b"abc", zlib.compress(b"abc")[:-1]]},
    ],
    ids=str,
)
def test_columns_that_are_none(changes):
    with pytest.raises((ValueError, TypeError, zlib.error)):
        read_msgpack(changed_column(**changes))
