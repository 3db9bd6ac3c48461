"""Checks of training data: errors, and warnings with counts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..core import PatternAutomaton, Potentials, viterbi
from ..errors import Errors, Warnings
from ..features import Extractor
from ..features.attributes import SET_BY_COMPONENTS
from ..features.instances import instances
from ..labels.alignment import count_misaligned
from ..labels.gold import Gold
from ..labels.partial import PartialLabels
from .objectives import breaks_rules


def check_fit(examples: Sequence[Example], has_spans: bool) -> None:
    """RAISES (ValueError): HS050 no text; HS051 no spans."""
    if not any(len(eg.predicted) for eg in examples):
        raise ValueError(Errors.HS050)
    if not has_spans:
        raise ValueError(Errors.HS051.format(found=len(examples)))


def check_corpus_ends(nlp: Language | None, name: str) -> None:
    """RAISES (ValueError): HS052 spaCy gives the first documents alone."""
    training = nlp.config.get("training", {}) if nlp is not None else {}
    if training.get("max_epochs") == -1:
        raise ValueError(Errors.HS052.format(name=name))


def warn_misaligned(
    examples: Iterable[Example], annotations: Iterable[PartialLabels]
) -> None:
    """WARNS (UserWarning): HSW01 spans are not aligned with token borders."""
    counts = [count_misaligned(*pair) for pair in zip(examples, annotations)]
    found, total = (sum(some) for some in zip(*counts))
    if found > 0:
        warnings.warn(Warnings.HSW01.format(found=found, total=total), stacklevel=3)


def warn_crossing(
    examples: Iterable[Example], annotations: Iterable[PartialLabels], scope: str
) -> None:
    """WARNS (UserWarning): HSW07 spans cross the border of an instance."""
    found = total = 0
    for eg, known in zip(examples, annotations):
        parts = [known.part(u.start, u.end) for u in instances(eg.predicted, scope)]
        found += len(known.required) - sum(len(part.required) for part in parts)
        total += len(known.required)
    if found:
        warnings.warn(Warnings.HSW07.format(found=found, total=total), stacklevel=3)


def warn_rules(automaton: PatternAutomaton, golds: Sequence[Gold]) -> None:
    """WARNS (UserWarning): HSW05 documents break label rules."""
    if automaton.grammar is None:
        return
    breaking = [gold for gold in golds if _breaks_rules(automaton, gold)]
    if breaking:
        warnings.warn(
            Warnings.HSW05.format(
                found=len(breaking),
                total=len(golds),
                rules=list(automaton.grammar.rules),
                text=breaking[0].text,
            ),
            stacklevel=3,
        )


def _breaks_rules(automaton: PatternAutomaton, gold: Gold) -> bool:
    """Whether no segmentation satisfies both the gold and the rules."""
    known = gold.constraints
    if gold.segments is not None or known is None or known.allowed is None:
        return breaks_rules(automaton, gold)
    potentials = Potentials.zeros(automaton, len(known.allowed))
    potentials.tail[:] = 0.0  # segments of any length
    return viterbi(automaton, potentials, known)[1] == -np.inf


def warn_unset(read: Extractor, docs: Iterable[Doc]) -> None:
    """WARNS (UserWarning): HSW09 features read attributes that no component has set."""
    templates = chain.from_iterable(read.features.roles.values())
    names = {atom.attribute for template in templates for atom in template.atoms}
    names.update(x.attr for x in read.gazetteers.settings.values())
    asked = [name for name in SET_BY_COMPONENTS if name in names]
    docs = [doc for doc in docs if len(doc)] if asked else []
    unset = [x for x in asked if not any(doc.has_annotation(x) for doc in docs)]
    if docs and unset:
        warnings.warn(Warnings.HSW09.format(names=", ".join(unset)), stacklevel=3)


def is_init_labels() -> bool:
    """Whether `spacy init labels` is running, which needs the labels alone: spaCy calls
    `initialize` with the same arguments as for training."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "init_labels_cli":
            return True
    return False
