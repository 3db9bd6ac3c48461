"""What is odd about texts: encodings, invisible characters, whitespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from unicodedata import normalize

import regex
from spacy.attrs import IS_ALPHA, LOWER, ORTH  # type: ignore[import-not-found]
from spacy.vocab import Vocab

from ..formats.texts import shown
from .corpus import CorpusPart
from .findings import Finding, fault, remark, share

# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte and what follows it; a
# tokenizer may have put them apart, but before marks that may follow a word.
_MOJIBAKE = regex.compile(
    r"[\xc2-\xc3][\x80-\xbf]|Ã[\xa0-\xbfŒœŠšŽžŸ€-™ˆ˜ƒ]|Â[\xa0-\xbf]"
    r"|Ã [\x80-\xa9\xac-\xaf\xb1-\xb9\xbc-\xbf]"
    r"|â€[\x80-\xbf\u2018-\u203a˜™œž¢]|â\x80[\x80-\xbf]|ï¬[\x80-\x86]|ï»¿"
)
_ENTITY = regex.compile(r"&(?:[a-zA-Z]{2,8}|#\d{2,6}|#x[0-9a-fA-F]{2,5});")
_CONTROL = regex.compile(r"[\p{Cc}--[\t\n\r\f\v]]", regex.V1)
_INVISIBLE = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{Cf}--[\ufe0e\ufe0f\u200c\u200d]]", regex.V1
)
_SPACES = regex.compile(r"[\p{Zs}\t]{2,}|[\p{Zs}--\x20]", regex.V1)
_LINE_END = regex.compile(r"[\n\r\v\f\u2028\u2029]")


def _searched(pattern: regex.Pattern[str]) -> Callable[[str], str | None]:
    """Returns what finds a match of a pattern, with what is around it."""

    def search(text: str) -> str | None:
        match = pattern.search(text)
        return text[max(match.start() - 15, 0) : match.end() + 15] if match else None

    return search


def _decomposed(text: str) -> str | None:
    """Finds letters and accents that could be one character each."""
    if text.isascii() or normalize("NFC", text) == text:
        return None
    match = regex.search(r"\S{0,15}\p{M}\S{0,15}", text)
    return match[0] if match else text[:30]


# Of a language, 93 to 99 % of the words have vectors; of stems or a mixture fewer.
FEW = 0.9
OF_SPACES = ("odd-spaces", "line-breaks", "outer-spaces")
CLEAN = "clean_text, the default, reads them without"
# Name, whether it is a fault, what finds it, what is said of documents with it.
CHECKS: tuple[tuple[str, bool, Callable[[str], str | None], str], ...] = (
    (
        "wrong-encoding",
        True,
        _searched(_MOJIBAKE),
        "have letters that come of reading UTF-8 as another encoding; read the source "
        "as UTF-8, or mend them with ftfy",
    ),
    (
        "lost-characters",
        True,
        _searched(regex.compile("\ufffd")),
        "have U+FFFD, which stands for a character that could not be read",
    ),
    (
        "html-entities",
        True,
        _searched(_ENTITY),
        "have HTML entities; html.unescape makes characters of them, before spans are "
        "counted",
    ),
    (
        "control-characters",
        True,
        _searched(_CONTROL),
        "have control characters; texts to come will hardly have them",
    ),
    (
        "decomposed-letters",
        False,
        _decomposed,
        f"have letters and accents apart (not NFC); {CLEAN}",
    ),
    (
        "invisible-characters",
        False,
        _searched(_INVISIBLE),
        f"have characters that nobody sees, such as soft hyphens; {CLEAN}",
    ),
    (
        "odd-spaces",
        False,
        _searched(_SPACES),
        f"have double spaces, tabs or no-break spaces; {CLEAN}",
    ),
    (
        "line-breaks",
        False,
        _searched(_LINE_END),
        "have line breaks; do the texts to come have them, too?",
    ),
    (
        "outer-spaces",
        False,
        lambda text: None if text == text.strip() else text,
        f"begin or end with whitespace; {CLEAN}",
    ),
)


def judge_vectors(parts: Iterable[CorpusPart], vocab: Vocab) -> Iterator[Finding]:
    """Yields how many words (of letters alone) have a vector."""
    words: Counter[tuple[int, int]] = Counter()
    for doc in (doc for part in parts for doc in part.docs):
        rows = doc.to_array([ORTH, LOWER, IS_ALPHA]).tolist()
        words.update((orth, lower) for orth, lower, is_word in rows if is_word)
    known, total, n, n_lower = vocab.vectors, words.total(), 0, 0
    for (orth, lower), k in words.items():
        n += k * (orth in known or lower in known)
        n_lower += k * (orth not in known and lower in known)
    text = f"{share(n, total)} words have a vector, {n_lower:,} in lower case"
    if n < FEW * total:
        text += "; are the vectors of another language, or of stems?"
    yield remark("words-with-vectors", text, n, total)


def judge_texts(part: CorpusPart) -> list[Finding]:
    """Returns what is odd about the texts of documents."""
    findings = []
    places = [x for x, text in zip(part.places, part.texts) if not text.strip()]
    if places:
        text = f"{share(len(places), len(part))} documents have no text"
        args = text, len(places), len(part), places
        findings.append(remark("empty-documents", *args))
    for name, is_fault, search, what in CHECKS:
        examples, n = [], 0
        for (place, doc), whole in zip(part, part.texts):
            # Nobody knows the spaces between given tokens.
            is_made = doc.has_unknown_spaces and name in OF_SPACES
            match = None if is_made else search(whole)
            if match is not None:
                n += 1
                examples += [f"{place}: {shown(match)}"][: n <= 5]
        if n:
            make = fault if is_fault else remark
            text = f"{share(n, len(part))} documents {what}"
            findings.append(make(name, text, n, len(part), examples))
    return findings
