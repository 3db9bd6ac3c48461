"""Chooses what to annotate next: documents that a component is least sure about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from spacy.attrs import LOWER, SHAPE  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Floats
from ..component.examples import without_annotation
from ..component.judging import annotate_before
from ..component.pipe import HighOrderSemiCRF

# Documents closer than this are the same but for rounding.
_SAME = 1e-9


@dataclass(frozen=True)
class Uncertain:
    """A document of a corpus, its place there from 0, the number of tokens that the
    pipeline makes of its text, and the uncertainty of all of it, in nats."""

    index: int
    doc: Doc
    n_tokens: int
    uncertainty: float

    @property
    def per_token(self) -> float:
        """Returns the uncertainty per token."""
        return self.uncertainty / max(self.n_tokens, 1)


# Of the distribution over segmentations; of the most probable one, - log probability.
MEASURES: dict[str, Callable[[HighOrderSemiCRF, Doc], float]] = {
    "entropy": lambda pipe, doc: pipe.entropy(doc),
    "least-confident": lambda pipe, doc: 0.0 - pipe.kbest(doc, 1)[0].log_probability,
}


def measure(
    nlp: Language, pipe: HighOrderSemiCRF, docs: Iterable[Doc], by: str = "entropy"
) -> Iterator[Uncertain]:
    """Yields how uncertain a component is of each document, by one of MEASURES; their
    annotation is not read, and they are not changed."""
    for index, doc in enumerate(docs):
        # Features may read sentence starts and tags.
        plain = annotate_before(nlp, pipe, without_annotation(doc, nlp))
        yield Uncertain(index, doc, len(plain), MEASURES[by](pipe, plain))


def choose(
    measured: Iterable[Uncertain],
    n: int,
    is_total: bool = False,
    is_diverse: bool = True,
) -> list[Uncertain]:
    """Returns at most n documents, the most uncertain first, equal ones in their order;
    those without tokens are left out. The uncertainty is that per token, or that of
    whole documents, which favours long ones; if chosen documents shall be diverse, it
    is multiplied by how much each differs from those before, see `choose_spread`."""
    docs = [x for x in measured if x.n_tokens]
    if not docs:
        return []
    values = [x.uncertainty if is_total else x.per_token for x in docs]
    worth = np.maximum(values, 0.0)  # an entropy of 0 may be -1e-16
    if is_diverse:
        places = choose_spread(worth, word_vectors([x.doc for x in docs]), n)
    else:
        places = np.argsort(-worth, kind="stable")[:n].tolist()
    return [docs[k] for k in places]


def word_vectors(docs: Sequence[Doc]) -> csr_array:
    """Returns a row of length 1 for each of D documents that have tokens, float64 [D,
    W]: its words in lower case and the shapes of its words, each of them once, weighted
    by log(1 + D / number of documents that have it)."""
    words = [np.unique(doc.to_array([LOWER, SHAPE])) for doc in docs]
    sizes = [len(of_doc) for of_doc in words]
    keys, columns, n_docs = np.unique(
        np.concatenate(words), return_inverse=True, return_counts=True
    )
    rows = np.repeat(np.arange(len(docs)), sizes)
    weights = np.log1p(len(docs) / n_docs)[columns]
    lengths = np.sqrt(np.bincount(rows, weights**2))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shape = len(docs), len(keys)
    return csr_array((weights / lengths[rows], columns, starts), shape=shape)


def choose_spread(worth: Floats, vectors: csr_array, n: int) -> list[int]:
    """Chooses at most n documents, one after the other that with the highest worth x (1
    - its cosine with the most similar one that is chosen already). Returns their places
    in this order; equal ones come by worth, then in their order. `worth`, float64 [D],
    is not negative; nor are `vectors`, float64 [D, W], whose rows have length 1."""
    order = np.argsort(-worth, kind="stable")
    worth, vectors = worth[order], vectors[order]
    distance = np.ones(len(order))  # from the most similar one, 0 to 1
    is_free = np.ones(len(order), bool)
    places = []
    for _ in range(min(n, len(order))):
        k = int(np.argmax(np.where(is_free, worth * distance, -1.0)))
        places.append(int(order[k]))
        is_free[k] = False
        np.minimum(distance, 1.0 - vectors @ vectors[[k]].toarray()[0], out=distance)
        distance[distance < _SAME] = 0.0
    return places
