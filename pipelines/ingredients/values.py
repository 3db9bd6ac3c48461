"""Ingredient lines as values, `doc._.ingredient`: part of en_hosemi_ingredients."""

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import isfinite, nan
from typing import Any, Optional
from unicodedata import numeric

from pint import UnitRegistry
from spacy.tokens import Doc

# The units that are converted, by their names in Pint, with their codes in UN/CEFACT
# recommendation 20, as schema.org has them. All else, such as cans and cloves, is a
# word: Pint would read "pinch" as a picoinch and "c" as the speed of light.
UNIT_CODES = dict(
    x.split(":")
    for x in "gram:GRM kilogram:KGM milligram:MGM ounce:ONZ pound:LBR milliliter:MLT "
    "centiliter:CLT deciliter:DLT liter:LTR teaspoon:G25 tablespoon:G24 cup:G21 "
    "fluid_ounce:OZA pint:PTL quart:QTL gallon:GLL inch:INH centimeter:CMT "
    "millimeter:MMT".split()
)
ALIASES = {"c": "cup", "tb": "tbsp", "tbs": "tbsp", "floz": "fluid_ounce"}
ONES = "zero one two three four five six seven eight nine ten eleven twelve".split()
ONES += [f"{x}teen" for x in "thir four fif six seven eigh nine".split()]
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
FRACTIONS = "half third quarter fifth sixth seventh eighth".split()
PARTS = {x + s: 1 / n for n, x in enumerate(FRACTIONS, 2) for s in ("", "s")}
SCALES = dict(dozen=12, hundred=100, thousand=1000)
WORDS = PARTS | SCALES | {x: n for n, x in enumerate(ONES)} | {"couple": 2}
WORDS |= {x: 10 * n for n, x in enumerate(TENS, 2)}
NUMBER = re.compile(
    r"((?P<whole>\d+)[ -]?)?(?P<sign>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒])"
    r"|((?P<mixed>\d+)[ -])?(?P<above>\d+)/(?P<below>\d+)"
    r"|(?P<thousands>[1-9]\d{0,2}([,'’]\d{3}| 000)+(\.\d+)?(?!\d))"
    rf"|(?P<decimal>\d*[.,]?\d+)|\b(?P<word>{'|'.join(WORDS)})\b"
)
RANGE = re.compile(r"[ -]*([-–—]|\bto\b|\bor\b)[ -]*")
AND = re.compile(r" ?(and|and a|&|\+|plus) ?")
TIMES = re.compile(r"[ -]*([x×*(]|\bof\b| )[ -]*")
# What is one number, though a model may find a part of it alone.
RUN = re.compile(
    rf"\b\d+(,\d+)+(\.\d+)?|\bbetween [\d½ /]+ and [\d½ /]*\d|\b({'|'.join(WORDS)}|\d+)"
    rf"[ -](a )?({'|'.join(SCALES)})\b([ -](and )?({'|'.join([*ONES, *TENS])})\b)*",
    re.IGNORECASE,
)
NO_AMOUNT = re.compile(r"[%#№]|\d(st|nd|rd|th)\b|million")
units = cache(UnitRegistry)
Numbers = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class Amount:
    """From `low` to `high`, mostly equal; None where the text has a unit alone. `unit`
    is a key of UNIT_CODES or what the text says ("large can"); `each` is what one of
    them has, such as 14 ounces."""

    low: float | None
    high: float | None
    unit: str | None = None
    each: Optional["Amount"] = None  # noqa: UP045

    def to(self, unit: str) -> float | None:
        """Returns the middle of low and high, times what each has, in another unit of
        the same kind; None if there is no such number."""
        if self.low is None or self.high is None:
            return None
        one = self.each.to(unit) if self.each else None
        if self.unit in UNIT_CODES and (measure := units()(self.unit)).check(unit):
            one = measure.m_as(unit)
        return None if one is None else (self.low + self.high) / 2 * one

    def to_schema(self) -> dict[str, Any]:
        """Returns a QuantitativeValue of schema.org."""
        value: dict[str, Any] = {"@type": "QuantitativeValue"}
        if self.low is not None:
            both = {"minValue": self.low, "maxValue": self.high}
            value |= {"value": self.low} if self.low == self.high else both
        if self.unit is not None:
            value["unitText"] = self.unit.replace("_", " ")
        if self.unit in UNIT_CODES:
            value["unitCode"] = UNIT_CODES[self.unit]
        return value | ({"valueReference": self.each.to_schema()} if self.each else {})


@dataclass(frozen=True)
class Ingredient:
    """What an ingredient line says. Several amounts are one in several units; texts of
    one label are joined by commas."""

    amounts: list[Amount]
    name: str
    size: str
    preparation: str
    purpose: str
    comment: str

    def to_schema(self) -> dict[str, Any]:
        """Returns a HowToSupply of schema.org, for `supply` of a Recipe."""
        said = filter(None, (self.size, self.preparation, self.purpose, self.comment))
        supply: dict[str, Any] = {"@type": "HowToSupply", "name": self.name}
        supply["requiredQuantity"] = self.amounts[0].to_schema() if self.amounts else {}
        supply["description"] = ", ".join(said)
        return {key: x for key, x in supply.items() if x}


def read_ingredient(doc: Doc) -> Ingredient:
    """Returns what `doc.ents` say. Registered as `doc._.ingredient`."""
    texts = dict.fromkeys("name size preparation purpose comment".split(), "")
    ends: dict[str, int] = {}
    for span in doc.ents:
        if (label := span.label_) in texts:
            is_near = ends.get(label) == span.start
            between = " " if is_near else ", " if texts[label] else ""
            texts[label] += between + " ".join(span.text.split())
            ends[label] = span.end
    return Ingredient(read_amounts(doc), **texts)


def read_numbers(text: str) -> Numbers:
    """Returns how many there are of how much, from least to most: (2, 14, 14) of "two
    14", (None, 1, 1.5) of "1 to 1½"; three times None of "few" and what is unclear."""
    text = re.sub("^between (.*) and ", r"\1 to ", " ".join(text.lower().split()))
    text = re.sub(" ?[/⁄] ?", "/", text)
    values, gaps, n_scaled, end, before = list[float](), list[str](), 0, 0, ""
    is_odd = len(text) > 40 or NO_AMOUNT.search(text)
    for match in () if is_odd else NUMBER.finditer(text):
        gap = text[end : match.start()] if values else "^"
        value, word, bare = _value(match), match["word"] or "", gap.strip(" -")
        if word in SCALES and bare in ("", "a", "of"):  # 1-2 dozen
            values[n_scaled:] = [value * x for x in values[n_scaled:]] or [nan]
        elif not bare and word in PARTS and (word != "half" or values[-1] == 1):
            values[-1] *= value  # three-quarters
        elif (not bare and before in TENS and word in ONES) or (  # twenty-one
            bare in ("", "and") and before in SCALES and word in (*ONES, *TENS)
        ):
            values[-1] += value
        else:
            values, gaps = [*values, value], [*gaps, gap]
        if AND.fullmatch(gaps[-1]) and values[-1] < 1:  # 1 and 1/2
            values[-2:], gaps = [sum(values[-2:])], gaps[:-1]
        n_scaled = len(values) if word in SCALES else n_scaled
        end, before = match.end(), word
    count: float | None = None
    if gaps[1:] and not RANGE.fullmatch(gaps[1]) and TIMES.fullmatch(gaps[1]):
        (count, *values), gaps = values, gaps[1:]  # one 14, 2 x 400
    is_range = len(values) == len(gaps) == 2 and RANGE.fullmatch(gaps[1])
    is_clear = is_range and (values[0] <= values[1] or "o" in gaps[1])  # 3 to 2, no 3-2
    if (is_clear or len(values) == 1) and isfinite(sum(values, count or 0)):
        return count, min(values), max(values)
    return None, None, None


def _value(match: re.Match[str]) -> float:
    """Returns a number, or NaN for what is none, such as 1/0 and 400/14 (g/oz)."""
    if match["sign"]:
        return float(match["whole"] or 0) + numeric(match["sign"])
    if match["word"]:
        return float(WORDS[match["word"]])
    if text := match["thousands"]:
        return float(re.sub(r"[^\d.]", "", text))
    if text := match["decimal"]:
        return float(text.replace(",", "."))
    whole, above, below = match["mixed"] or "0", match["above"], int(match["below"])
    is_glued = len(above) > 1 and 0 < int(above[-1]) < below < int(above)
    if is_glued and not match["mixed"]:  # "21/2" is 2½ without its space
        whole, above = above[:-1], above[-1]
    is_odd = below < 2 or int(above) >= below * (1 if match["mixed"] else 10)
    return nan if is_odd else int(whole) + int(above) / below


@lru_cache(4096)
def read_unit(text: str) -> tuple[str | None, str]:
    """Returns the unit of UNIT_CODES in a text, and the words around it: None and
    "large can", "fluid_ounce" and "can", "teaspoon" and "heaped"."""
    text = re.sub(r"\bfl(uid)?\.? (oz|ounces?)\b", "floz", text, flags=re.IGNORECASE)
    unit, words = None, []
    for word in re.split(r"[\s-]+", text):
        name = None if unit else _name_of_unit(word.rstrip(".").lower())
        unit = unit or name
        words += [] if name else [word]
    return unit, " ".join(filter(None, words))


def _name_of_unit(word: str) -> str | None:
    try:  # of letters alone: Pint would work out 9**9**9
        name = str(units().parse_units(ALIASES.get(word, word * word.isalpha())))
    except Exception:  # whatever Pint makes of a word that is no unit
        return None
    return name if name in UNIT_CODES else None


@dataclass
class _Measure:
    between: str  # the text between the one before and this one
    numbers: Numbers = (None, None, None)
    unit: str | None = None
    words: str = ""  # of the unit, beside it
    is_container: bool = False  # the words, which stand behind the unit

    def amount(self) -> Amount:
        return Amount(*self.numbers[1:], self.unit or self.words or None)


def read_amounts(doc: Doc) -> list[Amount]:
    """Returns the amounts that spans of quantities and units make together."""
    measures: list[_Measure] = []
    container, n_inside, end = "", 1, 0
    runs = {k: x.span() for x in RUN.finditer(doc.text) for k in range(*x.span())}
    for span in (x for x in doc.ents if x.label_ in ("quantity", "unit")):
        start, stop = span.start_char, span.end_char
        if span.label_ == "quantity" and start in runs:
            start, stop = runs[start][0], max(runs[start][1], stop)
        if start < end:
            continue
        between = doc.text[end:start].strip(" -").lower()
        if span.label_ == "quantity":
            measures.append(_Measure(between, read_numbers(doc.text[start:stop])))
        else:
            unit, words = read_unit(span.text)
            is_open = measures and not (measures[-1].unit or measures[-1].words)
            if measures and not is_open and unit is None:  # "garlic cloves", "(..) can"
                container, n_inside = words, len(measures)
                continue
            if not is_open:
                measures.append(_Measure(between))
            measures[-1].unit, measures[-1].words = unit, words
            measures[-1].is_container = bool(unit and span.text.endswith(words or " "))
        end = stop
    return _assemble(measures, container, n_inside) if measures else []


def _assemble(measures: list[_Measure], container: str, n_inside: int) -> list[Amount]:
    """Returns amounts; the first n_inside measures may be what each container has."""
    first, *others = measures
    count, low, high = first.numbers
    outer = None if count is None else (count, count)
    is_bare = not (first.unit or first.words)
    if is_bare and others and others[0].between in ("", "("):  # 1 (14-ounce) can
        outer, n_inside = (low, high), n_inside - 1
        first, *others = others
    amount = first.amount()
    container = first.words if first.is_container else container
    if outer := outer or ((1.0, 1.0) if container and first.unit else None):
        amount = Amount(*outer, container or None, amount)
        others = others[max(0, n_inside - 1) :] if container else others
    elif container:  # "6 large garlic cloves"
        amount = replace(amount, unit=f"{amount.unit or ''} {container}".strip())
    amounts = [amount]
    for measure in others:
        amount, last = measure.amount(), amounts[-1]
        is_pound = last.unit == "pound" and not measure.between  # 2lb 3oz
        if is_pound or measure.between in ("plus", "+"):
            more = amount.to(last.unit or "") if last.unit in UNIT_CODES else None
            if more and last.low and last.high and not last.each:
                amounts[-1] = replace(last, low=last.low + more, high=last.high + more)
                continue
        amounts.append(amount)
    return amounts


Doc.set_extension("ingredient", getter=read_ingredient, force=True)
