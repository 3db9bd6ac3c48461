"""Initialization of the component: what is read and checked before training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.vocab import Vocab

from ..hierarchy.projection import read_parents
from ..labels.alignment import as_scored, is_complete, labels_of, read_annotations
from ..labels.partial import PartialLabels
from ..model.weights.storage import unread
from ..prediction.decoder import DecodingOptions
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
from ..training.lbfgs import FitReport, Lbfgs
from .advice import Advice
from .arguments import check_examples
from .configured import make_options
from .facts import training_facts
from .judging import GoldDoc, check_patience, watching
from .optimizable import Optimizable
from .penalty_search import PenaltySearch
from .resources import read_sources
from .seen_texts import SeenTexts
from .settings import check_trainable


def _noting(
    fit: Callable[[Any], Any],
) -> tuple[Callable[[Any], None], list[FitReport]]:
    """RETURNS (Tuple[Callable, List[FitReport]]): The same fit, and a list that gets
    what it says of each minimization."""
    reports: list[FitReport] = []

    def fit_and_note(batch: Any) -> None:
        report = fit(batch)
        if isinstance(report, FitReport):
            reports.append(report)

    return fit_and_note, reports


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
        dev: Callable[..., Any] | None,
        *,
        is_from_config: bool = True,
    ) -> list[FitReport] | None:
        """See `HighOrderSemiCRF.initialize`; is_from_config: whether the config of the
        pipeline says where the examples come from. RETURNS (Optional[List[FitReport]]):
        What the fit says of each minimization; None if there was no fit."""
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
        if isinstance(fit, Lbfgs):
            fit.check(self.objective)
        if fit is not None:
            self._check_sparse("a fit")
            check_fit(examples, bool(found))
            if is_from_config:
                check_corpus_ends(nlp, self.name)
        annotate(nlp, examples)
        facts = training_facts([x.predicted for x in examples], annotations, self.name)
        if self.reads_clean:
            warn_unseen(examples, annotations, self.name)
        search, is_watched = self._search(fit)
        others = self._read_dev(dev, nlp) if search or is_watched else []
        scored = self._scored(others)
        if isinstance(fit, Lbfgs):
            check_patience(fit.patience, scored)
        if search is not None:
            search.use(self._scored(examples, annotations), scored)
        seen = examples
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
        reports = None
        if fit is not None:
            fit, reports = _noting(search or fit)
            if is_watched and scored:
                fit = watching(fit, self.trainer, self._options_of_fit(), scored)
        self.trainer.initialize(corpus, docs, self.settings.cfg, self.objective, fit)
        self.facts, self.prediction_warnings = facts, Advice()
        self.seen_texts = SeenTexts()
        self.note_seen([*seen, *others])
        if search is not None:
            self._use_choice(search)
        return reports

    def _search(self, fit: Any) -> tuple[PenaltySearch | None, bool]:
        """RETURNS (Tuple[Optional[PenaltySearch], bool]): What chooses l2, if the fit
        leaves that open; whether the fit looks at the scores of dev."""
        if not isinstance(fit, Lbfgs):
            return None, False
        is_watched = fit.records.log is not None or fit.patience is not None
        if fit.l2 is not None:
            return None, is_watched
        on_tokens = self.settings.encoding != "segments"
        options = self._options_of_fit()
        return PenaltySearch(self.trainer, fit, options, on_tokens), is_watched

    def _options_of_fit(self) -> DecodingOptions:
        return make_options(self.settings, self.name, self.hierarchy, 0)

    def _read_dev(
        self, dev: Callable[..., Any] | None, nlp: Language | None
    ) -> list[Example]:
        """The examples of dev, as the components before this one leave them."""
        if dev is None:
            return []
        examples = check_examples(dev(nlp or Language(self.vocab)), "initialize")
        annotate(nlp, examples)
        return examples

    def _scored(
        self,
        examples: Sequence[Example],
        annotations: Sequence[PartialLabels] | None = None,
    ) -> list[GoldDoc]:
        """Documents as features read them, and what a scorer counts of each."""
        key = self.settings.incorrect_spans_key
        pairs = zip(examples, annotations or read_annotations(examples, key))
        scored = [as_scored(*pair) for pair in pairs]
        clean, known = self._clean(examples, [x for x, _ in scored])
        docs = [example.predicted for example in clean]
        args = docs, known, [n for _, n in scored], map(is_complete, examples)
        return [GoldDoc(*x) for x in zip(*args)]

    def _use_choice(self, search: PenaltySearch) -> None:
        """Keep what was chosen, and say it."""
        best = search.best
        if best is None or self.facts is None:
            return
        trials = [{**x.to_cfg(), "is_chosen": x is best} for x in search.trials]
        self.facts = replace(self.facts, trials=trials, judged_by=search.judged_by)
        if (best.decoding, best.expected_f1) != (self.decoding, self.expected_f1):
            self.change_setting("decoding", best.decoding)
            if best.decoding == "mbr":
                self.change_setting("expected_f1", best.expected_f1)
