"""python -m spacy hosemi plot-fit: a picture of the course of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Overwrite, hosemi_cli
from .streams import check_file, fail, reason, say


@hosemi_cli.command("plot-fit", no_args_is_help=True)
def plot_fit_cli(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="File that a fit with fit.log wrote."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The picture: .png, .svg or .pdf."
        ),
    ],
    overwrite: Overwrite = False,
) -> None:
    """
    Draw the course of a fit from its log: the objective by iteration, the share by
    which each iteration lowered it, and scores on other documents if the log has them.

    The fit may still be going on.

    \b
    Examples:
      python -m spacy hosemi plot-fit fit.jsonl --out fit.png
    """
    from ..explain.pictures import ENDINGS, draw_fit
    from ..training.fit_log import read_log

    if output.suffix.lower() not in ENDINGS:
        fail(f"Cannot draw {str(output)!r}", f"Expected one of: {', '.join(ENDINGS)}.")
    check_file(output, overwrite)
    try:
        events = read_log(log)
    except OSError as e:
        fail(f"Cannot read {str(log)!r}", reason(e))
    except ValueError as e:  # a line that is no log, or bytes that are no text
        fail(f"Cannot read {str(log)!r}", str(e))
    try:
        draw_fit(output, events)
    except (ImportError, OSError) as e:
        fail(f"Cannot draw {str(output)!r}", str(e))
    n = sum(event["event"] == "iteration" for event in events)
    say(f"Drew {n} iterations to {output}")
