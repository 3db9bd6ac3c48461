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
from .findings import Finding, remark, share

# UTF-8 that was read as Latin-1 or Windows-1252: a lead byte and what follows it; a
# tokenizer may have put them apart, but before marks that may follow a word.
_MOJIBAKE = regex.compile(
    r"[\xc2-\xc3][\x80-\xbf]|Ã[\xa0-\xbfŒœŠšŽžŸ€-™ˆ˜ƒ]|Â[\xa0-\xbf]"
    r"|Ã [\x80-\xa9\xac-\xaf\xb1-\xb9\xbc-\xbf]"
    r"|â€[\x80-\xbf\u2018-\u203a˜™œž¢]|â\x80[\x80-\xbf]|ï¬[\x80-\x86]|ï»¿"
)
_INVISIBLE = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{Cf}--[\ufe0e\ufe0f\u200c\u200d]]", regex.V1
)
_SPACES = regex.compile(r"[\p{Zs}\t]{2,}|[\p{Zs}--\x20]", regex.V1)


def _decomposed(text: str) -> str | None:
    """Finds letters and accents that could be one character each."""
    if text.isascii() or normalize("NFC", text) == text:
        return None
    match = regex.search(r"\S{0,15}\p{M}\S{0,15}", text)
    return match[0] if match else text[:30]


# Of a language, 93 to 99 % of the words have vectors; of stems or a mixture fewer.
FEW = 0.9
OF_SPACES = ("odd-spaces", "line-breaks", "outer-spaces")
# By name: what finds it in a text, and what is said of documents with it.
Checks = dict[str, tuple[regex.Pattern[str] | Callable[[str], str | None], str]]
FAULTS: Checks = {
    "wrong-encoding": (
        _MOJIBAKE,
        "have letters that come of reading UTF-8 as another encoding; read the source "
        "as UTF-8, or mend them with ftfy",
    ),
    "lost-characters": (
        regex.compile("\ufffd"),
        "have U+FFFD, which stands for a character that could not be read",
    ),
    "html-entities": (
        regex.compile(r"&(?:[a-zA-Z]{2,8}|#\d{2,6}|#x[0-9a-fA-F]{2,5});"),
        "have HTML entities; html.unescape makes characters of them, before spans are "
        "counted",
    ),
    "control-characters": (
        regex.compile(r"[\p{Cc}--[\t\n\r\f\v]]", regex.V1),
        "have control characters; texts to come will hardly have them",
    ),
}
_CLEAN = "clean_text, the default, reads them without"
REMARKS: Checks = {
    "decomposed-letters": (
        _decomposed,
        f"have letters and accents apart (not NFC); {_CLEAN}",
    ),
    "invisible-characters": (
        _INVISIBLE,
        f"have characters that nobody sees, such as soft hyphens; {_CLEAN}",
    ),
    "odd-spaces": (_SPACES, f"have double spaces, tabs or no-break spaces; {_CLEAN}"),
    "line-breaks": (
        regex.compile(r"[\n\r\v\f\u2028\u2029]"),
        "have line breaks; do the texts to come have them, too?",
    ),
    "outer-spaces": (
        lambda text: None if text == text.strip() else text,
        f"begin or end with whitespace; {_CLEAN}",
    ),
}


def judge_vectors(parts: Iterable[CorpusPart], vocab: Vocab) -> Iterator[Finding]:
    """Yields how many words (of letters alone) have a vector."""
    words: Counter[tuple[int, int]] = Counter()
    for doc in (doc for part in parts for doc in part.docs):
        rows = doc.to_array([ORTH, LOWER, IS_ALPHA]).tolist()
        words.update((orth, lower) for orth, lower, is_word in rows if is_word)
    vectors, total, n, n_lower = vocab.vectors, words.total(), 0, 0
    for (orth, lower), k in words.items():
        n += k * (orth in vectors or lower in vectors)
        n_lower += k * (orth not in vectors and lower in vectors)
    text = f"{share(n, total)} words have a vector, {n_lower:,} in lower case"
    if n < FEW * total:
        text += "; are the vectors of another language, or of stems?"
    yield Finding("words-with-vectors", False, text, n, total)


def judge_texts(part: CorpusPart) -> Iterator[Finding]:
    """Yields what is odd about the texts of documents."""
    places = [x for x, text in zip(part.places, part.texts) if not text.strip()]
    what = "{share} documents have no text"
    yield from remark("empty-documents", what, len(part), places)
    for name, (search, what) in {**FAULTS, **REMARKS}.items():
        examples = []
        for (place, doc), text in zip(part, part.texts):
            # Nobody knows the spaces between given tokens.
            is_made = doc.has_unknown_spaces and name in OF_SPACES
            match = None if is_made else _find(search, text)
            if match is not None:
                examples.append(f"{place}: {shown(match)}")
        what, is_fault = f"{{share}} documents {what}", name in FAULTS
        yield from remark(name, what, len(part), examples, is_fault=is_fault)


def _find(
    search: regex.Pattern[str] | Callable[[str], str | None], text: str
) -> str | None:
    """Returns what is found, of a pattern with what is around it."""
    if not isinstance(search, regex.Pattern):
        return search(text)
    match = search.search(text)
    return text[max(match.start() - 15, 0) : match.end() + 15] if match else None
