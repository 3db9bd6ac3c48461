"""References as BibTeX, and as CSL-JSON for Zotero, Pandoc and others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import accumulate
from typing import IO, Any
from unicodedata import normalize

from ...errors import Errors
from ...text.clean import with_hyphens
from ..records import ExtractedRecord
from ..references.fields import PEOPLE, guess_kind, read_date, reference_of
from ..references.names import Name, read_names
from .base import RecordFormat, WriterOptions
from .json_records import in_list, rounded

# What CSL calls a field of BibTeX.
_CSL = dict(
    pair.split("=")
    for pair in (
        "address=publisher-place booktitle=container-title doi=DOI edition=edition "
        "institution=publisher isbn=ISBN issn=ISSN journal=container-title note=note "
        "number=issue pages=page publisher=publisher school=publisher "
        "series=collection-title title=title type=genre url=URL volume=volume"
    ).split()
)


def check_libraries() -> None:
    """Raises ImportError: HS170 if a library that writes references is missing."""
    try:
        import bibtexparser  # noqa: F401
        import pylatexenc  # noqa: F401
    except ImportError as e:
        raise ImportError(Errors.HS170.format(found=e.name)) from e


def write_bibtex(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes an entry for each record that has any field of a reference; its key is
    "ref" and the number of the line. `annote`, which styles do not print, has what it
    was made of. Raises ImportError: HS170 if a library is missing."""
    check_libraries()
    from bibtexparser import Library, write_string
    from bibtexparser.model import Entry, Field

    for record in records:
        reference = reference_of(record.best.fields, options.fields)
        if reference:
            pairs = {**_bibtex_fields(reference), "annote": escape(_origin(record))}
            fields = [Field(key, value) for key, value in pairs.items()]
            kind, _ = guess_kind(reference)
            entry = Entry(kind, f"ref{record.line}", fields)
            file.write(write_string(Library([entry])) + "\n")


def _origin(record: ExtractedRecord) -> str:
    """Returns which line a reference is made of, and how sure that is."""
    confidence = rounded(record.best.confidence)
    sure = "" if confidence is None else f", record confidence {confidence}"
    advice = "" if record.advice is None else f", {record.advice}"
    return f"line {record.line}{sure}{advice}: {' '.join(record.text.split())}"


def _bibtex_fields(reference: dict[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, value in reference.items():
        if key in PEOPLE:
            names, has_others = read_names(value)
            people = [_bibtex_name(name) for name in names] or [f"{{{escape(value)}}}"]
            fields[key] = " and ".join([*people, *["others"] * has_others])
        elif key == "date":
            dates = read_date(value)
            years = [str(year) for year, *_ in dates] or [escape(value)]
            fields["year"] = "--".join(years)
            if len(dates) == 1 and dates[0][1:]:
                fields["month"] = str(dates[0][1])
        elif key in ("url", "doi"):  # read by programs
            fields[key] = value.replace("{", "").replace("}", "").replace("\\", "")
        elif key == "pages":
            fields[key] = "--".join(map(escape, re.split("-+", with_hyphens(value))))
        else:
            fields[key] = escape(value)
    return fields


def _bibtex_name(name: Name) -> str:
    if name.is_literal:
        return f"{{{escape(name.family)}}}"
    family = f"{name.particle} {name.family}".strip()
    text = ", ".join(escape(x) for x in (family, name.suffix, name.given) if x)
    return "".join(map(_letter, normalize("NFC", text)))


@cache
def _letter(char: str) -> str:
    """Returns a letter with an accent as a command: in names BibTeX takes one byte of
    others as initial. Programs do not read commands of other scripts: those stay."""
    from pylatexenc.latexencode import UnicodeToLatexEncoder as Encoder

    is_known = normalize("NFD", char)[0].isascii() or char in "ÆØŁŒßæøłœ"
    encoder = Encoder(replacement_latex_protection="braces-all")
    return char if char.isascii() or not is_known else encoder.unicode_to_latex(char)


_WORDS = {"~": "asciitilde", "^": "asciicircum", "\\": "backslash"}
_ESCAPES = str.maketrans(
    {x: rf"\{x}" for x in "&%$#_{}"} | {x: rf"{{\text{_WORDS[x]}}}" for x in _WORDS}
)
# What LaTeX makes another character of.
_LIGATURE = re.compile(r"([-'`<>,])(?=\1)|[?!](?=`)")


def escape(value: str) -> str:
    """Returns a text for LaTeX; what needs no command stays. BibTeX counts braces that
    are escaped, too: unless each is closed, parentheses stand for them."""
    depths = [*accumulate((c == "{") - (c == "}") for c in value)] or [0]
    if min(depths) < 0 or depths[-1]:
        value = value.replace("{", "(").replace("}", ")")
    return _LIGATURE.sub(r"\g<0>{}", value.translate(_ESCAPES))


def _csl(record: ExtractedRecord, options: WriterOptions) -> dict[str, Any] | None:
    """Returns an item, whose id is "ref" and the number of the line; None if the record
    has no field of a reference. `custom`, which is not for styles, has what it was made
    of. Raises ImportError: HS170 if a library is missing."""
    check_libraries()
    if not (reference := reference_of(record.best.fields, options.fields)):
        return None
    _, kind = guess_kind(reference)
    item: dict[str, Any] = {"id": f"ref{record.line}", "type": kind}
    confidence = rounded(record.best.confidence)
    custom = {"line": record.line, "text": record.text, "record_confidence": confidence}
    for key, value in reference.items():
        if key in PEOPLE:
            names, _ = read_names(value)
            item[key] = [_csl_name(name) for name in names] or [{"literal": value}]
        elif key == "date":
            dates = read_date(value)
            item["issued"] = {"date-parts": dates} if dates else {"literal": value}
        else:
            item.setdefault(_CSL[key], value)
    advice = {} if record.advice is None else {"verdict": record.advice}
    return {**item, "custom": custom | advice}


def _csl_name(name: Name) -> dict[str, str]:
    if name.is_literal:
        return {"literal": name.family}
    keys = "family", "given", "non-dropping-particle", "suffix"
    return {key: value for key, value in zip(keys, map(str, name)) if value}


FORMATS = (
    RecordFormat("bib", write_bibtex, is_of_references=True),
    RecordFormat("csl", in_list(_csl), is_of_references=True, is_one_document=True),
)
