"""Makes a `Doc` of an annotated text, with all its spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from .texts import AnnotatedText

# The group of doc.spans for spans that are wrong: what incorrect_spans_key may name.
INCORRECT_SPANS = "incorrect_spans"


def write_docs(docs: Iterable[Doc], has_user_data: bool = False) -> bytes:
    """Returns the content of a .spacy file: tokens, entities, span groups."""
    attrs = ["ORTH", "ENT_IOB", "ENT_TYPE"]
    return DocBin(attrs=attrs, docs=docs, store_user_data=has_user_data).to_bytes()


def make_doc(
    text: AnnotatedText, nlp: Language, group: str | None = None
) -> tuple[Doc, int]:
    """Returns the document of a checked text, with `doc.ents`, and the number of spans
    with a border inside a token, which was cut there.

    The tokenizer of `nlp` cuts the text; given tokens stay as they are, and their
    spaces count as unknown, so that nothing in spaCy tokenizes them again. Tokens
    beside spans are outside, or missing where the text is partial. Spans that are wrong
    are in the group `INCORRECT_SPANS`. What `meta` has under the key `group` comes
    under the same key of `doc.user_data`, as a string.
    """
    if text.tokens is not None:
        doc, n_cut = Doc(nlp.vocab, words=list(text.tokens)), 0
    else:
        doc, n_cut = _tokenized(text, nlp)
    # None is not among spans: tokens are cut at their borders.
    ents: Any = [doc.char_span(*span[:3]) for span in text.spans]
    doc.set_ents(ents, default="missing" if text.is_partial else "outside")
    if text.wrong:
        wrong: Any = [doc.char_span(*span[:3]) for span in text.wrong]
        doc.spans[INCORRECT_SPANS] = wrong
    if group is not None and group in text.meta:
        doc.user_data[group] = str(text.meta[group])
    return doc, n_cut


def _tokenized(text: AnnotatedText, nlp: Language) -> tuple[Doc, int]:
    pieces = nlp.tokenizer(text.text)
    borders = {at for span in text.judged for at in span[:2]}
    words, spaces, at = [], [], 0
    for token in pieces:
        cuts = [k for k in range(1, len(token)) if at + k in borders]
        parts = [token.text[i:j] for i, j in zip([0, *cuts], [*cuts, len(token)])]
        words += parts
        spaces += [False] * (len(parts) - 1) + [bool(token.whitespace_)]
        at += len(token.text_with_ws)
    n_cut = 0
    if len(words) > len(pieces):
        reached = {x for token in pieces for x in (token.idx, token.idx + len(token))}
        n_cut = sum(not reached.issuperset(span[:2]) for span in text.judged)
    return Doc(nlp.vocab, words=words, spaces=spaces), n_cut
