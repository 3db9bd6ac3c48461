"""Names of people, from a list as references have it.

A list has no grammar of its own: "Marx K, Engels F" are two people, "Marx, Karl" is
one. Initials decide where there are some; otherwise a word before a comma is taken for
a family name. What stands in one name is read by bibtexparser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


class Name(NamedTuple):
    """One person, such as Beethoven, Ludwig, van and Jr, or an organization, literally,
    with `family` alone."""

    family: str
    given: str = ""
    particle: str = ""
    suffix: str = ""
    is_literal: bool = False


# Ends of a list. They are looked for in its last characters alone, and no pattern
# begins with what may be repeated: a stranger's text may have 100,000 commas.
_OTHERS = re.compile(
    r"(?i)(?:\b(?:et|and|&|und)\s+(?:al|others|coll|mult)\b\.?|\bu\.\s?a\.|…)$"
)
_ROLE = re.compile(
    r"(?i)[(\[]?\b(?:eds?|editors?|hrsg|hgg?|trans|transl|translator|übers)\b"
    r"\.?\s*[)\]]?$"
)
_END_LENGTH = 40
_ROLE_BEFORE = re.compile(
    r"(?i)^(?:(?:edited |translated )?by|in|(?:hrsg|hg)\. von)\s+"
)
_AND = re.compile(r"\s*,?\s+(?:and|AND|und|et)\s+|\s*,?\s*&\s*")
# One to four letters, as in "J. P.", "J.-P." or "JP".
_INITIAL = r"(?:[^\W\d_a-zß-öø-ÿ]\.?(?:[-‐]?[^\W\d_a-zß-öø-ÿ]\.?){0,3})"
_INITIALS = re.compile(rf"^{_INITIAL}(?:\s+{_INITIAL})*$")
_TWO_LETTERS = re.compile(r"\w\w")
# "BRANDEIS Louis D.": capitals mark the family name.
_CAPITALS = re.compile(
    r"^(?P<family>[^\W\d_a-zß-öø-ÿ]{4,}(?:[- '’][^\W\d_a-zß-öø-ÿ]{2,})*)"
    r"\s+(?P<given>[^\W\d_].*)$"
)
_PARTICLE = re.compile(
    r"^(?P<given>\S.*?)\s+(?P<family>(?:Van|Von|De|Della|Del|Di|La|Le|Ten|Ter) .+)$"
)
_SUFFIX = re.compile(r"(?i)^(?:jr|sr|[IVX]{2,4}|phd|md)\.?$")
_OF = re.compile(
    r"(?i)\b(?:of|for|the|für|pour|group|team|inc|ltd|gmbh|organi[sz]ation|agency|"
    r"universit\w+|institute?|ministry|association|committee|department|society|council|"
    r"commission)\b"
)


def read_names(text: str) -> tuple[list[Name], bool]:
    """Returns the people of a list, as references have it, in their order, and whether
    it ends with "et al."."""
    text = " ".join(text.split())
    rest = _without_end(text, _OTHERS)
    has_others = rest != text
    rest = _without_end(rest, _ROLE, " :")
    rest = _ROLE_BEFORE.sub("", rest).strip(" ,;:")
    found: list[Name] = []
    for part in rest.split(";"):
        # An organization's name may have an "and" in it.
        chunks = [part] if _is_organization(part) else _AND.split(part)
        for chunk in chunks:
            found += _read_chunk(chunk.strip(" ,:"))
    return found, has_others


def _without_end(text: str, end: re.Pattern[str], after: str = " ") -> str:
    """Returns a text without an end, and what stands around that."""
    whole = text.rstrip(after)
    start = max(0, len(whole) - _END_LENGTH)
    match = end.search(whole[start:])
    # Where the last characters begin is no border of a word.
    if match is None or (start and not match.start()):
        return text
    return whole[: start + match.start()].rstrip(" ,;")


def _is_organization(text: str) -> bool:
    return "," not in text and "." not in text and bool(_OF.search(text.strip()))


def _read_chunk(chunk: str) -> Iterable[Name]:
    """Yields the names between two separators: with commas between and within names."""
    if not chunk:
        return
    if _is_organization(chunk):
        yield Name(chunk, is_literal=True)
        return
    parts = [part.strip() for part in chunk.split(",") if part.strip()]
    at = 0
    while at < len(parts):
        end = at + 1 + _n_given(parts, at)
        while end < len(parts) and _SUFFIX.match(parts[end]):
            end += 1
        if name := _read_name(parts[at:end]):
            yield name
        at = end


def _n_given(parts: list[str], at: int) -> int:
    """Returns 1 if the part after this one has given names of the same person."""
    family = parts[at]
    if at + 1 == len(parts) or _INITIALS.match(family):
        return 0
    after = parts[at + 1]
    if _INITIALS.match(after):
        return 1
    if _family_first(family) or _has_initials(family) or _SUFFIX.match(after):
        return 0
    # "Jaspers, Karl", but not "Karl Jaspers, Max Weber".
    words = family.split()
    is_pair = len(parts) == 2 and len(after.split()) == 1  # "García Márquez, Gabriel"
    is_family = len(words) == 1 or words[0].islower() or is_pair
    return int(is_family)


def _family_first(text: str) -> tuple[str, str] | None:
    """Returns the family name and the given names of a name that ends with initials,
    such as "Smith J. P."; None: it is none."""
    words = text.split()
    n_words = len(words)
    first = n_words
    while first and _INITIALS.match(words[first - 1]):
        first -= 1
    # The last word with two letters belongs to the family name, so "JP" may.
    last = next(
        (k for k in range(n_words - 2, -1, -1) if _TWO_LETTERS.search(words[k])), None
    )
    if first == n_words or last is None:
        return None
    at = max(last + 1, first)
    return " ".join(words[:at]), " ".join(words[at:])


def _has_initials(part: str) -> bool:
    """Returns whether a part begins with initials, such as "J. Smith", but not "DE
    GROOT"."""
    first, *rest = part.split()
    is_capitals = "." not in first and " ".join(rest).isupper()
    return bool(rest and _INITIALS.match(first)) and not is_capitals


def _with_capitals(text: str) -> tuple[str, str] | None:
    match = _CAPITALS.match(text)
    return match and (match["family"], match["given"])


@lru_cache(maxsize=4096)
def _parse(text: str) -> Name | None:
    """Returns one name, in an order that BibTeX knows."""
    from bibtexparser.middlewares.names import parse_single_name_into_parts

    parts = parse_single_name_into_parts(text, strict=False)
    columns = parts.last, parts.first, parts.von, parts.jr
    family, given, particle, suffix = (" ".join(words) for words in columns)
    name = Name(family, given, particle, suffix)
    return name if name.family else None


def _read_name(parts: list[str]) -> Name | None:
    parts = [re.sub(r"[{}\\]", "", part).strip() for part in parts]
    suffixes = [part for part in parts[1:] if _SUFFIX.match(part)]
    are_suffixes = {*suffixes}
    family, *given = [part for part in parts if part not in are_suffixes] or [""]
    before, _, last = family.rpartition(" ")
    if before and last.lower().strip(".") in ("jr", "sr"):  # "Holmes OW Jr"
        family, suffixes = before, [last]
    if not given:
        if pair := _with_capitals(family) or _family_first(family):
            family, given = pair[0], [pair[1]]
        elif match := _PARTICLE.match(family):
            family, given = match["family"], [match["given"]]
    found = _parse(", ".join([family, *given]))
    return found and found._replace(suffix=" ".join(suffixes))
