"""Right spans of other documents while weights are trained, for the choice of l2 and
the log of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..core import Potentials
from ..core.parallel.coroutines import Steps
from ..errors import Errors
from ..features.instances import instances
from ..hierarchy.decoder import make_decoder
from ..labels.inventory import Span
from ..labels.partial import PartialLabels
from ..model.active_features import Rows, read_docs
from ..model.weights.potentials import score_rows
from ..model.weights.state import WeightState
from ..prediction.decoder import Decoder, DecodingOptions, FlatDecoder
from ..prediction.existing_entities import preset_entities
from ..training.batch import Batch
from ..training.trainer import Trainer

# By document: spans that are right, spans that were found, gold spans, and whether all
# tokens are annotated (1 or 0).
Counts = NDArray[np.int64]


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


class Annotated(NamedTuple):
    """A document as features read it, and what a scorer counts of it.

    known (PartialLabels): Required spans, and tokens without annotation: not those of
        spans that no tokens can form, where each prediction is wrong.
    n_unreached (int): Such spans, which count as missed.
    is_complete (bool): Whether there is annotation of all tokens.
    """

    doc: Doc
    known: PartialLabels
    n_unreached: int = 0
    is_complete: bool = True


class Judged(NamedTuple):
    """Documents by which weights are judged.

    docs (Sequence[Annotated]): Documents.
    rows (Sequence[Rows]): Known features of their instances, one document after the
        other; those of labels in a tree are read from the documents.
    """

    docs: Sequence[Annotated]
    rows: Sequence[Rows]

    def counts(self, trainer: Trainer, options: DecodingOptions) -> Counts:
        """RETURNS (int64 [D, 4]): What the present weights get right."""
        pairs = zip(self.docs, self.spans(trainer, options))
        return np.array([_count(*pair) for pair in pairs], np.int64)

    def spans(self, trainer: Trainer, options: DecodingOptions) -> Iterator[list[Span]]:
        """YIELDS (List[Tuple[int, int, str]]): Spans of each document, by the present
        weights."""
        state = trainer.publish()
        decoder: Decoder
        if state.levels is None:
            decoder = FlatDecoder(state, options, _RowScorer(state.weights, self.rows))
        else:
            decoder = make_decoder(state, options, trainer.model)
        predictions = decoder.predict(one.doc for one in self.docs)
        for one, prediction in zip(self.docs, predictions):
            before = preset_entities(one.doc, options.name)
            yield [*((x.start, x.end, x.label_) for x in before), *prediction.spans]


class _RowScorer:
    """Scores instances, whose features have been read, in their order."""

    def __init__(self, state: WeightState, rows: Iterable[Rows]) -> None:
        self._state, self._rows = state, iter(rows)

    def steps(self, docs: Sequence[Doc]) -> Steps[list[Potentials]]:
        """RETURNS (List[Potentials]): Of the next instances."""
        yield from ()
        pairs = zip(docs, self._rows)
        return [score_rows(self._state, rows, len(doc)) for doc, rows in pairs]


def read_judged(state: WeightState, docs: Sequence[Annotated], scope: str) -> Judged:
    """RETURNS (Judged): The documents, and their features that these weights know."""
    parts = [part for one in docs for part in instances(one.doc, scope)]
    return Judged(docs, [read_docs(state, [part.tokens]) for part in parts])


def only_spans(options: DecodingOptions) -> DecodingOptions:
    """RETURNS (DecodingOptions): The same predictions, without probabilities that
    nobody needs here."""
    return options._replace(has_scores=False, has_whole=False, spans_threshold=None)


def watching(
    fit: Callable[[Any], None],
    trainer: Trainer,
    options: DecodingOptions,
    docs: Sequence[Annotated],
) -> Callable[[Any], None]:
    """RETURNS (Callable): The same fit, whose log has `scores_of` other documents. Of
    labels in a tree it has those of the last level: until then nothing can predict."""

    def fit_and_watch(batch: Any) -> None:
        is_last = not batch.has_levels if isinstance(batch, Batch) else batch.is_last
        if is_last:
            judged = read_judged(trainer.weights.state, docs, options.scope)
            batch.watch = lambda _: scores_of(
                judged.counts(trainer, only_spans(options))
            )
        fit(batch)

    return fit_and_watch


def check_patience(patience: int | None, docs: Sequence[Annotated]) -> None:
    """RAISES (ValueError): HS334 a fit is to end by the scores of these documents, and
    they have no spans."""
    if patience is not None and not any(one.known.required for one in docs):
        raise ValueError(Errors.HS334.format(found=patience, n_docs=len(docs)))


def scores_of(counts: Counts) -> dict[str, float | None]:
    """RETURNS (Dict[str, Optional[float]]): What the component's scorer would say, 0 to
    1; None where there is nothing to score."""
    right, found, gold, _ = counts.sum(axis=0).tolist()
    if not found and not gold:
        of_spans = dict.fromkeys(("ents_p", "ents_r", "ents_f"))
    else:
        prf = PRFScore(tp=right, fp=found - right, fn=gold - right)
        of_spans = {
            "ents_p": prf.precision,
            "ents_r": prf.recall,
            "ents_f": prf.fscore,
        }
    return {**of_spans, "ents_record_accuracy": record_accuracy_of(counts)}


def f1_of(counts: Counts) -> float:
    """F1 of all spans, 0 to 1; 0 if there are none."""
    right, found, gold = counts[:, :3].sum(axis=0).tolist()
    return 2 * right / max(1, found + gold)


def record_accuracy_of(counts: Counts) -> float | None:
    """The share of completely annotated documents whose spans are all right; None if
    there are no such documents."""
    complete = counts[counts[:, 3] > 0, :3]
    is_exact = (complete == complete[:, :1]).all(axis=1)
    return float(is_exact.mean()) if len(complete) else None


def _count(
    one: Annotated, spans: Iterable[tuple[int, int, str]]
) -> tuple[int, int, int, int]:
    """See `Counts`; predictions where annotation is missing are neither right nor
    wrong."""
    gold = {*one.known.required}
    unknown = one.known.unknown(len(one.doc))
    found = [x for x in spans if x in gold or not unknown[x[0] : x[1]].any()]
    n_gold = len(gold) + one.n_unreached
    return sum(x in gold for x in found), len(found), n_gold, int(one.is_complete)
