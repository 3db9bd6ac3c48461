"""What kind of publication a reference is, guessed from its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class PublicationKind(NamedTuple):
    """A kind of publication, as BibTeX and as CSL call it."""

    bibtex: str
    csl: str


ARTICLE = PublicationKind("article", "article-journal")
CHAPTER = PublicationKind("incollection", "chapter")
PAPER = PublicationKind("inproceedings", "paper-conference")
THESIS = PublicationKind("phdthesis", "thesis")
MASTERS_THESIS = PublicationKind("mastersthesis", "thesis")
REPORT = PublicationKind("techreport", "report")
BOOK = PublicationKind("book", "book")
WEB_PAGE = PublicationKind("misc", "webpage")
OTHER = PublicationKind("misc", "document")

_THESIS = re.compile(r"(?i)thesis|dissertation|diss\.|habil")
_MASTERS = re.compile(r"(?i)\bmaster|\bm\.?\s?sc|diplom|bachelor")
_MEETING = re.compile(
    r"(?i)proceedings|\bproc\b|conference|\bconf\b|symposium|workshop|congress|tagung"
)
_REPORT = re.compile(r"(?i)report|working paper|memo|\btr\b")


def guess_kind(reference: Mapping[str, str]) -> PublicationKind:
    """Returns the kind of a reference, see `reference_of`."""
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
