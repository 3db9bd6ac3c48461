"""One engine for scripts that compare a config with changes of it.

A script names its changes, see `Variant`; `compare` trains and tests all on the same
parts of the data, in this process, and prints two tables of means over the parts:

- P, R, F1: of exact spans with exact labels, in per cent ("±": standard deviation of a
  part); records: documents all of whose spans are exact, with no other ones;
- difference: of F1 from the first row, and its standard error if there are several
  parts. It takes them for independent, although their training documents overlap, and
  so is a bit small; with a dozen rows one is above two of it by chance;
- 95 %: interval of the difference by a bootstrap of the documents that are tested on,
  drawn for both together;
- borders: F1 if every label counts as right; labels: of the spans with right borders,
  those with the right label, in per cent;
- templates that are removed; rows: features with weights; longer: patterns of three or
  more labels; states of the automaton; iterations of L-BFGS ("(not converged)" is said
  if one fit was stopped); CPU s of a training, reading features included; tokens per
  CPU s from a `Doc` to its `doc.ents`, the best of three passes; MB of the component.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import arguments
import harness
import numpy as np
import training
from arguments import number
from scores import Counts, count, counted, differences, interval
from spacy import registry
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus
from spacy.util import load_config, load_model_from_config
from tqdm import tqdm

from spacy_hosemi.features.feature_set import FeatureSet
from spacy_hosemi.model.span_scorer import weights_of

BASE = "as it is"
SHARED = "data --config --overrides --cv --dev --test --repeats --max-train --max-iter"
DECODINGS = "viterbi", "mbr"
OPTIONS = {
    "--l2": number([None], "of the fit, not the config's", 0.0),
    "--decodings": dict(nargs="+", choices=DECODINGS, help="not the config's"),
}
FIGURES = {"rows": ",.0f", "longer": ",.0f", "states": ",.0f", "iterations": ".0f"}
FIGURES |= {"CPU s": ".1f", "tokens/s": ",.0f", "MB": ".2f"}


@dataclass(frozen=True)
class Variant:
    """The config with one thing changed: overrides of the config, the features that are
    read, or the gold of the documents (and the number of the part) to learn from. The
    kind is its name on the command line."""

    name: str
    kind: str
    overrides: Sequence[str] = ()
    features: Callable[[FeatureSet], FeatureSet] = lambda features: features
    gold: Callable[[Sequence[Doc], int], None] = lambda docs, part: None


@dataclass(frozen=True)
class Trained:
    """A variant after one training: counts by decoding, and `FIGURES` by name."""

    counts: dict[str, Counts]
    figures: dict[str, float]
    is_converged: bool


def make_pipeline(args: argparse.Namespace, variant: Variant) -> Language:
    """Make the pipeline of a variant, not trained."""
    given = [f"--{x}" for x in (*args.overrides, *variant.overrides)]
    config = load_config(args.config, parse_config_overrides(given), interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    component = hosemi(nlp)
    blocks = nlp.config["initialize"]["components"]
    if not blocks.get(component.name, {}).get("fit"):
        sys.exit(f"batch training is needed (initialize.components), see {args.config}")
    state = component.weights
    extractor = state.extractor.reading(variant.features(state.extractor.features))
    weights_of(component.model).replace(replace(state, extractor=extractor))
    return nlp


def hosemi(nlp: Language) -> Any:
    """The hosemi of a pipeline."""
    component = nlp.get_pipe(training.entity_component(nlp))
    if not hasattr(component, "weights"):
        sys.exit(f"a config with hosemi is needed, found {nlp.pipe_names}")
    return component


def features_of(nlp: Language) -> FeatureSet:
    """What its hosemi reads."""
    return hosemi(nlp).weights.extractor.features


def n_templates(features: FeatureSet) -> int:
    """How many templates are read, all roles together."""
    return sum(map(len, features.roles.values()))


def train(
    args: argparse.Namespace,
    variant: Variant,
    l2: float | None,
    splits: training.Splits,
    part: int,
) -> Trained:
    """Train a variant on train, and count on what the splits call test."""
    nlp = make_pipeline(args, variant)
    component = hosemi(nlp)
    block = nlp.config["initialize"]["components"][component.name]
    fit = {**block["fit"], "progress": False}
    fit |= {} if l2 is None else {"l2": l2}
    fit |= {"max_iter": args.max_iter} if args.max_iter else {}
    readers = registry.resolve({**block, "fit": fit, "dev": None})
    examples = [*Corpus(splits.train)(nlp)]
    variant.gold([example.reference for example in examples], part)
    began = time.process_time()
    result = component.fit(examples, nlp=nlp, **readers)
    cpu_s = time.process_time() - began
    counts = {}
    is_tags = component.cfg["encoding"] != "segments"  # of which there is no mbr
    for decoding in args.decodings or [component.decoding]:
        component.decoding = "viterbi" if is_tags else decoding
        counts[component.decoding] = count(training.predicted(nlp, splits.test))
    patterns, n_states = component.automaton.patterns, component.automaton.n_states
    n_longer = sum(len(pattern) > 2 for pattern in patterns)
    figures = len(component.weights.names), n_longer, n_states, result.n_iterations
    speed, size = training.prediction_speed(nlp, splits.test), len(component.to_bytes())
    named = dict(zip(FIGURES, (*figures, cpu_s, speed, size / harness.MB)))
    return Trained(counts, named, result.is_converged)


def parts(args: argparse.Namespace) -> Iterator[tuple[harness.Lines, harness.Lines]]:
    """What is trained on, and what is tested on, one after the other."""
    if args.cv and not (args.dev or args.test):
        lines = harness.read_lines(args.data / "train.jsonl")
        drawn = harness.draw(lines, args.max_train)
        yield from (x[1:] for x in harness.repeated_folds(args, drawn))
        return
    args.dev = args.dev or not args.test
    for _ in range(args.repeats):
        lines, test, _ = harness.train_and_test(args)
        yield harness.draw(lines, args.max_train), test


def chosen(variants: Sequence[Variant], kinds: Sequence[str]) -> list[Variant]:
    """The config as it is, and the variants of some kinds; of all, if none is named."""
    if unknown := {*kinds} - {variant.kind for variant in variants}:
        sys.exit(f"--variants: there is no {', '.join(sorted(unknown))}")
    some = [x for x in variants if not kinds or x.kind in kinds]
    return [Variant(BASE, BASE), *some]


def compare(
    args: argparse.Namespace,
    folder: Path,
    variants: Callable[[argparse.Namespace, Language], Sequence[Variant]],
) -> None:
    """Train and test what a script makes of the pipeline as it is; print the tables."""
    base = make_pipeline(args, Variant(BASE, BASE))
    compared = chosen([*variants(args, base)], getattr(args, "variants", ()))
    found: dict[tuple[str, float | None], list[Trained]] = {
        (variant.name, l2): [] for l2 in args.l2 for variant in compared
    }
    all_parts = [*parts(args)]
    lang, trainings = training.config_lang(args.config), [*product(compared, args.l2)]
    for k, (rest, test) in enumerate(all_parts):
        splits = training.make_splits(folder / f"{k}", lang, rest, None, test)
        title = f"part {k + 1} of {len(all_parts)}"
        for variant, l2 in tqdm(trainings, desc=title, disable=None):
            trained = train(args, variant, l2, splits, k)
            found[variant.name, l2].append(trained)
    tables: list[str] = []
    for l2 in args.l2:
        rows = [(x, found[x.name, l2]) for x in compared]
        tables += ["" if l2 is None else f"## l2 = {l2:g}", score_table(rows)]
        tables.append(cost_table(rows, features_of(base)))
    is_test = args.test and not args.dev
    how = f"{len(all_parts)} part(s) of {'test' if is_test else 'train or dev'}"
    title = f"{args.data.resolve().name}: changes of a config, tested on {how}"
    figures = {f"{x} {l2}": [y.figures for y in z] for (x, l2), z in found.items()}
    harness.report(args, title, *tables, figures=figures)


def score_table(rows: Sequence[tuple[Variant, Sequence[Trained]]]) -> str:
    """How right each variant is, beside the first."""
    table: list[list[Any]] = []
    base: list[Counts] = []
    for variant, trained in rows:
        for decoding in trained[0].counts:
            counts = [x.counts[decoding] for x in trained]
            table.append([variant.name, decoding, *scores_of_parts(counts, base)])
            base = base or counts
    columns = ["", "decoding", "P|.2f", "R|.2f", "F1", "difference", "95 %"]
    return harness.table([*columns, "borders|.2f", "labels|.1f", "records|.2f"], table)


def scores_of_parts(counts: Sequence[Counts], base: Sequence[Counts]) -> list[Any]:
    """Figures of all parts, beside those of the first row; without it: of itself."""
    sums = np.array([x.sum(axis=0) for x in counts])
    right, n_found, n_gold, borders, *_ = sums.T
    f1s, records = counted(sums)
    apart = ["", ""]
    if base:
        less = f1s - counted(np.array([x.sum(axis=0) for x in base])).f1
        draws = differences(np.concatenate(counts), np.concatenate(base))
        apart = [harness.difference(less.tolist()), interval(draws[0])]
    return [
        100 * mean(right / np.maximum(n_found, 1)),
        100 * mean(right / np.maximum(n_gold, 1)),
        harness.with_spread(f1s.tolist()),
        *apart,
        mean(200 * borders / np.maximum(n_found + n_gold, 1)),
        mean(100 * right / np.maximum(borders, 1)),
        mean(records),
    ]


def cost_table(
    rows: Sequence[tuple[Variant, Sequence[Trained]]], features: FeatureSet
) -> str:
    """What each variant has and takes."""
    n = n_templates(features)
    table = []
    for variant, trained in rows:
        n_left = n_templates(variant.features(features))
        ended = "" if all(x.is_converged for x in trained) else " (not converged)"
        removed = f"{n - n_left} of {n}" if n_left < n else ""
        figures = (mean(x.figures[name] for x in trained) for name in FIGURES)
        table.append([variant.name + ended, removed, *figures])
    columns = [f"{name}|{form}" for name, form in FIGURES.items()]
    return harness.table(["", "templates removed", *columns], table)


def script(
    description: str | None,
    variants: Callable[[argparse.Namespace, Language], Sequence[Variant]],
    shared: str = "",
    options: dict[str, Any] | None = None,
    **defaults: Any,
) -> Callable[[], int]:
    """Returns the `main` of a script that compares; see `arguments.script`."""
    return arguments.script(
        f"{description}\n{__doc__}",
        lambda args, folder: compare(args, folder, variants),
        f"{SHARED} {shared} --json",
        {**OPTIONS, **(options or {})},
        **defaults,
    )
