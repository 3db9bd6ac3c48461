"""Which label patterns are worth their cost: none, all, the most frequent.

    python benchmarks/patterns.py ../data/cora --cv 3
    python benchmarks/patterns.py ../data/anystyle --sizes 50 200

One config is trained by `spacy train`, again and again, with other label patterns:

- "none": label pairs only (max_order = 1), which all others have too;
- "all to 2", "all to 3", ..: all sequences of labels in training up to that order;
- "count K": the K most frequent of those up to --order;
- "l1 X": all of them, with l1 = X in the fit, for features and patterns alike.

Settings are compared on dev.jsonl or, with --cv K, on K parts of train.jsonl, each
tested on once; test.jsonl is read only with --test. Printed are means over folds:

- F1 of entities, exact span and label, in per cent ("±": standard deviation of a fold);
- records: documents all of whose spans are exact, with no other ones, in per cent;
- longer: patterns of three or more labels; states of the automaton with all patterns;
- CPU s: user and system time of `spacy train`, everything included;
- tokens/s: from a `Doc` to its `doc.ents`, CPU time; the best of three passes;
- MB: of the saved component.

Folds differ by more than settings do: differences under .3 are noise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import harness
from processes import size_mb
from spacy.util import load_model
from tqdm import tqdm
from training import (
    Splits,
    config_lang,
    entity_component,
    make_splits,
    prediction_speed,
    tested,
    train,
)

PIPE = "components.hosemi"
FIT = "initialize.components.hosemi.fit"


def settings(args: argparse.Namespace) -> dict[str, list[str]]:
    """The settings that are compared, as overrides of the config, by their names."""
    found = {"none": [f"{PIPE}.max_order=1"]}
    for order in range(2, args.order + 1):
        found[f"all to {order}"] = [f"{PIPE}.max_order={order}"]
    longest = f"{PIPE}.max_order={args.order}"
    for size in args.sizes:
        found[f"count {size}"] = [longest, f"{PIPE}.pattern_max={size}"]
    for l1 in args.l1:
        found[f"l1 {l1:g}"] = [longest, f"{FIT}.l1={l1}"]
    return found


def measure_one(
    args: argparse.Namespace, splits: Splits, overrides: list[str]
) -> dict[str, float]:
    """Train one setting on one fold, and test it."""
    model, usage, _ = train(args.config, splits, [*args.overrides, *overrides])
    nlp = load_model(model)
    name = entity_component(nlp)
    automaton = nlp.get_pipe(name).automaton
    found = tested(nlp, splits.test)
    return {
        "F1": found.f1,
        "records": found.records,
        "longer": sum(len(pattern) > 2 for pattern in automaton.patterns),
        "states": automaton.n_states,
        "CPU s": usage.cpu_s,
        "tokens/s": prediction_speed(nlp, splits.test),
        "MB": size_mb(model / name),
    }


def make_folds(args: argparse.Namespace, folder: Path) -> Iterator[Splits]:
    """The folds of train; or one: train, and dev or test."""
    lines = harness.draw(harness.read_lines(args.data / "train.jsonl"), args.max_train)
    if args.cv:
        parts = list(harness.folds(lines, args.cv))
    else:
        parts = [(lines, harness.read_lines(args.data / f"{args.tested}.jsonl"))]
    for k, (rest, held_out) in enumerate(parts):
        lang = config_lang(args.config)
        yield make_splits(folder / str(k), lang, rest, None, held_out)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure all settings, fold by fold, and print the table."""
    compared = settings(args)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in compared}
    progress = tqdm(total=len(compared) * (args.cv or 1), disable=None)
    for splits in make_folds(args, folder):
        for name, overrides in compared.items():
            found[name].append(measure_one(args, splits, overrides))
            progress.update()
        if not args.runs:
            shutil.rmtree(splits.folder)
    progress.close()
    rows = []
    for name, of_folds in found.items():
        f1s, *others = ([one[key] for one in of_folds] for key in of_folds[0])
        rows.append([name, harness.with_spread(f1s), *map(mean, others)])
    forms = ["records|.2f", "longer|,.0f", "states|,.0f", "CPU s|.1f"]
    forms += ["tokens/s|,.0f", "MB|.2f"]
    tested_on = f"{args.cv} folds of train" if args.cv else args.tested
    harness.report(
        args,
        f"{args.data.resolve().name}: label patterns, tested on {tested_on}",
        harness.table(["patterns", "F1", *forms], rows),
        settings=found,
    )


def main() -> int:
    """Compare as the command line says."""
    parser = harness.make_parser(
        __doc__,
        *("data", "--config", "--overrides", "--cv", "--max-train", "--runs", "--json"),
    )
    add = parser.add_argument
    add(
        "--test",
        action="store_const",
        dest="tested",
        const="test",
        default="dev",
        help="measure on test: once, in the end",
    )
    add(
        "--order",
        type=harness.at_least(1),
        default=4,
        help="longest patterns (default: 4)",
    )
    add(
        "--sizes",
        type=harness.at_least(0),
        nargs="*",
        default=[20, 50, 100, 200],
        metavar="K",
        help="how many patterns of three or more labels (default: %(default)s)",
    )
    add(
        "--l1",
        type=harness.at_least(0.0, float),
        nargs="*",
        default=[0.1, 0.3],
        metavar="X",
        help="weights of the sum of absolute values (default: %(default)s)",
    )
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
