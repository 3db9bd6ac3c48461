"""Models that have not seen some training documents, to judge these by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..component.pipe import HighOrderSemiCRF
from ..inspection.corpus import as_examples, labels_in
from ..inspection.pipelines import train

TrainedFold = tuple[HighOrderSemiCRF, list[int], list[Example]]


def cross_fitted(
    nlp: Language,
    name: str,
    docs: Sequence[Doc],
    numbers: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Iterator[TrainedFold]:
    """Yields for each fold of documents with gold a component that was trained on the
    others, the places of the documents of the fold, and these with their gold. Raises
    KeyboardInterrupt at the first Ctrl-C, and ValueError HS254 if the config does not
    fit by L-BFGS.

    Where the config says l2 = "auto", the default penalty is taken; lengths are limited
    by the longest span of all documents; and words are read as they stand
    (clean_text = false), so that spans are in tokens of the documents.

    nlp (Language), name (str): The pipeline whose config says how to train, and the
        component.
    numbers (Sequence[int]): The fold of each document.
    """
    labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
    config = nlp.config.interpolate()
    component = config["components"][name]
    component["clean_text"] = False
    if component.get("max_length") is None:
        component["max_length"] = _longest(as_examples(docs, nlp))
    for fold in progress(sorted({*numbers})):
        rest = [doc for doc, number in zip(docs, numbers) if number != fold]
        trained = train(config, name, rest, labels=labels)
        places = [k for k, number in enumerate(numbers) if number == fold]
        pipe: Any = trained.get_pipe(name)
        yield pipe, places, as_examples([docs[k] for k in places], trained)


def _longest(examples: Sequence[Example]) -> int:
    """Returns the tokens of the longest span."""
    spans = [span for labels in labels_in(examples) for span in labels.required]
    return max((end - start for start, end, _ in spans), default=1)
