"""Cross-validation of a config and of its peers on the same folds (`accuracy.py`)."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from measuring import (
    SEED,
    Splits,
    append_json,
    folds,
    make_splits,
    mean_and_error,
    mean_and_spread,
    read_lines,
    training_lines,
)
from peers import PeerOptions, PeerSettings, feature_reader, fit_peer, peer_settings
from spacy.language import Language
from spacy.util import load_model
from tqdm import tqdm
from training import accuracy, config_lang, train


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
    peers (Sequence[PeerOptions]): What the config is compared with.
    """

    def __init__(
        self, args: argparse.Namespace, peers: Sequence[PeerOptions] = ()
    ) -> None:
        self.args = args
        self.lang = config_lang(args.config)
        self.peers = peers
        self.settings: dict[str, PeerSettings] = {}  # those of the first fold

    def measure(
        self, folder: Path, rest: list[bytes], held_out: list[bytes]
    ) -> dict[str, float]:
        """Train on the rest and test on what was held out.

        RETURNS (Dict[str, float]): "p", "r", "f" and "cpu_s", and for each peer
            "NAME_f" and "NAME_cpu_s".
        """
        splits = make_splits(folder, self.lang, rest, None, held_out)
        model, usage, _ = train(
            self.args.config, splits, self.args.overrides, quiet=True
        )
        nlp = load_model(model)
        score = accuracy(nlp, splits.test)["micro"]
        found = {**asdict(score), "cpu_s": usage.cpu_s}
        for options in self.peers:
            found |= self.measure_peer(options, nlp, model, splits)
        return found

    def measure_peer(
        self, options: PeerOptions, nlp: Language, model: Path, splits: Splits
    ) -> dict[str, float]:
        """Do the same with a peer; the model gives the features."""
        name = options.name
        feature_reader(nlp, name)  # exits, if there is nothing to read
        if name not in self.settings:
            chosen = peer_settings(model, splits, quiet=True, options=options)
            self.settings[name] = chosen
        peer = fit_peer(model, name, splits, self.settings[name], quiet=True)
        f1 = peer.scores(nlp, splits.test)["micro"].f
        return {f"{name}_f": f1, f"{name}_cpu_s": peer.usage.cpu_s}


Found = dict[str, float]


def fold_row(repeat: int, fold: int, found: Found, peers: Sequence[str]) -> str:
    """Write the figures of one fold."""
    figures = "".join(f"{100 * found[x]:8.2f}" for x in "prf")
    row = f"{repeat:6}{fold:6}{figures}{found['cpu_s']:8.1f}"
    for peer in peers:
        difference = 100 * (found["f"] - found[f"{peer}_f"])
        row += f"{100 * found[f'{peer}_f']:{2 + len(peer)}.2f}"
        row += f"{found[f'{peer}_cpu_s']:8.1f}{difference:+12.2f}"
    return row


def fold_means(found: Sequence[Found], key: str) -> str:
    """Write mean and spread of one system over the folds; key: "" or "NAME_"."""
    mean, spread = mean_and_spread([100 * figures[f"{key}f"] for figures in found])
    cpu, _ = mean_and_spread([figures[f"{key}cpu_s"] for figures in found])
    return (
        f"mean micro-F1 {mean:.2f} (standard deviation of a fold {spread:.2f}), "
        f"{cpu:.1f} CPU s a training"
    )


def print_fold_means(
    found: Sequence[Found], settings: dict[str, PeerSettings], is_given: bool
) -> None:
    """Print what all folds say together.

    settings (Dict[str, PeerSettings]): By peer.
    is_given (bool): Whether they were not chosen.
    """
    print(fold_means(found, ""))
    for peer, chosen in settings.items():
        print(f"{peer}: {fold_means(found, f'{peer}_')}")
        difference, error = mean_and_error(
            [100 * (x["f"] - x[f"{peer}_f"]) for x in found]
        )
        print(
            f"difference {difference:+.2f}, standard error {error:.2f} "
            f"({len(found)} folds)\n{peer} in all folds: {chosen}"
        )
    if settings and not is_given:
        print("(train: the training part of the first fold alone)")


def cross_validate(
    args: argparse.Namespace, folder: Path, peers: Sequence[PeerOptions]
) -> None:
    """Train and test on parts of train, print the F1 of each."""
    lines, files = lines_to_cut(args)
    print(
        f"{args.data.resolve().name}, {len(lines)} docs of {files}, {args.cv} folds, "
        f"{args.repeats} time(s)\n{args.config} {' '.join(args.overrides)}".rstrip()
    )
    heads = "".join(f"  {peer.name}   CPU s  difference" for peer in peers)
    print(f"repeat  fold       P       R      F1   CPU s{heads}", flush=True)
    found: list[Found] = []
    measured_folds = Folds(args, peers)
    progress = tqdm(total=args.cv * args.repeats, desc="folds", disable=None)
    for repeat in range(args.repeats):
        parts = folds(lines, args.cv, SEED + repeat)
        for fold, (rest, held_out) in enumerate(parts):
            part = folder / f"{repeat}-{fold}"
            found.append(measured_folds.measure(part, rest, held_out))
            if not args.runs:
                shutil.rmtree(part)
            row = fold_row(repeat, fold, found[-1], [peer.name for peer in peers])
            progress.write(row, file=sys.stdout)
            progress.update()
    progress.close()
    settings = measured_folds.settings
    print_fold_means(found, settings, args.peer_settings is not None)
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
        "peers": {name: str(chosen) for name, chosen in settings.items()},
    }
    append_json(args.json, record)
