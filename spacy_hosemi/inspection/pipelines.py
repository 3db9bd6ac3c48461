"""Makes pipelines of configs, and trains them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.initialize import load_vectors_into_model
from spacy.util import (
    load_config,
    load_config_from_str,
    load_model_from_config,
    registry,
)
from spacy.vocab import Vocab
from thinc.api import Config

from ..component.penalty_search import DEFAULT
from ..component.pipe import HighOrderSemiCRF
from ..configs import make_config
from ..errors import Errors
from ..training.lbfgs import FitReport
from .corpus import as_examples

FIT = "spacy_hosemi.lbfgs.v1"


def pipeline_of_kind(kind: str) -> Language:
    """Returns the pipeline of the config that init writes for a kind of texts."""
    return load_model_from_config(
        load_config_from_str(make_config(kind)), auto_fill=True
    )


def pipeline_of_config(path: Path) -> Language:
    """Returns the pipeline of a config, with the vectors that it names. Raises
    ValueError: HS252 none can be made of it, HS253 it has no component of ours."""
    try:
        config: Any = load_config(path, interpolate=False)
        nlp = load_model_from_config(config, auto_fill=True)
        if vectors := nlp.config.interpolate()["initialize"]["vectors"]:
            load_vectors_into_model(nlp, vectors)
    except Exception as e:  # of the config, or of a function that it names
        found = " ".join(str(e).partition("Available names:")[0].split())[:200]
        raise ValueError(Errors.HS252.format(path=path, found=found)) from None
    if not components_of(nlp):
        names = nlp.component_names
        raise ValueError(Errors.HS253.format(path=path, found=names))
    return nlp


def components_of(nlp: Language) -> dict[str, HighOrderSemiCRF]:
    """Returns our components of a pipeline by name."""
    return {n: pipe for n, pipe in nlp.components if isinstance(pipe, HighOrderSemiCRF)}


def setters_of(nlp: Language) -> list[str]:
    """Returns the names of the components that set entities, or do not say what they
    set; what sets doc.spans, such as a span_ruler, may be told to set them, too."""
    assigns = {name: nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names}
    told = {name for name, x in nlp.pipeline if getattr(x, "annotate_ents", False)}
    return [x for x, y in assigns.items() if not y or "doc.ents" in y or x in told]


def settings_of(nlp: Language, name: str) -> dict[str, Any]:
    """Returns the block [initialize.components.NAME] of a pipeline, interpolated; its
    fit writes nothing. Raises ValueError HS254 if it has no fit by L-BFGS."""
    blocks = nlp.config.interpolate()["initialize"].get("components") or {}
    block = {**(blocks.get(name) or {})}
    fit = {**(block.get("fit") or {})}
    if fit.get("@misc") != FIT:
        found = fit.get("@misc", "none")
        raise ValueError(Errors.HS254.format(found=found, expected=FIT))
    block["fit"] = {**fit, "progress": False, "log": None, "checkpoint": None}
    return block


def plain_fit(settings: Mapping[str, Any], **changes: Any) -> Callable[[Any], Any]:
    """Returns the fit of a block with other settings, which takes the default for l2 =
    "auto". At Ctrl-C it raises KeyboardInterrupt and keeps no weights."""
    l2 = {"l2": DEFAULT} if settings.get("l2") == "auto" else {}
    fit = registry.resolve({"fit": {**settings, **l2, **changes}})["fit"]

    def fit_to_the_end(batch: Any) -> Any:
        report = fit(batch)
        if isinstance(report, FitReport) and report.reason == "interrupted":
            raise KeyboardInterrupt
        return report

    return fit_to_the_end


def train(
    config: Config,
    name: str,
    docs: Sequence[Doc],
    vocab: Vocab,
    fit: Callable[[Any], Any] | None = None,
    labels: Sequence[str] | None = None,
) -> Language:
    """Returns a new pipeline whose component was trained on documents, without dev, by
    the `plain_fit` of its config, or another fit. `vocab` has the vectors that it may
    read. Raises KeyboardInterrupt at the first Ctrl-C."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nlp = load_model_from_config(config, vocab=vocab, auto_fill=True)
        examples = as_examples(docs, nlp)
        block = settings_of(nlp, name)
        block.pop("dev", None)
        fit_of_config = block.pop("fit")
        fit = plain_fit(fit_of_config) if fit is None else fit
        settings: dict[str, Any] = registry.resolve(block)
        if labels is not None:
            settings["labels"] = labels
        pipe: Any = nlp.get_pipe(name)
        pipe.initialize(lambda: examples, nlp=nlp, fit=fit, **settings)
    return nlp
