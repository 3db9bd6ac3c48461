"""The settings of a component as its attributes: each is checked when it is set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, cast

from spacy.language import Language
from thinc.api import Model

from ..core import PatternAutomaton
from ..errors import Errors
from ..features import FeatureSet
from ..hierarchy.hierarchy import Hierarchy
from ..hierarchy.projection import make_projection
from ..labels.inventory import LabelInventory
from ..labels.label_schema import LabelSchema, read_schema
from ..model.state import Published
from ..prediction.decoder import DecodingOptions
from ..prediction.guarantee import Guarantee
from ..prediction.thresholds import Thresholds, check_labels
from ..training.objectives import Objective, is_smooth
from ..training.trainer import Trainer
from ..values import Choice, read
from .advice import Advice
from .facts import TrainingFacts, read_facts
from .saved_files import FORMAT
from .seen_texts import SeenTexts, read_seen
from .serialization import Configs, check_shapes
from .settings import (
    LEARNT,
    NAMES,
    FunctionKind,
    Settings,
    check_tree,
)

T = TypeVar("T")


class _Attribute(Generic[T]):
    """A setting as an attribute of the component."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, pipe: Configured, owner: type) -> T:
        return cast(T, getattr(pipe.settings, self._name))

    def __set__(self, pipe: Configured, value: Any) -> None:
        pipe.change_setting(self._name, value)


class Configured:
    """The part of the component that has settings, and what follows from them.

    settings (Settings): All of them.
    hierarchy (Optional[Hierarchy]): Settings of a label tree.
    facts (Optional[TrainingFacts]): Of the documents that it was initialized with.
    seen_texts (Optional[SeenTexts]): Texts that training or calibration has seen; None:
        they were not noted.
    """

    name: str
    model: Model[Any, Any]
    settings: Settings
    hierarchy: Hierarchy | None
    facts: TrainingFacts | None
    seen_texts: SeenTexts | None
    trainer: Trainer
    published: Published
    _objective: Objective
    _configs: Configs
    prediction_warnings: Advice
    decoder_number: int
    record_id: str
    # Those of the config, without what settings add.
    _features: FeatureSet

    scope = _Attribute[str]()
    clean_text = _Attribute[bool]()
    encoding = _Attribute[str]()
    outside = _Attribute[str]()
    max_order = _Attribute[int]()
    pattern_min_count = _Attribute[int]()
    pattern_max = _Attribute["int | None"]()
    pattern_selection = _Attribute[str]()
    observed_order = _Attribute[int]()
    observed_patterns = _Attribute[tuple[tuple[str, ...], ...]]()
    observed_min_count = _Attribute[int]()
    observed_max = _Attribute["int | None"]()
    label_rules = _Attribute[tuple[str, ...]]()
    explicit_length = _Attribute[int]()
    length_smoothing = _Attribute[int]()
    max_length = _Attribute["int | None"]()
    decoding = _Attribute[str]()
    expected_f1 = _Attribute["float | None"]()
    collective = _Attribute[float]()
    spans_key = _Attribute["str | None"]()
    incorrect_spans_key = _Attribute["str | None"]()
    spans_threshold = _Attribute["float | None"]()
    confidence = _Attribute[bool]()
    min_confidence = _Attribute[Thresholds]()
    temperature = _Attribute[float]()
    threads = _Attribute[int]()
    guarantee = _Attribute[Guarantee | None]()
    export_fields = _Attribute["tuple[tuple[str, str], ...] | None"]()

    @property
    def schema(self) -> LabelSchema:
        """Labels, label patterns and rules, as training changes them."""
        return self.trainer.schema

    @schema.setter
    def schema(self, schema: LabelSchema) -> None:
        self.trainer.schema = schema

    @property
    def reads_clean(self) -> bool:
        """Whether features read documents of clean words; a tok2vec reads tokens."""
        return self.settings.clean_text and not self.model.layers

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans, without outside."""
        return self.schema.labels

    @property
    def inventory(self) -> LabelInventory:
        """The names that segments have."""
        return self.schema.inventory

    @property
    def automaton(self) -> PatternAutomaton:
        """Of labels, patterns and rules."""
        return self.schema.automaton

    def show_in(self, nlp: Language) -> None:
        """Show settings, when they change, in the config of a pipeline that has the
        component."""
        self._configs.add(self, nlp)

    @property
    def cfg(self) -> dict[str, Any]:
        """What is saved beside the model: the settings, labels and label patterns, and
        facts of the training."""
        facts: dict[str, Any] = {}
        if self.facts:
            facts["trained_on"] = self.facts.to_cfg()
        if self.seen_texts is not None:
            facts["seen_texts"] = self.seen_texts.to_cfg()
        return {"format": FORMAT, **self.settings.cfg, **self.schema.to_cfg(), **facts}

    @cfg.setter
    def cfg(self, cfg: Mapping[str, Any]) -> None:
        """Change settings: `spacy find-threshold` assigns the whole."""
        for name in NAMES:
            if name in cfg and cfg[name] != self.settings.cfg[name]:
                self.change_setting(name, cfg[name])

    @property
    def objective(self) -> Objective:
        """(automaton, potentials, gold) -> (loss, gradient)."""
        return self._objective

    @objective.setter
    def objective(self, objective: Objective) -> None:
        self._check(self.settings, objective)
        self._objective = objective

    def change_setting(self, name: str, value: Any) -> None:
        """Change one setting; setting the attribute does the same.

        name (str): Of the setting.
        value (Any): As the config has it.
        RAISES (ValueError): As `Settings`; HS042 name; HS090, HS091, HS118 the
            features, labels or label tree do not allow it; HS150 the weights depend on
            it. The component is as it was then.
        """
        read("the name of a setting", Choice(tuple(NAMES)), name)
        settings, old = self.settings.changed(name, value), getattr(self, name)
        self._check(settings, self._objective)
        new = getattr(settings, name)
        if self.trainer.is_initialized and name in LEARNT and new != old:
            args = {"name": name, "component": self.name, "found": old}
            raise ValueError(Errors.HS150.format(expected=new, **args))
        if self.trainer.is_initialized and name == "min_confidence":
            names = self.schema.projection.names()
            check_labels(settings.min_confidence, names, self.name)
        self.settings = settings
        self._configs.show({name: settings.cfg[name]})
        if name in LEARNT and new != old:
            self._choose_features()
            self.use_labels(self.labels, self.schema.projection.parents)

    @contextmanager
    def _as_a_whole(self) -> Iterator[None]:
        """A change of everything, or of nothing: after an error labels, weights and
        settings are as they were before, but for the parameters of a tok2vec."""
        with self.published.change(is_long=True):
            names = "settings", "facts", "prediction_warnings", "seen_texts"
            values, give_back = [getattr(self, x) for x in names], self.trainer.kept()
            try:
                yield
            except BaseException:
                give_back()
                for name, value in zip(names, values):
                    setattr(self, name, value)
                self._configs.show(self.settings.cfg)
                raise

    def _check(self, settings: Settings, objective: Objective) -> None:
        """RAISES (ValueError): HS043 objective; HS090, HS118 settings."""
        read("objective", FunctionKind(), objective)
        if self.hierarchy is not None:
            lists = self.trainer.weights.state.extractor.gazetteers.settings
            check_tree(settings, is_smooth(objective), lists)
        if self._features.transition_roles and not settings.has_observed:
            role = self._features.transition_roles[0]
            names = ", ".join(dict.fromkeys(map(str, self._features.roles[role])))
            raise ValueError(Errors.HS090.format(role=role, found=names))

    def _choose_features(self) -> None:
        """Read features of label patterns, if there are such patterns."""
        features = self._features
        if self.settings.has_observed:
            features = features.with_transitions()
        self._read_features(features)

    def _read_features(self, features: FeatureSet) -> None:
        state = self.trainer.weights.state
        if features is not state.extractor.features:
            self.trainer.weights.read_with(state.extractor.reading(features))

    def use_labels(
        self, labels: Iterable[str], parents: Mapping[str, str] | None = None
    ) -> None:
        """Labels without patterns. RAISES (ValueError): HS040, HS115; the schema is as
        it was then."""
        without: dict[str, Any] = {"patterns": [], "observed": [], "label_rules": []}
        given = {"labels": list(labels), "tree": parents or {}}
        self.schema = self.read_schema_of({**self.settings.cfg, **without, **given})

    def read_schema_of(self, cfg: Mapping[str, Any]) -> LabelSchema:
        parents = cfg.get("tree", {})
        return read_schema(cfg, make_projection(self.hierarchy, cfg["labels"], parents))

    def _restore(self, cfg: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        """Take what was saved beside the model, which is loaded already.

        cfg (Mapping[str, Any]): What `cfg` was then.
        changed (Mapping[str, Any]): Settings that the config of the pipeline has now.
        RAISES (ValueError): HS029, HS064, HS091 it does not go with the model.
        """
        before = self.settings.cfg
        given = {
            **before,
            **{name: cfg[name] for name in NAMES if name in cfg},
        }
        free = {k: value for k, value in changed.items() if k not in LEARNT}
        self.settings = Settings(**{**given, **free})
        self.facts = read_facts(cfg.get("trained_on"))
        self.prediction_warnings = Advice()
        self.seen_texts = read_seen(cfg.get("seen_texts"))
        self._configs.show(self.settings.cfg)
        # Before initialization rules may name labels that there are not yet.
        rules = given["label_rules"] if self.trainer.is_initialized else []
        self.schema = self.read_schema_of({**given, **cfg, "label_rules": rules})
        self.trainer.connect()
        self._choose_features()
        if self.schema.inventory.on_tokens:
            features = self.trainer.weights.state.extractor.features
            self._read_features(features.on_tokens())
        if self.trainer.weights.state.is_trained:
            self._check_hard_lists()
            check_labels(self.min_confidence, self.schema.projection.names(), self.name)
            check_shapes(self.trainer.weights.state, self.schema.automaton)

    def _check_hard_lists(self) -> None:
        """RAISES (ValueError): HS029 a list has a label that is none of ours."""
        lists = self.trainer.weights.state.extractor.gazetteers.settings
        for name, gazetteer in lists.items():
            if gazetteer.label is not None and gazetteer.label not in self.labels:
                raise ValueError(
                    Errors.HS029.format(
                        name=name, found=gazetteer.label, expected=self.labels
                    )
                )


def make_options(
    settings: Settings, name: str, hierarchy: Hierarchy | None, number: int
) -> DecodingOptions:
    """RETURNS (DecodingOptions): The decoding options of a component."""
    lists_ents = settings.spans_key is not None and settings.spans_threshold is None
    return DecodingOptions(
        name,
        settings.scope,
        settings.max_length,
        settings.decoding,
        settings.expected_f1,
        settings.collective,
        settings.spans_threshold,
        settings.min_confidence,
        settings.temperature,
        settings.confidence or lists_ents,
        settings.confidence,
        hierarchy,
        number,
        settings.clean_text,
    )
