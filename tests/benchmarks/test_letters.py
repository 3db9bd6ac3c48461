"""What benchmarks/papers/letters.py computes itself."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def letters(script):
    return script("letters")


def test_pixels_by_hand(letters):
    """Rows 0 and 1 are ##....## and ..#....#; the edges of the picture are no pair."""
    picture = f"{0b11000011:02x}{0b00100001:02x}" + 28 * "0"
    assert sorted(letters.set_pixels(picture)) == [
        "below 0,7",
        "below right 0,1",
        "below right 0,6",
        "right 0,0",
        "right 0,6",
        "set 0,0",
        "set 0,1",
        "set 0,6",
        "set 0,7",
        "set 1,2",
        "set 1,7",
    ]


@pytest.mark.parametrize("seed", range(5))
def test_pixels_equal_a_loop(letters, seed):
    bits = np.random.default_rng(seed).random((16, 8)) < 0.4
    neighbours = {"right": (0, 1), "below": (1, 0)}
    neighbours |= {"below right": (1, 1), "below left": (1, -1)}
    on = {(r, c) for r in range(16) for c in range(8) if bits[r, c]}
    expected = {f"set {r},{c}" for r, c in on}
    for kind, (down, right) in neighbours.items():
        pairs = {(r, c) for r, c in on if (r + down, c + right) in on}
        expected |= {f"{kind} {r},{c}" for r, c in pairs}
    found = letters.set_pixels(np.packbits(bits, axis=1).tobytes().hex())
    assert len(found) == len(expected)
    assert set(found) == expected


def test_mc_nemar_by_hand(script):
    mc_nemar = script("fitting").mc_nemar
    before, after = np.array([[1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 1, 0]], bool)
    # p of 1 or fewer, or 3 or more, of 4 fair coins: 2 (1 + 4) / 16
    assert mc_nemar(before, after) == (1, 3, pytest.approx(0.625))
    assert mc_nemar(before, before) == (0, 0, 1.0)
