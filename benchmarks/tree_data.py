"""Labelled lines whose labels stand in a tree, as hierarchy.py trains on them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from spacy_hosemi.hierarchy.tree import make_tree_reader, way_up

PARTS = {"JJ": "ADJ", "RB": "ADV", "VB": "VERB"}  # by the first letters of a tag
EASY = {"NONE", *PARTS.values()}

Spans = list[tuple[int, int, str]]


@dataclass
class Record:
    """A labelled line; classes are the labels that its spans have themselves."""

    tokens: list[str]
    spans: Spans
    classes: list[str] = field(default_factory=list)
    tags: list[str] | None = None


def read(path: Path, name: str | None) -> list[Record]:
    """Read lines; labels from another field where one is named."""
    records = []
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            spans = line["spans"]
            labels = line[name] if name else [label for *_, label in spans]
            named = [pair for pair in zip(spans, labels) if pair[1]]
            kept = [(i, j, label) for (i, j, _), label in named]
            classes = [own for (_, _, own), _ in named]
            tags = [tag or "-" for tag in line["pos"]] if "pos" in line else None
            records.append(Record(line["tokens"], kept, classes, tags))
    return records


def on_every_token(record: Record) -> Record:
    """Synsets of nouns, and the part of speech of each other token."""
    found = {
        (i, j): (label, own)
        for (i, j, label), own in zip(record.spans, record.classes)
        if own.startswith("noun")
    }
    taken = {t for i, j in found for t in range(i, j)}
    for t, tag in enumerate(record.tags or ()):
        if t not in taken:
            label = PARTS.get(tag[:2], "NONE")
            found[t, t + 1] = label, label
    spans = [(i, j, label) for (i, j), (label, _) in sorted(found.items())]
    classes = [own for _, (_, own) in sorted(found.items())]
    return replace(record, spans=spans, classes=classes)


def read_tree(path: Path, records: Iterable[Record]) -> dict[str, str]:
    """The parents of all labels; what has none stands under the class that spans below
    it have most often, and the class under its first name."""
    parents = make_tree_reader(path, "ignore")()
    classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for (*_, label), name in zip(record.spans, record.classes):
            classes[way_up(label, parents)[-1]][name] += 1
    for top, counts in classes.items():
        name = counts.most_common(1)[0][0]
        parents[top] = f"class {name}"
        if "." in name:
            parents[f"class {name}"] = f"class {name.partition('.')[0]}"
    return parents


def with_labels(records: Sequence[Record], kept: set[str]) -> list[Record]:
    """Records with the spans of some labels only."""
    return [replace(x, spans=[y for y in x.spans if y[2] in kept]) for x in records]
