"""Judges where spans begin and end, and annotation beside entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from spacy.attrs import ENT_IOB, SENT_START  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.training import Example

from ..formats.documents import INCORRECT_SPANS
from ..formats.texts import shown
from ..labels.alignment import out_of_reach
from ..labels.partial import PartialLabels
from ..training.data_checks import other_tokens
from .corpus import CorpusPart, PlacedSpan, in_spans
from .findings import Finding, count, fault, listed, remark

SEPARATORS = ",;:"
BRACKETS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»"}
# A border is unlike the others of its label if at most the share UNLIKE of them is like
# it, where at least MANY of them have a separator within N_AROUND characters.
UNLIKE, MANY, N_AROUND = 0.05, 20, 8


def judge_borders(part: CorpusPart) -> list[Finding]:
    """Returns spans that begin or end oddly, and what else is annotated or is not."""
    judges = _outer_spaces, _unlike, _brackets, _groups, _unknown, _sentences, _all
    return [finding for judge in judges for finding in judge(part)]


def judge_tokens(
    examples: Sequence[Example],
    annotations: Sequence[PartialLabels],
    places: Sequence[str],
    nlp: Language,
) -> Iterator[Finding]:
    """Yields spans that the tokenizer cannot reach, and given tokens that it would not
    make. `places` says where in its file each example stands."""
    missed = [
        (place, ent)
        for place, example, labels in zip(places, examples, annotations)
        for ent in out_of_reach(example, labels)
    ]
    n = Counter(ent.label_ for _, ent in missed)
    total = len(missed) + sum(len(labels.required) for labels in annotations)
    names = listed([f"{label} {times}" for label, times in n.most_common()])
    text = (
        "{share} spans begin or end inside a token: they are neither learnt nor "
        f"predicted, and count as missed ({names}). spacy_hosemi.FieldTokenizer.v1 "
        "cuts at punctuation, and between letters and digits"
    )
    spans = [f"{place}: {e.label_} {shown(e.text)}" for place, e in missed]
    yield from fault("inside-tokens", text, total, spans)
    if (others := other_tokens(examples, nlp)) is not None:
        n_tokens, n_other, first, pieces = others
        text = (
            "the corpus gives tokens without a text; of the first ones, {share} are "
            "not what the tokenizer makes of them: predict documents whose tokens you "
            "give, or train on texts"
        )
        words = [f"{shown(first)} becomes {pieces}"]
        yield from remark("given-tokens", text, n_tokens, words, n_other)


def _named(span: PlacedSpan) -> str:
    return f"{span.place}: {span.label} {shown(span.text)}"


def _outer_spaces(part: CorpusPart) -> Iterator[Finding]:
    name, n = "outer-spaces-of-spans", part.n_trimmed
    text = f"whitespace at the ends of {count(n, 'span')} is left out"
    yield from remark(name, text, part.n_spans, found=n)
    text = (
        "{share} spans begin or end with whitespace; training refuses them. `convert` "
        "trims spans"
    )
    spans = [_named(x) for x in part.spans if x.text != x.text.strip()]
    yield from fault(name, text, part.n_spans, spans)


def _unlike(part: CorpusPart) -> Iterator[Finding]:
    """Yields spans that begin or end with a separator while others of their label leave
    it outside, or the reverse. Borders that have no separator near do not count."""
    odd: list[tuple[float, str]] = []
    for side in ("begins", "ends"):
        pairs = ((span, _separator(span, side)) for span in part.spans)
        chosen = [(span, where) for span, where in pairs if where is not None]
        totals = Counter(span.label for span, _ in chosen)
        counts = Counter((span.label, is_in) for span, (_, is_in) in chosen)
        for span, (c, is_in) in chosen:
            total, n = totals[span.label], counts[span.label, is_in]
            if total < MANY or n > UNLIKE * total:
                continue
            what = f"{side} {'with' if is_in else 'without'} {c!r}"
            text = f"{_named(span)} {what}"
            odd.append((n / total, f"{text}, as {n} of {total} where one stands"))
    text = (
        f"{{share}} spans include a separator ({' '.join(SEPARATORS)}) that nearly all "
        "others of their label leave outside, or the reverse"
    )
    examples = [how for _, how in sorted(odd)]
    yield from remark("odd-separators", text, part.n_spans, examples)


def _separator(span: PlacedSpan, side: str) -> tuple[str, bool] | None:
    """Returns the separator at a border, if any, and whether it is in the span."""
    before = span.document[max(0, span.start - N_AROUND) : span.start].rstrip()
    after = span.document[span.end : span.end + N_AROUND].lstrip()
    inner, outer = span.text[-1:], after[:1]
    if side == "begins":
        inner, outer = span.text[:1], before[-1:]
    if len(span.text) > 1 and inner in SEPARATORS:
        return inner, True
    return (outer, False) if outer and outer in SEPARATORS else None


def _brackets(part: CorpusPart) -> Iterator[Finding]:
    """Yields spans with one bracket of a pair, beside which the other one stands."""
    cut = [_named(x) for x in part.spans if _is_cut(x)]
    text = (
        "{share} spans have one bracket of a pair, and the other one stands beside them"
    )
    if len(cut) <= UNLIKE * part.n_spans:
        yield from remark("cut-brackets", text, part.n_spans, cut)


def _is_cut(span: PlacedSpan) -> bool:
    text, document = span.text, span.document
    if not any(c in text for pair in BRACKETS.items() for c in pair):
        return False
    after = document[span.end :].lstrip()[:1]
    before = document[: span.start].rstrip()
    return len(text) > 1 and any(
        (text.count(left) == text.count(right) + 1 and after == right)
        or (text.count(right) == text.count(left) + 1 and before[-1:] == left)
        for left, right in BRACKETS.items()
    )


def _groups(part: CorpusPart) -> Iterator[Finding]:
    """Yields spans in groups of doc.spans; training reads only wrong spans there."""
    n_other, keys = 0, Counter[str]()
    for doc in part.docs:
        ents = {(x.start, x.end, x.label_) for x in doc.ents}
        for key, group in doc.spans.items():
            keys[key] += len(group)
            if key != INCORRECT_SPANS:
                n_other += sum((x.start, x.end, x.label_) not in ents for x in group)
    n_wrong = keys.pop(INCORRECT_SPANS, 0)
    text = (
        f"{count(n_wrong, 'span')} in the group {INCORRECT_SPANS} of doc.spans: "
        f'training excludes them with incorrect_spans_key = "{INCORRECT_SPANS}"'
    )
    yield from remark("incorrect-spans", text, n_wrong, found=n_wrong)
    names = ", ".join(f"{key} ({times:,})" for key, times in keys.most_common(4))
    text = (
        f"{{share}} spans of the groups in doc.spans, {names}, are no entities: "
        "training reads doc.ents, where spans do not overlap"
    )
    yield from remark("span-groups", text, keys.total(), found=n_other)


def _unknown(part: CorpusPart) -> Iterator[Finding]:
    missing = [int((doc.to_array(ENT_IOB) == 0).sum()) for doc in part.docs]
    places = [
        f"{place}: {n} of {len(doc)} tokens"
        for n, (place, doc) in zip(missing, part)
        if n
    ]
    text = (
        f"{{share}} tokens in {count(len(places), 'document')} are not annotated, "
        "neither in a span nor outside: training takes them as unknown"
    )
    total = sum(map(len, part.docs))
    yield from remark("unknown-tokens", text, total, places, sum(missing))


def _sentences(part: CorpusPart) -> Iterator[Finding]:
    crossing = [
        f"{place}: {ent.label_} {shown(ent.text)}"
        for place, doc in part
        if doc.has_annotation(SENT_START)
        for ent in doc.ents
        if any(token.is_sent_start for token in doc[ent.start + 1 : ent.end])
    ]
    text = (
        '{share} spans cross a sentence start of their document: scope = "sents" loses '
        "them, as does a component before that sets starts"
    )
    yield from remark("sentence-starts", text, part.n_spans, crossing)


def _all(part: CorpusPart) -> Iterator[Finding]:
    """Remarks that there is no token outside of spans: no negative example."""
    pairs = (pair for doc in part.docs for pair in zip(in_spans(doc), doc))
    if part.n_spans and all(is_inside or token.is_space for is_inside, token in pairs):
        text = (
            'every token is in a span; outside = "none" says so, and predictions will '
            "have no gaps either"
        )
        yield from remark("no-outside", text, part.n_tokens, found=part.n_tokens)
