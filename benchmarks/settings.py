"""What `hosemi init` writes, with l2 = "auto", beside a chain with its best penalty.

    python benchmarks/settings.py ../data/cora --kind references

Both learn from the same documents of train and read the same features. Ours chooses l2,
border weights held three times as strongly, and the decoding, on dev, or on folds of
train where there is no dev. CRFsuite has the c1 and c2 with the highest F1 on the same,
out of the grid in peers.py. Nothing is chosen on test, which is read once by each.

--tune N adds the config that `hosemi tune` makes of the same one in N minutes, with
train alone; --by-hand a config whose settings people have chosen, with --overrides.

"Less the chain's" has the interval of 95 % of 1,000 draws of as many test documents
with replacement, both systems on the same draws. CPU seconds of "all" are the whole
process of `spacy train`, and for the chain reading features, choosing c1 and c2, and
training; of "fit" the last fit alone, of ours from the weights of the trial before. MB
are those of the folder, and of CRFsuite's file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import harness
import training
from arguments import number, path_to, script
from peers import fit_peer
from processes import measured, size_mb
from scores import Counts, Exactness, count, counted, differences, interval
from spacy.util import load_model


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train both on train, test both on test, print everything."""
    init = training.write_init(folder / "init.cfg", args.kind, args.lists)
    splits = training.read_splits(args, folder, init)
    ours = of_config(init, splits, [] if args.by_hand else args.overrides)
    systems = {"hosemi": ours}
    if args.tune:
        seconds = tune(init, splits, args.tune)
        tuned = of_config(folder / "tuned.cfg", splits, [])
        systems["tuned"] = tuned._replace(seconds=tuned.seconds + seconds)
    if args.by_hand:
        systems["by hand"] = of_config(args.by_hand, splits, args.overrides)
    chain = fit_peer(
        ours.model, splits, given=args.peer_settings, sample=args.peer_sample
    )
    theirs = count(chain.predicted(splits.test))
    rows = [row_of(name, system, theirs) for name, system in systems.items()]
    f1, records = exactness_of(theirs)
    pair = f"{chain.c1:g}, {chain.c2:g}"
    row: list[Any] = ["CRFsuite", f1, "", records, "", pair, ""]
    row += [chain.choosing + chain.usage.cpu_s, chain.cost["fit"], size_mb(chain.path)]
    rows.append(row)
    columns = ["system", "F1|.2f", "less the chain's", "records|.2f"]
    columns += ["less the chain's", "l2; c1, c2", "decoding", "all, CPU s|.0f"]
    columns += ["fit|.0f", "MB|.2f"]
    n_docs = f"{splits.n_docs['train']} / {len(theirs)} docs"
    harness.report(
        args,
        f"{args.data.resolve().name}, {args.kind}: {n_docs}",
        harness.table(columns, rows),
        f"hosemi: chosen on {ours.judged_by}",
        f"CRFsuite: {chain.source}",
        (folder / "tuned.cfg").read_text("utf-8").partition("\n\n")[0]
        if args.tune
        else "",
        rows=rows,
    )


def exactness_of(counts: Counts) -> Exactness:
    """Returns F1 and records of all documents, in per cent."""
    return counted(counts.sum(axis=0))


class System(NamedTuple):
    """A trained config, and what it has found in test."""

    model: Path
    counts: Counts
    l2: float | None
    decoding: str
    judged_by: str
    seconds: float
    fit: float | None


def of_config(
    config: Path, splits: training.Splits, overrides: Sequence[str]
) -> System:
    """Returns a system, trained on train and tested on test."""
    splits = replace(splits, folder=splits.folder / config.stem)
    splits.folder.mkdir(exist_ok=True)
    model, usage, _ = training.train(config, splits, overrides)
    nlp = load_model(model)
    pipe: Any = nlp.get_pipe(training.entity_component(nlp))
    trials = pipe.facts.trials
    l2 = next((x["l2"] for x in trials if x["is_chosen"]), None)
    value = "null" if pipe.expected_f1 is None else pipe.expected_f1
    decoding = pipe.decoding + (f" {value}" if pipe.decoding == "mbr" else "")
    counts = count(training.predicted(nlp, splits.test))
    times = usage.cpu_s, training.fit_seconds(usage.output)
    return System(model, counts, l2, decoding, pipe.facts.judged_by, *times)


def tune(config: Path, splits: training.Splits, minutes: float) -> float:
    """Write tuned.cfg beside a config. RETURNS (float): CPU seconds that this took."""
    command = [sys.executable, "-m", "spacy", "hosemi", "tune", str(splits.train)]
    command += [str(config.with_name("tuned.cfg")), "--config", str(config)]
    usage = measured([*command, "--minutes", str(minutes)])
    print(usage.output, file=sys.stderr)
    return usage.cpu_s


def row_of(name: str, system: System, theirs: Counts) -> list[Any]:
    """Returns a row of the table."""
    both = zip(exactness_of(system.counts), exactness_of(theirs))
    draws = differences(system.counts, theirs)
    cells: list[Any] = []
    for (ours, peer), apart in zip(both, draws):
        cells += [ours, f"{ours - peer:+.2f} ({interval(apart)})"]
    l2 = "" if system.l2 is None else f"{system.l2:g}"
    cells += [l2, system.decoding, system.seconds, system.fit]
    return [name, *cells, size_mb(system.model)]


OPTIONS = {
    "--tune": number(None, "add hosemi tune, in N minutes", 0.0),
    "--by-hand": path_to("add another config"),
}
SHARED = "data --overrides --max-train --kind --lists --peer-settings --peer-sample"
main = script(__doc__, measure, f"{SHARED} --json", OPTIONS)

if __name__ == "__main__":
    main()
