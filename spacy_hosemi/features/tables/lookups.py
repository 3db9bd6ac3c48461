"""Tables that spacy-lookups-data has: clusters of words, how frequent they are, and how
they are written.

The package is not needed once a model is trained: rows are stored in the model.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

from spacy.util import load_language_data, registry

from ...errors import Errors

NAMES = ("cluster", "frequency", "case")

# Borders between shares of a word's occurrences that are told apart.
SHARES = (0.02, 0.1, 0.3, 0.7, 0.95)

Rows = Iterator[tuple[str, str]]


def make_lookups_reader(
    name: str = "cluster", lang: str = "en"
) -> Callable[[], Iterator[tuple[str, str]]]:
    """Prepare to read a table of spacy-lookups-data. Nothing is opened before rows are
    asked for.

    name (str): Which table. "cluster": the path from the root of a tree to the word's
        Brown cluster (Brown et al. 1992), a string of 0 and 1, whose prefixes are
        larger clusters. "frequency": minus the logarithm of its probability, rounded
        down. "case": for a word of letters, in lower case, three digits: how often it
        is written so, with a capital, and in capitals, from 0 for hardly ever to 5 for
        nearly always.
    lang (str): A language that has the table: "de", "en", "es", and "el" without
        clusters.
    RETURNS (Callable[[], Iterator[Tuple[str, str]]]): Called without arguments, yields
        words and their values, frequent words first. Raises HS123 (ValueError) if no
        installed package has the table.
    RAISES (ValueError): HS077 unknown name.
    """
    if name not in NAMES:
        raise ValueError(Errors.HS077.format(name="name", found=name, expected=NAMES))
    reader = {"cluster": _clusters, "frequency": _frequencies, "case": _cases}[name]
    return partial(reader, lang)


def _clusters(lang: str) -> Rows:
    """The numbers are paths from the root, with the first step in the lowest bit."""
    clusters = _load(lang, "lexeme_cluster")
    width = max(clusters.values(), default=0).bit_length()
    for word in sorted(clusters, key=_rank(lang), reverse=True):
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
    """Words with the logarithm of their probability, without words that were not seen,
    which all have the least one."""
    probs = _load(lang, "lexeme_prob")
    least = min(probs.values(), default=0.0)
    for word in sorted(probs, key=probs.__getitem__, reverse=True):
        if probs[word] > least:
            yield word, probs[word]


def _rank(lang: str) -> Callable[[str], float]:
    """RETURNS (Callable): Word -> the logarithm of its probability, or -inf."""
    known = registry.lookups.get(lang)
    probs = _load(lang, "lexeme_prob") if "lexeme_prob" in known else {}
    return lambda word: probs.get(word, -math.inf)


def _load(lang: str, table: str) -> dict[str, Any]:
    """RAISES (ValueError): HS123 no installed package has the table."""
    of_lang = registry.lookups.get_all()
    having = sorted(x for x, tables in of_lang.items() if table in tables)
    if lang not in having:
        raise ValueError(Errors.HS123.format(lang=lang, table=table, expected=having))
    return cast("dict[str, Any]", load_language_data(of_lang[lang][table]))
