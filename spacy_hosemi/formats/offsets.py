"""How a file counts its offsets, and how to see that it counts them otherwise.

Offsets of Python count characters from 0, the end exclusive. Other programs count units
of UTF-16 (JavaScript, Java), bytes of UTF-8, what a reader takes for one character, or
a line end of Windows as one; begin with 1, or give the last character of a span as its
end. Nothing of that is mended unless it is asked for: `diagnose` says what a file looks
like, `cutting_words` which of its texts are unlike the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cache, lru_cache
from itertools import accumulate, product
from typing import Any

import regex

from .align import breaks_word, cuts_word
from .texts import AnnotatedText, Fault, LabeledSpan, same, shown

ENDS = ("exclusive", "inclusive")
UNITS = ("characters", "utf-16", "utf-8", "crlf", "graphemes")
SHIFTS = (0, -1, 1)
ENCODINGS = {"utf-16": "utf-16-le", "utf-8": "utf-8"}

# A pattern is named if at least this share of the spans that it concerns are wrong as
# they are, and it leaves at most this share of them. What lies between may come from
# faults of annotators, or from words that are glued together.
WRONG, AFTER = 0.3, 0.34
N_NEEDED = 3  # texts that cut no word, if those that do are to be faults
N_ENOUGH = 20_000  # spans that are looked at


@dataclass(frozen=True)
class Offsets:
    """Says how offsets are counted, and brings them to characters."""

    ends: str = "exclusive"  # or "inclusive"
    unit: str = "characters"  # or another of UNITS; "crlf": a line end is one
    shift: int = 0  # what is added to each

    def options(self) -> str:
        """Returns the options of the command line that ask for it."""
        names = "--ends", "--offsets", "--shift"
        values = zip(names, astuple(self), astuple(Offsets()))
        return " ".join(f"{name} {x}" for name, x, usual in values if x != usual)

    def mend(self, text: AnnotatedText, span: LabeledSpan) -> LabeledSpan:
        """Returns a span in characters or tokens, the end exclusive; an offset that is
        no place in the text is -1."""
        start = span.start + self.shift
        end = span.end + self.shift + (self.ends == "inclusive")
        is_plain = text.text.isascii() and "\r\n" not in text.text
        if self.unit != "characters" and not text.in_tokens and not is_plain:
            places = _places(text.text, self.unit)
            start, end = places.get(start, -1), places.get(end, -1)
        return span._replace(start=start, end=end)


@lru_cache(maxsize=16)  # `diagnose` asks again and again for one text
def _places(text: str, unit: str) -> dict[int, int]:
    """Returns the character that begins at each offset in units, and the end."""
    pattern = {"graphemes": r"\X", "crlf": r"\r\n|(?s:.)"}.get(unit, r"(?s:.)")
    parts = regex.findall(pattern, text)
    widths = [x for part in parts for x in (_width(part, unit), *[0] * (len(part) - 1))]
    return {at: i for i, at in enumerate(accumulate(widths, initial=0))}


@cache
def _width(part: str, unit: str) -> int:
    n_bytes = len(part.encode(ENCODINGS.get(unit, "utf-8"), "surrogatepass"))
    return {"utf-16": n_bytes // 2, "utf-8": n_bytes}.get(unit, 1)


def diagnose(
    texts: Iterable[AnnotatedText], used: Offsets
) -> tuple[Offsets, Fault] | None:
    """Looks for another way of counting under which offsets of texts, as the file has
    them, fit much better. Returns the simplest of the best, and a fault at the first
    span that does not fit; None if they fit as they are, or no other way either."""
    pairs = [(x, span) for x in texts if x.has_offsets for span in x.judged]
    pairs = pairs[:N_ENOUGH]
    by_value = any(span.value is not None for _, span in pairs)
    if by_value:
        pairs = [(text, span) for text, span in pairs if span.value is not None]
    wrong = [x for x in pairs if not fits(*x, used, breaks_word)]
    # The simplest first; units before shifts: a character of two units at the begin of
    # each text looks like a shift.
    ways = [Offsets(*x) for x in product(ENDS, UNITS, SHIFTS)] if wrong else []
    ways.sort(key=lambda x: (len(x.options().split()), bool(x.shift)))
    most = AFTER * len(wrong)
    counts = (_tried(pairs, used, other, most) for other in ways if other != used)
    good = [x for x in counts if x is not None]
    if not good:
        return None
    n, n_wrong, n_after, offsets = min(good, key=lambda x: x[2] - x[1])
    why = "are outside the text, or cut a word, or end with white space"
    if by_value:
        why = "have another text than the file says"
    option = offsets.options() or "--ends exclusive"
    text, span = wrong[0]
    message = (
        f"{n_wrong} of {n} spans {why}, {n_after} would with {option}; give that, or "
        "--shift 0 to read offsets as they are"
    )
    return offsets, Fault(text.path, span.line or text.line, message)


def _tried(
    pairs: list[tuple[Any, LabeledSpan]], used: Offsets, other: Offsets, most: float
) -> tuple[int, int, int, Offsets] | None:
    """Returns how many spans another way of counting concerns, how many of them do not
    fit now, and how many would not, at `most`; None: it does not mend them."""
    n = n_wrong = n_after = 0
    for text, span in pairs:
        if used.mend(text, span)[:2] == other.mend(text, span)[:2]:
            continue
        n += 1
        n_wrong += not fits(text, span, used, breaks_word)
        n_after += not fits(text, span, other)
        if n_after > most:  # whatever follows
            return None
    is_much = 0 < n <= n_wrong / WRONG and n_after <= AFTER * n_wrong
    return (n, n_wrong, n_after, other) if is_much else None


def fits(
    text: AnnotatedText, span: LabeledSpan, offsets: Offsets, cuts: Any = cuts_word
) -> bool:
    """Returns whether a span is what the file says; if that says nothing, whether it is
    in the text, has no white space at its ends, and cuts no word, which `cuts` says."""
    start, end, *_ = offsets.mend(text, span)
    n = len(text.tokens) if text.in_tokens and text.tokens else len(text.text)
    if not 0 <= start < end <= n:
        return False
    if text.in_tokens:
        return True
    part = text.text[start:end]
    if span.value is not None:
        return same(part, span.value)
    return not (part[0].isspace() or part[-1].isspace()) and not cuts(
        text.text, start, end
    )


def cutting_words(texts: Sequence[AnnotatedText]) -> dict[int, Fault]:
    """Returns, by the index of a text, a fault at its first span that begins or ends
    within a word, where few texts have such spans: their offsets are wrong."""
    cuts: dict[int, LabeledSpan] = {}
    n = 0
    for i, text in enumerate(texts):
        if text.has_offsets and not text.in_tokens:
            spans = [span for span in text.judged if span.value is None]
            n += bool(spans)
            cut = [span for span in spans if breaks_word(text.text, *span[:2])]
            cuts |= {i: cut[0]} if cut else {}
    if len(cuts) > WRONG * n or n - len(cuts) < N_NEEDED:
        return {}
    faults = {}
    for i, (start, end, label, _, line) in cuts.items():
        message = (
            f"the span [{start}, {end}, {shown(label)}] is "
            f"{shown(texts[i].text[start:end])}, which cuts a word; expected whole "
            f"words, as in {n - len(cuts)} of {n} texts: correct the offsets, or give "
            "--shift 0 to read all as they are"
        )
        faults[i] = texts[i].fault(message, line)
    return faults
