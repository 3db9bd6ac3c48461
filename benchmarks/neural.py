"""hosemi with a shared tok2vec beside spaCy's `ner` with the same: F1 and speed.

    python benchmarks/neural.py ../data/wnut17

The systems:

- hosemi: the config, scores of a tok2vec beside those of the features;
- hosemi-alone: the same without features, scores of the tok2vec only;
- ner: the same config with spaCy's `ner` in the place of hosemi, as `spacy init config`
  writes it for a CPU: the same tok2vec and listener, batches, optimizer, dropout;
- hosemi-sparse: another config, without a tok2vec (--reference).

All are trained by `spacy train` on the same documents, those with a tok2vec for the
same number of steps; the model that was best on dev is tested. Dev is dev.jsonl,
or a fifth of train, held out, where there is none. With --dev the models are tested on
dev.jsonl, or on a fifth of train where there is none, and dev is a fifth of the rest.
--overrides of the component hosemi hold for hosemi alone, others for all that have a
tok2vec.

F1 and records are those of `accuracy.py`. Speeds are in tokens per CPU second, the
median of some passes in turns in this process:

- component: from docs on which the tok2vec has run to `doc.ents`, what the component
  adds to a pipeline that has the tok2vec anyway; features are read in this time, too;
- / ner: that speed divided by that of `ner`; above 1, hosemi adds less time;
- pipeline: from fresh docs, the tok2vec included.

Docs go through `pipe` in batches. CPU s is user and system time of `spacy train`, with
its looks at dev. One training has one seed (`--overrides training.seed=1` for another):
F1 may differ by a point between two.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import Any

import harness
import training
from arguments import number, path_to, script, some_of
from spacy.util import load_model
from thinc.api import Config
from tqdm import tqdm

SYSTEMS = ("hosemi", "hosemi-alone", "ner", "hosemi-sparse")
EVERY = 100  # steps; only then `spacy train` looks at dev, and keeps a model
NER = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "nO": None,
}


def with_ner(source: Path, target: Path) -> None:
    """Write a config with `ner` for hosemi; the tok2vec that it hears stays."""
    config = Config().from_disk(source, interpolate=False)
    name = hosemi_name(config)
    heard = config["components"].pop(name)["model"]["tok2vec"]
    config["components"]["ner"] = {"factory": "ner", "model": {**NER, "tok2vec": heard}}
    pipeline = config["nlp"]["pipeline"]
    config["nlp"]["pipeline"] = ["ner" if x == name else x for x in pipeline]
    config["initialize"]["components"].pop(name, None)
    config.to_disk(target)


def hosemi_name(config: Config) -> str:
    """The name of the component hosemi in a config that has a tok2vec for it."""
    for name, block in config["components"].items():
        if block.get("factory") == "hosemi" and block["model"].get("tok2vec"):
            return name
    sys.exit("--config: a config with hosemi and a tok2vec for it is needed")


def plan(args: argparse.Namespace, folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """The config and the overrides of each system."""
    name = hosemi_name(Config().from_disk(args.config, interpolate=False))
    own = [x for x in args.overrides if x.startswith(f"components.{name}.")]
    shared = [x for x in args.overrides if x not in own]
    shared += [f"training.max_steps={args.steps}", f"training.eval_frequency={EVERY}"]
    nothing = f"components.{name}.model.features.preset=none"
    ner = folder / "ner.cfg"
    with_ner(args.config, ner)
    found = {
        "hosemi": (args.config, shared + own),
        "hosemi-alone": (args.config, [*shared, *own, nothing]),
        "ner": (ner, shared),
        "hosemi-sparse": (args.reference, own),
    }
    return {system: found[system] for system in args.systems}


def held_out(
    args: argparse.Namespace, lines: harness.Lines
) -> tuple[harness.Lines, harness.Lines]:
    """What is trained on, and what decides which model is best."""
    drawn, dev = harness.draw(lines, args.max_train), args.data / "dev.jsonl"
    if dev.exists() and not args.dev:
        return drawn, harness.read_lines(dev)
    return next(harness.folds(drawn, 5))


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    lines, test, tested_on = harness.train_and_test(args)
    rest, dev = held_out(args, lines)
    splits = training.make_splits(
        folder, training.config_lang(args.config), rest, dev, test
    )
    found: dict[str, dict[str, Any]] = {}
    timed: dict[tuple[str, str], harness.Timed] = {}
    todo = tqdm(plan(args, folder).items(), desc="trainings", disable=None)
    for name, (config, overrides) in todo:
        model, usage, _ = training.train(config, splits, overrides)
        nlp = load_model(model.rename(folder / name))
        found[name] = training.tested(nlp, splits.test)._asdict()
        found[name]["cpu_s"] = usage.cpu_s
        timed[name, "component"] = training.timed_component(nlp, splits.test)
        timed[name, "pipeline"] = training.timed_pipeline(nlp, splits.test)
    n_tokens = splits.n_tokens["test"]
    for (name, part), seconds in harness.take_turns(timed, args.passes).items():
        found[name][part] = n_tokens / median(seconds)
    of_ner = found["ner"]["component"] if "ner" in found else None
    rows = []
    for name, x in found.items():
        ratio = x["component"] / of_ner if of_ner else None
        speeds = x["component"], ratio, x["pipeline"]
        rows.append([name, x["f1"], x["records"], *speeds, x["cpu_s"]])
    columns = ["system", "F1|.2f", "records|.2f", "component|,.0f", "/ ner|.2f"]
    harness.report(
        args,
        f"{args.data.resolve().name}, {args.config.stem}: {len(rest)} training and "
        f"{len(dev)} dev documents, {args.steps} steps, tested on {tested_on} "
        f"({len(test)} documents)",
        harness.table([*columns, "pipeline|,.0f", "training, CPU s|.0f"], rows),
        found=found,
    )


BASE = harness.ROOT / "spacy_hosemi" / "configs" / "base.cfg"
OPTIONS = {
    "--systems": some_of(SYSTEMS),
    "--reference": path_to("config of hosemi-sparse, without a tok2vec", default=BASE),
    "--steps": number(1000, f"of training, a multiple of {EVERY}"),
}
DEFAULTS = {"config": harness.ROOT / "configs" / "neural.cfg", "passes": 5}
SHARED = "data --config --overrides --dev --max-train --passes --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS, **DEFAULTS)

if __name__ == "__main__":
    main()
