"""How exact a config is on a data set, and what it costs.

    python benchmarks/accuracy.py ../data/cora
    python benchmarks/accuracy.py ../data/cora --peer crfsuite
    python benchmarks/accuracy.py ../data/cora --cv 3 --repeats 2 \\
        --overrides components.hosemi.max_order=3

The folder holds train.jsonl, test.jsonl and, where there is one, dev.jsonl, in a form
that `corpus/convert.py` reads. The config is trained by `spacy train` in a process of
its own, on one thread, and its model applied to test. What is printed:

- Precision, recall and F1 of entities, in per cent: a span counts where start, end and
  label are right. By the scorer of the config, as `spacy benchmark accuracy` does.
- Training, CPU s: user and system time of the whole process, imports and reading
  included; "of which fit" is what batch training says of itself.
- Peak memory: the largest resident size of that process. MB are 10^6 bytes everywhere.
- Tokens per CPU s: from a `Doc` to its `doc.ents`, one at a time, by the component
  alone, on fresh docs; the best of three passes after a warm-up.
- Model on disk: the saved pipeline.

`--peer crfsuite` does the same with a linear chain of python-crfsuite: BIO tags, the
same features of each token, the same scorer. `crfsuite-no-lists` leaves out those of
lists of names, `crfsuite-plain` reads what one would write by hand: what these lose is
not a gain of the model. c1 and c2 are those with the highest micro-F1 on dev, or by
3-fold cross-validation on train where there is no dev (on a part of train with
--peer-sample); then it is trained on all of train, as the config is. For the peer the
features are made as strings, by plain Python; "features ready" leaves out making them
and CRFsuite's items.

`--cv K` never reads test: train is cut into K parts, each tested on once. It serves to
choose settings. With `--peer crfsuite` the peer is trained and tested on the same
folds; its c1 and c2, unless given, are chosen by cross-validation within the training
part of the first fold, and kept for all others. "Difference" is the config's F1 less
the peer's; its standard error takes the folds for independent, and so is a bit small.

`--cv K --all` cuts train, dev and test together, for small data sets whose published
figures are means over folds. Settings must be fixed beforehand, on other data: nothing
is left that was not tested on.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cross_validation import cross_validate
from measuring import (
    Figures,
    Score,
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    environment,
    make_splits,
    package_version,
    read_lines,
    run_folder,
    shown_command,
    size_mb,
    training_lines,
)
from peers import PEERS, PeerOptions, measure_peer
from spacy.util import load_model
from training import (
    accuracy,
    config_lang,
    entity_component,
    fit_seconds,
    gold_counts,
    prediction_speed,
    train,
)


def measure_config(
    config: Path, splits: Splits, overrides: Sequence[str], quiet: bool
) -> tuple[Figures, Path]:
    """Train a config, apply it to test and measure both.

    RETURNS (Tuple[Figures, Path]): What was measured, and the model.
    """
    model, usage, command = train(config, splits, overrides, quiet)
    nlp = load_model(model)
    name = entity_component(nlp)
    figures = Figures(
        scores=accuracy(nlp, splits.test),
        training_cpu_s=usage.cpu_s,
        features_cpu_s=None,
        fit_cpu_s=fit_seconds(usage.output),
        training_wall_s=usage.wall_s,
        training_peak_mb=usage.peak_mb,
        tokens_per_cpu_s=prediction_speed(nlp, name, splits.test),
        tokens_per_cpu_s_features_ready=None,
        model_mb=size_mb(model),
        settings=f"{name} in {model.name}; {shown_command(command)}",
    )
    return figures, model


# ---------------------------------------------------------------------- what is printed


def score_table(systems: dict[str, Figures], gold: Counter[str]) -> str:
    """Write precision, recall and F1 by label, the systems side by side."""
    labels = sorted(
        {x for figures in systems.values() for x in figures.scores} - {"micro"},
        key=lambda label: (-gold[label], label),
    )
    width = max(map(len, [*labels, "micro"]))
    heads = "".join(f"   {name:^20}" for name in systems)
    lines = [f"{'':{width}}  {'':>6}{heads}".rstrip()]
    columns = "   " + "".join(f"{x:>7}" for x in ("P", "R", "F1")).removeprefix(" ")
    lines.append(f"{'':{width}}  {'gold':>6}{columns * len(systems)}")
    for label in [*labels, "micro"]:
        n_gold = gold.total() if label == "micro" else gold[label]
        line = f"{label:{width}}  {n_gold:6}"
        for figures in systems.values():
            score = figures.scores.get(label, Score(0.0, 0.0, 0.0))
            values = (100 * x for x in (score.p, score.r, score.f))
            line += "   " + "".join(f"{x:7.2f}" for x in values).removeprefix(" ")
        lines.append(line)
    return "\n".join(lines)


def cost_table(systems: dict[str, Figures]) -> str:
    """Write what training and prediction cost, the systems side by side."""
    rows: list[tuple[str, str, str]] = [
        ("training, CPU s", "training_cpu_s", ".1f"),
        ("  of which features", "features_cpu_s", ".1f"),
        ("  of which fit", "fit_cpu_s", ".1f"),
        ("training, peak memory, MB", "training_peak_mb", ",.0f"),
        ("tokens per CPU s, Doc to ents", "tokens_per_cpu_s", ",.0f"),
        ("  features ready", "tokens_per_cpu_s_features_ready", ",.0f"),
        ("model on disk, MB", "model_mb", ".2f"),
    ]
    widths = [max(12, 2 + len(name)) for name in systems]
    lines = [f"{'':30}" + "".join(map(str.rjust, systems, widths))]
    for title, key, form in rows:
        values = [getattr(figures, key) for figures in systems.values()]
        if any(value is not None for value in values):
            cells = ("-" if value is None else f"{value:{form}}" for value in values)
            lines.append(f"{title:30}" + "".join(map(str.rjust, cells, widths)))
    return "\n".join(lines)


def head(data: Path, splits: Splits, args: argparse.Namespace) -> str:
    """Write what is measured and where."""
    where = environment()
    versions = ", ".join(f"{k} {v}" for k, v in where["versions"].items() if v)
    given = "train test" if splits.dev_is_train else "train dev test"
    sizes = (f"{splits.n_docs[x]} ({splits.n_tokens[x]}) {x}" for x in given.split())
    lines = [
        f"{data.resolve().name}: docs (tokens) {', '.join(sizes)}",
        f"{args.config} {' '.join(args.overrides)}".rstrip(),
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}",
        versions,
    ]
    if splits.dev_is_train:
        lines.append(
            "No dev.jsonl: all of train is trained on and the last model taken; what "
            "`spacy train`\nprints as scores is a tenth of train itself, and decides "
            "nothing."
        )
    return "\n".join(lines)


# -------------------------------------------------------------------------- all of it


def measure(
    args: argparse.Namespace, folder: Path, peers: Sequence[PeerOptions]
) -> None:
    """Train on train, test on test, print everything."""
    lines = {x: read_lines(args.data / f"{x}.jsonl") for x in ("train", "test")}
    dev = args.data / "dev.jsonl"
    splits = make_splits(
        folder,
        config_lang(args.config),
        training_lines(lines["train"], args.max_train),
        read_lines(dev) if dev.exists() else None,
        lines["test"],
    )
    systems = {}
    own, model = measure_config(args.config, splits, args.overrides, args.quiet)
    nlp = load_model(model)
    systems[entity_component(nlp)] = own
    for options in peers:
        systems[options.name] = measure_peer(model, splits, args.quiet, options)
    print(head(args.data, splits, args))
    for name, figures in systems.items():
        print(f"{name}: {figures.settings}")
    print("\n" + score_table(systems, gold_counts(nlp, splits.test)))
    print("\n" + cost_table(systems))
    if args.runs:
        print(f"\nkept: {model}")
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "n_docs": {**splits.n_docs, "dev_is_train": splits.dev_is_train},
        "systems": {name: asdict(figures) for name, figures in systems.items()},
    }
    append_json(args.json, record)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train a config on a data set; print its accuracy and its costs.",
        epilog="Example: python benchmarks/accuracy.py ../data/cora --peer crfsuite",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add(
        "--peer",
        nargs="+",
        choices=PEERS,
        default=[],
        metavar="PEER",
        help="measure python-crfsuite, too: crfsuite on the same features of tokens, "
        "those of lists included; crfsuite-no-lists without those; crfsuite-plain on "
        "features as one would write them by hand",
    )
    add(
        "--peer-settings",
        nargs=2,
        type=float,
        metavar=("C1", "C2"),
        help="regularisation of the peer (default: the best of nine on dev, or by "
        "cross-validation on train; with --cv on the first fold's training part)",
    )
    add(
        "--peer-sample",
        type=int,
        metavar="N",
        help="choose them on N documents of train, drawn by a fixed seed (default: "
        "on all of them)",
    )
    add("--cv", type=int, metavar="K", help="cross-validation on train; test not read")
    add(
        "--all",
        action="store_true",
        help="with --cv: make the folds of train, dev and test together, to compare "
        "with published means over folds; all settings must be fixed beforehand, for "
        "what is chosen by these folds was chosen on test",
    )
    add(
        "--repeats",
        type=int,
        default=1,
        metavar="R",
        help="repeat the cross-validation with other folds (default: %(default)s)",
    )
    add(
        "--max-train",
        type=int,
        metavar="N",
        help="train on N documents, drawn by a fixed seed",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    add("--quiet", action="store_true", help="do not show what `spacy train` prints")
    args = parser.parse_args()
    check_system(parser)
    for name in ("train",) if args.cv else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if not args.config.is_file():
        parser.error(f"there is no config {args.config}")
    check_overrides(parser, args.overrides)
    if args.cv is not None and args.cv < 2:
        parser.error("--cv needs at least 2 folds")
    if args.repeats < 1 or (args.repeats > 1 and not args.cv):
        parser.error("--repeats is at least 1, and goes with --cv")
    if args.max_train is not None and args.max_train < 1:
        parser.error("--max-train is at least 1")
    if args.all and not args.cv:
        parser.error("--all goes with --cv")
    if args.peer_sample is not None and args.peer_sample < 3:
        parser.error("--peer-sample is at least 3: there are 3 folds")
    if args.peer and package_version("python-crfsuite") is None:
        parser.error("--peer needs python-crfsuite: pip install python-crfsuite")
    return args


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    peers = [PeerOptions(x, args.peer_settings, args.peer_sample) for x in args.peer]
    with run_folder(args) as folder:
        (cross_validate if args.cv else measure)(args, folder, peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
