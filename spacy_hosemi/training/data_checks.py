"""Checks of training data: errors, and warnings with counts."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, islice
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.tokens import Span as DocSpan
from spacy.training import Example

from ..core import PatternAutomaton, Potentials, viterbi
from ..errors import Errors, Warnings
from ..features import Extractor
from ..features.attributes import SET_BY_COMPONENTS
from ..features.instances import instances, sentence_starts
from ..labels.alignment import given_tokens, out_of_reach
from ..labels.gold import Gold
from ..labels.partial import PartialLabels
from ..text.clean import clean_word
from .objectives import breaks_rules

# Given tokens of the first N_COMPARED documents are compared with those of the
# tokenizer. A few differences, such as apostrophes, are in any corpus: there is a
# warning if more than MIN_OTHER tokens, and more than this share, differ.
N_COMPARED, MIN_OTHER, MAX_OTHER = 200, 50, 0.02


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


def check_reach(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    named: set[str] | None = None,
) -> None:
    """Gold spans that begin or end inside a token: nothing can be learnt from them, nor
    can they be predicted.

    examples (Sequence[Example]), annotations (Sequence[PartialLabels]): From
        `read_annotations`.
    named (Optional[Set[str]]): Labels that were named before; new ones are added.
        Given, there is no error.
    WARNS (UserWarning): HSW01 by label, with their number and examples.
    RAISES (ValueError): HS156 no span of a label can be reached.
    """
    missed: dict[str, list[DocSpan]] = {}
    for pair in zip(examples, annotations):
        for span in out_of_reach(*pair):
            missed.setdefault(span.label_, []).append(span)
    new = {*missed} - (named or set())
    if not new:
        return
    within = Counter(y for known in annotations for *_, y in known.required)
    lost = [label for label in missed if not within[label]]
    if named is None and lost:
        shown = _quoted(missed[lost[0]])
        message = Errors.HS156.format(label=lost[0], text=shown, all=lost)
        raise ValueError(message)
    if named is not None:
        named.update(new)
    texts = [
        f"{label}: {len(some)} of {len(some) + within[label]}, such as {_quoted(some)}"
        for label, some in missed.items()
    ]
    found = sum(map(len, missed.values()))
    message = Warnings.HSW01.format(
        found=found, total=found + within.total(), labels="; ".join(texts)
    )
    warnings.warn(message, stacklevel=3)


def _quoted(spans: Sequence[DocSpan]) -> str:
    """The texts of up to three spans."""
    return ", ".join(repr(span.text[:40]) for span in spans[:3])


class GivenTokens(NamedTuple):
    """Tokens that a corpus gives without a text, beside those of a tokenizer.

    n_tokens, n_other (int): Tokens that were compared, and those that it does not make.
    shown (str), made (List[str]): The first of these, and what becomes of it.
    """

    n_tokens: int = 0
    n_other: int = 0
    shown: str = ""
    made: Sequence[str] = ()

    @property
    def are_many(self) -> bool:
        """Whether so many differ that it is worth a warning."""
        return self.n_other > max(MIN_OTHER, MAX_OTHER * self.n_tokens)


def compare_given(examples: Iterable[Example], nlp: Language) -> GivenTokens:
    """RETURNS (GivenTokens): Of the first N_COMPARED documents."""
    found = GivenTokens()
    for example in islice(examples, N_COMPARED):
        words = given_tokens(example)
        if words is None:
            continue
        words = [word for word in words if not word.isspace()]
        text = " ".join(words)
        made = {(x.idx, x.text) for x in nlp.make_doc(text)}
        starts = accumulate((len(word) + 1 for word in words), initial=0)
        other = [pair for pair in zip(starts, words) if pair not in made]
        n = found.n_tokens + len(words), found.n_other + len(other)
        found = found._replace(n_tokens=n[0], n_other=n[1])
        if other and not found.shown:
            start, shown = other[0]
            pieces = sorted(x for x in made if start <= x[0] < start + len(shown))
            found = found._replace(shown=shown, made=[text for _, text in pieces])
    return found


def warn_given_tokens(examples: Iterable[Example], nlp: Language | None) -> None:
    """WARNS (UserWarning): HSW12 the tokens of the corpus are not those that the
    tokenizer of the pipeline makes of its texts."""
    found = GivenTokens() if nlp is None else compare_given(examples, nlp)
    if found.are_many:
        share = 100 * found.n_other / found.n_tokens
        args = {"share": share, "given": found.shown, "made": found.made}
        warnings.warn(Warnings.HSW12.format(**args), stacklevel=3)


def warn_unseen(
    examples: Sequence[Example], annotations: Sequence[PartialLabels], name: str
) -> None:
    """WARNS (UserWarning): HSW40 spans begin or end with tokens that nobody sees, which
    documents of clean words do not have."""
    found = [
        eg.predicted[start:end].text
        for eg, known in zip(examples, annotations)
        for start, end, _ in known.required
        if _is_unseen(eg.predicted[start]) or _is_unseen(eg.predicted[end - 1])
    ]
    if found:
        total = sum(len(known.required) for known in annotations)
        values = {"found": len(found), "total": total, "name": name}
        message = Warnings.HSW40.format(text=ascii(found[0][:80]), **values)
        warnings.warn(message, stacklevel=3)


def _is_unseen(token: Token) -> bool:
    return not clean_word(token.text) and not token.is_space


def warn_crossing(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    scope: str,
    name: str,
) -> None:
    """WARNS (UserWarning): HSW07 spans cross the border of an instance; HSW95 or, in
    the scope "doc", a sentence start."""
    if scope == "doc":
        _warn_starts(examples, annotations, name)
        return
    found = total = 0
    for eg, known in zip(examples, annotations):
        parts = [known.part(u.start, u.end) for u in instances(eg.predicted, scope)]
        found += len(known.required) - sum(len(part.required) for part in parts)
        total += len(known.required)
    if found:
        warnings.warn(Warnings.HSW07.format(found=found, total=total), stacklevel=3)


def _warn_starts(
    examples: Sequence[Example], annotations: Sequence[PartialLabels], name: str
) -> None:
    crossing = [
        (eg.predicted, span)
        for eg, known in zip(examples, annotations)
        if len(starts := sentence_starts(eg.predicted))
        for span in known.required
        if np.any((starts > span[0]) & (starts < span[1]))
    ]
    if crossing:
        doc, (start, end, _) = crossing[0]
        total = sum(len(known.required) for known in annotations)
        values = {"found": len(crossing), "total": total, "name": name}
        message = Warnings.HSW95.format(text=doc[start:end].text[:80], **values)
        warnings.warn(message, stacklevel=4)


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
