"""What batch training costs beside python-crfsuite, with the same penalty: L2 alone.

    python benchmarks/training_speed.py ../data/anystyle --max-train 400 \\
        --config benchmarks/configs/references.cfg
    python benchmarks/training_speed.py ../data/wnut17 \\
        --config benchmarks/configs/names.cfg

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

CPU seconds are those of the fit: of our L-BFGS from the first evaluation to the last,
and of CRFsuite's `train`, which also counts its features and writes its model. "All" is
what begins with documents whose features CRFsuite has been handed: ours reads, counts
and selects them in that time. Memory is the peak of the process, and how much that is
above what it had before: documents alone for us, features handed over for CRFsuite.
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
from arguments import number, script, some_of
from peers import open_crfsuite, peer_data, spans_of_tags
from processes import in_process, peak_mb, reset_peak, resident_mb
from scores import f1
from spacy.training import Corpus
from spacy.util import load_model
from thinc.api import Config
from training import Splits, accuracy, read_splits

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


def fit_ours(
    config: str,
    train: str,
    dev: str,
    path: str,
    threads: int,
    is_same: bool,
    looks_at_dev: bool,
) -> dict[str, Any]:
    """Train a config (in a process of its own).

    path (str): Where the model is written; beside it the log of the fit.
    is_same (bool): Whether no label pattern is forbidden in the fit, and it goes on to
        CRFsuite's end.
    looks_at_dev (bool): Whether the log has scores on dev; nothing is timed then.
    RETURNS (Dict[str, Any]): Course and cost.
    """
    from spacy.util import load_model_from_config

    found = Config().from_disk(config)
    fit = dict(found["initialize"]["components"]["hosemi"]["fit"])
    fit.pop("@misc")
    nlp = load_model_from_config(found, auto_fill=True)
    component: Any = nlp.get_pipe("hosemi")
    examples = list(Corpus(Path(train))(nlp))
    if threads > 1:
        fit["threads"] = threads
    log = Path(f"{path}.jsonl")
    if looks_at_dev:
        fit_progress.WATCH_EVERY = 1
        fit["log"] = str(log)
    if is_same:
        fit["tolerance"] = TOLERANCE
    find = make_lbfgs(**fit, progress=False, max_iter=MAX_ITERATIONS)
    steps: list[tuple[float, float, float]] = []
    began, memory = [], [resident_mb()]
    step = fit_progress.FitProgress.step

    def timed_step(self: Any, *position: Any) -> bool:
        is_last = step(self, *position)
        steps.append((time.process_time(), time.perf_counter(), self.loss))
        return is_last

    def timed_fit(batch: Any) -> Any:
        pattern = batch.weights.state.pattern
        is_forbidden = np.isneginf(pattern) & is_same
        pattern[is_forbidden] = 0.0
        memory.append(resident_mb())
        began.append((time.process_time(), time.perf_counter()))
        report = find(batch)
        began.append((time.process_time(), time.perf_counter()))
        batch.weights.state.pattern[is_forbidden] = -np.inf
        return report

    reset_peak()
    start = time.process_time()
    others = {} if not looks_at_dev else {"dev": make_dev_corpus(dev)}
    if not looks_at_dev:
        fit_progress.FitProgress.step = timed_step  # type: ignore[method-assign]
        find_or_timed: Any = timed_fit
    else:
        find_or_timed = find
    component.initialize(lambda: examples, nlp=nlp, fit=find_or_timed, **others)
    all_s = time.process_time() - start
    if looks_at_dev:
        lines = map(json.loads, log.read_text("utf-8").splitlines())
        events = [x for x in lines if x["event"] == "iteration"]
        return {"dev": [100 * (x["dev"]["ents_f"] or 0.0) for x in events]}
    peak = peak_mb()
    nlp.to_disk(path)
    return {
        "fit": began[1][0] - began[0][0],
        "wall": began[1][1] - began[0][1],
        "all": all_s,
        "steps": [x - began[0][0] for x, _, _ in steps],
        "wall_steps": [x - began[0][1] for _, x, _ in steps],
        "losses": [x for _, _, x in steps],
        "peak": peak,
        "growth": peak - memory[0],
        "growth_of_fit": peak - memory[1],
    }


def fit_theirs(model: str, train: str, l2: float, path: str) -> dict[str, Any]:
    """Train a chain on the features of a trained model (in a process of its own)."""
    import pycrfsuite

    nlp = load_model(model)
    data = peer_data(nlp, "crfsuite", Path(train), True)
    del nlp
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
        began = time.process_time()
        wall = time.perf_counter()
        trainer.train(path)
    ended, peak = time.process_time(), peak_mb()
    return {
        "fit": ended - began,
        "wall": time.perf_counter() - wall,
        "all": ended - start,
        "losses": losses,
        "peak": peak,
        "growth": peak - before,
    }


def f1_of_theirs(model: str, path: str, test: str) -> float:
    """F1 of a chain on the features of a model (in a process of its own)."""
    nlp = load_model(model)
    data, tagger = peer_data(nlp, "crfsuite", Path(test), False), open_crfsuite(path)
    found = [spans_of_tags(tagger.tag(items)) for items in data.items]
    return f1(found, [spans_of_tags(tags) for tags in data.tags])


def f1_of_ours(model: str, test: str) -> float:
    """F1 of a model (in a process of its own)."""
    return 100 * accuracy(load_model(model), Path(test))["micro"]["f"]


def time_to(values: Sequence[float], least: float, seconds: Sequence[float]) -> Any:
    """Returns when the first of some values is as small."""
    return next((s for x, s in zip(values, seconds) if x <= least), None)


def compare(
    args: argparse.Namespace, name: str, config: Config, splits: Splits
) -> list[list[Any]]:
    """Returns rows of the table, ours and theirs."""
    folder = splits.folder / name
    folder.mkdir()
    path, model, tagger = (folder / x for x in ("config.cfg", "model", "crfsuite"))
    config.to_disk(path)
    ours, theirs = [], []
    n_rounds = 1 if args.quick else args.rounds
    for _ in range(n_rounds):
        given = path, splits.train, splits.dev, model, args.threads, name == "same"
        ours.append(in_process(fit_ours, *given, False)[0])
        theirs.append(in_process(fit_theirs, model, splits.train, args.l2, tagger)[0])
        print(name, *(x[-1]["fit"] for x in (ours, theirs)), file=sys.stderr)
    end = theirs[0]["losses"][-1]
    judged = splits.test if splits.dev_is_train else splits.dev
    scores = {
        part: [
            in_process(f1_of_ours, model, test)[0],
            in_process(f1_of_theirs, model, tagger, test)[0],
        ]
        for part, test in (("dev", judged), ("test", splits.test))
    }
    if name == "same":
        reached = [[time_to(x["losses"], end, x[key]) for x in ours] for key in STEPS]
    else:
        looked = in_process(
            fit_ours, path, splits.train, judged, model, args.threads, False, True
        )[0]["dev"]
        least = -scores["dev"][1]
        reached = [
            [time_to([-y for y in looked], least, x[key]) for x in ours]
            for key in STEPS
        ]
    to_end, wall_to_end = (None if None in x else median(x) for x in reached)
    fit = median(x["fit"] for x in theirs)
    rows = []
    for k, (system, found) in enumerate((("hosemi", ours), ("CRFsuite", theirs))):
        row: list[Any] = [f"{name}: {system}", len(found[0]["losses"])]
        row.append(found[0]["losses"][-1])
        row += [median(x[key] for x in found) for key in ("fit", "all")]
        row += [None if k or to_end is None else to_end]
        row += [None if k or to_end is None else to_end / fit]
        row += [
            None
            if k or to_end is None
            else wall_to_end / median(x["wall"] for x in theirs)
        ]
        row += [median(x[key] for x in found) for key in ("peak", "growth")]
        row += [scores["dev"][k], scores["test"][k]]
        rows.append(row)
    return rows


STEPS = "steps", "wall_steps"
COLUMNS = ["model", "iterations|d", "objective|.1f", "fit, CPU s|.2f", "all, CPU s|.2f"]
COLUMNS += ["to their end|.2f", "ratio|.2f", "wall ratio|.2f"]
COLUMNS += ["peak, MB|.0f", "growth, MB|.0f", "dev F1|.2f", "test F1|.2f"]


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train and test both, print everything."""
    splits = read_splits(args, folder / "data", args.config)
    config = without_lists(Config().from_disk(args.config, interpolate=False), args.l2)
    rows = []
    if "same" in args.models_of:
        rows += compare(args, "same", chain_config(config), splits)
    if "ours" in args.models_of:
        rows += compare(args, "ours", config, splits)
    title = f"{args.data.resolve().name}, {splits.n_docs['train']} documents, "
    title += f"l2 = {args.l2:g}, threads = {args.threads}"
    harness.report(args, title, harness.table(COLUMNS, rows), rows=rows)


OPTIONS = {
    "--l2": number(0.1, "of all weights", 0.0),
    "--threads": number(1, "of our fit"),
    "--rounds": number(3, "that the medians are of"),
    "--models-of": some_of(("same", "ours")),
}
main = script(__doc__, measure, "data --config --max-train --json --quick", OPTIONS)

if __name__ == "__main__":
    sys.exit(main())
