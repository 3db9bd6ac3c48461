"""hosemi with a shared tok2vec beside spaCy's `ner` with the same: F1 and speed.

    python benchmarks/neural.py ../data/wnut17
    python benchmarks/neural.py ../data/cora --dev --steps 500
    python benchmarks/neural.py ../data/wnut17 --overrides \\
        components.hosemi.decoding=mbr components.hosemi.expected_f1=0.2

The systems:

- hosemi: the config, scores of a tok2vec beside those of the features;
- hosemi-alone: the same without features, scores of the tok2vec only;
- ner: the same config with spaCy's `ner` in the place of hosemi, as `spacy init config`
  writes it for a CPU: the same tok2vec and listener, batches, optimizer, dropout;
- hosemi-sparse: another config, without a tok2vec (--reference).

All are trained by `spacy train` on the same documents, those with a tok2vec for the
same number of steps; of each the model that was best on dev is kept. Dev is dev.jsonl,
or a fifth of train, held out, where there is none. With --dev the models are tested on
dev.jsonl, or on a fifth of train where there is none, and dev is a fifth of the rest.
--overrides of the component hosemi hold for hosemi alone, others for all that have a
tok2vec.

F1 is that of all entities, in per cent. Speeds are in tokens per CPU second, the median
of some passes in turns in this process:

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from measuring import (
    ROOT,
    SEED,
    Lines,
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    data_lines,
    environment,
    folds,
    make_splits,
    read_lines,
    run_folder,
    table,
    training_lines,
)
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from thinc.api import Config
from throughput import System, read_entities, run_passes
from tqdm import tqdm
from training import accuracy, config_lang, entity_component, fresh_docs, train

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


@dataclass
class Measured:
    """One system after training.

    component, pipeline (System): Its speeds without and with what comes before.
    """

    name: str
    f1: float  # 0 to 1
    training_cpu_s: float
    component: System
    pipeline: System


# --------------------------------------------------------------------------- trainings


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


def train_one(
    name: str, config: Path, overrides: list[str], splits: Splits, quiet: bool
) -> Measured:
    """Train and test a system."""
    model, usage, _ = train(config, splits, overrides, quiet)
    nlp = load_model(model.rename(splits.folder / name))
    f1 = accuracy(nlp, splits.test)["micro"].f
    component = alone(nlp, entity_component(nlp), splits.test)
    return Measured(name, f1, usage.cpu_s, component, whole(nlp, splits.test))


def alone(nlp: Language, name: str, path: Path) -> System:
    """A component, on docs that all before it have seen."""
    pipe = nlp.get_pipe(name).pipe

    def predict(docs: list[Doc]) -> None:
        for doc in pipe(docs, batch_size=nlp.batch_size):
            _ = doc.ents

    return System(name, lambda: fresh_docs(nlp, name, path)[0], predict)


def whole(nlp: Language, path: Path) -> System:
    """A pipeline, on fresh docs."""
    return System(
        "pipeline",
        lambda: fresh_docs(nlp, nlp.pipe_names[0], path)[0],
        lambda docs: read_entities(nlp, docs),
    )


def held_out(args: argparse.Namespace, lines: Lines) -> tuple[list[bytes], list[bytes]]:
    """What is trained on, and what decides which model is best."""
    drawn, dev = training_lines(lines.train, args.max_train), args.data / "dev.jsonl"
    if dev.exists() and not args.dev:
        return drawn, read_lines(dev)
    return next(folds(drawn, 5, SEED))


# --------------------------------------------------------------------------- the table


def neural_table(found: Sequence[Measured]) -> str:
    """Write F1, speeds, and how they compare with those of ner."""
    of_ner = [median(x.component.speeds) for x in found if x.name == "ner"]
    rows = []
    for system in found:
        component = median(system.component.speeds)
        pipeline = median(system.pipeline.speeds)
        rows.append(
            [
                system.name,
                f"{100 * system.f1:.2f}",
                f"{component:,.0f}",
                f"{component / of_ner[0]:.2f}" if of_ner else "-",
                f"{pipeline:,.0f}",
                f"{system.training_cpu_s:.0f}",
            ]
        )
    header = ["system", "F1", "component", "/ ner", "pipeline", "training, CPU s"]
    return table(header, rows)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train hosemi with a shared tok2vec and spaCy's ner with the same "
        "one; print F1 and speeds of both.",
        epilog="Example: python benchmarks/neural.py ../data/cora --dev --steps 500",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    parser.set_defaults(config=ROOT / "configs" / "neural.cfg")
    add(
        "--reference",
        type=Path,
        default=ROOT / "configs" / "batch.cfg",
        metavar="CONFIG",
        help="config of hosemi-sparse, without a tok2vec (default: %(default)s)",
    )
    add(
        "--systems",
        nargs="+",
        choices=SYSTEMS,
        default=list(SYSTEMS),
        metavar="SYSTEM",
        help=f"some of {', '.join(SYSTEMS)} (default: all of them)",
    )
    add(
        "--steps",
        type=int,
        default=1000,
        metavar="N",
        help=f"of training, a multiple of {EVERY} (default: %(default)s)",
    )
    add("--max-train", type=int, metavar="N", help="draw N training documents only")
    add(
        "--passes",
        type=int,
        default=5,
        metavar="N",
        help="timed, after a first one (default: %(default)s)",
    )
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
    check(parser, args)
    return args


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Make sure that what is asked for can be done."""
    check_system(parser)
    check_overrides(parser, args.overrides)
    for name in ("train",) if args.dev else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    for config in (args.config, args.reference):
        if not config.is_file():
            parser.error(f"there is no config {config}")
    if args.steps < EVERY or args.steps % EVERY:
        parser.error(f"--steps is a multiple of {EVERY}: later ones are lost")
    if args.passes < 1 or (args.max_train is not None and args.max_train < 5):
        parser.error("--passes is at least 1, --max-train at least 5")


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    lines = data_lines(args.data, args.dev)
    rest, dev = held_out(args, lines)
    splits = make_splits(folder, config_lang(args.config), rest, dev, lines.test)
    found = [
        train_one(name, config, overrides, splits, args.quiet)
        for name, (config, overrides) in tqdm(
            plan(args, folder).items(), desc="trainings", disable=None
        )
    ]
    timed = [x for system in found for x in (system.component, system.pipeline)]
    run_passes(timed, args.passes, splits.n_tokens["test"])
    where = environment()
    print(
        f"{args.data.resolve().name}, {args.config.stem}: {len(rest)} training and "
        f"{len(dev)} dev documents, {args.steps} steps, tested on {lines.tested_on} "
        f"({len(lines.test)} documents)\n{where['date']}, {where['cpu']}, one thread, "
        f"commit {where['commit']}, spaCy {where['versions']['spacy']}\n"
    )
    print(neural_table(found))
    record = {
        "data": args.data.resolve().name,
        "overrides": args.overrides,
        "tested_on": lines.tested_on,
        "steps": args.steps,
        "found": [
            {
                "system": x.name,
                "f1": x.f1,
                "training_cpu_s": x.training_cpu_s,
                "component": x.component.speeds,
                "pipeline": x.pipeline.speeds,
            }
            for x in found
        ],
    }
    append_json(args.json, record)


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    with run_folder(args) as folder:
        measure(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
