"""The command line of all scripts: options, and what calls the script's `measure`."""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness import N_PASSES, RESULTS, ROOT

from spacy_hosemi.configs import KINDS


def existing(text: str) -> Path:
    """A path of the command line that must exist."""
    if not (path := Path(text)).exists():
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return path


def at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    """Returns what reads a number of the command line that has a lower bound."""

    def number(text: str) -> Any:
        if not least <= (value := kind(text)) < math.inf:  # nan is not, either
            expected = f"a number of at least {least} is needed"
            raise argparse.ArgumentTypeError(f"{expected}, got {text}")
        return value

    return number


def override(text: str) -> str:
    """A setting of the command line, such as components.hosemi.max_order=3."""
    if not re.fullmatch(r"\w+(\.[\w@*-]+)+=.*", text):
        raise argparse.ArgumentTypeError(f"section.key=value is needed, got {text!r}")
    return text


def number(default: Any = None, text: str = "", least: float = 1, **others: Any) -> Any:
    """An option that takes a number, or several where the default is a list: whole
    ones, unless the lower bound is a float."""
    shown = text if default is None else f"{text} (default: %(default)s)".lstrip()
    several = {"nargs": "+"} if isinstance(default, (list, tuple)) else {}
    kind = at_least(least, type(least))
    return dict(type=kind, default=default, metavar="N", help=shown, **several) | others


def flag(text: str, **others: Any) -> Any:
    """An option that takes nothing."""
    return dict(action="store_true", help=text, **others)


def path_to(text: str, **others: Any) -> Any:
    """An option that takes a path that must exist."""
    return dict(type=existing, metavar="DIR", help=text, **others)


def some_of(names: Iterable[str]) -> Any:
    """An option that takes some of several names, all of them by default."""
    names = list(names)
    shown = f"some of {', '.join(names)} (default: all)"
    return dict(nargs="+", choices=names, default=names, metavar="NAME", help=shown)


SHARED: dict[str, dict[str, Any]] = {
    "data": dict(type=existing, metavar="DATA", help="has {train,dev,test}.jsonl"),
    "datasets": dict(type=existing, metavar="DATA", nargs="+", help="folders of data"),
    "--config": path_to(
        "of hosemi, for `spacy train` (default: what `hosemi init` writes)",
        default=ROOT / "spacy_hosemi" / "configs" / "base.cfg",
    ),
    "--overrides": dict(
        type=override,
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="settings other than the config's: components.hosemi.max_order=3",
    ),
    "--models": path_to(
        "trained pipelines with hosemi (default: --config is trained)",
        nargs="+",
        default=[],
    ),
    "--kind": dict(choices=sorted(KINDS), default="fields", help="of `hosemi init`"),
    "--lists": path_to("of `hosemi init`: lists of names"),
    "--cv": number(None, "test on N parts of train", 2),
    "--dev": flag(
        "for development: test on dev.jsonl, or on a fifth of train if there is none; "
        "test.jsonl is not read"
    ),
    "--test": flag("read test.jsonl: once, in the end"),
    "--repeats": number(1, "draw N times"),
    "--max-train": number(None, "draw at most N documents of train"),
    "--max-docs": number(None, "predict the first N documents"),
    "--max-iter": number(None, "iterations of a fit, at most"),
    "--passes": number(N_PASSES, "after a first one"),
    "--peer-settings": dict(
        nargs=2,
        type=at_least(0.0, float),
        metavar=("C1", "C2"),
        help="penalties of CRFsuite (default: the best on dev, or by 3-fold "
        "cross-validation on train)",
    ),
    "--peer-sample": number(None, "choose c1 and c2 on N documents of train", 3),
    "--output": dict(
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="where results are written, whatever is there (default: %(default)s)",
    ),
    "--runs": dict(type=Path, metavar="DIR", help="keep data, models and logs there"),
    "--json": dict(type=Path, metavar="FILE", help="append all figures as JSON"),
    "--quick": flag("small: does it run? Quote no figures"),
}


def script(
    description: str | None,
    measure: Callable[..., Any],
    shared: str = "",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **defaults: Any,
) -> Callable[[], int]:
    """Returns the `main` of a script, which measures as the command line says, see
    `run`: by options out of `SHARED`, their names with spaces between them, those of
    the script, and other defaults."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in shared.split():
        parser.add_argument(name, **SHARED[name])
    for name, option in (options or {}).items():
        parser.add_argument(name, **option)
    parser.set_defaults(**defaults)
    return lambda: run(parser.parse_args(), measure)


def run(args: argparse.Namespace, measure: Callable[..., Any]) -> int:
    """Call `measure(args, folder)`, the folder being that of --runs or a temporary one;
    what is wrong with files or data ends the script with one line, and so does an exit
    code that measure may return. Otherwise returns 0."""
    try:
        if isinstance(getattr(args, "runs", None), Path):
            name = f"{args.data.resolve().name}-{args.config.stem}"
            folder = args.runs / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
            folder.mkdir(parents=True)
            code = measure(args, folder)
        else:
            with tempfile.TemporaryDirectory() as temporary:
                code = measure(args, Path(temporary))
    except (OSError, ValueError) as error:
        sys.exit(f"{error}")
    return sys.exit(code) if code else 0
