"""Feature templates: which attributes are read, and how far from the token.

LOWER                   the attribute of the token itself
SHAPE[-2:2]             five templates: offsets -2, -1, 0, 1, 2
LOWER{-30:30}           a bag: the values at these offsets, in no order; one template
                        for each offset, all with the same seed: a value has one feature
                        for all offsets, which is active as often as the value occurs
LOWER[-1] & LOWER       one template over two attributes: both values together
journals:IN             the number of words of an entry of the list "journals" that
                        covers the token; also :BEGIN and :END
journals:FUZZY_IN       if the list has fuzzy matches: the similarity to an entry of the
                        segment that covers the token; also :FUZZY_BEGIN and :FUZZY_END
clusters:VALUE          the value of the word in the table "clusters"; :PREFIX4: its
                        first four characters
_.topic                 the extension attribute Token._.topic

In the role whole, offsets count the tokens of the segment, from its end if negative:

LOWER[0] & LOWER[-1]    its first and last word; active if it has such tokens
LOWER*                  the words of all its tokens
SHORT_SHAPE+            the values of all its tokens, each run of one value once
TOKENS                  of the segment itself: see `segment_attributes`
journals:MATCH          the number of its words if it is an entry of the list
journals:FUZZY_MATCH    its similarity to an entry, rounded down to tenths
journals:SIMILARITY     one feature whose strength is this similarity
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import Errors

ATOM = re.compile(
    r"(?P<name>[A-Z][A-Z0-9_]*|[\w.-]+:[A-Z_]+\d*|_\.\w+)"
    r"(\[(?P<first>-?\d{1,4})(:(?P<last>-?\d{1,4}))?\]|(?P<reach>[*+])"
    r"|(?P<bag>\{(?P<from>-?\d{1,4}):(?P<to>-?\d{1,4})\}))?"
)

# The largest offset. A window has a template for each of its offsets.
_FARTHEST = 1000


@dataclass(frozen=True)
class Atom:
    """Reads one attribute of the token `offset` places to the right; with `reach` "*"
    of all tokens of a segment, with "+" of each run of equal values once. All offsets
    of a `bag`, such as "{-30:30}", share one feature for each value."""

    attribute: str
    offset: int = 0
    reach: str = ""
    bag: str = ""

    def __str__(self) -> str:
        if self.bag:
            return f"{self.attribute}{self.bag}"
        where = f"[{self.offset}]" if self.offset else self.reach
        return f"{self.attribute}{where}"


@dataclass(frozen=True)
class Template:
    """Joins attributes; it is active where all of them are present."""

    atoms: tuple[Atom, ...]

    def __str__(self) -> str:
        return " & ".join(map(str, self.atoms))

    @property
    def is_bag(self) -> bool:
        """Says whether it is one of the offsets of a bag."""
        return bool(self.atoms[0].bag)


def parse_templates(texts: Iterable[str]) -> tuple[Template, ...]:
    """Returns the templates of texts, see the head of this module, in this order with
    windows expanded and without duplicates. Raises HS030 if one cannot be read."""
    return tuple(dict.fromkeys(t for text in texts for t in _parse(text)))


def _parse(text: str) -> list[Template]:
    parts = [part.strip() for part in str(text).split("&")]
    matches = [ATOM.fullmatch(part) for part in parts]
    atoms: list[Atom] = []
    for match in matches:
        is_window = match is not None and (match["last"] or match["bag"])
        if match is None or (is_window and len(parts) > 1):
            raise ValueError(Errors.HS030.format(found=text))
        first = int(match["first"] or match["from"] or 0)
        last = int(match["last"] or match["to"] or first)
        if max(-first, last) > _FARTHEST:
            raise ValueError(Errors.HS030.format(found=text))
        name, reach, bag = match["name"], match["reach"] or "", match["bag"] or ""
        atoms += [Atom(name, offset, reach, bag) for offset in range(first, last + 1)]
    if not atoms:  # an empty window
        raise ValueError(Errors.HS030.format(found=text))
    if len(parts) == 1:
        return [Template((atom,)) for atom in atoms]
    return [Template(tuple(atoms))]
