"""Names of people, from a list as references have it.

A list has no grammar of its own: "Marx K, Engels F" are two people, "Marx, Karl" is
one. Initials decide where there are some; otherwise a word before a comma is taken for
a family name. What stands in one name without a comma is read by bibtexparser.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import regex

from ...text.clean import with_hyphens


class Name(NamedTuple):
    """One person, such as (Beethoven, Ludwig, van, Jr), or an organization, whose name
    is `family` as it stands."""

    family: str
    given: str = ""
    particle: str = ""
    suffix: str = ""
    is_literal: bool = False


# No pattern begins with what may be repeated: a stranger's text may have 100,000
# commas.
_PUNCTUATION = str.maketrans("，；、（）［］：．", ";;;()[]:.")
_ENDS = " ,;:-"
# The number of the reference in front of all.
_NUMBER = regex.compile(
    r"^(?:\p{Nd}{1,4}(?:[.):] ?| - )(?=\p{L})|"
    r"\p{Nd}{1,3} (?=(?:\p{Ll}+ ){0,3}\p{Lu}(?:\.|[\p{L}'’-]*(?:,| \p{Lu}{1,2}\b))))"
)
# What is left of the end of a line within a name.
_LINE_END = regex.compile(
    r"(?<=\p{L})[-\xad] (?=\p{Ll})(?!(?:and|und|et|y|en|och|og) )|"
    r"(?<=\p{L}-) (?=\p{Lu}\p{Ll})"
)
_ROLES = (
    r"eds?|éds?|editors?|hrs?g|hgg?|herausgeber|trans|transl|translators?|übers|trad|"
    r"dirs?|directors?|coords?|orgs?|comps?|compilers?|reds?|utg|szerk|a cura di|"
    r"a c\. di"
)
_ROLE_AFTER = regex.compile(
    rf"(?i)(?:^|[ ,])(?:in|{_ROLES})\.?$|(?:主?[编編]著?|[著译訳译])$"
)
_ROLE_BEFORE = regex.compile(
    r"(?i)^(?:(?:and|und|et) )?(?:in(?:: ?| (?!(?-i:\p{Lu}{1,2}),))|"
    r"(?:eds?|trans|transl|trad|dir|hrsg|hg|red|übers)\. (?:(?:it|esp|fr)\. )?"
    r"(?:(?:by|von|v\.|par|de|di|por|door) )?|"
    r"(?:(?:edited|translated|compiled|directed) )?by |"
    r"(?:herausgegeben|übersetzt|aus dem \w+) von |"
    r"(?:édité|traduite?|dirigé) par |sous la dir(?:\.|ection) de |"
    r"(?:traducción|tradução|edición) de |cura di |pod red\. |"
    r"(?:[^,]{0,60} )?a c(?:ura|\.) di |vertaald door |oversatt av )?"
)
# "FOUCAULT (Michel)", "Kefi (N.)"
_GIVEN = regex.compile(
    rf"(?<=\p{{Lu}}\p{{Lu}}) ?\((?!(?i:{_ROLES})\.?\))(\p{{Lu}}[\p{{Ll}}.-][^()]*)\)|"
    r"(?<=\p{L}) ?\(((?:\p{Lu}\.[ -]?)+)\)"
)
_MARKS = regex.compile(
    r"\([^()]*\)?|\[[^][]*\]?|[][(){}\\*†‡§¶¹²³]|(?<=[\p{L}.])\p{Nd}+(?!\p{L})"
)
_OTHERS = regex.compile(
    r"(?<!\w)(?:(?i:et|and|&|und) (?i:al|alii|others|coll|mult)\b|u\. ?a\.|"
    r"y otr[oa]s\b|e outr[oa]s\b|m\. ?fl\.|i in(?:\.|ni\b)|и др\.|en anderen\b)\.?|"
    r"\. ?\. ?\.|…|(?<=[\p{Han}\p{Hangul}; ])(?:等|ほか|他|외)$"
)
_BETWEEN = regex.compile(
    r";| ?/ ?|(?<=[\p{Han}\p{Hangul}])(?:\. | ?・ ?(?=[\p{Han}\p{Hangul}]))|"
    r"(?<=\p{Hangul})·(?=\p{Hangul})|"
    r"(?<=, \p{Lu}[^,.]{0,40}\p{Ll}{2})\. (?=\p{Lu}[\p{L}'’-]+, \p{Lu})"
)
# Those that are caught stand within names, too: "Ortega y Gasset".
_AND = regex.compile(
    r"(,? (?:and|AND|und|UND|et|ET|u\.|(y|e|i|a|en|och|og|ja|ve|-)) |,? ?& ?)"
)
_TITLES = regex.compile(r"^(?:(?:Prof|Dr|Mrs?|Ms|Sir|Dame)\.?(?: |$))++")
# As in "J. P.", "J.-P." or "JP".
_INITIAL = regex.compile(
    r"\p{Lu}\.(?:-?\p{Lu}\.)*+(?:-?\p{Lu})?|\p{Lu}(?:-?\p{Lu}){0,2}\.?|"
    r"[B-DF-HJ-NP-TV-Z]{4}"
)
_LETTER = regex.compile(r"-?\p{Lu}")
_TWO_LETTERS = regex.compile(r"\w\w")
# "BRANDEIS Louis D.", "Jean LE GOFF": capitals mark the family name.
_CAPITALS = regex.compile(
    r"(?P<family>(?:\p{Lu}{4,}|\p{Lu}{2,}[- '’]\p{Lu}{2,})(?:[- '’]\p{Lu}{2,})*+) "
    r"(?P<given>\p{Lu}(?:\p{Ll}|\.).*)|"
    r"(?P<given>\p{Lu}[^\s\p{Ll}]*+\p{Ll}\S*+) (?P<family>\p{Lu}{2,}[- '’]\p{Lu}{2,})"
)
_PARTICLE = regex.compile(
    r"(?P<given>\S.*?) (?P<family>(?i:Van|Von|De|Della|Del|Di|La|Le|Ten|Ter|El) .+)"
)
_SUFFIX = regex.compile(r"(?:(?i:jr|sr|júnior|2nd|3rd|ph\.?d|md)|[IVX]{2,4})\.?")
_ASIAN = regex.compile(r"[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}・·ー ]+")
_NOUN = regex.compile(
    r"(?i)\b(?:group|team|inc|ltd|gmbh|organi[sz]ation|agency|universi\w+|"
    r"ist?itut\w*|institut\w*|\w*minist[eèé]r\w*|ministry|association|committee|"
    r"department|society|council|comm?iss?[iíãa]\w+|gesellschaft|\w*bundesamt|news|"
    r"kommission|collaboration|network|consortium|centers?|centres?|foundation|"
    r"stiftung|office|investigators|administration|bureau|federation|authority)\b"
)
_OF = regex.compile(r"(?i)\b(?:of|for|the|für|pour|para)\b|^\p{Nd}")


def read_names(text: str) -> tuple[list[Name], bool]:
    """Returns the people of a list, as references have it, in their order, and whether
    others are left out: "et al.", or dots."""
    text = " ".join(with_hyphens(text.translate(_PUNCTUATION)).split())
    text = _LINE_END.sub("", _NUMBER.sub("", text))
    text = _GIVEN.sub(r", \1\2", text).strip(_ENDS)
    text = _MARKS.sub("", text).strip(_ENDS) or text.strip(f"()[]{_ENDS}")
    text, n_others = _OTHERS.subn(";", " ".join(text.split()))
    names: list[Name] = []
    for part in _BETWEEN.split(text):
        part = _ROLE_AFTER.sub("", part.strip(" ,:&")).strip(" ,:")
        part = _ROLE_BEFORE.sub("", part, count=1)
        for chunk in _chunks(part):
            names += _read_chunk(chunk)
    return names, n_others > 0


def _chunks(part: str) -> Iterator[str]:
    """Yields what stands between words for "and" that are within no name."""
    pieces = _AND.split(part)
    texts = pieces[::3]
    if _is_organization(part) and not all(map(_NOUN.search, texts)):
        yield part
        return
    chunk = texts[:1]
    for between, word, left, right in zip(pieces[1::3], pieces[2::3], texts, texts[1:]):
        if _is_complete(left, word, right):
            yield " ".join(chunk).replace(" - ", "-")
            chunk = [right]
        else:
            chunk += [between.strip(" ,"), right]
    yield " ".join(chunk).replace(" - ", "-")


def _is_complete(left: str, word: str | None, right: str) -> bool:
    """Returns whether a name ends where a word stands; None: one that is in few names,
    such as "the Equal Opportunity and Human Rights Commission"."""
    if word is None:
        is_noun, is_word = bool(_NOUN.search(left)), right.isalpha()
        is_half = is_word if is_noun else _NOUN.search(right)
        return "," in left or not (left.startswith("the ") and is_half)
    *before, last = left.split(", ")
    words = last.split() or [""]
    first, is_list, _ = right.partition(", ")
    is_two = len(words) > 1 and " " in first
    if word == "-" or not (is_list or first[:1].isupper()):
        return is_two
    if _is_initials(words[-1]) or _is_initials(words[0]):
        return True
    if len(words) == 1:
        return len(before) % 2 == 1
    return is_two and not is_list


def _is_organization(text: str) -> bool:
    is_one = "," not in text and (_NOUN.search(text) or _OF.search(text))
    # "UNIVERSIDADE DE SÃO PAULO"
    is_upper = text.isupper()
    words = [x for x in text.split()[1:] if "." in x or not is_upper]
    return bool(is_one) and not any(map(_is_initials, words))


def _is_initials(text: str, is_upper: bool = False) -> bool:
    """Returns whether a text is initials; if `is_upper` (the name is in capitals), a
    word of more than two letters without a dot is a name."""
    words = text.split()
    return all(map(_INITIAL.fullmatch, words)) and not (
        is_upper and any(len(x) > 2 and "." not in x for x in words)
    )


def _read_chunk(chunk: str) -> Iterator[Name]:
    """Yields the names between two separators: with commas between and within names."""
    parts = [part for part in map(_clean, chunk.split(",")) if part]
    at = 0
    while at < len(parts):
        part = parts[at]
        if _is_organization(part):
            yield Name(part, is_literal=True)
        elif _ASIAN.fullmatch(part):
            family, _, given = part.partition(" ")
            yield Name(family, given, is_literal=not given)
        else:
            end = at + 1 + _n_given(parts, at)
            while end < len(parts) and _SUFFIX.fullmatch(parts[end]):
                end += 1
            yield _read_name(*parts[at:end])
            at = end - 1
        at += 1


def _clean(part: str) -> str:
    """Returns a part between commas without titles, and without the dot that ends a
    word; "" if it has no letters."""
    text = _TITLES.sub("", part.strip(" :"))
    last = text[:-1].rpartition(" ")[2]
    is_word = len(last) > 2 and last.isalpha() or _ASIAN.fullmatch(last)
    if is_word and not _SUFFIX.fullmatch(last):
        text = text.rstrip(".。")
    return text if any(map(str.isalpha, text)) else ""


def _n_given(parts: list[str], at: int) -> int:
    """Returns 1 if the part after this one has given names of the same person."""
    if at + 1 == len(parts) or "." in parts[at] and _is_initials(parts[at]):
        return 0
    after = parts[at + 1]
    family, suffix = _without_suffix(parts[at])
    is_mixed = suffix.isupper() and not parts[at].isupper()  # "Doe JR, Roe A"
    if is_mixed and "." not in suffix and not _is_initials(after):
        return 0
    if _is_initials(after, family.isupper()) and not (
        _family_first(family) and "." not in after
    ):
        return 1
    if _family_first(family) or _has_initials(family) or _SUFFIX.fullmatch(after):
        return 0
    # "Jaspers, Karl", but not "Karl Jaspers, Max Weber".
    words = family.split()
    is_pair = len(parts) == 2 and len(after.split()) == 1  # "García Márquez, Gabriel"
    is_family = len(words) == 1 or words[0].islower() or is_pair
    is_two = len(words) == 2 and _PARTICLE.match(f"_ {family}")  # "Le Goff, Jacques"
    return int(bool(is_family or is_two or after.split()[-1].islower()))


def _without_suffix(text: str) -> tuple[str, str]:
    before, _, last = text.rpartition(" ")
    return (before, last) if before and _SUFFIX.fullmatch(last) else (text, "")


def _family_first(text: str) -> tuple[str, str] | None:
    """Returns the family name and the given names of a name that ends with initials,
    such as "Smith J. P."; None: it is none."""
    words = text.split()
    first, is_upper = len(words), text.isupper()
    while first and _is_initials(words[first - 1], is_upper):
        first -= 1
    # The last word with two letters belongs to the family name, so "JP" may.
    whole = [k for k, word in enumerate(words[:-1]) if _TWO_LETTERS.search(word)]
    if first == len(words) or not whole:
        return None
    at = max(whole[-1] + 1, first)
    return " ".join(words[:at]), " ".join(words[at:])


def _has_initials(part: str) -> bool:
    """Returns whether a part begins with initials: "J. Smith", not "DE GROOT"."""
    first, *rest = part.split()
    is_capitals = "." not in first and " ".join(rest).isupper()
    return bool(rest and _is_initials(first)) and not is_capitals


def _read_name(family: str, *others: str) -> Name:
    """Returns a name from its parts between commas. Capitals that may be a suffix, such
    as JR, are initials if there are no others."""
    family, suffix = _without_suffix(family)
    suffixes = [x for x in (suffix, *others) if _SUFFIX.fullmatch(x)]
    given = " ".join(x for x in others if x not in suffixes)
    is_alone = " " not in family or suffix in ("JR", "SR") and not family.isupper()
    if suffixes and suffixes[0].isupper() and not given and is_alone:
        given, suffixes = suffixes[0], suffixes[1:]
    if not given:
        if match := _CAPITALS.fullmatch(family):
            family, given = match["family"], match["given"]
        elif pair := _family_first(family):
            family, given = pair
        elif match := _PARTICLE.fullmatch(family):
            family, given = match["family"], match["given"]
    if given or _PARTICLE.match(f"_ {family}"):  # "Le Corbusier"
        words = family.split()
        particles = [*takewhile(str.islower, words[:-1])]
        rest = " ".join(words[len(particles) :])
        name = Name(rest, given, " ".join(particles))
    else:
        name = _parse(family)
    suffixes = [x for x in suffixes if x[:2].lower() not in ("ph", "md")]
    given = _with_dots(name.given, name.family)
    return name._replace(given=given, suffix=" ".join(suffixes))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Name:
    """Returns a name with the family name last, in an order that BibTeX knows."""
    from bibtexparser.middlewares.names import parse_single_name_into_parts

    parts = parse_single_name_into_parts(text, strict=False)
    family, given, particle = map(" ".join, (parts.last, parts.first, parts.von))
    return Name(family or text, given, particle)


def _with_dots(given: str, family: str) -> str:
    """Returns given names whose initials stand alone, with dots: "J. P.", "J.-P."."""
    words = regex.sub(r"\.(?=\p{L})", ". ", given).split()
    is_upper = family.isupper()
    for k, word in enumerate(words):
        if _is_initials(word, is_upper):
            letters = "".join(f" {x}." for x in _LETTER.findall(word))
            words[k] = letters.replace(" -", "-").strip()
    return " ".join(words)
