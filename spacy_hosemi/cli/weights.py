"""python -m spacy hosemi weights: what a component learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from spacy.cli._util import import_code

from .common import (
    AsJson,
    CodePath,
    Component,
    Model,
    clean,
    fail,
    hosemi_cli,
    load_component,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from ..component.pipe import HighOrderSemiCRF

# Smaller weights of a feature are left out of tables that show those of all labels.
LEAST = 0.01


@hosemi_cli.command("weights", no_args_is_help=True)
def weights_cli(
    model: Model,
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
            help='Only this label ("O": outside), tag such as B-PER, or name of a '
            "label tree. Repeatable.",
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
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
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
    from ..features import TRANSITION_ROLES

    import_code(code_path)
    _, pipe = load_component(model, component)
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
            if pipe.automaton.observed and role in (None, *TRANSITION_ROLES):
                report |= _report_transitions(pipe, top=top, negative=negative, **which)
    except ValueError as e:
        fail(str(e))
    if as_json:
        print_json({"component": pipe.name, **report})
    else:
        _print_tables(pipe, report, feature)


def _report_strongest(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from ..explain import strongest_features

    found = strongest_features(pipe, **which)
    return {"labels": {name: list(map(asdict, of)) for name, of in found.items()}}


def _report_patterns(
    pipe: HighOrderSemiCRF, labels: list[str], top: int, negative: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    from ..explain import count_forbidden, strongest_patterns

    found = strongest_patterns(pipe, labels=labels, top=top, negative=negative)
    return {
        "patterns": list(map(asdict, found)),
        "forbidden_patterns": count_forbidden(pipe),
    }


def _report_transitions(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from ..explain import strongest_transitions

    found = strongest_transitions(pipe, **which)
    return {"transitions": list(map(asdict, found))}


def _report_matching(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from ..explain import count_features, find_features

    return {
        "matching": count_features(pipe, role=which["role"], text=which["text"]),
        "features": list(map(asdict, find_features(pipe, **which))),
    }


def _report_families(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from ..explain import weight_families

    return {"families": list(map(asdict, weight_families(pipe, **which)))}


def _print_tables(pipe: HighOrderSemiCRF, report: dict[str, Any], text: str) -> None:
    from wasabi import msg

    from ..explain.weights import MAX_NODES
    from ..model.weights.storage import size_of

    size = size_of(pipe.weights)
    msg.info(
        f"{pipe.name}: {size['features']:,} features, {size['patterns']:,} label "
        f"patterns, {len(pipe.inventory.names):,} labels, {size['weights']:,} weights, "
        f"{size['mb']:.2f} MB"
    )
    levels = pipe.level_weights
    if levels is not None:
        size = levels.size()
        msg.info(
            f"below the top of the label tree: {len(levels.tree.leaf):,} labels, "
            f"{size['patterns']:,} label patterns, {size['weights']:,} weights, "
            f"{size['mb']:.2f} MB. Each name has what it adds to the one above it"
            + ("" if len(levels.tree.names) <= MAX_NODES else "; --label shows it")
        )
    for name, found in report.get("labels", {}).items():
        rows = [(_signed(x["weight"]), x["docs"], clean(x["feature"])) for x in found]
        print_table(name, ("weight", "docs", "feature"), rows, "rrl")
    if "patterns" in report:
        _print_patterns(report["patterns"], report["forbidden_patterns"])
    if "transitions" in report:
        _print_transitions(report["transitions"])
    if "features" in report:
        _print_features(report["features"], report["matching"], text)
    if "families" in report:
        _print_families(report["families"])


def _print_patterns(found: list[dict[str, Any]], forbidden: int) -> None:
    rows = [(_signed(x["weight"]), " ".join(x["pattern"])) for x in found]
    print_table("label patterns", ("weight", "pattern"), rows, "rl")
    print(f"Forbidden label patterns: {forbidden:,}")


def _print_transitions(found: list[dict[str, Any]]) -> None:
    rows = [
        (_signed(x["weight"]), x["docs"], " ".join(x["pattern"]), clean(x["feature"]))
        for x in found
    ]
    header = ("weight", "docs", "pattern", "feature")
    print_table("features and label patterns", header, rows, "rrll")


def _print_features(found: list[dict[str, Any]], matching: int, text: str) -> None:
    rows = [
        (x["docs"], clean(x["feature"]), clean(_joined(x["weights"]))) for x in found
    ]
    title = f"{len(found):,} of {matching:,} features with {text!r} in their name"
    header = ("docs", "feature", f"weights by label, from {LEAST:.2f}")
    print_table(title, header, rows, "rll")


def _print_families(found: list[dict[str, Any]]) -> None:
    rows = [
        (f"{x['share']:.1%}", f"{x['largest']:.2f}", f"{x['rows']:,}", x["name"])
        for x in found
    ]
    header = ("share", "largest", "rows", "family")
    print_table("share of the squared weights", header, rows, "rrrl")


def _signed(weight: float) -> str:
    return f"{weight:+.2f}"


def _joined(weights: dict[str, float]) -> str:
    shown = [(label, w) for label, w in weights.items() if abs(w) >= LEAST]
    return "  ".join(f"{label} {_signed(w)}" for label, w in shown)
