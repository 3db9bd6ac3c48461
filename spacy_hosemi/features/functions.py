"""Features from functions of the user, in the form of other CRF tools.

A function takes a Doc and returns for each token a list of features. A feature is a
text, which gets weights of its own, or a pair of a text and a number that multiplies
these weights:

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
from itertools import chain
from numbers import Real
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Span, Token

from ..errors import Errors
from ..values import choice, read
from .attributes import KNOWN, is_extension
from .kernels.key_table import template_keys

# One feature of a token, and a function.
Feature = str | tuple[str, float]
Function = Callable[[Doc | Span], Sequence[Sequence[Feature]]]

# The roles that a function may have, and those that it has by default.
FUNCTION_ROLES = ("inside", "start", "end", "within")
DEFAULT_ROLES = ("inside",)

# The most features that `Functions.once` caches: about 100 MB, with their texts.
MOST_CACHED = 1_000_000

# The largest number of a feature: sums of products of two such numbers are finite.
_MOST = 1e100

_ONE_ATOM = np.array([0, 1], np.int32)
_AT_TOKEN = np.zeros(1, np.int32)
_NOTHING = np.uint64(hash_string(""))


@dataclass(frozen=True)
class Listed:
    """Has the K features that one function lists for n tokens, read in one role.

    token (int32 [K]): The token of each feature, ascending.
    keys (uint64 [K]): The key of each; 0: it is not active.
    strength (Optional[float64 [K]]): The number of each; None: 1.0 for all.
    texts (Sequence[str]): The features as they were listed.
    """

    role: str
    function: str
    token: NDArray[np.int32]
    keys: NDArray[np.uint64]
    strength: NDArray[np.float64] | None
    texts: Sequence[str]

    def name(self, k: int) -> str:
        """Returns the readable name of the k-th feature."""
        return f"{self.function}={self.texts[k]}"


@dataclass
class _Cache:
    """Keeps features by the id of a document, and the document, so that no other object
    gets its id; counts how many more features may be cached."""

    by_doc: dict[int, tuple[Doc, tuple[Listed, ...]]]
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

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_caches": {}}  # threads and ids are of this process

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
        HS107 to HS109 if a function returns anything else. None is called without
        tokens."""
        cache = self._caches.get(get_ident()) if self._caches else None
        if cache is None or len(docs) != 1:
            return self._listed(docs, seed)
        doc, place = docs[0], id(docs[0])
        if place in cache.by_doc:
            return cache.by_doc[place][1]
        features = self._listed(docs, seed)
        cache.n_left -= sum(len(listed.keys) for listed in features)
        if cache.n_left >= 0:
            cache.by_doc[place] = doc, features
        return features

    def _listed(
        self, docs: Sequence[Doc], seed: Callable[[str, str], int]
    ) -> tuple[Listed, ...]:
        listed = []
        for name, function in self.functions.items():
            by_doc = [_call(name, function, doc) for doc in docs if len(doc)]
            by_token = [*chain.from_iterable(by_doc)]
            sizes = np.array([*map(len, by_token)], np.int64)
            token = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            texts, strength = _split(name, by_token, docs)
            values = np.fromiter(map(hash_string, texts), np.uint64, len(texts))
            values[values == _NOTHING] = 0
            if strength is not None:
                values[strength == 0.0] = 0
            for role in self.roles[name]:
                seeds = np.array([seed(role, name)], np.uint64)
                plan = seeds, _ONE_ATOM, _AT_TOKEN, _AT_TOKEN
                keys = template_keys(values[:, None], *plan)[:, 0].copy()
                listed.append(Listed(role, name, token, keys, strength, texts))
        return tuple(listed)


def _call(name: str, function: Function, doc: Doc) -> Sequence[Sequence[Feature]]:
    """Returns the lists of features that a function has for the tokens of a
    document."""
    by_token = function(doc if isinstance(doc, Doc) else doc[:])
    if not isinstance(by_token, (list, tuple)) or len(by_token) != len(doc):
        is_list = isinstance(by_token, (list, tuple))
        shown = f"{len(by_token)} lists" if is_list else repr(by_token)[:40]
        raise ValueError(
            Errors.HS107.format(
                name=name, found=shown, text=doc[:8].text, expected=len(doc)
            )
        )
    for i, of_token in enumerate(by_token):
        if not isinstance(of_token, (list, tuple)):
            raise TypeError(_is_no_feature(name, of_token, doc[i]))
    return by_token


def _split(
    name: str, by_token: Sequence[Sequence[Feature]], docs: Sequence[Doc]
) -> tuple[Sequence[str], NDArray[np.float64] | None]:
    """Returns the texts of features, and their numbers; None if all are 1."""
    texts: list[Any] = [*chain.from_iterable(by_token)]
    pairs = [k for k, feature in enumerate(texts) if type(feature) is not str]
    if not pairs:
        return texts, None
    strength = np.ones(len(texts))
    for k in pairs:
        feature = texts[k]
        texts[k], strength[k] = _pair(feature)
        if texts[k] is None:
            token = _token_of(k, by_token, docs)
            raise TypeError(_is_no_feature(name, feature, token))
    is_good = np.abs(strength) <= _MOST
    if not is_good.all():
        k = int(np.flatnonzero(~is_good)[0])
        raise ValueError(
            Errors.HS109.format(
                name=name,
                found=strength[k],
                feature=texts[k],
                token=_token_of(k, by_token, docs).text,
            )
        )
    return texts, None if (strength == 1.0).all() else strength


def _pair(feature: Any) -> tuple[str | None, float]:
    """Returns the text and the number of a feature; (None, 0) if it is none."""
    if isinstance(feature, str):
        return feature, 1.0
    if isinstance(feature, (list, tuple)) and len(feature) == 2:
        text, value = feature
        if isinstance(text, str) and isinstance(value, Real):
            return text, float(value)
    return None, 0.0


def _token_of(
    k: int, by_token: Sequence[Sequence[Feature]], docs: Sequence[Doc]
) -> Token:
    """Returns the token that has the k-th feature."""
    ends = np.cumsum([*map(len, by_token)])
    tokens = [*chain.from_iterable(docs)]
    return tokens[int(np.searchsorted(ends, k, side="right"))]


def _is_no_feature(name: str, found: Any, token: Token) -> str:
    return Errors.HS108.format(name=name, found=repr(found)[:60], token=token.text)
