"""The factory "hosemi": each config key and its default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from ..core import Potentials
from ..features import feature_set as features
from ..features import tables
from ..features.gazetteers import gazetteers
from ..hierarchy import hierarchy as label_trees
from ..model import span_scorer
from ..prediction.thresholds import ThresholdsConfig
from ..training import averaged, lbfgs, objectives
from ..values import Setting
from .pipe import HighOrderSemiCRF
from .settings import NAMES, Settings, list_settings

# All checked keys of the config, by block: what the reference of the config is made of.
# {name} is the user's choice.
BLOCKS: dict[str, Sequence[Setting]] = {
    "components.hosemi": list_settings(),
    "components.hosemi.model": span_scorer.SETTINGS,
    "components.hosemi.model.features": features.SETTINGS,
    "components.hosemi.model.gazetteers.{name}": gazetteers.SETTINGS,
    "components.hosemi.model.tables.{name}": tables.SETTINGS,
    "components.hosemi.hierarchy": label_trees.SETTINGS,
    "components.hosemi.objective (spacy_hosemi.perceptron.v1)": objectives.SETTINGS,
    "initialize.components.hosemi.fit (spacy_hosemi.lbfgs.v1)": lbfgs.SETTINGS,
    "initialize.components.hosemi.fit (spacy_hosemi.averaged.v1)": averaged.SETTINGS,
}


def _defaults(settings: Sequence[Setting]) -> dict[str, Any]:
    found = {one.name: one.default for one in settings}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


DEFAULT_CONFIG: dict[str, Any] = {
    **Settings().cfg,
    "hierarchy": None,
    "scorer": {"@scorers": "spacy_hosemi.scorer.v1"},
    "model": {
        "@architectures": "spacy_hosemi.SpanScorer.v1",
        "tok2vec": None,
        "gazetteers": {},
        "tables": {},
        **_defaults(span_scorer.SETTINGS),
        "features": {
            "@misc": "spacy_hosemi.features.v1",
            **_defaults(features.SETTINGS),
        },
    },
    "objective": {"@misc": "spacy_hosemi.log_likelihood.v1"},
}


@Language.factory(
    "hosemi",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=DEFAULT_CONFIG,
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
        "ents_record_accuracy": 0.0,
    },
)
def make_hosemi(
    nlp: Language,
    name: str,
    model: Model[list[Doc], list[Potentials]],
    objective: Callable[..., Any],
    scope: str,
    clean_text: bool,
    encoding: str,
    outside: str,
    max_order: int,
    pattern_min_count: int,
    pattern_max: int | None,
    pattern_selection: str,
    observed_order: int,
    observed_patterns: list[list[str]],
    observed_min_count: int,
    observed_max: int | None,
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
    guarantee: dict[str, Any] | None,
    export_fields: dict[str, str] | list[list[str]] | None,
    hierarchy: Any,
    scorer: Callable[..., Any] | None,
) -> HighOrderSemiCRF:
    """Make the component "hosemi"; the arguments are those of HighOrderSemiCRF."""
    settings = {key: value for key, value in locals().items() if key in NAMES}
    pipe = HighOrderSemiCRF(
        nlp.vocab,
        model,
        name,
        objective=objective,
        hierarchy=hierarchy,
        scorer=scorer,
        **settings,
    )
    pipe.config_blocks.add(pipe, nlp)
    return pipe
