"""What kind of publication a reference is, guessed from its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of publication, as BibTeX and as CSL call it."""

    bibtex: str
    csl: str


ARTICLE = Kind("article", "article-journal")
CHAPTER = Kind("incollection", "chapter")
PAPER = Kind("inproceedings", "paper-conference")
THESIS = Kind("phdthesis", "thesis")
MASTERS_THESIS = Kind("mastersthesis", "thesis")
REPORT = Kind("techreport", "report")
BOOK = Kind("book", "book")
WEB_PAGE = Kind("misc", "webpage")
OTHER = Kind("misc", "document")

_THESIS = re.compile(r"(?i)thesis|dissertation|diss\.|habil")
_MASTERS = re.compile(r"(?i)\bmaster|\bm\.?\s?sc|diplom|bachelor")
_MEETING = re.compile(
    r"(?i)proceedings|\bproc\b|conference|\bconf\b|symposium|workshop|congress|tagung"
)
_REPORT = re.compile(r"(?i)report|working paper|memo|\btr\b")


def guess_kind(reference: Mapping[str, str]) -> Kind:
    """RETURNS (Kind): Of a reference, see `reference_of`."""
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
