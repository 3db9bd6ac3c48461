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

- F1 of entities, exact span and label, in per cent, and its standard deviation;
- patterns of three or more labels, and states of the automaton with all patterns;
- training, CPU s: user and system time of `spacy train`, everything included;
- tokens per CPU s: from a `Doc` to its `doc.ents`; the best of three passes.

Folds differ by more than settings do: differences under .3 are noise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring import (
    SEED,
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    environment,
    folds,
    make_splits,
    mean_and_spread,
    read_lines,
    run_folder,
    size_mb,
    table,
    training_lines,
)
from spacy.util import load_model
from tqdm import tqdm
from training import accuracy, config_lang, entity_component, prediction_speed, train

PIPE = "components.hosemi"
FIT = "initialize.components.hosemi.fit"


@dataclass
class Found:
    """What was measured of one setting on one fold."""

    f1: float
    patterns: int
    states: int
    cpu_s: float
    tokens_per_cpu_s: float
    mb: float


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


def measure(args: argparse.Namespace, splits: Splits, overrides: list[str]) -> Found:
    """Train one setting on one fold, and test it."""
    model, usage, _ = train(args.config, splits, overrides, quiet=True)
    nlp = load_model(model)
    name = entity_component(nlp)
    automaton = nlp.get_pipe(name).automaton
    return Found(
        f1=100 * accuracy(nlp, splits.test)["micro"].f,
        patterns=sum(len(pattern) > 2 for pattern in automaton.patterns),
        states=automaton.n_states,
        cpu_s=usage.cpu_s,
        tokens_per_cpu_s=prediction_speed(nlp, name, splits.test),
        mb=size_mb(model / name),
    )


def make_folds(args: argparse.Namespace, folder: Path) -> Iterator[Splits]:
    """The folds of train; or one: train, and dev or test."""
    lang = config_lang(args.config)
    lines = training_lines(read_lines(args.data / "train.jsonl"), args.max_train)
    if not args.cv:
        held_out = read_lines(args.data / f"{'test' if args.test else 'dev'}.jsonl")
        yield make_splits(folder / "0", lang, lines, None, held_out)
        return
    for fold, (rest, held_out) in enumerate(folds(lines, args.cv, SEED)):
        yield make_splits(folder / str(fold), lang, rest, None, held_out)


def rows(found: dict[str, list[Found]]) -> Iterator[list[str]]:
    """A line for each setting: means over folds."""
    for name, of_folds in found.items():
        means = {
            key: mean_and_spread([asdict(one)[key] for one in of_folds])
            for key in asdict(of_folds[0])
        }
        yield [
            name,
            f"{means['f1'][0]:.2f}",
            f"{means['f1'][1]:.2f}" if len(of_folds) > 1 else "",
            f"{means['patterns'][0]:,.0f}",
            f"{means['states'][0]:,.0f}",
            f"{means['cpu_s'][0]:.1f}",
            f"{means['tokens_per_cpu_s'][0]:,.0f}",
            f"{means['mb'][0]:.2f}",
        ]


def compare(args: argparse.Namespace, folder: Path) -> None:
    """Measure all settings, fold by fold, and print the table."""
    compared = settings(args)
    found: dict[str, list[Found]] = {name: [] for name in compared}
    progress = tqdm(total=len(compared) * (args.cv or 1), disable=None)
    for splits in make_folds(args, folder):
        for name, overrides in compared.items():
            overrides = [*args.overrides, *overrides]
            found[name].append(measure(args, splits, overrides))
            one = found[name][-1]
            progress.write(
                f"{name:10} F1 {one.f1:.2f}, {one.cpu_s:.1f} CPU s", file=sys.stderr
            )
            progress.update()
        if not args.runs:
            shutil.rmtree(splits.folder)
    progress.close()
    where = environment()
    on = f"{args.cv} folds of train" if args.cv else "test" if args.test else "dev"
    n_train = f", {args.max_train} training documents" if args.max_train else ""
    print(
        f"{args.data.resolve().name}, {on}{n_train}, {args.config} "
        f"{' '.join(args.overrides)}\n"
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}\n"
    )
    header = ("patterns", "F1", "+-", "longer", "states", "CPU s", "tokens/s", "MB")
    print(table(header, rows(found)))
    by_name = {name: [asdict(one) for one in of] for name, of in found.items()}
    record = {"data": args.data.resolve().name, "on": on, "settings": by_name}
    append_json(args.json, record)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Compare ways to choose label patterns: accuracy, size and costs.",
        epilog="Example: python benchmarks/patterns.py ../data/cora --cv 3",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add("--cv", type=int, metavar="K", help="cross-validation on train; dev not read")
    add("--test", action="store_true", help="measure on test: once, in the end")
    add(
        "--order",
        type=int,
        default=4,
        metavar="N",
        help="longest patterns (default: %(default)s)",
    )
    add(
        "--sizes",
        type=int,
        nargs="*",
        default=[20, 50, 100, 200],
        metavar="K",
        help="how many patterns of three or more labels (default: 20 50 100 200)",
    )
    add(
        "--l1",
        type=float,
        nargs="*",
        default=[0.1, 0.3],
        metavar="X",
        help="weights of the sum of absolute values (default: 0.1 0.3)",
    )
    add(
        "--max-train",
        type=int,
        metavar="N",
        help="train on N documents, drawn by a fixed seed",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    args = parser.parse_args()
    check_system(parser)
    check_overrides(parser, args.overrides)
    if args.cv is not None and (args.cv < 2 or args.test):
        parser.error("--cv needs at least 2 folds, and goes without --test")
    tested = "train" if args.cv else "test" if args.test else "dev"
    for name in {"train", tested}:
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if args.order < 1 or min([0, *args.sizes]) < 0 or min([0.0, *args.l1]) < 0:
        parser.error("--order is at least 1, --sizes and --l1 at least 0")
    return args


def main() -> int:
    """Compare as the command line says."""
    args = arguments()
    with run_folder(args) as folder:
        compare(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
