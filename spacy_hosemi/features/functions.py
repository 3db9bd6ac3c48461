"""Features from functions of the user, in the form of other CRF tools.

A function takes a Doc and returns for each token a list of features, or a dict of them,
as `pycrfsuite.ItemSequence` takes it. A feature is a text, which gets weights of its
own, or a pair of a text and a number that multiplies these weights:

    ["dark", ("height", 0.25)]      adds weight["dark"] + 0.25 * weight["height"]

A feature that is listed twice counts twice; one with the number 0, or "", is ignored.
A saved model has the names of the functions; the config says how to import them.
Threads that predict with one pipeline call them at the same time.

A function of segments takes a Doc and the K segments of up to `width` tokens in it, and
returns a text, a whole number, a boolean or None for each:

    f(doc, starts, ends)            int32 [K], half-open -> K values

Templates of the role whole read the value by the name of the function, and with others:
"DIGITS", "DIGITS & LOWER[-1]". None, False and "" are absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral
from threading import get_ident
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Span

from ..errors import Errors
from ..values import choice, read, shown
from .attributes import KNOWN, is_extension
from .kernels.key_table import hash_items, template_keys
from .segment_attributes import SEGMENT_ATTRIBUTES, Ints, Keys

Function = Callable[[Doc | Span], Sequence[Any]]
SegmentFunction = Callable[[Doc | Span, Ints, Ints], Sequence[str | int | None]]

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
            sizes = {"found": len(texts), "expected": len(self.keys)}
            raise ValueError(Errors.HS388.format(name=self.function, **sizes))
        return texts

    def name(self, k: int) -> str:
        """Returns the readable name of the k-th feature."""
        return f"{self.function}={self.texts[k]}"


@dataclass
class _Cache:
    """Keeps features by function and the id of a document, and the document, so that no
    other object gets its id; counts how many more features may be cached."""

    by_doc: dict[tuple[str, int], tuple[Doc, Any]]
    n_left: int


class Functions:
    """Calls the functions of a feature set, by name, each in some FUNCTION_ROLES, and
    those of segments. Raises HS105 (TypeError) if one is no function, HS106 for names,
    HS042, HS383 for roles, HS393 for those of segments."""

    def __init__(
        self,
        functions: Mapping[str, Any] | None = None,
        roles: Mapping[str, Sequence[str]] | None = None,
        of_segments: Mapping[str, Any] | None = None,
    ) -> None:
        self.functions: dict[str, Function] = dict(functions or {})
        self.of_segments: dict[str, SegmentFunction] = dict(of_segments or {})
        by_name = {name: tuple(of_name) for name, of_name in (roles or {}).items()}
        for name, function in self.functions.items():
            if not callable(function):
                found = repr(function)[:40]
                raise TypeError(Errors.HS105.format(name=name, found=found))
        self.check_names(())
        for name, of_name in by_name.items():
            if name not in self.functions:
                known = f"the functions {[*self.functions]}" if functions else "none"
                raise ValueError(Errors.HS383.format(found=name, expected=known))
            for role in of_name or [""]:
                read(f"features.function_roles.{name}", choice(FUNCTION_ROLES), role)
        self.roles = {name: by_name.get(name, DEFAULT_ROLES) for name in self.functions}
        self._caches: dict[int, _Cache] = {}  # of threads, see `once`
        self._plans: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Threads and ids are of this process.
        return {**vars(self), "_caches": {}, "_plans": {}}

    def __bool__(self) -> bool:
        return bool(self.functions or self.of_segments)

    def check_names(self, names: Iterable[str]) -> None:
        """Raises HS106 if a function has the name of an attribute, or one of these
        names of gazetteers and tables."""
        taken = {*KNOWN, *names}
        for name in self.functions:
            is_taken = name in taken or is_extension(name)
            if is_taken or not re.fullmatch(r"[\w-]+", name):
                raise ValueError(Errors.HS106.format(found=name))
        taken |= {*SEGMENT_ATTRIBUTES, *self.functions}
        for name, function in self.of_segments.items():
            is_name = name not in taken and re.fullmatch("[A-Z][A-Z0-9_]*", name)
            if not (is_name and callable(function)):
                found = repr(function)[:40]
                raise ValueError(Errors.HS393.format(name=name, found=found))

    @property
    def names(self) -> list[str]:
        """Returns the names of all functions, which a saved model needs."""
        return sorted([*self.functions, *self.of_segments])

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
        self, docs: Sequence[Doc], seed: Callable[[str, str], int]
    ) -> tuple[Listed, ...]:
        """Returns what the functions list for concatenated documents: a Listed for each
        function and role, whose 64 bits are seed(role, function). No function is called
        for a document without tokens. Raises HS107 to HS110 if a function returns
        anything else, HS387 if it raises an error."""
        listed = []
        for name in self.functions:
            parts = [self._items(name, doc) for doc in docs if len(doc)]
            first, values, strength = parts[0] if len(parts) == 1 else _joined(parts)
            keys = template_keys(values[:, None], *self._plan(name, seed))

            def read_texts(name: str = name) -> list[str]:
                function = self.functions[name]
                parts = [_read(name, function, doc)[1] for doc in docs if len(doc)]
                return [*chain.from_iterable(parts)]

            for role, of_role in zip(self.roles[name], keys.T.copy()):
                listed.append(Listed(role, name, first, of_role, strength, read_texts))
        return tuple(listed)

    def segment_values(
        self, name: str, docs: Sequence[Doc], start: Ints, end: Ints
    ) -> tuple[Keys, list[str]]:
        """Returns what a function says of segments of concatenated documents, which are
        in their order: keys, uint64 [K], 0 where there is nothing, and texts. Raises
        HS394 if it says anything else, HS387 if it raises an error itself."""
        low, texts = 0, []
        borders = np.searchsorted(start, np.cumsum([0, *map(len, docs)])).tolist()
        for doc, i, j in zip(docs, borders, borders[1:]):
            if i < j:
                texts += self._of_segments(name, doc, start[i:j] - low, end[i:j] - low)
            low += len(doc)
        keys = {text: hash_string(text) if text else 0 for text in {*texts}}
        return np.fromiter(map(keys.__getitem__, texts), np.uint64, len(texts)), texts

    def _of_segments(self, name: str, doc: Doc, start: Ints, end: Ints) -> list[str]:
        def call() -> tuple[list[str], list[str]]:
            values: Any = _call(name, self.of_segments[name], doc, start, end)
            values = values.tolist() if isinstance(values, np.ndarray) else values
            if not isinstance(values, (list, tuple)) or len(values) != len(start):
                raise _no_values(name, doc, values, f"{len(start)} values")
            texts = []
            for k, value in enumerate(values):
                value = value.item() if isinstance(value, np.generic) else value
                try:
                    text = "" if value is None or value is False else str(value)
                    is_good = text.isascii() or bool(text.encode())
                except Exception:  # half a surrogate, 5,000 digits
                    is_good = False
                if not (is_good and isinstance(value, (str, Integral, NoneType))):
                    segment = repr(doc[int(start[k]) : int(end[k])].text[:40])
                    raise _no_values(name, doc, value, f"one for {segment}")
                texts.append(text)
            return texts, texts

        return self._cached(name, doc, call)[0]

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
        function = self.functions[name]
        return self._cached(name, doc, lambda: _read(name, function, doc)[0])

    def _cached(self, name: str, doc: Doc, call: Callable[[], Any]) -> Any:
        """Returns what a function says of a document, from the cache if there is
        one."""
        cache = self._caches.get(get_ident()) if self._caches else None
        if cache is None:
            return call()
        place = name, id(doc)
        if place in cache.by_doc:
            return cache.by_doc[place][1]
        items = call()
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


def _read(name: str, function: Function, doc: Doc) -> tuple[Items, list[str]]:
    """Returns what a function lists for a document, and the text of each feature."""
    by_token = _call(name, function, doc)
    if not isinstance(by_token, (list, tuple)) or len(by_token) != len(doc):
        values = {"found": _size_of(by_token, "lists"), "expected": len(doc)}
        raise ValueError(Errors.HS107.format(name=name, text=doc[:8].text, **values))
    first, values, strength, texts, fault = hash_items(by_token)
    i = len(first) - 1
    if fault is not None:
        template = Errors.HS110 if isinstance(by_token[i], dict) else Errors.HS108
        place = _place(name, doc, i)
        raise TypeError(template.format(found=shown(fault[0]), **place))
    if strength is not None and not (is_good := np.abs(strength) <= _MOST).all():
        k = int(np.flatnonzero(~is_good)[0])
        place = _place(name, doc, int(np.searchsorted(first, k, side="right")) - 1)
        message = Errors.HS109.format(found=strength[k], feature=texts[k], **place)
        raise ValueError(message)
    return (first, values, strength), texts


def _call(name: str, function: Callable[..., Any], doc: Doc, *args: Any) -> Any:
    """Returns what a function returns. Raises HS387 if it raises an error."""
    try:
        return function(doc if isinstance(doc, Doc) else doc[:], *args)
    except MemoryError:
        raise
    except Exception as error:
        found = {"found": f"{type(error).__name__}: {error}"[:200]}
        found |= {"where": getattr(error, "where_in_sentence", "")}
        kind, expected = "functions", "a list of features for each token"
        if args:
            kind, expected = f"segment_{kind}", "a value for each segment"
        found |= {"name": f"{kind}.{name}", "expected": expected}
        message = Errors.HS387.format(text=doc[:8].text, **found)
        raise ValueError(message) from error


def _size_of(values: Any, noun: str) -> str:
    """Returns how many values a function returned, or what else."""
    return f"{len(values)} {noun}" if type(values) in (list, tuple) else shown(values)


def _no_values(name: str, doc: Doc, values: Any, expected: str) -> ValueError:
    args = {"found": _size_of(values, "values"), "text": doc[:8].text}
    return ValueError(Errors.HS394.format(name=name, expected=expected, **args))


def _place(name: str, doc: Doc, i: int) -> dict[str, str]:
    """Returns what a message says of a token, of its document, and the function."""
    return {"name": name, "i": str(i), "token": doc[i].text, "text": doc[:8].text}
