"""Spans by label: how many, how long, in which part."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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
    """Counts the spans of each label, the most frequent first; of dev alone, too."""
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
) -> list[Finding]:
    """Returns what is odd about the labels of a corpus."""
    if not train.n_spans:
        text = "no document has a span: there is nothing to learn"
        if any(len(group) for doc in train.docs for group in doc.spans.values()):
            text += "; the annotation is in doc.spans, and training reads doc.ents"
        return [fault("no-spans", text, len(train), len(train))]
    findings = []
    if len(train) < FEW_DOCUMENTS:
        text = (
            f"{count(len(train), 'document')} to train on: scores will differ much "
            "from one choice of documents to the next"
        )
        findings.append(remark("few-documents", text, len(train), len(train)))
    names = [x.label for x in labels if x.n]
    if len(names) == 1:
        text = f"there is one label, {names[0]}: only its spans and what is between"
        findings.append(remark("one-label", text + " them is learnt", 1, 1))
    findings += _compare_parts(labels, dev)
    rare = [f"{x.label} ({x.n})" for x in labels if 0 < x.n < RARE]
    if rare:
        text = f"labels with fewer than {RARE} spans are hardly learnt: {listed(rare)}"
        findings.append(remark("rare-labels", text, len(rare), len(names)))
    # Labels that may be one.
    by_key: dict[str, list[str]] = defaultdict(list)
    for label in names:
        by_key[re.sub(r"[\W_]+", "", label).casefold() or label].append(label)
    alike = [" and ".join(map(shown, x)) for x in by_key.values() if x[1:]]
    if alike:
        text = f"labels differ in case or punctuation alone: {listed(alike)}"
        findings.append(fault("labels-alike", text, len(alike), len(names)))
    return findings


def _compare_parts(labels: list[LabelCount], dev: CorpusPart | None) -> list[Finding]:
    if dev is None:
        return []
    findings = []
    new = [f"{x.label} ({x.n_dev})" for x in labels if x.n_dev and not x.n]
    if new:
        text = f"labels of dev that train lacks count as missed: {listed(new)}"
        findings.append(fault("labels-of-dev-only", text, len(new), len(labels)))
    absent = [f"{x.label} ({x.n})" for x in labels if x.n and not x.n_dev]
    if absent:
        text = f"labels that dev lacks have no score: {listed(absent)}"
        args = text, len(absent), len(labels)
        findings.append(remark("labels-of-train-only", *args))
    return findings
