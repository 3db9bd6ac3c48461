"""A linear chain of Wapiti on the features of `plain_features.py`, from words to spans.

Wapiti reads windows and pairs itself, by patterns over columns that say what each word
is: what a careful user would write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from peers import Spans, parts_of, read_tags, spans_of_tags
from plain_features import WINDOW, shape
from spacy.language import Language
from spacy.training import Corpus

# Columns: the word in lower case, its shape, affixes of 1 to 4 characters, kinds.
_N_AFFIXES = 8
_AROUND = range(-WINDOW, WINDOW + 1)
PATTERNS = "\n".join(
    [
        "*",
        *(f"u:w{k}=%x[{k},0]" for k in _AROUND),
        *(f"u:x{k}=%x[{k},1]" for k in _AROUND),
        *(f"u:ww{k}=%x[{k},0]/%x[{k + 1},0]" for k in (-1, 0)),
        *(f"u:xx{k}=%x[{k},1]/%x[{k + 1},1]" for k in (-1, 0)),
        *(f"u:a{k}=%x[0,{k}]" for k in range(2, 2 + _N_AFFIXES)),
        f"u:k=%x[0,{2 + _N_AFFIXES}]",
    ]
)


@lru_cache(maxsize=100_000)
def columns(word: str) -> str:
    """What a word says by itself, as a line for Wapiti."""
    lower = word.lower()
    affixes = [lower[:k] for k in range(1, 5)] + [lower[-k:] for k in range(1, 5)]
    kinds = word.istitle(), word.isupper(), word.isdigit(), word.isalnum()
    return " ".join([lower, shape(word), *affixes, "".join("01"[x] for x in kinds)])


def fit_wapiti(nlp: Language, train: Path, path: Path, l1: float, l2: float) -> Path:
    """Train by L-BFGS on one thread. Returns Wapiti's file."""
    model = _wapiti()(
        PATTERNS, nthread=1, rho1=l1, rho2=l2, compact=True, algo="l-bfgs"
    )
    for example in Corpus(train)(nlp):
        doc = example.predicted
        for tokens, tags in parts_of(doc, read_tags(example)):
            lines = [f"{columns(doc[i].text)} {tag}" for i, tag in zip(tokens, tags)]
            model.add_training_sequence("\n".join(lines))
    model.train()
    model.save(str(path))
    return path


def open_wapiti(path: Path) -> Callable[[Sequence[str]], Spans]:
    """Returns what reads words and gives spans of words, with the cache empty."""
    columns.cache_clear()
    shape.cache_clear()
    model = _wapiti()(model=str(path), nthread=1)

    def tagged(words: Sequence[str]) -> Spans:
        found = model.label_sequence("\n".join(map(columns, words)))
        return spans_of_tags(found.decode("utf8").split())

    return tagged


def _wapiti() -> Any:
    """Returns its model."""
    try:
        from wapiti import Model
    except ImportError:
        sys.exit("Wapiti is not installed: pip install libwapiti")
    return Model
