"""Where spans begin and end: whitespace, separators, brackets; other annotation beside
entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from spacy.attrs import ENT_IOB, SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc, Span

from .corpus import Part, in_spans
from .findings import Finding, count, fault, quoted, remark, share

SEPARATORS = ",;:"
BRACKETS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»"}
# A border is unlike the others of its label if at most the share UNLIKE of them is like
# it, where the label has at least MANY spans.
UNLIKE, MANY = 0.05, 20


def judge_borders(part: Part) -> list[Finding]:
    """RETURNS (List[Finding]): Spans that begin or end oddly, and what else is
    annotated or is not."""
    judges = _outer_spaces, _unlike, _brackets, _groups, _unknown, _sentences, _all
    return [found for judge in judges for found in judge(part)]


def _spans(part: Part) -> Iterator[tuple[str, Span]]:
    return ((place, ent) for place, doc in part for ent in doc.ents)


def _named(place: str, ent: Span) -> str:
    return f"{place}: {ent.label_} {quoted(ent.text)}"


def _outer_spaces(part: Part) -> Iterator[Finding]:
    if part.n_trimmed:
        text = f"whitespace at the ends of {count(part.n_trimmed, 'span')} is left out"
        yield remark("outer-spaces-of-spans", text, part.n_trimmed, part.n_spans)
    found = [_named(*x) for x in _spans(part) if x[1].text != x[1].text.strip()]
    if found:
        text = (
            f"{share(len(found), part.n_spans)} spans begin or end with whitespace; "
            "training refuses them. `convert` trims spans"
        )
        args = text, len(found), part.n_spans, found
        yield fault("outer-spaces-of-spans", *args)


def _unlike(part: Part) -> Iterator[Finding]:
    """Spans that end with a separator while others of their label do not, or the
    reverse; likewise at their begin."""
    totals = Counter(ent.label_ for _, ent in _spans(part))
    found: list[tuple[float, str]] = []
    for at, side in ((0, "begins"), (-1, "ends")):
        counts = Counter((e.label_, _separator(e, at)) for _, e in _spans(part))
        n_with = Counter[str]()
        for (label, c), n in counts.items():
            n_with[label] += n if c else 0
        for place, ent in _spans(part):
            label, c = ent.label_, _separator(ent, at)
            total = totals[label]
            n = counts[label, c] if c else total - n_with[label]
            if total < MANY or n > UNLIKE * total:
                continue
            what = f"{side} with {c!r}" if c else f"{side} without a separator"
            how = f"{place}: {label} {quoted(ent.text)} {what}, as {n} of {total}"
            found.append((n / total, how))
    if found:
        text = (
            f"{share(len(found), part.n_spans)} spans begin or end with a separator "
            f"({' '.join(SEPARATORS)}) unlike nearly all others of their label, or "
            "without one"
        )
        examples = [how for _, how in sorted(found)]
        yield remark("odd-separators", text, len(found), part.n_spans, examples)


def _separator(ent: Span, at: int) -> str:
    """The separator that a span begins (0) or ends (-1) with; "" if none."""
    c = ent.text[at]
    return c if c in SEPARATORS and len(ent.text) > 1 else ""


def _brackets(part: Part) -> Iterator[Finding]:
    """Spans with one bracket of a pair, whose other bracket stands next to them."""
    found = [_named(*x) for x in _spans(part) if _is_cut(x[1])]
    if found and len(found) <= UNLIKE * part.n_spans:
        text = (
            f"{share(len(found), part.n_spans)} spans have one bracket of a pair, and "
            "the other one stands beside them"
        )
        yield remark("cut-brackets", text, len(found), part.n_spans, found)


def _is_cut(ent: Span) -> bool:
    text, doc = ent.text, ent.doc.text
    after, before = doc[ent.end_char :].lstrip()[:1], doc[: ent.start_char].rstrip()
    return len(text) > 1 and any(
        (text.count(left) == text.count(right) + 1 and after == right)
        or (text.count(right) == text.count(left) + 1 and before[-1:] == left)
        for left, right in BRACKETS.items()
    )


def _groups(part: Part) -> Iterator[Finding]:
    """Span groups: training does not read them."""
    n, n_other, keys = 0, 0, Counter[str]()
    for doc in part.docs:
        ents = {(x.start, x.end, x.label_) for x in doc.ents}
        for key, group in doc.spans.items():
            others = [x for x in group if (x.start, x.end, x.label_) not in ents]
            n += len(group)
            n_other += len(others)
            keys[key] += len(group)
    if n_other:
        names = ", ".join(f"{key} ({times:,})" for key, times in keys.most_common(4))
        text = (
            f"{share(n_other, n)} spans of the groups in doc.spans, {names}, are no "
            "entities: training reads doc.ents, where spans do not overlap"
        )
        yield remark("span-groups", text, n_other, n)


def _unknown(part: Part) -> Iterator[Finding]:
    missing = [int((doc.to_array(ENT_IOB) == 0).sum()) for doc in part.docs]
    n, n_docs = sum(missing), sum(map(bool, missing))
    total = sum(map(len, part.docs))
    if n:
        places = [
            f"{place}: {x} of {len(doc)} tokens"
            for x, (place, doc) in zip(missing, part)
            if x
        ]
        text = (
            f"{share(n, total)} tokens in {count(n_docs, 'document')} are not "
            "annotated, neither in a span nor outside: training takes them as unknown"
        )
        yield remark("unknown-tokens", text, n, total, places)


def _sentences(part: Part) -> Iterator[Finding]:
    crossing = [
        _named(place, ent)
        for place, doc in part
        if doc.has_annotation(SENT_START)
        for ent in doc.ents
        if any(token.is_sent_start for token in doc[ent.start + 1 : ent.end])
    ]
    if crossing:
        n = len(crossing)
        text = (
            f"{share(n, part.n_spans)} spans cross a sentence start of their document: "
            'scope = "sents" loses them, as does a component before that sets starts'
        )
        yield remark("sentence-starts", text, n, part.n_spans, crossing)


def _all(part: Part) -> Iterator[Finding]:
    """Whether there is no token outside of spans: no negative example."""
    if part.n_spans and not any(map(_has_outside, part.docs)):
        text = (
            'every token is in a span; outside = "none" says so, and predictions will '
            "have no gaps either"
        )
        yield remark("no-outside", text, part.n_tokens, part.n_tokens)


def _has_outside(doc: Doc) -> bool:
    inside = in_spans(doc)
    return any(not (x or token.is_space) for x, token in zip(inside, doc))
