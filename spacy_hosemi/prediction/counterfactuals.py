"""Changes of one list entry or rule after which another answer is predicted.

Each change is tried alone: the document is decoded again with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spacy.tokens import Doc

from ..features import Extractor, Gazetteers
from ..features.gazetteers.list_edits import (
    entry_at,
    entry_of,
    occurring,
    with_entry,
    without_entry,
)
from ..labels.inventory import Span
from .best_with_and_without import below
from .flat_decoder import FlatDecoder
from .posterior import Posterior

ADD_ENTRY, REMOVE_ENTRY = "add an entry", "remove an entry"
ADD_RULE, REMOVE_RULE = "add a rule", "remove a rule"


@dataclass(frozen=True)
class Change:
    """A single change after which a span is predicted that was not, or the reverse.

    kind (str): "add an entry" to a list, "remove an entry", "add a rule", "remove a
        rule" of label_rules.
    name (str): The list, or the rule.
    entry (Optional[str]): The words of the entry, as the list compares them.
    probability (float): That of the span afterwards.
    """

    kind: str
    name: str
    entry: str | None
    probability: float


# Kind, name and entry of a `Change`, with the decoder after it.
_Tried = tuple[str, str, str | None, FlatDecoder]


def counterfactuals(
    doc: Doc, posterior: Posterior, span: Span, instead: Sequence[Span]
) -> list[Change]:
    """Returns what would change whether a span is predicted; with labels in a tree,
    whether one with a label below its name is. Changes that move its probability least
    come first. `posterior` is of the document as it is predicted, `instead` has the
    spans that are there instead."""
    decoder = posterior.batch.source
    answer, before = _answer(decoder, doc, span)
    is_there = _has(answer, span, decoder)
    changes = []
    for kind, name, entry, other in _to_try(posterior, span, instead, answer):
        answer, p = _answer(other, doc, span)
        if _has(answer, span, decoder) != is_there:
            changes.append(Change(kind, name, entry, p))
    return sorted(changes, key=lambda change: abs(change.probability - before))


def _answer(decoder: FlatDecoder, doc: Doc, span: Span) -> tuple[list[Span], float]:
    """Returns the predicted spans, and the probability of one span."""
    (prediction,) = decoder.predict([doc])
    probs = decoder.posterior(doc).confidences(below(span, decoder.inventory))
    return prediction.spans, min(sum(probs), 1.0)


def _has(spans: Sequence[Span], span: Span, decoder: FlatDecoder) -> bool:
    return span in spans or any(x in spans for x in below(span, decoder.inventory))


def _to_try(
    posterior: Posterior, span: Span, instead: Sequence[Span], answer: Sequence[Span]
) -> Iterator[_Tried]:
    """Yields each change that may make a difference, with the decoder after it."""
    batch, places = posterior.batch, posterior.locate([span, *instead, *answer])
    if places[0] is None:
        return
    decoder, k = batch.source, places[0][0]
    here = [None if x is None or x[0] != k else x[1] for x in places]
    near = [x for x in here[: 1 + len(instead)] if x is not None]
    inside = [x[2] for x in here[1 + len(instead) :] if x is not None]
    lists = decoder.state.weights.extractor.gazetteers
    if lists:
        lists = occurring(lists, [*batch.tokens])
        yield from _list_changes(decoder, lists, batch.tokens[k], near)
    yield from _rule_changes(decoder, span, Counter(inside))


def _list_changes(
    decoder: FlatDecoder, lists: Gazetteers, tokens: Doc, spans: Sequence[Span]
) -> Iterator[_Tried]:
    """Yields changes of lists: each entry that matches near some spans is removed, and
    their texts are added."""
    reach = decoder.state.weights.extractor.features.reach
    low = min(i for i, _, _ in spans) - reach
    high = max(j for _, j, _ in spans) + reach
    exact, similar = lists.matches([tokens]), lists.similar([tokens])
    exact = exact.where((low < exact.end) & (exact.start < high))
    similar = similar.where((low < similar.end) & (similar.start < high))
    for name in lists.settings:
        places = zip(exact[name].start.tolist(), exact[name].end.tolist())
        entries = [entry_at(lists, name, tokens, *place) for place in places]
        if name in lists.fuzzy:
            texts = lists.fuzzy[name].texts
            alike = similar[name].entry.tolist()
            entries += [entry_of(texts[e].split(" ")) for e in alike]
        for entry in dict.fromkeys(entries):
            other = with_lists(decoder, without_entry(lists, name, entry))
            yield REMOVE_ENTRY, name, entry.text, other
        for start, end, _ in spans:
            entry = entry_at(lists, name, tokens, start, end)
            if entry.words and entry not in entries:
                other = with_lists(decoder, with_entry(lists, name, entry))
                yield ADD_ENTRY, name, entry.text, other


def with_lists(decoder: FlatDecoder, lists: Gazetteers) -> FlatDecoder:
    """Returns the same decoder with other lists."""
    state, scorer = decoder.state, decoder.scorer
    extractor = state.weights.extractor
    read = Extractor(extractor.features, lists, extractor.tables, extractor.extensions)
    other = replace(state, weights=replace(state.weights, extractor=read))
    using = scorer.using(replace(scorer.state, extractor=read))
    return FlatDecoder(other, decoder.options, using, decoder.tree)


def _rule_changes(
    decoder: FlatDecoder, span: Span, counts: Counter[str]
) -> Iterator[_Tried]:
    """Yields changes of rules: each rule is removed; labels that occur more than once
    may occur once at most; the label of the span, if it does not occur, has to."""
    schema = decoder.state.schema
    if schema.projection.parents:  # rules are for labels without a tree
        return
    rules = [*dict.fromkeys(schema.rules)]
    tried = [(REMOVE_RULE, rule, [x for x in rules if x != rule]) for rule in rules]
    more = [f"{label} at most once" for label, n in sorted(counts.items()) if n > 1]
    if not counts[span[2]]:
        more.append(f"{span[2]} at least once")
    if not decoder.inventory.on_tokens:
        tried += [(ADD_RULE, x, [*rules, x]) for x in more if x not in rules]
    for kind, rule, changed in tried:
        if (other := with_rules(decoder, changed)) is not None:
            yield kind, rule, None, other


def with_rules(decoder: FlatDecoder, rules: Sequence[str]) -> FlatDecoder | None:
    """Returns the same decoder, of labels without a tree, under other rules; None if
    they contradict each other, or a label cannot stand in a rule."""
    schema = decoder.state.schema
    other = schema.with_patterns(schema.patterns, schema.observed, rules)
    try:
        _ = other.automaton
    except ValueError:
        return None
    state = replace(decoder.state, schema=other)
    return FlatDecoder(state, decoder.options, decoder.scorer)
