"""The fields of a reference, by the name that BibTeX has for each; its date, and what
kind of publication it is."""

from __future__ import annotations

import re
from calendar import month_abbr, month_name
from collections.abc import Mapping, Sequence

from ..records import ExtractedField

# For labels that references are often annotated with, such as by AnyStyle and GROBID,
# the field of BibTeX.
COMMON_LABELS: Mapping[str, str] = {
    "address": "address",
    "author": "author",
    "biblScope:issue": "number",
    "biblScope:page": "pages",
    "biblScope:pp": "pages",
    "biblScope:vol": "volume",
    "biblScope:volume": "volume",
    "booktitle": "booktitle",
    "collection-title": "series",
    "container-title": "booktitle",
    "date": "date",
    "doi": "doi",
    "edition": "edition",
    "editor": "editor",
    "genre": "type",
    "idno:DOI": "doi",
    "idno:ISBN": "isbn",
    "idno:ISSN": "issn",
    "institution": "institution",
    "isbn": "isbn",
    "issn": "issn",
    "issue": "number",
    "journal": "journal",
    "location": "address",
    "note": "note",
    "note:report": "type",
    "number": "number",
    "orgName": "institution",
    "pages": "pages",
    "pagination": "pages",
    "ptr:web": "url",
    "pubPlace": "address",
    "publicationplace": "address",
    "publisher": "publisher",
    "school": "school",
    "series": "series",
    "tech": "type",
    "title": "title",
    "title:a": "title",
    "title:j": "journal",
    "title:m": "booktitle",
    "title:s": "series",
    "translator": "translator",
    "url": "url",
    "volume": "volume",
    "year": "date",
}

# All that a label can be; in the order in which they are written.
KEYS = (
    "author",
    "title",
    "editor",
    "translator",
    "booktitle",
    "journal",
    "series",
    "edition",
    "type",
    "volume",
    "number",
    "pages",
    "publisher",
    "institution",
    "school",
    "address",
    "date",
    "doi",
    "url",
    "isbn",
    "issn",
    "note",
)
PEOPLE = ("author", "editor", "translator")

_ENDS = " \t\n\r\u00a0,;:"
_QUOTES = "\"'“”„‟‘’‚«»‹›"
_ABBREVIATION = re.compile(r"(?:^|[\s.])\w{1,3}\.$")
_VOLUME = re.compile(r"(?i)^(?:vol(?:ume)?\.?\s*|bd\.?\s*)?(\w+)\s*[(:,/]\s*(.+)$")
_NUMBER = re.compile(r"(?i)^(?:no|nr|issue|heft|h)\b\.?\s*")
_PAGES = re.compile(r"(?i)^(?:pages?|pp?|s)\b\.?\s*")
_DOI = re.compile(r"10\.\d{4,9}/\S+")

_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_ISO = re.compile(r"(?<!\d)((?:1[4-9]|20)\d\d)-(\d\d?)(?:-(\d\d?))?(?!\d)")
_DAY = re.compile(r"(?<!\d)([0-3]?\d)(?:st|nd|rd|th)?(?!\d)")
_RANGE = re.compile(r"[-–—/]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_NAMES = {
    name[:3].lower(): month
    for names in (month_abbr, month_name)
    for month, name in enumerate(names)
    if name
}

# A kind of publication, as BibTeX and as CSL call it.
ARTICLE = "article", "article-journal"
CHAPTER = "incollection", "chapter"
PAPER = "inproceedings", "paper-conference"
THESIS = "phdthesis", "thesis"
MASTERS_THESIS = "mastersthesis", "thesis"
REPORT = "techreport", "report"
BOOK = "book", "book"
WEB_PAGE = "misc", "webpage"
OTHER = "misc", "document"

_THESIS = re.compile(r"(?i)thesis|dissertation|diss\.|habil")
_MASTERS = re.compile(r"(?i)\bmaster|\bm\.?\s?sc|diplom|bachelor")
_MEETING = re.compile(
    r"(?i)proceedings|\bproc\b|conference|\bconf\b|symposium|workshop|congress|tagung"
)
_REPORT = re.compile(r"(?i)report|working paper|memo|\btr\b")


def reference_of(
    fields: Sequence[ExtractedField], labels: Mapping[str, str]
) -> dict[str, str]:
    """Returns a clean value for some of `KEYS`, in their order, by what was extracted
    and the key of each label; fields of other labels are left out. Values with the same
    key stand one after the other; names are separated by ";"."""
    reference: dict[str, str] = {}
    for field in fields:
        key = labels.get(field.label)
        value = _clean(" ".join(field.value.split()), key)
        if key is None or not value:
            continue
        between = "; " if key in PEOPLE else ", "
        reference[key] = (
            f"{reference[key]}{between}{value}" if key in reference else value
        )
    if "title" not in reference and "booktitle" in reference:  # of the whole book
        reference["title"] = reference.pop("booktitle")
    _split_volume(reference)
    if "pages" in reference:
        reference["pages"] = _PAGES.sub("", reference["pages"]) or reference["pages"]
    if match := _DOI.search(reference.get("doi", "")):
        reference["doi"] = match[0].rstrip(".,;")
    elif (
        "://" in reference.get("doi", "") and "url" not in reference
    ):  # an address, no DOI
        reference["url"] = reference.pop("doi")
    return {key: reference[key] for key in KEYS if key in reference}


def _clean(value: str, key: str | None) -> str:
    """Returns a field without punctuation and quotation marks that stand around it; the
    dot of an abbreviation stays."""
    value = value.strip(_ENDS)
    if len(value) > 1 and value[0] in _QUOTES and value[-1] in _QUOTES + ".":
        value = value.rstrip(".").strip(_QUOTES).strip(_ENDS)
    is_abbreviated = _ABBREVIATION.search(value) or (
        key != "title" and "." in value.rstrip(".")
    )
    return value if is_abbreviated else value.rstrip(".").strip(_ENDS)


def _split_volume(reference: dict[str, str]) -> None:
    """Divides a volume that has the number, too, such as 41(6)."""
    match = _VOLUME.match(reference.get("volume", ""))
    if match and "number" not in reference:
        number = match[2].strip(" ().,")
        if len(number) <= 20:
            reference["volume"], reference["number"] = match[1], number
    if "number" in reference:
        reference["number"] = (
            _NUMBER.sub("", reference["number"]) or reference["number"]
        )


def guess_kind(reference: Mapping[str, str]) -> tuple[str, str]:
    """Returns the kind of publication that a reference is, guessed from its fields."""
    about = " ".join(reference.get(key, "") for key in ("type", "note", "title"))
    if "journal" in reference:
        return ARTICLE
    if "booktitle" in reference:
        return PAPER if _MEETING.search(reference["booktitle"]) else CHAPTER
    if "school" in reference or _THESIS.search(about):
        return MASTERS_THESIS if _MASTERS.search(about) else THESIS
    if "institution" in reference or _REPORT.search(reference.get("type", "")):
        return REPORT
    if "publisher" in reference or "isbn" in reference or "edition" in reference:
        return BOOK
    return WEB_PAGE if "url" in reference else OTHER


def read_date(text: str) -> list[list[int]]:
    """Returns year, month and day of one date, or of the first and the last one, as far
    as they are known, of a text such as "1990", "(May 2004)", "12 May 2004",
    "2004-05-12", "1990/91"; nothing if there is no year."""
    if match := _ISO.search(text):
        parts = [int(x) for x in match.groups() if x]
        if _is_possible(parts):
            return [parts]
    years = [int(x) for x in _YEAR.findall(text)]
    if not years:
        return []
    if len(years) > 1 and _RANGE.search(text) and years[0] < years[1]:
        return [[years[0]], [years[1]]]
    rest = _YEAR.sub(" ", text, count=1)
    months = (_month(word) for word in _WORD.findall(rest))
    month = next((x for x in months if x), None)
    if month is None:
        return [[years[0]]]
    day = _DAY.search(rest)
    parts = [years[0], month, *([int(day[1])] if day else [])]
    return [parts if _is_possible(parts) else parts[:2]]


def _month(word: str) -> int | None:
    """Returns the number of an English month, or of its first letters."""
    month = _NAMES.get(word[:3].lower())
    is_named = month is not None and month_name[month].lower().startswith(word.lower())
    return month if is_named or word.lower() == "sept" else None


def _is_possible(parts: list[int]) -> bool:
    months, days = parts[1:2] or [1], parts[2:3] or [1]
    return 1 <= months[0] <= 12 and 1 <= days[0] <= 31
