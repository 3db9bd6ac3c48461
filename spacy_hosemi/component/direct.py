"""Records of texts without documents of spaCy, where the pipeline is the component
alone, and nothing that it reads needs them.

The decoder is the same, and so are the answers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, cast

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..features.clean_docs import are_clean_texts
from ..features.doc_batch import TextBatch, as_batch
from ..features.instances import TokenizedText
from ..formats.records import Fields
from ..prediction.decoder import BATCH_TOKENS, Prediction, batches
from ..prediction.span_table import SpanTable
from ..text.pieces import read_texts
from ..text.tokenizer import FieldTokenizer
from .pipe import HighOrderSemiCRF
from .predict import predictions

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
        places = iter(tokenized.plain)
        how: Any = self._threads, True
        for batch, table in predictions(pipe, tokenized.batches(), *how):
            here = [*islice(places, len(batch))]
            try:
                found = table()
            except Exception:
                continue
            if isinstance(found, SpanTable):
                yield here, tokenized.fields_of_table(here, found)
            else:
                yield here, tokenized.fields(here, found)
        known = [k for k, doc in tokenized.docs.items() if doc is not None]
        docs = map(as_batch, batches(cast(Doc, tokenized.docs[k]) for k in known))
        places = iter(known)
        for batch, table in predictions(pipe, docs, *how):
            here = [*islice(places, len(batch))]
            try:
                fields = tokenized.fields(here, table())
            except Exception:
                continue
            yield here, fields


class _Tokenized:
    """Texts that are cut into tokens.

    nlp (Language): Has the tokenizer.
    texts (List[str]): Any texts.
    reads_clean (bool): Whether words that are not clean need documents.

    plain (List[int]): The texts that need no documents.
    docs (Dict[int, Optional[Doc]]): Those of the others; None: the tokenizer refuses
        the text.
    """

    def __init__(self, nlp: Language, texts: list[str], reads_clean: bool) -> None:
        self._nlp, self._texts = nlp, texts
        tokenizer = cast(FieldTokenizer, nlp.tokenizer)
        orths, spaces, starts, ends, first, others = read_texts(texts, tokenizer)
        is_plain = np.ones(len(texts), bool)
        is_plain[others] = False
        is_plain[[k for k, x in enumerate(texts) if len(x) > nlp.max_length]] = False
        if reads_clean and len(orths):
            is_plain &= are_clean_texts(nlp.vocab, orths, first)
        self._starts, self._ends, self._first = starts, ends, first
        self.plain: list[int] = np.flatnonzero(is_plain).tolist()
        self._own_first = first
        if len(self.plain) < len(texts):
            sizes = np.diff(first)
            is_own = np.repeat(is_plain, sizes)
            orths, spaces = orths[is_own], spaces[is_own]
            ends_of_own = np.cumsum(sizes[is_plain])
            self._own_first = np.append(0, ends_of_own).astype(np.int32)
        self._orths, self._spaces = orths, spaces
        places = np.flatnonzero(~is_plain).tolist()
        self.docs = {k: self._make_doc(k) for k in places}

    def batches(self) -> Iterator[TextBatch]:
        """YIELDS (TextBatch): The texts of `plain`."""
        orths, spaces, first = self._orths, self._spaces, self._own_first
        vocab, texts, i = self._nlp.vocab, self._texts, 0
        while i < len(self.plain):
            most = int(first[i]) + BATCH_TOKENS
            j = max(i + 1, int(np.searchsorted(first, most, "right")) - 1)
            borders = first[i : j + 1]
            a, b = int(borders[0]), int(borders[-1])
            here = [
                TokenizedText(vocab, texts[k], orths, spaces, *pair)
                for k, pair in zip(self.plain[i:j], pairwise(borders.tolist()))
            ]
            yield TextBatch(here, orths[a:b], spaces[a:b], borders - borders[0])
            i = j

    def _make_doc(self, k: int) -> Doc | None:
        """RETURNS (Optional[Doc]): The document of a text, if the tokenizer permits."""
        try:
            return self._nlp.make_doc(self._texts[k])
        except Exception:  # such as half a surrogate pair
            return None

    def fields_of_table(self, places: Sequence[int], table: SpanTable) -> Fields:
        """RETURNS (Fields): Of texts without documents, what is predicted."""
        of_spans = np.repeat(np.array(places, np.intp), table.n_spans)
        first = self._first[of_spans]
        assert table.confidence is not None and table.whole is not None
        starts = self._starts[first + table.spans[:, 0]].tolist()
        ends = self._ends[first + table.spans[:, 1] - 1].tolist()
        texts, names = self._texts, table.labels
        triples = zip(of_spans.tolist(), starts, ends)
        return Fields(
            table.n_spans.tolist(),
            table.whole.tolist(),
            (
                starts,
                ends,
                [names[y] for y in table.spans[:, 2].tolist()],
                [texts[k][start:end] for k, start, end in triples],
                table.confidence.tolist(),
            ),
        )

    def fields(
        self, places: Sequence[int], found: SpanTable | Sequence[Prediction]
    ) -> Fields:
        """RETURNS (Fields): Of the texts at some places, what is predicted."""
        if isinstance(found, SpanTable):
            found = found.predictions()
        starts, ends, labels, values = [], [], [], []
        for k, prediction in zip(places, found):
            text, doc, first = self._texts[k], self.docs.get(k), int(self._first[k])
            for i, j, label in prediction.spans:
                if doc is None:
                    start = int(self._starts[first + i])
                    end = int(self._ends[first + j - 1])
                else:
                    start, end = doc[i].idx, doc[j - 1].idx + len(doc[j - 1])
                starts.append(start)
                ends.append(end)
                labels.append(label)
                values.append(text[start:end])
        scores = [[*chain(*(one.scores or () for one in found))]]
        return Fields(
            [len(one.spans) for one in found],
            [one.whole for one in found],
            (starts, ends, labels, values, *scores),
        )
