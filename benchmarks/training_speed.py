"""What batch training costs beside python-crfsuite, with the same penalty: L2 alone.

    python benchmarks/training_speed.py ../data/anystyle --max-train 400 \\
        --config benchmarks/configs/references.cfg

CRFsuite's c2 multiplies the squared norm, our l2 half of it: c2 = l2 / 2. Each training
has a process of its own; the systems take turns, and the medians of --rounds count.

- **The same model**: a linear chain of BIO tags, which both can express. We read each
  feature of a token once, in the role inside, without a minimum count, and have weights
  for the pairs of feature and tag that occur in train, as CRFsuite has; and while it is
  fitted no tag is forbidden behind another one. So both minimize the same function, but
  for our weights of the first and the last tag. "To their end" is our CPU time to the
  objective that CRFsuite ends with.
- **Our model**: what the config says, but for lists and l2, beside a chain of all its
  features. "To their end" is our time to the F1 on dev that the chain ends with, with
  the weights of that iteration; a third training, which is not timed, looks at dev.

CPU seconds are those of the fit: of our L-BFGS, and of CRFsuite's `train`, which also
counts its features and writes its model. "All" begins with documents, whose features
CRFsuite has been handed; ours reads, counts and selects them. Memory is the peak of the
process, and how much that is above what it had before.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import harness
import numpy as np
from arguments import number, script
from peers import open_crfsuite, peer_data, spans_of_tags
from processes import in_process, peak_mb, reset_peak, resident_mb
from scores import f1
from spacy.language import Language
from spacy.training import Corpus
from spacy.util import load_model, load_model_from_config
from thinc.api import Config
from training import Splits, read_splits, tested

from spacy_hosemi.component.judging import make_dev_corpus
from spacy_hosemi.features.presets import PRESETS
from spacy_hosemi.training import fit_progress
from spacy_hosemi.training.lbfgs import make_lbfgs

TOKEN_ROLES = "inside", "start", "end", "within"
MAX_ITERATIONS = 1000
# Of our fit of the same model: low enough to get to CRFsuite's end.
TOLERANCE = 1e-6


def chain_config(config: Config) -> Config:
    """Returns the config of a linear chain of the same features of tokens."""
    found = config.copy()
    component = found["components"]["hosemi"]
    component |= {"encoding": "BIO", "max_order": 1, "decoding": "viterbi"}
    features = component["model"]["features"]
    preset = PRESETS[features.get("preset", "default")]
    read = [*preset.values(), *(features.get(role, []) for role in TOKEN_ROLES)]
    features |= {"preset": "none", "min_count": 1, "all_labels": False}
    features |= dict.fromkeys(TOKEN_ROLES, [])
    features["inside"] = list(dict.fromkeys(chain.from_iterable(read)))
    return found


def without_lists(config: Config, l2: float) -> Config:
    """Returns the config with one penalty, and without what a path is needed for."""
    found = config.copy()
    model, block = found["components"]["hosemi"]["model"], found["initialize"]
    model.pop("gazetteers", None)
    block["components"]["hosemi"] = {"fit": {"@misc": "spacy_hosemi.lbfgs.v1"}}
    block["components"]["hosemi"]["fit"]["l2"] = l2
    return found


def prepare(config: str, train: str, **settings: Any) -> tuple[Language, Any, Any]:
    """The pipeline of a config, the documents of train, and the fit."""
    found = Config().from_disk(config)
    fit = {**found["initialize"]["components"]["hosemi"]["fit"], **settings}
    fit.pop("@misc")
    nlp = load_model_from_config(found, auto_fill=True)
    find = make_lbfgs(**fit, progress=False, max_iter=MAX_ITERATIONS)
    return nlp, list(Corpus(Path(train))(nlp)), find


def scores_on_dev(config: str, train: str, dev: str, log: str) -> list[float]:
    """F1 after each iteration (in a process of its own); nothing is timed."""
    fit_progress.WATCH_EVERY = 1
    nlp, examples, find = prepare(config, train, log=log)
    component: Any = nlp.get_pipe("hosemi")
    dev_corpus = make_dev_corpus(dev)
    component.initialize(lambda: examples, nlp=nlp, fit=find, dev=dev_corpus)
    events = map(json.loads, harness.read_lines(Path(log)))
    steps = (x["dev"] for x in events if x["event"] == "iteration")
    return [100 * (scores["ents_f"] or 0.0) for scores in steps]


def now() -> tuple[float, float]:
    """CPU seconds of this process, and those of a clock."""
    return time.process_time(), time.perf_counter()


def fit_ours(
    config: str, train: str, tests: list[str], path: str, threads: int, is_same: bool
) -> dict[str, Any]:
    """Train a config (in a process of its own), and write the model to a path; if
    is_same, no label pattern is forbidden in the fit, and it goes on to CRFsuite's end.
    Returns course, cost, and F1 on the tests."""
    settings = {"tolerance": TOLERANCE} if is_same else {}
    settings |= {"threads": threads} if threads > 1 else {}
    nlp, examples, find = prepare(config, train, **settings)
    component: Any = nlp.get_pipe("hosemi")
    steps: list[tuple[float, float]] = []
    losses, ends, memory = [], [], resident_mb()
    step = fit_progress.FitProgress.step

    def timed_step(self: Any, *position: Any) -> bool:
        is_last = step(self, *position)
        steps.append(now())
        losses.append(self.loss)
        return is_last

    def timed_fit(batch: Any) -> Any:
        pattern = batch.weights.state.pattern
        is_forbidden = np.isneginf(pattern) & is_same
        pattern[is_forbidden] = 0.0
        ends.append(now())
        report = find(batch)
        ends.append(now())
        batch.weights.state.pattern[is_forbidden] = -np.inf
        return report

    fit_progress.FitProgress.step = timed_step  # type: ignore[method-assign]
    reset_peak()
    start = time.process_time()
    component.initialize(lambda: examples, nlp=nlp, fit=timed_fit)
    all_s, peak = time.process_time() - start, peak_mb()
    nlp.to_disk(path)
    began, ended = ends
    cpu_s, wall_s = np.subtract(ended, began).tolist()
    return {
        **{"fit": cpu_s, "wall": wall_s, "all": all_s, "losses": losses},
        **{"peak": peak, "growth": peak - memory},
        "steps": np.subtract(steps, began).tolist(),
        "f1": [tested(nlp, Path(test)).f1 for test in tests],
    }


def fit_theirs(
    model: str, train: str, tests: list[str], path: str, l2: float
) -> dict[str, Any]:
    """The same of a chain on the features of a trained model."""
    import pycrfsuite

    data = peer_data(load_model(model), "crfsuite", Path(train), True)
    losses: list[float] = []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def on_iteration(self, log: Any, info: Mapping[str, Any]) -> None:
            losses.append(info["loss"])

    reset_peak()
    before, start = resident_mb(), time.process_time()
    params = {"c1": 0.0, "c2": l2 / 2, "feature.possible_transitions": True}
    params["max_iterations"] = MAX_ITERATIONS
    trainer = Trainer(algorithm="lbfgs", params=params, verbose=True)
    with redirect_stdout(StringIO()):  # not CRFsuite's log
        for sequence, gold in zip(data.items, data.tags, strict=True):
            trainer.append(sequence, gold)
        began = now()
        trainer.train(path)
    ended, peak = now(), peak_mb()
    cpu_s, wall_s = np.subtract(ended, began).tolist()
    nlp, tagger, f1s = load_model(model), open_crfsuite(path), []
    for test in tests:
        data = peer_data(nlp, "crfsuite", Path(test), False)
        found = [spans_of_tags(tagger.tag(items)) for items in data.items]
        f1s.append(f1(found, [spans_of_tags(tags) for tags in data.tags]))
    return {
        **{"fit": cpu_s, "wall": wall_s, "all": ended[0] - start, "losses": losses},
        **{"peak": peak, "growth": peak - before, "f1": f1s},
    }


def compare(
    args: argparse.Namespace, name: str, config: Config, splits: Splits
) -> list[list[Any]]:
    """Returns rows of the table, ours and theirs."""
    folder = splits.folder / name
    folder.mkdir()
    path, model, tagger = (folder / x for x in ("config.cfg", "model", "crfsuite"))
    config.to_disk(path)
    is_same, dev = name == "same", splits.test if splits.dev_is_train else splits.dev
    documents = splits.train, [str(dev), str(splits.test)]
    ours, theirs = [], []
    for _ in range(args.rounds):
        given = path, *documents, model, args.threads, is_same
        ours.append(in_process(fit_ours, *given)[0])
        theirs.append(in_process(fit_theirs, model, *documents, tagger, args.l2)[0])
        print(name, *(x[-1]["fit"] for x in (ours, theirs)), file=sys.stderr)
    if is_same:
        reached = [time_to(x, x["losses"], theirs[0]["losses"][-1]) for x in ours]
    else:
        given = path, splits.train, dev, folder / "fit.jsonl"
        losses = [-x for x in in_process(scores_on_dev, *given)[0]]
        reached = [time_to(x, losses, -theirs[0]["f1"][0]) for x in ours]
    to_end: list[Any] = [None] * 3
    if None not in reached:
        cpu_s, wall_s = map(median, zip(*reached))
        peers = (median(x[key] for x in theirs) for key in ("fit", "wall"))
        to_end = [cpu_s, *(x / y for x, y in zip((cpu_s, wall_s), peers))]
    rows = []
    for system, found, ends in (("hosemi", ours, to_end), ("CRFsuite", theirs, [])):
        losses = found[0]["losses"]
        row = [f"{name}: {system}", len(losses), losses[-1]]
        row += [median(x[key] for x in found) for key in ("fit", "all")]
        row += ends or [None] * 3
        row += [median(x[key] for x in found) for key in ("peak", "growth")]
        rows.append([*row, *found[0]["f1"]])
    return rows


def time_to(found: dict[str, Any], losses: Sequence[float], least: float) -> Any:
    """Returns when, by both clocks, the first of some losses is as small."""
    return next((s for x, s in zip(losses, found["steps"]) if x <= least), None)


COLUMNS = ["model", "iterations|d", "objective|.1f", "fit, CPU s|.2f", "all, CPU s|.2f"]
COLUMNS += ["to their end|.2f", "ratio|.2f", "wall ratio|.2f"]
COLUMNS += ["peak, MB|.0f", "growth, MB|.0f", "dev F1|.2f", "test F1|.2f"]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train and test both, print everything."""
    splits = read_splits(args, folder / "data", args.config)
    config = without_lists(Config().from_disk(args.config, interpolate=False), args.l2)
    rows = compare(args, "same", chain_config(config), splits)
    rows += compare(args, "ours", config, splits)
    title = f"{args.data.resolve().name}, {splits.n_docs['train']} documents, "
    title += f"l2 = {args.l2:g}, threads = {args.threads}"
    harness.report(args, title, harness.table(COLUMNS, rows), rows=rows)


OPTIONS = {
    "--l2": number(0.1, "of all weights", 0.0),
    "--threads": number(1, "of our fit"),
    "--rounds": number(3, "that the medians are of"),
}
main = script(__doc__, measure, "data --config --max-train --json", OPTIONS)

if __name__ == "__main__":
    main()
