"""How exact systems are after little training data, and after more.

    python benchmarks/learning_curves.py ../data/cora
    python benchmarks/learning_curves.py ../data/usaddress --dev --repeats 3
    python benchmarks/learning_curves.py ../data/cora --systems hosemi crfsuite \\
        --sizes 25 50 --peer-settings 0.05 0.1

The systems:

- hosemi, by the config;
- crfsuite, a linear chain on the same token features (it needs the trained hosemi for
  them, which is trained even if it is not asked for). c1 and c2 are given, or those
  with the highest F1 by 3-fold cross-validation on what it is trained on;
- ner, the tok2vec and `ner` that `spacy init config` writes for a CPU, trained by
  `spacy train` until the scores on dev have not risen for its patience, or to a highest
  number of steps, which the report counts.

A size is the number of documents that have labels. All systems get the same ones, drawn
by a fixed seed, the smaller subsets within the larger; each repeat draws others. Every
tenth of them is dev, which alone `spacy train` sees scores of, and no system is trained
on it: batch training and CRFsuite, which need no dev, could use a tenth more.

F1 is that of all entities, in per cent, on test.jsonl, by the scorer of the config, as
in `accuracy.py`. With --dev it is on dev.jsonl; where there is none, on a fifth of
train, which then is not drawn from. With repeats, "±" is the standard deviation of one
training, not of the mean. CPU s is user and system time of the process that trains;
choosing c1 and c2 is not in it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measuring import (
    ROOT,
    SEED,
    Lines,
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    data_lines,
    environment,
    make_splits,
    mean_and_spread,
    package_version,
    run_folder,
    shuffled,
    table,
)
from peers import PeerOptions, PeerSettings, feature_reader, fit_peer, peer_settings
from spacy.util import load_model
from tqdm import tqdm
from training import accuracy, config_lang, last_step, train, write_ner_config

PEER = "crfsuite"
SYSTEMS = ("hosemi", PEER, "ner")
SIZES = (50, 100, 200, 400)
NER_EVERY = 200  # steps; only then `spacy train` looks at dev, and keeps a model
OUTPUT = ROOT / "benchmarks" / "results"


@dataclass
class Trained:
    """One system after one training."""

    system: str
    size: int
    repeat: int
    f1: float  # 0 to 1
    cpu_s: float
    note: str = ""  # what was chosen, or where training ended


# ------------------------------------------------------------------------------- data


def subset(lines: Sequence[bytes], size: int, repeat: int) -> list[bytes]:
    """Draw documents; of one repeat, the smaller subsets are within the larger."""
    return shuffled(lines, SEED + repeat)[:size]


def subset_splits(
    folder: Path, lang: str, drawn: list[bytes], test: list[bytes]
) -> Splits:
    """Hold out every tenth document as dev, so that train and dev are nested, too."""
    dev = drawn[9::10]
    rest = [line for i, line in enumerate(drawn) if i % 10 != 9]
    return make_splits(folder, lang, rest, dev, test)


# ---------------------------------------------------------------------------- systems


class Systems:
    """Trains what is asked for on one subset after the other.

    args (argparse.Namespace): The command line.
    folder (Path): For the config of ner.
    """

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args = args
        self.lang = config_lang(args.config)
        self.ner_config = folder / "ner.cfg"
        if "ner" in args.systems:
            folder.mkdir(parents=True, exist_ok=True)
            write_ner_config(self.ner_config, self.lang)

    def measure(self, splits: Splits, size: int, repeat: int) -> list[Trained]:
        """Train all systems on the same documents and test them."""
        found = []
        if {"hosemi", "crfsuite"} & set(self.args.systems):
            model, hosemi = self.hosemi(splits, size, repeat)
            found.append(hosemi)
            if "crfsuite" in self.args.systems:
                found.append(self.crfsuite(model, splits, size, repeat))
        if "ner" in self.args.systems:
            found.append(self.ner(splits, size, repeat))
        return [trained for trained in found if trained.system in self.args.systems]

    def hosemi(self, splits: Splits, size: int, repeat: int) -> tuple[Path, Trained]:
        """Train the config."""
        args = self.args
        model, usage, _ = train(args.config, splits, args.overrides, quiet=True)
        f1 = accuracy(load_model(model), splits.test)["micro"].f
        return model, Trained("hosemi", size, repeat, f1, usage.cpu_s)

    def crfsuite(self, model: Path, splits: Splits, size: int, repeat: int) -> Trained:
        """Train CRFsuite on the features of the model."""
        nlp = load_model(model)
        feature_reader(nlp, PEER)  # exits, if there is nothing to read
        chosen = self.crfsuite_settings(model, splits)
        peer = fit_peer(model, PEER, splits, chosen, quiet=True)
        f1 = peer.scores(nlp, splits.test)["micro"].f
        note = f"c1 {chosen.c1:g}, c2 {chosen.c2:g}"
        return Trained("crfsuite", size, repeat, f1, peer.usage.cpu_s, note)

    def crfsuite_settings(self, model: Path, splits: Splits) -> PeerSettings:
        """Choose c1 and c2 on train: dev is too small for that."""
        options = PeerOptions(PEER, self.args.peer_settings)
        return peer_settings(model, splits, True, options, use_dev=False)

    def ner(self, splits: Splits, size: int, repeat: int) -> Trained:
        """Train the `ner` of spaCy."""
        steps = self.args.max_steps
        overrides = [
            f"training.max_steps={steps}",
            f"training.eval_frequency={NER_EVERY}",
        ]
        model, usage, _ = train(self.ner_config, splits, overrides, quiet=True)
        f1 = accuracy(load_model(model), splits.test)["micro"].f
        last = last_step(usage.output)
        note = f"{last} steps" + (", the most" if last >= steps else "")
        return Trained("ner", size, repeat, f1, usage.cpu_s, note)


def measure(args: argparse.Namespace, folder: Path, lines: Lines) -> list[Trained]:
    """Train and test everything, and print each result as it comes."""
    systems, found = Systems(args, folder), []
    print("repeat  size  system         F1   CPU s", flush=True)
    progress = tqdm(total=args.repeats * len(args.sizes), disable=None)
    for repeat in range(args.repeats):
        for size in args.sizes:
            part = folder / f"{repeat}-{size}"
            drawn = subset(lines.train, size, repeat)
            splits = subset_splits(part, systems.lang, drawn, lines.test)
            for trained in systems.measure(splits, size, repeat):
                found.append(trained)
                progress.write(row(trained), file=sys.stdout)
                sys.stdout.flush()
            if not args.runs:
                shutil.rmtree(part)
            progress.update()
    progress.close()
    return found


def row(trained: Trained) -> str:
    """Write one training."""
    return (
        f"{trained.repeat:6}{trained.size:6}  {trained.system:8}"
        f"{100 * trained.f1:9.2f}{trained.cpu_s:8.1f}   {trained.note}"
    ).rstrip()


# --------------------------------------------------------------------- tables, picture


def values(
    found: Sequence[Trained], system: str, size: int, figure: str
) -> tuple[float, float]:
    """Mean and standard deviation of a figure over the repeats."""
    return mean_and_spread(
        [getattr(x, figure) for x in found if (x.system, x.size) == (system, size)]
    )


def curve_table(found: Sequence[Trained], args: argparse.Namespace) -> str:
    """Write F1 and CPU seconds by size and system."""
    rows = []
    for size in args.sizes:
        f1s, seconds = [], []
        for system in args.systems:
            mean, spread = values(found, system, size, "f1")
            f1s.append(f"{100 * mean:.2f}")
            if args.repeats > 1:
                f1s[-1] += f" ± {100 * spread:.2f}"
            seconds.append(f"{values(found, system, size, 'cpu_s')[0]:.1f}")
        rows.append([str(size), *f1s, *seconds])
    heads = [f"{x}, {y}" for x in ("F1", "CPU s") for y in args.systems]
    return table(["documents", *heads], rows)


def report(found: Sequence[Trained], args: argparse.Namespace, lines: Lines) -> str:
    """Write what was measured, as Markdown."""
    where = environment()
    versions = {x: where["versions"][x] for x in ("spacy_hosemi", "spacy")}
    parts = [
        f"# Learning curves: {args.data.resolve().name}",
        f"Micro-F1 on {lines.tested_on} ({len(lines.test)} documents) after training "
        f"on few documents, of which every tenth is dev; {args.repeats} subset(s) of "
        f"each size{', ± standard deviation' if args.repeats > 1 else ''}. "
        f"`{' '.join([str(args.config), *args.overrides])}`",
        curve_table(found, args),
        *system_notes(found, args),
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}, "
        f"{', '.join(f'{x} {version}' for x, version in versions.items())}.",
        f"    {where['command']}",
    ]
    return "\n\n".join(parts)


def system_notes(found: Sequence[Trained], args: argparse.Namespace) -> list[str]:
    """Say what must be known of the peers."""
    notes = []
    if "crfsuite" in args.systems:
        if args.peer_settings:
            how = "c1 {:g}, c2 {:g}, as given".format(*args.peer_settings)
        else:
            how = f"c1 and c2 by cross-validation ({settings_by_size(found)})"
        notes.append(f"crfsuite: the same token features; {how}.")
    if "ner" in args.systems:
        cut = [x for x in found if x.note.endswith("the most")]
        n_all = sum(x.system == "ner" for x in found)
        notes.append(
            f"ner: from `spacy init config`, at most {args.max_steps} steps, at which "
            f"{len(cut)} of {n_all} trainings ended."
        )
    return notes


def settings_by_size(found: Sequence[Trained]) -> str:
    """Write what was chosen for crfsuite, for each size."""
    notes: dict[int, dict[str, None]] = {}
    for trained in found:
        if trained.system == "crfsuite":
            notes.setdefault(trained.size, {})[trained.note] = None
    return "; ".join(f"{size}: {' or '.join(x)}" for size, x in sorted(notes.items()))


STYLES = {
    "hosemi": ("#d55e00", "s"),
    "crfsuite": ("#0072b2", "o"),
    "ner": ("#009e73", "^"),
}


def picture(
    found: Sequence[Trained], args: argparse.Namespace, lines: Lines, path: Path
) -> str:
    """Draw F1 by size.

    path (Path): Of the Markdown file; .png and .svg are written beside it.
    RETURNS (str): What that file says of it.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return "The picture was left out; to have it: `pip install matplotlib`"
    matplotlib.rcParams.update({"svg.hashsalt": "learning", "font.size": 9})
    drawn = Figure(figsize=(5.2, 3.8), layout="constrained")
    panel = drawn.subplots()
    for system in args.systems:
        draw(panel, found, args, system)
    panel.set(
        xscale="log",
        title=args.data.resolve().name,
        xlabel="documents with labels",
        ylabel=f"micro-F1 on {lines.tested_on}, %",
    )
    panel.set_xticks(args.sizes, [str(size) for size in args.sizes])
    panel.minorticks_off()
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.legend(frameon=False)
    for ending in ("png", "svg"):
        metadata = {"Date": None} if ending == "svg" else None
        drawn.savefig(path.with_suffix(f".{ending}"), dpi=150, metadata=metadata)
    return f"![F1 by number of documents]({path.with_suffix('.png').name})"


def draw(
    panel: Any, found: Sequence[Trained], args: argparse.Namespace, system: str
) -> None:
    """Draw one system: means, and standard deviations if there are repeats."""
    colour, marker = STYLES[system]
    pairs = [values(found, system, size, "f1") for size in args.sizes]
    panel.errorbar(
        args.sizes,
        [100 * mean for mean, _ in pairs],
        yerr=[100 * spread for _, spread in pairs] if args.repeats > 1 else None,
        color=colour,
        marker=marker,
        capsize=3,
        label=system,
    )


# --------------------------------------------------------------------------- all of it


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train hosemi, CRFsuite and spaCy's ner on few documents, then on "
        "more; print and draw their F1.",
        epilog="Example: python benchmarks/learning_curves.py ../data/cora --dev "
        "--sizes 50 100 --repeats 3",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add(
        "--systems",
        nargs="+",
        choices=SYSTEMS,
        default=list(SYSTEMS),
        metavar="SYSTEM",
        help=f"some of {', '.join(SYSTEMS)} (default: all of them)",
    )
    add(
        "--sizes",
        nargs="+",
        type=int,
        default=list(SIZES),
        metavar="N",
        help=f"documents to train on (default: {' '.join(map(str, SIZES))})",
    )
    add(
        "--repeats",
        type=int,
        default=1,
        metavar="R",
        help="draw R subsets of each size (default: %(default)s)",
    )
    add(
        "--dev",
        action="store_true",
        help="for development: test on dev.jsonl, or on a fifth of train if there is "
        "none; test.jsonl is not read",
    )
    add(
        "--peer-settings",
        nargs=2,
        type=float,
        metavar=("C1", "C2"),
        help="regularisation of crfsuite (default: the best of nine by "
        "cross-validation on each subset, which takes 27 short trainings)",
    )
    add(
        "--max-steps",
        type=int,
        default=4000,
        metavar="STEPS",
        help=f"the most steps of ner, a multiple of {NER_EVERY} (default: %(default)s)",
    )
    add(
        "--output",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="where learning-curves-DATA.{md,png,svg} are written, whatever is there; "
        "with --dev the names end in -dev (default: %(default)s)",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    args = parser.parse_args()
    args.sizes = sorted(set(args.sizes))
    args.systems = [x for x in SYSTEMS if x in args.systems]
    check(parser, args)
    return args


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Make sure that what is asked for can be done."""
    check_system(parser)
    for name in ("train",) if args.dev else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if not args.config.is_file():
        parser.error(f"there is no config {args.config}")
    check_overrides(parser, args.overrides)
    if args.sizes[0] < 10:
        parser.error(f"--sizes are at least 10, found {args.sizes[0]}")
    if args.repeats < 1:
        parser.error("--repeats is at least 1")
    if args.max_steps < NER_EVERY or args.max_steps % NER_EVERY:
        parser.error(f"--max-steps is a multiple of {NER_EVERY}: later ones are lost")
    if "crfsuite" in args.systems and package_version("python-crfsuite") is None:
        parser.error("crfsuite needs python-crfsuite: pip install python-crfsuite")


def keep_possible_sizes(args: argparse.Namespace, n_docs: int) -> None:
    """Leave out sizes for which there are too few documents, and say so."""
    too_large = [size for size in args.sizes if size > n_docs]
    args.sizes = [size for size in args.sizes if size <= n_docs]
    if not args.sizes:
        sys.exit(f"there are only {n_docs} documents to draw from")
    if too_large:
        left_out = ", ".join(map(str, too_large))
        print(f"left out, with {n_docs} documents to draw from: {left_out}")


def write_results(
    found: Sequence[Trained], args: argparse.Namespace, lines: Lines
) -> None:
    """Print the report; write it, with the picture, and the JSON line."""
    written = report(found, args, lines)
    print(f"\n{written}")
    name = f"learning-curves-{args.data.resolve().name}{'-dev' if args.dev else ''}"
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / f"{name}.md"
    drawn = picture(found, args, lines, path)
    path.write_text(f"{written}\n\n{drawn}\n", "utf-8")
    print(f"\nwritten: {path}")
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "tested_on": lines.tested_on,
        "found": [asdict(trained) for trained in found],
    }
    append_json(args.json, record)


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    try:
        lines = data_lines(args.data, args.dev)
        keep_possible_sizes(args, len(lines.train))
        with run_folder(args) as folder:
            found = measure(args, folder, lines)
    except ValueError as error:  # from reading the data
        sys.exit(f"{error}")
    write_results(found, args, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
