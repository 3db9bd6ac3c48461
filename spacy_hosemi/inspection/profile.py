"""What kind of texts a corpus has, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import regex
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]

from .corpus import CorpusPart, in_spans

# Written without spaces between words, or with a letter that is a word.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")
_LETTER = regex.compile(r"\p{L}")
# A sentence ends, and another one begins.
_SENTENCE_END = regex.compile(r"\p{Ll}{3}\s?[.!?]['\"”)]?\s+\p{Lu}\p{Ll}|[。！？]\S")
# Documents that are looked at; more change nothing.
MAX_DOCUMENTS = 3_000


@dataclass(frozen=True)
class Profile:
    """What kind of texts there are.

    median_tokens, most_tokens (int): Tokens of documents, without whitespace.
    density (float): The share of tokens that are in spans.
    labels_per_document (float): The mean share of all labels that a document with spans
        has.
    unspaced (float): The share of letters of scripts without spaces between words.
    several_sentences (float): The share of documents in which a sentence ends before
        the end.
    """

    median_tokens: int
    most_tokens: int
    spans_per_document: float
    density: float
    labels_per_document: float
    unspaced: float
    several_sentences: float


def measure_profile(part: CorpusPart) -> Profile:
    """Measures a corpus with at least one token."""
    docs = part.docs[:: max(1, len(part) // MAX_DOCUMENTS)]
    are_words = [doc.to_array(IS_SPACE) == 0 for doc in docs]
    sizes = np.array([int(x.sum()) for x in are_words])
    texts = [doc.text for doc in docs]
    letters = "".join(_LETTER.findall("\n".join(texts)))
    inside = sum(
        int((in_spans(x) & is_word).sum()) for x, is_word in zip(docs, are_words)
    )
    labels = [{ent.label_ for ent in doc.ents} for doc in docs if doc.ents]
    n_labels = len(set().union(*labels)) if labels else 1
    return Profile(
        int(np.median(sizes)),
        int(sizes.max()),
        sum(len(doc.ents) for doc in docs) / len(docs),
        inside / max(int(sizes.sum()), 1),
        sum(map(len, labels)) / max(len(labels), 1) / n_labels,
        len(_UNSPACED.findall(letters)) / max(len(letters), 1),
        sum(bool(_SENTENCE_END.search(text)) for text in texts) / len(texts),
    )
