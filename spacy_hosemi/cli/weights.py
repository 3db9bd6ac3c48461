"""python -m spacy hosemi weights: what a component learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import explain
from ..component.pipe import HighOrderSemiCRF
from ..features import TRANSITION_ROLES
from ..model.weights.storage import size_of
from . import hosemi_cli
from . import options as shared
from .common import load_component, print_json, print_table
from .options import option
from .streams import clean, fail

# Tables with the weights of a feature for all labels leave out smaller weights.
LEAST = 0.01


@hosemi_cli.command("weights", no_args_is_help=True)
def weights_cli(
    model: shared.Model,
    top: int = option("--top -n N 1..", "How many in each list; of families all.", 10),
    label: list[str] | None = option(
        "--label -l LABEL",
        'Only this label ("O": outside), tag such as B-PER, or name of a label tree. '
        "Repeatable.",
        show_default="all",
    ),
    role: str | None = option(
        "--role ROLE",
        "Only features read in this role: inside, start, end, ...",
        show_default="all",
    ),
    feature: str = option(
        "--feature -f TEXT",
        "Only features with TEXT in their name, with the weights of all labels: "
        "LOWER=in, start:SHAPE, ...",
        "",
        show_default=False,
    ),
    negative: bool = option("--negative", "Also the lowest weights of a label.", False),
    patterns: bool = option(
        "--patterns/--no-patterns",
        "List label patterns too, unless only some features are asked for.",
        True,
    ),
    families: bool = option(
        "--families",
        "Instead of single features: how much each template weighs.",
        False,
    ),
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    List the features with the largest weights for every label.

    A feature is named role:TEMPLATE=value; "docs" is the number of training documents
    that have it. The difference of its weights for two labels decides between them.

    \b
    Examples:
      python -m spacy hosemi weights model/model-last --label date --negative
      python -m spacy hosemi weights model/model-last --feature "LOWER=in"
      python -m spacy hosemi weights model/model-last --families
    """
    _, pipe = load_component(model, component)
    labels = label or []
    which: dict[str, Any] = {"labels": labels, "role": role, "text": feature}
    size: dict[str, Any] = {"top": top, "negative": negative}
    report: dict[str, Any] = {}
    try:
        if families:
            report["families"] = explain.weight_families(pipe, **which)
        elif feature:
            report["matching"] = explain.count_features(pipe, role=role, text=feature)
            report["features"] = explain.find_features(pipe, top=top, **which)
        else:
            report["labels"] = explain.strongest_features(pipe, **size, **which)
            if patterns and role is None:
                strongest = explain.strongest_patterns(pipe, labels=labels, **size)
                report["patterns"] = strongest
                report["forbidden_patterns"] = explain.count_forbidden(pipe)
            if pipe.automaton.observed and role in (None, *TRANSITION_ROLES):
                of_patterns = explain.strongest_transitions(pipe, **size, **which)
                report["transitions"] = of_patterns
    except ValueError as e:
        fail(str(e))
    if as_json:
        print_json({"component": pipe.name, **report})
    else:
        _print_sizes(pipe)
        _print_tables(report, feature)


def _print_sizes(pipe: HighOrderSemiCRF) -> None:
    size = size_of(pipe.weights)
    print(
        f"{clean(pipe.name)}: {size['features']:,} features, "
        f"{size['patterns']:,} label patterns, "
        f"{len(pipe.inventory.names):,} labels, {size['weights']:,} weights, "
        f"{size['mb']:.2f} MB"
    )
    levels = pipe.level_weights
    if levels is not None:
        size = levels.size()
        is_shown = len(levels.tree.names) <= explain.weights.MAX_NODES
        print(
            f"below the top of the label tree: {len(levels.tree.leaf):,} labels, "
            f"{size['patterns']:,} label patterns, {size['weights']:,} weights, "
            f"{size['mb']:.2f} MB. Each name has what it adds to the one above it"
            + ("" if is_shown else "; --label shows it")
        )


def _print_tables(report: dict[str, Any], text: str) -> None:
    rows: list[Sequence[Any]]
    for name, features in report.get("labels", {}).items():
        rows = [(_signed(x.weight), x.docs, x.feature) for x in features]
        print_table(name, ("weight", "docs", "feature"), rows, "rrl")
    if "patterns" in report:
        rows = [(_signed(x.weight), " ".join(x.pattern)) for x in report["patterns"]]
        print_table("label patterns", ("weight", "pattern"), rows, "rl")
        print(f"Forbidden label patterns: {report['forbidden_patterns']:,}")
    if "transitions" in report:
        rows = [
            (_signed(x.weight), x.docs, " ".join(x.pattern), x.feature)
            for x in report["transitions"]
        ]
        header = ["weight", "docs", "pattern", "feature"]
        print_table("features and label patterns", header, rows, "rrll")
    if "features" in report:
        rows = []
        for x in report["features"]:
            large = [(y, w) for y, w in x.weights.items() if abs(w) >= LEAST]
            in_words = "  ".join(f"{y} {_signed(w)}" for y, w in large)
            rows.append((x.docs, x.feature, in_words))
        n_all = report["matching"]
        title = f"{len(rows):,} of {n_all:,} features with {text!r} in their name"
        header = ["docs", "feature", f"weights by label, from {LEAST:.2f}"]
        print_table(title, header, rows, "rll")
    if "families" in report:
        rows = [
            (f"{x.share:.1%}", f"{x.largest:.2f}", x.rows, x.name)
            for x in report["families"]
        ]
        header = ["share", "largest", "rows", "family"]
        print_table("share of the squared weights", header, rows, "rrrl")


def _signed(weight: float) -> str:
    return f"{weight:+.2f}"
