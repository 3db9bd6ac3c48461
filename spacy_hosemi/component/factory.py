"""The factory "hosemi": each config key and its default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
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
from ..training import averaged, lbfgs, objectives
from ..values import Setting, as_lists
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


def _defaults(settings: Sequence[Setting]) -> Any:
    """Returns the default of each setting, as a config can have it."""
    return as_lists({setting.name: setting.default for setting in settings})


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


def _with_settings(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a factory a keyword for each setting; which values it takes, the table
    says, and so its signature says nothing."""
    taken = signature(factory)
    parameters = [x for x in taken.parameters.values() if x.kind != x.VAR_KEYWORD]
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY) for name in NAMES]
    vars(factory)["__signature__"] = taken.replace(parameters=parameters)
    return factory


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
@_with_settings
def make_hosemi(
    nlp: Language,
    name: str,
    model: Model[list[Doc], list[Potentials]],
    objective: Callable[..., Any],
    hierarchy: Any,
    scorer: Callable[..., Any] | None,
    **settings: Any,
) -> HighOrderSemiCRF:
    """Make the component "hosemi"; the arguments are those of HighOrderSemiCRF."""
    blocks: Any = {"objective": objective, "hierarchy": hierarchy, "scorer": scorer}
    pipe = HighOrderSemiCRF(nlp.vocab, model, name, **blocks, **settings)
    pipe.config_blocks.add(pipe, nlp)
    return pipe
