"""What `hosemi init` writes, with l2 = "auto", beside a chain with its best penalty.

    python benchmarks/settings.py ../data/cora --kind references
    python benchmarks/settings.py ../data/wnut17 --kind names --max-train 1500
    python benchmarks/settings.py ../data/cora --kind references --tune 10 \\
        --lists ../data/gazetteers --by-hand benchmarks/configs/references.cfg \\
        --overrides paths.gazetteers=../data/gazetteers

Both learn from the same documents of train and read the same features. Ours chooses l2,
border weights held three times as strongly, and the decoding, on dev, or on folds of
train where there is no dev. CRFsuite has c1 = 0 and the c2 with the highest F1 on the
same, out of .01 to 10. Nothing is chosen on test, which is read once by each.

--tune N adds the config that `hosemi tune` makes of the same one in N minutes, with
train alone; --by-hand a config whose settings people have chosen, with --overrides.

"Difference" is ours less the chain's, with the interval of 95 % of 1,000 draws of as
many test documents with replacement, both systems on the same draws. Minutes are of one
CPU: the whole process of `spacy train`, and for the chain reading features, choosing c2
and training.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from numpy.typing import NDArray
from peers import fit_peer
from processes import measured
from scores import Exactness
from spacy.training import Example
from spacy.util import load_model
from training import (
    Splits,
    config_lang,
    entity_component,
    make_splits,
    predicted,
    train,
)

from spacy_hosemi.component.judging import Counts, f1_of, record_accuracy_of
from spacy_hosemi.configs import KINDS, find_lists, make_config
from spacy_hosemi.labels.alignment import is_complete, scored_entities

GRID = [(0.0, c2) for c2 in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]
N_DRAWS = 1000


def counts_of(examples: Sequence[Example]) -> Counts:
    """Returns int64 [D, 4], see `Counts`; spans are compared by characters."""
    pairs = [(*scored_entities(x), is_complete(x)) for x in examples]
    rows = [
        (len({*found} & {*gold}), len(found), len(gold), is_whole)
        for found, gold, is_whole in pairs
    ]
    return np.array(rows, np.int64).reshape(-1, 4)


def exactness_of(counts: Counts) -> Exactness:
    """Returns F1 and exact records, in per cent."""
    records = record_accuracy_of(counts)
    return Exactness(
        100 * f1_of(counts), math.nan if records is None else 100 * records
    )


def differences(one: Counts, other: Counts) -> Any:
    """Returns differences of both scores on the same draws."""
    rng = np.random.default_rng(harness.SEED)
    draws = rng.integers(0, len(one), (N_DRAWS, len(one)))
    return np.array(
        [np.subtract(exactness_of(one[x]), exactness_of(other[x])) for x in draws]
    )


def interval(values: NDArray[np.float64]) -> str:
    """Returns the range of 95 % of the values."""
    low, high = np.percentile(values, (2.5, 97.5))
    return f"{low:+.2f} to {high:+.2f}"


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train both on train, test both on test, print everything."""
    lines = {
        name: harness.read_lines(path)
        for name in ("train", "dev", "test")
        if (path := args.data / f"{name}.jsonl").exists()
    }
    lists, _ = find_lists(args.lists) if args.lists else ([], {})
    init = folder / "init.cfg"
    init.write_text(make_config(args.kind, lists=lists, folder=args.lists), "utf-8")
    drawn = harness.draw(lines["train"], args.max_train)
    parts = drawn, lines.get("dev"), lines["test"]
    splits = make_splits(folder, config_lang(init), *parts)
    systems = {
        "hosemi": of_config(init, splits, [] if args.by_hand else args.overrides)
    }
    if args.tune:
        seconds = tune(init, splits, args.tune)
        tuned = of_config(folder / "tuned.cfg", splits, [])
        systems["tuned"] = tuned._replace(seconds=tuned.seconds + seconds)
    if args.by_hand:
        systems["by hand"] = of_config(args.by_hand, splits, args.overrides)
    chain = fit_peer(systems["hosemi"].model, splits, grid=GRID)
    theirs = counts_of(chain.predicted(splits.test))
    rows = [row_of(name, system, theirs) for name, system in systems.items()]
    seconds = chain.choosing + chain.usage.cpu_s
    f1, records = exactness_of(theirs)
    rows.append(["CRFsuite", f1, "", records, "", f"{chain.c2:g}", "", seconds / 60])
    columns = ["system", "F1|.2f", "less the chain's", "records|.2f"]
    columns += ["less the chain's", "penalty", "decoding", "min|.1f"]
    harness.report(
        args,
        f"{args.data.resolve().name}, {args.kind}: {len(drawn)} / {len(theirs)} docs",
        harness.table(columns, rows),
        f"hosemi: chosen on {systems['hosemi'].judged_by}",
        f"CRFsuite: {chain.source}",
        (folder / "tuned.cfg").read_text("utf-8").partition("\n\n")[0]
        if args.tune
        else "",
        rows=rows,
    )


class System(NamedTuple):
    """A trained config, and what it has found in test."""

    model: Path
    counts: Counts
    l2: float | None
    decoding: str
    judged_by: str
    seconds: float


def of_config(config: Path, splits: Splits, overrides: Sequence[str]) -> System:
    """Returns a system, trained on train and tested on test."""
    splits = replace(splits, folder=splits.folder / config.stem)
    splits.folder.mkdir(exist_ok=True)
    model, usage, _ = train(config, splits, overrides)
    nlp = load_model(model)
    pipe: Any = nlp.get_pipe(entity_component(nlp))
    trials = pipe.facts.trials
    l2 = next((x["l2"] for x in trials if x["is_chosen"]), None)
    value = "null" if pipe.expected_f1 is None else pipe.expected_f1
    decoding = pipe.decoding + (f" {value}" if pipe.decoding == "mbr" else "")
    counts = counts_of(predicted(nlp, splits.test))
    return System(model, counts, l2, decoding, pipe.facts.judged_by, usage.cpu_s)


def tune(config: Path, splits: Splits, minutes: float) -> float:
    """Write tuned.cfg beside a config. RETURNS (float): CPU seconds that this took."""
    command = [sys.executable, "-m", "spacy", "hosemi", "tune", str(splits.train)]
    command += [str(config.with_name("tuned.cfg")), "--config", str(config)]
    usage = measured([*command, "--minutes", str(minutes)])
    print(usage.output, file=sys.stderr)
    return usage.cpu_s


def row_of(name: str, system: System, theirs: Counts) -> list[Any]:
    """Returns a row of the table."""
    draws = differences(system.counts, theirs)
    (f1, records), other = exactness_of(system.counts), exactness_of(theirs)
    gains = [
        f"{x - y:+.2f} ({interval(draws[:, k])})"
        for k, (x, y) in enumerate(zip((f1, records), other))
    ]
    l2 = "" if system.l2 is None else f"{system.l2:g}"
    what = [l2, system.decoding, system.seconds / 60]
    return [name, f1, gains[0], records, gains[1], *what]


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__, "data", "--overrides", "--max-train", "--json"
    )
    add = parser.add_argument
    add("--kind", choices=[*KINDS], default="fields", help="of init")
    add("--lists", type=harness.existing, metavar="DIR", help="of init")
    minutes = harness.at_least(0.0, float)
    add("--tune", type=minutes, metavar="N", help="add hosemi tune, in N minutes")
    add("--by-hand", type=harness.existing, metavar="CONFIG", help="add another config")
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
