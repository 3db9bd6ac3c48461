"""Models that have not seen some training documents, to judge these by."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, registry
from thinc.api import Config

from ..component.penalty_search import DEFAULT
from ..component.pipe import HighOrderSemiCRF
from ..inspection.corpus import as_examples, labels_in
from ..inspection.rehearsal import settings_of, to_the_end

Part = tuple[HighOrderSemiCRF, list[int], list[Example]]


def cross_fitted(
    nlp: Language,
    name: str,
    docs: Sequence[Doc],
    numbers: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Iterator[Part]:
    """For each fold of some documents a component that was trained on the others.

    Where the config says l2 = "auto", the default penalty is taken; lengths are limited
    by the longest span of all documents; and words are read as they stand
    (clean_text = false), so that spans are in tokens of the documents.

    nlp (Language), name (str): The pipeline whose config says how to train, and the
        component.
    docs (Sequence[Doc]): With gold, see `inspection.corpus.trainable`.
    numbers (Sequence[int]): The fold of each.
    progress (Callable): Called with the folds, yields them.
    YIELDS (Tuple[HighOrderSemiCRF, List[int], List[Example]]): The component, the
        places of the documents of its fold, and these documents with their gold.
    RAISES (ValueError): HS254 the config does not fit by L-BFGS.
    """
    block = settings_of(nlp, name)
    block.pop("dev", None)
    if block["fit"].get("l2") == "auto":
        block["fit"] = {**block["fit"], "l2": DEFAULT}
    labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
    config = nlp.config.interpolate()
    own = config["components"][name]
    own["clean_text"] = False
    if own.get("max_length") is None:
        own["max_length"] = _longest(as_examples(docs, nlp))
    settings = {**block, "labels": labels}
    for fold in progress(sorted({*numbers})):
        others = [doc for doc, number in zip(docs, numbers) if number != fold]
        trained = train(config, name, settings, others)
        places = [k for k, number in enumerate(numbers) if number == fold]
        pipe: Any = trained.get_pipe(name)
        yield pipe, places, as_examples([docs[k] for k in places], trained)


def train(
    config: Config, name: str, block: dict[str, Any], docs: Sequence[Doc]
) -> Language:
    """RETURNS (Language): A new pipeline whose component was trained on documents.

    config (Config): Of the pipeline.
    name (str), block (Dict[str, Any]): The component, and how to initialize it, see
        `inspection.rehearsal.settings_of`.
    docs (Sequence[Doc]): With gold.
    RAISES (KeyboardInterrupt): At the first Ctrl-C.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp = load_model_from_config(config, auto_fill=True)
        examples = as_examples(docs, nlp)
        pipe: Any = nlp.get_pipe(name)
        settings = registry.resolve(block)
        settings["fit"] = to_the_end(settings["fit"])
        pipe.initialize(lambda: examples, nlp=nlp, **settings)
    return nlp


def _longest(examples: Sequence[Example]) -> int:
    """RETURNS (int): The tokens of the longest span."""
    spans = [span for known in labels_in(examples) for span in known.required]
    return max((end - start for start, end, _ in spans), default=1)
