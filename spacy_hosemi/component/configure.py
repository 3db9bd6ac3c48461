"""Makes a component follow its settings: its features and its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..features import FeatureSet
from ..hierarchy.projection import make_projection
from ..labels.label_schema import LabelSchema, read_schema
from ..prediction.thresholds import check_labels
from ..training.objectives import Objective, is_smooth
from ..values import Kind, Unfit, choice, read
from .settings import LEARNT, NAMES, Settings, check_tree, list_settings

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def _read_function(value: Any) -> Any:
    if not callable(value):
        raise Unfit
    return value


_OBJECTIVE = Kind(
    "a function, such as @misc = spacy_hosemi.log_likelihood.v1 makes", _read_function
)


def change_setting(pipe: HighOrderSemiCRF, name: str, value: Any) -> None:
    """Change one setting, as setting the attribute of this name does.

    RAISES (ValueError): As `Settings`; HS042 name; HS071 to HS074, HS076 rules; HS090,
        HS091, HS118 the features, labels or label tree do not allow it; HS150 the
        weights depend on it. The component is as it was then.
    """
    read("the name of a setting", choice(NAMES), name)
    old, change = getattr(pipe.settings, name), {name: value}
    settings = replace(pipe.settings, **change)
    check(pipe, settings, pipe.objective)
    if pipe.trainer.is_initialized:
        check_learnt(pipe, settings)
        if name == "min_confidence":
            names = pipe.schema.projection.names()
            check_labels(settings.min_confidence, names, pipe.name)
        if name == "label_rules":
            schema = replace(pipe.schema, rules=settings.label_rules)
            _ = schema.automaton
            with pipe.published.change():
                pipe.schema = schema
    pipe.settings = settings
    pipe.config_blocks.show({name: settings.cfg[name]})
    if name in LEARNT and getattr(settings, name) != old:
        choose_features(pipe)
        use_labels(pipe, pipe.labels, pipe.schema.projection.parents)


def learnt_features(pipe: HighOrderSemiCRF) -> dict[str, Any]:
    """Returns what the config says of features and the weights are made for."""
    extractor = pipe.trainer.weights.state.extractor
    lists = {
        x: [y.attr, repr(y.fuzzy)] for x, y in extractor.gazetteers.settings.items()
    }
    tables = {x: [y.attr] for x, y in extractor.tables.settings.items()}
    features = pipe.configured_features.learnt()
    return {**features, "of_gazetteers": lists, "of_tables": tables}


def check_learnt(
    pipe: HighOrderSemiCRF, settings: Settings, features: Any = None
) -> None:
    """Raises ValueError HS150 for a setting that the weights were not made for, and if
    they were made for features that are not those of the config."""
    pairs = {x: (getattr(pipe.settings, x), getattr(settings, x)) for x in LEARNT}
    if isinstance(features, Mapping):  # models of 0.2.0 have none
        for name, present in learnt_features(pipe).items():
            saved = features.get(name)
            if isinstance(saved, list) and isinstance(present, list):
                old: Counter[str] = Counter(saved)
                new: Counter[str] = Counter(present)
                saved, present = [*(old - new).elements()], [*(new - old).elements()]
            pairs[f"features.{name}"] = saved, present
    for name, (found, expected) in pairs.items():
        if found != expected:
            args = {"component": pipe.name, "found": found, "expected": expected}
            raise ValueError(Errors.HS150.format(name=name, **args))


def change_settings(pipe: HighOrderSemiCRF, cfg: Mapping[str, Any]) -> None:
    """Changes settings that differ: `spacy find-threshold` assigns the whole `cfg`."""
    for name in NAMES:
        if name in cfg and cfg[name] != pipe.settings.cfg[name]:
            change_setting(pipe, name, cfg[name])


def add_attributes(component: type) -> None:
    """Makes each setting an attribute, which is checked when it is set."""
    for setting in list_settings():
        get = attrgetter(f"settings.{setting.name}")

        def change(pipe: Any, value: Any, name: str = setting.name) -> None:
            change_setting(pipe, name, value)

        setattr(component, setting.name, property(get, change, doc=setting.meaning))


def check(pipe: HighOrderSemiCRF, settings: Settings, objective: Objective) -> None:
    """Raises HS043 for an objective, HS090, HS118 or HS395 for settings that the
    features or the label tree of a component do not allow."""
    read("objective", _OBJECTIVE, objective)
    if pipe.hierarchy is not None:
        lists = pipe.trainer.weights.state.extractor.gazetteers.settings
        check_tree(settings, is_smooth(objective), lists)
    features = pipe.configured_features
    if features.transition_roles and not settings.has_observed:
        role = features.transition_roles[0]
        found = ", ".join(dict.fromkeys(map(str, features.roles[role])))
        raise ValueError(Errors.HS090.format(role=role, found=found))
    if settings.encoding != "segments" and (names := [*features.functions.of_segments]):
        raise ValueError(Errors.HS395.format(found=names, encoding=settings.encoding))


def choose_features(pipe: HighOrderSemiCRF) -> None:
    """Lets a component read features of label patterns if there are such patterns."""
    features = pipe.configured_features
    if pipe.settings.has_observed:
        features = features.with_transitions()
    read_features(pipe, features)


def read_features(pipe: HighOrderSemiCRF, features: FeatureSet) -> None:
    """Lets a component read these features from now on."""
    extractor = pipe.trainer.weights.state.extractor
    if features is not extractor.features:
        pipe.trainer.weights.read_with(extractor.reading(features))


def use_labels(
    pipe: HighOrderSemiCRF,
    labels: Iterable[str],
    parents: Mapping[str, str] | None = None,
) -> None:
    """Gives a component labels without patterns; raises HS040 or HS115."""
    without: dict[str, Any] = {"patterns": [], "observed": [], "label_rules": []}
    cfg = {**pipe.settings.cfg, **without, "labels": [*labels], "tree": parents or {}}
    pipe.schema = make_schema(pipe, cfg)


def make_schema(pipe: HighOrderSemiCRF, cfg: Mapping[str, Any]) -> LabelSchema:
    """Returns the schema that was saved as `cfg`."""
    parents = cfg.get("tree", {})
    return read_schema(cfg, make_projection(pipe.hierarchy, cfg["labels"], parents))


def check_names(pipe: HighOrderSemiCRF) -> None:
    """Raises HS029 or HS091 if a list or a threshold has an unknown label."""
    lists = pipe.trainer.weights.state.extractor.gazetteers.settings
    for name, gazetteer in lists.items():
        if gazetteer.label is not None and gazetteer.label not in pipe.labels:
            args = {"found": gazetteer.label, "expected": pipe.labels}
            raise ValueError(Errors.HS029.format(name=name, **args))
    names = pipe.schema.projection.names()
    check_labels(pipe.settings.min_confidence, names, pipe.name)


@contextmanager
def as_a_whole(pipe: HighOrderSemiCRF) -> Iterator[None]:
    """Changes everything or nothing: after an error labels, weights and settings are as
    they were before, but for the parameters of a tok2vec."""
    with pipe.published.change(is_long=True):
        names = "settings", "facts", "prediction_warnings", "training_texts"
        values, give_back = [getattr(pipe, x) for x in names], pipe.trainer.kept()
        try:
            yield
        except BaseException:
            give_back()
            for name, value in zip(names, values):
                setattr(pipe, name, value)
            pipe.config_blocks.show(pipe.settings.cfg)
            raise
