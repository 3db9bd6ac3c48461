"""Systems whose speed of prediction is measured, each as it is when it was just loaded.

A way says what a system is given and how: WAYS. A system that knows no batches, or
reads no Doc, has the same function in two ways.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from peers import Spans, open_crfsuite, spans_of_tags
from plain_features import N_CACHED, plain_features, shape, word_features
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from training import entity_component

import spacy_hosemi
from spacy_hosemi.features import clean_docs
from spacy_hosemi.features.word_cache import WordCache

WAYS = ("text-pipe", "doc-pipe", "text-call", "doc-call", "text-extract")
# A word as one would cut texts for CRFsuite: letters, digits, or another character.
WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")

Run = Callable[[Any], list[Any]]
# The words of a document as a model is trained on them, and whether each has a space.
Given = tuple[list[str], list[bool]]


@dataclass
class Ready:
    """A system that was just loaded: by way, what makes findings of inputs; and what
    makes, outside of the time, the input of the ways "doc-" of a document."""

    runs: dict[str, Run]
    to_doc: Callable[[Given], Any] = itemgetter(0)
    # What it knows of words; else all pipelines of this process would learn together.
    kinds: WordCache = field(
        default_factory=lambda: WordCache(clean_docs._write_kinds, np.uint8, 2**22)
    )

    def run(self, way: str, inputs: Sequence[Any]) -> list[Any]:
        """Returns the findings of each input."""
        clean_docs._KINDS = self.kinds
        return self.runs[way](inputs)

    def inputs(self, way: str, docs: Sequence[Given]) -> list[Any]:
        """What a way is given: words as trained, or raw texts."""
        return [*map(self.to_doc if way.startswith("doc") else text_of, docs)]


def given(doc: Doc) -> Given:
    """Returns what systems are given of a document."""
    return [token.text for token in doc], [bool(token.whitespace_) for token in doc]


def text_of(doc: Given) -> str:
    """Returns the raw text of a document."""
    return "".join(word + " " * space for word, space in zip(*doc))


def pipeline(path: Path, **settings: Any) -> Ready:
    """Load a pipeline."""
    nlp = load_model(path)
    for name, value in settings.items():
        setattr(_hosemi(nlp), name, value)
    runs: list[Run] = 2 * [lambda given: [spans_of(doc) for doc in nlp.pipe(given)]]
    runs += 2 * [lambda given: [spans_of(nlp(x)) for x in given]]
    if any(nlp.get_pipe_meta(name).factory == "hosemi" for name in nlp.pipe_names):
        runs.append(partial(spacy_hosemi.extract, nlp))
    return Ready(dict(zip(WAYS, runs)), lambda words: Doc(nlp.vocab, *words))


def spans_of(doc: Doc) -> Any:
    """What a pipeline has found: entities, or the spans of `spancat`."""
    return doc.spans["sc"] if "sc" in doc.spans else doc.ents


def variants(path: Path) -> dict[str, dict[str, Any]]:
    """Returns settings of a trained hosemi by name: as it is, with confidences, and
    with the other decoding. A name has the number of lists and the decoding."""
    component = _hosemi(load_model(path))
    n_lists = len(component.weights.extractor.gazetteers.settings)
    own = component.decoding
    lists = f"{n_lists} lists, " if n_lists else ""
    found = {f"{lists}{own}": {}, f"{lists}{own}, confidence": {"confidence": True}}
    if component.cfg["encoding"] == "segments":  # tags have no spans to choose
        other = "viterbi" if own == "mbr" else "mbr"
        found[f"{lists}{other}"] = {"decoding": other}
    return found


def _hosemi(nlp: Language) -> Any:
    return nlp.get_pipe(entity_component(nlp))


def chain(path: Path, has_marginals: bool = False) -> Ready:
    """Open a chain of CRFsuite on features written by hand, with caches of its own."""
    caches = [lru_cache(N_CACHED)(x.__wrapped__) for x in (shape, word_features)]
    tagger = open_crfsuite(path)

    def of_words(words: Sequence[str]) -> Spans:
        tags = tagger.tag(plain_features(words, *caches))
        if has_marginals:
            for i, tag in enumerate(tags):
                tagger.marginal(tag, i)
        return spans_of_tags(tags)

    # It knows neither batches nor Docs.
    runs: list[Run] = [lambda texts: [*map(of_words, map(WORD.findall, texts))]]
    runs += [lambda docs: [*map(of_words, docs)]]
    return Ready(dict(zip(WAYS, runs * 2)))


def ready_chain(path: Path) -> Ready:
    """The same, given features as CRFsuite keeps them: what its own code takes."""
    import pycrfsuite

    tagger = open_crfsuite(path)

    def of_items(docs: Sequence[Any]) -> list[Spans]:
        return [spans_of_tags(tagger.tag(items)) for items in docs]

    def to_items(doc: Given) -> Any:
        return pycrfsuite.ItemSequence(plain_features(doc[0]))

    return Ready({"doc-pipe": of_items, "doc-call": of_items}, to_items)


def usaddress() -> Ready:
    """The parser of US addresses, a chain of CRFsuite with a model of its own."""
    if importlib.util.find_spec("usaddress") is None:
        sys.exit("usaddress is not installed: pip install usaddress")
    import usaddress as parser

    def of_texts(texts: Sequence[str]) -> list[Any]:
        return [parser.parse(text) for text in texts]

    return Ready({"text-pipe": of_texts, "text-call": of_texts})
