"""The names of features: nobody reads them to predict, so they stay as they were saved
until somebody does."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from .packing import pack_names, truncated, unpack_names


class Names(Sequence[str]):
    """R names. Any number of threads may read what nobody extends.

    given (Union[List[str], bytes]): The names, which are not copied, or what
        `pack_names` made of them.
    size (Optional[int]): R, which packed names must have.
    """

    def __init__(self, given: list[str] | bytes, size: int | None = None) -> None:
        self._given = given
        self._size = len(given) if size is None else size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        return self._list()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._list())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Names, list)):
            return NotImplemented
        return self._list() == [*other]

    __hash__ = None  # type: ignore[assignment]  # names may be added

    def extend(self, names: Iterable[str]) -> None:
        """Add names at the end."""
        known = self._list()
        known.extend(names)
        self._size = len(known)

    def packed(self) -> bytes:
        """RETURNS (bytes): As they are saved."""
        given = self._given
        return given if isinstance(given, bytes) else pack_names(given)

    def _list(self) -> list[str]:
        """RAISES (ValueError): HS062 they cannot be read, or are more or fewer."""
        given = self._given
        if isinstance(given, bytes):
            try:
                found = unpack_names(given)
            except (ValueError, zlib.error) as e:
                raise truncated(repr(e)) from None
            if len(found) != self._size:
                raise truncated(f"{len(found)} names of {self._size} features")
            self._given = given = found
        return given
