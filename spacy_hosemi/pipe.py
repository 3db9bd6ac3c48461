"""The component: spaCy's side of the model. The only writer of doc.ents."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakSet

import numpy as np
import srsly
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, set_dropout_rate

from .answers import (
    Alternative,
    Distribution,
    OfSegments,
    make_rows,
    most_probable,
    spans_above,
    total_entropy,
)
from .checks import (
    check_fit,
    is_init_labels,
    warn_crossing,
    warn_misaligned,
    warn_rules,
)
from .collective import agree
from .confidence import (
    find_span,
    key_at,
    leave_record,
    register_component,
    register_extension,
    span_probabilities,
)
from .core import (
    Marginals,
    PatternAutomaton,
    Potentials,
    compile_grammar,
    log_partition,
)
from .decoding import best_spans, impossible, make_problem
from .entities import ATTRIBUTES as ENTITY_ATTRIBUTES
from .entities import entity_columns
from .errors import Errors
from .fit import Batch
from .fixed import read_fixed
from .gains import pattern_gains
from .growth import Met, grow
from .hierarchy import Hierarchy, Solved
from .labels import (
    SELECTIONS,
    LabelInventory,
    Pattern,
    check_asked,
    check_choice,
    mine_observed,
    mine_patterns,
    possible_lengths,
)
from .labels import Span as SpanTriple
from .levels import LevelWeights, level_weights_of
from .model import Floats, Weights, weights_of
from .neural import add_labels, set_output
from .objectives import Objective, divergence
from .preset import is_blocked, preset_entities, read_preset
from .problems import NOTHING, AnySpan, Fixed, JointMarginals, Preset, Problem
from .refinement import Refinement, check_settings, surest
from .scoring import score_entities
from .segmentation import (
    Annotation,
    Gold,
    check_known,
    labels_of,
    make_gold,
    read_annotation,
    scored_entities,
    whitespace,
)
from .selection import select_features
from .sources import read_sources
from .thresholds import (
    ThresholdsConfig,
    check_labels,
    check_share,
    check_temperature,
    least_of,
    read_thresholds,
)
from .tree import check_labels_in_tree
from .tree_answers import LeafMarginals, OfLeaves
from .units import SCOPES, batches, shift, units

FORMAT = 1

DECODINGS = ("viterbi", "mbr")

# From so many documents the layers of a tok2vec infer their shapes.
N_SAMPLES = 10

# Components that a batch fit has just given the best weights: online steps would only
# lead away from them. Copies and saved models are not in it, so they train on.
fitted: WeakSet[HighOrderSemiCRF] = WeakSet()

DEFAULT_CONFIG = """
[hosemi]
scope = "doc"
encoding = "segments"
outside = "run"
max_order = 2
pattern_min_count = 1
pattern_max = null
pattern_selection = "count"
observed_order = 0
observed_patterns = []
observed_min_count = 1
label_rules = []
explicit_length = 1
length_smoothing = 0
max_length = null
decoding = "viterbi"
expected_f1 = 0.8
collective = 0.0
spans_key = null
incorrect_spans_key = null
spans_threshold = null
confidence = false
min_confidence = 0.0
temperature = 1.0
threads = 1
hierarchy = null
scorer = {"@scorers": "spacy_hosemi.scorer.v1"}

[hosemi.model]
@architectures = "spacy_hosemi.SpanScorer.v1"
tok2vec = null
gazetteers = {}
tables = {}
l2 = 0.1
learn_rate_scale = 100.0

[hosemi.model.features]
@misc = "spacy_hosemi.features.v1"
preset = "default"
inside = []
start = []
end = []
whole = []
within = []
transition = []
transition_inside = []
min_count = 2
width = 6

[hosemi.objective]
@misc = "spacy_hosemi.log_likelihood.v1"
"""


@dataclass(frozen=True)
class Prediction:
    """Spans of one document; probabilities where they were needed.

    listed (Optional[List[Tuple[SpanTriple, float]]]): What the span group has, if that
        is not the spans.
    paths (Optional[List[List[Tuple[str, float]]]]): With labels in a tree, of each span
        the names from the top, and how probable each is.
    """

    spans: list[SpanTriple]
    scores: list[float] | None
    listed: list[tuple[SpanTriple, float]] | None = None
    paths: list[list[tuple[str, float]]] | None = None


@Language.factory(
    "hosemi",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=Config().from_str(DEFAULT_CONFIG)["hosemi"],
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    },
)
def make_hosemi(
    nlp: Language,
    name: str,
    model: Model[list[Doc], list[Potentials]],
    objective: Callable[..., Any],
    scope: str,
    encoding: str,
    outside: str,
    max_order: int,
    pattern_min_count: int,
    pattern_max: int | None,
    pattern_selection: str,
    observed_order: int,
    observed_patterns: list[list[str]],
    observed_min_count: int,
    label_rules: list[str],
    explicit_length: int,
    length_smoothing: int,
    max_length: int | None,
    decoding: str,
    expected_f1: float | None,
    collective: float,
    spans_key: str | None,
    incorrect_spans_key: str | None,
    spans_threshold: float | None,
    confidence: bool,
    min_confidence: ThresholdsConfig,
    temperature: float,
    threads: int,
    hierarchy: Any,
    scorer: Callable[..., Any] | None,
) -> HighOrderSemiCRF:
    """Make the component "hosemi"; the arguments are those of HighOrderSemiCRF."""
    return HighOrderSemiCRF(
        nlp.vocab,
        model,
        name,
        objective=objective,
        scope=scope,
        encoding=encoding,
        outside=outside,
        max_order=max_order,
        pattern_min_count=pattern_min_count,
        pattern_max=pattern_max,
        pattern_selection=pattern_selection,
        observed_order=observed_order,
        observed_patterns=observed_patterns,
        observed_min_count=observed_min_count,
        label_rules=label_rules,
        explicit_length=explicit_length,
        length_smoothing=length_smoothing,
        max_length=max_length,
        decoding=decoding,
        expected_f1=expected_f1,
        collective=collective,
        spans_key=spans_key,
        incorrect_spans_key=incorrect_spans_key,
        spans_threshold=spans_threshold,
        confidence=confidence,
        min_confidence=min_confidence,
        temperature=temperature,
        threads=threads,
        hierarchy=hierarchy,
        scorer=scorer,
    )


class HighOrderSemiCRF(TrainablePipe):
    """Extract spans with a high-order semi-Markov CRF.

    vocab (Vocab): The shared vocabulary.
    model (Model[List[Doc], List[Potentials]]): A span scorer.
    name (str): The name in the pipeline.
    objective (Callable): (automaton, potentials, gold) -> (loss, gradient).
    scope (str): What one segmentation covers: "doc", or each sentence for itself,
        "sents".
    encoding (str): "segments"; or "IO", "BIO", "BILUO": tags on tokens, linear chain.
    outside (str): Outside text as maximal runs ("run"), token by token ("token"), or
        every token is in a span ("none").
    max_order (int): Longest label pattern - 1.
    pattern_min_count (int): How often a pattern of three or more labels must occur in
        training.
    pattern_max (Optional[int]): At most so many of those.
    pattern_selection (str): Which of them: the most frequent ("count"), or those that
        would add most to a model trained without them ("gain"), which is then trained
        on: batch training only, and for about 1.4 times the time.
    observed_order (int): Above 0: label patterns up to this order have weights for the
        features in the roles of transitions, where they are seen in training.
    observed_patterns (Sequence[Sequence[str]]): Longer patterns that have them too; "*"
        stands for any label, "*1", "*2" .. for one that is the same wherever they
        stand. What is seen in training has weights.
    observed_min_count (int): How often a feature must occur with a pattern for that.
    label_rules (Sequence[str]): What the labels of a document must satisfy, such as
        "author at most once"; see `core.compile_grammar`.
    explicit_length (int): Lengths with weights of their own, if more than 1.
    length_smoothing (int): 0: the penalty draws each of these weights to 0; 1: to that
        of the next shorter length; 2: to the line through those of the two before.
    max_length (Optional[int]): Longest span in tokens; null: no limit.
    decoding (str): "viterbi", the most probable segmentation; or "mbr", the spans with
        the highest expected F1, for about three times the time.
    expected_f1 (Optional[float]): With "mbr", 0 to 1: the F1 that is expected over all
        documents; a span pays if it is more probable than half of it. None: that of
        each document alone.
    collective (float): Above 0: a second pass, in which a word counts with this weight
        for the same word elsewhere in the document; see `collective`.
    spans_key (Optional[str]): Also write doc.spans[key] with attrs["scores"].
    incorrect_spans_key (Optional[str]): In training documents the spans of this group
        are known not to be entities with their label, whatever else is missing.
    spans_threshold (Optional[float]): There not the entities, but all spans with at
        least this probability, sorted; they may overlap. Above 0, up to 1.
    confidence (bool): Store the probability of each entity with the doc; else it is
        computed when `span._.confidence` is read.
    min_confidence (Union[float, Dict[str, float], List[List]]): Drop entities that are
        less probable; by label, as keys or in pairs: those not named stay.
    temperature (float): Scores are divided by it before anything is computed from them:
        above 1 all confidences are nearer to each other. Viterbi finds the same.
    threads (int): So many batches of `pipe` are predicted at a time.
    hierarchy (Optional[Hierarchy]): Labels are leaves of a tree, and are found coarse
        to fine; see `make_hierarchy`.
    scorer (Optional[Callable]): For evaluation.
    RAISES (ValueError): HS042, HS043 if an argument is out of range; HS046 label_rules,
        HS047 decoding, HS093 incorrect_spans_key with tags on tokens; HS090
        observed_order; HS099 spans_threshold; HS101 min_confidence.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], list[Potentials]],
        name: str = "hosemi",
        *,
        objective: Objective,
        scope: str = "doc",
        encoding: str = "segments",
        outside: str = "run",
        max_order: int = 2,
        pattern_min_count: int = 1,
        pattern_max: int | None = None,
        pattern_selection: str = "count",
        observed_order: int = 0,
        observed_patterns: Sequence[Sequence[str]] = (),
        observed_min_count: int = 1,
        label_rules: Sequence[str] = (),
        explicit_length: int = 1,
        length_smoothing: int = 0,
        max_length: int | None = None,
        decoding: str = "viterbi",
        expected_f1: float | None = 0.8,
        collective: float = 0.0,
        spans_key: str | None = None,
        incorrect_spans_key: str | None = None,
        spans_threshold: float | None = None,
        confidence: bool = False,
        min_confidence: ThresholdsConfig = 0.0,
        temperature: float = 1.0,
        threads: int = 1,
        hierarchy: Hierarchy | None = None,
        scorer: Callable[..., Any] | None = score_entities,
    ) -> None:
        at_least = {
            "max_order": (max_order, 0),
            "pattern_min_count": (pattern_min_count, 1),
            "pattern_max": (0 if pattern_max is None else pattern_max, 0),
            "observed_order": (observed_order, 0),
            "observed_min_count": (observed_min_count, 1),
            "explicit_length": (explicit_length, 1),
            "length_smoothing": (length_smoothing, 0),
            "max_length": (1 if max_length is None else max_length, 1),
            "collective": (collective, 0),
            "threads": (threads, 1),
        }
        for key, (value, least) in at_least.items():
            if value < least:
                raise ValueError(
                    Errors.HS043.format(name=key, found=value, expected=f">= {least}")
                )
        check_share("expected_f1", 0.0 if expected_f1 is None else expected_f1)
        check_temperature(temperature)
        _check_threshold(spans_threshold, spans_key, encoding)
        if label_rules and encoding != "segments":
            raise ValueError(Errors.HS046.format(found=encoding))
        check_choice("scope", scope, SCOPES)
        check_choice("decoding", decoding, DECODINGS)
        check_choice("pattern_selection", pattern_selection, SELECTIONS)
        if decoding == "mbr" and encoding != "segments":
            raise ValueError(Errors.HS047.format(found=encoding))
        if incorrect_spans_key is not None and encoding != "segments":
            raise ValueError(
                Errors.HS093.format(key=incorrect_spans_key, found=encoding)
            )
        self.vocab = vocab
        self.model = model
        self.name = name
        self.objective = objective
        self.scorer = scorer
        self.cfg: dict[str, Any] = {
            "format": FORMAT,
            "labels": [],
            "patterns": [],
            "observed": [],
            "scope": scope,
            "encoding": encoding,
            "outside": outside,
            "max_order": max_order,
            "pattern_min_count": pattern_min_count,
            "pattern_max": pattern_max,
            "pattern_selection": pattern_selection,
            "observed_order": observed_order,
            "observed_patterns": [list(z) for z in observed_patterns],
            "observed_min_count": observed_min_count,
            "label_rules": list(label_rules),
            "explicit_length": explicit_length,
            "length_smoothing": length_smoothing,
            "max_length": max_length,
        }
        # Not part of what was learnt: the config decides, after loading too.
        self.decoding = decoding
        self.expected_f1 = expected_f1
        self.collective = collective
        self.spans_key = spans_key
        self.incorrect_spans_key = incorrect_spans_key
        self.spans_threshold = spans_threshold
        self.confidence = confidence
        self.min_confidence = read_thresholds(min_confidence)
        self.temperature = temperature
        self.threads = threads
        self._automaton: PatternAutomaton | None = None
        self._refinement: Refinement | None = None
        if hierarchy is not None:
            check_settings(
                {**self.cfg, "decoding": decoding},
                self.weights.extractor.gazetteers.settings,
            )
            self._refinement = Refinement(hierarchy, level_weights_of(model))
        features = self.weights.extractor.features
        if features.transition_roles and not (observed_order or observed_patterns):
            role = features.transition_roles[0]
            names = ", ".join(map(str, features.roles[role]))
            raise ValueError(Errors.HS090.format(role=role, found=names))
        if observed_order or observed_patterns:
            self.weights.observe_patterns()
        self._set_labels([], [])
        self._met = Met()
        self._id = uuid4().hex
        # A copy of the model that `nlp.resume_training` makes.
        self._rehearsal_model: Model[list[Doc], list[Potentials]] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans, without outside."""
        return tuple(self.cfg["labels"])

    @property
    def _names(self) -> Sequence[str]:
        """Labels, and what is above them in a tree."""
        return self._refinement.names if self._refinement else self.labels

    @property
    def _below(self) -> Refinement | None:
        """What is below the top of a label tree; None where nothing is."""
        refinement = self._refinement
        return refinement if refinement is not None and refinement.is_needed else None

    @property
    def has_tree(self) -> bool:
        """Whether labels are in a tree of several levels."""
        return self._below is not None

    @property
    def label_data(self) -> list[str]:
        """What `spacy init labels` writes and initialize(labels=) reads."""
        return list(self.labels)

    @property
    def weights(self) -> Weights:
        """The sparse weights, inside the model."""
        return weights_of(self.model)

    @property
    def level_weights(self) -> LevelWeights | None:
        """Those below the top, where labels are in a tree of several levels."""
        return None if self._below is None else self._below.weights

    @property
    def automaton(self) -> PatternAutomaton:
        """Of labels, patterns and rules; made when it is first asked for, since labels
        may be added one by one."""
        if self._automaton is None:
            names, rules = self.inventory.names, self._rules
            self._automaton = PatternAutomaton(
                names,
                self.cfg["patterns"],
                observed=self.cfg["observed"],
                grammar=compile_grammar(names, rules) if rules else None,
            )
        return self._automaton

    def add_label(self, label: str) -> int:
        """Add a label: before initialization, or to a trained model.

        There it begins as unlikely as the least likely label, so that predictions stay
        as they are until it is trained; what the optimizer remembers is forgotten.

        label (str): Its name.
        RETURNS (int): 0 if it is present already, otherwise 1.
        RAISES (ValueError): HS040 reserved name.
        """
        if label in self.labels:
            return 0
        n_names = len(self.inventory.names)
        labels, rules = [*self.labels, label], self.cfg.get("label_rules", [])
        if not len(self.weights.tail):
            self._set_labels(labels, [])
            return 1
        if self._refinement is not None:
            expected = "all labels when it is initialized, where they may be listed"
            found = f"{label!r} is a new one"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        observed, patterns = self.cfg.get("observed", []), self.cfg["patterns"]
        self._set_labels(labels, ())  # what patterns are mined for
        new = set(self.inventory.names[n_names:])
        mined, forbidden = self._mine_patterns([], None)
        more = [p for p in (*forbidden, *mined) if new.intersection(p)]
        self._set_labels(labels, [*patterns, *more], rules, observed)
        excluded = set(forbidden)
        is_forbidden = np.array([pattern in excluded for pattern in more], bool)
        for model in (self.model, self._rehearsal_model):
            if model is not None:
                weights_of(model).add_labels(is_forbidden, *self._possible_lengths())
                add_labels(model, len(self.inventory.names))
        return 1

    # training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        gazetteers: dict[str, Any] | None = None,
        tables: dict[str, Any] | None = None,
        fit: Callable[..., Any] | None = None,
        hierarchy: Callable[[], dict[str, str]] | None = None,
    ) -> None:
        """Collect labels, patterns and features; train, if a fit is given.

        get_examples (Callable[[], Iterable[Example]]): The training corpus.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[List[str]]): All labels; by default those of the examples.
        gazetteers (Optional[Dict[str, Callable]]): For each list of the model a
            function that gives its entries, such as spacy_hosemi.read_gazetteer.v1; if
            it needs an argument, it is given the examples.
        tables (Optional[Dict[str, Callable]]): For each table of the model a function
            that gives its rows, such as spacy_hosemi.read_table.v1; likewise.
        fit (Optional[Callable]): Batch training, such as spacy_hosemi.lbfgs.v1.
        hierarchy (Optional[Callable]): Gives the parent of each label, such as
            spacy_hosemi.read_label_tree.v1, if it is not in the names of the labels.
        RAISES (ValueError): HS029, HS035 gazetteers, tables; HS040, HS041 labels; HS079
            pattern_selection; HS091 min_confidence; HS112 observed_patterns; HS050 to
            HS053 nothing to fit, or no fit is possible.
        """
        validate_get_examples(get_examples, "HighOrderSemiCRF.initialize")
        examples = list(get_examples())
        annotations = self._annotations(examples)
        found = labels_of(annotations)
        known = list(labels) if labels is not None else list(self.labels)
        if labels is None:
            known += sorted(found.difference(known))
        if is_init_labels():
            fit = None
        else:
            self._check_selection(fit)
        if fit is not None:
            self._check_sparse("a fit")
            check_fit(examples, bool(found), nlp, self.name)
            warn_misaligned(examples)
        _annotate(nlp, examples)
        self._read_tree(hierarchy, known)
        self._set_labels(known, [])
        self._check_hard_lists()
        check_labels(self.min_confidence, self._names, self.name)
        read_sources(
            self.weights.extractor,
            gazetteers or {},
            tables or {},
            nlp or Language(self.vocab),
            examples,
            self.name,
        )
        docs, golds = self._gold(examples, annotations)
        warn_crossing(examples, annotations, self.cfg["scope"])
        self._met = Met()
        self._met.new(eg.predicted for eg in examples)
        self._initialize_patterns(golds)
        warn_rules(self.automaton, golds)
        self._initialize_weights(docs, golds)
        set_output(self.model, len(self.inventory.names))
        self.model.initialize(X=[eg.predicted for eg in examples[:N_SAMPLES]])
        fitted.discard(self)
        if fit is not None:
            fitted.add(self)
            self._fit(fit, docs, golds)
        if (below := self._below) is not None:
            parts = self._parts(examples, annotations)
            self._initialize_levels(below, docs, parts, golds)
            if fit is not None:
                below.fit(fit, self.weights, self.automaton, docs, parts, golds)

    def _read_tree(
        self, read: Callable[[], dict[str, str]] | None, labels: Sequence[str]
    ) -> None:
        """RAISES (ValueError): HS117 a label that is not in the tree; HS118 a tree that
        nothing asks for, or none that is."""
        settings = self._refinement.settings if self._refinement else None
        if (settings is not None and settings.separator is None) != (read is not None):
            raise ValueError(
                Errors.HS118.format(
                    expected="hierarchy.separator, or hierarchy in [initialize]",
                    found="there are both" if read else "there is none of them",
                )
            )
        if read is not None:
            self.cfg["tree"] = read()
            check_labels_in_tree(labels, self.cfg["tree"])

    def _initialize_levels(
        self,
        refinement: Refinement,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
    ) -> None:
        """What is below the top of a label tree."""
        self.cfg["tree"] = refinement.parents
        refinement.allocate(
            self.weights,
            docs,
            annotations,
            golds,
            self.cfg["outside"],
            max_order=self.cfg["max_order"],
            min_count=self.cfg["pattern_min_count"],
            max_patterns=self.cfg["pattern_max"],
        )
        refinement.connect(self.automaton)

    def _fit(
        self, fit: Callable[..., Any], docs: Sequence[Doc], golds: Sequence[Gold]
    ) -> None:
        """Train; once more, with the patterns that are chosen by gain."""
        fit(Batch(self.weights, self.automaton, self.objective, docs, golds))
        if self.cfg["pattern_selection"] == "gain":
            self._add_patterns(docs, golds)
            fit(Batch(self.weights, self.automaton, self.objective, docs, golds))
        self.prune()

    def _check_hard_lists(self) -> None:
        """RAISES (ValueError): HS029 a list has a label that is none of ours."""
        for name, gazetteer in self.weights.extractor.gazetteers.settings.items():
            if gazetteer.label is not None and gazetteer.label not in self.labels:
                raise ValueError(
                    Errors.HS029.format(
                        name=name, found=gazetteer.label, expected=self.labels
                    )
                )

    def _check_sparse(self, what: str) -> None:
        """RAISES (ValueError): HS053 the model has more than weights of features."""
        if self.model.layers:
            raise ValueError(Errors.HS053.format(what=what, name=self.name))

    def _initialize_patterns(self, golds: Sequence[Gold]) -> None:
        by_gain = self.cfg["pattern_selection"] == "gain"
        n_longer = 0 if by_gain else self.cfg["pattern_max"]
        patterns, forbidden = self._mine_patterns(golds, n_longer)
        self._n_forbidden = len(forbidden)
        patterns = [*forbidden, *patterns]
        check_asked(self.cfg["observed_patterns"], self.inventory)
        observed = mine_observed(
            self.inventory,
            _sequences(golds),
            max_order=self.cfg["observed_order"],
            min_count=self.cfg["pattern_min_count"],
            asked=self.cfg["observed_patterns"],
        )
        self._set_labels(self.labels, patterns, self.cfg["label_rules"], observed)

    def _mine_patterns(
        self, golds: Sequence[Gold], max_patterns: int | None
    ) -> tuple[list[Pattern], list[Pattern]]:
        return mine_patterns(
            self.inventory,
            _sequences(golds),
            max_order=self.cfg["max_order"],
            min_count=self.cfg["pattern_min_count"],
            max_patterns=max_patterns,
        )

    def _add_patterns(self, docs: Sequence[Doc], golds: Sequence[Gold]) -> None:
        """Patterns that would add most to the model as it is; their weights are 0."""
        weights = self.weights
        candidates = [p for p in self._mine_patterns(golds, None)[0] if len(p) > 2]
        documents = (
            (weights.potentials(weights.rows(doc, is_train=True), len(doc)), gold)
            for doc, gold in zip(docs, golds)
        )
        gains = pattern_gains(self.automaton, candidates, documents)
        best = np.argsort(-gains, kind="stable")[: self.cfg["pattern_max"]]
        chosen = [candidates[m] for m in sorted(best.tolist())]
        weights.set_pattern(np.concatenate([weights.pattern, np.zeros(len(chosen))]))
        patterns = [*map(tuple, self.cfg["patterns"]), *chosen]
        observed = self.cfg["observed"]
        self._set_labels(self.labels, patterns, self.cfg["label_rules"], observed)

    def _check_selection(self, fit: Callable[..., Any] | None) -> None:
        """RAISES (ValueError): HS079 if gains are asked for and cannot be measured."""
        needed = {
            "pattern_max is null": self.cfg["pattern_max"],
            "there is no fit": fit,
        }
        missing = [what for what, value in needed.items() if value is None]
        if self.cfg["pattern_selection"] == "gain" and missing:
            raise ValueError(
                Errors.HS079.format(found=" and ".join(missing), name=self.name)
            )

    def _initialize_weights(self, docs: Sequence[Doc], golds: Sequence[Gold]) -> None:
        if self.inventory.on_tokens:
            self.weights.put_features_on_tokens()
        if self._refinement is not None:
            self._refinement.weights.allocate([], [])
        pattern = np.zeros(len(self.cfg["patterns"]))
        pattern[: self._n_forbidden] = -np.inf
        learn_length = self.cfg["explicit_length"] > 1 and not self.inventory.on_tokens
        smoothing = self.cfg.get("length_smoothing", 0) if learn_length else 0
        length, tail = self._possible_lengths()
        read, least = self.weights.extractor, self.cfg["observed_min_count"]
        self.weights.allocate(
            select_features(read, docs, golds, self.automaton, least),
            pattern=pattern,
            length=length,
            tail=tail,
            learn_length=learn_length,
            length_smoothing=smoothing,
            n_observed=len(self.cfg["observed"]),
        )

    def _possible_lengths(self) -> tuple[Floats, Floats]:
        explicit, limit = self.cfg["explicit_length"], self.cfg["max_length"]
        return possible_lengths(self.inventory, explicit, limit)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One online step; nothing, if a batch fit has just found the best weights.

        What is met first is added: labels, see `add_label`; features, see `growth`.

        examples (Iterable[Example]): A batch.
        drop (float): Dropout in the tok2vec.
        sgd (Optional[Optimizer]): Gives learn rate and averages.
        losses (Optional[Dict[str, float]]): Added to under the component's name.
        RETURNS (Dict[str, float]): The losses.
        RAISES (ValueError): HS041 unknown label of an incorrect span; HS056 impossible
            gold; HS094 a span is both an entity and incorrect; HS102 not initialized.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self in fitted:
            return losses
        if not len(self.weights.tail):
            raise ValueError(Errors.HS102.format(name=self.name))
        examples = list(examples)
        validate_examples(examples, "HighOrderSemiCRF.update")
        annotations = self._annotations(examples)
        self._add_labels(labels_of(annotations))
        docs, golds = self._gold(examples, annotations)
        if not any(map(len, docs)):
            return losses
        parts = self._parts(examples, annotations)
        self._grow([eg.predicted for eg in examples])
        below = self._below
        # known documents, too: their annotation may be new
        if below is not None and self.weights.grows:
            below.grow(self.weights, docs, parts)
        set_dropout_rate(self.model, drop)
        scores, backprop = self.model.begin_update(docs)
        loss, gradients = self._losses(golds, scores)
        backprop(gradients)
        if below is not None:
            args = self.weights, self.automaton, docs, parts, golds, scores
            loss += below.accumulate(*args)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def _grow(self, docs: Sequence[Doc]) -> None:
        """Features of documents that are met first; not of a model that was pruned."""
        new = self._met.new(docs) if self.weights.grows else []
        scope = self.cfg["scope"]
        if parts := [unit.tokens for doc in new for unit in units(doc, scope)]:
            grow(self.weights, self._met, parts)

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
        **config: Any,
    ) -> dict[str, float]:
        """A step back to what was predicted when training was resumed, so that it is
        not forgotten: see `objectives.divergence`.

        examples (Iterable[Example]): A batch; only the predicted documents are read.
        sgd (Optional[Optimizer]): Gives learn rate and averages.
        losses (Optional[Dict[str, float]]): Added to under the component's name.
        RETURNS (Dict[str, float]): The losses; as they were before
            `nlp.resume_training`.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self._rehearsal_model is None:
            return losses
        scope = self.cfg["scope"]
        docs = [u.tokens for eg in examples for u in units(eg.predicted, scope)]
        scores, backprop = self.model.begin_update(docs)
        before = self._rehearsal_model.predict(docs)
        found = [divergence(self.automaton, *pair) for pair in zip(scores, before)]
        backprop([gradient for _, gradient in found])
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += float(sum(loss for loss, _ in found))
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: Sequence[Potentials]
    ) -> tuple[float, list[Potentials]]:
        """Loss of a batch and its gradient.

        examples (Iterable[Example]): A batch.
        scores (Sequence[Potentials]): Of each document; by sentence in that scope.
        RETURNS (Tuple[float, List[Potentials]]): The summed loss, the derivatives.
        """
        examples = list(examples)
        validate_examples(examples, "HighOrderSemiCRF.get_loss")
        return self._losses(self._gold(examples)[1], scores)

    def _losses(
        self, golds: Sequence[Gold], scores: Sequence[Potentials]
    ) -> tuple[float, list[Potentials]]:
        total = 0.0
        gradients = []
        for gold, potentials in zip(golds, scores):
            loss, gradient = self.objective(self.automaton, potentials, gold)
            total += loss
            gradients.append(gradient)
        return float(total), gradients

    def value_and_gradient(self, examples: Iterable[Example]) -> tuple[float, Floats]:
        """Loss and gradient of a batch at the present weights, for other optimizers.

        examples (Iterable[Example]): Documents with gold.
        RETURNS (Tuple[float, float64 [N]]): Without regularisation; the gradient in
            the order of `get_weights`.
        RAISES (ValueError): HS053 the model has a tok2vec; HS056 impossible gold.
        """
        self._check_sparse("value_and_gradient")
        docs, golds = self._gold(list(examples))
        batch = Batch(self.weights, self.automaton, self.objective, docs, golds)
        return batch.value_and_gradient()

    def get_weights(self) -> Floats:
        """RETURNS (float64 [N]): All weights of features, label patterns and lengths
        that are learnt, as one vector."""
        return self.weights.vector()

    def set_weights(self, weights: Floats) -> None:
        """Replace all weights.

        weights (float64 [N]): In the order of `get_weights`.
        RAISES (ValueError): HS055 wrong length.
        """
        self.weights.set_vector(np.asarray(weights, np.float64))

    def prune(self, below: float = 0.0) -> None:
        """Forget weights near 0, features and label patterns that have none left.

        What has weight 0 changes no prediction: a fit with l1 ends in this. Training
        can go on, with the weights that are left. Those of lengths all stay.

        below (float): The largest absolute value of a weight that is forgotten.
        RAISES (ValueError): HS043 below 0; HS118 labels in a tree.
        """
        if not below >= 0.0:
            raise ValueError(
                Errors.HS043.format(name="below", found=below, expected=">= 0")
            )
        if self._below is not None and self._below.weights.pairs:
            # rows of the top are those of the levels
            expected, found = "all features of the top", "this is prune"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        weights = self.weights
        weights.keep(np.abs(weights.matrix) > below)
        kept = (np.abs(weights.pattern) > below) | np.isneginf(weights.pattern)
        patterns = [p for p, keeps in zip(self.cfg["patterns"], kept) if keeps]
        weights.set_pattern(weights.pattern[kept])
        observed = [self.cfg.get("observed", [])[c] for c in weights.keep_observed()]
        rules = self.cfg.get("label_rules", [])
        self._set_labels(self.labels, patterns, rules, observed)

    def _gold(
        self,
        examples: Sequence[Example],
        annotations: Iterable[Annotation] | None = None,
    ) -> tuple[list[Doc], list[Gold]]:
        """What is segmented, documents or sentences, and what is known of each."""
        docs, golds = [], []
        for eg, known in zip(examples, annotations or self._annotations(examples)):
            if self._refinement is not None:
                leaves = self._refinement.tree.leaf
                check_known(known, leaves, eg.predicted, self.name)
                known = self._refinement.annotation_at_top(known)
            for unit in units(eg.predicted, self.cfg["scope"]):
                part = known.part(unit.start, unit.end)
                docs.append(unit.tokens)
                golds.append(make_gold(part, self.inventory, unit.tokens, self.name))
        return docs, golds

    def _parts(
        self, examples: Sequence[Example], annotations: Sequence[Annotation]
    ) -> list[Annotation]:
        """What is known of each document, or of its sentences."""
        found = []
        for eg, known in zip(examples, annotations):
            for unit in units(eg.predicted, self.cfg["scope"]):
                part = known.part(unit.start, unit.end)
                spaces = whitespace(unit.tokens)
                # As in `make_gold`: it is not outside where nothing is.
                if spaces is not None and self.cfg["outside"] == "none":
                    part.is_missing[spaces] = True
                found.append(part)
        return found

    def _annotations(self, examples: Iterable[Example]) -> list[Annotation]:
        return [read_annotation(eg, self.incorrect_spans_key) for eg in examples]

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """What the scorer says; it is given the tree of labels.

        examples (Iterable[Example]): Predicted and reference documents.
        RETURNS (Dict[str, Any]): See `score_entities`.
        """
        if self._below is not None:
            examples = list(examples)
            # Labels that training did not have stand below what their names say, too.
            labels = {y for eg in examples for *_, y in scored_entities(eg)[1]}
            tree = self._below.parents_of(labels)
            kwargs = {"tree": tree, **kwargs}
        found: dict[str, Any] = super().score(examples, **kwargs)
        return found

    # prediction

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream.

        stream (Iterable[Doc]): Documents.
        batch_size (int): At most so many are worked on at a time; fewer where they are
            long, for more would only take memory.
        YIELDS (Doc): In their order; those that fail go to the error handler.
        """
        error_handler = self.get_error_handler()
        for docs, found in self._predict_stream(batches(stream, batch_size)):
            try:
                self.set_annotations(docs, found())
            except Exception:
                yield from self._one_by_one(docs, error_handler)
            else:
                yield from docs

    def _predict_stream(
        self, stream: Iterable[list[Doc]]
    ) -> Iterator[tuple[list[Doc], Callable[[], list[Prediction]]]]:
        """Batches, and how to get what is predicted, which may be in work already."""
        if self.threads == 1:
            yield from ((docs, partial(self.predict, docs)) for docs in stream)
            return
        in_work: deque[tuple[list[Doc], Future[list[Prediction]]]] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            for docs in stream:
                in_work.append((docs, self._start(pool, docs, in_work)))
                if len(in_work) > 2 * self.threads:
                    docs, found = in_work.popleft()
                    yield docs, found.result
            yield from ((docs, found.result) for docs, found in in_work)

    def _start(
        self, pool: ThreadPoolExecutor, docs: list[Doc], in_work: Iterable[Any]
    ) -> Future[list[Prediction]]:
        """Have a batch predicted by another thread."""
        # New labels now: those that are at work must not see the model change.
        self._presets(docs, [found for _, found in in_work])
        # The device for arrays is part of the context.
        return pool.submit(copy_context().run, self.predict, docs)

    def _one_by_one(self, docs: list[Doc], error_handler: Any) -> Iterator[Doc]:
        """Documents some of which fail."""
        for doc in docs:
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as e:
                error_handler(self.name, self, [doc], e)
            else:
                yield doc

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Spans of each document.

        docs (Iterable[Doc]): Documents.
        RETURNS (List[Prediction]): Nothing for an untrained model.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        if not self.weights.is_trained:
            return [Prediction([], []) for _ in self._presets(docs)]
        return [x for some in batches(docs) for x in self._predict(some)]

    def _predict(self, docs: Sequence[Doc], fixed: Fixed = NOTHING) -> list[Prediction]:
        problems = self._problems(docs, fixed)
        if self._below is not None:
            return self._refined(docs, problems, fixed, self._below)
        found = self._solve(problems)
        spans = [[span for of_unit in of_doc for span in of_unit] for of_doc in found]
        listed = [self._listed(of_doc) for of_doc in problems]
        lists_ents = self.spans_key and self.spans_threshold is None
        # What is computed later would not know what is fixed.
        if not (fixed or self.confidence or lists_ents or self.min_confidence):
            return [Prediction(x, None, more) for x, more in zip(spans, listed)]
        args = [*chain(*problems)], [*chain(*found)], self.automaton, self.inventory
        of_units = iter(span_probabilities(*args))
        scores = [[*chain(*islice(of_units, len(of_doc)))] for of_doc in problems]
        return [self._confident(*of_doc) for of_doc in zip(spans, scores, listed)]

    def _refined(
        self,
        docs: Sequence[Doc],
        problems: Sequence[Sequence[Problem]],
        fixed: Fixed,
        refinement: Refinement,
    ) -> list[Prediction]:
        """With the labels of a tree."""
        solved, known = self._leaves(docs, problems, fixed, refinement)
        found = iter(refinement.best(solved, known))
        units = iter(self._of_leaves(problems, solved, refinement))
        predictions = []
        for of_doc in problems:
            spans, scores, all_paths = [], [], []
            for problem in of_doc:
                for span in next(found):
                    name = surest(span, self.min_confidence)
                    place = span.start, span.end
                    preset = problem.preset
                    if name and not (preset and not preset.is_free((*place, ""))):
                        spans += shift([(*place, name[0])], problem.unit.start)
                        scores.append(name[1])
                        all_paths.append(span.path)
            listed = None
            own = [*islice(units, len(of_doc))]
            if self.spans_threshold is not None:
                listed = spans_above(own, self.spans_threshold)
            predictions.append(Prediction(spans, scores, listed, all_paths))
        return predictions

    def _leaves(
        self,
        docs: Sequence[Doc],
        problems: Sequence[Sequence[Problem]],
        fixed: Fixed,
        refinement: Refinement,
    ) -> tuple[Solved, list[Fixed]]:
        """The last level of the tree, and what is fixed in each unit."""
        flat, presets, known = [], [], []
        for preset, of_doc in zip(self._presets(docs), problems):
            for problem in of_doc:
                start, end = problem.unit.start, problem.unit.end
                flat.append(problem)
                known.append(fixed.part(start, end))
                part = preset and preset.part(start, end)
                presets.append(part and part.beside(known[-1]))
        args = self.weights, self.automaton, self.temperature
        return refinement.solved(flat, presets, known, *args), known

    def _of_leaves(
        self,
        problems: Sequence[Sequence[Problem]],
        solved: Solved,
        refinement: Refinement,
    ) -> list[OfLeaves]:
        """The distribution of each unit."""
        flat = [problem.unit for of_doc in problems for problem in of_doc]
        return [OfLeaves(x, solved, d, refinement.tree) for d, x in enumerate(flat)]

    def _listed(
        self, problems: Sequence[Problem]
    ) -> list[tuple[SpanTriple, float]] | None:
        if self.spans_threshold is None:
            return None
        args = self.automaton, self.inventory
        some = [OfSegments(x, *args) for x in problems if len(x.unit.tokens)]
        return spans_above(some, self.spans_threshold)

    def _confident(
        self,
        spans: Sequence[SpanTriple],
        scores: Sequence[float],
        listed: list[tuple[SpanTriple, float]] | None,
    ) -> Prediction:
        least = (least_of(self.min_confidence, label) for *_, label in spans)
        kept = [i for i, pair in enumerate(zip(scores, least)) if pair[0] >= pair[1]]
        return Prediction([spans[i] for i in kept], [scores[i] for i in kept], listed)

    def _solve(
        self, problems: Sequence[Sequence[Problem]]
    ) -> list[list[list[SpanTriple]]]:
        """RETURNS (List[List[List[Tuple[int, int, str]]]]): Of each unit of each
        document, in tokens of the document."""
        flat = [problem for of_doc in problems for problem in of_doc]
        args = self.automaton, self.inventory, self.decoding, self.expected_f1
        solved = []
        for problem, spans in zip(flat, best_spans(flat, *args)):
            if spans is None:
                raise impossible(problem, self.inventory, self.cfg)
            solved.append(spans)
        of_units = iter(solved)
        return [list(islice(of_units, len(of_doc))) for of_doc in problems]

    def _problems(
        self, docs: Sequence[Doc], fixed: Fixed = NOTHING
    ) -> list[list[Problem]]:
        """What there is to segment in each document, with all scores."""
        presets = self._presets(docs)
        if self._refinement is not None:
            presets = [preset and preset.beside(fixed) for preset in presets]
            presets = [self._refinement.preset_at_top(preset) for preset in presets]
            fixed = self._refinement.fixed_at_top(fixed)
        parts = [units(doc, self.cfg["scope"]) for doc in docs]
        potentials = iter(
            self.model.predict([unit.tokens for of_doc in parts for unit in of_doc])
        )
        matches = self.weights.extractor.gazetteers.entities
        problems = [
            [
                make_problem(
                    unit,
                    next(potentials),
                    preset,
                    fixed,
                    matches(unit.tokens),
                    self.automaton,
                    self.inventory,
                )
                for unit in of_doc
            ]
            for of_doc, preset in zip(parts, presets)
        ]
        if self.collective:
            pairs = zip(docs, problems)
            weight = self.collective
            problems = [agree(doc, x, self.automaton, weight) for doc, x in pairs]
        return [[x.at_temperature(self.temperature) for x in some] for some in problems]

    def _presets(
        self, docs: Iterable[Doc], in_work: Iterable[Future[Any]] = ()
    ) -> list[Preset | None]:
        """What is preset in each document; labels first met there are added, once what
        is in work is done."""
        presets = [read_preset(doc, self.name) for doc in docs]
        labels = {y for preset in presets if preset for *_, y in preset.spans}
        if self._refinement is not None and len(self.weights.tail):
            return presets  # others only take their tokens
        if labels.difference(self.labels):
            wait(in_work)
            self._add_labels(labels)
        return presets

    def _possible(self, doc: Doc) -> list[Problem]:
        """The problems that have answers: none for an untrained model.

        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        if not self.weights.is_trained:
            return []
        (problems,) = self._problems([doc])
        problems = [problem for problem in problems if len(problem.unit.tokens)]
        for problem in problems:
            args = self.automaton, problem.potentials, problem.constraints
            if log_partition(*args) == -np.inf:
                raise impossible(problem, self.inventory, self.cfg)
        return problems

    def _distributions(self, doc: Doc) -> Sequence[Distribution]:
        """Of each unit; none for an untrained model.

        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        problems = self._possible(doc)
        if not problems:
            return []
        if self._below is None:
            return [OfSegments(x, self.automaton, self.inventory) for x in problems]
        return self._leaves_of(doc, problems, self._below)

    def _leaves_of(
        self, doc: Doc, problems: Sequence[Problem], refinement: Refinement
    ) -> list[OfLeaves]:
        """The distribution of each unit of a document, with labels in a tree."""
        solved, _ = self._leaves([doc], [problems], NOTHING, refinement)
        return self._of_leaves([problems], solved, refinement)

    def _add_labels(self, found: set[str]) -> None:
        """Labels that are first met in preset entities, or in an update."""
        for label in sorted(found.difference(self.labels)):
            self.add_label(label)

    def set_annotations(self, docs: Iterable[Doc], scores: list[Prediction]) -> None:
        """Write entities beside the preset ones, their probabilities, the span group.

        docs (Iterable[Doc]): Documents.
        scores (List[Prediction]): From `predict`.
        """
        docs = list(docs)
        self._id = register_component(self, self._id)
        columns = entity_columns(docs, [prediction.spans for prediction in scores])
        for doc, prediction, of_doc in zip(docs, scores, columns):
            spans = prediction.spans
            if not doc.has_annotation("ENT_IOB"):
                doc.from_array(ENTITY_ATTRIBUTES, of_doc)
            else:
                self._add_entities(doc, [Span(doc, *span) for span in spans])
            known: dict[str, float | None]
            known = dict.fromkeys([key_at(doc, *span) for span in spans])
            if prediction.scores is not None:
                known = dict(zip(known, prediction.scores))
            paths = (
                None if prediction.paths is None else dict(zip(known, prediction.paths))
            )
            leave_record(doc, self.name, self._id, known, paths)
            if self.spans_key:
                doc.spans[self.spans_key] = self._span_group(doc, prediction)

    def _span_group(self, doc: Doc, prediction: Prediction) -> SpanGroup:
        listed = prediction.listed
        if listed is None:
            listed = list(zip(prediction.spans, prediction.scores or ()))
        spans = [Span(doc, *span) for span, _ in listed]
        group = SpanGroup(doc, name=self.spans_key or "", spans=spans)
        group.attrs["scores"] = np.array([p for _, p in listed], "f")
        return group

    def _add_entities(self, doc: Doc, ents: list[Span]) -> None:
        """Beside the preset ones and blocked tokens; no token will be missing."""
        is_taken = np.zeros(len(doc), bool)
        for ent in ents:
            is_taken[ent.start : ent.end] = True
        others = [
            ent
            for ent in preset_entities(doc, self.name)
            if not is_taken[ent.start : ent.end].any()
        ]
        free = np.flatnonzero(is_blocked(doc) & ~is_taken).tolist()
        doc.set_ents([*others, *ents], blocked=[doc[i : i + 1] for i in free])

    def score_spans(self, doc: Doc) -> None:
        """Compute the probabilities that the record of a document still lacks.

        doc (Doc): With entities of this component.
        """
        record = doc.user_data["hosemi"][self.name]["spans"]
        spans = {key: find_span(doc, key) for key in record}
        found = {key: span for key, span in spans.items() if span is not None}
        (problems,) = self._problems([doc])
        within = [
            [
                key
                for key, (i, j, _) in found.items()
                if x.unit.start <= i and j <= x.unit.end
            ]
            for x in problems
        ]
        spans_of = [[found[key] for key in keys] for keys in within]
        scores = span_probabilities(problems, spans_of, self.automaton, self.inventory)
        record.update(zip(chain(*within), chain(*scores)))

    def token_features(self, doc: Doc, is_train: bool = False) -> list[list[str]]:
        """What the model reads at each token, in any role, without minimum count.

        doc (Doc): n tokens.
        is_train (bool): Whether lists of names are read as in training: without the
            entries that come from this document alone, and with dropout.
        RETURNS (List[List[str]]): n lists of names such as "LOWER[-1]=the".
        """
        read = self.weights.extractor.token_features
        parts = units(doc, self.cfg["scope"])
        return [names for unit in parts for names in read(unit.tokens, is_train)]

    def marginals(self, doc: Doc) -> Marginals | JointMarginals | LeafMarginals:
        """The distribution over segmentations of a document.

        doc (Doc): n tokens.
        RETURNS (Marginals): Label index 0 is outside, then as in `labels`. In the scope
            "sents" with the same attributes, but for all sentences together. With
            labels in a tree that of the leaves, without a gradient.
        """
        (problems,) = self._problems([doc])
        if self._below is not None:
            of_units = self._leaves_of(doc, problems, self._below)
            return LeafMarginals(of_units, self.labels, len(doc))
        found = [problem.marginals(self.automaton) for problem in problems]
        return found[0] if self.cfg["scope"] == "doc" else JointMarginals(found)

    def kbest(self, doc: Doc, k: int) -> list[Alternative]:
        """The k most probable segmentations of a document.

        What is most probable is not what decoding = "mbr" predicts, and min_confidence
        drops nothing. In the scope "sents" they are the best combinations of those of
        the sentences. With tags on tokens, where whitespace at the ends of spans is cut
        off, several of the k best may mean the same spans; they are one alternative
        then, with the sum of their probabilities.

        doc (Doc): n tokens.
        k (int): How many; fewer if no more are possible.
        RETURNS (List[Alternative]): Spans in tokens of the document, probability; best
            first. Of an untrained model no spans, with probability 1.
        RAISES (ValueError): HS043 k; HS060 if no segmentation is possible.
        """
        return most_probable(self._distributions(doc), k)

    def entropy(self, doc: Doc) -> float:
        """How uncertain the segmentation of a document is.

        doc (Doc): n tokens.
        RETURNS (float): Entropy of the distribution over segmentations in nats, from 0;
            in the scope "sents" the sum over the sentences. With tags on tokens that
            over sequences of tags. Of an untrained model 0.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        return total_entropy(self._distributions(doc))

    def redecode(
        self,
        doc: Doc,
        keep: Iterable[Span | SpanTriple] = (),
        forbid: Iterable[Span | AnySpan] = (),
    ) -> Doc:
        """Predict once more, given what a user has corrected.

        All other spans are decoded anew, exactly, and their confidence is that given
        what is fixed; but with tags on tokens what is forbidden does not count there.
        What is fixed goes before hard lists, and what is kept before sentence starts in
        the scope "doc"; with `collective` it speaks for the same words elsewhere. Each
        call is for itself: give what was fixed before again. With labels in a tree
        their upper names stand for all that is below them.

        doc (Doc): n tokens.
        keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
        forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are
            no entities; label None: whatever their label.
        RETURNS (Doc): The same document, with entities as the component writes them.
        RAISES (ValueError): HS095 to HS098 keep or forbid; HS060 if no segmentation is
            possible; the document is as it was then.
        """
        scope = self.cfg["scope"]
        fixed = read_fixed(doc, keep, forbid, self.inventory, scope, self._names)
        if self._refinement is not None:
            fixed = self._refinement.at_leaves(fixed)
        prediction = Prediction(list(fixed.keep), [1.0] * len(fixed.keep))
        if self.weights.is_trained:
            (prediction,) = self._predict([doc], fixed)
        self._forget(doc, fixed)
        self.set_annotations([doc], [prediction])
        return doc

    def _forget(self, doc: Doc, fixed: Fixed) -> None:
        """Preset entities that a user has said are none."""
        wrong = [x for x in doc.ents if fixed.forbids((x.start, x.end, x.label_))]
        doc.set_ents([], outside=wrong, default="unmodified")

    def to_rows(self, doc: Doc, k: int = 1) -> list[dict[str, Any]]:
        """The spans of the k most probable segmentations, as rows of a table.

        doc (Doc): n tokens.
        k (int): How many segmentations, as for `kbest`.
        RETURNS (List[Dict[str, Any]]): Plain values by column: "rank" of the
            segmentation from 1 and its "probability"; of the span "start" and "end" in
            tokens, "start_char" and "end_char", "label", "text", and as "confidence"
            the probability of the span itself, in whatever segmentation. A segmentation
            without spans has no row.
        RAISES (ValueError): As `kbest`.
        """
        return make_rows(doc, self._distributions(doc), k)

    # state

    def _set_labels(
        self,
        labels: Iterable[str],
        patterns: Iterable[tuple[str, ...]],
        rules: Sequence[str] = (),
        observed: Iterable[tuple[str, ...]] = (),
    ) -> None:
        """Labels, patterns and rules, and what follows from them."""
        labels = tuple(labels)
        names: Sequence[str] = labels
        if self._refinement is not None:
            names = self._refinement.set_labels(labels, self.cfg.get("tree", {}))
        inventory = LabelInventory(names, self.cfg["encoding"], self.cfg["outside"])
        self.inventory = inventory
        self.cfg["labels"] = list(labels)
        self.cfg["patterns"] = [list(pattern) for pattern in patterns]
        self.cfg["observed"] = [list(pattern) for pattern in observed]
        self._rules = list(rules)
        self._automaton = None

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Sequence[str] = ()
    ) -> HighOrderSemiCRF:
        """Load what `to_bytes` gave. RAISES (ValueError): HS061 to HS064."""
        with _unreadable():
            self._forget_labels(exclude)
            super().from_bytes(bytes_data, exclude=exclude)
            return self._loaded()

    def from_disk(
        self, path: str | Path, *, exclude: Sequence[str] = ()
    ) -> HighOrderSemiCRF:
        """Load what `to_disk` wrote. RAISES (ValueError): HS061 to HS064."""
        # spaCy passes over a missing cfg in silence; the labels are in it.
        for part in ("cfg", "model"):
            if part not in exclude and not (Path(path) / part).is_file():
                raise ValueError(Errors.HS061.format(path=Path(path) / part))
        with _unreadable():
            if "cfg" not in exclude:
                srsly.read_json(Path(path) / "cfg")
            self._forget_labels(exclude)
            super().from_disk(path, exclude=exclude)
            return self._loaded()

    def _forget_labels(self, exclude: Sequence[str]) -> None:
        """The model that is going to be loaded may have others."""
        if "model" not in exclude:
            set_output(self.model, None)

    def _loaded(self) -> HighOrderSemiCRF:
        version = self.cfg.get("format", 0)
        if version > FORMAT:
            raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))
        # Models of version 0.1 have no rules.
        rules = self.cfg.get("label_rules", []) if self.labels else []
        observed = self.cfg.get("observed", [])
        self._set_labels(self.labels, self.cfg["patterns"], rules, observed)
        weights, automaton = self.weights, self.automaton
        if self._refinement is not None and self._refinement.weights.pairs:
            self._refinement.connect(automaton)
        if self.cfg.get("observed_order", 0) or self.cfg.get("observed_patterns"):
            weights.observe_patterns()
        if self.inventory.on_tokens:
            weights.put_features_on_tokens()
        if weights.is_trained:
            self._check_hard_lists()
            check_labels(self.min_confidence, self._names, self.name)
        expected = len(automaton.patterns), automaton.n_labels, len(automaton.observed)
        found = len(weights.pattern), len(weights.tail), weights.n_observed
        if weights.is_trained and found != expected:
            raise ValueError(
                Errors.HS064.format(
                    found=f"{found} patterns, labels and observed patterns of weights, "
                    f"{expected} in cfg"
                )
            )
        fitted.discard(self)
        self._met = Met(knows_all=False)
        return self


@contextmanager
def _unreadable() -> Iterator[None]:
    """Whatever goes wrong while a saved model is read gets one message."""
    try:
        yield
    except Exception as e:
        if str(e).startswith("[HS"):
            raise
        raise ValueError(Errors.HS062.format(found=repr(e)[:200])) from e


def _check_threshold(
    threshold: float | None, spans_key: str | None, encoding: str
) -> None:
    """RAISES (ValueError): HS043, HS099 spans_threshold."""
    if threshold is None:
        return
    if not 0.0 < threshold <= 1.0:
        expected = "above 0 and at most 1, or null"
        raise ValueError(
            Errors.HS043.format(
                name="spans_threshold", found=threshold, expected=expected
            )
        )
    if spans_key is None or encoding != "segments":
        raise ValueError(Errors.HS099.format(key=spans_key, encoding=encoding))


def _sequences(golds: Iterable[Gold]) -> list[list[int]]:
    """Labels of the segments of each document that is known as a whole."""
    return [[y for _, _, y in gold.segments] for gold in golds if gold.segments]


def _annotate(nlp: Language | None, examples: Iterable[Example]) -> None:
    """Run the annotating components, which in `initialize` have not run yet."""
    names = nlp.config["training"].get("annotating_components", []) if nlp else []
    for name in names:
        proc = nlp.get_pipe(name)  # type: ignore[union-attr]
        for eg in examples:
            eg.predicted = proc(eg.predicted)


register_extension()
