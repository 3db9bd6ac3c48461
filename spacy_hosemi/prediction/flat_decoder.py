"""The decoder of all labels of segments at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..core.algorithms.segment_probabilities import PathAnswer, path_steps
from ..core.parallel.coroutines import Steps, finish
from ..core.potentials import ManyPotentials
from ..errors import Errors
from ..features.clean_docs import WordPlaces, are_clean, clean_doc
from ..features.instances import Instances, divide
from ..labels.constraints import borders_of
from ..labels.inventory import OUTSIDE, Segment, Span
from ..labels.partial import NOTHING, PartialLabels
from ..labels.projection import Projection
from ..labels.whitespace import whitespace
from ..model.state import ModelState
from ..model.weights.doc_scorer import DocScorer
from .answers import spans_above
from .batch import Batch
from .collective import agree
from .decoder import Decoder, DecodingOptions, confident, untrained
from .decodings import DECODINGS
from .existing_entities import read_existing
from .limits import limit_instance
from .permitted_tags import best_permitted
from .posterior import Path, Posterior, confidence_steps, tree_path_steps
from .predictions import Prediction, Predictions


class FlatDecoder(Decoder):
    """Decodes all labels of segments at once, see `Decoder`: those of the schema, or
    the leaves of a label tree, see `hierarchy.flatten`."""

    def __init__(
        self,
        state: ModelState,
        options: DecodingOptions,
        scorer: DocScorer,
        tree: Any = None,
    ) -> None:
        labels: Any = tree or state.schema
        self.state, self.options, self.tree = state, options, tree
        self.automaton, self.inventory = labels.automaton, labels.inventory
        self.projection: Projection = labels.projection
        self.scorer, self.decoding = scorer, DECODINGS[options.decoding]
        reads_f1 = self.decoding.reads_expected_f1
        self._expected_f1 = [options.expected_f1] if reads_f1 else []
        gazetteers = state.weights.extractor.gazetteers
        self._matches = gazetteers.entities if gazetteers.has_hard else None
        # Whether nothing but a document itself may limit it, or change its scores.
        self._is_plain = (
            not (self._matches or options.collective or self.inventory.on_tokens)
            and options.temperature == 1.0
        )
        # Most tok2vecs read tokens as they are.
        self._reads_clean = options.clean_text and scorer.reads_words
        # Whether arrays have all that is predicted.
        chooses = options.min_confidence or options.spans_threshold is not None
        self._has_arrays = not (tree or chooses)

    def steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[Predictions]:
        if not self.state.weights.is_trained:
            return untrained(docs, corrections)
        batch = yield from self.batch_steps(docs, corrections)
        options = self.options
        if self._has_arrays and batch.is_free and self.decoding.free_steps:
            args = self.automaton, batch.potentials, *self._expected_f1
            how = {"has_probabilities": options.has_scores}
            arrays = yield from self.decoding.free_steps(*args, **how)
            if arrays is not None:
                return self._from_arrays(batch, *arrays)
        rows = range(len(batch.tokens))
        answers: list[PathAnswer | None] = [None] * len(rows)
        if self.inventory.on_tokens and any(x.excluded for x in batch.corrections):
            segments = [best_permitted(batch, k) for k in rows]
        else:
            limited = self.automaton, batch.potentials, batch.constraints
            steps = self.decoding.steps(*limited, *self._expected_f1)
            segments, answers = yield from steps
        spans = self._spans(batch, segments)
        paths: list[list[Path]] | None = None
        if options.has_scores or options.min_confidence or corrections:
            if self.tree is not None:
                paths = yield from tree_path_steps(batch, rows, spans)
            else:
                args = batch, spans, segments, answers
                probs = yield from path_confidence_steps(*args)
                pairs = zip(spans, probs)
                paths = [[[(x[2], p)] for x, p in zip(*pair)] for pair in pairs]
        args = batch, spans, paths
        return Predictions.of([self._of_document(d, *args) for d in range(len(docs))])

    def posterior(self, doc: Doc) -> Posterior:
        batch = finish(self.batch_steps([doc]))
        return Posterior(batch, 0)

    def batch_steps(
        self, docs: Sequence[Doc], corrections: PartialLabels | None = None
    ) -> Steps[Batch]:
        """Returns the documents with their scores and all that limits them."""
        options = self.options
        docs = docs if isinstance(docs, Instances) else Instances(docs)
        words: dict[int, WordPlaces] = {}
        if self._reads_clean and not all(is_clean := are_clean(docs)):
            dirty = [d for d, is_plain in enumerate(is_clean) if not is_plain]
            docs, words = self._clean(docs, dirty, corrections)
            corrections = corrections and corrections.of_words(words[0])
        for d in words if self._reads_clean else range(len(docs)):  # clean: none
            docs.has_limits[d] |= whitespace(docs[d]) is not None
        if options.scope == "doc":
            scores = yield from self.scorer.steps(docs)
            batch = Batch(self, docs, scores, range(len(docs) + 1), words=words)
            is_free = not (corrections or any(docs.has_ents) or any(docs.has_limits))
            if is_free and self._is_plain and isinstance(scores, ManyPotentials):
                return batch
        else:
            of_docs = [divide(doc, options.scope) for doc in docs]
            parts = [*chain(*of_docs)]
            borders = [0, *accumulate(map(len, of_docs))]
            starts, tokens = [x.start for x in parts], [x.tokens for x in parts]
            scores = yield from self.scorer.steps(Instances(tokens))
            of_instances = {
                k: places
                for d, places in words.items()
                for k in range(borders[d], borders[d + 1])
            }
            batch = Batch(self, docs, scores, borders, tokens, starts, of_instances)
        self._limit(batch, docs, corrections)
        return batch

    def _clean(
        self, docs: Instances, dirty: Sequence[int], corrections: PartialLabels | None
    ) -> tuple[Instances, dict[int, WordPlaces]]:
        """Returns the documents, dirty ones by their words in a clean form, and the
        places of these words."""
        read, places = [*docs], {}
        for d in dirty:
            existing = read_existing(docs[d], self.options.name) or NOTHING
            ents = [*existing.required]
            if (blocked := existing.outside()) is not None:
                # As entities that the model does not know.
                ents += [(i, i + 1, OUTSIDE) for i in np.flatnonzero(blocked).tolist()]
            user = corrections or NOTHING
            spans = [*ents, *user.required, *user.excluded]
            # Existing entities, and corrections of a user, are not within words.
            borders = {i for start, end, _ in spans for i in (start, end)}
            read[d], places[d] = clean_doc(docs[d], borders, sorted(ents))
        return Instances(read, docs), places

    def _limit(
        self, batch: Batch, docs: Instances, corrections: PartialLabels | None
    ) -> None:
        """Gives a batch its constraints, and the scores that depend on them."""
        options, potentials = self.options, [*batch.potentials]
        projected = self.projection.project(corrections) if corrections else NOTHING
        for d, doc in enumerate(docs):
            existing = read_existing(doc, options.name) if docs.has_ents[d] else None
            if existing and corrections:
                existing = existing.beside(corrections)
            existing = existing and self.projection.project(existing)
            if existing or corrections or self._matches or docs.has_limits[d]:
                for k in batch.rows(d):
                    instance = batch.instance(k)
                    matches = self.hard_matches(instance.tokens)
                    args = instance, potentials[k], existing, projected, matches
                    limited = limit_instance(*args, self.automaton, self.inventory)
                    potentials[k], batch.constraints[k] = limited[:2]
                    batch.existing[k], batch.corrections[k] = limited[2:]
        batch.potentials, batch.is_free = potentials, False
        batch.user_corrections = corrections or NOTHING
        if options.collective:
            of_docs = [agree(batch, d, options.collective) for d in range(len(docs))]
            batch.potentials = [*chain(*of_docs)]
        if options.temperature != 1.0:
            factor = 1.0 / options.temperature
            batch.potentials = [scores.times(factor) for scores in batch.potentials]

    def hard_matches(self, tokens: Doc) -> list[Span]:
        """Returns the matches of hard lists, see `Gazetteers.entities`."""
        return self._matches(tokens) if self._matches else []

    def impossible(self, batch: Batch, k: int) -> ValueError:
        """Returns the error HS060 for an instance, which names everything in force that
        can make a segmentation impossible."""
        tokens, corrections = batch.tokens[k], batch.corrections[k]
        keep, forbid = [*corrections.required], [*corrections.excluded]
        max_length, rules = self.options.max_length, [*self.state.schema.rules]
        is_in_force = {
            f"keep = {keep}": bool(keep),
            f"forbid = {forbid}": bool(forbid),
            "sentence starts": borders_of(tokens, self.inventory) is not None,
            f"max_length = {max_length}": max_length is not None,
            f"label_rules = {rules}": bool(rules),
            'outside = "none"': self.inventory.outside == "none",
        }
        names = [name for name, holds in is_in_force.items() if holds]
        reasons = " and ".join(names) or "weights of -inf"
        args = {"text": tokens.text[:40], "constraints": reasons}
        return ValueError(Errors.HS060.format(**args))

    def _from_arrays(
        self, batch: Batch, n_spans: Any, spans: Any, confidence: Any, whole: Any
    ) -> Predictions:
        if batch.words:
            spans, first = spans.copy(), np.append(0, np.cumsum(n_spans))
            for d, words in batch.words.items():
                here = spans[first[d] : first[d + 1]]
                if len(here):
                    here[:, 0] = np.array(words.starts)[here[:, 0]]
                    here[:, 1] = np.array(words.ends)[here[:, 1] - 1]
        source = batch if confidence is None else None
        wholes = [None] * len(batch.docs) if whole is None else whole.tolist()
        args = self.inventory.names, n_spans, spans, confidence, wholes, source
        return Predictions(*args)

    def _spans(
        self, batch: Batch, segments: Sequence[Sequence[Segment]]
    ) -> list[list[Span]]:
        """Returns the spans of each instance, without existing ones. Raises ValueError
        HS060 if an instance has no segments."""
        of_rows = []
        for k, of_row in enumerate(segments):
            tokens, existing = batch.tokens[k], batch.existing[k]
            if not of_row and len(tokens):
                raise self.impossible(batch, k)
            spans = batch.spans(k, of_row)
            if existing:
                spans = [span for span in spans if existing.is_free(span)]
            of_rows.append(spans)
        return of_rows

    def _of_document(
        self,
        d: int,
        batch: Batch,
        spans: Sequence[Sequence[Span]],
        paths: Sequence[Sequence[Path]] | None,
    ) -> Prediction:
        """Returns what is predicted in a document: what is best in each instance."""
        options, tree, rows = self.options, self.tree, batch.rows(d)
        posterior = Posterior(batch, d)
        if paths is None:
            of_rows = [(batch.instance(k), spans[k]) for k in rows]
            best = [x for instance, some in of_rows for x in instance.to_document(some)]
            prediction = Prediction(best, None)
            if tree is not None:
                prediction.paths = [tree.unknown[label] for *_, label in best]
        else:
            of_instances = [(batch.instance(k), spans[k], paths[k]) for k in rows]
            prediction = confident(of_instances, options, batch.user_corrections)
            if tree is None:
                prediction.paths = None
        if (p := options.spans_threshold) is not None:
            prediction.listed = spans_above(posterior, p, batch.docs[d])
        prediction.posterior = posterior
        if options.has_whole or batch.user_corrections:
            n_spans = sum(len(spans[k]) for k in rows)
            if tree is None and len(prediction.spans) == n_spans:
                log_probs = [batch.log_prob[k] for k in rows if k in batch.log_prob]
                if len(log_probs) == len(rows):
                    prediction.whole = math.exp(math.fsum(log_probs))
            if prediction.whole is None:
                prediction.whole = posterior.whole(prediction.spans)
            if prediction.scores is not None:  # nobody knows corrections later
                prediction.posterior = None
        return prediction


def path_confidence_steps(
    batch: Batch,
    spans: Sequence[Sequence[Span]],
    segments: Sequence[list[Segment]],
    answers: Sequence[PathAnswer | None],
) -> Steps[list[list[float]]]:
    """Returns the probabilities of the predicted spans of each instance, the same bits
    as those that a posterior gives. `segments` are the segmentations that have these
    spans, and maybe existing ones; `answers` what is known of them already, as after
    decoding by expected F1. Gives the batch the probabilities of segmentations that a
    sweep finds."""
    rows = range(len(spans))
    if batch.source.inventory.on_tokens:  # several segmentations may have these spans
        return (yield from confidence_steps(batch, rows, spans))
    # Nor has every segment its span beside existing entities.
    free = [k for k in rows if not (batch.existing[k] or batch.corrections[k])]
    of_free = {k: answers[k] for k in free}
    if missing := [k for k in free if answers[k] is None]:
        potentials = [batch.potentials[k] for k in missing]
        limits = [batch.constraints[k] for k in missing]
        args = potentials, [segments[k] for k in missing], limits
        of_missing = yield from path_steps(batch.source.automaton, *args)
        of_free |= zip(missing, of_missing)
    probs: dict[int, list[float]] = {}
    for k, answer in of_free.items():
        if answer is not None:
            _, of_row, score, log_z = answer
            batch.log_z[k], batch.log_prob[k] = log_z, min(score - log_z, 0.0)
            probs[k] = [min(p, 1.0) for p in of_row]
    if rest := [k for k in rows if k not in probs]:
        of_rest = yield from confidence_steps(batch, rest, [spans[k] for k in rest])
        probs |= zip(rest, of_rest)
    return [probs[k] for k in rows]
