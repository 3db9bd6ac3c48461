"""The fields of a reference, by the name that BibTeX has for each; its date, and what
kind of publication it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...text.clean import with_hyphens
from ..records import ExtractedField

# For labels that references are often annotated with, such as by AnyStyle and GROBID,
# the field of BibTeX.
COMMON_LABELS: Mapping[str, str] = {
    label: key
    for key, labels in {
        "author": "author",
        "title": "title title:a",
        "editor": "editor",
        "translator": "translator",
        "booktitle": "booktitle container-title title:m",
        "journal": "journal title:j",
        "series": "collection-title series title:s",
        "edition": "edition",
        "type": "genre note:report tech",
        "volume": "biblScope:vol biblScope:volume volume",
        "number": "biblScope:issue issue number",
        "pages": "biblScope:page biblScope:pp pages pagination",
        "publisher": "publisher",
        "institution": "institution orgName",
        "school": "school",
        "address": "address location pubPlace publicationplace",
        "date": "date year",
        "doi": "doi idno:DOI",
        "url": "ptr:web url",
        "isbn": "idno:ISBN isbn",
        "issn": "idno:ISSN issn",
        "note": "note",
    }.items()
    for label in labels.split()
}

# All that a label can be; in the order in which they are written.
KEYS = tuple(dict.fromkeys(COMMON_LABELS.values()))
PEOPLE = ("author", "editor", "translator")

_ENDS = " \t\n\r\u00a0,;:"
_QUOTES = "\"'“”„‟‘’‚«»‹›"
_DOUBLE = '"“”„‟«»'
_OPEN_QUOTE = re.compile(rf"^[{_DOUBLE}]\s*|\s*(?<!\d)[{_DOUBLE}]\.?$")
_ABBREVIATION = re.compile(r"(?:^|[\s.])\w{1,3}\.$")
# What stands before or after the value itself.
_CUES = {
    key: re.compile(f"(?i){cue}")
    for key, cue in {
        "booktitle": r"^(?:in\b\s*:?\s*|of\s|(?:\w+ )?presented at )(?:the\b\s*)?",
        "journal": r"^(?-i:in\s+|In\s*:\s*|in\s*:\s*)(?:the\b\s*)?(?=\S)",
        "volume": r"^(?:vols?|volumen?|bd|band|t|tom[eo]?|jg|jahrgang)\b[.\s]*(?=\w)",
        "number": r"^(?:(?:nos?|nrs?|n[uú]m|issues?|number|heft|h|fasc|n)\b[.°º\s]*|"
        r"[№#]\s*)(?=\w)",
        "pages": r"^(?:pages?|pp?|págs?|pgs?|ss?|seiten?|str|blz)\b[.\s]*(?=\w)",
        "title": r"[.,;:]\s+in:?$",
        "edition": r"[.\s]{0,2}\b(?:edn?|éd|edition|édition|edición|edizione|aufl|"
        r"auflage|ausg|ausgabe)\.?$",
    }.items()
}
_YEAR_IN_VOLUME = re.compile(
    r"^((?:1[89]|20)\d\d)\s*[,;]\s*(?=\w)|\s*(?:\(|,\s*(?=\d{4}$))((?:1[89]|20)\d\d)(?:\)|$)"
)
_VOLUME = re.compile(r"^(\w+)\s*[(:,/]\s*(.+)$")
_VOLUME_BEFORE_PAGES = re.compile(r"^(\d+)\s*(?:\((\w+)\))?\s*:\s*(?=\d)")
_CODES = {
    "doi": re.compile(r"\b10\.\d{4,9}/\S+"),
    "isbn": re.compile(r"\b(?:97[89][- ]?)?\d(?:[- ]?\d){8}[- ]?[\dXx]\b"),
    "issn": re.compile(r"\b\d{4}-?\d{3}[\dXx]\b"),
    "url": re.compile(r"(?:https?|ftp)://.*|\bwww\..*"),
}

_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
_ISO = re.compile(
    r"(?<!\d)((?:1[4-9]|20)\d\d)(?:[-年](\d\d?)(?:[-月](\d\d?))?|([/.])(\d\d?)\4(\d\d?))"
    r"(?!\d)"
)
_DAY_FIRST = re.compile(r"(?<!\d)(\d\d?)\.\s?(\d\d?)\.\s?((?:1[4-9]|20)\d\d)(?!\d)")
_DAY = re.compile(r"(?<!\d)([0-3]?\d)(?:st|nd|rd|th)?(?!\d)")
_RANGE = re.compile(r"[-/]")
_WORD = re.compile(r"[^\W\d_]{3,}")
# Years of visits, and those of originals and manuscripts, which count if there are no
# others.
_VISITS = re.compile(
    r"(?i)\b(?:accessed|retrieved|viewed|visited|cited|consult\w+|abruf|abgerufen|zugriff|"
    r"stand|acess\w+)\b[^])};]*"
)
_ORIGINALS = re.compile(
    r"(?i)\[[^][]*\]|\b(?:received|submitted|orig\w*|first|1st|erstausgabe|zuerst)\b[^])};]*"
)
# By the name of a month, or its first letters.
_MONTHS = (
    " january januar janvier enero janeiro gennaio januari styczeń",
    " february februar février fevrier febrero fevereiro febbraio februari luty",
    " march märz mars marzo março maart mrt marzec",
    " april avril abril aprile kwiecień",
    " may mai mayo maio maggio mei maj",
    " june juni juin junio junho giugno czerwiec",
    " july juli juillet julio julho luglio lipiec",
    " august août aout agosto augustus sierpień",
    " september septembre septiembre setembro settembre wrzesień",
    " october oktober octobre octubre outubro ottobre październik",
    " november novembre noviembre novembro listopad",
    " december dezember décembre decembre diciembre dezembro dicembre grudzień",
)

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

# The work, and where it was written.
_THESIS = re.compile(
    r"(?i)((?:thesis|dissertation|\bdiss\b|habilitation\w*|th[èe]se\b|\btesis?\b|"
    r"\btese\b|dissertação|(?:doktor|diplom|master|bachelor|magister)arbeit|proefschrift|"
    r"avhandling)[^(),;:.]*)(?:[(,;:.\s]+((?-i:[A-ZÀ-Þ])[^()]*))?"
)
_MASTERS = re.compile(
    r"(?i)\bm[aá]e?st|\bm\.?\s?(?:sc|a|s|phil)\b|diplom|bachelor|magister|mestrado|maîtrise|"
    r"laurea|licen"
)
_MEETING = re.compile(
    r"(?i)proceedings|\bproc\b|conference|\bconf\b|symposium|workshop|congress|tagung"
)
_REPORT = re.compile(r"(?i)report|working paper|memo|\btr\b")


def reference_of(
    fields: Sequence[ExtractedField], labels: Mapping[str, str]
) -> dict[str, str]:
    """Returns clean values for some of `KEYS`, by the key of each label, without
    others. Values of one key stand one after the other; ";" separates names."""
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
    _split_thesis(reference)
    _split_volume(reference)
    _find_codes(reference)
    return {key: reference[key] for key in KEYS if key in reference}


def _clean(value: str, key: str | None) -> str:
    """Returns a field without punctuation, brackets, quotation marks and cue words that
    stand around it; the dot of an abbreviation stays."""
    value = value.strip(_ENDS)
    for left, right in () if key in PEOPLE else ("()", "[]"):
        inner = value.rstrip(".,;: ")
        if inner[:1] == left and inner.find(right) in (-1, len(inner) - 1):
            value = inner.strip(left + right)
        elif inner[-1:] == right and left not in inner:
            value = inner[:-1]
    whole = value.rstrip(".")
    is_several = {value[:1], whole[-1:]} & {*whole[1:-1]} & {*_DOUBLE}  # "A" and "B"
    if sum(map(value.count, _DOUBLE)) % 2:
        value = _OPEN_QUOTE.sub("", value, count=1).strip(_ENDS)
    elif value[1:] and whole[-1:] in {*_QUOTES} >= {value[0]} and not is_several:
        value = whole.strip(_QUOTES).strip(_ENDS)
    if key in _CUES:
        value = _CUES[key].sub("", value) or value
    is_abbreviated = _ABBREVIATION.search(value) or (
        key != "title" and "." in value.rstrip(".")
    )
    return value if is_abbreviated else value.rstrip(".").strip(_ENDS)


def _split_thesis(reference: dict[str, str]) -> None:
    """Finds what kind of thesis it is, and the school, which may stand elsewhere."""
    for key in ("type", "note", "publisher"):
        match = _THESIS.search(reference.get(key, ""))
        if match and not {"journal", "booktitle"} & {*reference}:
            text, school = match.string, (match[2] or "").strip(_ENDS)
            start = 1 + max(text.rfind(x, 0, match.start()) for x in "(),;:")
            if not start and match.end() == len(text):
                del reference[key]
            reference["type"] = text[start : match.end(1)].strip()
            for other in ("institution", "publisher"):
                school = school or reference.pop(other, "")
            if school:
                reference.setdefault("school", school)
            return


def _split_volume(reference: dict[str, str]) -> None:
    """Divides volumes with number or year, as 41(6), and pages that have the volume."""
    match = _VOLUME_BEFORE_PAGES.match(reference.get("pages", ""))
    if match and "volume" not in reference:
        reference["volume"] = match[0].rstrip(": ")
        reference["pages"] = match.string[match.end() :]
    for key in ("volume", "number"):  # "2002;288(3)", "57(2003)"
        if match := _YEAR_IN_VOLUME.search(reference.get(key, "")):
            year = match[1] or match[2]
            rest = _YEAR_IN_VOLUME.sub(", ", match.string, count=1).strip(_ENDS)
            if rest and (year in reference.get("date", year) or ";" in match[0]):
                reference[key] = rest
                reference.setdefault("date", year)
    match = _VOLUME.match(reference.get("volume", ""))
    rest = _clean(match[2], "number") if match else ""
    is_closed = rest.count("(") == rest.count(")") and not _YEAR.fullmatch(rest)
    if match and "number" not in reference and is_closed and len(rest) <= 20:
        reference["volume"], reference["number"] = match[1], rest
    if "number" in reference:
        reference["number"] = _clean(reference["number"], "number")


def _find_codes(reference: dict[str, str]) -> None:
    """Leaves codes of a publication alone in their fields; finds them in notes."""
    note = reference.get("note", "")
    for key, pattern in _CODES.items():
        if match := pattern.search(reference.get(key, note)):
            if key not in reference and not re.search(r"\w{5}", pattern.sub("", note)):
                reference.pop("note", None)
            reference[key] = match[0].rstrip(".,;>")
    doi = reference.get("doi")
    if doi is not None and not _CODES["doi"].match(doi):
        del reference["doi"]
        reference.setdefault("url" if "://" in doi else "note", doi)


def guess_kind(reference: Mapping[str, str]) -> tuple[str, str]:
    """Returns the kind of publication that a reference is, guessed from its fields."""
    about = " ".join(reference.get(key, "") for key in ("type", "note"))
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
    """Returns year, month and day, or first and last ones, as far as known, of a text
    such as "(May 2004)", "12 mai 2004", "2004-05-12", "1990/91", "1984 [1970]"; []
    without a year. Of several years those of visits and of originals do not count."""
    text = _VISITS.sub(" ", with_hyphens(text))
    rest = _ORIGINALS.sub(" ", text)
    text = rest if _YEAR.search(rest) else text
    for pattern, step in ((_ISO, 1), (_DAY_FIRST, -1)):
        if match := pattern.search(text):
            parts = [int(x) for x in match.groups() if x and x.isdecimal()][::step]
            if _is_possible(parts):
                return [parts]
    years = [int(x) for x in _YEAR.findall(text)]
    if not years:
        return []
    if len(years) > 1 and years[0] < years[1]:
        if match := _RANGE.search(text):
            # "1923/1961" is a new edition.
            is_new = match[0] == "/" and years[1] > years[0] + 1
            return [[years[1]]] if is_new else [[years[0]], [years[1]]]
    rest = _YEAR.sub(" ", text, count=1)
    numbered = [*enumerate(_MONTHS, 1)]
    words = _WORD.findall(rest.lower())
    months = (k for x in words for k, names in numbered if f" {x}" in names)
    month = next(months, None)
    if month is None:
        return [[years[0]]]
    day = _DAY.search(rest)
    parts = [years[0], month, *([int(day[1])] if day else [])]
    return [parts if _is_possible(parts) else parts[:2]]


def _is_possible(parts: list[int]) -> bool:
    months, days = parts[1:2] or [1], parts[2:3] or [1]
    return 1 <= months[0] <= 12 and 1 <= days[0] <= 31
