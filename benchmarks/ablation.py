"""What each family of features, and each order of label patterns, is worth.

    python benchmarks/ablation.py ../data/cora
    python benchmarks/ablation.py ../data/cora --cv 5 --repeats 2 --variants affixes
    python benchmarks/ablation.py ../data/anystyle --dev \\
        --config benchmarks/configs/references.cfg \\
        --overrides paths.gazetteers=../data/gazetteers

The config is trained as it is, then without one family of features at a time, then with
other orders of patterns, all on the same folds of train. A family is a set of templates
in some roles, see FAMILIES. Families overlap, and each makes up for a part of what
another one gives, so the differences do not add up. Families that the config does not
read are left out. A model may trust lists of names too much, since training documents
match them more often than new ones; where there are lists, entries are dropped in
training, too (dropout).
test.jsonl is never read.

- templates: how many are removed, all roles together, of how many;
- rows: features with weights, mean of the trainings;
- F1: micro-F1 in per cent, mean of the folds;
- records: documents all of whose spans are exact, with no other ones, in per cent;
- difference: of F1 from the config as it is, mean of the folds, and its standard
  error. It takes the folds for independent, although their training parts overlap, and
  so is a bit small; with a dozen rows one difference is above two of it by chance;
- CPU s: of a training, reading features included.

With --dev each is trained on train and tested on dev.jsonl: one difference, and nothing
is known of its error. Only batch training (`initialize.components.hosemi.fit`) is done,
in this process, one after the other.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import harness
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from spacy.training import Corpus
from spacy.util import load_config, load_model_from_config
from tqdm import tqdm
from training import Splits, config_lang, entity_component, make_splits, tested

from spacy_hosemi.features.feature_set import ROLES, FeatureSet
from spacy_hosemi.features.tables import PREFIX, VALUE
from spacy_hosemi.features.templates import Template
from spacy_hosemi.model.span_scorer import weights_of

BASE = "as it is"
# These stand among the families on the command line.
ORDER, DROPOUT = "order", "dropout"
ORDERS = (0, 1, 2, 3)
DROPOUTS = (0.3, 0.6)
Family = Callable[[str, Template], bool]  # of role and template


def attributes(*names: str) -> Family:
    """Templates that read an attribute whose name begins so."""
    return lambda role, template: any(
        atom.attribute.startswith(names) and ":" not in atom.attribute
        for atom in template.atoms
    )


def in_role(name: str) -> Family:
    """All templates of a role."""
    return lambda role, template: role == name


def reads_list(role: str, template: Template) -> bool:
    """Templates that read a list of names."""
    return any(":" in x.attribute for x in template.atoms) and not reads_table(
        role, template
    )


def reads_table(role: str, template: Template) -> bool:
    """Templates that read a table of words."""
    read = [atom.attribute.partition(":")[2] for atom in template.atoms]
    return any(x.startswith((VALUE, PREFIX)) for x in read)


FAMILIES: dict[str, Family] = {
    "words": attributes("ORTH", "LOWER", "NORM", "CORE", "LEMMA"),
    "affixes": attributes("PREFIX", "SUFFIX"),
    "shapes": attributes("SHAPE", "SHORT_SHAPE"),
    "numbers-punctuation": attributes("NUMBER", "PUNCTUATION"),
    "flags": attributes("IS_", "LIKE_"),
    "windows": lambda role, template: any(
        atom.offset and not atom.bag for atom in template.atoms
    ),
    "bags": lambda role, template: template.is_bag,
    "conjunctions": lambda role, template: len(template.atoms) > 1,
    "inside": in_role("inside"),
    "start": in_role("start"),
    "end": in_role("end"),
    "lists": reads_list,
    "lists-tokens": lambda role, template: (
        role != "whole" and reads_list(role, template)
    ),
    "lists-segments": in_role("whole"),
    "tables": reads_table,
}


@dataclass(frozen=True)
class Variant:
    """The config with one thing changed.

    name (str): In the table.
    kind (str): On the command line: what is not read, of FAMILIES; or ORDER, DROPOUT,
        BASE.
    overrides (Sequence[str]): Settings other than the config's.
    """

    name: str
    kind: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trained:
    """A variant after one training."""

    variant: str
    f1: float  # in per cent
    records: float  # in per cent
    cpu_s: float
    n_rows: int


# ------------------------------------------------------------------------ the pipelines


def make_pipeline(args: argparse.Namespace, variant: Variant) -> Language:
    """Make the pipeline of a variant, not trained."""
    given = [f"--{x}" for x in (*args.overrides, *variant.overrides)]
    config = load_config(args.config, parse_config_overrides(given), interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    component = hosemi(nlp)
    block = nlp.config["initialize"]["components"].get(entity_component(nlp), {})
    if not block.get("fit"):
        sys.exit(f"batch training is needed (initialize.components), see {args.config}")
    block["fit"]["progress"] = False
    if variant.kind in FAMILIES:
        state = component.weights
        kept = without(state.extractor.features, FAMILIES[variant.kind])
        state = replace(state, extractor=state.extractor.reading(kept))
        weights_of(component.model).replace(state)
    return nlp


def hosemi(nlp: Language) -> Any:
    """The hosemi of a pipeline."""
    component = nlp.get_pipe(entity_component(nlp))
    if not hasattr(component, "weights"):
        sys.exit(f"a config with hosemi is needed, found {nlp.pipe_names}")
    return component


def without(features: FeatureSet, family: Family) -> FeatureSet:
    """A feature set less one family."""
    kept = {
        role: [str(x) for x in features.roles[role] if not family(role, x)]
        for role in ROLES
    }
    return FeatureSet(
        **kept,
        min_count=features.min_count,
        width=features.width,
        all_labels=features.all_labels,
        functions=features.functions,
    )


def n_templates(features: FeatureSet) -> int:
    """How many templates are read, all roles together."""
    return sum(map(len, features.roles.values()))


def train_variant(
    args: argparse.Namespace, variant: Variant, splits: Splits
) -> Trained:
    """Train a variant on train and test it on what the splits call test."""
    nlp = make_pipeline(args, variant)
    began = time.process_time()
    nlp.initialize(lambda: Corpus(splits.train)(nlp))
    cpu_s = time.process_time() - began
    n_rows = len(hosemi(nlp).weights.names)
    return Trained(variant.name, *tested(nlp, splits.test), cpu_s, n_rows)


# --------------------------------------------------------------------- what is compared


def all_variants(args: argparse.Namespace) -> list[Variant]:
    """The config as it is, without each family that it reads, with other orders."""
    component = hosemi(make_pipeline(args, Variant(BASE, BASE)))
    features = component.weights.extractor.features
    found = [Variant(BASE, BASE)]
    for name, family in FAMILIES.items():
        if n_templates(without(features, family)) < n_templates(features):
            found.append(Variant(f"without {name}", name))
    setting = f"components.{component.name}.max_order"
    for order in ORDERS:
        if order != component.cfg["max_order"]:
            found.append(Variant(f"max_order {order}", ORDER, (f"{setting}={order}",)))
    found += over_trust(component)
    unknown = set(args.variants).difference(x.kind for x in found)
    if unknown:
        sys.exit(f"--variants: this config has no {', '.join(sorted(unknown))}")
    return [x for x in found if not args.variants or x.kind in (BASE, *args.variants)]


def over_trust(component: Any) -> list[Variant]:
    """Variants that drop entries of lists in training, if there are lists."""
    lists = component.weights.extractor.gazetteers.settings
    if not lists:
        return []
    block = f"components.{component.name}.model.gazetteers"
    found = []
    for dropout in DROPOUTS:
        overrides = tuple(f"{block}.{name}.dropout={dropout}" for name in lists)
        found.append(Variant(f"dropout {dropout}", DROPOUT, overrides))
    return found


def parts(args: argparse.Namespace) -> Iterator[tuple[harness.Lines, harness.Lines]]:
    """What is trained on, and what is tested on, one after the other."""
    lines = harness.draw(harness.read_lines(args.data / "train.jsonl"), args.max_train)
    if args.dev:
        yield lines, harness.read_lines(args.data / "dev.jsonl")
        return
    for repeat in range(args.repeats):
        yield from harness.folds(lines, args.cv, harness.SEED + repeat)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train and test all variants on one fold after the other; print the table."""
    variants, lang = all_variants(args), config_lang(args.config)
    found: list[Trained] = []
    n_parts = 1 if args.dev else args.cv * args.repeats
    progress = tqdm(total=n_parts * len(variants), desc="trainings", disable=None)
    for number, (train, test) in enumerate(parts(args)):
        splits = make_splits(folder / str(number), lang, train, None, test)
        for variant in variants:
            found.append(train_variant(args, variant, splits))
            progress.update()
    progress.close()
    how = "dev" if args.dev else f"{args.cv} folds of train, {args.repeats} time(s)"
    harness.report(
        args,
        f"{args.data.resolve().name}: features and orders, tested on {how}",
        ablation_table(args, variants, found),
        trainings=list(map(asdict, found)),
    )


def ablation_table(
    args: argparse.Namespace, variants: Sequence[Variant], found: Sequence[Trained]
) -> str:
    """Each variant beside the config as it is."""
    base = [x.f1 for x in found if x.variant == BASE]
    features = hosemi(make_pipeline(args, variants[0])).weights.extractor.features
    n = n_templates(features)
    rows = []
    for variant in variants:
        trained = [x for x in found if x.variant == variant.name]
        f1s = [x.f1 for x in trained]
        removed = apart = ""
        if variant.kind in FAMILIES:
            left = n_templates(without(features, FAMILIES[variant.kind]))
            removed = f"{n - left} of {n}"
        if variant.name != BASE:
            apart = harness.difference([x - y for x, y in zip(f1s, base)])
        n_rows, records, cpu_s = (
            mean(getattr(x, name) for x in trained)
            for name in ("n_rows", "records", "cpu_s")
        )
        rows.append([variant.name, removed, n_rows, mean(f1s), apart, records, cpu_s])
    columns = ["", "templates", "rows|,.0f", "F1|.2f", "difference", "records|.2f"]
    return harness.table([*columns, "CPU s|.1f"], rows)


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__,
        *("data", "--config", "--overrides", "--cv", "--dev", "--repeats"),
        *("--max-train", "--runs", "--json"),
        cv=3,
    )
    names = [*FAMILIES, ORDER, DROPOUT]
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=names,
        default=[],
        metavar="NAME",
        help=f"some of {', '.join(names)} (default: all that apply)",
    )
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
