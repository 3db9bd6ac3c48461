"""Records of texts without documents of spaCy, where the pipeline is the component
alone, and nothing that it reads needs them.

The decoder is the same, and so are the answers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..features.clean_docs import are_clean
from ..features.instances import TokenizedText
from ..features.word_cache import WordCache, words_of
from ..formats.records import ExtractedField
from ..prediction.decoder import Prediction
from ..text.tokenizer import FieldTokenizer
from .pipe import HighOrderSemiCRF

Found = tuple[int, list[ExtractedField], float | None]


def obstacle(nlp: Language) -> str | None:
    """RETURNS (Optional[str]): Why the texts of a pipeline must become documents; None:
    they need not.

    nlp (Language): A pipeline with a trained component.
    """
    if [type(pipe) for _, pipe in nlp.pipeline] != [HighOrderSemiCRF]:
        return "the pipeline has more than one component"
    if type(nlp.tokenizer) is not FieldTokenizer:
        return "the tokenizer is not spacy_hosemi.FieldTokenizer.v1"
    if type(nlp).make_doc is not Language.make_doc:
        return "the pipeline makes documents in its own way"
    pipe = cast(HighOrderSemiCRF, nlp.pipeline[0][1])
    state, settings = pipe.state, pipe.settings
    if pipe.model.layers:
        return "features read a tok2vec"
    if state.levels is not None:
        return "labels are in a tree"
    if settings.scope != "doc":
        return f"the scope is {settings.scope!r}"
    if settings.collective:
        return "collective is above 0"
    if settings.spans_threshold is not None:
        return "spans_threshold is set"
    if read := state.weights.extractor.read_of_docs():
        return f"features read {', '.join(read)}"
    return None


class DirectReader:
    """Makes records of those texts whose tokens are clean words with single spaces
    between them: nearly all are.

    nlp (Language): A pipeline without an `obstacle`.
    threads (Optional[int]): Of the component; None: as in its settings.
    """

    def __init__(self, nlp: Language, threads: int | None) -> None:
        self._nlp, self._threads = nlp, threads

    def read(self, texts: Sequence[str]) -> Iterator[Found]:
        """YIELDS (Tuple[int, List[ExtractedField], Optional[float]]): The place of a
        text, its fields, and the probability of exactly these. Other texts, and those
        that fail, are left out.

        texts (Sequence[str]): Any texts.
        """
        pipe = cast(HighOrderSemiCRF, self._nlp.pipeline[0][1])
        tokenized = [*map(self._tokenized, texts)]
        places = [place for place, text in enumerate(tokenized) if text is not None]
        docs: list[Any] = [tokenized[place] for place in places]
        if docs and pipe.reads_clean:
            is_clean = are_clean(docs)
            places = [place for place, yes in zip(places, is_clean) if yes]
            docs = [doc for doc, yes in zip(docs, is_clean) if yes]
        of_docs = iter(places)
        how: Any = {"threads": self._threads, "confidence": True}
        for batch, found in pipe.predictions(docs, len(docs), **how):
            here = [next(of_docs) for _ in batch]
            try:
                predictions = found()
            except Exception:
                continue
            yield from zip(here, *_read_predictions(batch, predictions))

    def _tokenized(self, text: str) -> TokenizedText | None:
        nlp = self._nlp
        if len(text) > nlp.max_length:
            return None
        try:
            found = cast(FieldTokenizer, nlp.tokenizer).read_pieces(text)
        except Exception:  # such as half a surrogate pair
            return None
        if found is None:
            return None
        orths, spaces = (np.array(one, np.uint64) for one in found)
        return TokenizedText(nlp.vocab, text, orths, spaces)


def _lengths(vocab: Vocab, orths: NDArray[np.uint64]) -> NDArray[np.int32]:
    return np.array([len(vocab.strings[orth]) for orth in orths.tolist()], np.int32)


_LENGTHS = WordCache(_lengths, 2**22)


def _read_predictions(
    docs: Sequence[Doc], predictions: Sequence[Prediction]
) -> tuple[list[list[ExtractedField]], list[float | None]]:
    """RETURNS (Tuple[List[List[ExtractedField]], List[Optional[float]]]): Of each
    document the fields, and the probability of exactly these."""
    orths, borders = words_of(docs)
    numbers, lengths = _LENGTHS.find(docs[0].vocab, orths)
    spaces = np.concatenate([doc.to_array("SPACY") for doc in docs]).astype(np.intp)
    sizes = lengths[numbers]
    after = np.cumsum(sizes + spaces)  # where the next token begins
    starts = (after - spaces - sizes).tolist()
    ends = (after - spaces).tolist()
    fields = []
    for doc, prediction, first in zip(docs, predictions, borders.tolist()):
        text, before = doc.text, starts[first]
        places = [
            (starts[first + i] - before, ends[first + j - 1] - before, label)
            for i, j, label in prediction.spans
        ]
        fields.append(
            [
                ExtractedField(i, j, label, text[i:j], p)
                for (i, j, label), p in zip(places, prediction.scores or ())
            ]
        )
    return fields, [prediction.whole for prediction in predictions]
