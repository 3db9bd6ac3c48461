"""Batch training in one call, from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..labels.alignment import labels_of, read_annotations
from ..model.weights.storage import size_of
from ..training import lbfgs
from ..training.lbfgs import Fit, FitReport
from .arguments import check_initialization
from .description import (
    Description,
    changed_settings,
    count_labels,
    list_resources,
    status_of,
    to_html,
    to_line,
)
from .examples import Annotated, read_examples
from .initializable import Initializable

# Components that `initialize` has just given the best weights: online steps would only
# lead away from them. Copies and saved models are not in it, so they train on.
fitted: WeakSet[Fitting] = WeakSet()


@dataclass(frozen=True)
class FitResult:
    """What a fit was made of, and what it says of itself.

    n_documents (int), n_spans (int): What it was trained on; spans that do not fall on
        the borders of tokens are not counted.
    labels (Tuple[str, ...]): Of the component, in their order.
    reports (Tuple[FitReport, ...]): Of each minimization: one, and with labels in a
        tree one for each level; none for a fit that makes no report.
    trials (Tuple[Mapping[str, Any], ...]): What l2 = "auto" has tried: l2, decoding,
        expected_f1, ents_f, ents_record_accuracy, is_chosen.
    """

    n_documents: int
    n_spans: int
    labels: tuple[str, ...]
    reports: tuple[FitReport, ...]
    trials: tuple[Mapping[str, Any], ...] = ()

    @property
    def n_iterations(self) -> int:
        """Iterations of all minimizations."""
        return sum(report.n_iterations for report in self.reports)

    @property
    def loss(self) -> float:
        """The summed objective at the end, with its penalties, in nats."""
        return sum(report.loss for report in self.reports)

    @property
    def is_converged(self) -> bool:
        """Whether no minimization was stopped by max_iter or Ctrl-C."""
        return all(report.is_converged for report in self.reports)

    @property
    def reason(self) -> str:
        """Why the minimizations stopped."""
        return "; ".join(dict.fromkeys(report.reason for report in self.reports))


class Fitting(Initializable):
    """The part of the component that trains it from Python, without a config."""

    def fit(
        self,
        examples: Iterable[Example | Doc | Annotated],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        gazetteers: dict[str, Any] | Callable[..., Any] | None = None,
        tables: dict[str, Any] | None = None,
        hierarchy: Callable[[], dict[str, str]] | None = None,
        fit: Fit | None = None,
        dev: Iterable[Example | Doc | Annotated] | None = None,
        **settings: Any,
    ) -> FitResult:
        """Train the component anew, by all examples at once.

        It need not be initialized before, and what it has learnt before is forgotten.
        Other components of the pipeline stay as they are. `update` trains on from the
        weights that are found.

        examples (Iterable[Union[Example, Doc, Tuple[str, List[Tuple]]]]): All training
            documents, as spaCy's examples, as documents with entities, such as
            `read_docs` makes, or as pairs of a text and its spans (start and end in
            characters, label). The last two need `nlp`: its tokenizer cuts the texts
            (tokens of documents without a text stay), and the components before this
            one annotate them, except for those that set entities. Text outside the
            spans of a pair is in no entity.
        nlp (Optional[Language]): The pipeline of the component.
        labels (Optional[List[str]]): All labels; by default those of the examples.
        gazetteers, tables, hierarchy: As for `initialize`.
        fit (Optional[Callable]): A fit function, such as `spacy_hosemi.averaged.v1`
            makes, instead of L-BFGS.
        dev (Optional[Iterable]): Other documents, likewise, by which l2 = "auto"
            chooses, and whose scores are in the log of the fit.
        settings (Any): Those of `spacy_hosemi.lbfgs.v1`: l2, l1, max_iter, tolerance,
            progress, nonnegative, log, checkpoint, checkpoint_every, choose_decoding,
            threads, patience.
        RETURNS (FitResult): What the fit says of itself. Ctrl-C ends a fit as max_iter
            does, with the best weights so far and the reason "interrupted"; before the
            first iteration, and at the second time, it raises KeyboardInterrupt.
        RAISES (ValueError): HS180 no nlp; HS181 settings; HS182 an example;
            HS050, HS051 nothing to fit; HS053 the component has a tok2vec; HS121 the
            objective; HS271 the file `checkpoint`; HS057 the loss is no number; HS118,
            HS290 the fit cannot train a tree; HS272 the file is of other labels,
            features or annotation. What `initialize` raises. The component is as it was
            then.
        RAISES (TypeError): HS231 examples; HS232, HS233 another argument.
        """
        function = choose_fit(fit, settings)
        given = labels, gazetteers, tables, fit, hierarchy
        readers = check_initialization(nlp, *given)
        self._check_sparse("a fit")
        known = read_examples(examples, nlp, self)
        annotations = read_annotations(known, self.settings.incorrect_spans_key)
        if labels is None and self.trainer.is_initialized:
            # Not those of an earlier training.
            labels = sorted(labels_of(annotations))
        others = None if dev is None else read_examples(dev, nlp, self)
        with self._as_a_whole():
            read_dev = None if others is None else lambda _: others
            args = known, nlp, labels, readers, function, hierarchy, read_dev
            reports = self._initialize(*args, is_from_config=False) or []
            fitted.discard(self)
        n_spans = sum(len(one.required) for one in annotations)
        names = tuple(self.schema.projection.labels)
        trials = tuple(self.facts.trials) if self.facts else ()
        return FitResult(len(known), n_spans, names, tuple(reports), trials)

    def __repr__(self) -> str:
        """One line: the name, whether it is trained, the labels."""
        status = status_of(self._training.state, self.facts)
        return to_line(self.name, status, self.schema.projection.labels)

    def _repr_html_(self) -> str:
        """RETURNS (str): For notebooks: labels and their spans in training, the size,
        settings that differ from the defaults."""
        weights, is_made = self.weights, self.trainer.is_initialized
        found = Description(
            self.name,
            status_of(weights, self.facts),
            count_labels(self.schema.projection.labels, self.facts),
            weights.cached(size_of) if is_made else {},
            changed_settings(self.settings),
            list_resources(weights, bool(self.model.layers)),
        )
        return to_html(found)


def choose_fit(fit: Fit | None, settings: dict[str, Any]) -> Fit:
    """RETURNS (Callable): The fit function itself, or L-BFGS with the settings.

    RAISES (ValueError): HS181 both of them, or an unknown setting; HS043, HS054 a
        setting.
    """
    expected = [one.name for one in lbfgs.SETTINGS]
    removed = ["spark_partitions"]  # `make_lbfgs` says what to do instead
    if unknown := [name for name in settings if name not in expected + removed]:
        raise ValueError(Errors.HS181.format(found=unknown, expected=expected))
    if fit is None:
        return lbfgs.make_lbfgs(**settings)
    if settings:
        raise ValueError(
            Errors.HS181.format(found=[*settings, "fit"], expected=["fit"])
        )
    return fit
