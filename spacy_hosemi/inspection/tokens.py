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
    """Yields spans that the tokenizer cannot reach, and given tokens that it would not
    make; examples with their annotations stand at these places."""
    missed = [
        (place, ent)
        for place, example, labels in zip(places, examples, annotations)
        for ent in out_of_reach(example, labels)
    ]
    if missed:
        n = Counter(ent.label_ for _, ent in missed)
        total = len(missed) + sum(len(labels.required) for labels in annotations)
        names = listed([f"{label} {times}" for label, times in n.most_common()])
        text = (
            f"{share(len(missed), total)} spans begin or end inside a token: they "
            f"are neither learnt nor predicted, and count as missed ({names}). "
            "spacy_hosemi.FieldTokenizer.v1 cuts at punctuation, and between letters "
            "and digits"
        )
        shown = [f"{place}: {e.label_} {quoted(e.text)}" for place, e in missed]
        yield fault("inside-tokens", text, len(missed), total, shown)
    tokens = compare_given(examples, nlp)
    if tokens.are_many:
        text = (
            f"the corpus gives tokens without a text; of the first ones, "
            f"{share(tokens.n_other, tokens.n_tokens)} are not what the tokenizer "
            "makes of them: predict documents whose tokens you give, or train on texts"
        )
        shown = [f"{quoted(tokens.shown)} becomes {tokens.made}"]
        args = text, tokens.n_other, tokens.n_tokens, shown
        yield remark("given-tokens", *args)
