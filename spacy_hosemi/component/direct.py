"""Records of texts without documents of spaCy, where the pipeline is the component
alone, and nothing that it reads needs them.

The decoder is the same, and so are the answers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc

from ..features.clean_docs import are_clean
from ..features.instances import TokenizedText
from ..formats.records import Fields
from ..prediction.decoder import Prediction
from ..text.pieces import read_texts
from ..text.tokenizer import FieldTokenizer
from .pipe import HighOrderSemiCRF

# The places of some texts, and their fields.
Found = tuple[list[int], Fields]


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

    def read(self, texts: list[str]) -> Iterator[Found]:
        """YIELDS (Tuple[List[int], Fields]): The places of some texts, and their
        fields. Texts of a batch in which one fails are left out.

        texts (List[str]): Any texts.
        """
        pipe = cast(HighOrderSemiCRF, self._nlp.pipeline[0][1])
        tokenized = _Tokenized(self._nlp, texts, pipe.reads_clean)
        known = [k for k, doc in enumerate(tokenized.docs) if doc is not None]
        docs: list[Any] = [tokenized.docs[k] for k in known]
        how: Any = {"threads": self._threads, "confidence": True}
        places = iter(known)
        for batch, found in pipe.predictions(docs, len(docs), **how):
            here = [*islice(places, len(batch))]
            try:
                predictions = found()
            except Exception:
                continue
            yield here, tokenized.fields(here, predictions)


class _Tokenized:
    """Texts that are cut into tokens.

    nlp (Language): Has the tokenizer.
    texts (List[str]): Any texts.
    reads_clean (bool): Whether words that are not clean need documents.

    docs (List[Optional[Union[TokenizedText, Doc]]]): Of each text; None: the tokenizer
        refuses it.
    """

    def __init__(self, nlp: Language, texts: list[str], reads_clean: bool) -> None:
        self._nlp, self._texts = nlp, texts
        tokenizer = cast(FieldTokenizer, nlp.tokenizer)
        orths, spaces, starts, ends, borders, others = read_texts(texts, tokenizer)
        # Lists, for which an element takes a third of the time that arrays take.
        self._starts, self._ends = starts.tolist(), ends.tolist()
        self._first: list[int] = borders[:-1]
        self.docs: list[TokenizedText | Doc | None] = [
            TokenizedText(nlp.vocab, text, orths[i:j], spaces[i:j])
            for text, (i, j) in zip(texts, pairwise(borders))
        ]
        is_other = [len(text) > nlp.max_length for text in texts]
        for k in others:
            is_other[k] = True
        if reads_clean:
            some: list[Any] = self.docs
            for k, is_clean in enumerate(are_clean(some) if some else ()):
                is_other[k] = is_other[k] or not is_clean
        for k, yes in enumerate(is_other):
            if yes:
                self._make_doc(k)

    def _make_doc(self, k: int) -> None:
        """Make a document of a text, if the tokenizer permits."""
        try:
            doc = self._nlp.make_doc(self._texts[k])
        except Exception:  # such as half a surrogate pair
            self.docs[k] = None
            return
        self.docs[k], self._first[k] = doc, len(self._starts)
        self._starts += [token.idx for token in doc]
        self._ends += [token.idx + len(token) for token in doc]

    def fields(
        self, places: Sequence[int], predictions: Sequence[Prediction]
    ) -> Fields:
        """RETURNS (Fields): Of the texts at some places, what is predicted."""
        token_starts, token_ends = self._starts, self._ends
        starts, ends, labels, values = [], [], [], []
        for k, prediction in zip(places, predictions):
            text, first = self._texts[k], self._first[k]
            for i, j, label in prediction.spans:
                start, end = token_starts[first + i], token_ends[first + j - 1]
                starts.append(start)
                ends.append(end)
                labels.append(label)
                values.append(text[start:end])
        scores = [[*chain(*(one.scores or () for one in predictions))]]
        return Fields(
            [len(one.spans) for one in predictions],
            [one.whole for one in predictions],
            (starts, ends, labels, values, *scores),
        )
