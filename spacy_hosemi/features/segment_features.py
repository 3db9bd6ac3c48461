"""Features of whole segments: the templates of the role "whole".

A template that reads a list reads the segments of any length that are an entry of it or
resemble one, with or without adjacent tokens that have no letters and digits. All other
templates read each segment up to a width.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors
from .functions import Functions
from .gazetteers.matches import FUZZY_MATCH, MATCH, SIMILARITY, FuzzyMatches, Matches
from .instances import doc_of
from .kernels.segment_keys import ALL, AT, OF_SEGMENT, RUNS, match_keys, segment_keys
from .segment_attributes import SEGMENT_ATTRIBUTES, Ints, Keys
from .templates import Atom, Template

# The column of each attribute of segments; those of lists are for matches alone.
_FUZZY = (FUZZY_MATCH, SIMILARITY)
_OF_LISTS = (MATCH, *_FUZZY)
_COLUMNS = {name: k for k, name in enumerate((*SEGMENT_ATTRIBUTES, MATCH, SIMILARITY))}
_COLUMNS[FUZZY_MATCH] = _COLUMNS[MATCH]
_ONE = 10  # the only value of SIMILARITY, whose similarity is a strength

# The segments that a template reads: all up to a width, or matches of a list.
WINDOWS, MATCHES, SIMILAR = "windows", "matches", "similar"

_KINDS = {"": AT, "*": ALL, "+": RUNS}


def segment_attribute(atom: Atom, functions: Container[str] = ()) -> str:
    """Returns the attribute, or the function, of segments that an atom reads; "" if it
    reads tokens."""
    kind = atom.attribute.partition(":")[2] or atom.attribute
    return kind if kind in _COLUMNS or kind in functions else ""


def reads_list(atom: Atom) -> bool:
    """Says whether an atom reads the match of a segment with a list."""
    return atom.attribute.partition(":")[2] in _OF_LISTS


@dataclass(frozen=True)
class Segments:
    """Has K features of segments, with the tokens of each, half-open.

    template (int32 [K]): The number of its template in the role whole.
    value (uint64 [K]): The value of its match with a list.
    strength (float64 [K]): The similarity if the template reads it, else 1.0.
    """

    start: Ints
    end: Ints
    keys: Keys
    template: Ints
    value: Keys
    strength: NDArray[np.float64]


NO_SEGMENTS = Segments(
    *(np.zeros(0, kind) for kind in ("i4", "i4", "u8", "i4", "u8", "f8"))
)


@dataclass(frozen=True)
class _Plan:
    """Has the templates for one kind of segments: number and list of each (-1: no
    list), what `segment_keys` takes from `seeds` on, and the columns of attributes and
    functions to read."""

    templates: Ints
    lists: Ints
    arrays: tuple[NDArray[Any], ...]
    attributes: Mapping[str, int]
    has_strength: NDArray[np.bool_]

    @property
    def reads_match_alone(self) -> bool:
        """Says whether each template is one atom, NAME:MATCH."""
        seeds, _, kinds, indices, _ = self.arrays
        is_match = (kinds == OF_SEGMENT) & (indices == _COLUMNS[MATCH])
        return len(kinds) == len(seeds) and bool(is_match.all())

    @property
    def reads_tokens(self) -> bool:
        """Says whether a template reads attributes of tokens."""
        return bool((self.arrays[2] != OF_SEGMENT).any())


class SegmentReader:
    """Reads the T templates of the role whole: with a list of its matches, else all
    segments up to a width. Raises HS049 if a template reads two lists.

    seeds (Sequence[int]): 64 bits for each template.
    columns (Mapping[str, int]): The index of each attribute of tokens.
    reads_tokens (bool): Whether a template reads attributes of tokens.
    """

    def __init__(
        self,
        templates: Sequence[Template],
        seeds: Sequence[int],
        columns: Mapping[str, int],
        lists: Sequence[str],
        width: int,
        functions: Functions,
    ) -> None:
        self.width, self.functions = width, functions
        n = len(_COLUMNS)
        of_segment = _COLUMNS | {x: n + k for k, x in enumerate(functions.of_segments)}
        self._n_columns = len(of_segment)
        seen = [_what_is_seen(template, lists) for template in templates]
        self._plans = {
            what: _plan(
                templates,
                seeds,
                [t for t, (of, _) in enumerate(seen) if of == what],
                [k for of, k in seen if of == what],
                columns,
                of_segment,
            )
            for what in dict.fromkeys(what for what, _ in seen)
        }
        self.reads_tokens = any(x.reads_tokens for x in self._plans.values())

    def __bool__(self) -> bool:
        return bool(self._plans)

    def texts(self, name: str, doc: Doc) -> dict[tuple[int, int], str]:
        """Returns what a function says of segments, by their tokens; "": nothing."""
        start, end = _windows(np.array([0, len(doc)], np.int32), self.width)
        texts = self.functions.segment_values(name, [doc], start, end)[1]
        return dict(zip(zip(start.tolist(), end.tolist()), texts))

    def read(
        self,
        docs: Sequence[Doc],
        first: Ints,
        values: Keys,
        matches: Matches,
        similar: FuzzyMatches,
    ) -> Segments:
        """Returns the active features of documents that begin at the tokens `first`,
        document by document. values (uint64 [n, A]): attributes of tokens; anything if
        no template reads them."""
        parts = []
        for what, plan in self._plans.items():
            source = similar if what == SIMILAR else matches
            if what != WINDOWS and not len(source.start):
                continue
            if what == MATCHES and plan.reads_match_alone:
                parts.append(_of_matches(matches, plan))
                continue
            if what == WINDOWS:
                start, end = _windows(first, self.width)
                value, strength = np.zeros(len(start), np.uint64), np.ones(len(start))
                of_list = np.full(len(start), -1, np.int32)
            else:
                start, end, match = _around(source)
                value, strength = source.values[match], source.strength[match]
                of_list = source.lists[match]
            of_segment = np.zeros((len(start), self._n_columns), np.uint64)
            for name, column in plan.attributes.items():
                if name in SEGMENT_ATTRIBUTES:
                    keys = SEGMENT_ATTRIBUTES[name].values(docs, start, end)
                else:
                    keys, _ = self.functions.segment_values(name, docs, start, end)
                of_segment[:, column] = keys
            of_segment[:, _COLUMNS[MATCH]] = value
            of_segment[:, _COLUMNS[SIMILARITY]] = _ONE
            keys = segment_keys(values, start, end, of_segment, *plan.arrays)
            k, t = np.nonzero((keys != 0) & (of_list[:, None] == plan.lists))
            strengths = np.where(plan.has_strength[t], strength[k], 1.0)
            parts.append(
                (start[k], end[k], keys[k, t], plan.templates[t], value[k], strengths)
            )
        if not parts:
            return NO_SEGMENTS
        if [*self._plans] == [WINDOWS]:  # in the order of the documents already
            return Segments(*parts[0])
        arrays = [np.concatenate(part) for part in zip(*parts)]
        if len(docs) > 1:
            order = np.argsort(doc_of(arrays[0], first), kind="stable")
            arrays = [array[order] for array in arrays]
        return Segments(*arrays)


def _what_is_seen(template: Template, lists: Sequence[str]) -> tuple[str, int]:
    """Returns the kind of segments that a template reads, and the number of its list or
    -1."""
    sources = {
        (SIMILAR if kind in _FUZZY else MATCHES, lists.index(name))
        for atom in template.atoms
        for name, _, kind in [atom.attribute.partition(":")]
        if kind in _OF_LISTS
    }
    if len(sources) > 1:
        raise ValueError(Errors.HS049.format(found=str(template)))
    return sources.pop() if sources else (WINDOWS, -1)


def _plan(
    templates: Sequence[Template],
    seeds: Sequence[int],
    chosen: Sequence[int],
    lists: Sequence[int],
    columns: Mapping[str, int],
    of_segment: Mapping[str, int],
) -> _Plan:
    of_templates = [templates[t].atoms for t in chosen]
    atoms = [*chain.from_iterable(of_templates)]
    attributes = [segment_attribute(atom, of_segment) for atom in atoms]
    kinds, indices = [], []
    for atom, attribute in zip(atoms, attributes):
        if attribute:
            kinds.append(OF_SEGMENT)
            indices.append(of_segment[attribute])
        else:
            kinds.append(_KINDS[atom.reach])
            indices.append(columns[atom.attribute])
    has_strength = [SIMILARITY in map(segment_attribute, x) for x in of_templates]
    return _Plan(
        np.array(chosen, np.int32),
        np.array(lists, np.int32),
        (
            np.array([seeds[t] for t in chosen], np.uint64),
            np.cumsum([0, *map(len, of_templates)]).astype(np.int32),
            np.array(kinds, np.uint8),
            np.array(indices, np.int32),
            np.array([atom.offset for atom in atoms], np.int32),
        ),
        {x: k for x, k in of_segment.items() if x in attributes and x not in _OF_LISTS},
        np.array(has_strength),
    )


def _windows(first: Ints, width: int) -> tuple[Ints, Ints]:
    """Returns start and end of all segments up to a width, of documents that begin at
    `first`."""
    n, sizes = int(first[-1]), np.diff(first)
    width = min(width, int(sizes.max(initial=0)))
    start = np.repeat(np.arange(n, dtype=np.int32), width)
    end = start + np.tile(np.arange(1, width + 1, dtype=np.int32), n)
    fits = end <= np.repeat(first[1:], sizes * width)
    return start[fits], end[fits]


def _of_matches(matches: Matches, plan: _Plan) -> tuple[NDArray[Any], ...]:
    """Returns the arrays of `Segments`."""
    where = matches.lists, matches.first, matches.start, matches.end, matches.last
    args = *where, matches.values, plan.arrays[0], plan.lists
    start, end, keys, t, value = match_keys(*args)
    return start, end, keys, plan.templates[t], value, np.ones(len(start))


def _around(matches: Matches) -> tuple[Ints, Ints, NDArray[np.intp]]:
    """Returns the segments of matches, with and without wordless tokens; the match of
    each."""
    n_ends = matches.last - matches.end + 1
    sizes = (matches.start - matches.first + 1) * n_ends
    match = np.repeat(np.arange(len(sizes)), sizes)
    k = np.arange(len(match)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    start = matches.first[match] + k // n_ends[match]
    end = matches.end[match] + k % n_ends[match]
    return start.astype(np.int32), end.astype(np.int32), match
