"""What `hosemi init` writes, with l2 = "auto", beside a chain with its best penalty.

    python benchmarks/settings.py ../data/cora --kind references
    python benchmarks/settings.py ../data/wnut17 --kind names --max-train 1500

Both learn from the same documents of train and read the same features. Ours chooses l2,
border weights held three times as strongly, and the decoding, on dev, or on folds of
train where there is no dev. CRFsuite has c1 = 0 and the c2 with the highest F1 on the
same, out of .01 to 10. Nothing is chosen on test, which is read once by each.

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
from pathlib import Path
from typing import Any

import harness
import numpy as np
from numpy.typing import NDArray
from peers import fit_peer
from scores import Exactness
from spacy.training import Example
from spacy.util import load_model
from training import config_lang, entity_component, make_splits, predicted, train

from spacy_hosemi.component.dev_scores import Counts, f1_of, record_accuracy_of
from spacy_hosemi.configs import KINDS, make_config
from spacy_hosemi.labels.alignment import is_complete, scored_entities

GRID = [(0.0, c2) for c2 in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]
N_DRAWS = 1000


def counts_of(examples: Sequence[Example]) -> Counts:
    """RETURNS (int64 [D, 4]): See `Counts`; spans are compared by characters."""
    pairs = [(*scored_entities(x), is_complete(x)) for x in examples]
    rows = [
        (len({*found} & {*gold}), len(found), len(gold), is_whole)
        for found, gold, is_whole in pairs
    ]
    return np.array(rows, np.int64).reshape(-1, 4)


def exactness_of(counts: Counts) -> Exactness:
    """RETURNS (Exactness): F1 and exact records, in per cent."""
    records = record_accuracy_of(counts)
    return Exactness(
        100 * f1_of(counts), math.nan if records is None else 100 * records
    )


def differences(one: Counts, other: Counts) -> Any:
    """RETURNS (float64 [N_DRAWS, 2]): Differences of both scores on the same draws."""
    rng = np.random.default_rng(harness.SEED)
    draws = rng.integers(0, len(one), (N_DRAWS, len(one)))
    return np.array(
        [np.subtract(exactness_of(one[x]), exactness_of(other[x])) for x in draws]
    )


def interval(values: NDArray[np.float64]) -> str:
    """RETURNS (str): 95 % of the values."""
    low, high = np.percentile(values, (2.5, 97.5))
    return f"{low:+.2f} to {high:+.2f}"


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train both on train, test both on test, print everything."""
    lines = {
        name: harness.read_lines(path)
        for name in ("train", "dev", "test")
        if (path := args.data / f"{name}.jsonl").exists()
    }
    args.config = folder / "init.cfg"
    args.config.write_text(make_config(args.kind), encoding="utf-8")
    drawn = harness.draw(lines["train"], args.max_train)
    lang = config_lang(args.config)
    splits = make_splits(folder, lang, drawn, lines.get("dev"), lines["test"])
    model, usage, _ = train(args.config, splits, args.overrides)
    nlp = load_model(model)
    ours = counts_of(predicted(nlp, splits.test))
    chain = fit_peer(model, splits, grid=GRID)
    theirs = counts_of(chain.predicted(splits.test))
    facts: Any = nlp.get_pipe(entity_component(nlp)).facts  # type: ignore[attr-defined]
    chosen = next((x for x in facts.trials if x["is_chosen"]), {})
    draws = differences(ours, theirs)
    (f1, records), (chain_f1, chain_records) = map(exactness_of, (ours, theirs))
    minutes = usage.cpu_s / 60, (chain.choosing + chain.usage.cpu_s) / 60
    what = f"{chosen.get('decoding')} {chosen.get('expected_f1') or ''}".strip()
    columns = ["system", "F1|.2f", "records|.2f", "penalty|g", "decoding", "min|.1f"]
    harness.report(
        args,
        f"{args.data.resolve().name}, {args.kind}: {len(drawn)} / {len(ours)} docs",
        harness.table(
            columns,
            [
                ["hosemi", f1, records, chosen.get("l2"), what, minutes[0]],
                ["CRFsuite", chain_f1, chain_records, chain.c2, "", minutes[1]],
            ],
        ),
        f"Difference: F1 {f1 - chain_f1:+.2f} ({interval(draws[:, 0])}), "
        f"exact records {records - chain_records:+.2f} ({interval(draws[:, 1])}); "
        f"chosen on {facts.judged_by}",
        f"CRFsuite: {chain.source}",
        scores={"hosemi": (f1, records), "crfsuite": (chain_f1, chain_records)},
        trials=[*facts.trials],
    )


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__, "data", "--overrides", "--max-train", "--json"
    )
    parser.add_argument("--kind", choices=[*KINDS], default="fields", help="of init")
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
