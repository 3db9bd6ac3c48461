"""Which documents to annotate next: those that a trained component is least sure of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..component.examples import without_annotation
from ..component.judging import components_before
from ..component.pipe import HighOrderSemiCRF
from .diversity import choose_spread, word_vectors


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
        """The uncertainty per token."""
        return self.uncertainty / max(self.n_tokens, 1)


# The entropy of the distribution over segmentations; or minus the log probability of
# the most probable one.
MEASURES: dict[str, Callable[[HighOrderSemiCRF, Doc], float]] = {
    "entropy": lambda pipe, doc: pipe.entropy(doc),
    "least-confident": lambda pipe, doc: 0.0 - pipe.kbest(doc, 1)[0].log_probability,
}


def read_docs(path: str | Path, nlp: Language) -> list[Doc]:
    """Returns the documents of a .spacy file."""
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def measure(
    nlp: Language, pipe: HighOrderSemiCRF, docs: Iterable[Doc], by: str = "entropy"
) -> Iterator[Uncertain]:
    """Yields how uncertain a component is of each document, by one of MEASURES; their
    annotation is not read, and they are not changed."""
    before = components_before(nlp, pipe)
    for index, doc in enumerate(docs):
        plain = without_annotation(doc, nlp)
        for component in before:  # sets sentence starts and tags, if features read them
            plain = component(plain)
        yield Uncertain(index, doc, len(plain), MEASURES[by](pipe, plain))


def choose(
    measured: Iterable[Uncertain],
    n: int,
    is_total: bool = False,
    is_diverse: bool = True,
) -> list[Uncertain]:
    """Returns at most n documents, the most uncertain first, equal ones in their order.
    Documents without tokens are left out.

    is_total (bool): Compare the uncertainty of whole documents, which favours long
        ones; else the uncertainty per token.
    is_diverse (bool): Multiply it by how much a document differs from those that are
        chosen already, see `choose_spread`.
    """
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
