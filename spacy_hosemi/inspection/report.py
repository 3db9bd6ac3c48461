"""Collects all that can be said of a corpus before training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from spacy.language import Language

from ..formats.texts import Fault
from ..labels.alignment import read_annotations
from ..model.tok2vec import encoder_of, keeping_vectors, knows_words
from .borders import judge_borders, judge_tokens
from .contradictions import judge_contradictions, judge_duplicates
from .corpus import CorpusPart, as_examples, trainable
from .costs import Cost, estimate
from .findings import Finding, count, fault
from .kinds import Fit, Profile, choose_kind, measure_profile
from .label_counts import LabelCount, count_labels, judge_labels
from .label_order import LabelOrder, measure_order
from .pipelines import components_of, pipeline_of_kind
from .sample_trainings import SampleTrainings
from .texts import judge_texts, judge_vectors


@dataclass
class PartReport:
    """How large a part is, and what was found; of dev no remarks that train has."""

    path: str
    n_documents: int
    n_tokens: int  # without whitespace
    n_spans: int
    findings: list[Finding] = field(default_factory=list)

    @property
    def faults(self) -> list[Finding]:
        """Returns what is wrong."""
        return [x for x in self.findings if x.is_fault]


@dataclass
class Report:
    """What is known of a corpus."""

    train: PartReport  # and what concerns both parts
    dev: PartReport | None
    labels: list[LabelCount]  # most frequent first
    order: LabelOrder | None  # None for too few documents with spans
    profile: Profile | None  # None without tokens
    fit: Fit | None
    cost: Cost | None = None  # what training will take
    no_cost: str = ""  # why nobody can tell, if that was asked for

    @property
    def has_faults(self) -> bool:
        """Returns whether something is wrong in a part."""
        return any(part and part.faults for part in (self.train, self.dev))


def inspect(
    train: CorpusPart,
    dev: CorpusPart | None,
    nlp: Language | None,
    before: tuple[float, float] | None = None,
) -> Report:
    """Looks at documents to train on, and to judge by, for a pipeline, or that of the
    config that fits; says what training takes if `before`, see `used`, is given."""
    labels, order, profile, fit = kind_of(train, dev)
    nlp = nlp or pipeline_of_kind(fit.kind if fit else "fields")
    report = Report(_of(train), None, labels, order, profile, fit)
    report.train.findings = [
        *_unread(train.faults),
        *judge_labels(train, dev, labels),
        *judge_duplicates(train, dev),
        *_of_part(train, nlp),
    ]
    is_floret = str(nlp.vocab.vectors.mode) == "floret"  # each word has a vector
    models = [pipe.model for pipe in components_of(nlp).values()]
    if any(x.layers and knows_words(encoder_of(x)) for x in models) and not is_floret:
        parts = [train] if dev is None else [train, dev]
        report.train.findings += judge_vectors(parts, nlp.vocab)
    if before is not None:
        report.cost, report.no_cost = _estimate(train, dev, nlp, before)
    if dev is not None:
        report.dev = _of(dev)
        of_train = {x.name for x in report.train.findings}
        findings = chain(_unread(dev.faults), _of_part(dev, nlp))
        report.dev.findings = [
            x for x in findings if x.is_fault or x.name not in of_train
        ]
    return report


def kind_of(
    train: CorpusPart, dev: CorpusPart | None = None
) -> tuple[list[LabelCount], LabelOrder | None, Profile | None, Fit | None]:
    """Returns labels, their order, the profile, and what fits, as in `Report`."""
    labels, order = count_labels(train, dev), measure_order(train)
    if not train.n_tokens:
        return labels, order, None, None
    profile = measure_profile(train)
    return labels, order, profile, choose_kind(labels, profile, order)


def _estimate(
    train: CorpusPart,
    dev: CorpusPart | None,
    nlp: Language,
    before: tuple[float, float],
) -> tuple[Cost | None, str]:
    """Returns what training takes, or why nobody can tell."""
    pipe = next(iter(components_of(nlp).values()), None)
    docs = trainable(train.docs, nlp)
    if pipe is None or not any(doc.ents for doc in docs):
        return None, "there is nothing to train on"
    try:
        trainings = SampleTrainings(docs, nlp, pipe)
        with keeping_vectors():
            return estimate(trainings, dev.docs if dev else (), *before), ""
    except Exception as e:  # what training refuses, or a component before it
        return None, " ".join(str(e).split())[:300] or type(e).__name__


def _of(part: CorpusPart) -> PartReport:
    return PartReport(part.name, len(part), part.n_tokens, part.n_spans)


def _of_part(part: CorpusPart, nlp: Language) -> Iterator[Finding]:
    examples = as_examples(part.docs, nlp)
    yield from judge_tokens(examples, read_annotations(examples), part.places, nlp)
    yield from judge_contradictions(part)
    yield from judge_borders(part)
    yield from judge_texts(part)


def _unread(faults: list[Fault]) -> Iterator[Finding]:
    text = f"{count(len(faults), 'record')} cannot be read; `convert` lists all of them"
    return fault("unreadable", text, len(faults), [*map(str, faults)])
