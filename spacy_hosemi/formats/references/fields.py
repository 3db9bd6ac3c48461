"""The fields of a reference, by the name that BibTeX has for each, and what kind of
publication it is."""

from __future__ import annotations

import re
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
    """Without punctuation and quotation marks that stand around a field; the dot of an
    abbreviation stays."""
    value = value.strip(_ENDS)
    if len(value) > 1 and value[0] in _QUOTES and value[-1] in _QUOTES + ".":
        value = value.rstrip(".").strip(_QUOTES).strip(_ENDS)
    is_abbreviated = _ABBREVIATION.search(value) or (
        key != "title" and "." in value.rstrip(".")
    )
    return value if is_abbreviated else value.rstrip(".").strip(_ENDS)


def _split_volume(reference: dict[str, str]) -> None:
    """Volume and number are often one field, such as 41(6)."""
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
