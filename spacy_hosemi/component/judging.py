"""Judges pipelines, components and weights: predicts documents with their gold set
aside, compares, and counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..arrays import Bools, Floats
from ..errors import Errors
from ..features.instances import divide
from ..hierarchy.decoder import make_decoder
from ..labels.alignment import (
    Characters,
    group_of,
    is_annotated,
    is_complete,
    judge,
    scored_entities,
)
from ..labels.inventory import Span as LabeledTokens
from ..labels.partial import PartialLabels
from ..model.active_features import Rows
from ..model.weights.doc_scorer import DocScorer
from ..prediction.decoder import Decoder, DecodingOptions
from ..prediction.existing_entities import entities_by_origin
from ..prediction.flat_decoder import FlatDecoder
from ..training.trainer import Trainer
from ..training.training_set import Watch

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

Progress = Callable[[Iterable[Any]], Iterable[Any]]

# By document: spans that are right, predicted spans, gold spans, and whether all tokens
# are annotated (1 or 0).
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class DocumentResult:
    """What a pipeline predicts in a document, and its gold, without spans where
    annotation is missing; the group is that of `group_of`, and the number that of the
    document among those that were read, from 1."""

    text: str
    predicted: frozenset[Characters]
    gold: frozenset[Characters]
    is_complete: bool
    confidence: dict[Characters, float] = field(default_factory=dict, compare=False)
    record_confidence: float | None = field(default=None, compare=False)
    group: str | None = field(default=None, compare=False)
    number: int = field(default=0, compare=False)


def judge_pipeline(
    nlp: Language,
    examples: Iterable[Example],
    progress: Progress = iter,
    has_confidence: bool = False,
    group: str | None = None,
) -> list[DocumentResult]:
    """Predicts documents and compares them with their gold, in their order. Leaves out
    documents without annotation, and those that an error handler leaves out. The
    pipeline may be any that sets `doc.ents`; group: the key for `group_of`."""
    numbered = enumerate(examples, start=1)
    pairs = ((x.predicted, (k, x)) for k, x in numbered if is_annotated(x))
    results = []
    # The example goes along: an error handler may leave a document out.
    for doc, (number, example) in progress(nlp.pipe(pairs, as_tuples=True)):
        example.predicted = doc
        predicted, gold = map(frozenset, scored_entities(example))
        confidences, of_record = {}, None
        if has_confidence:
            spans = ((ent.start_char, ent.end_char, ent.label_) for ent in doc.ents)
            scored = zip(spans, [ent._.confidence for ent in doc.ents])
            confidences = {span: p for span, p in scored if p is not None}
            of_record = doc._.record_confidence
        key = None if group is None else group_of(example, group)
        args = doc.text, predicted, gold, is_complete(example), confidences, of_record
        results.append(DocumentResult(*args, key, number))
    return results


@dataclass(frozen=True)
class JudgedSpans:
    """The K spans that a component predicts in a corpus, whatever their confidence, and
    the number of gold spans by label."""

    labels: NDArray[np.str_]
    confidence: Floats
    is_right: Bools
    n_gold: Counter[str]

    def of_label(self, label: str) -> JudgedSpans:
        """Returns the spans with one label."""
        is_taken = self.labels == label
        n_gold = Counter({label: self.n_gold[label]})
        labels, confidence = self.labels[is_taken], self.confidence[is_taken]
        return JudgedSpans(labels, confidence, self.is_right[is_taken], n_gold)


def annotate_before(nlp: Language, pipe: HighOrderSemiCRF, doc: Doc) -> Doc:
    """Returns a document as the components before one leave it."""
    for _, component in takewhile(lambda named: named[1] is not pipe, nlp.pipeline):
        doc = component(doc)
    return doc


def load_examples(
    nlp: Language, pipe: HighOrderSemiCRF, path: str | Path
) -> list[Example]:
    """Returns the documents of a .spacy file with their gold, as the components before
    one leave them."""
    examples = list(Corpus(path)(nlp))
    for example in examples:
        example.predicted = annotate_before(nlp, pipe, example.predicted)
    return examples


def judge_component(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    progress: Progress = iter,
    **options: Any,
) -> JudgedSpans:
    """Predicts without min_confidence, and with other settings, such as temperature;
    the component and the examples stay as they are. Leaves out entities that other
    components have set, and, as spaCy's scorer, those where annotation is missing."""
    options = {"min_confidence": 0.0, "confidence": True, **options}
    before = {name: getattr(pipe, name) for name in options}
    try:
        for name, value in options.items():
            setattr(pipe, name, value)
        predictions = pipe.predict(x.predicted for x in progress(examples))
    finally:
        for name, value in before.items():
            setattr(pipe, name, value)
    labels, confidence, is_right = [], [], []
    n_gold: Counter[str] = Counter()
    for example, prediction in zip(examples, predictions):
        _, preset = entities_by_origin(example.predicted, pipe.name)
        spans = prediction.spans
        verdicts, gold = judge(example, spans)
        of_preset, _ = judge(example, preset)
        n_gold.update(gold)
        n_gold.subtract(label for *_, label in compress(preset, of_preset))
        for (*_, label), p, verdict in zip(spans, prediction.scores or (), verdicts):
            if verdict is not None:
                labels.append(label)
                confidence.append(p)
                is_right.append(verdict)
    columns = np.array(labels, str), np.array(confidence), np.array(is_right, bool)
    return JudgedSpans(*columns, n_gold)


def make_dev_corpus(
    path: str | Path | None = None,
) -> Callable[[Language], Iterable[Example]]:
    """Registered as "spacy_hosemi.dev_corpus.v1" in `readers`: documents by which a fit
    chooses, or which its log scores.

    path (Optional[Union[str, Path]]): A .spacy file, or a folder of them; null: there
        are no such documents, such as where only `nlp.initialize` is called.
    RETURNS (Callable): From the pipeline to examples, as spaCy's own reader makes them.
    """
    if path is None:
        return lambda _: []
    return Corpus(path)


class GoldDoc(NamedTuple):
    """A document as features read it, and what a scorer counts of it: required spans
    and tokens without annotation. n_unreached spans, which no tokens can form, count as
    missed, and there each prediction is wrong."""

    doc: Doc
    labels: PartialLabels
    n_unreached: int = 0
    is_complete: bool = True


class HeldOut(NamedTuple):
    """Documents by which weights are judged that do not know them, and the rows of
    their instances, one document after the other; trees read the documents instead."""

    docs: Sequence[GoldDoc]
    rows: Iterable[Rows]

    def counts(self, trainer: Trainer, options: DecodingOptions) -> Counts:
        """Returns what the present weights get right, int64 [D, 4]."""
        pairs = zip(self.docs, self.spans(trainer, options))
        return np.array([count_spans(*pair) for pair in pairs], np.int64)

    def spans(
        self, trainer: Trainer, options: DecodingOptions
    ) -> Iterator[list[LabeledTokens]]:
        """Yields the spans of each document that the present weights predict."""
        state = trainer.publish()
        decoder: Decoder
        if state.levels is None:
            scorer = DocScorer(state.weights, is_single=False, rows=self.rows)
            decoder = FlatDecoder(state, options, scorer)
        else:
            decoder = make_decoder(state, options)
        predictions = decoder.predict(gold.doc for gold in self.docs)
        for gold, prediction in zip(self.docs, predictions):
            _, preset = entities_by_origin(gold.doc, options.name)
            yield [*preset, *prediction.spans]


def read_held_out(trainer: Trainer, docs: Sequence[GoldDoc], scope: str) -> HeldOut:
    """Reads the features of documents that the present weights know."""
    parts = [part.tokens for gold in docs for part in divide(gold.doc, scope)]
    return HeldOut(docs, trainer.read(parts))


def only_spans(options: DecodingOptions) -> DecodingOptions:
    """Returns options for the spans of documents that are clean, and nothing else."""
    off: Any = dict.fromkeys(("has_scores", "has_whole", "clean_text"), False)
    return options._replace(**off, spans_threshold=None)


def watching(
    trainer: Trainer, options: DecodingOptions, docs: Sequence[GoldDoc]
) -> Watch:
    """Returns what scores the present weights on other documents, whose features it
    reads now."""
    held_out = read_held_out(trainer, docs, options.scope)
    return lambda _: scores_of(held_out.counts(trainer, only_spans(options)))


def check_patience(patience: int | None, docs: Sequence[GoldDoc]) -> None:
    """Raises ValueError HS334 if a fit is to end by the scores of these documents, and
    they have no spans."""
    if patience is not None and not any(gold.labels.required for gold in docs):
        raise ValueError(Errors.HS334.format(found=patience, n_docs=len(docs)))


def count_spans(
    gold: GoldDoc, spans: Iterable[LabeledTokens]
) -> tuple[int, int, int, int]:
    """Returns a row of `Counts`; predictions where annotation is missing are neither
    right nor wrong."""
    required, unknown = {*gold.labels.required}, gold.labels.unknown(len(gold.doc))
    predicted = [x for x in spans if x in required or not unknown[x[0] : x[1]].any()]
    n_right, n_gold = sum(x in required for x in predicted), len(required)
    return n_right, len(predicted), n_gold + gold.n_unreached, int(gold.is_complete)


def scores_of(counts: Counts) -> dict[str, float | None]:
    """Returns what the scorer of the component would say, 0 to 1; None where there is
    nothing to score."""
    n_right, n_predicted, n_gold, _ = counts.sum(axis=0).tolist()
    prf = PRFScore(tp=n_right, fp=n_predicted - n_right, fn=n_gold - n_right)
    values = {"ents_p": prf.precision, "ents_r": prf.recall, "ents_f": prf.fscore}
    of_spans = values if n_predicted or n_gold else dict.fromkeys(values)
    return {**of_spans, "ents_record_accuracy": record_accuracy_of(counts)}


def f1_of(counts: Counts) -> float:
    """Returns F1 of all spans, 0 to 1; 0 if there are none."""
    n_right, n_predicted, n_gold = counts[:, :3].sum(axis=0).tolist()
    return 2 * n_right / max(1, n_predicted + n_gold)


def record_accuracy_of(counts: Counts) -> float | None:
    """Returns the share of completely annotated documents whose spans are all right;
    None if there are no such documents."""
    complete = counts[counts[:, 3] > 0, :3]
    is_exact = (complete == complete[:, :1]).all(axis=1)
    return float(is_exact.mean()) if len(complete) else None


def error_of_scores(first: Counts, second: Counts) -> float:
    """Returns the standard error of the difference of two `Trial.score` on the same
    documents; infinity for one document, which says nothing of others.

    With right, predicted and gold spans r, p, g of document i, and S the sum of p + g,
    F1 = sum 2 r / S changes with document i by about (2 r - F1 (p + g)) / S (the delta
    method); the share a of exact ones among C complete documents by (exact - a) / C.
    The differences d of the means of both are paired by document:

        e^2 = D / (D - 1)  sum_i (d_i - d'_i)^2
    """
    differences = _f1_parts(first) - _f1_parts(second)
    if record_accuracy_of(first) is not None:
        differences = (differences + _record_parts(first) - _record_parts(second)) / 2
    n = len(differences)
    if n < 2:
        return math.inf
    return float(np.sqrt(n / (n - 1) * np.square(differences).sum()))


def _f1_parts(counts: Counts) -> Floats:
    """Returns what each document adds to F1, less its mean."""
    n_spans = counts[:, 1] + counts[:, 2]
    parts = 2 * counts[:, 0] - f1_of(counts) * n_spans
    return np.asarray(parts / max(1, n_spans.sum()))


def _record_parts(counts: Counts) -> Floats:
    """Returns what each document adds to the share of exact ones, less its mean."""
    is_complete = counts[:, 3] > 0
    is_exact = (counts[:, :3] == counts[:, :1]).all(axis=1)
    share = record_accuracy_of(counts) or 0.0
    return np.where(is_complete, is_exact - share, 0.0) / max(1, is_complete.sum())
