"""The fields of a reference, by the name that BibTeX has for each."""

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


def reference_of(
    fields: Sequence[ExtractedField], labels: Mapping[str, str]
) -> dict[str, str]:
    """The fields of a reference.

    fields (Sequence[ExtractedField]): What was extracted.
    labels (Mapping[str, str]): The key of each label; others are left out.
    RETURNS (Dict[str, str]): A clean value for some of `KEYS`, in their order. Values
        with the same key stand one after the other; names are separated by ";".
    """
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
