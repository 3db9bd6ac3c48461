"""Features as one would write them by hand for CRFsuite: words, affixes, shapes, pairs.

They stand for what a user has without this package: no lists of names, and no reading
by our extractor. Written for speed, as far as that goes with lists of strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

WINDOW = 3
N_CACHED = 100_000
_SHAPES = str.maketrans(
    {
        **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "x"),
        **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X"),
        **dict.fromkeys("0123456789", "d"),
    }
)


@lru_cache(N_CACHED)
def shape(word: str) -> str:
    """Upper case, lower case and digits of a word, runs cut to four characters."""
    found: list[str] = []
    for char in word.translate(_SHAPES):
        if found[-4:] != [char] * 4:
            found.append(char)
    return "".join(found)


@lru_cache(N_CACHED)
def word_features(word: str) -> tuple[str, ...]:
    """What a word says by itself: affixes of 1 to 4 characters, and kinds of signs."""
    lower = word.lower()
    features = [f"p{k}={lower[:k]}" for k in range(1, 5)]
    features += [f"s{k}={lower[-k:]}" for k in range(1, 5)]
    kinds = {
        "title": word.istitle(),
        "upper": word.isupper(),
        "digits": word.isdigit(),
        "has digit": any(map(str.isdigit, word)),
        "sign": not any(map(str.isalnum, word)),
    }
    return (*features, *(kind for kind, holds in kinds.items() if holds))


def plain_features(
    words: Sequence[str],
    shape: Callable[[str], str] = shape,
    word_features: Callable[[str], Sequence[str]] = word_features,
) -> list[list[str]]:
    """What CRFsuite reads of each word: words in lower case and shapes up to three
    tokens away, the pairs with both neighbours, and `word_features`."""
    around = ["^"] * WINDOW, ["$"] * WINDOW
    lower = [*around[0], *map(str.lower, words), *around[1]]
    shapes = [*around[0], *map(shape, words), *around[1]]
    return [
        [
            "bias",
            f"w-3={lower[i]}",
            f"w-2={lower[i + 1]}",
            f"w-1={lower[i + 2]}",
            f"w={lower[i + 3]}",
            f"w+1={lower[i + 4]}",
            f"w+2={lower[i + 5]}",
            f"w+3={lower[i + 6]}",
            f"x-3={shapes[i]}",
            f"x-2={shapes[i + 1]}",
            f"x-1={shapes[i + 2]}",
            f"x={shapes[i + 3]}",
            f"x+1={shapes[i + 4]}",
            f"x+2={shapes[i + 5]}",
            f"x+3={shapes[i + 6]}",
            f"w-1w={lower[i + 2]} {lower[i + 3]}",
            f"ww+1={lower[i + 3]} {lower[i + 4]}",
            f"x-1x={shapes[i + 2]} {shapes[i + 3]}",
            f"xx+1={shapes[i + 3]} {shapes[i + 4]}",
            *word_features(words[i]),
        ]
        for i in range(len(words))
    ]
