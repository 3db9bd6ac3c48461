"""Commands: python -m spacy hosemi ...

spaCy imports this package before each of its own commands, so that only typer and
spacy.cli are imported at the top of its modules; all else is imported where it is used.
"""

from . import (  # noqa: F401 - the commands
    adapt,
    calibrate,
    check,
    compare,
    convert,
    errors,
    explain,
    gazetteers,
    guarantee,
    init,
    onnx,
    parse,
    prune,
    select,
    suspicious,
    tune,
    weights,
)
from .common import hosemi_cli

__all__ = ["hosemi_cli"]
