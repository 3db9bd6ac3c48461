"""What training on partial annotation gives: some spans were never looked at.

    python benchmarks/partial_annotation.py ../data/cora
    python benchmarks/partial_annotation.py ../data/cora --missing 0.5 --dev --repeats 3
    python benchmarks/partial_annotation.py ../data/anystyle --max-train 400

Of the annotated spans of the training documents a share is taken away, drawn by a fixed
seed; what a smaller share takes away a larger one does, too. All other tokens keep what
they have: spans those that stay, outside what is outside. The config is then trained
twice on the same spans:

- missing: the tokens of the spans taken away are missing (`ent_iob` 0). Training sums
  over all segmentations that agree with the rest;
- outside: these tokens are called outside, as in a file that has spans only.

The first row is full annotation. P, R and F1 are those of exact spans with exact
labels, all labels together, in per cent, on the full annotation of test.jsonl; with
--dev on dev.jsonl, or on a fifth of train where there is none. CPU s is user and system
time of `spacy train`. With repeats, of which each takes other spans away, all are
means, and "±" is the standard deviation of one F1.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import spacy
from measuring import (
    SEED,
    Score,
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    data_lines,
    environment,
    make_splits,
    mean_and_spread,
    run_folder,
    table,
    training_lines,
)
from spacy.tokens import Doc, DocBin
from spacy.util import load_model
from tqdm import tqdm
from training import accuracy, config_lang, train

MISSING = (0.25, 0.5, 0.75)
READ_AS = ("missing", "outside")


@dataclass
class Trained:
    """One training; read_as is one of READ_AS, or "-" for full annotation."""

    missing: float
    read_as: str
    repeat: int
    score: Score
    cpu_s: float


# ------------------------------------------------------------------- partial annotation


def taken_away(docs: Sequence[Doc], share: float, seed: int) -> list[set[int]]:
    """Draw spans; for the same seed, a smaller share is within a larger one.

    RETURNS (List[Set[int]]): For each doc, positions in doc.ents.
    """
    places = [(i, j) for i, doc in enumerate(docs) for j in range(len(doc.ents))]
    random.Random(seed).shuffle(places)
    drawn: list[set[int]] = [set() for _ in docs]
    for i, j in places[: round(share * len(places))]:
        drawn[i].add(j)
    return drawn


def take_away(doc: Doc, drawn: set[int], read_as: str) -> None:
    """Take entities away, and leave their tokens missing, or outside."""
    kept = [ent for j, ent in enumerate(doc.ents) if j not in drawn]
    others = [doc.ents[j] for j in sorted(drawn)]
    if read_as == "missing":
        doc.set_ents(kept, missing=others, default="unmodified")
    else:
        doc.set_ents(kept, outside=others, default="unmodified")


def partial(
    splits: Splits, lang: str, share: float, read_as: str, repeat: int
) -> Splits:
    """Write the same splits with some spans of train taken away."""
    folder = splits.folder / f"{repeat}-{share:g}-{read_as}"
    folder.mkdir(exist_ok=True)
    docs = list(DocBin().from_disk(splits.train).get_docs(spacy.blank(lang).vocab))
    for doc, drawn in zip(docs, taken_away(docs, share, SEED + repeat)):
        take_away(doc, drawn, read_as)
    path = folder / "train.spacy"
    DocBin(attrs=["ORTH", "ENT_IOB", "ENT_TYPE"], docs=docs).to_disk(path)
    return replace(splits, folder=folder, train=path)


# ---------------------------------------------------------------------------- trainings


def train_one(
    args: argparse.Namespace, splits: Splits, share: float, read_as: str, repeat: int
) -> Trained:
    """Train on partial annotation, and test."""
    if share:
        splits = partial(splits, config_lang(args.config), share, read_as, repeat)
    model, usage, _ = train(args.config, splits, args.overrides, args.quiet)
    score = accuracy(load_model(model), splits.test)["micro"]
    return Trained(share, read_as, repeat, score, usage.cpu_s)


def measure(args: argparse.Namespace, splits: Splits) -> list[Trained]:
    """Train on full annotation, then on all parts of it."""
    todo = [(0.0, "-", 0)]
    for share in args.missing:
        for read_as in READ_AS:
            todo += [(share, read_as, repeat) for repeat in range(args.repeats)]
    return [
        train_one(args, splits, *each)
        for each in tqdm(todo, desc="trainings", disable=None)
    ]


def partial_table(found: Sequence[Trained]) -> str:
    """Write each share and reading, means of the repeats."""
    groups: dict[tuple[float, str], list[Trained]] = {}
    for trained in found:
        groups.setdefault((trained.missing, trained.read_as), []).append(trained)
    rows = []
    for (share, read_as), group in groups.items():
        figures = []
        for name in "prf":
            mean, spread = mean_and_spread([getattr(x.score, name) for x in group])
            figures.append(f"{100 * mean:.2f}")
        if len(group) > 1:
            figures[-1] += f" ± {100 * spread:.2f}"
        cpu_s, _ = mean_and_spread([x.cpu_s for x in group])
        rows.append([f"{100 * share:g} %", read_as, *figures, f"{cpu_s:.1f}"])
    return table(["taken away", "read as", "P", "R", "F1", "CPU s"], rows)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train on a part of the annotated spans, the others left missing "
        "or called outside; print F1 of both beside full annotation.",
        epilog="Example: python benchmarks/partial_annotation.py ../data/cora "
        "--missing 0.5 --dev --repeats 3",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add(
        "--missing",
        nargs="+",
        type=float,
        default=list(MISSING),
        metavar="SHARE",
        help="shares of the spans to take away, above 0 and below 1 (default: "
        f"{' '.join(map(str, MISSING))})",
    )
    add(
        "--repeats",
        type=int,
        default=1,
        metavar="R",
        help="take R different sets of spans away (default: %(default)s)",
    )
    add("--max-train", type=int, metavar="N", help="train on N documents only")
    add(
        "--dev",
        action="store_true",
        help="for development: test on dev.jsonl, or on a fifth of train if there is "
        "none; test.jsonl is not read",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    add("--quiet", action="store_true", help="do not show what training prints")
    args = parser.parse_args()
    check_system(parser)
    check_overrides(parser, args.overrides)
    for name in ("train",) if args.dev else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if not args.config.is_file():
        parser.error(f"there is no config {args.config}")
    if not all(0 < share < 1 for share in args.missing):
        parser.error("--missing needs shares above 0 and below 1")
    if args.repeats < 1 or (args.max_train is not None and args.max_train < 1):
        parser.error("--repeats and --max-train are at least 1")
    args.missing = sorted(set(args.missing))
    return args


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    try:
        lines = data_lines(args.data, args.dev)
        drawn = training_lines(lines.train, args.max_train)
        with run_folder(args) as folder:
            lang = config_lang(args.config)
            splits = make_splits(folder, lang, drawn, None, lines.test)
            found = measure(args, splits)
    except ValueError as error:  # from reading the data
        sys.exit(f"{error}")
    where = environment()
    print(
        f"{args.data.resolve().name}, {args.config.stem}: {len(drawn)} training "
        f"documents, tested on {lines.tested_on} ({len(lines.test)} documents); "
        f"{args.repeats} draw(s)\n{where['date']}, {where['cpu']}, one thread, commit "
        f"{where['commit']}, spaCy {where['versions']['spacy']}\n"
    )
    print(partial_table(found))
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "tested_on": lines.tested_on,
        "n_train": len(drawn),
        "found": [asdict(trained) for trained in found],
    }
    append_json(args.json, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
