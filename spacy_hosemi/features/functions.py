"""Features from functions of the user, in the form of other CRF tools.

A function takes a Doc and returns for each token a list of features, or a dict of them,
as `pycrfsuite.ItemSequence` takes it. A feature is a text, which gets weights of its
own, or a pair of a text and a number that multiplies these weights:

    ["dark", ("height", 0.25)]      adds weight["dark"] + 0.25 * weight["height"]

A feature that is listed twice counts twice; one with the number 0, or "", is ignored.
A saved model has the names of the functions; the config says how to import them.
Threads that predict with one pipeline call them at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span

from ..errors import Errors
from ..values import choice, read
from .attributes import KNOWN, is_extension
from .kernels.key_table import hash_items, template_keys

Function = Callable[[Doc | Span], Sequence[Any]]

# What a function lists for n tokens, as `hash_items` returns it.
Items = tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.float64] | None]

# The roles that a function may have, and those that it has by default.
FUNCTION_ROLES = ("inside", "start", "end", "within")
DEFAULT_ROLES = ("inside",)

# The most features that `Functions.once` caches: about 15 MB.
MOST_CACHED = 1_000_000

# The largest number of a feature: sums of products of two such numbers are finite.
_MOST = 1e100


@dataclass(frozen=True)
class Listed:
    """Has the K features that one function lists for n tokens, read in one role.

    first (int32 [n + 1]), keys (uint64 [K]): Those of token i are
        keys[first[i]:first[i + 1]].
    strength (Optional[float64 [K]]): The number of each; None: 1.0 for all.
    read_texts (Callable[[], List[str]]): Calls the function again, for the readable
        features.
    """

    role: str
    function: str
    first: NDArray[np.int32]
    keys: NDArray[np.uint64]
    strength: NDArray[np.float64] | None
    read_texts: Callable[[], list[str]]

    @cached_property
    def token(self) -> NDArray[np.int32]:
        """Returns the token of each feature, int32 [K]."""
        tokens = np.arange(len(self.first) - 1, dtype=np.int32)
        return np.repeat(tokens, np.diff(self.first))

    @cached_property
    def texts(self) -> list[str]:
        """Returns the features as they were listed. Raises HS388 if it lists others
        now."""
        texts = self.read_texts()
        if len(texts) != len(self.keys):
            raise ValueError(
                Errors.HS388.format(
                    name=self.function, found=len(texts), expected=len(self.keys)
                )
            )
        return texts

    def name(self, k: int) -> str:
        """Returns the readable name of the k-th feature."""
        return f"{self.function}={self.texts[k]}"


@dataclass
class _Cache:
    """Keeps features by function and the id of a document, and the document, so that no
    other object gets its id; counts how many more features may be cached."""

    by_doc: dict[tuple[str, int], tuple[Doc, Items]]
    n_left: int


class Functions:
    """Calls the functions of a feature set, by name, each in some FUNCTION_ROLES.
    Raises HS105 (TypeError) if one is no function, HS106 for names, HS042 for roles."""

    def __init__(
        self,
        functions: Mapping[str, Any] | None = None,
        roles: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.functions: dict[str, Function] = dict(functions or {})
        by_name = {name: tuple(of_name) for name, of_name in (roles or {}).items()}
        for name, function in self.functions.items():
            if not callable(function):
                found = repr(function)[:40]
                raise TypeError(Errors.HS105.format(name=name, found=found))
        self.check_names(())
        key = "features.function_roles"
        for name, of_name in by_name.items():
            read(key, choice(tuple(self.functions)), name)
            for role in of_name or [""]:
                read(f"{key}.{name}", choice(FUNCTION_ROLES), role)
        self.roles = {name: by_name.get(name, DEFAULT_ROLES) for name in self.functions}
        self._caches: dict[int, _Cache] = {}  # of threads, see `once`
        self._plans: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Threads and ids are of this process.
        return {**vars(self), "_caches": {}, "_plans": {}}

    def __bool__(self) -> bool:
        return bool(self.functions)

    def check_names(self, names: Iterable[str]) -> None:
        """Raises HS106 if a function has the name of an attribute, or one of these
        names of gazetteers and tables."""
        taken = {*KNOWN, *names}
        for name in self.functions:
            is_taken = name in taken or is_extension(name)
            if is_taken or not re.fullmatch(r"[\w-]+", name):
                raise ValueError(Errors.HS106.format(found=name))

    @contextmanager
    def once(self) -> Iterator[None]:
        """Makes a context in which this thread calls the functions only once for a
        document that it reads several times and does not change; for documents that are
        read one at a time. At most MOST_CACHED features are cached."""
        thread = get_ident()
        self._caches[thread] = _Cache({}, MOST_CACHED)
        try:
            yield
        finally:
            del self._caches[thread]

    def read(
        self,
        docs: Sequence[Doc],
        seed: Callable[[str, str], int],
    ) -> tuple[Listed, ...]:
        """Returns the features that the functions list for concatenated documents, one
        Listed for each function and role; seed: (role, function) -> 64 bits. Raises
        HS107 to HS110 if a function returns anything else, HS387 if it raises an error
        itself. None is called without tokens."""
        listed = []
        for name in self.functions:
            parts = [self._items(name, doc) for doc in docs if len(doc)]
            first, values, strength = parts[0] if len(parts) == 1 else _joined(parts)
            keys = template_keys(values[:, None], *self._plan(name, seed))

            def read_texts(name: str = name) -> list[str]:
                texts: list[str] = []
                for doc in docs:
                    if len(doc):
                        _read(name, self.functions[name], doc, texts)
                return texts

            for role, of_role in zip(self.roles[name], keys.T.copy()):
                of_all = first, of_role, strength, read_texts
                listed.append(Listed(role, name, *of_all))
        return tuple(listed)

    def _plan(self, name: str, seed: Callable[[str, str], int]) -> Any:
        """Returns what `template_keys` takes for the roles of a function."""
        plan = self._plans.get((name, seed))
        if plan is None:
            roles = self.roles[name]
            seeds = np.array([seed(role, name) for role in roles], np.uint64)
            zeros = np.zeros(len(roles), np.int32)
            plan = seeds, np.arange(len(roles) + 1, dtype=np.int32), zeros, zeros
            self._plans[name, seed] = plan
        return plan

    def _items(self, name: str, doc: Doc) -> Items:
        """Returns what a function lists for a document, from the cache if there is
        one."""
        cache = self._caches.get(get_ident()) if self._caches else None
        if cache is None:
            return _read(name, self.functions[name], doc)
        place = name, id(doc)
        if place in cache.by_doc:
            return cache.by_doc[place][1]
        items = _read(name, self.functions[name], doc)
        cache.n_left -= len(items[1])
        if cache.n_left >= 0:
            cache.by_doc[place] = doc, items
        return items


def _joined(parts: Sequence[Items]) -> Items:
    """Returns the features of concatenated documents."""
    firsts, values, strengths = [*zip(*parts)] or ((), (), ())
    strength = None
    if any(x is not None for x in strengths):
        ones = (np.ones(len(x)) if y is None else y for x, y in zip(values, strengths))
        strength = np.concatenate([*ones])
    sizes = np.concatenate([np.zeros(1, np.int32), *map(np.diff, firsts)])
    joined = np.concatenate([np.zeros(0, np.uint64), *values])
    return np.cumsum(sizes, dtype=np.int32), joined, strength


def _read(
    name: str, function: Function, doc: Doc, texts: list[str] | None = None
) -> Items:
    """Returns what a function lists for a document; the texts are appended."""
    try:
        by_token = function(doc if isinstance(doc, Doc) else doc[:])
    except MemoryError:
        raise
    except Exception as error:
        at = getattr(error, "token_index", None)
        where = "" if at is None else f" at token {at}, {doc[at].text!r},"
        found = f"{type(error).__name__}: {error}"[:200]
        message = Errors.HS387.format(
            name=name, where=where, found=found, text=doc[:8].text
        )
        raise ValueError(message) from error
    if not isinstance(by_token, (list, tuple)) or len(by_token) != len(doc):
        is_list = isinstance(by_token, (list, tuple))
        shown = f"{len(by_token)} lists" if is_list else repr(by_token)[:40]
        raise ValueError(
            Errors.HS107.format(
                name=name, found=shown, text=doc[:8].text, expected=len(doc)
            )
        )
    first, values, strength, fault = hash_items(by_token, texts)
    i = len(first) - 1
    if fault is None and strength is not None:
        is_good = np.abs(strength) <= _MOST
        if is_good.all():
            return first, values, strength
        k = int(np.flatnonzero(~is_good)[0])
        i = int(np.searchsorted(first, k, side="right")) - 1
        of_doc: list[str] = []
        hash_items(by_token, of_doc)
        place = _place(name, doc, i)
        message = Errors.HS109.format(found=strength[k], feature=of_doc[k], **place)
        raise ValueError(message)
    if fault is not None:
        template = Errors.HS110 if isinstance(by_token[i], dict) else Errors.HS108
        place = _place(name, doc, i)
        raise TypeError(template.format(found=repr(fault[0])[:60], **place))
    return first, values, strength


def _place(name: str, doc: Doc, i: int) -> dict[str, str]:
    """Returns what a message says of a token, of its document, and the function."""
    return {"name": name, "token": doc[i].text, "text": doc[:8].text}
