"""How many tokens a second systems predict, side by side, on one thread.

    python benchmarks/throughput.py ../data/cora
    python benchmarks/throughput.py ../data/anystyle --systems hosemi crfsuite \\
        --models runs/batch/model-last runs/references/model-last
    python benchmarks/throughput.py ../data/cora --config configs/references.cfg \\
        --overrides paths.gazetteers=../data/gazetteers

From a fresh `Doc` to its `doc.ents`, what each system reads of the tokens included:

- hosemi: the config, trained on train, or the models given, with the lists of names
  that they have; "confidence" computes the probability of each span, too; "mbr" or
  "viterbi" has that `decoding`, the other than the model's own;
- crfsuite: a linear chain of python-crfsuite on features as one would write them by
  hand, plain Python lists of strings (`plain_features.py`), without lists of names;
  "features ready" leaves out making them and CRFsuite's items;
- ner: the tok2vec and `ner` that `spacy init config` writes for a CPU. It is trained a
  few steps only: its scores would be bad, but its speed does not depend on them.

No scores are printed: nothing is learnt of test. All systems run in this process, one
after the other in each pass, in an order that changes; the figure is the median of the
passes after a first one. Where the range is wide, the machine was busy; the ratio is
that of the medians. Documents go through `nlp.pipe` in spaCy's batches.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from measuring import (
    Splits,
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    environment,
    make_splits,
    package_version,
    read_lines,
    run_folder,
    table,
    training_lines,
)
from peers import (
    PeerSettings,
    feature_reader,
    fit_peer,
    open_crfsuite,
    set_entities,
    spans_of_tags,
)
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from tqdm import tqdm
from training import (
    config_lang,
    entity_component,
    fresh_docs,
    train,
    write_ner_config,
)

SYSTEMS = ("hosemi", "crfsuite", "ner")
PEER = "crfsuite-plain"
NER_STEPS = 20


@dataclass
class System:
    """One system on the documents that are predicted.

    name (str): In the table.
    inputs (Callable[[], list]): Fresh documents, or what stands for them.
    predict (Callable[[list], Any]): Writes their entities; this alone is timed.
    speeds (List[float]): Tokens per CPU second of each pass.
    """

    name: str
    inputs: Callable[[], list[Any]]
    predict: Callable[[list[Any]], Any]
    speeds: list[float] = field(default_factory=list)


# ---------------------------------------------------------------------------- systems


def hosemi_systems(name: str, nlp: Language, path: Path) -> list[System]:
    """A trained pipeline with hosemi: as it is, with probabilities, and with the other
    `decoding`."""
    component: Any = nlp.get_pipe(entity_component(nlp))
    n_lists = len(component.weights.extractor.gazetteers.settings)
    lists = f", {n_lists} lists" if n_lists else ""

    own = component.decoding
    other = "viterbi" if own == "mbr" else "mbr"
    ways = {"": (False, own), ", confidence": (True, own)}
    if component.cfg["encoding"] == "segments":  # tags have no spans to choose
        ways[f", {other}"] = False, other

    def predict(docs: list[Doc], way: str) -> None:
        component.confidence, component.decoding = ways[way]
        read_entities(nlp, docs)

    def inputs() -> list[Doc]:
        return fresh_docs(nlp, nlp.pipe_names[0], path)[0]

    return [
        System(f"{name}{lists}{way}", inputs, partial(predict, way=way)) for way in ways
    ]


def read_entities(nlp: Language, docs: list[Doc]) -> None:
    """Run a pipeline on docs, and read what it found."""
    for doc in nlp.pipe(docs):
        _ = doc.ents


def crfsuite_systems(nlp: Language, chain: Path, path: Path) -> list[System]:
    """A trained chain: from docs, and with features ready."""
    import pycrfsuite

    tagger = open_crfsuite(chain)
    read = feature_reader(nlp, PEER)

    def fresh() -> list[Doc]:
        return fresh_docs(nlp, nlp.pipe_names[0], path)[0]

    def from_docs(docs: list[Doc]) -> None:
        for doc in docs:
            set_entities(doc, spans_of_tags(tagger.tag(read(doc, False))))
            _ = doc.ents

    def ready() -> list[Any]:
        return [(doc, pycrfsuite.ItemSequence(read(doc, False))) for doc in fresh()]

    def from_items(inputs: list[Any]) -> None:
        for doc, items in inputs:
            set_entities(doc, spans_of_tags(tagger.tag(items)))
            _ = doc.ents

    return [
        System("crfsuite", fresh, from_docs),
        System("crfsuite, features ready", ready, from_items),
    ]


def ner_system(folder: Path, lang: str, splits: Splits) -> System:
    """spaCy's `ner`, trained a few steps."""
    config = folder / "ner.cfg"
    write_ner_config(config, lang)
    overrides = [f"training.{x}={NER_STEPS}" for x in ("max_steps", "eval_frequency")]
    nlp = load_model(train(config, splits, overrides, quiet=True)[0])

    def inputs() -> list[Doc]:
        return fresh_docs(nlp, nlp.pipe_names[0], splits.test)[0]

    return System("ner", inputs, lambda docs: read_entities(nlp, docs))


def make_systems(
    args: argparse.Namespace, splits: Splits, folder: Path
) -> list[System]:
    """Train, or load, what is asked for."""
    models = {str(path): path for path in args.models}
    if not models:
        name = f"hosemi {args.config.stem}"
        trained, _, _ = train(args.config, splits, args.overrides, args.quiet)
        models[name] = trained.rename(folder / "hosemi")
    pipelines = {name: load_model(path) for name, path in models.items()}
    first = next(iter(models))
    systems = []
    if "hosemi" in args.systems:
        for name, nlp in pipelines.items():
            systems += hosemi_systems(name, nlp, splits.test)
    if "crfsuite" in args.systems:
        settings = PeerSettings(*args.peer_settings, "as given")
        chain = fit_peer(models[first], PEER, splits, settings, args.quiet).path
        systems += crfsuite_systems(pipelines[first], chain, splits.test)
    if "ner" in args.systems:
        systems.append(ner_system(folder, config_lang(args.config), splits))
    return systems


# ------------------------------------------------------------------------------ passes


def run_passes(systems: list[System], n_passes: int, n_tokens: int) -> None:
    """Measure all systems in turns; the first pass is a warm-up."""
    for turn in tqdm(range(1 + n_passes), desc="passes"):
        at = turn % len(systems)
        for system in systems[at:] + systems[:at]:
            inputs = system.inputs()
            gc.collect()
            began = time.process_time()
            system.predict(inputs)
            seconds = time.process_time() - began
            if turn:
                system.speeds.append(n_tokens / seconds)


def speed_table(systems: list[System]) -> str:
    """Write the speeds, and how they compare with CRFsuite's."""
    of_peer = [median(x.speeds) for x in systems if x.name == "crfsuite"]
    rows = []
    for system in systems:
        speed = median(system.speeds)
        ratio = f"{speed / of_peer[0]:.2f}" if of_peer else "-"
        extent = f"{min(system.speeds):,.0f} - {max(system.speeds):,.0f}"
        rows.append([system.name, f"{speed:,.0f}", extent, ratio])
    return table(["system", "tokens per CPU s", "range", "/ crfsuite"], rows)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Measure how many tokens a CPU second hosemi, CRFsuite and spaCy's "
        "ner predict, in turns, on the same documents.",
        epilog="Example: python benchmarks/throughput.py ../data/cora --passes 15",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add(
        "--models",
        type=Path,
        nargs="+",
        default=[],
        metavar="DIR",
        help="trained pipelines with hosemi (default: train --config)",
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
        "--part",
        choices=["train", "dev", "test"],
        default="test",
        help="the documents that are predicted (default: %(default)s)",
    )
    add(
        "--passes",
        type=int,
        default=9,
        metavar="N",
        help="passes over them, after a first one (default: %(default)s)",
    )
    add(
        "--max-train",
        type=int,
        default=1000,
        metavar="N",
        help="train on at most N documents (default: %(default)s)",
    )
    add(
        "--peer-settings",
        nargs=2,
        type=float,
        default=(0.05, 0.1),
        metavar=("C1", "C2"),
        help="regularisation of crfsuite (default: 0.05 0.1)",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    add("--quiet", action="store_true", help="do not show what training prints")
    args = parser.parse_args()
    check_system(parser)
    check_overrides(parser, args.overrides)
    for name in ("train", args.part):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    for path in (args.config, *args.models):
        if not path.exists():
            parser.error(f"there is no {path}")
    if args.passes < 1 or args.max_train < 1:
        parser.error("--passes and --max-train are at least 1")
    if "crfsuite" in args.systems and package_version("python-crfsuite") is None:
        parser.error("crfsuite needs python-crfsuite: pip install python-crfsuite")
    return args


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    lines = training_lines(read_lines(args.data / "train.jsonl"), args.max_train)
    predicted = read_lines(args.data / f"{args.part}.jsonl")
    splits = make_splits(folder, config_lang(args.config), lines, None, predicted)
    systems = make_systems(args, splits, folder)
    n_tokens = splits.n_tokens["test"]
    run_passes(systems, args.passes, n_tokens)
    where = environment()
    print(
        f"{args.data.resolve().name}: {splits.n_docs['test']} docs ({n_tokens} tokens) "
        f"of {args.part}, {args.passes} passes; trained on {len(lines)} docs\n"
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}, "
        f"spaCy {where['versions']['spacy']}\n"
    )
    print(speed_table(systems))
    record = {
        "data": args.data.resolve().name,
        "part": args.part,
        "n_tokens": n_tokens,
        "speeds": {system.name: system.speeds for system in systems},
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
