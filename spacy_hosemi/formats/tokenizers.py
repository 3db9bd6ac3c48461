"""Pipelines that have a tokenizer alone: that of a config, or the field tokenizer."""

from __future__ import annotations

from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import load_config

from ..errors import Errors
from ..text.tokenizer import use_field_tokenizer


def blank_pipeline(config: Path | None = None, lang: str = "en") -> Language:
    """Returns a pipeline of a tokenizer alone; raises ValueError HS169 without one."""
    if config is None:
        try:
            return use_field_tokenizer(spacy.blank(lang))
        except ImportError as e:
            message = Errors.HS169.format(path=f"lang {lang!r}", reason=e)
            raise ValueError(message) from None
    try:
        # Not interpolated: paths of the data may be given to `spacy train` alone.
        block_of_nlp = load_config(config, interpolate=False).get("nlp", {})
        lang = block_of_nlp.get("lang")
        if not isinstance(lang, str):
            raise ValueError("[nlp] has no lang")
        block = block_of_nlp.get("tokenizer")
        settings = {"nlp": {"tokenizer": block}} if block else {}
        return spacy.blank(lang, config=settings)
    except Exception as e:  # of the config, or of a function that it names
        reason = " ".join(str(e).partition("Available names:")[0].split()).rstrip(".")
        args = {"path": config, "reason": reason or type(e).__name__}
        raise ValueError(Errors.HS169.format(**args)) from None
