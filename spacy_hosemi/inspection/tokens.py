"""Annotation beside the tokens that a pipeline makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from spacy.language import Language
from spacy.training import Example

from ..labels.alignment import out_of_reach
from ..labels.partial import PartialLabels
from ..training.data_checks import compare_given
from .findings import Finding, fault, listed, quoted, remark, share


def judge_tokens(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    places: Sequence[str],
    nlp: Language,
) -> Iterator[Finding]:
    """YIELDS (Finding): Spans that the tokenizer cannot reach; given tokens that it
    would not make.

    examples (Sequence[Example]), annotations (Sequence[PartialLabels]): From
        `as_examples` and `labels_in`.
    places (Sequence[str]): Where each stands.
    nlp (Language): The pipeline.
    """
    missed = [
        (place, ent)
        for place, example, known in zip(places, examples, annotations)
        for ent in out_of_reach(example, known)
    ]
    if missed:
        n = Counter(ent.label_ for _, ent in missed)
        total = len(missed) + sum(len(known.required) for known in annotations)
        names = listed([f"{label} {times}" for label, times in n.most_common()])
        text = (
            f"{share(len(missed), total)} spans begin or end inside a token: they "
            f"are neither learnt nor predicted, and count as missed ({names}). "
            "spacy_hosemi.FieldTokenizer.v1 cuts at punctuation, and between letters "
            "and digits"
        )
        examples_ = [f"{place}: {e.label_} {quoted(e.text)}" for place, e in missed]
        yield fault("inside-tokens", text, len(missed), total, examples_)
    given = compare_given(examples, nlp)
    if given.are_many:
        text = (
            f"the corpus gives tokens without a text; of the first ones, "
            f"{share(given.n_other, given.n_tokens)} are not what the tokenizer makes "
            "of them: predict documents whose tokens you give, or train on texts"
        )
        examples_ = [f"{quoted(given.shown)} becomes {given.made}"]
        args = text, given.n_other, given.n_tokens, examples_
        yield remark("given-tokens", *args)
