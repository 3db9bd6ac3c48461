"""How exact systems are after little training data, and after more.

    python benchmarks/learning_curves.py ../data/cora

The systems:

- hosemi, by the config;
- crfsuite, a linear chain on the same token features (it needs the trained hosemi for
  them, which is trained even if it is not asked for). c1 and c2 are given, or those
  with the highest F1 by 3-fold cross-validation on what it is trained on;
- ner, the tok2vec and `ner` that `spacy init config` writes for a CPU, trained by
  `spacy train` until the scores on dev have not risen for its patience, or to a highest
  number of steps; the note says where training ended.

A size is the number of documents that have labels. All systems get the same ones, drawn
by a fixed seed, the smaller subsets within the larger; each repeat draws others. Every
tenth of them is dev, which alone `spacy train` sees scores of, and no system is trained
on it: batch training and CRFsuite, which need no dev, could use a tenth more.

F1 and records are those of `accuracy.py`, on test.jsonl. With --dev they are on
dev.jsonl; where there is none, on a fifth of train, which then is not drawn from. With
repeats, "±" is the standard deviation of one training, not of the mean; records are
means. CPU s is user and system time of the process that trains; choosing c1 and c2 is
not in it. learning-curves-DATA.{md,png} are written to --output; with --dev the names
end in -dev.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import mean

import harness
import training
from arguments import number, script, some_of
from peers import fit_peer
from pictures import picture
from scores import exactness_of
from spacy.util import load_model
from tqdm import tqdm

NER_EVERY = 200  # steps; only then `spacy train` looks at dev, and keeps a model


@dataclass
class Trained:
    """One system after one training."""

    system: str
    size: int
    repeat: int
    f1: float  # in per cent
    records: float  # in per cent
    cpu_s: float
    note: str = ""  # what was chosen, or where training ended


def train_systems(
    args: argparse.Namespace, splits: training.Splits
) -> Iterator[tuple[str, float, float, float, str]]:
    """Train and test all systems on the same documents. Yields system, F1, records, CPU
    s, note."""
    if {"hosemi", "crfsuite"} & set(args.systems):
        model, usage, _ = training.train(args.config, splits, args.overrides)
        found = training.tested(load_model(model), splits.test)
        yield "hosemi", *found, usage.cpu_s, ""
    if "crfsuite" in args.systems:  # dev is too small to choose c1 and c2 by
        peer = fit_peer(model, splits, given=args.peer_settings, use_dev=False)
        found = exactness_of(peer.scores(splits.test))
        yield "crfsuite", *found, peer.usage.cpu_s, f"c1 {peer.c1:g}, c2 {peer.c2:g}"
    if "ner" in args.systems:
        config, steps = splits.folder / "ner.cfg", args.max_steps
        training.write_spacy_config(config, training.config_lang(args.config))
        settings = {"max_steps": steps, "eval_frequency": NER_EVERY}
        overrides = [f"training.{key}={value}" for key, value in settings.items()]
        model, usage, _ = training.train(config, splits, overrides)
        last = training.last_step(usage.output)
        note = f"{last} steps" + (", the most" if last >= steps else "")
        found = training.tested(load_model(model), splits.test)
        yield "ner", *found, usage.cpu_s, note


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train and test everything; print, write and draw the results."""
    lines, test, tested_on = harness.train_and_test(args)
    sizes = [size for size in sorted(set(args.sizes)) if size <= len(lines)]
    if not sizes:
        sys.exit(f"there are only {len(lines)} documents to draw from")
    found: list[Trained] = []
    lang = training.config_lang(args.config)
    draws = [harness.shuffled(lines, harness.SEED + k) for k in range(args.repeats)]
    trainings = [*product(enumerate(draws), sizes)]
    for (repeat, drawn), size in tqdm(trainings, disable=None):
        # Every tenth document is dev, so that train and dev are nested, too.
        rest = [line for i, line in enumerate(drawn[:size]) if i % 10 != 9]
        part, dev = folder / f"{repeat}-{size}", drawn[9:size:10]
        splits = training.make_splits(part, lang, rest, dev, test)
        for system, *figures in train_systems(args, splits):
            if system in args.systems:
                found.append(Trained(system, size, repeat, *figures))
    name = f"learning-curves-{args.data.resolve().name}{'-dev' if args.dev else ''}"
    path = args.output / name
    harness.report(
        args,
        f"Learning curves: {args.data.resolve().name}",
        f"Micro-F1 on {tested_on} ({len(test)} documents) after training on few "
        f"documents; every tenth of them is dev; {args.repeats} draw(s) of each size",
        curve_table(found, args.systems, sizes),
        draw_curves(found, sizes, path, f"micro-F1 on {tested_on}, %"),
        path=path.with_suffix(".md"),
        found=list(map(asdict, found)),
    )


def curve_table(found: list[Trained], systems: list[str], sizes: list[int]) -> str:
    """Figures by size and system, and what is to be known of the peers."""
    rows = []
    for size in sizes:
        groups = [[x for x in of_size(found, size) if x.system == y] for y in systems]
        f1s = [harness.with_spread([x.f1 for x in group]) for group in groups]
        records = [mean(x.records for x in group) for group in groups]
        seconds = [mean(x.cpu_s for x in group) for group in groups]
        notes = dict.fromkeys(x.note for group in groups for x in group if x.note)
        rows.append([str(size), *f1s, *records, *seconds, "; ".join(notes)])
    columns = [f"F1, {x}" for x in systems] + [f"records, {x}|.2f" for x in systems]
    columns += [f"CPU s, {x}|.1f" for x in systems]
    return harness.table(["documents", *columns, "notes"], rows)


def of_size(found: list[Trained], size: int) -> list[Trained]:
    """What was trained on so many documents."""
    return [x for x in found if x.size == size]


def draw_curves(found: list[Trained], sizes: list[int], path: Path, axis: str) -> str:
    """Draw F1 by size; with several repeats with standard deviations."""
    lines: dict[str, list[tuple[float, ...]]] = {x.system: [] for x in found}
    for size in sizes:
        for system, points in lines.items():
            f1s = [x.f1 for x in of_size(found, size) if x.system == system]
            points.append((size, *harness.mean_and_spread(f1s)))
    settings = {"xscale": "log", "xlabel": "documents with labels", "ylabel": axis}
    settings |= {"xticks": sizes, "xticklabels": sizes}
    return picture(path, [(lines, settings)], (5.2, 3.8))


OPTIONS = {
    "--systems": some_of(("hosemi", "crfsuite", "ner")),
    "--sizes": number([50, 100, 200, 400], "documents to train on", 10),
    "--max-steps": number(4000, f"steps of ner, a multiple of {NER_EVERY}", NER_EVERY),
}
SHARED = "data --config --overrides --dev --repeats --peer-settings --output --runs"
main = script(__doc__, measure, f"{SHARED} --json", OPTIONS)

if __name__ == "__main__":
    main()
