"""What each family of features, and each order of label patterns, is worth.

    python benchmarks/ablation.py ../data/cora

The config is trained as it is, then without one family of features at a time, then with
other orders of patterns, all on the same folds of train. A family is a set of templates
in some roles, see FAMILIES. Families overlap, and each makes up for a part of what
another one gives, so the differences do not add up. Families that the config does not
read are left out. A model may trust lists of names too much, since training documents
match them more often than new ones; where there are lists, entries are dropped in
training, too (dropout).

With --dev each is trained on train and tested on dev.jsonl: one difference, and nothing
is known of its error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import arguments
from comparison import Variant, features_of, hosemi, n_templates, script
from spacy.language import Language

from spacy_hosemi.features.feature_set import ROLES, FeatureSet
from spacy_hosemi.features.tables import PREFIX, VALUE
from spacy_hosemi.features.templates import Template

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


def variants(args: argparse.Namespace, nlp: Language) -> Iterator[Variant]:
    """The config without each family that it reads, with other orders, with dropout."""
    component, features = hosemi(nlp), features_of(nlp)
    for name, family in FAMILIES.items():
        if n_templates(without(features, family)) < n_templates(features):
            kept = partial(without, family=family)
            yield Variant(f"without {name}", name, features=kept)
    setting = f"components.{component.name}.max_order"
    for order in ORDERS:
        if order != component.cfg["max_order"]:
            yield Variant(f"max_order {order}", ORDER, [f"{setting}={order}"])
    block = f"components.{component.name}.model.gazetteers"
    if lists := component.weights.extractor.gazetteers.settings:
        for dropout in DROPOUTS:
            overrides = [f"{block}.{name}.dropout={dropout}" for name in lists]
            yield Variant(f"dropout {dropout}", DROPOUT, overrides)


VARIANTS = arguments.some_of([*FAMILIES, ORDER, DROPOUT]) | {"default": []}
main = script(__doc__, variants, options={"--variants": VARIANTS}, cv=3)

if __name__ == "__main__":
    main()
