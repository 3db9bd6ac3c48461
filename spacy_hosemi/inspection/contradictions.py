"""Finds equal texts with other labels, and documents that are there twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations

from spacy.attrs import ENT_IOB  # type: ignore[import-not-found]
from spacy.tokens import Doc, Span

from ..formats.texts import shown
from .corpus import CorpusPart, in_spans, squeezed
from .findings import Finding, count, fault, remark

# A text has been annotated with a label for sure if that was done so often.
LEAST = 2
# Texts of spans that are looked for outside of spans: so long at most, and annotated so
# often at least, and more often than not.
MAX_WORDS, OFTEN = 8, 3
# A label with fewer letters is hardly the begin of another one.
LEAST_LETTERS = 3
# The first of the scripts in which one letter is a word.
FIRST_HAN = "\u2e80"

Words = tuple[str, ...]


def judge_contradictions(part: CorpusPart) -> list[Finding]:
    """Returns spans, and documents, that say something else than equal ones."""
    return [*_other_labels(part), *_left_out(part), *_other_documents(part)]


def _other_labels(part: CorpusPart) -> Iterator[Finding]:
    """Yields texts of spans with two labels; no numbers, which may be anything."""
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, Span] = {}
    keys: dict[str, str] = {}
    for doc in part.docs:
        for ent in doc.ents:
            text = ent.text
            key = keys.get(text) or keys.setdefault(text, squeezed(text))
            labels[key][ent.label_] += 1
            first.setdefault(key, ent)
    frequent = {
        key: Counter({y: n for y, n in of_text.items() if n >= LEAST})
        for key, of_text in labels.items()
    }
    texts = {key: x for key, x in frequent.items() if len(x) > 1}
    yield from _abbreviated(texts)
    texts = {
        key: of_text
        for key, of_text in texts.items()
        if any(_is_name(token.text) for token in first[key])
    }
    n = {key: x.total() - x.most_common(1)[0][1] for key, x in texts.items()}
    examples = [
        f"{shown(first[key].text)}: "
        + ", ".join(f"{label} {times}" for label, times in texts[key].most_common(4))
        for key in sorted(n, key=lambda key: (-n[key], key))
    ]
    text = (
        f"{count(len(n), 'text')} of spans have two labels or more, each at least "
        f"{LEAST} times; {{share}} spans have a less frequent label of their text. "
        "Only the context can tell them apart; is it meant?"
    )
    yield from remark("other-labels", text, part.n_spans, examples, sum(n.values()))


def _abbreviated(texts: dict[str, Counter[str]]) -> Iterator[Finding]:
    """Yields labels such as vol and volume that have texts of spans in common."""
    pairs = Counter(
        pair
        for of_text in texts.values()
        for pair in combinations(sorted(of_text), 2)
        if _is_short(*pair)
    )
    examples = [
        f"{shown(short)} and {shown(long)}: {count(n, 'text')}"
        for (short, long), n in pairs.most_common()
    ]
    text = (
        f"{count(len(pairs), 'pair')} of labels look like one label with two names, "
        "and have texts of spans in common"
    )
    yield from remark("labels-near", text, len(pairs), examples)


def _is_short(short: str, long: str) -> bool:
    """Returns whether a label is another one less its last letters."""
    of_word = re.search(r"[^\W\d_]*$", short)
    is_begin = long.startswith(short) and long[len(short) :].isalpha()
    n = len(of_word[0]) if of_word else 0
    return is_begin and n >= LEAST_LETTERS and long[len(short)].islower()


def _left_out(part: CorpusPart) -> Iterator[Finding]:
    """Yields texts that are spans more often than not, and elsewhere in no span."""
    ents = (ent for doc in part.docs for ent in doc.ents)
    inside = Counter(tuple(x.text for x in ent if not x.is_space) for ent in ents)
    frequent = {
        words: n
        for words, n in inside.items()
        if n >= OFTEN and len(words) <= MAX_WORDS and any(map(_is_word, words))
    }
    by_first: dict[str, list[Words]] = defaultdict(list)
    for words in sorted(frequent, key=len, reverse=True):
        by_first[words[0]].append(words)
    outside: dict[Words, list[str]] = defaultdict(list)
    for place, doc in part:
        for words in _outside(doc, by_first):
            outside[words].append(place)
    rare = {x: where for x, where in outside.items() if len(where) < frequent[x]}
    n = sum(map(len, rare.values()))
    examples = [
        f"{shown(' '.join(x))}: {frequent[x]} times a span, {len(rare[x])} not, as "
        f"in {rare[x][0]}"
        for x in sorted(rare, key=lambda x: (len(rare[x]) / frequent[x], x))
    ]
    text = (
        f"{count(n, 'time')} a text is in no span that is a span {OFTEN} times or "
        f"more, and more often than not ({count(len(rare), 'text')}): were they "
        "forgotten?"
    )
    yield from remark("left-out", text, part.n_spans, examples, n)


def _is_name(text: str) -> bool:
    """Returns whether a token is a word, maybe a Chinese letter, no Roman number."""
    is_word = _is_word(text) or (text.isalpha() and text >= FIRST_HAN)
    return is_word and re.fullmatch("(?i)[ivxl]+[.,]?", text) is None


def _is_word(text: str) -> bool:
    """Returns whether a token may be a name: digits and punctuation are anything."""
    return len(text) > 1 and text[0].isalpha()


def _outside(doc: Doc, wanted: dict[str, list[Words]]) -> Iterator[Words]:
    """Yields texts of spans that stand outside of spans. `wanted`: by first word."""
    words = [token.text for token in doc]
    is_free = ~in_spans(doc) & (doc.to_array(ENT_IOB) != 0)  # 0: nobody knows
    at = 0
    while at < len(words):
        for text in wanted.get(words[at], ()) if is_free[at] else ():
            end = at + len(text)
            if tuple(words[at:end]) == text and is_free[at:end].all():
                yield text
                at = end - 1
                break
        at += 1


def _other_documents(part: CorpusPart) -> Iterator[Finding]:
    """Yields documents with the same text and other spans, all tokens annotated."""
    seen: dict[str, tuple[str, set[tuple[int, int, str]]]] = {}
    different = []
    for (place, doc), whole in zip(part, part.texts):
        if (doc.to_array(ENT_IOB) == 0).any():  # some tokens may be in a span
            continue
        spans = {(x.start_char, x.end_char, x.label_) for x in doc.ents}
        first = seen.setdefault(whole, (place, spans))
        if first[1] != spans:
            text = _difference(whole, first[1], spans)
            different.append(f"{first[0]} and {place}: {text}")
    text = (
        "{share} documents have the same text as an earlier one, and other spans: one "
        "of the two is wrong"
    )
    yield from fault("other-documents", text, len(part), different)


def _difference(
    whole: str, first: set[tuple[int, int, str]], second: set[tuple[int, int, str]]
) -> str:
    """Returns the first span that one of two annotations lacks."""
    start, end, label = min(first ^ second)
    text = shown(whole[start:end])
    other = {x[:2]: x[2] for x in first}.get((start, end))
    new = {x[:2]: x[2] for x in second}.get((start, end))
    if other and new:
        return f"{text} is {other} in the first, {new} in the second"
    return f"{text} is {label} in the {'first' if other else 'second'} alone"


def judge_duplicates(train: CorpusPart, dev: CorpusPart | None) -> Iterator[Finding]:
    """Yields documents that occur twice in train; those of dev that are in train,
    exactly or but for case, spaces and punctuation. Those without a span, such as
    headings and page numbers, tell nothing that a model could remember."""
    places: dict[str, list[str]] = defaultdict(list)
    for (place, doc), text in zip(train, train.texts):
        if doc.ents:
            places[text].append(place)
    twice = {text: where for text, where in places.items() if len(where) > 1}
    n = sum(len(where) - 1 for where in twice.values())
    examples = [
        f"{len(twice[text]):,} times: {shown(text)} ({', '.join(twice[text][:2])})"
        for text in sorted(twice, key=lambda text: -len(twice[text]))
    ]
    text = (
        "{share} documents are in train already: they count more than others. Where a "
        "part of train is held out, keep equal ones together"
    )
    yield from remark("twice-in-train", text, len(train), examples, n)
    if dev is None:
        return
    exact: dict[str, str] = {}
    similar: dict[str, str] = {}
    for place, whole, key in zip(train.places, train.texts, train.keys):
        exact.setdefault(whole, place)
        similar.setdefault(key, place)
    same: list[str] = []
    alike: list[str] = []
    for (place, doc), whole, key in zip(dev, dev.texts, dev.keys):
        if not doc.ents:
            continue
        where = exact.get(whole) or similar.get(key)
        if where is not None:
            copies = same if whole in exact else alike
            copies.append(f"{where} and {place}: {shown(whole)}")
    exactly = f"{len(same):,} exactly, {len(alike):,} but for case and punctuation"
    text = (
        f"{{share}} documents of dev are in train ({exactly}): the score says how well "
        "they are remembered. `convert --dev --group` keeps them apart"
    )
    yield from fault("in-train-and-dev", text, len(dev), [*same, *alike])
