"""Digests of the texts that training or calibration has seen."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

# At most this many digests are saved, 8 bytes each: the smallest ones, a random sample
# of the texts. Some of any large file that was seen will be among them.
MOST_SAVED = 100_000


class SeenTexts:
    """The texts that a component must not be judged by.

    digests (Iterable[int]): Of texts that are known already.
    """

    def __init__(self, digests: Iterable[int] = ()) -> None:
        self._digests = {*digests}

    def add(self, texts: Iterable[str]) -> None:
        """Note texts."""
        for text in texts:
            self._digests.add(_digest(text))
            if len(self._digests) > 2 * MOST_SAVED:
                self._digests = {*self._saved()}

    def has(self, text: str) -> bool:
        """RETURNS (bool): Whether it was seen, whatever whitespace it had. Of more than
        `MOST_SAVED` texts only some are known."""
        return _digest(text) in self._digests

    def to_cfg(self) -> str:
        """RETURNS (str): For `read_seen`."""
        return b64encode(np.array(self._saved(), "<u8").tobytes()).decode("ascii")

    def _saved(self) -> list[int]:
        return sorted(self._digests)[:MOST_SAVED]


def _digest(text: str) -> int:
    """Tokens that came without a text have other spaces between them."""
    words = "".join(text.split()).encode("utf8", "surrogatepass")
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "little")


def read_seen(found: Any) -> SeenTexts | None:
    """RETURNS (Optional[SeenTexts]): Inverse of `to_cfg`; None if a model was saved
    without them.

    RAISES (ValueError): They are none.
    """
    if not isinstance(found, str):
        return None
    data = b64decode(found, validate=True)
    return SeenTexts(np.frombuffer(data, "<u8").tolist())
