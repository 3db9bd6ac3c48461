"""How far confidences can be trusted, before and after calibration.

    python benchmarks/calibration.py ../data/anystyle
    python benchmarks/calibration.py ../data/wnut17 --overrides \\
        components.hosemi.decoding=mbr components.hosemi.model.features.preset=names

A config is trained by `spacy train`, and all entities that it predicts are judged, as
by `spacy hosemi calibrate`. On dev, the settings for one half of the documents are
chosen on the other half, so that nothing is judged by what it was chosen on; with
--test, those for test are chosen on dev. test.jsonl is read only then.
What is printed, at temperature 1 ("before"), at the one chosen ("after") and, where
decoding = "mbr", with the expected_f1 chosen then, too:

- entities predicted, and their F1, in per cent: it changes only where decoding = "mbr";
- error: the expected calibration error, in ten bins of equal width: the mean difference
  between the confidence of entities and the share of them that is right; a few hundred
  entities have .01 to .03 by chance;
- log loss: mean - log of the probability that was given to what is the case;
- what min_confidence = --at leaves: the share of the entities, and its precision.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import (
    add_config_arguments,
    append_json,
    check_overrides,
    check_system,
    environment,
    make_splits,
    read_lines,
    run_folder,
    table,
    training_lines,
)
from spacy.training import Example
from spacy.util import load_model
from tqdm import tqdm
from training import config_lang, entity_component, train

from spacy_hosemi.component.pipe import HighOrderSemiCRF
from spacy_hosemi.explain.calibration import (
    choose_temperature,
    measure_reliability,
    try_expected_f1,
)
from spacy_hosemi.explain.judging import Judged, judge_all, read_examples
from spacy_hosemi.explain.operating_points import (
    choose_expected_f1,
    merit,
    try_thresholds,
)

# Options of the component.
Settings = dict[str, Any]


@dataclass
class Found:
    """What was measured on one part, before or after."""

    part: str
    temperature: str
    expected_f1: str
    entities: int
    f1: float
    error: float
    log_loss: float
    kept: float
    precision: float


def joined(parts: Sequence[Judged]) -> Judged:
    """Put what was judged in parts together."""
    return Judged(
        labels=np.concatenate([part.labels for part in parts]),
        confidence=np.concatenate([part.confidence for part in parts]),
        is_right=np.concatenate([part.is_right for part in parts]),
        n_gold=sum((part.n_gold for part in parts), Counter()),
    )


def figures(
    part: str, judged: Judged, settings: Sequence[Settings], threshold: float
) -> Found:
    """Measure one part."""
    reliability = measure_reliability(judged, 1.0)
    left = try_thresholds(judged, threshold)
    return Found(
        part=part,
        temperature=", ".join(f"{one['temperature']:g}" for one in settings),
        expected_f1=", ".join(str(one["expected_f1"]) for one in settings),
        entities=len(judged.labels),
        f1=100 * try_thresholds(judged, 0.0).f1,
        error=reliability.error,
        log_loss=reliability.log_loss,
        kept=100 * left.n / max(len(judged.labels), 1),
        precision=100 * left.precision,
    )


def chosen(pipe: HighOrderSemiCRF, examples: Sequence[Example]) -> list[Settings]:
    """Before, with a temperature chosen on examples, and with an expected_f1.

    The temperature is 1 where there is nothing to choose by.
    """
    judge = partial(judge_all, pipe, examples)
    before: Settings = {"temperature": 1.0, "expected_f1": pipe.expected_f1}
    found = choose_temperature(lambda t: judge(temperature=t, decoding="viterbi"))
    after = before if found is None else {**before, "temperature": found}
    if pipe.decoding != "mbr":
        return [before, after]
    present = pipe.expected_f1
    tried = try_expected_f1(lambda e: judge(**{**after, "expected_f1": e}), present)
    merits = {value: merit(judged, 0.0) for value, judged in tried.items()}
    expected = choose_expected_f1(merits, present)
    return [before, after, {**after, "expected_f1": expected}]


def compare(
    pipe: HighOrderSemiCRF, parts: dict[str, list[Example]], threshold: float
) -> list[Found]:
    """Measure on dev, each half with the settings of the other, and on test.

    parts (Dict[str, List[Example]]): "dev", and perhaps "test".
    """
    halves = parts["dev"][::2], parts["dev"][1::2]
    others = [chosen(pipe, half) for half in reversed(halves)]
    pairs = {"dev": list(zip(halves, others))}
    if "test" in parts:
        pairs["test"] = [(parts["test"], chosen(pipe, parts["dev"]))]
    found = []
    for part, of_part in tqdm(pairs.items(), disable=None):
        stages = zip(*(settings for _, settings in of_part))
        for name, settings in zip(("before", "after", "expected F1"), stages):
            judged = joined(
                [
                    judge_all(pipe, some, **one)
                    for (some, _), one in zip(of_part, settings)
                ]
            )
            found.append(figures(f"{part}, {name}", judged, settings, threshold))
    return found


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    lines = {
        name: read_lines(args.data / f"{name}.jsonl")
        for name in ("train", "dev", *(["test"] if args.test else []))
    }
    lines["train"] = training_lines(lines["train"], args.max_train)
    splits = make_splits(
        folder,
        config_lang(args.config),
        lines["train"],
        lines["dev"],
        lines.get("test", lines["dev"]),
    )
    model, usage, _ = train(args.config, splits, args.overrides, quiet=True)
    nlp = load_model(model)
    pipe = nlp.get_pipe(entity_component(nlp))
    paths = {name: getattr(splits, name) for name in lines if name != "train"}
    parts = {name: read_examples(nlp, pipe, path) for name, path in paths.items()}
    found = compare(pipe, parts, args.at)
    where = environment()
    print(
        f"{args.data.resolve().name}, {splits.n_docs['train']:,} training documents, "
        f"{args.config} {' '.join(args.overrides)}\n"
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}, "
        f"trained in {usage.cpu_s:.0f} CPU s\n"
    )
    kept = f"kept at {args.at:g}"
    header = (
        "part",
        "temperature",
        "expected_f1",
        "entities",
        "F1",
        "error",
        "log loss",
        kept,
    )
    print(table((*header, "precision"), map(row, found)))
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "n_docs": splits.n_docs,
        "min_confidence": args.at,
        "found": list(map(asdict, found)),
    }
    append_json(args.json, record)


def row(one: Found) -> list[str]:
    """Write the figures of one part."""
    return [
        *(one.part, one.temperature, one.expected_f1),
        *(f"{one.entities:,}", f"{one.f1:.2f}"),
        *(f"{one.error:.4f}", f"{one.log_loss:.4f}", f"{one.kept:.1f}"),
        f"{one.precision:.2f}",
    ]


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train a config; compare confidences with the share of entities "
        "that is right, before and after calibration.",
        epilog="Example: python benchmarks/calibration.py ../data/anystyle",
    )
    add = parser.add_argument
    add_config_arguments(parser)
    add("--test", action="store_true", help="measure on test, too: once, in the end")
    add(
        "--at",
        type=float,
        default=0.9,
        metavar="P",
        help="min_confidence of the last two columns (default: %(default)s)",
    )
    add(
        "--max-train",
        type=int,
        metavar="N",
        help="train on N documents, drawn by a fixed seed",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    args = parser.parse_args()
    check_system(parser)
    check_overrides(parser, args.overrides)
    if not 0.0 <= args.at <= 1.0:
        parser.error("--at is 0 to 1")
    for name in ("train", "dev", *(["test"] if args.test else [])):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    return args


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    with run_folder(args) as folder:
        measure(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
