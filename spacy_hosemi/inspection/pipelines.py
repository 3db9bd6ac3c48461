"""The pipeline that a corpus is looked at with: that of a config, or of the kind of
config that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.util import load_config, load_config_from_str, load_model_from_config

from ..component.pipe import HighOrderSemiCRF
from ..configs import make_config
from ..errors import Errors
from ..formats.tokenizers import blank_pipeline
from .kinds import Fit


class Pipelines:
    """Pipelines for one corpus.

    config (Optional[Path]): A config for training; None: one for the kind of texts.
    RAISES (ValueError): HS169 no tokenizer can be made of it; HS252 nor a pipeline;
        HS253 it has no component of ours.

    first (Language): Has a tokenizer alone: reads the texts.
    """

    def __init__(self, config: Path | None = None) -> None:
        self.first = blank_pipeline(config)
        self._path = config
        self._given = None if config is None else _of_file(config)

    def text(self, fit: Fit | None, name: str = "config.cfg") -> str:
        """RETURNS (str): The config itself, or else of the kind that fits.

        name (str): What its comments call a new one.
        """
        if self._path is not None:
            return self._path.read_text("utf8")
        return make_config(fit.kind if fit else "fields", name=name)

    def choose(self, fit: Fit | None) -> Language:
        """RETURNS (Language): The pipeline of the config, or else of the kind that
        fits."""
        if self._given is not None:
            return self._given
        return load_model_from_config(
            load_config_from_str(self.text(fit)), auto_fill=True
        )


def _of_file(path: Path) -> Language:
    try:
        config: Any = load_config(path, interpolate=False)
        nlp = load_model_from_config(config, auto_fill=True)
    except Exception as e:  # of the config, or of a function that it names
        found = " ".join(str(e).partition("Available names:")[0].split())[:200]
        raise ValueError(Errors.HS252.format(path=path, found=found)) from None
    if not components_of(nlp):
        names = nlp.component_names
        raise ValueError(Errors.HS253.format(path=path, found=names))
    return nlp


def components_of(nlp: Language) -> dict[str, HighOrderSemiCRF]:
    """RETURNS (Dict[str, HighOrderSemiCRF]): Those of a pipeline, by name."""
    return {n: pipe for n, pipe in nlp.components if isinstance(pipe, HighOrderSemiCRF)}
