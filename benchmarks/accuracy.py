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
same features of each token, the same scorer. Its c1 and c2 are those with the highest
micro-F1 on dev, or by 3-fold cross-validation on train where there is no dev; then it
is trained on all of train, as the config is. For the peer the features are made as
strings, by plain Python; "features ready" leaves out making them and CRFsuite's items.

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
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from measuring import (
    SEED,
    Figures,
    Score,
    Splits,
    accuracy,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    config_lang,
    entity_component,
    environment,
    fit_seconds,
    folds,
    gold_counts,
    make_splits,
    mean_and_spread,
    package_version,
    prediction_speed,
    read_lines,
    run_folder,
    shown_command,
    size_mb,
    train,
    training_lines,
)
from peers import PeerSettings, check_features, fit_peer, measure_peer, peer_settings
from spacy.language import Language
from spacy.util import load_model
from tqdm import tqdm


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
    lines = [f"{'':30}" + "".join(f"{name:>12}" for name in systems)]
    for title, key, form in rows:
        values = [getattr(figures, key) for figures in systems.values()]
        if any(value is not None for value in values):
            cells = ("-" if value is None else f"{value:{form}}" for value in values)
            lines.append(f"{title:30}" + "".join(f"{cell:>12}" for cell in cells))
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


# ------------------------------------------------------------------------ the two tasks


def measure(args: argparse.Namespace, folder: Path) -> None:
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
    if args.peer:
        systems[args.peer] = measure_peer(model, splits, args.quiet, args.peer_settings)
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


def lines_to_cut(args: argparse.Namespace) -> tuple[list[bytes], str]:
    """Read what cross-validation is about.

    RETURNS (Tuple[List[bytes], str]): The lines, and the files that they are from.
    """
    names = [
        name
        for name in (("train", "dev", "test") if args.all else ("train",))
        if (args.data / f"{name}.jsonl").exists()
    ]
    lines = [line for x in names for line in read_lines(args.data / f"{x}.jsonl")]
    return training_lines(lines, args.max_train), " + ".join(names)


class Folds:
    """Trains and tests on one fold after the other.

    args (argparse.Namespace): The command line.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lang = config_lang(args.config)
        self.peer: PeerSettings | None = None  # those of the first fold

    def measure(
        self, folder: Path, rest: list[bytes], held_out: list[bytes]
    ) -> dict[str, float]:
        """Train on the rest and test on what was held out.

        RETURNS (Dict[str, float]): "p", "r", "f" and "cpu_s", and with --peer
            "peer_f" and "peer_cpu_s".
        """
        splits = make_splits(folder, self.lang, rest, None, held_out)
        model, usage, _ = train(
            self.args.config, splits, self.args.overrides, quiet=True
        )
        nlp = load_model(model)
        score = accuracy(nlp, splits.test)["micro"]
        found = {**asdict(score), "cpu_s": usage.cpu_s}
        if self.args.peer:
            found |= self.measure_peer(nlp, model, splits)
        return found

    def measure_peer(
        self, nlp: Language, model: Path, splits: Splits
    ) -> dict[str, float]:
        """Do the same with the peer, on the features of the model."""
        check_features(nlp)
        if self.peer is None:
            given = self.args.peer_settings
            self.peer = peer_settings(model, splits, quiet=True, given=given)
        peer = fit_peer(model, splits, self.peer, quiet=True)
        f1 = peer.scores(nlp, splits.test)["micro"].f
        return {"peer_f": f1, "peer_cpu_s": peer.usage.cpu_s}


def fold_row(repeat: int, fold: int, found: dict[str, float]) -> str:
    """Write the figures of one fold."""
    figures = "".join(f"{100 * found[x]:8.2f}" for x in "prf")
    row = f"{repeat:6}{fold:6}{figures}{found['cpu_s']:8.1f}"
    if "peer_f" in found:
        difference = 100 * (found["f"] - found["peer_f"])
        row += f"{100 * found['peer_f']:10.2f}{found['peer_cpu_s']:8.1f}"
        row += f"{difference:+12.2f}"
    return row


def fold_means(found: Sequence[dict[str, float]], key: str) -> str:
    """Write mean and spread of one system over the folds; key: "" or "peer_"."""
    mean, spread = mean_and_spread([100 * figures[f"{key}f"] for figures in found])
    cpu, _ = mean_and_spread([figures[f"{key}cpu_s"] for figures in found])
    return (
        f"mean micro-F1 {mean:.2f} (standard deviation of a fold {spread:.2f}), "
        f"{cpu:.1f} CPU s a training"
    )


def fold_difference(found: Sequence[dict[str, float]]) -> tuple[float, float]:
    """Mean of F1 less the peer's F1, in per cent, and its standard error."""
    mean, spread = mean_and_spread([100 * (x["f"] - x["peer_f"]) for x in found])
    return mean, spread / len(found) ** 0.5


def print_fold_means(
    args: argparse.Namespace,
    found: Sequence[dict[str, float]],
    settings: PeerSettings | None,
) -> None:
    """Print what all folds say together."""
    print(fold_means(found, ""))
    if settings is not None:
        print(f"{args.peer}: {fold_means(found, 'peer_')}")
        difference, error = fold_difference(found)
        print(
            f"difference {difference:+.2f}, standard error {error:.2f} "
            f"({len(found)} folds)\n{args.peer} in all folds: {settings}"
        )
        if args.peer_settings is None:
            print("(train: the training part of the first fold alone)")


def cross_validate(args: argparse.Namespace, folder: Path) -> None:
    """Train and test on parts of train, print the F1 of each."""
    lines, files = lines_to_cut(args)
    print(
        f"{args.data.resolve().name}, {len(lines)} docs of {files}, {args.cv} folds, "
        f"{args.repeats} time(s)\n{args.config} {' '.join(args.overrides)}".rstrip()
    )
    peer_heads = f"{args.peer:>10}   CPU s  difference" if args.peer else ""
    print(f"repeat  fold       P       R      F1   CPU s{peer_heads}", flush=True)
    found: list[dict[str, float]] = []
    measured_folds = Folds(args)
    progress = tqdm(total=args.cv * args.repeats, desc="folds", disable=None)
    for repeat in range(args.repeats):
        parts = folds(lines, args.cv, SEED + repeat)
        for fold, (rest, held_out) in enumerate(parts):
            part = folder / f"{repeat}-{fold}"
            found.append(measured_folds.measure(part, rest, held_out))
            if not args.runs:
                shutil.rmtree(part)
            progress.write(fold_row(repeat, fold, found[-1]), file=sys.stdout)
            progress.update()
    progress.close()
    settings = measured_folds.peer
    print_fold_means(args, found, settings)
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "cv": args.cv,
        "repeats": args.repeats,
        "files": files,
        "n_train": len(lines),
        "folds": found,
        "mean_f1": mean_and_spread([figures["f"] for figures in found])[0],
        "peer": settings and {"name": args.peer, "settings": str(settings)},
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
        choices=["crfsuite"],
        help="measure python-crfsuite on the same features, too",
    )
    add(
        "--peer-settings",
        nargs=2,
        type=float,
        metavar=("C1", "C2"),
        help="regularisation of the peer (default: the best of nine on dev, or by "
        "cross-validation on train; with --cv on the first fold's training part)",
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
    if args.peer and package_version("python-crfsuite") is None:
        parser.error("--peer needs python-crfsuite: pip install python-crfsuite")
    return args


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    try:
        with run_folder(args) as folder:
            (cross_validate if args.cv else measure)(args, folder)
    except ValueError as error:  # from reading the data
        sys.exit(f"{error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
