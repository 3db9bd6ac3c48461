"""Gold that is probably wrong: judged by models that have not seen it.

The evidence against a record is the log of the odds that exactly one place of it is
wrong, all other spans being right, by constrained sums: see docs/model.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..component.judging import DocumentResult
from ..component.pipe import HighOrderSemiCRF
from ..core import log_partition, viterbi
from ..errors import Errors
from ..hierarchy.decoder import segment_decoder
from ..inspection.corpus import as_examples
from ..inspection.pipelines import train
from ..labels.alignment import Characters, read_annotations
from ..labels.inventory import Span
from ..model.tok2vec import keeping_vectors
from ..prediction.batch import Batch
from ..prediction.best_with_and_without import below
from ..prediction.flat_decoder import FlatDecoder
from ..prediction.record_probability import log_probability
from .mistakes import mistakes_of

# What is wrong with the gold if the model is right, by the kind of its `Mistake`.
KINDS = {"spurious": "missing", "missed": "extra", "wrong label": "label"}
BORDER = "border"


@dataclass(frozen=True)
class LabelError:
    """A record, and what is most probably wrong with its gold: the spans at one place,
    and what the model would have there, in characters."""

    document: int  # its number, from 0
    # The log of the odds that one place is wrong; the mean over models, if several have
    # judged it. inf: the gold is impossible; -inf: anything else is, up to rounding.
    evidence: float
    log_probability: float  # of the whole gold record, in nats
    # "border", "label", "missing" (gold lacks a span), "extra" (gold has one too many);
    # empty: no single change is more probable than the gold.
    kind: str
    gold: list[Characters]
    instead: list[Characters]


def find_label_errors(
    nlp: Language,
    name: str,
    docs: Sequence[Doc],
    rounds: Sequence[Sequence[int]],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[LabelError]:
    """Judges documents with gold, and returns those with most evidence first. Raises
    ValueError if labels are tags on tokens (HS366), labels in a tree have a tok2vec or
    too many weights (HS317), or the config does not fit by L-BFGS (HS254). `rounds`
    has for each round the fold of each document, see `component.folds.folds_of`."""
    of_docs: list[list[LabelError]] = [[] for _ in docs]
    with keeping_vectors():
        for numbers in rounds:
            folds = cross_fitted(nlp, name, docs, numbers, progress)
            for pipe, places, examples in folds:
                for place, error in zip(places, judge_labels(pipe, examples)):
                    of_docs[place].append(replace(error, document=place))
    return sorted(map(_mean, of_docs), key=lambda x: (-x.evidence, x.document))


def cross_fitted(
    nlp: Language,
    name: str,
    docs: Sequence[Doc],
    numbers: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Iterator[tuple[HighOrderSemiCRF, list[int], list[Example]]]:
    """Yields for each fold of documents with gold a component that was trained on the
    others, the places of the documents of the fold, and these with their gold. Raises
    KeyboardInterrupt at the first Ctrl-C, ValueError HS254 without a fit by L-BFGS.

    For l2 = "auto" the default penalty is taken; the longest span of all documents
    limits lengths; and words are read as they stand (clean_text = false), so that spans
    are in tokens of the documents. `numbers` has the fold of each document."""
    labels = sorted({ent.label_ for doc in docs for ent in doc.ents})
    config = nlp.config.interpolate()
    component = config["components"][name]
    component["clean_text"] = False
    if component.get("max_length") is None:
        spans = (
            x for y in read_annotations(as_examples(docs, nlp)) for x in y.required
        )
        lengths = (end - start for start, end, _ in spans)
        component["max_length"] = max(lengths, default=1)
    for fold in progress(sorted({*numbers})):
        rest = [doc for doc, number in zip(docs, numbers) if number != fold]
        trained = train(config, name, rest, nlp.vocab, labels=labels)
        places = [k for k, number in enumerate(numbers) if number == fold]
        pipe: Any = trained.get_pipe(name)
        yield pipe, places, as_examples([docs[k] for k in places], trained)


def _mean(errors: Sequence[LabelError]) -> LabelError:
    """Returns the mean over models; the place is that of the most certain one."""
    evidence = sum(x.evidence for x in errors) / len(errors)
    log_probability = sum(x.log_probability for x in errors) / len(errors)
    strongest = max(errors, key=lambda x: x.evidence)
    return replace(strongest, evidence=evidence, log_probability=log_probability)


def judge_labels(
    pipe: HighOrderSemiCRF, examples: Sequence[Example]
) -> list[LabelError]:
    """Judges examples, whose gold tokens can reach, by a component that has not seen
    them and has no clean_text. Raises as `find_label_errors`."""
    decoder = segment_decoder(pipe.decoder, pipe.name)
    if decoder.inventory.on_tokens:
        raise ValueError(Errors.HS366.format(found=pipe.settings.encoding))
    golds = [labels.required for labels in read_annotations(examples)]
    docs = [example.predicted for example in examples]
    return [_judge(decoder, *pair) for pair in zip(docs, golds)]


# One place that may be wrong: the log of the odds that only this place is, against the
# gold; the instance that it is in; and of the gold spans of that, in its tokens, those
# that are wrong, and those that are right. With none that is wrong one is missing.
_Place = tuple[float, int, list[Span], list[Span]]


def _judge(decoder: FlatDecoder, doc: Doc, gold: Sequence[Span]) -> LabelError:
    posterior = decoder.posterior(doc)
    batch = posterior.batch
    log_prob, places = 0.0, []
    for k, spans in enumerate(posterior.split(gold)):
        of_gold = log_probability(batch, k, spans)
        log_prob += of_gold
        places += _places(batch, k, spans, of_gold)
    evidence = float(np.logaddexp.reduce([-math.inf, *(place[0] for place in places)]))
    worst = max(places, key=lambda place: place[0], default=None)
    sides = ([], []) if worst is None else _changed(batch, worst)
    wrong, instead = (
        [(doc[i:j].start_char, doc[i:j].end_char, label) for i, j, label in side]
        for side in sides
    )
    result = DocumentResult(doc.text, frozenset(instead), frozenset(wrong), True)
    kinds = [KINDS.get(mistake.kind, BORDER) for mistake in mistakes_of(result)]
    kind = kinds[0] if kinds else ""
    return LabelError(0, evidence, log_prob, kind, wrong, instead)


def _places(batch: Batch, k: int, gold: list[Span], log_gold: float) -> list[_Place]:
    """Returns each gold span, and that one is missing; all spans, if impossible."""

    def log_z(required: Sequence[Span]) -> float:
        limits = batch.requiring(k, required)
        return log_partition(batch.source.automaton, batch.potentials[k], limits)

    if log_gold == -math.inf:
        return [(math.inf, k, gold, [])]
    # Log Z is there, as it was needed for log_gold.
    log_score = log_gold + batch.log_z[k]
    log_all = log_z(gold)
    places = [(_log_less(log_all, log_score) - log_score, k, list[Span](), gold)]
    for n, span in enumerate(gold):
        right = gold[:n] + gold[n + 1 :]
        log_odds = _log_less(log_z(right), log_all) - log_score
        places.append((log_odds, k, [span], right))
    return places


def _changed(batch: Batch, place: _Place) -> tuple[list[Span], list[Span]]:
    """Returns the wrong spans of a place, and the most probable ones there instead."""
    _, k, wrong, right = place
    inventory, instance = batch.source.inventory, batch.instance(k)
    spans = [x for span in wrong for x in below(span, inventory)]
    excluded = [(i, j, inventory.index[y]) for i, j, y in spans if y in inventory.index]
    limits = batch.requiring(k, right)
    limits = replace(limits, forbidden=[*limits.forbidden, *excluded])
    segments, _ = viterbi(batch.source.automaton, batch.potentials[k], limits)
    instead = {*batch.spans(k, segments)} - {*right}
    return instance.to_document(wrong), instance.to_document(sorted(instead))


def _log_less(log_a: float, log_b: float) -> float:
    """Returns log(a - b) for a >= b up to rounding."""
    if log_b == -math.inf or log_a == -math.inf:
        return log_a
    share = -math.expm1(min(log_b - log_a, 0.0))
    return log_a + math.log(share) if share > 0.0 else -math.inf
