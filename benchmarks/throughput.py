"""How many tokens a second systems predict, side by side, on one thread.

    python benchmarks/throughput.py ../data/cora
    python benchmarks/throughput.py ../data/anystyle --systems hosemi crfsuite \\
        --models runs/batch/model-last runs/references/model-last
    python benchmarks/throughput.py ../data/cora \\
        --config benchmarks/configs/references.cfg \\
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
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import harness
from peers import fit_peer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_model
from training import (
    Splits,
    config_lang,
    entity_component,
    fresh_docs,
    make_splits,
    train,
    write_ner_config,
)

NER_STEPS = 20


def pipeline(nlp: Language, path: Path) -> harness.Timed:
    """A pipeline, from fresh docs to their entities, in spaCy's batches."""
    return harness.Timed(
        lambda docs: [doc.ents for doc in nlp.pipe(docs)],
        lambda: fresh_docs(nlp, nlp.pipe_names[0], path)[0],
    )


def hosemi_systems(name: str, nlp: Language, path: Path) -> dict[str, harness.Timed]:
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
        whole.run(docs)

    whole = pipeline(nlp, path)
    return {
        f"{name}{lists}{way}": harness.Timed(partial(predict, way=way), whole.inputs)
        for way in ways
    }


def make_systems(
    args: argparse.Namespace, splits: Splits, folder: Path
) -> dict[str, harness.Timed]:
    """Train, or load, what is asked for."""
    models = {str(path): path for path in args.models}
    if not models:
        trained, _, _ = train(args.config, splits, args.overrides)
        models[f"hosemi {args.config.stem}"] = trained.rename(folder / "hosemi")
    first = next(iter(models.values()))
    systems = {}
    if "hosemi" in args.systems:
        for name, path in models.items():
            systems |= hosemi_systems(name, load_model(path), splits.test)
    if "crfsuite" in args.systems:
        peer = fit_peer(first, splits, "crfsuite-plain", args.peer_settings)
        names = "crfsuite", "crfsuite, features ready"
        systems |= zip(names, peer.timed(splits.test, peer.nlp.pipe_names[0]))
    if "ner" in args.systems:
        config = folder / "ner.cfg"
        write_ner_config(config, config_lang(args.config))
        keys = "max_steps", "eval_frequency"
        overrides = [f"training.{key}={NER_STEPS}" for key in keys]
        model, _, _ = train(config, splits, overrides)
        systems["ner"] = pipeline(load_model(model), splits.test)
    return systems


def speed_table(seconds: dict[str, Sequence[float]], n_tokens: int) -> str:
    """The speeds, and how they compare with CRFsuite's."""
    of_peer = median(seconds["crfsuite"]) if "crfsuite" in seconds else None
    rows = []
    for name, found in seconds.items():
        slow, middle, fast = (n_tokens / f(found) for f in (max, median, min))
        ratio = of_peer / median(found) if of_peer else None
        rows.append([name, middle, f"{slow:,.0f} - {fast:,.0f}", ratio])
    columns = ["system", "tokens per CPU s|,.0f", "range", "/ crfsuite|.2f"]
    return harness.table(columns, rows)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    lines = harness.draw(harness.read_lines(args.data / "train.jsonl"), args.max_train)
    predicted = harness.read_lines(args.data / f"{args.part}.jsonl")
    splits = make_splits(folder, config_lang(args.config), lines, None, predicted)
    systems = make_systems(args, splits, folder)
    seconds = harness.take_turns(systems, args.passes)
    n_tokens = splits.n_tokens["test"]
    harness.report(
        args,
        f"{args.data.resolve().name}: {splits.n_docs['test']} docs ({n_tokens} tokens) "
        f"of {args.part}, {args.passes} passes; trained on {len(lines)} docs",
        speed_table(seconds, n_tokens),
        n_tokens=n_tokens,
        seconds=seconds,
    )


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__,
        *("data", "--config", "--overrides", "--models", "--passes", "--max-train"),
        *("--peer-settings", "--runs", "--json"),
        passes=9,
        max_train=1000,
        peer_settings=(0.05, 0.1),
    )
    harness.choose_from(parser, "--systems", ("hosemi", "crfsuite", "ner"))
    parser.add_argument(
        "--part",
        choices=["train", "dev", "test"],
        default="test",
        help="the documents that are predicted (default: %(default)s)",
    )
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
