"""Commands: python -m spacy hosemi ...

spaCy imports this module before each of its own commands, so that only typer and
spacy.cli are imported here; all else is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from spacy.cli._util import app, import_code

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

HELP = "Look into hosemi components: what they learnt."

# Smaller weights of a feature are left out of tables that show those of all labels.
LEAST = 0.01

hosemi_cli = typer.Typer(
    name="hosemi", help=HELP, no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(hosemi_cli)


@hosemi_cli.command("weights", no_args_is_help=True)
def weights_cli(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Folder or package name of a trained pipeline."
        ),
    ],
    top: Annotated[
        int,
        typer.Option(
            "--top",
            "-n",
            min=1,
            metavar="N",
            help="How many in each list; of families all.",
        ),
    ] = 10,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            "-l",
            metavar="LABEL",
            help='Only this label ("O": outside), or tag such as B-PER. Repeatable.',
            show_default="all",
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="Only features read in this role: inside, start, end, ...",
            show_default="all",
        ),
    ] = None,
    feature: Annotated[
        str,
        typer.Option(
            "--feature",
            "-f",
            metavar="TEXT",
            help="Only features with TEXT in their name, with the weights of all "
            "labels: LOWER=in, start:SHAPE, ...",
            show_default=False,
        ),
    ] = "",
    negative: Annotated[
        bool, typer.Option("--negative", help="Also what says most against a label.")
    ] = False,
    patterns: Annotated[
        bool,
        typer.Option(
            "--patterns/--no-patterns",
            help="List label patterns too, unless only some features are asked for.",
        ),
    ] = True,
    families: Annotated[
        bool,
        typer.Option(
            "--families",
            help="Instead of single features: how much each template weighs.",
        ),
    ] = False,
    component: Annotated[
        str | None,
        typer.Option(
            "--component",
            metavar="NAME",
            help="Name in the pipeline, if it has several hosemi components.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of tables.")
    ] = False,
    code_path: Annotated[
        Path | None,
        typer.Option(
            "--code",
            "-c",
            metavar="FILE",
            help="Python file to import first: functions that the config names.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """
    List what each feature did: the strongest weights of every label.

    A feature is named role:TEMPLATE=value; "docs" is in how many training documents
    it occurred. What decides is by how much its weight for one label is larger than
    that for another.

    \b
    Examples:
      python -m spacy hosemi weights model/model-last --label date --negative
      python -m spacy hosemi weights model/model-last --feature "LOWER=in"
      python -m spacy hosemi weights model/model-last --families
    """
    import_code(code_path)
    pipe = _load_component(model, component)
    which: dict[str, Any] = {"labels": label or [], "role": role, "text": feature}
    try:
        if families:
            report = _report_families(pipe, **which)
        elif feature:
            report = _report_matching(pipe, top=top, **which)
        else:
            report = _report_strongest(pipe, top=top, negative=negative, **which)
            if patterns and role is None:
                report |= _report_patterns(pipe, label or [], top, negative)
    except ValueError as e:
        _fail(str(e))
    if as_json:
        _print_json({"component": pipe.name, **report})
    else:
        _print_tables(pipe, report, feature)


def _load_component(model: str, name: str | None) -> HighOrderSemiCRF:
    """The trained component of a saved pipeline; otherwise exit with a message."""
    from spacy.util import load_model

    from .pipe import HighOrderSemiCRF

    try:
        nlp = load_model(model)
    except (ImportError, OSError, ValueError) as e:
        reason = str(e).rstrip(". ")
        _fail(f"Cannot load the pipeline {model!r}", f"{reason}.{_nearby(model)}")
    found = {
        n: pipe for n, pipe in nlp.components if isinstance(pipe, HighOrderSemiCRF)
    }
    components = ", ".join(nlp.component_names) or "none"
    if not found:
        _fail(
            f"No hosemi component in {model!r}",
            f"Expected one; its components are: {components}.",
        )
    if name is not None and name not in found:
        _fail(
            f"No hosemi component {name!r} in {model!r}",
            f"Its hosemi components are: {', '.join(found)}; all: {components}.",
        )
    if name is None and len(found) > 1:
        _fail(
            f"{len(found)} hosemi components in {model!r}",
            f"Choose one by --component: {', '.join(found)}.",
        )
    pipe = found[name or next(iter(found))]
    if not pipe.weights.is_trained:
        _fail(
            f"The component {pipe.name!r} in {model!r} is not trained",
            "All its weights are 0. Expected a pipeline that `spacy train` wrote.",
        )
    return pipe


def _nearby(model: str) -> str:
    """A hint for those who name the folder around a pipeline."""
    found = [str(Path(model) / name) for name in ("model-best", "model-last")]
    found = [path for path in found if Path(path).is_dir()]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _report_strongest(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import strongest_features

    found = strongest_features(pipe, **which)
    return {"labels": {name: list(map(asdict, of)) for name, of in found.items()}}


def _report_patterns(
    pipe: HighOrderSemiCRF, labels: list[str], top: int, negative: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import count_forbidden, strongest_patterns

    found = strongest_patterns(pipe, labels=labels, top=top, negative=negative)
    return {
        "patterns": list(map(asdict, found)),
        "forbidden_patterns": count_forbidden(pipe),
    }


def _report_matching(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import count_features, find_features

    return {
        "matching": count_features(pipe, role=which["role"], text=which["text"]),
        "features": list(map(asdict, find_features(pipe, **which))),
    }


def _report_families(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import weight_families

    return {"families": list(map(asdict, weight_families(pipe, **which)))}


def _print_json(report: dict[str, Any]) -> None:
    import srsly

    print(srsly.json_dumps(report, indent=2))


def _print_tables(pipe: HighOrderSemiCRF, report: dict[str, Any], text: str) -> None:
    from wasabi import msg

    weights = pipe.weights
    msg.info(
        f"{pipe.name}: {len(weights.names):,} features, {len(weights.pattern):,} label "
        f"patterns, {len(pipe.inventory.names):,} labels, {len(pipe.get_weights()):,} "
        "weights"
    )
    for name, found in report.get("labels", {}).items():
        rows = [(_signed(x["weight"]), x["docs"], _clean(x["feature"])) for x in found]
        _print_table(name, ("weight", "docs", "feature"), rows, "rrl")
    if "patterns" in report:
        _print_patterns(report["patterns"], report["forbidden_patterns"])
    if "features" in report:
        _print_features(report["features"], report["matching"], text)
    if "families" in report:
        _print_families(report["families"])


def _print_patterns(found: list[dict[str, Any]], forbidden: int) -> None:
    rows = [(_signed(x["weight"]), " ".join(x["pattern"])) for x in found]
    _print_table("label patterns", ("weight", "pattern"), rows, "rl")
    print(f"Forbidden label patterns: {forbidden:,}")


def _print_features(found: list[dict[str, Any]], matching: int, text: str) -> None:
    rows = [
        (x["docs"], _clean(x["feature"]), _clean(_joined(x["weights"]))) for x in found
    ]
    title = f"{len(found):,} of {matching:,} features with {text!r} in their name"
    header = ("docs", "feature", f"weights by label, from {LEAST:.2f}")
    _print_table(title, header, rows, "rll")


def _print_families(found: list[dict[str, Any]]) -> None:
    rows = [
        (f"{x['share']:.1%}", f"{x['largest']:.2f}", f"{x['rows']:,}", x["name"])
        for x in found
    ]
    header = ("share", "largest", "rows", "family")
    _print_table("share of the squared weights", header, rows, "rrrl")


def _print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], aligns: str
) -> None:
    """A table with a title; a line instead, where there is nothing to show."""
    from wasabi import msg

    msg.divider(title)
    if rows:
        msg.table(rows, header=header, divider=True, aligns=list(aligns), max_col=60)
    else:
        print("\nnothing")


def _signed(weight: float) -> str:
    return f"{weight:+.2f}"


def _joined(weights: dict[str, float]) -> str:
    shown = [(label, w) for label, w in weights.items() if abs(w) >= LEAST]
    return "  ".join(f"{label} {_signed(w)}" for label, w in shown)


def _clean(text: str) -> str:
    """Without control characters, which training texts may have."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _fail(title: str, text: str = "") -> NoReturn:
    from wasabi import msg

    msg.fail(title, text, exits=1)
    raise SystemExit(1)
