"""Features that were written for python-crfsuite or sklearn-crfsuite.

There `word2features(sent, i)` returns the features of token i of a sentence in one of
the forms that `pycrfsuite.ItemSequence` takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from spacy.tokens import Doc, Span

from ..errors import Errors
from .functions import Feature

_SETS = (set, frozenset)
_LISTS = (list, tuple, *_SETS)


def words_and_tags(doc: Doc | Span) -> list[tuple[str, str]]:
    """Returns text and fine-grained tag of each token."""
    return [(token.text, token.tag_) for token in doc]


def from_word2features(
    word2features: Callable[[Any, int], Any],
    sentence: Callable[[Doc | Span], Any] = words_and_tags,
) -> Callable[[Doc | Span], list[list[Feature]]]:
    """A feature function, from one that was written for CRFsuite.

    word2features (Callable[[Any, int], Any]): (sent, i) -> the features of token i, as
        `pycrfsuite.ItemSequence` takes them: a list of texts, or a dict of numbers,
        booleans and texts, or again of lists, sets and dicts with names before theirs.
    sentence (Callable[[Doc], Any]): Makes the `sent` of a Doc, or of a Span that is a
        sentence; by default a list of (token.text, token.tag_).
    RETURNS (Callable[[Doc], List[List]]): For `features.functions`. Raises TypeError
        HS110 where the features of a token have another form.
    """
    return partial(_features, word2features, sentence)


def _features(
    word2features: Callable[[Any, int], Any],
    sentence: Callable[[Doc | Span], Any],
    doc: Doc | Span,
) -> list[list[Feature]]:
    sent = sentence(doc)
    features: list[list[Feature]] = [[] for _ in doc]
    for i, of_token in enumerate(features):
        _add_items(word2features(sent, i), of_token)
    return features


def _add_items(items: Any, features: list[Feature], before: str = "") -> None:
    """Add the features of a token, except those whose value is False or 0."""
    if isinstance(items, dict):
        for key, value in items.items():
            name = before + _text(key)
            if isinstance(value, (str, bytes)):
                features.append(f"{name}:{_text(value)}")
            elif isinstance(value, (dict, *_LISTS)):
                _add_items(value, features, f"{name}:")
            elif strength := _number(key, value):
                features.append(name if strength == 1.0 else (name, strength))
    elif isinstance(items, _LISTS):
        texts = [before + _text(item) for item in items]
        # Sums depend on the order, and that of a set differs between processes.
        features += sorted(texts) if isinstance(items, _SETS) else texts
    else:
        raise TypeError(Errors.HS110.format(found=repr(items)[:60]))


def _number(key: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        found = repr({key: value})[:60]
        raise TypeError(Errors.HS110.format(found=found)) from None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf8")
    raise TypeError(Errors.HS110.format(found=repr(value)[:60]))
