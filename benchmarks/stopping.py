"""When a fit may end: by its objective, by scores on dev, by predictions on train.

    python benchmarks/stopping.py ../data/ncbi_disease --kind names --max-train 2000

One fit with --l2 goes on until nothing changes; after each iteration the weights
predict train, dev and test. Each row is where one rule would have ended it:

- tolerance: `fit.tolerance` (.0001 is the default), the second time that an iteration
  lowers the objective by less than this share;
- patience: `fit.patience`, by F1 on dev, which is looked at every 10 iterations; the
  weights that were best there are kept. "Iterations" are all, with those after them;
- same on train: no prediction on train has changed for this many iterations.

"Less" are differences of F1 from that of the default rule, in points. Without dev.jsonl
a fifth of train is dev. Test chooses nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import harness
from arguments import number, script
from spacy.training import Corpus
from spacy.util import load_model_from_config
from thinc.api import Config
from tqdm import tqdm
from training import config_lang, make_splits, write_init

from spacy_hosemi.component.initialize import read_scored
from spacy_hosemi.component.judging import f1_of, only_spans, read_held_out
from spacy_hosemi.component.settings import decoding_options
from spacy_hosemi.training import fit_progress
from spacy_hosemi.training.lbfgs import make_lbfgs

TOLERANCES = 1e-3, 3e-4, 1e-4, 3e-5, 1e-5
DEFAULT = 1e-4
N_SMALL = 2  # small changes, as `lbfgs` counts them
PATIENCES = 10, 20, 30, 50
SAME = 3, 5, 10, 20
LOOKS_EVERY = 10
LAST_TOLERANCE = 1e-7


class Course(NamedTuple):
    """One fit, by iteration from 1: by which share each lowered the objective,
    iterations since the last that changed a prediction on train, F1 on dev and test in
    per cent."""

    changes: Sequence[float]
    n_same: Sequence[int]
    dev: Sequence[float]
    test: Sequence[float]

    def by_tolerance(self, tolerance: float) -> tuple[int, int]:
        """Returns where this rule ends; whose weights are kept."""
        n_small = 0
        for k, change in enumerate(self.changes):
            n_small += change <= tolerance
            if n_small == N_SMALL:
                return k, k
        return self._last

    def by_patience(self, patience: int) -> tuple[int, int]:
        """The same for `fit.patience`, with the default tolerance."""
        end, _ = self.by_tolerance(DEFAULT)
        looks = [*range(LOOKS_EVERY - 1, end, LOOKS_EVERY), end]
        best = looks[0]
        for k in looks:
            best = max(best, k, key=self.dev.__getitem__)
            if k - best >= patience:
                return k, best
        return end, best

    def by_predictions(self, n: int) -> tuple[int, int]:
        """The same where nothing changes on train."""
        found = next((k for k, x in enumerate(self.n_same) if x >= n), None)
        return self._last if found is None else (found, found)

    @property
    def _last(self) -> tuple[int, int]:
        return (len(self.changes) - 1,) * 2


def fit(config: Path, paths: Sequence[Path], l2: float, max_iter: int) -> Course:
    """Fit once, and look at everything after each iteration."""
    nlp = load_model_from_config(Config().from_disk(config), auto_fill=True)
    component: Any = nlp.get_pipe("hosemi")
    examples, *others = [list(Corpus(path)(nlp)) for path in paths]
    log = config.with_name("fit.jsonl")
    predicted: list[list[Any]] = []

    def fit_and_look(batch: Any) -> Any:
        trainer, settings = component.trainer, component.settings
        options = only_spans(decoding_options(settings, component.name, None))
        train, *judged = [
            read_held_out(trainer, read_scored(component, part), options.scope)
            for part in (examples, *others)
        ]

        def look(_: Any) -> dict[str, float]:
            predicted.append([*train.spans(trainer, options)])
            scores = [100 * f1_of(x.counts(trainer, options)) for x in judged]
            return dict(zip(("dev", "test"), scores))

        batch.watch = look
        settings = {"log": log, "max_iter": max_iter, "tolerance": LAST_TOLERANCE}
        return make_lbfgs(l2, border_factor=3.0, **settings)(batch)

    fit_progress.WATCH_EVERY = 1
    component.initialize(lambda: examples, nlp=nlp, fit=fit_and_look)
    events = map(json.loads, log.read_text("utf-8").splitlines())
    steps = [x for x in events if x["event"] == "iteration"]
    n_same = [0]
    for before, now in zip(predicted, predicted[1 : len(steps)]):
        n_same.append(n_same[-1] + 1 if before == now else 0)
    scores = [[x["dev"][name] for x in steps] for name in ("dev", "test")]
    return Course([x["change"] for x in steps], n_same, *scores)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Fit, apply all rules, print everything."""
    config = write_init(folder / "init.cfg", args.kind)
    args.dev = True
    lines, dev, _ = harness.train_and_test(args)
    lines = harness.draw(lines, args.max_train)
    test = harness.read_lines(args.data / "test.jsonl")
    splits = make_splits(folder, config_lang(config), lines, dev, test)
    paths = splits.train, splits.dev, splits.test
    tqdm.write(f"{len(lines)} documents", file=sys.stderr)
    found = fit(config, paths, args.l2, args.max_iter)
    _, default = found.by_tolerance(DEFAULT)
    rules = [(f"tolerance {x:g}", found.by_tolerance(x)) for x in TOLERANCES]
    rules += [(f"patience {x}", found.by_patience(x)) for x in PATIENCES]
    rules += [(f"same on train {x}", found.by_predictions(x)) for x in SAME]
    rows = []
    for name, (end, kept) in rules:
        row: list[Any] = [name, end + 1, (end + 1) / (default + 1)]
        for scores in (found.dev, found.test):
            row += [scores[kept], scores[kept] - scores[default]]
        rows.append(row)
    columns = ["rule", "iterations|d", "share|.2f", "dev F1|.2f", "less|+.2f"]
    columns += ["test F1|.2f", "less|+.2f"]
    name = args.data.resolve().name
    title = f"{name}, {args.kind}: {len(lines)} documents, l2 = {args.l2:g}"
    harness.report(args, title, harness.table(columns, rows), rows=rows)


OPTIONS = {"--l2": number(0.1, "of all weights", 0.0)}
SHARED = "data --max-train --kind --max-iter --json"
main = script(__doc__, measure, SHARED, OPTIONS, max_iter=300)

if __name__ == "__main__":
    main()
