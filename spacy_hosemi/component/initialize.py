"""Initialization of a component: reads and checks what it is given, and trains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from spacy.language import Language
from spacy.training import Example, validate_get_examples

from ..errors import Errors, Warnings
from ..features import Extractor
from ..features.gazetteers.readers import no_entries
from ..hierarchy.projection import read_parents
from ..labels.alignment import (
    as_scored,
    check_reach,
    is_complete,
    labels_of,
    read_annotations,
)
from ..labels.partial import PartialLabels
from ..model.tok2vec import check_frozen, keeping_vectors
from ..model.weights.storage import unread
from ..prediction.decodings import DECODINGS
from ..training.corpus import annotate, read_corpus
from ..training.data_checks import (
    check_corpus_ends,
    check_fit,
    is_init_labels,
    warn_crossing,
    warn_given_tokens,
    warn_unseen,
    warn_unset,
)
from ..training.lbfgs import FitReport, Lbfgs
from ..training.rows import give_back_memory
from ..training.training_set import TrainingSet
from ..values import shown
from .configure import as_a_whole, change_setting, check_names, use_labels
from .examples import by_clean_words, check_examples, check_pipeline
from .judging import GoldDoc, check_patience, watching
from .penalty_search import PenaltySearch, search_of
from .prediction_warnings import PredictionWarnings
from .settings import decoding_options
from .training_summary import TrainingTexts, summarize

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

Readers = Mapping[str, Callable[..., Iterable[Any]]]

_READERS = (
    "a block with a function for each {kind}, such as spacy_hosemi.read_{kind}.v1 makes"
)
_EXPECTED = {
    "labels": "a list of names",
    "gazetteers": _READERS.format(kind="gazetteer")
    + ", or one function for all, such as spacy_hosemi.read_gazetteers.v1 makes",
    "tables": _READERS.format(kind="table"),
    "fit": "a function of the training data, such as spacy_hosemi.lbfgs.v1 makes",
    "hierarchy": "a function without arguments that gives the parent of each label, "
    "such as spacy_hosemi.read_label_tree.v1 makes",
    "dev": "a function of the pipeline that gives examples, such as spacy.Corpus.v1 "
    "makes",
}

# Components that `initialize` has just given the best weights: online steps would only
# lead away from them. Copies and saved models are not in it, so they train on.
fitted: WeakSet[HighOrderSemiCRF] = WeakSet()


def initialize(
    pipe: HighOrderSemiCRF,
    get_examples: Callable[[], Iterable[Example]],
    *,
    nlp: Language | None = None,
    labels: list[str] | None = None,
    gazetteers: dict[str, Any] | Callable[..., Any] | None = None,
    tables: dict[str, Any] | None = None,
    fit: Callable[..., Any] | None = None,
    hierarchy: Callable[[], dict[str, str]] | None = None,
    dev: Callable[..., Any] | None = None,
) -> None:
    """Collect labels, patterns and features; train, if a fit is given.

    labels (Optional[List[str]]): All labels; by default those of the examples.
    gazetteers (Optional[Union[Dict[str, Callable], Callable]]): For each list of
        the model a function that gives its entries, such as read_gazetteer.v1; if
        it needs an argument, it gets the examples. Or one function for all lists.
    tables (Optional[Dict[str, Callable]]): Likewise, for the rows of each table.
    fit (Optional[Callable]): Batch training, such as spacy_hosemi.lbfgs.v1.
    hierarchy (Optional[Callable]): Gives the parent of each label, such as
        spacy_hosemi.read_label_tree.v1, if it is not in the names of the labels.
    dev (Optional[Callable]): Gives examples by which l2 = "auto" of fit chooses.
    RAISES (ValueError): HS029, HS035 gazetteers, tables; HS040, HS041 labels; HS112
        observed_patterns; HS050 to HS052, HS398 no fit is possible; HS232, HS233 types.
        The component is as it was then, but for the parameters of a tok2vec.
    """
    validate_get_examples(get_examples, "HighOrderSemiCRF.initialize")
    functions = {"fit": fit, "hierarchy": hierarchy, "dev": dev}
    readers = check_initialization(nlp, labels, gazetteers, tables, **functions)
    with as_a_whole(pipe):
        args = nlp, labels, readers, fit, hierarchy, dev
        reports = learn(pipe, list(get_examples()), *args)
        fitted.discard(pipe) if reports is None else fitted.add(pipe)


def check_initialization(
    nlp: Any, labels: Any, gazetteers: Any, tables: Any, **functions: Any
) -> tuple[Any, Any]:
    """Returns the readers of lists and tables; raises TypeError for what `initialize`
    cannot be given: HS232 nlp, HS233 another argument."""
    check_pipeline(nlp)
    are_names = isinstance(labels, Iterable)
    if not (labels is None or are_names) or isinstance(labels, (str, bytes, Mapping)):
        raise _wrong("labels", labels)
    for name, function in functions.items():
        if not (function is None or _takes(function, int(name != "hierarchy"))):
            raise _wrong(name, function)
    readers = gazetteers or {}, tables or {}
    if not _takes(readers[0], 1):
        _check_readers("gazetteers", readers[0])
    _check_readers("tables", readers[1])
    return readers


def _check_readers(name: str, readers: Any) -> None:
    """Raises HS233 if these are no functions by name."""
    if not isinstance(readers, Mapping):
        raise _wrong(name, readers)
    for key, value in readers.items():
        if not callable(value):
            raise _wrong(name, value, f".{key}")


def _wrong(name: str, value: Any, key: str = "") -> TypeError:
    """Returns HS233 for an argument."""
    args = {"name": name, "key": key, "expected": _EXPECTED[name]}
    return TypeError(Errors.HS233.format(found=shown(value), **args))


def _takes(function: Any, n: int) -> bool:
    """Returns whether this is a function that can be called with n arguments."""
    if not callable(function):
        return False
    try:
        signature(function).bind(*range(n))
    except TypeError:
        return False
    except ValueError:  # of some builtin functions
        pass
    return True


def learn(
    pipe: HighOrderSemiCRF,
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
    """Learns labels, features and patterns of examples, and if there is a fit weights.
    Returns what the fit says of each minimization; None if there was no fit.
    is_from_config: whether the config says where the examples come from."""
    if nlp is not None:
        pipe.config_blocks.add(pipe, nlp)
    annotations = read_annotations(examples, pipe.settings.incorrect_spans_key)
    present = labels_of(annotations)
    if labels is None:
        labels = [*pipe.labels, *sorted(present.difference(pipe.labels))]
    if is_init_labels():
        fit = None
    else:
        check_reach(examples, annotations)
        warn_given_tokens(examples, nlp)
    search = search_of(fit)
    lbfgs = search.fit if search else fit if isinstance(fit, Lbfgs) else None
    is_watched = False
    if lbfgs is not None:
        lbfgs.check(pipe.objective)
        is_watched = bool(lbfgs.log or lbfgs.settings["patience"])
    if fit is not None:
        check_vectors_stay(pipe, nlp, is_from_config)
        check_fit(examples, bool(present))
        if is_from_config:
            check_corpus_ends(nlp, pipe.name)
    annotate(nlp, examples)
    docs = [example.predicted for example in examples]
    summary = summarize(docs, annotations, pipe.name)
    if pipe.reads_clean:
        warn_unseen(examples, annotations, pipe.name)
    dev_examples: list[Example] = []
    if dev is not None and (search or is_watched):
        dev_examples = check_examples(dev(nlp or Language(pipe.vocab)), "initialize")
        annotate(nlp, dev_examples)
    dev_docs = read_scored(pipe, dev_examples)
    if lbfgs is not None:
        check_patience(lbfgs.settings["patience"], dev_docs)
    options = decoding_options(pipe.settings, pipe.name, pipe.hierarchy)
    if search is not None:
        scored = read_scored(pipe, examples, annotations)
        search.prepare(pipe.trainer, options, scored, dev_docs)
        del scored
    clean, annotations = by_clean_words(pipe, examples, annotations)
    docs = [example.predicted for example in clean]
    extractor = unread(pipe.trainer.weights.state.extractor)
    warn_unset(extractor, docs)
    use_labels(pipe, labels, read_parents(pipe.hierarchy, labels, hierarchy))
    check_names(pipe)
    nlp = nlp or Language(pipe.vocab)
    read_sources(extractor, *readers, nlp, clean, pipe.name, pipe.reads_clean)
    pipe.trainer.weights.read_with(extractor)
    scope = pipe.settings.scope
    corpus = read_corpus(docs, annotations, pipe.schema, scope, pipe.name)
    warn_crossing(clean, annotations, scope, pipe.name)
    texts = TrainingTexts()
    texts.add(x.predicted.text for x in (*examples, *dev_examples))
    if is_from_config:  # nobody reads the references any more
        del clean
        examples.clear()
    reports: list[FitReport] = []
    minimize = search or fit

    def fit_and_note(batch: Any) -> None:
        if is_from_config and isinstance(batch, TrainingSet) and batch.is_last:
            docs.clear()  # nor the documents
            corpus.docs.clear()
            give_back_memory()
        # Before the last level nothing can be predicted.
        if is_watched and dev_docs and batch.is_last:
            batch.watch = watching(pipe.trainer, options, dev_docs)
        report = None if minimize is None else minimize(batch)
        if isinstance(report, FitReport):
            reports.append(report)

    args = pipe.settings.cfg, pipe.objective, None if fit is None else fit_and_note
    with keeping_vectors():
        pipe.trainer.initialize(corpus, docs, *args)
    pipe.trainer.finish_vectors()
    pipe.facts, pipe.prediction_warnings = summary, PredictionWarnings()
    pipe.training_texts = texts
    if search is not None:
        _use_choice(pipe, search)
    return None if fit is None else reports


def check_vectors_stay(
    pipe: HighOrderSemiCRF, nlp: Language | None, is_from_config: bool
) -> None:
    """Raises HS385 or HS386 for a tok2vec that a fit would have to train. Where nothing
    else is trained, the components in front stay as they are."""
    upstream, frozen = {}, None
    if nlp is not None:
        before = takewhile(lambda named: named[1] is not pipe, nlp.pipeline)
        upstream = {name: x for name, x in before if hasattr(x, "add_listener")}
        if is_from_config:
            config = nlp.config["training"]
            annotating = {*config.get("annotating_components", [])}
            frozen = annotating & {*config.get("frozen_components", [])}
    if pipe.model.layers:
        check_frozen(pipe.model, pipe.name, upstream, frozen)


def read_scored(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels] | None = None,
) -> list[GoldDoc]:
    """Returns documents as features read them, and what a scorer counts of each."""
    key = pipe.settings.incorrect_spans_key
    pairs = zip(examples, annotations or read_annotations(examples, key))
    scored = [as_scored(*pair) for pair in pairs]
    clean, labels = by_clean_words(pipe, examples, [x for x, _ in scored])
    docs = [example.predicted for example in clean]
    columns = docs, labels, [n for _, n in scored], map(is_complete, examples)
    return [GoldDoc(*row) for row in zip(*columns)]


def _use_choice(pipe: HighOrderSemiCRF, search: PenaltySearch) -> None:
    """Keeps what was chosen, and notes what was tried."""
    best, settings = search.best, pipe.settings
    if best is None or pipe.facts is None:
        return
    trials = [{**x.to_cfg(), "is_chosen": x is best} for x in search.trials]
    pipe.facts = replace(pipe.facts, trials=trials, judged_by=search.judged_by)
    if (best.decoding, best.expected_f1) != (settings.decoding, settings.expected_f1):
        change_setting(pipe, "decoding", best.decoding)
        if DECODINGS[best.decoding].reads_expected_f1:
            change_setting(pipe, "expected_f1", best.expected_f1)


def read_sources(
    extractor: Extractor,
    gazetteers: Readers | Callable[[Iterable[str]], Readers],
    tables: Readers,
    nlp: Language,
    examples: Sequence[Example],
    name: str,
    is_clean: bool,
) -> None:
    """Stores the entries of all lists and the rows of all tables, and forgets what was
    read before. Raises HS035 unless these are exactly those of the model."""
    lists = extractor.gazetteers
    if callable(gazetteers):
        gazetteers = gazetteers(lists.settings)
        _check_readers("gazetteers", gazetteers)
    _check_sources("gazetteers", gazetteers, lists.settings, name)
    _check_sources("tables", tables, extractor.tables.settings, name)
    for key, read in gazetteers.items():
        lists.compile(key, _call(read, examples), nlp, is_clean)
        if not len(lists.tries[key]) and read is not no_entries:
            attr = lists.settings[key].attr
            warnings.warn(Warnings.HSW04.format(name=key, attr=attr), stacklevel=3)
    for key, read in tables.items():
        extractor.tables.compile(key, _call(read, examples), is_clean)
    extractor.extensions.load({})
    extractor.clear()


def _check_sources(
    kind: str, readers: Readers, settings: Mapping[str, Any], name: str
) -> None:
    if set(readers) != set(settings):
        lists = {"found": list(settings), "given": list(readers)}
        raise ValueError(Errors.HS035.format(what=kind, name=name, **lists))


def _call(
    read: Callable[..., Iterable[Any]], examples: Sequence[Example]
) -> Iterable[Any]:
    """Returns what a reader reads from a file, or if it asks for them from examples."""
    parameters = signature(read).parameters.values()
    wants_examples = any(p.default is p.empty for p in parameters)
    return read(examples) if wants_examples else read()
