"""Tables of the package spacy-lookups-data: clusters, frequency and case of words.

A trained model stores the rows and does not need the package.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

from spacy.util import load_language_data, registry

from ..errors import Errors
from ..values import choice, read

NAMES = ("cluster", "frequency", "case")

# The borders between the classes of the shares of a word's occurrences.
SHARES = (0.02, 0.1, 0.3, 0.7, 0.95)

Rows = Iterator[tuple[str, str]]


def make_lookups_reader(
    name: str = "cluster", lang: str = "en"
) -> Callable[[], Iterator[tuple[str, str]]]:
    """A reader of a table of spacy-lookups-data; it opens the table when it is called.

    name (str): "cluster": the path from the root of a tree to the word's Brown cluster
        (Brown et al. 1992), a string of 0 and 1, whose prefixes are larger clusters.
        "frequency": minus the logarithm of the word's probability, rounded down.
        "case": for a lower-case word of letters three digits: how often it is written
        in lower case, with a capital, and in capitals, from 0 for hardly ever to 5 for
        nearly always.
    lang (str): A language that has the table: "de", "en", "es", and "el" without
        clusters.
    RETURNS (Callable[[], Iterator[Tuple[str, str]]]): Yields words and their values,
        frequent words first. Raises HS123 (ValueError) if no installed package has the
        table.
    RAISES (ValueError): HS077 unknown name.
    """
    read("name", choice(NAMES), name, Errors.HS077)
    reader = {"cluster": _clusters, "frequency": _frequencies, "case": _cases}[name]
    return partial(reader, lang)


def _clusters(lang: str) -> Rows:
    """The numbers are paths from the root, with the first step in the lowest bit."""
    clusters = _load(lang, "lexeme_cluster")
    width = max(clusters.values(), default=0).bit_length()
    has_probs = "lexeme_prob" in registry.lookups.get(lang)
    probs = _load(lang, "lexeme_prob") if has_probs else {}
    by_rank = sorted(clusters, key=lambda x: probs.get(x, -math.inf), reverse=True)
    for word in by_rank:
        if clusters[word]:
            yield word, f"{clusters[word]:b}"[::-1].ljust(width, "0")


def _frequencies(lang: str) -> Rows:
    for word, log_prob in _counted(lang):
        yield word, str(int(-log_prob))


def _cases(lang: str) -> Rows:
    totals: dict[str, list[float]] = {}
    for word, log_prob in _counted(lang):
        key = word.lower()
        if key.isalpha():
            forms = key, key.title(), key.upper(), word
            total = totals.setdefault(key, [0.0] * len(forms))
            total[forms.index(word)] += math.exp(log_prob)
    for key, total in totals.items():
        shares = (x / sum(total) for x in total[:3])
        yield key, "".join(str(bisect(SHARES, share)) for share in shares)


def _counted(lang: str) -> Iterator[tuple[str, float]]:
    """Words with log probabilities, without unseen words, which have the least."""
    probs = _load(lang, "lexeme_prob")
    least = min(probs.values(), default=0.0)
    for word in sorted(probs, key=probs.__getitem__, reverse=True):
        if probs[word] > least:
            yield word, probs[word]


def _load(lang: str, table: str) -> dict[str, Any]:
    """A table of a language; HS123 if no installed package has it."""
    of_lang = registry.lookups.get_all()
    having = sorted(x for x, tables in of_lang.items() if table in tables)
    if lang not in having:
        raise ValueError(Errors.HS123.format(lang=lang, table=table, expected=having))
    return cast("dict[str, Any]", load_language_data(of_lang[lang][table]))
