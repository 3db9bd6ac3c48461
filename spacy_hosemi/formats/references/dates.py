"""Dates of publication, as far as references have them."""

from __future__ import annotations

import re
from calendar import month_abbr, month_name

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
    """The number of an English month, or of its first letters."""
    month = _NAMES.get(word[:3].lower())
    is_named = month is not None and month_name[month].lower().startswith(word.lower())
    return month if is_named or word.lower() == "sept" else None


def _is_possible(parts: list[int]) -> bool:
    months, days = parts[1:2] or [1], parts[2:3] or [1]
    return 1 <= months[0] <= 12 and 1 <= days[0] <= 31
