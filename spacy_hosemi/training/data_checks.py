"""Checks of training data: errors, and warnings with counts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, islice

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..core import PatternAutomaton, Potentials, viterbi
from ..errors import Errors, Warnings
from ..features import Extractor
from ..features.attributes import SET_BY_COMPONENTS
from ..features.instances import divide, sentence_starts
from ..labels.alignment import given_tokens
from ..labels.gold import Gold
from ..labels.partial import PartialLabels
from ..model.weights.state import WeightState
from ..text.clean import clean_word
from .objectives import breaks_rules

# Given tokens of the first N_COMPARED documents are compared with those of the
# tokenizer. A few differences, such as apostrophes, are in any corpus: there is a
# warning if more than MIN_OTHER tokens, and more than this share, differ.
N_COMPARED, MIN_OTHER, MAX_OTHER = 200, 50, 0.02


def check_fit(examples: Sequence[Example], has_spans: bool) -> None:
    """Raises ValueError HS050 if there is no text, HS051 if there are no spans."""
    if not any(len(eg.predicted) for eg in examples):
        raise ValueError(Errors.HS050)
    if not has_spans:
        raise ValueError(Errors.HS051.format(found=len(examples)))


def check_corpus_ends(nlp: Language | None, name: str) -> None:
    """Raises ValueError HS052 if spaCy passes the first documents alone."""
    training = nlp.config.get("training", {}) if nlp is not None else {}
    if training.get("max_epochs") == -1:
        raise ValueError(Errors.HS052.format(name=name))


def other_tokens(
    examples: Iterable[Example], nlp: Language
) -> tuple[int, int, str, list[str]] | None:
    """Compares tokens that the first N_COMPARED documents give without a text with
    those of the tokenizer. Returns how many were compared, how many it does not make,
    the first of these, and what it makes; None if too few differ for a warning."""
    n_tokens = n_other = 0
    first, pieces = "", list[str]()
    for example in islice(examples, N_COMPARED):
        words = [x for x in given_tokens(example) or () if not x.isspace()]
        if not words:
            continue
        tokens = {(x.idx, x.text) for x in nlp.make_doc(" ".join(words))}
        starts = accumulate((len(word) + 1 for word in words), initial=0)
        other = [pair for pair in zip(starts, words) if pair not in tokens]
        n_tokens, n_other = n_tokens + len(words), n_other + len(other)
        if other and not first:
            start, first = other[0]
            here = range(start, start + len(first))
            pieces = [text for at, text in sorted(tokens) if at in here]
    are_many = n_other > max(MIN_OTHER, MAX_OTHER * n_tokens)
    return (n_tokens, n_other, first, pieces) if are_many else None


def warn_given_tokens(examples: Iterable[Example], nlp: Language | None) -> None:
    """Warns by HSW12 if tokens of the corpus are not those that the tokenizer makes."""
    if nlp is not None and (others := other_tokens(examples, nlp)) is not None:
        n_tokens, n_other, first, pieces = others
        args = {"share": 100 * n_other / n_tokens, "given": first, "made": pieces}
        warnings.warn(Warnings.HSW12.format(**args), stacklevel=3)


def warn_unseen(
    examples: Sequence[Example], annotations: Sequence[PartialLabels], name: str
) -> None:
    """Warns by HSW40 of spans that begin or end with tokens that nobody sees, which
    documents of clean words do not have."""
    texts = [
        eg.predicted[start:end].text
        for eg, annotation in zip(examples, annotations)
        for start, end, _ in annotation.required
        if _is_unseen(eg.predicted[start]) or _is_unseen(eg.predicted[end - 1])
    ]
    if texts:
        total = sum(len(x.required) for x in annotations)
        values = {"found": len(texts), "total": total, "name": name}
        message = Warnings.HSW40.format(text=ascii(texts[0][:80]), **values)
        warnings.warn(message, stacklevel=3)


def _is_unseen(token: Token) -> bool:
    return not clean_word(token.text) and not token.is_space


def warn_crossing(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    scope: str,
    name: str,
) -> None:
    """Warns of spans that cross the border of an instance (HSW07), or, in the scope
    "doc", a sentence start (HSW95)."""
    total = sum(len(x.required) for x in annotations)
    if scope != "doc":
        n_cut = total
        for eg, annotation in zip(examples, annotations):
            units = divide(eg.predicted, scope)
            n_cut -= sum(len(annotation.part(x.start, x.end).required) for x in units)
        if n_cut:
            warnings.warn(Warnings.HSW07.format(found=n_cut, total=total), stacklevel=3)
        return
    crossing = [
        (eg.predicted, span)
        for eg, annotation in zip(examples, annotations)
        if len(starts := sentence_starts(eg.predicted))
        for span in annotation.required
        if np.any((starts > span[0]) & (starts < span[1]))
    ]
    if crossing:
        doc, (start, end, _) = crossing[0]
        values = {"found": len(crossing), "total": total, "name": name}
        message = Warnings.HSW95.format(text=doc[start:end].text[:80], **values)
        warnings.warn(message, stacklevel=3)


def warn_rules(automaton: PatternAutomaton, golds: Sequence[Gold]) -> None:
    """Warns by HSW05 of documents that break label rules."""
    if automaton.grammar is None:
        return
    breaking = [gold for gold in golds if _breaks_rules(automaton, gold)]
    if breaking:
        counts = {"found": len(breaking), "total": len(golds)}
        rules, text = [*automaton.grammar.rules], breaking[0].text
        message = Warnings.HSW05.format(rules=rules, text=text, **counts)
        warnings.warn(message, stacklevel=3)


def _breaks_rules(automaton: PatternAutomaton, gold: Gold) -> bool:
    """Whether no segmentation satisfies both the gold and the rules."""
    limits = gold.constraints
    if gold.segments is not None or limits is None or limits.allowed is None:
        return breaks_rules(automaton, gold)
    potentials = Potentials.zeros(automaton, len(limits.allowed))
    potentials.tail[:] = 0.0  # segments of any length
    return viterbi(automaton, potentials, limits)[1] == -np.inf


def warn_unset(extractor: Extractor, docs: Iterable[Doc]) -> None:
    """Warns by HSW09 of features that read attributes that no component has set."""
    templates = chain.from_iterable(extractor.features.roles.values())
    names = {atom.attribute for template in templates for atom in template.atoms}
    names.update(x.attr for x in extractor.gazetteers.settings.values())
    needed = [name for name in SET_BY_COMPONENTS if name in names]
    docs = [doc for doc in docs if len(doc)] if needed else []
    unset = [x for x in needed if not any(doc.has_annotation(x) for doc in docs)]
    if docs and unset:
        warnings.warn(Warnings.HSW09.format(names=", ".join(unset)), stacklevel=3)


def warn_functions(state: WeightState, docs: Iterable[Doc]) -> None:
    """Warns by HSW98 of functions that list no feature which has weights, or other ones
    when they are called again."""
    extractor, features = state.extractor, state.extractor.features
    if not features.functions:
        return
    templates = {name.partition("=")[0] for name in state.names}
    atoms = {x for text in templates for x in text.split(":", 1)[1].split(" & ")}
    some = [*islice(filter(len, docs), 1)]
    twice = zip(extractor.listed(some), extractor.listed(some))
    atoms -= {x.function for x, y in twice if not np.array_equal(x.keys, y.keys)}
    if names := [name for name in features.functions.names if name not in atoms]:
        args = {"n_docs": state.n_docs, "min_count": features.min_count}
        warnings.warn(Warnings.HSW98.format(names=names, **args), stacklevel=3)


def is_init_labels() -> bool:
    """Whether `spacy init labels` is running, which needs the labels alone: spaCy calls
    `initialize` with the same arguments as for training."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "init_labels_cli":
            return True
    return False
