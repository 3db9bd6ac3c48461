"""Finds the entry of a list that a feature has read."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from spacy.tokens import Doc

from ..features import Extractor, Template
from ..features.gazetteers.matches import SIMILARITY, FuzzyMatches, Matches
from ..features.templates import parse_templates


class ListEvidence:
    """The entries of lists that match in a document, or in a sentence."""

    def __init__(self, extractor: Extractor, tokens: Doc) -> None:
        self._lists, self._tokens = extractor.gazetteers, tokens

    def find(
        self, name: str, role: str, start: int, end: int
    ) -> tuple[str, str] | None:
        """Returns the list that a feature of a template has read at these tokens, and
        the entry that matches, of an exact match as the document has it; None if it
        reads no list."""
        lists = self._lists.settings
        for atom in _template(name.partition("=")[0]).atoms if lists else ():
            source, _, kind = atom.attribute.partition(":")
            if source in lists:
                place = (start, end) if role == "whole" else (start + atom.offset,)
                entry = self._entry(source, kind, *place)
                return None if entry is None else (source, entry)
        return None

    def _entry(
        self, source: str, kind: str, start: int, end: int | None = None
    ) -> str | None:
        """Returns the best match with a list at a token, or of a segment; None if there
        is none, as before and after the document, where features are read, too."""
        is_fuzzy = kind == SIMILARITY or kind.startswith("FUZZY")
        matches: Matches = (self._similar if is_fuzzy else self._exact)[source]
        if end is not None:
            is_there = (matches.first <= start) & (start <= matches.start)
            is_there &= (matches.end <= end) & (end <= matches.last)
        elif kind.endswith("BEGIN"):
            is_there = matches.start == start
        elif kind.endswith("END"):
            is_there = matches.end == start + 1
        else:
            is_there = (matches.start <= start) & (start < matches.end)
        matches = matches.where(is_there)
        if not len(matches.start):
            return None
        best = int(np.lexsort((matches.size, matches.strength))[-1])
        if isinstance(matches, FuzzyMatches):
            return self._lists.fuzzy[source].texts[int(matches.entry[best])]
        return self._tokens[int(matches.start[best]) : int(matches.end[best])].text

    @cached_property
    def _exact(self) -> Matches:
        return self._lists.matches([self._tokens])

    @cached_property
    def _similar(self) -> FuzzyMatches:
        return self._lists.similar([self._tokens])


@lru_cache(2**12)
def _template(text: str) -> Template:
    """Returns the parsed template; of a bag the first one."""
    return parse_templates([text])[0]
