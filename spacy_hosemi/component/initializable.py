"""Initialization of the component: what is read and checked before training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.vocab import Vocab

from ..hierarchy.projection import read_parents
from ..labels.alignment import labels_of, read_annotations
from ..model.weights.storage import unread
from ..prediction.thresholds import check_labels
from ..training.corpus import annotate, read_corpus
from ..training.data_checks import (
    check_corpus_ends,
    check_fit,
    check_reach,
    is_init_labels,
    warn_crossing,
    warn_given_tokens,
    warn_unseen,
    warn_unset,
)
from .advice import Advice
from .facts import training_facts
from .optimizable import Optimizable
from .resources import read_sources
from .settings import check_trainable


class Initializable(Optimizable):
    """The part of the component that is made by its training corpus."""

    vocab: Vocab

    def _initialize(
        self,
        examples: list[Example],
        nlp: Language | None,
        labels: list[str] | None,
        readers: tuple[Any, Any],
        fit: Callable[..., Any] | None,
        hierarchy: Callable[[], dict[str, str]] | None,
        *,
        is_from_config: bool = True,
    ) -> bool:
        """See `HighOrderSemiCRF.initialize`; is_from_config: whether the config of the
        pipeline says where the examples come from. RETURNS (bool): Whether a fit was
        made."""
        if nlp is not None:
            self.show_in(nlp)
        key = self.settings.incorrect_spans_key
        annotations = read_annotations(examples, key)
        found = labels_of(annotations)
        known = list(labels) if labels is not None else list(self.labels)
        if labels is None:
            known += sorted(found.difference(known))
        if is_init_labels():
            fit = None
        else:
            check_trainable(self.settings, self.name)
            check_reach(examples, annotations)
            warn_given_tokens(examples, nlp)
        if fit is not None:
            self._check_sparse("a fit")
            check_fit(examples, bool(found))
            if is_from_config:
                check_corpus_ends(nlp, self.name)
        annotate(nlp, examples)
        facts = training_facts([x.predicted for x in examples], annotations, self.name)
        if self.reads_clean:
            warn_unseen(examples, annotations, self.name)
        clean, annotations = self._clean(examples, annotations)
        examples = [*clean]
        docs = [eg.predicted for eg in examples]
        extractor = unread(self._training.state.extractor)
        warn_unset(extractor, docs)
        self.use_labels(known, read_parents(self.hierarchy, known, hierarchy))
        self._check_hard_lists()
        check_labels(self.min_confidence, self.schema.projection.names(), self.name)
        nlp = nlp or Language(self.vocab)
        is_clean = self.reads_clean
        read_sources(extractor, *readers, nlp, examples, self.name, is_clean)
        self._training.read_with(extractor)
        scope = self.settings.scope
        corpus = read_corpus(docs, annotations, self.schema, scope, self.name)
        warn_crossing(examples, annotations, scope, self.name)
        self._trainer.initialize(corpus, docs, self.settings.cfg, self.objective, fit)
        self.facts, self._advice = facts, Advice()
        return fit is not None
