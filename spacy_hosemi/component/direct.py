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
    """Predicts the spans of texts and nothing else: no document is annotated, and one
    is made only where words are not clean, or not separated by single spaces.

    nlp (Language): A pipeline without an `obstacle`.
    threads (Optional[int]): Of the component; None: as in its settings.
    """

    def __init__(self, nlp: Language, threads: int | None) -> None:
        self._nlp, self._threads = nlp, threads

    def read(self, texts: Sequence[str]) -> Iterator[Found]:
        """YIELDS (Tuple[int, List[ExtractedField], Optional[float]]): The place of a
        text, its fields, and the probability of exactly these. Texts of a batch in
        which one fails are left out.

        texts (Sequence[str]): Any texts.
        """
        pipe = cast(HighOrderSemiCRF, self._nlp.pipeline[0][1])
        tokenized = self._tokenize(texts, pipe.reads_clean)
        places = iter([place for place, one in enumerate(tokenized) if one is not None])
        docs: list[Any] = [one for one in tokenized if one is not None]
        how: Any = {"threads": self._threads, "confidence": True}
        for batch, found in pipe.predictions(docs, len(docs), **how):
            here = [next(places) for _ in batch]
            try:
                predictions = found()
            except Exception:
                continue
            args = batch, [texts[place] for place in here], predictions
            yield from zip(here, *_read_predictions(*args))

    def _tokenize(
        self, texts: Sequence[str], reads_clean: bool
    ) -> list[TokenizedText | Doc | None]:
        """RETURNS (List[Optional[Union[TokenizedText, Doc]]]): Of each text; None: the
        tokenizer refuses it."""
        found: list[TokenizedText | Doc | None] = [*map(self._tokenized, texts)]
        if reads_clean:
            known = [k for k, one in enumerate(found) if isinstance(one, TokenizedText)]
            some: list[Any] = [found[k] for k in known]
            for k, is_clean in zip(known, are_clean(some) if some else ()):
                if not is_clean:
                    found[k] = self._nlp.make_doc(texts[k])
        return found

    def _tokenized(self, text: str) -> TokenizedText | Doc | None:
        nlp = self._nlp
        try:
            pieces = cast(FieldTokenizer, nlp.tokenizer).read_pieces(text)
            if pieces is None or len(text) > nlp.max_length:
                return nlp.make_doc(text)
        except Exception:  # such as half a surrogate pair
            return None
        orths, spaces = (np.array(one, np.uint64) for one in pieces)
        return TokenizedText(nlp.vocab, text, orths, spaces)


def _lengths(vocab: Vocab, orths: NDArray[np.uint64]) -> NDArray[np.int32]:
    return np.array([len(vocab.strings[orth]) for orth in orths.tolist()], np.int32)


_LENGTHS = WordCache(_lengths, 2**22)


def _read_predictions(
    docs: Sequence[Doc], texts: Sequence[str], predictions: Sequence[Prediction]
) -> tuple[list[list[ExtractedField]], list[float | None]]:
    """RETURNS (Tuple[List[List[ExtractedField]], List[Optional[float]]]): Of each
    document the fields, and the probability of exactly these."""
    orths, borders = words_of(docs)
    numbers, lengths = _LENGTHS.find(docs[0].vocab, orths)
    spaces = np.concatenate([doc.to_array("SPACY") for doc in docs]).astype(np.intp)
    sizes = lengths[numbers]
    after = np.cumsum(sizes + spaces)  # where the next token begins
    starts, ends = (after - spaces - sizes).tolist(), (after - spaces).tolist()
    fields, before = [], 0
    for text, prediction, first in zip(texts, predictions, borders.tolist()):
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
        before += len(text)
    return fields, [prediction.whole for prediction in predictions]
