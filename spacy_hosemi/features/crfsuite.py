"""Features that were written for python-crfsuite or sklearn-crfsuite.

There `word2features(sent, i)` returns the features of token i of a sentence in one of
the forms that `pycrfsuite.ItemSequence` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from functools import partial
from typing import Any

from spacy.tokens import Doc, Span


def words_and_tags(doc: Doc | Span) -> list[tuple[str, str]]:
    """Returns text and fine-grained tag of each token."""
    return [(token.text, token.tag_) for token in doc]


def from_word2features(
    word2features: Callable[[Any, int], Any],
    sentence: Callable[[Doc | Span], Any] = words_and_tags,
) -> Callable[[Doc | Span], list[Any]]:
    """A feature function, from one that was written for CRFsuite.

    word2features (Callable[[Any, int], Any]): (sent, i) -> the features of token i, as
        `pycrfsuite.ItemSequence` takes them: a list of texts, or a dict of numbers,
        booleans and texts, or again of lists, sets and dicts with names before theirs.
    sentence (Callable[[Doc], Any]): Makes the `sent` of a Doc, or of a Span that is a
        sentence; by default a list of (token.text, token.tag_).
    RETURNS (Callable[[Doc], List]): For `features.functions`, the features of each
        token. Reading them raises TypeError HS108 or HS110 where they have another
        form, ValueError HS387 with the token where word2features raises an error, or
        if `sentence` returns more or fewer items than there are tokens.
    """
    return partial(_features, word2features, sentence)


def _features(
    word2features: Callable[[Any, int], Any],
    sentence: Callable[[Doc | Span], Any],
    doc: Doc | Span,
) -> list[Any]:
    i, n, by_token = -1, len(doc), list[Any]()
    try:
        sent = sentence(doc)
        if isinstance(sent, Sized) and not isinstance(sent, Mapping) and len(sent) != n:
            raise ValueError(f"{len(sent)} items for {n} tokens")
        for i in range(n):
            by_token.append(word2features(sent, i))
    except Exception as error:
        where = f"at token {i}, {doc[i].text!r}" if i >= 0 else "in its `sentence`"
        error.where_in_sentence = f" {where},"  # type: ignore[attr-defined]
        raise
    return by_token
