"""Counts spans by label: how many, how long, in which part."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..formats.texts import shown
from .corpus import CorpusPart
from .findings import Finding, count, fault, listed, remark

# A label with fewer spans is rarely learnt.
RARE = 10
# Fewer documents tell little of how good a model is.
FEW_DOCUMENTS = 100
N_SHOWN = 3


@dataclass(frozen=True)
class LabelCount:
    """The spans with one label, to train on but for `n_dev`."""

    label: str
    n: int
    n_dev: int | None  # in dev, if there is one
    share: float  # of all spans
    n_docs: int  # documents with one
    median: int  # of the tokens of a span
    most_95: int  # the 95th percentile
    most: int
    examples: list[str]  # the most frequent texts


def count_labels(train: CorpusPart, dev: CorpusPart | None) -> list[LabelCount]:
    """Counts the spans of each label of train or dev, the most frequent first."""
    lengths: dict[str, list[int]] = defaultdict(list)
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    n_docs: Counter[str] = Counter()
    for doc in train.docs:
        for ent in doc.ents:
            lengths[ent.label_].append(len(ent))
            texts[ent.label_][ent.text] += 1
        n_docs.update({ent.label_ for ent in doc.ents})
    of_dev = [] if dev is None else dev.docs
    in_dev = Counter(ent.label_ for doc in of_dev for ent in doc.ents)
    for label in in_dev:
        lengths.setdefault(label, [])
    counts = []
    for label, of_label in lengths.items():
        sizes = np.array(of_label or [0])
        half, most_95 = np.quantile(sizes, (0.5, 0.95), method="higher").tolist()
        counts.append(
            LabelCount(
                label=label,
                n=len(of_label),
                n_dev=None if dev is None else in_dev[label],
                share=len(of_label) / max(train.n_spans, 1),
                n_docs=n_docs[label],
                median=half,
                most_95=most_95,
                most=int(sizes.max()),
                examples=[text for text, _ in texts[label].most_common(N_SHOWN)],
            )
        )
    return sorted(counts, key=lambda x: (-x.n, x.label))


def judge_labels(
    train: CorpusPart, dev: CorpusPart | None, labels: list[LabelCount]
) -> Iterator[Finding]:
    """Yields what is odd about the labels of a corpus."""
    if not train.n_spans:
        text = "no document has a span: there is nothing to learn"
        if any(len(group) for doc in train.docs for group in doc.spans.values()):
            text += "; the annotation is in doc.spans, and training reads doc.ents"
        yield from fault("no-spans", text, len(train), found=len(train))
        return
    if len(train) < FEW_DOCUMENTS:
        text = (
            f"{count(len(train), 'document')} to train on: scores will differ much "
            "from one choice of documents to the next"
        )
        yield from remark("few-documents", text, len(train), found=len(train))
    names = [x.label for x in labels if x.n]
    if len(names) == 1:
        text = f"there is one label, {names[0]}: only its spans and what is between"
        yield from remark("one-label", text + " them is learnt", 1, found=1)
    if dev is not None:
        new = [f"{x.label} ({x.n_dev})" for x in labels if x.n_dev and not x.n]
        text = f"labels of dev that train lacks count as missed: {listed(new)}"
        yield from fault("labels-of-dev-only", text, len(labels), found=len(new))
        absent = [f"{x.label} ({x.n})" for x in labels if x.n and not x.n_dev]
        text = f"labels that dev lacks have no score: {listed(absent)}"
        yield from remark("labels-of-train-only", text, len(labels), found=len(absent))
    rare = [f"{x.label} ({x.n})" for x in labels if 0 < x.n < RARE]
    text = f"labels with fewer than {RARE} spans are hardly learnt: {listed(rare)}"
    yield from remark("rare-labels", text, len(names), found=len(rare))
    # Labels that may be one.
    by_key: dict[str, list[str]] = defaultdict(list)
    for label in names:
        by_key[re.sub(r"[\W_]+", "", label).casefold() or label].append(label)
    alike = [" and ".join(map(shown, x)) for x in by_key.values() if x[1:]]
    text = f"labels differ in case or punctuation alone: {listed(alike)}"
    yield from fault("labels-alike", text, len(names), found=len(alike))
