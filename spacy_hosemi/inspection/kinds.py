"""Measures what texts a corpus has, and chooses the kind of `hosemi init` that fits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]

from ..configs import make_config
from .corpus import CorpusPart, in_spans
from .label_counts import LabelCount
from .label_order import LabelOrder

# Letters of scripts without spaces, from which share on tokens are characters.
UNSPACED = 0.3
# Fields cover at least the share DENSE of the tokens, names in text at most SPARSE.
DENSE, SPARSE = 0.5, 0.25
# Requests have at most SHORT tokens and at least MANY_LABELS labels; a text has at most
# the share FEW_OF_LABELS of these, and spans cover at most NOT_DENSE of the tokens.
SHORT, MANY_LABELS, FEW_OF_LABELS, NOT_DENSE = 20, 10, 0.1, 0.75
# Labels before tell nothing worth a pattern below this share of the entropy.
LEAST_TOLD = 0.15

# Words of labels that belong to a kind of text. A kind needs labels of three of them.
LABEL_WORDS = {
    "references": "author title journal booktitle container date year volume pages page"
    " publisher editor issue doi conference publication note tech institution bibl",
    "affiliations": "department laboratory institution settlement country region labs"
    " orgname postcode university address postbox addrline",
    "addresses": "street streetname addressnumber housenumber road city placename unit"
    " statename postcode zipcode zip suburb occupancy house state",
}
N_WORDS = 3


# Written without spaces between words, or with a letter that is a word.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")
_LETTER = regex.compile(r"\p{L}")
# A sentence ends, and another one begins.
_SENTENCE_END = regex.compile(r"\p{Ll}{3}\s?[.!?]['\"”)]?\s+\p{Lu}\p{Ll}|[。！？]\S")
# Documents that are looked at; more change nothing.
MAX_DOCUMENTS = 3_000


@dataclass(frozen=True)
class Profile:
    """What kind of texts there are."""

    median_tokens: int  # of documents, without whitespace
    most_tokens: int
    spans_per_document: float
    density: float  # the share of tokens that are in spans
    labels_per_document: float  # of all labels, the mean share of documents with spans
    unspaced: float  # the share of letters of scripts without spaces between words
    several_sentences: float  # the share of documents that end after another sentence


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


@dataclass(frozen=True)
class Fit:
    """The config that fits."""

    kind: str  # for `hosemi init --for`
    # What the order of labels alone asks for; that of the config may have a higher F1.
    max_order: int
    reasons: list[str]  # why, a sentence each


def choose_kind(
    labels: Iterable[LabelCount], profile: Profile, order: LabelOrder | None
) -> Fit:
    """Returns the config that fits what was measured."""
    names = [x.label for x in labels if x.n]
    kind, why = _kind(names, profile)
    max_order, reason = _max_order(names, order)
    of_config = _order_of_config(kind)
    if order is not None and max_order != of_config:
        reason += f"; that config has {of_config}, so try both: dev decides"
    return Fit(kind, max_order, [*why, reason])


def _order_of_config(kind: str) -> int:
    """Returns the max_order of what init writes."""
    return int(re.findall(r"^max_order = (\d+)$", make_config(kind), re.M)[0])


def _kind(labels: list[str], profile: Profile) -> tuple[str, list[str]]:
    dense = f"{100 * profile.density:.0f} % of tokens are in spans"
    if profile.unspaced >= UNSPACED:
        share = 100 * profile.unspaced
        which = "of scripts without spaces between words"
        return "characters", [f"{share:.0f} % of letters are {which}"]
    if (
        SPARSE <= profile.density < NOT_DENSE
        and profile.median_tokens <= SHORT
        and len(labels) >= MANY_LABELS
        and profile.labels_per_document <= FEW_OF_LABELS
    ):
        share = 100 * profile.labels_per_document
        few = f"documents are short, and have {share:.0f} % of the labels each"
        return "requests", [dense, few]
    if profile.density >= DENSE:
        matching = {kind: _matching(labels, kind) for kind in LABEL_WORDS}
        kind = max(matching, key=lambda kind: len(matching[kind]))
        if len(matching[kind]) >= N_WORDS:
            shown = ", ".join(matching[kind][:4])
            return kind, [dense, f"labels such as {shown}"]
        return "fields", [dense]
    why = [dense, f"{profile.spans_per_document:.1f} spans for each document"]
    if profile.several_sentences > 0.1:
        share = 100 * profile.several_sentences
        why.append(f"{share:.0f} % of documents have several sentences")
    return "names", why


def _matching(labels: list[str], kind: str) -> list[str]:
    """Returns a label for each word of LABEL_WORDS[kind] that is in a label."""
    wanted = {*LABEL_WORDS[kind].split()}
    by_word: dict[str, str] = {}
    for label in labels:
        parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", label)
        for word in [*re.findall(r"[a-z]+", parts.lower()), label.lower()]:
            if word in wanted:
                by_word.setdefault(word, label)
    return [*dict.fromkeys(by_word.values())]


def _max_order(labels: list[str], order: LabelOrder | None) -> tuple[int, str]:
    if order is None:
        return 1, "there are too few documents to see how much labels before tell"
    if len(labels) == 1:
        return 1, "max_order 1: there is one label"
    told = f"take {100 * order.told:.0f} % of the entropy of a label"
    if order.told < LEAST_TOLD:
        return 1, f"max_order = 1: the labels before {told}, too little for patterns"
    best = max(order.order, 1)
    if best == 1:
        return 1, f"max_order = 1: the label before {told.replace('take', 'takes')}"
    before = f"the last {best} labels (O for gaps between spans among them)"
    return best, f"max_order = {best}: {before} {told}"
