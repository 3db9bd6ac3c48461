"""Training of a component from Python: in batch by one call, or step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..features.instances import divide
from ..labels.alignment import labels_of, read_annotations
from ..training import lbfgs
from ..training.adaptation import Adaptation
from ..training.corpus import read_corpus
from ..training.data_checks import warn_rules
from ..training.lbfgs import Fit, FitReport
from ..values import MANY, TEXT, list_of, number, or_null, read
from .configure import as_a_whole, use_labels
from .examples import (
    Annotated,
    by_clean_words,
    check_examples,
    read_corrections,
    read_examples,
    read_gold,
)
from .folds import make_folds
from .initialize import (
    check_initialization,
    check_vectors_stay,
    fitted,
    learn,
    read_scored,
)
from .judging import only_spans, scores_of, watching
from .parameters import check_sparse
from .penalty_search import DEFAULT, MOST_LEARNT, N_ADAPTED, Trial, choose_strengths
from .prediction_warnings import PredictionWarnings
from .settings import decoding_options

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


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
    strength, learnt (Optional[float]): Of `adapt`, see there, and the share of its
        documents that are predicted as they are annotated.
    """

    n_documents: int
    n_spans: int
    labels: tuple[str, ...]
    reports: tuple[FitReport, ...]
    trials: tuple[Mapping[str, Any], ...] = ()
    strength: float | None = None
    learnt: float | None = None

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


def fit(
    pipe: HighOrderSemiCRF,
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
    """Train the component anew, by all examples at once; other components of the
    pipeline stay as they are. `update` trains on from the weights that are found.

    examples (Iterable[Union[Example, Doc, Tuple[str, List[Tuple]]]]): spaCy's
        examples, documents with entities, such as `read_docs` makes, or pairs of a
        text and its spans (start and end in characters, label). The last two need
        `nlp`: its tokenizer cuts the texts (tokens of documents without a text
        stay), and the components before this one annotate them, except for those
        that set entities. Text outside the spans of a pair is in no entity.
    labels, gazetteers, tables, hierarchy: As for `initialize`.
    fit (Optional[Callable]): A fit function, such as `spacy_hosemi.averaged.v1`
        makes, instead of L-BFGS.
    dev (Optional[Iterable]): Other documents, likewise, by which l2 = "auto"
        chooses, and whose scores are in the log of the fit.
    settings (Any): Those of `spacy_hosemi.lbfgs.v1`, such as l2 and max_iter.
    RETURNS (FitResult): What the fit says of itself. Ctrl-C ends a fit as max_iter
        does, with the best weights so far and the reason "interrupted"; before the
        first iteration, and at the second time, it raises KeyboardInterrupt.
    RAISES (ValueError): HS180 no nlp; HS181 settings; HS182 an example; HS050,
        HS051 nothing to fit; HS384 to HS389, HS398 the tok2vec; HS121 the objective;
        HS271, HS272 the checkpoint; HS057 the loss is no number; HS118, HS290 the fit
        cannot train a tree; what `initialize` raises. The component is as it was then.
    RAISES (TypeError): HS231 examples; HS232, HS233 another argument.
    """
    minimize = _choose_fit(fit, settings)
    functions = {"fit": fit, "hierarchy": hierarchy}
    readers = check_initialization(nlp, labels, gazetteers, tables, **functions)
    check_vectors_stay(pipe, nlp, False)
    train = read_examples(examples, nlp, pipe)
    annotations = read_annotations(train, pipe.settings.incorrect_spans_key)
    if labels is None and pipe.trainer.is_initialized:
        # Not those of an earlier training.
        labels = sorted(labels_of(annotations))
    dev_examples = None if dev is None else read_examples(dev, nlp, pipe, "dev")
    read_dev = None if dev_examples is None else lambda _: dev_examples
    with as_a_whole(pipe):
        args = train, nlp, labels, readers, minimize, hierarchy, read_dev
        reports = learn(pipe, *args, is_from_config=False) or []
        fitted.discard(pipe)
    n_spans = sum(len(x.required) for x in annotations)
    names = tuple(pipe.schema.projection.labels)
    trials = tuple(pipe.facts.trials) if pipe.facts else ()
    return FitResult(len(train), n_spans, names, tuple(reports), trials)


def _choose_fit(fit: Fit | None, settings: dict[str, Any]) -> Fit:
    """Returns the fit function itself, or L-BFGS with the settings; raises HS181 if
    there are both, or an unknown setting."""
    expected = [setting.name for setting in lbfgs.SETTINGS]
    removed = ["spark_partitions"]  # `make_lbfgs` says what to do instead
    if unknown := [name for name in settings if name not in expected + removed]:
        raise ValueError(Errors.HS181.format(found=unknown, expected=expected))
    if fit is None:
        return lbfgs.make_lbfgs(**settings)
    if settings:
        names = [*settings, "fit"]
        raise ValueError(Errors.HS181.format(found=names, expected=["fit"]))
    return fit


def adapt(
    pipe: HighOrderSemiCRF,
    examples: Iterable[Example | Doc | Annotated],
    strength: float | None = None,
    *,
    nlp: Language | None = None,
    labels: Sequence[str] = (),
    trim: bool = False,
) -> FitResult:
    """Learn corrections without the documents that the component was trained on, and
    keep what it knows from these: see `Adaptation`.

    examples, nlp: As for `fit`; of equal texts the last one counts, and tokens without
        annotation are unknown.
    strength (Optional[float]): How firmly old weights are held, from 0 to 1e9. None:
        of STRENGTHS those that predict each example (of many: each tenth) from the
        others not worse than the best but for chance; of these the largest; of up to
        MOST_LEARNT examples the largest by which all are learnt, if there is one.
    labels (Sequence[str]): Those in the examples that are new; no others may be.
    trim (bool): Give spans the separators at their ends that predicted spans have.
    RETURNS (FitResult): Its trials have a strength; the first is the old component.
    RAISES (ValueError): HS053, HS121, HS180, HS182 as `fit`; HS042 labels that are not
        in the examples; HS043 strength, labels; HS368 no annotation; HS369 what cannot
        be adapted; HS370 a label. The component is as it was then, and after Ctrl-C.
    RAISES (TypeError): HS231 examples; HS232 nlp.
    WARNS (UserWarning): HSW05 rules; HSW96 separators are others; HSW97 equal texts.
    """
    check_sparse(pipe, "adapt")
    strength = read("strength", or_null(number(0.0, MANY)), strength)
    labels = read("labels", list_of(TEXT), labels)
    before: Any = pipe.facts.trials if pipe.facts else []
    l2 = next((trial["l2"] for trial in before if trial["is_chosen"]), DEFAULT)
    minimize = lbfgs.make_lbfgs(l2, progress=False)
    minimize.check(pipe.objective)
    if not (pipe.weights.is_trained and pipe.schema.projection.takes_labels):
        raise ValueError(Errors.HS369.format(name=pipe.name))
    read_all = read_examples(examples, nlp, pipe)
    corrections, annotations = read_corrections(pipe, read_all, labels, trim)
    old, settings = pipe.schema, pipe.settings
    with as_a_whole(pipe):
        for label in sorted(labels_of(annotations).difference(pipe.labels)):
            pipe.add_label(label)
        clean, known = by_clean_words(pipe, corrections, annotations)
        args = known, pipe.schema, settings.scope, pipe.name
        corpus = read_corpus([x.predicted for x in clean], *args)
        warn_rules(pipe.schema.automaton, corpus.golds)
        adaptation = Adaptation(pipe.trainer, corpus, settings.cfg, old)
        batch, trials = pipe.trainer.batch(corpus, pipe.objective), list[Trial]()
        options = only_spans(decoding_options(settings, pipe.name, None))
        scored = read_scored(pipe, corrections, annotations)
        judge, strengths = watching(pipe.trainer, options, scored), [strength]
        if strength is None:
            folds = make_folds(batch, scored, settings.scope, N_ADAPTED, 0)
            tried = adaptation, minimize.at(l2), folds, options
            strengths, trials = choose_strengths(*tried)
            strengths = strengths[: 1 if len(corrections) > MOST_LEARNT else None]
        for strength in strengths:
            batch.weights.set_vector(adaptation.centre)
            report = adaptation.fit(minimize, strength)(batch)
            if (learnt := judge(0)["ents_record_accuracy"]) in (None, 1.0):
                break
        adaptation.finish()
        fitted.discard(pipe)
        pipe.prediction_warnings = PredictionWarnings()
        pipe.note_seen(corrections)
    n_spans = sum(len(x.required) for x in annotations)
    rows = tuple({"strength": x.value, **scores_of(x.counts)} for x in trials)
    found = len(corrections), n_spans, pipe.labels, (report,), rows
    return FitResult(*found, strength, learnt)


def update(
    pipe: HighOrderSemiCRF,
    examples: Iterable[Example],
    *,
    drop: float = 0.0,
    sgd: Any = None,
    losses: dict[str, float] | None = None,
) -> dict[str, float]:
    """Make one online step; none if a batch fit has just found the best weights.

    New labels and features of the examples are added: see `add_label`, `growth`.

    drop (float): Dropout in the tok2vec.
    sgd (Optional[Optimizer]): Gives learn rate and averages.
    losses (Optional[Dict[str, float]]): Added to under the component's name.
    RETURNS (Dict[str, float]): The losses.
    RAISES (ValueError): HS041 unknown label of an incorrect span; HS056 impossible
        gold; HS094 a span is both an entity and incorrect; HS102 not initialized;
        HS231 examples.
    """
    losses = {} if losses is None else losses
    losses.setdefault(pipe.name, 0.0)
    if pipe in fitted:
        return losses
    examples = check_examples(examples, "update")
    trainer = pipe.trainer
    with pipe.published.change():
        if not trainer.is_initialized:
            raise ValueError(Errors.HS102.format(name=pipe.name))
        pipe.note_seen(examples)
        docs, annotations = read_gold(pipe, examples, pipe.warned_labels)
        labels = trainer.schema.projection.labels
        for label in sorted(labels_of(annotations).difference(labels)):
            pipe.add_label(label)
        scope = pipe.settings.scope
        corpus = read_corpus(docs, annotations, trainer.schema, scope, pipe.name)
        if any(map(len, docs)):
            args = corpus, docs, pipe.objective, scope, drop
            losses[pipe.name] += trainer.update(*args)[0]
            if sgd not in (None, False):
                pipe.model.finish_update(sgd)
    return losses


def rehearse(
    pipe: HighOrderSemiCRF,
    examples: Iterable[Example],
    *,
    sgd: Any = None,
    losses: dict[str, float] | None = None,
    **config: Any,
) -> dict[str, float]:
    """Make a step back to what was predicted when training was resumed, so that it
    is not forgotten: see `objectives.divergence`; none before that.

    examples (Iterable[Example]): Only the predicted documents are read.
    RETURNS (Dict[str, float]): The losses, as `update` returns them.
    """
    losses = {} if losses is None else losses
    losses.setdefault(pipe.name, 0.0)
    before = pipe._rehearsal_model
    if before is None:
        return losses
    docs, _ = read_gold(pipe, check_examples(examples, "rehearse"))
    scope = pipe.settings.scope
    tokens = [x.tokens for doc in docs for x in divide(doc, scope)]
    with pipe.published.change():
        losses[pipe.name] += pipe.trainer.rehearse(tokens, before)
        if sgd not in (None, False):
            pipe.finish_update(sgd)
    return losses


def use_params(pipe: HighOrderSemiCRF, params: dict[Any, Any]) -> Iterator[None]:
    """Predict with averaged weights for a while. As in `TrainablePipe`, it is a
    generator: `nlp.use_params` makes it a context manager."""
    with ExitStack() as stack:
        with pipe.published.change():
            stack.enter_context(pipe.model.use_params(params))
        try:
            yield
        finally:
            with pipe.published.change():
                stack.close()


def add_label(pipe: HighOrderSemiCRF, label: str) -> int:
    """Add a label: before initialization, or to a trained model.

    There it begins as unlikely as the least likely label, so that predictions stay
    as they are until it is trained; what the optimizer remembers is forgotten.

    RETURNS (int): 0 if it is present already, otherwise 1.
    RAISES (ValueError): HS040 reserved name.
    """
    with pipe.published.change():
        if label in pipe.labels:
            return 0
        if pipe.trainer.is_initialized:
            cfg = pipe.settings.cfg
            pipe.trainer.add_label(label, cfg, pipe._rehearsal_model)
        else:
            use_labels(pipe, [*pipe.labels, label], pipe.schema.projection.parents)
        return 1


def note_seen(pipe: HighOrderSemiCRF, examples: Iterable[Example]) -> None:
    """Notes texts that weights or settings are chosen by: on these `hosemi
    guarantee` promises nothing."""
    if pipe.training_texts is not None:
        pipe.training_texts.add([example.predicted.text for example in examples])
