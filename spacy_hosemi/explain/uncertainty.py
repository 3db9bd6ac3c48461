"""Which documents to annotate next: those of which a trained component is least sure.

Nothing is printed here; that is done in `cli`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..component.pipe import HighOrderSemiCRF


@dataclass(frozen=True)
class Uncertain:
    """A document of a corpus.

    index (int): Its place in the corpus, from 0.
    doc (Doc): As it is there.
    n_tokens (int): n, as the pipeline sees it.
    uncertainty (float): In nats; of the whole document.
    """

    index: int
    doc: Doc
    n_tokens: int
    uncertainty: float

    @property
    def per_token(self) -> float:
        """About what an annotator finds out for the effort."""
        return self.uncertainty / max(self.n_tokens, 1)


def entropy(pipe: HighOrderSemiCRF, doc: Doc) -> float:
    """How uncertain the whole distribution over segmentations is."""
    return pipe.entropy(doc)


def least_confident(pipe: HighOrderSemiCRF, doc: Doc) -> float:
    """How improbable the most probable segmentation is: - log of its probability."""
    return 0.0 - pipe.kbest(doc, 1)[0].log_probability


MEASURES: dict[str, Callable[[HighOrderSemiCRF, Doc], float]] = {
    "entropy": entropy,
    "least-confident": least_confident,
}


def read_docs(path: str | Path, nlp: Language) -> list[Doc]:
    """RETURNS (List[Doc]): Those of a .spacy file."""
    return list(DocBin().from_disk(path).get_docs(nlp.vocab))


def measure(
    nlp: Language, pipe: HighOrderSemiCRF, docs: Iterable[Doc], by: str = "entropy"
) -> Iterator[Uncertain]:
    """How uncertain a component is of each document; annotation there is not read.

    nlp (Language): The pipeline.
    pipe (HighOrderSemiCRF): Its component, trained.
    docs (Iterable[Doc]): Documents, which stay as they are.
    by (str): One of MEASURES.
    YIELDS (Uncertain): In their order.
    """
    before = []
    for _, component in nlp.pipeline:
        if component is pipe:
            break
        before.append(component)
    for index, doc in enumerate(docs):
        plain = _without_annotation(nlp, doc)
        for component in before:  # sentence starts and tags, where they are read
            plain = component(plain)
        yield Uncertain(index, doc, len(plain), MEASURES[by](pipe, plain))


def choose(
    found: Iterable[Uncertain], n: int, is_total: bool = False
) -> list[Uncertain]:
    """The n most uncertain documents.

    found (Iterable[Uncertain]): From `measure`.
    n (int): How many; fewer if there are no more.
    is_total (bool): Compare that of whole documents, which favours long ones; else
        that per token.
    RETURNS (List[Uncertain]): The most uncertain first; equal ones in their order.
        Documents without tokens are left out.
    """
    some = [x for x in found if x.n_tokens]
    key = (lambda x: -x.uncertainty) if is_total else (lambda x: -x.per_token)
    return sorted(some, key=key)[:n]


def _without_annotation(nlp: Language, doc: Doc) -> Doc:
    """The text alone, as the pipeline would read it; as in training."""
    if doc.has_unknown_spaces:
        return Doc(nlp.vocab, words=[token.text for token in doc])
    return nlp.make_doc(doc.text)
