"""Which entry of which list a feature has read."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..features import Extractor, Template
from ..features.gazetteers.matches import SIMILARITY, FuzzyMatches, Matches
from ..features.templates import parse_templates


class Evidence(NamedTuple):
    """The name of a list, and the entry of it that matches: of an exact match as the
    document has it."""

    source: str
    entry: str


class ListEvidence:
    """The entries of lists that a document has.

    extractor (Extractor): Has the lists.
    tokens (Doc): The document, or a sentence.
    """

    def __init__(self, extractor: Extractor, tokens: Doc) -> None:
        self._lists, self._tokens = extractor.gazetteers, tokens

    def find(self, name: str, role: str, start: int, end: int) -> Evidence | None:
        """What a feature has read of a list.

        name (str), role (str): Of the feature; it is one of a template.
        start, end (int): The tokens that it is read of.
        RETURNS (Optional[Evidence]): None: it reads no list.
        """
        lists = self._lists.settings
        for atom in _template(name.partition("=")[0]).atoms if lists else ():
            source, _, kind = atom.attribute.partition(":")
            if source in lists:
                place = (start, end) if role == "whole" else (start + atom.offset,)
                entry = self._entry(source, kind, *place)
                return None if entry is None else Evidence(source, entry)
        return None

    def _entry(
        self, source: str, kind: str, start: int, end: int | None = None
    ) -> str | None:
        """The best match with a list at a token, or of a segment; None at tokens before
        and after the document, which have features, too."""
        is_fuzzy = kind == SIMILARITY or kind.startswith("FUZZY")
        found: Matches = (self._similar if is_fuzzy else self._exact)[source]
        if end is not None:
            is_there = (found.first <= start) & (start <= found.start)
            is_there &= (found.end <= end) & (end <= found.last)
        elif kind.endswith("BEGIN"):
            is_there = found.start == start
        elif kind.endswith("END"):
            is_there = found.end == start + 1
        else:
            is_there = (found.start <= start) & (start < found.end)
        found = found.where(is_there)
        if not len(found.start):
            return None
        best = int(np.lexsort((found.size, found.strength))[-1])
        if isinstance(found, FuzzyMatches):
            return self._lists.fuzzy[source].texts[int(found.entry[best])]
        return self._tokens[int(found.start[best]) : int(found.end[best])].text

    @cached_property
    def _exact(self) -> Matches:
        return self._lists.matches([self._tokens])

    @cached_property
    def _similar(self) -> FuzzyMatches:
        return self._lists.similar([self._tokens])


@lru_cache(2**12)
def _template(text: str) -> Template:
    """RETURNS (Template): The first one of a bag."""
    return parse_templates([text])[0]
