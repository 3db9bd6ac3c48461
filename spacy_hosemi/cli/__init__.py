"""Commands: python -m spacy hosemi ...

spaCy imports this package before each of its own commands. What a command needs is
imported with its module, when the command is asked for.
"""

import typer
from spacy.cli._util import app

from .streams import CommandGroup

__all__ = ["hosemi_cli"]

hosemi_cli = typer.Typer(
    name="hosemi",
    cls=CommandGroup,
    help="Convert annotations, write a config, turn lines of text into records; look "
    "into hosemi components and their lists; make them smaller; choose what to "
    "annotate next; say why a span is predicted; show what pipelines get wrong, "
    "compare them; say how far confidences can be trusted, and which answers need no "
    "eye.",
    no_args_is_help=True,
    rich_markup_mode=None,
    callback=lambda: None,  # it is a group before it has commands
)
app.add_typer(hosemi_cli)
