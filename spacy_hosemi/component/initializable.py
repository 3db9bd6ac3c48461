"""Initialization of the component: what is read and checked before training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..hierarchy.projection import read_parents
from ..labels.alignment import labels_of, out_of_reach, read_annotations
from ..labels.partial import PartialLabels
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
from ..training.lbfgs import FitReport, Lbfgs
from .advice import Advice
from .configured import make_options
from .dev_scores import watching
from .facts import training_facts
from .optimizable import Optimizable
from .penalty_search import Annotated, PenaltySearch
from .resources import read_sources
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
        if fit is not None:
            self._check_sparse("a fit")
            check_fit(examples, bool(found))
            if is_from_config:
                check_corpus_ends(nlp, self.name)
        annotate(nlp, examples)
        facts = training_facts([x.predicted for x in examples], annotations, self.name)
        if self.reads_clean:
            warn_unseen(examples, annotations, self.name)
        n_unreached = [len(out_of_reach(*pair)) for pair in zip(examples, annotations)]
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
        search, reports = None, None
        if fit is not None:
            has_log = isinstance(fit, Lbfgs) and fit.records.log is not None
            is_read = has_log or (isinstance(fit, Lbfgs) and fit.l2 is None)
            others = [*dev(nlp)] if dev is not None and is_read else []
            annotate(nlp, others)
            search = self._search(fit, zip(docs, annotations, n_unreached), others)
            fit, reports = _noting(search or fit)
            if has_log and others:
                fit = watching(self, fit, others)
        self._trainer.initialize(corpus, docs, self.settings.cfg, self.objective, fit)
        self.facts, self._advice = facts, Advice()
        if search is not None:
            self._use_choice(search)
        return reports

    def _read_dev(self, examples: list[Example]) -> list[Annotated]:
        """Documents to choose settings by."""
        known = read_annotations(examples, self.settings.incorrect_spans_key)
        n_unreached = [len(out_of_reach(*pair)) for pair in zip(examples, known)]
        clean, known = self._clean(examples, known)
        found = zip([eg.predicted for eg in clean], known, n_unreached)
        return [Annotated(*one) for one in found if len(one[0])]

    def _search(
        self,
        fit: Callable[..., Any],
        docs: Iterable[tuple[Doc, PartialLabels, int]],
        others: list[Example],
    ) -> PenaltySearch | None:
        """What chooses l2, if the fit leaves that open."""
        if not isinstance(fit, Lbfgs) or fit.l2 is not None:
            return None
        options = make_options(self.settings, self.name, self.hierarchy, 0)
        on_tokens = self.settings.encoding != "segments"
        own = [Annotated(*one) for one in docs]
        args = self._trainer, fit, options, on_tokens
        return PenaltySearch(*args, own, self._read_dev(others))

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
